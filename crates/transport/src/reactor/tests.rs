//! What takes long is done in turns.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::*;

const SOURCES: usize = 20;
const TURNS: usize = 3;

#[derive(Default)]
struct Counts {
    short: AtomicUsize,
    long: [AtomicUsize; SOURCES],
}

impl Counts {
    fn long(&self) -> Vec<usize> {
        self.long.iter().map(|count| count.load(Ordering::SeqCst)).collect()
    }
}

/// Always has something short to do.
struct Short(Arc<Counts>);

/// Always has something to do that takes long.
struct Long(Arc<Counts>, usize);

impl Source for Short {
    fn socket(&mut self) -> Option<(&mut dyn mio::event::Source, Interest)> {
        None
    }

    fn visit(&mut self, _ready: Ready, _round: &mut Round<'_>) -> Next {
        self.0.short.fetch_add(1, Ordering::SeqCst);
        Next::Again
    }

    fn close(self: Box<Self>, _round: &mut Round<'_>) {}
}

impl Source for Long {
    fn socket(&mut self) -> Option<(&mut dyn mio::event::Source, Interest)> {
        None
    }

    fn visit(&mut self, _ready: Ready, round: &mut Round<'_>) -> Next {
        if std::mem::take(&mut round.long) {
            thread::sleep(Duration::from_millis(2));
            self.0.long[self.1].fetch_add(1, Ordering::SeqCst);
        }
        Next::Later
    }

    fn close(self: Box<Self>, _round: &mut Round<'_>) {}
}

#[tokio::test]
async fn however_many_do_what_takes_long_the_others_wait_for_one_of_them() {
    let counts = Arc::new(Counts::default());
    let reactor = Reactor::start(Sockets::OwnThread, None).unwrap();
    (0..SOURCES).for_each(|source| reactor.adopt(Box::new(Long(counts.clone(), source))));
    while counts.long().iter().sum::<usize>() == 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let before: usize = counts.long().iter().sum();
    reactor.adopt(Box::new(Short(counts.clone())));
    while counts.long().iter().sum::<usize>() < before + SOURCES * TURNS {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    reactor.stop().await;
    let (long, short) = (counts.long(), counts.short.load(Ordering::SeqCst));
    let (least, most) = (*long.iter().min().unwrap(), *long.iter().max().unwrap());
    assert!(most - least <= 1, "they take turns: {long:?}");
    let meanwhile = long.iter().sum::<usize>() - before;
    // It may have been adopted a few rounds after it was ordered.
    assert!(short + 3 >= meanwhile, "{short} visits while {meanwhile} others did what takes long");
}
