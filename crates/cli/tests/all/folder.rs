//! A folder for the program to run in, and what it said: shared by the tests that drive it.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};

/// An empty folder of its own, removed afterwards.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Folder {
        // Two tests may give the same name.
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let (process, number) = (std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let folder = std::env::temp_dir().join(format!("tokenwood-test-{process}-{number}-{name}"));
        fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }

    /// The program in this folder, with these words as arguments.
    pub(crate) fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tokenwood"));
        command.args(arguments.split_whitespace()).current_dir(&self.0);
        command
    }

    pub(crate) fn run(&self, arguments: &str) -> Output {
        self.command(arguments).output().unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

pub(crate) fn code(output: &Output) -> i32 {
    output.status.code().unwrap()
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A test, or a part of it, cannot run on this machine. In CI that is a failure; elsewhere `cargo xtask test` has said it.
pub(crate) fn not_run(what: &str) {
    assert_ne!(std::env::var("CI").as_deref(), Ok("true"), "{what}, and CI needs it");
    eprintln!("NOT RUN: {what}");
}
