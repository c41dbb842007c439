//! How many lines strangers may cause: a bucket of tokens for each kind of line, and a count of the lines
//! left out.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use sync::IgnorePoison;

/// This many lines may come at once.
const BURST: u32 = 10;
/// After that, one line in this time.
const REFILL: Duration = Duration::from_secs(6);

/// The bucket of one kind of line.
#[derive(Default)]
pub(crate) struct Limiter(Mutex<Bucket>);

#[derive(Default)]
struct Bucket {
    /// So many tokens were taken out and not refilled yet.
    taken: u32,
    /// When the last token was refilled, if not all are there.
    refilled: Option<Instant>,
    left_out: u64,
    /// The same, since the node started.
    left_out_ever: u64,
}

impl Limiter {
    /// Whether a line may be written now. If not, it is counted.
    pub(crate) fn allows(&self, now: Instant) -> bool {
        let mut bucket = self.0.lock().ignore_poison();
        bucket.refill(now);
        if bucket.taken == BURST {
            bucket.left_out += 1;
            bucket.left_out_ever += 1;
            return false;
        }
        bucket.taken += 1;
        bucket.refilled.get_or_insert(now);
        true
    }

    /// How many lines were ever left out.
    pub(crate) fn left_out_ever(&self) -> u64 {
        self.0.lock().ignore_poison().left_out_ever
    }

    /// How many lines were left out, if that may be written now.
    pub(crate) fn left_out(&self, now: Instant) -> Option<u64> {
        let mut bucket = self.0.lock().ignore_poison();
        bucket.refill(now);
        if bucket.left_out == 0 || bucket.taken == BURST {
            return None;
        }
        bucket.taken += 1;
        bucket.refilled.get_or_insert(now);
        Some(std::mem::take(&mut bucket.left_out))
    }
}

impl Bucket {
    fn refill(&mut self, now: Instant) {
        while let Some(next) = self.refilled.map(|last| last + REFILL).filter(|next| *next <= now) {
            self.taken = self.taken.saturating_sub(1);
            self.refilled = (self.taken > 0).then_some(next);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_becomes_a_few_lines_and_a_count() {
        let (limiter, begun) = (Limiter::default(), Instant::now());
        let at = |seconds| begun + Duration::from_secs(seconds);
        let written = (0..60_000).filter(|call| limiter.allows(at(call / 1000))).count();
        assert_eq!(written, 10 + 9, "in a minute: at once, and every six seconds");
        assert_eq!(limiter.left_out(at(59)), None, "no token for that either");
        assert_eq!(limiter.left_out(at(60)), Some(60_000 - 19));
        assert_eq!(limiter.left_out(at(600)), None, "told once");
        assert_eq!(limiter.left_out_ever(), 60_000 - 19);
        assert_eq!((0..100).filter(|_| limiter.allows(at(600))).count(), 10, "the bucket is full again");
    }
}
