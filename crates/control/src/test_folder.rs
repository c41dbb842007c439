//! A folder for a test, which goes with it.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

pub(crate) struct TestFolder(pub(crate) PathBuf);

impl TestFolder {
    /// A folder that is not there yet.
    pub(crate) fn new() -> TestFolder {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("tokenwood-control-{}-{count}", std::process::id());
        TestFolder(std::env::temp_dir().join(name))
    }
}

impl Drop for TestFolder {
    fn drop(&mut self) {
        // A test that made no folder has none to remove.
        _ = std::fs::remove_dir_all(&self.0);
    }
}
