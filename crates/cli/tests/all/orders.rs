//! What operators order: locks revoked by force, and names defined for all clients.

use std::process::Command;

use crate::cluster::{Cluster, SOON, error};
use crate::folder::code;
use tokenwood::Tokenwood;

#[test]
fn a_lock_that_is_taken_away_ends_its_command_and_goes_to_the_next() {
    let cluster = Cluster::start("force", 3, false);
    let mut holder = cluster.client(0, &["run", "gpu", "--slots", "2", "--", "sleep", "60"]).spawn().unwrap();
    cluster.until("gpu", 1, 0);
    let grant = cluster.says(1, &["acquire", "gpu", "--slots", "2", "--ttl", "60s", "--quiet"]);
    let several = cluster.run(2, &["release", "--force", "gpu"]);
    assert_eq!(code(&several), 2);
    assert!(error(&several).contains("--slot (0, 1)"), "{}", error(&several));
    let next = cluster.client(2, &["run", "gpu", "--slots", "2", "--", "true"]).spawn();
    cluster.until("gpu", 2, 1);
    let found = cluster.json(0, &["inspect", "gpu"]);
    let held = |node: u64| {
        let holders = found["holders"].as_array().unwrap();
        holders.iter().find(|holder| holder["node"] == node).unwrap()["slot"].to_string()
    };
    let forced = cluster.json(2, &["release", "--force", "gpu", "--slot", &held(0)]);
    assert_eq!(forced["released"][0]["node"], 0, "{forced}");
    assert!(forced["released"][0]["seconds"].as_f64().unwrap() > 0.0, "{forced}");
    assert_eq!(holder.wait().unwrap().code(), Some(76), "its command is ended");
    assert!(next.unwrap().wait().unwrap().success(), "and the next waiter is granted the slot");
    // What a script holds is lost, too, and it learns that when it asks.
    let forced = cluster.run(0, &["release", "--force", "gpu", "--now"]);
    assert!(forced.status.success() && error(&forced).contains("fences"), "{}", error(&forced));
    let renewed =
        std::process::Command::new(crate::cluster::TOKENWOOD).args(["renew", grant.trim()]).output().unwrap();
    assert_eq!(code(&renewed), 76);
    assert!(error(&renewed).contains("forced release"), "{}", error(&renewed));
    assert_eq!(code(&cluster.run(1, &["release", "--force", "gpu"])), 76, "no client holds it any more");
}

/// A node revokes some hundred grants with one order.
const HOLDERS: usize = 600;

#[test]
fn all_holders_of_a_room_lose_it_however_many() {
    let cluster = Cluster::start("force-many", 1, false);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let held = runtime.block_on(async {
        let client = Tokenwood::connect([&cluster.endpoints[0][..]]).await.unwrap();
        let mut held = Vec::new();
        for _ in 0..HOLDERS {
            held.push(client.room("model").group("v41").acquire().await.unwrap());
        }
        held
    });
    let forced = cluster.json(0, &["release", "--force", "model"]);
    assert_eq!(forced["released"].as_array().unwrap().len(), HOLDERS);
    let all_lost = async {
        for guard in &held {
            guard.lost().await;
        }
    };
    runtime.block_on(async { tokio::time::timeout(SOON, all_lost).await }).expect("all learn of it");
}

#[test]
fn orders_are_refused_with_what_to_do_next() {
    let cluster = Cluster::start("orders", 1, false);
    for (arguments, says) in [
        (&["define", "gpu"][..], "--slots <K>|--room|--rwlock"),
        (&["define", "gpu", "--slots", "0"], "1 to 65536 slots"),
        (&["resize", "gpu", "3"], "the name is not defined: 'tokenwood define gpu --slots 3' defines it"),
        (&["undefine", "gpu"], "the name is not defined: 'tokenwood definitions' lists those that are"),
        (&["members", "lease", "1ms"], "leases last at least 500 ms and at most 10 min, not 1 ms"),
        (&["members", "invite", "--lasts", "30d"], "invitations last at least 1 s and at most 7 d, not 30 d"),
        (&["release", "gpu"], "is not a grant"),
        (&["release", "gpu", "--now"], "--force"),
    ] {
        let output = cluster.run(0, arguments);
        assert_eq!(code(&output), 2, "{arguments:?}");
        assert!(error(&output).contains(says), "{arguments:?}: {}", error(&output));
    }
    assert_eq!(cluster.json(0, &["definitions"])["definitions"].as_array().unwrap().len(), 0);
}

#[test]
fn what_a_name_is_defined_as_is_told_with_the_flags_for_it() {
    let cluster = Cluster::start("kinds", 1, false);
    for (define, flags) in [
        (&["--rwlock"][..], "use --shared or --exclusive, or 'tokenwood undefine rwlock' first"),
        (&["--room"], "use --group, or 'tokenwood undefine room' first"),
        (&["--slots", "3"], "leave out --slots, or 'tokenwood resize slots 2' first"),
    ] {
        let name = define[0].trim_matches('-');
        cluster.says(0, &[&["define", name], define].concat());
        let asked: &[&str] = if name == "slots" { &["--slots", "2"] } else { &[] };
        let refused = cluster.run(0, &[&["run", name], asked, &["--", "true"]].concat());
        assert_eq!(code(&refused), 2, "{name}");
        assert!(error(&refused).contains(flags), "{name}: {}", error(&refused));
    }
    for (arguments, expected, says) in [
        (
            &["run", "slots", "--shared", "--", "true"][..],
            2,
            "leave out --slots, --group, --shared and --exclusive",
        ),
        (
            &["define", "room", "--rwlock"],
            2,
            "cannot become a read-write lock: 'tokenwood undefine room' first",
        ),
        (&["resize", "room", "2"], 2, "cannot become a semaphore with 2 slots"),
        (&["release", "--force", "slots", "--slot", "2"], 76, "no client holds slot 2 of 'slots'"),
    ] {
        let refused = cluster.run(0, arguments);
        assert_eq!(code(&refused), expected, "{arguments:?}");
        assert!(error(&refused).contains(says), "{arguments:?}: {}", error(&refused));
    }
    // In use, and not defined.
    let _held = cluster.says(0, &["acquire", "used", "--slots", "3"]);
    let refused = cluster.run(0, &["run", "used", "--", "true"]);
    assert_eq!(code(&refused), 2);
    assert!(error(&refused).contains("use --slots 3, or another name"), "{}", error(&refused));
}

#[test]
fn a_ready_file_that_cannot_be_written_is_told_before_anything_is_announced() {
    let output = Command::new(crate::cluster::TOKENWOOD)
        .args(["dev", "--nodes", "1", "--ready-file", "/no/such/folder/ready"])
        .output()
        .unwrap();
    assert_eq!(code(&output), 2);
    assert!(output.stdout.is_empty() && error(&output).contains("cannot write"), "{}", error(&output));
}
