//! Whole clusters with real sockets and real files: elections, restarts, replacements, partitions.

mod callers;
mod fixture;
mod proxy;
#[path = "../../src/test_folder.rs"]
mod test_folder;

use std::collections::BTreeSet;
use std::time::Duration;

use control::{ChangeError, NotLeading, ProposeError, Timing};
use service::registry::{Applied, Entry, Leadership, MemberEntry};

use fixture::{Cluster, clock, define, view, within};

#[tokio::test(flavor = "multi_thread")]
async fn three_voters_elect_a_leader_and_agree() {
    let cluster = Cluster::founded(&[1, 2, 3]).await;
    let (leader, leadership) = cluster.leader().await;
    assert_eq!(leadership.node, leader);
    let epoch = |id| cluster.control(id).registry().borrow().epoch;
    assert_eq!(cluster.control(leader).propose(view(0, leadership)).await, Ok(Applied::Yes));
    assert_eq!(epoch(leader), 1, "what is agreed on is applied where it was proposed");
    for id in [1, 2, 3] {
        cluster.sees(id, |registry| registry.epoch == 1).await;
    }
    // Decided for another view, or under another leadership: it counts for nothing.
    assert_eq!(cluster.control(leader).propose(view(0, leadership)).await, Ok(Applied::Outdated));
    let earlier = Leadership { term: leadership.term - 1, ..leadership };
    assert_eq!(cluster.control(leader).propose(view(1, earlier)).await, Ok(Applied::Outdated));
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn definitions_are_passed_on_to_the_leader_and_views_are_not() {
    let cluster = Cluster::founded(&[1, 2, 3]).await;
    let (leader, leadership) = cluster.leader().await;
    let follower = cluster.other_than(leader);
    cluster.knows_leader(follower, leader).await;
    let control = cluster.control(follower);
    assert_eq!(control.propose(define("gpu", 4)).await, Ok(Applied::Yes));
    cluster.sees(follower, |registry| registry.definitions.contains_key("gpu")).await;
    let refused = Err(ProposeError::NotLeading { leader: Some(leader) });
    assert_eq!(control.propose(view(0, leadership)).await, refused);
    let lasts = Duration::from_secs(1);
    assert_eq!(control.propose(Entry::Lease { base: 0, lasts, decided_by: leadership }).await, refused);
    assert_eq!(control.prove_leadership(leadership).await, Err(NotLeading));
    let long = define(&"x".repeat(2 << 20), 1);
    assert!(matches!(control.propose(long).await, Err(ProposeError::TooLong(_))));
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_voter_comes_back_from_disk_and_hears_what_it_missed() {
    let mut cluster = Cluster::founded(&[1, 2, 3]).await;
    let (leader, _) = cluster.leader().await;
    cluster.control(leader).propose(define("before", 2)).await.unwrap();
    let follower = cluster.other_than(leader);
    cluster.sees(follower, |registry| registry.definitions.contains_key("before")).await;
    cluster.halt(follower).await;
    // More than the log keeps behind a snapshot: it needs the snapshot itself.
    for number in 0..700 {
        cluster.control(leader).propose(define(&format!("name-{}", number % 7), number + 1)).await.unwrap();
    }
    cluster.start(follower).await;
    cluster.sees(follower, |registry| registry.definitions.len() == 8).await;
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_does_not_fit_into_one_message_travels_in_several() {
    let mut cluster = Cluster::founded(&[1, 2, 3]).await;
    let (leader, _) = cluster.leader().await;
    let follower = cluster.other_than(leader);
    cluster.halt(follower).await;
    for _ in 0..30 {
        assert_eq!(cluster.control(leader).propose(long_entry()).await, Ok(Applied::Outdated));
    }
    cluster.control(leader).propose(define("gpu", 1)).await.unwrap();
    cluster.start(follower).await;
    cluster.sees(follower, |registry| registry.definitions.len() == 1).await;
    // So many that most are only in the snapshot, which is longer than a message.
    for number in 0..4_500 {
        cluster.control(leader).propose(define(&format!("{number:0>250}"), 1)).await.unwrap();
    }
    cluster.add(4).await;
    cluster.control(leader).admit(4, &cluster.address(4)).await.unwrap();
    cluster.sees(4, |registry| registry.definitions.len() == 4_501).await;
    cluster.stop().await;
}

/// A view of 60 kB that follows none there is: it is in the log, and changes nothing.
fn long_entry() -> Entry {
    let address = "x".repeat(500);
    let members = (0..60).map(|id| (id, MemberEntry::new(1, &address, &address))).collect();
    Entry::View { base_epoch: u64::MAX, decided_by: Leadership::default(), members }
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_is_there_again_after_all_were_stopped() {
    let mut cluster = Cluster::founded(&[1, 2, 3]).await;
    let (leader, leadership) = cluster.leader().await;
    cluster.control(leader).propose(define("gpu", 4)).await.unwrap();
    cluster.control(leader).propose(view(0, leadership)).await.unwrap();
    for id in [1, 2, 3] {
        cluster.halt(id).await;
    }
    for id in [1, 2, 3] {
        cluster.start(id).await;
    }
    let (_, again) = cluster.leader().await;
    assert!(again > leadership, "{again:?} after {leadership:?}");
    for id in [1, 2, 3] {
        cluster.sees(id, |registry| registry.epoch == 1 && registry.definitions.len() == 1).await;
    }
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_node_leads_when_the_leader_is_stopped() {
    let mut cluster = Cluster::founded(&[1, 2, 3]).await;
    let (leader, leadership) = cluster.leader().await;
    let asked = clock();
    cluster.control(leader).prove_leadership(leadership).await.unwrap();
    cluster.halt(leader).await;
    let halted = clock();
    let (next, later) = cluster.leader().await;
    assert!(next != leader && later > leadership);
    // The voters have heard of the old leader after that, and not when it was gone.
    let until = cluster.control(next).others_led_until(later);
    assert!(asked <= until && until <= halted, "{asked:?} {until:?} {halted:?}");
    cluster.control(next).prove_leadership(later).await.unwrap();
    // What was decided under the old leadership comes too late.
    assert_eq!(cluster.control(next).propose(view(0, leadership)).await, Ok(Applied::Outdated));
    cluster.start(leader).await;
    cluster.knows_leader(leader, next).await;
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deposed_leader_can_prove_nothing() {
    let cluster = Cluster::founded(&[1, 2, 3]).await;
    let (old, leadership) = cluster.leader().await;
    cluster.control(old).prove_leadership(leadership).await.unwrap();
    within("it is cut off", cluster.cut_off.cut(old)).await;
    // It does not know yet, and no other node leads yet: still there is no proof.
    assert_eq!(cluster.control(old).prove_leadership(leadership).await, Err(NotLeading));
    let (next, later) = cluster.leader_but(old).await;
    assert!(later > leadership);
    cluster.control(next).prove_leadership(later).await.unwrap();
    assert_eq!(*cluster.control(old).leadership().borrow(), Some(leadership), "it has heard of nothing");
    assert_eq!(cluster.control(old).prove_leadership(leadership).await, Err(NotLeading));
    let proposed = cluster.control(old).propose(view(0, leadership)).await;
    assert_eq!(proposed, Err(ProposeError::Unknown));
    cluster.cut_off.heal();
    cluster.control(old).leadership().wait_for(|led| *led != Some(leadership)).await.unwrap();
    assert_eq!(cluster.control(old).prove_leadership(leadership).await, Err(NotLeading));
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn silent_connections_are_replaced_before_another_node_stands_for_election() {
    let cluster = Cluster::founded_with(&[1, 2, 3], Timing::default()).await;
    let (leader, leadership) = cluster.leader().await;
    cluster.control(leader).propose(define("gpu", 4)).await.unwrap();
    cluster.cut_off.hush();
    // Silent connections prove nothing. On a busy machine they are silent a little later, or replaced when the proof is over.
    _ = cluster.control(leader).prove_leadership(leadership).await;
    assert_eq!(cluster.leader().await, (leader, leadership));
    assert_eq!(cluster.control(leader).propose(define("cpu", 4)).await, Ok(Applied::Yes));
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_voter_is_replaced() {
    let mut cluster = Cluster::founded(&[1, 2, 3]).await;
    let (leader, _) = cluster.leader().await;
    let dead = cluster.other_than(leader);
    cluster.control(leader).propose(define("gpu", 4)).await.unwrap();
    cluster.halt(dead).await;
    cluster.add(4).await;
    let control = cluster.control(leader);
    let two: BTreeSet<u32> = [leader, 4].into();
    assert_eq!(control.change_voters(&two).await, Err(ChangeError::Voters(2)));
    let voters: BTreeSet<u32> = [1, 2, 3, 4].into_iter().filter(|id| *id != dead).collect();
    assert_eq!(control.change_voters(&voters).await, Err(ChangeError::Unknown(4)));
    control.admit(4, &cluster.address(4)).await.unwrap();
    cluster.sees(4, |registry| registry.definitions.contains_key("gpu")).await;
    control.change_voters(&voters).await.unwrap();
    control.dismiss(dead).await.unwrap();
    assert_eq!(control.voters(), voters);
    assert_eq!(control.nodes().len(), 3);
    // The new one counts: with it, the majority survives the loss of the leader.
    cluster.halt(leader).await;
    let (next, later) = cluster.leader().await;
    cluster.control(next).prove_leadership(later).await.unwrap();
    assert_eq!(cluster.control(next).propose(define("cpu", 8)).await, Ok(Applied::Yes));
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_voter_that_lost_its_folder_is_not_counted_on() {
    let mut cluster = Cluster::founded(&[1, 2, 3]).await;
    let (leader, leadership) = cluster.leader().await;
    let wiped = cluster.other_than(leader);
    cluster.control(leader).propose(define("gpu", 4)).await.unwrap();
    cluster.sees(wiped, |registry| registry.definitions.len() == 1).await;
    cluster.halt(wiped).await;
    cluster.wipe(wiped);
    cluster.start(wiped).await;
    // The leader goes on with the other one, and does not take it for what it was.
    for _ in 0..20 {
        cluster.control(leader).propose(define("cpu", 4)).await.unwrap();
    }
    cluster.control(leader).prove_leadership(leadership).await.unwrap();
    assert!(cluster.control(wiped).registry().borrow().definitions.is_empty());
    // Nor does it support another leader: it cannot know for which node it voted.
    cluster.halt(leader).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert!(
        [1, 2, 3].into_iter().filter(|id| *id != leader).all(|id| cluster
            .control(id)
            .leadership()
            .borrow()
            .is_none())
    );
    cluster.start(leader).await;
    cluster.leader().await;
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_of_another_cluster_of_the_same_name_is_not_listened_to() {
    let mut first = Cluster::founded(&[1]).await;
    let mut second = Cluster::founded(&[2]).await;
    // It belongs to the first that calls it.
    first.add(3).await;
    let (leader, _) = first.leader().await;
    first.control(leader).admit(3, &first.address(3)).await.unwrap();
    first.control(leader).propose(define("gpu", 4)).await.unwrap();
    first.sees(3, |registry| registry.definitions.len() == 1).await;
    second.adopt_address(3, first.address(3));
    let (stranger, _) = second.leader().await;
    let admitted = second.control(stranger).admit(3, &second.address(3)).await;
    assert_eq!(admitted, Err(ChangeError::Unheard(3)));
    assert_eq!(first.control(3).registry().borrow().definitions.len(), 1);
    first.stop().await;
    second.stop().await;
}
