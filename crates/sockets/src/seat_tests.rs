//! Seats that a collector calls: the figures come back, and what is wrong is told with the seat it is wrong with.

use std::time::Duration;

use algorithms::Setting;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::orders::{Connection, Hello, Summons};
use super::*;

/// A seat, and where it is.
async fn seat() -> (String, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    (address, tokio::spawn(async move { serve_seat(&listener, 0, |_| ()).await.unwrap() }))
}

/// What says this to every caller, whatever it wants.
async fn impostor(hello: Option<Hello>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        let mut connection = Connection::new(listener.accept().await.unwrap().0).unwrap();
        _ = connection.receive::<Summons>().await;
        match hello {
            Some(hello) => connection.send(&hello).await.unwrap(),
            None => connection.send(&"HTTP/1.1 400 Bad Request").await.unwrap(),
        }
    });
    address
}

async fn refusal(seats: &[String]) -> String {
    Collector::call(seats).await.map(|_| ()).unwrap_err().to_string()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn seats_take_part_in_one_run_after_the_other() {
    let (first, _first) = seat().await;
    let (second, _second) = seat().await;
    let seats = [first, second];
    for name in ["naimi-trehel", "suzuki-kasami"] {
        let plan = Plan { think: Duration::from_millis(1), ..Plan::new(Setting::new(2, 1), 20, 3) };
        let reports = Collector::call(&seats).await.unwrap().run(name, &plan, |_| ()).await.unwrap();
        let tally = judge(name, &plan.setting, reports, None).unwrap();
        assert_eq!(tally.visits.len(), 40);
        // Both clocks are this machine's, and that is nearly what the readings say.
        assert!(tally.clock_error > Duration::ZERO && tally.clock_error < Duration::from_secs(1));
        assert!(tally.mean_travel() < Duration::from_secs(1), "{:?}", tally.mean_travel());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_seat_that_cannot_take_part_is_named() {
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().to_string();
    let said = refusal(std::slice::from_ref(&free)).await;
    assert!(said.starts_with(&format!("no seat answers at {free} (")), "{said}");
    assert!(said.contains(&format!("tokenwood seat --listen {free}")), "{said}");

    let other = impostor(Some(Hello { program: "9.9.9".to_string(), ..Hello::of(0) })).await;
    let said = refusal(std::slice::from_ref(&other)).await;
    assert!(said.starts_with(&format!("the seat at {other} is of version 9.9.9, this program")), "{said}");

    let stranger = impostor(None).await;
    let said = refusal(std::slice::from_ref(&stranger)).await;
    assert!(said.starts_with(&format!("what answers at {stranger} is no seat of this version")), "{said}");

    let (seat, _serving) = seat().await;
    let _busy = Collector::call(std::slice::from_ref(&seat)).await.unwrap();
    let said = refusal(std::slice::from_ref(&seat)).await;
    assert!(said.starts_with(&format!("the seat at {seat} takes part in another run")), "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_seat_that_dies_ends_the_run_and_frees_the_others() {
    let (first, _first) = seat().await;
    let (second, dies) = seat().await;
    let seats = [first.clone(), second];
    let plan = Plan::new(Setting::new(2, 1), 10_000, 3);
    let mut collector = Collector::call(&seats).await.unwrap();
    let mut dies = Some(dies);
    let failed = collector.run("naimi-trehel", &plan, |entries| {
        if entries > 0 {
            dies.take().into_iter().for_each(|seat| seat.abort());
        }
    });
    let error = failed.await.unwrap_err();
    assert_eq!(error.node(), Some(1), "{error}");
    assert!(error.to_string().starts_with("node 1 is gone: "), "{error}");
    drop(collector);
    // The other seat is soon free again.
    for _ in 0..500 {
        tokio::time::sleep(Duration::from_millis(10)).await;
        if Collector::call(std::slice::from_ref(&first)).await.is_ok() {
            return;
        }
    }
    panic!("the first seat stays busy");
}

/// The form of makki with the queue in RELEASE needs no bounds on time, so it runs over sockets.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_option_can_make_an_algorithm_fit_for_sockets() {
    assert!(validate("makki", &Setting::new(4, 2)).unwrap_err().to_string().contains("bounds on time"));
    for token in ["walks", "straight"] {
        let setting = Setting::new(4, 2).with(&[("release", "queue"), ("token", token)]);
        let short = Duration::from_millis(1);
        let plan = Plan { think: short, longest_delay: short, ..Plan::new(setting, 10, 5) };
        assert_eq!(run("makki", plan).await.unwrap().visits.len(), 40);
    }
}

/// Visits that overlap by less than the clocks are unsure of may not have overlapped.
#[test]
fn what_clocks_cannot_tell_is_not_held_against_a_run() {
    let ms = Duration::from_millis;
    let visit = |node, entered, left| Visit {
        node,
        group: 0,
        asked: ms(0),
        entered: ms(entered),
        left: Some(ms(left)),
    };
    let visits = vec![visit(0, 10, 20), visit(1, 18, 30)];
    let judged = |clock_error| Tally { visits: visits.clone(), clock_error, ..Tally::default() };
    assert!(judged(ms(0)).judge(algorithms::Kind::Mutex, 1).is_err());
    assert!(judged(ms(1)).judge(algorithms::Kind::Mutex, 1).is_ok());
}
