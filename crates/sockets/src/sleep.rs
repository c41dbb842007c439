//! Waiting to the tenth of a millisecond: the runtime's own timers are accurate to one millisecond only.

use std::time::Duration;

use service::Time;
use transport::clock;

/// The runtime's timers are not used for less than this.
const COARSE: Duration = Duration::from_millis(2);

/// Waits until this moment: mostly with the runtime's timer, the rest in a thread that only sleeps.
pub(super) async fn sleep_until(moment: Time) {
    let left = moment - clock::now();
    if left > COARSE {
        tokio::time::sleep(left - COARSE).await;
    }
    let left = moment - clock::now();
    if !left.is_zero() {
        // A thread that only sleeps does not panic.
        let _ = tokio::task::spawn_blocking(move || std::thread::sleep(left)).await;
    }
}
