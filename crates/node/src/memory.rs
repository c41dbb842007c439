//! Returns memory that is not needed any more to the operating system.
//!
//! Allocators keep what was freed in small pieces. After a million names were forgotten that is hundreds of
//! megabytes, on a machine that others use too.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::spawn_blocking;
use tokio::time::sleep;

use crate::host::Shared;

/// So many names must have been forgotten to make it worth while.
const WORTH_WHILE: u64 = 10_000;
const PAUSE: Duration = Duration::from_secs(1);

/// Gives memory back whenever enough names have been forgotten.
pub(crate) async fn keep_giving_back(shared: Arc<Shared>) {
    let mut before = 0;
    loop {
        sleep(PAUSE).await;
        let forgotten = shared.status().counts.forgotten;
        if forgotten - before >= WORTH_WHILE {
            before = forgotten;
            // It fails only if the runtime ends, and this task with it.
            _ = spawn_blocking(give_back).await;
        }
    }
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn give_back() {
    // Whether there was anything to give back does not matter.
    #[expect(
        unsafe_code,
        reason = "there is no safe way to call it; it takes a number and touches only free memory"
    )]
    let _ = unsafe { libc::malloc_trim(0) };
}

/// Other allocators give back by themselves, or cannot be asked to.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn give_back() {}
