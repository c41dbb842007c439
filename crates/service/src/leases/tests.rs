//! Each rule by itself; `model` lets leaders and nodes run against each other.

mod model;

use super::*;
use crate::registry::{Applied, MemberEntry};

const LEADER: Leadership = Leadership { term: 5, node: 0 };
const LEASE: Duration = Duration::from_secs(9);
/// Nine seconds have certainly passed on any clock.
const WAIT: Duration = Duration::from_secs(11);

fn at(seconds: f64) -> Time {
    Time(1_000_000_000) + Duration::from_millis((seconds * 1000.0).round() as u64)
}

/// A leader and what it has applied.
struct Leading {
    leases: Leases,
    registry: Registry,
}

impl Leading {
    /// Begins at second 0, with these members, all in their first incarnation.
    fn new(members: &[u32]) -> Leading {
        let member = || MemberEntry::new(1, "", "");
        let members = members.iter().map(|id| (*id, member())).collect();
        let registry = Registry { epoch: 1, members, lease: LEASE, ..Registry::default() };
        Leading { leases: Leases::new(LEADER, at(0.0), at(0.0), &registry), registry }
    }

    fn step(&mut self, seconds: f64, input: Input) -> Vec<Output> {
        let mut out = Vec::new();
        self.leases.step(at(seconds), &self.registry, input, &mut out);
        out
    }

    fn renew(&mut self, seconds: f64, id: u32, sequence: u64) -> Vec<Output> {
        self.step(seconds, Input::Renew(renewal(id, sequence)))
    }

    /// Renews at once, with a round that takes no time.
    fn renewed(&mut self, seconds: f64, renewal: Renewal) {
        let round = self.step(seconds, Input::Renew(renewal));
        let Some(Output::Prove(round)) = round.first() else { panic!("{round:?}") };
        self.step(seconds, Input::Proven(*round));
    }

    /// Commits what is proposed.
    fn agree(&mut self, seconds: f64, out: &[Output]) {
        let [Output::Propose(entry)] = out else { panic!("{out:?}") };
        assert_eq!(self.registry.apply(entry, LEADER), Applied::Yes);
        assert_eq!(self.step(seconds, Input::Proposed), []);
    }

    fn members(&self) -> Vec<u32> {
        self.registry.members.keys().copied().collect()
    }
}

fn renewal(id: u32, sequence: u64) -> Renewal {
    let identity = Identity { id, incarnation: 1 };
    Renewal { identity, sequence, epoch: 1, unreachable: Vec::new(), missing_ends: Vec::new() }
}

fn unreachable(id: u32, sequence: u64, others: &[u32]) -> Renewal {
    Renewal { unreachable: others.to_vec(), ..renewal(id, sequence) }
}

fn ok(id: u32, sequence: u64) -> Output {
    Output::RenewOk { identity: Identity { id, incarnation: 1 }, sequence, lasts: LEASE }
}

fn no(id: u32, sequence: u64) -> Output {
    Output::RenewNo { identity: Identity { id, incarnation: 1 }, sequence }
}

#[test]
fn a_renewal_is_confirmed_after_a_round_and_never_by_one_that_runs_already() {
    let mut leading = Leading::new(&[0, 1, 2]);
    assert_eq!(leading.renew(0.0, 1, 7), [Output::Prove(1)]);
    assert_eq!(leading.renew(0.1, 2, 4), []);
    assert_eq!(leading.step(0.2, Input::Proven(1)), [ok(1, 7), Output::Prove(2)]);
    assert_eq!(leading.step(0.3, Input::Proven(1)), [], "a round counts once");
    assert_eq!(leading.step(0.3, Input::Proven(2)), [ok(2, 4)]);
}

#[test]
fn nothing_is_confirmed_by_a_round_that_failed() {
    let mut leading = Leading::new(&[0, 1]);
    assert_eq!(leading.renew(0.0, 1, 1), [Output::Prove(1)]);
    assert_eq!(leading.renew(0.1, 0, 1), []);
    assert_eq!(leading.step(0.2, Input::Unproven(1)), [Output::Prove(2)]);
    assert_eq!(leading.step(0.3, Input::Unproven(2)), []);
    assert_eq!(leading.renew(0.4, 1, 2), [Output::Prove(3)]);
}

#[test]
fn only_exactly_the_member_is_confirmed() {
    let mut leading = Leading::new(&[0, 1]);
    leading.renew(0.0, 3, 1);
    assert_eq!(leading.step(0.0, Input::Proven(1)), [no(3, 1)]);
    let identity = Identity { id: 1, incarnation: 2 };
    leading.step(0.0, Input::Renew(Renewal { identity, ..renewal(1, 1) }));
    let refused = Output::RenewNo { identity, sequence: 1 };
    assert_eq!(leading.step(0.0, Input::Proven(2)), [refused]);
}

#[test]
fn a_silent_member_is_excluded_when_its_lease_has_certainly_run_out_and_no_earlier() {
    let mut leading = Leading::new(&[0, 1]);
    leading.renewed(4.0, renewal(0, 1));
    leading.renewed(5.0, renewal(1, 1));
    leading.renewed(14.0, renewal(0, 2));
    assert_eq!(leading.leases.next_tick(&leading.registry), Some(at(5.0) + WAIT));
    assert_eq!(leading.step(15.999, Input::Tick), []);
    assert_eq!(leading.step(16.0, Input::Tick), [], "others may follow within a moment");
    // From here on it gets nothing, although it is still in the view.
    leading.renew(16.05, 1, 2);
    assert_eq!(leading.step(16.05, Input::Proven(4)), [no(1, 2)]);
    let out = leading.step(16.1, Input::Tick);
    leading.agree(16.2, &out);
    assert_eq!(leading.members(), [0]);
}

#[test]
fn a_new_leader_waits_for_leases_that_it_knows_nothing_of() {
    let mut leading = Leading::new(&[0, 1]);
    assert_eq!(leading.step(10.99, Input::Tick), []);
    assert_eq!(leading.step(11.0, Input::Tick), []);
    assert!(matches!(leading.step(11.1, Input::Tick)[..], [Output::Propose(Entry::View { .. })]));
}

#[test]
fn a_new_leader_counts_from_when_others_last_led_but_leaves_time_to_find_it() {
    let mut leading = Leading::new(&[0, 1]);
    let begin = |since: f64, leading: &Leading| Leases::new(LEADER, at(since), at(20.0), &leading.registry);
    leading.leases = begin(18.0, &leading);
    assert_eq!(leading.leases.next_tick(&leading.registry), Some(at(18.0) + WAIT));
    leading.leases = begin(1.0, &leading);
    assert_eq!(leading.leases.next_tick(&leading.registry), Some(at(17.0) + WAIT));
}

#[test]
fn nodes_lost_within_a_moment_go_together_and_a_failed_proposal_is_repeated() {
    let mut leading = Leading::new(&[0, 1, 2]);
    leading.renewed(1.0, renewal(1, 1));
    leading.renewed(1.08, renewal(2, 1));
    leading.renewed(9.0, renewal(0, 1));
    assert_eq!(leading.step(12.0, Input::Tick), []);
    let out = leading.step(12.1, Input::Tick);
    assert!(matches!(out[..], [Output::Propose(_)]));
    assert_eq!(leading.step(12.15, Input::Tick), [], "one at a time");
    assert_eq!(leading.step(12.2, Input::Proposed), [], "not at once");
    let out = leading.step(12.3, Input::Tick);
    leading.agree(12.4, &out);
    assert_eq!(leading.members(), [0]);
    assert_eq!(leading.step(12.6, Input::Tick), []);
}

#[test]
fn a_new_member_has_as_long_as_the_others() {
    let mut leading = Leading::new(&[0]);
    leading.renewed(10.0, renewal(0, 1));
    leading.renewed(20.0, renewal(0, 2));
    let member = MemberEntry::new(1, "", "");
    leading.registry.members.insert(7, member);
    assert_eq!(leading.step(20.0, Input::Tick), []);
    leading.renewed(29.0, renewal(0, 3));
    assert_eq!(leading.step(30.9, Input::Tick), []);
    leading.step(31.0, Input::Tick);
    let out = leading.step(31.1, Input::Tick);
    leading.agree(31.2, &out);
    assert_eq!(leading.members(), [0]);
}

#[test]
fn a_member_that_says_goodbye_is_excluded_at_once() {
    let mut leading = Leading::new(&[0, 1]);
    leading.renewed(1.0, renewal(1, 1));
    let goodbye = |incarnation| Input::Goodbye(Identity { id: 1, incarnation });
    assert_eq!(leading.step(1.5, goodbye(2)), [], "another incarnation is no member");
    let out = leading.step(2.0, goodbye(1));
    leading.renew(2.0, 1, 2);
    assert_eq!(leading.step(2.0, Input::Proven(2)), [no(1, 2)]);
    leading.agree(2.1, &out);
    assert_eq!(leading.members(), [0]);
}

/// Renews for all members, each naming those that it does not reach, from second to second.
fn all_renew(leading: &mut Leading, from: u32, until: u32, reports: &[(u32, &[u32])]) {
    for second in from..until {
        for (id, others) in reports {
            leading.renewed(f64::from(second), unreachable(*id, u64::from(second), others));
        }
    }
}

fn refused(leading: &Leading) -> Vec<u32> {
    leading.leases.refused.iter().map(|member| member.id).collect()
}

#[test]
fn of_two_members_that_do_not_reach_each_other_one_is_excluded() {
    let mut leading = Leading::new(&[0, 1, 2]);
    all_renew(&mut leading, 0, 9, &[(0, &[]), (1, &[2]), (2, &[1])]);
    assert_eq!(refused(&leading), []);
    all_renew(&mut leading, 9, 10, &[(0, &[]), (1, &[2]), (2, &[1])]);
    assert_eq!(refused(&leading), [2], "one of them");
    // It renewed last at 8, and is not excluded before that lease has run out.
    all_renew(&mut leading, 10, 19, &[(0, &[]), (1, &[2])]);
    assert_eq!(leading.step(18.9, Input::Tick), []);
    leading.step(19.0, Input::Tick);
    let out = leading.step(19.1, Input::Tick);
    leading.agree(19.2, &out);
    assert_eq!(leading.members(), [0, 1]);
}

#[test]
fn a_node_that_reaches_too_few_is_kept_out_for_longer_each_time() {
    let mut leading = Leading::new(&[0, 1, 2]);
    all_renew(&mut leading, 0, 10, &[(0, &[]), (1, &[2]), (2, &[1])]);
    // Nine seconds of trouble, eleven until its lease is over, and twice nine.
    assert!(leading.leases.keeps_out(at(37.9), 2) && !leading.leases.keeps_out(at(38.0), 2));
    assert!(!leading.leases.keeps_out(at(10.0), 1));
    let reachability = &mut leading.leases.reachability;
    reachability.keep_out(at(50.0), 2, LEASE);
    assert!(reachability.keeps_out(at(96.9), 2) && !reachability.keeps_out(at(97.0), 2), "four leases");
    (0..9).for_each(|_| reachability.keep_out(at(100.0), 2, LEASE));
    assert!(reachability.keeps_out(at(398.9), 2) && !reachability.keeps_out(at(399.0), 2), "no more than 32");
    reachability.keep_out(at(2000.0), 2, LEASE);
    assert!(!reachability.keeps_out(at(2029.0), 2), "all was well for long");
}

#[test]
fn the_member_that_reaches_fewest_is_excluded_and_the_leader_last() {
    let mut leading = Leading::new(&[0, 1, 2, 3]);
    all_renew(&mut leading, 0, 10, &[(0, &[]), (1, &[2, 3]), (2, &[]), (3, &[])]);
    assert_eq!(refused(&leading), [1]);

    let mut leading = Leading::new(&[0, 1, 2]);
    for second in 0..10 {
        leading.renewed(f64::from(second), Renewal { missing_ends: vec![1], ..renewal(0, 1) });
        leading.renewed(f64::from(second), renewal(1, 1));
    }
    assert_eq!(refused(&leading), [1]);
}

#[test]
fn unreachability_that_passes_or_of_a_lost_node_excludes_no_node() {
    let mut leading = Leading::new(&[0, 1, 2]);
    all_renew(&mut leading, 0, 8, &[(0, &[]), (1, &[2]), (2, &[])]);
    all_renew(&mut leading, 8, 9, &[(0, &[]), (1, &[]), (2, &[])]);
    all_renew(&mut leading, 9, 17, &[(0, &[]), (1, &[2]), (2, &[])]);
    assert_eq!(refused(&leading), []);
    // It does not renew either: its own lease runs out.
    let mut leading = Leading::new(&[0, 1, 2]);
    all_renew(&mut leading, 0, 11, &[(0, &[]), (1, &[2])]);
    assert_eq!(refused(&leading), []);
}

#[test]
fn a_shorter_lease_is_promised_at_once_and_waited_for_later() {
    let short = Duration::from_secs(2);
    let mut leading = Leading::new(&[0]);
    leading.renewed(0.0, renewal(0, 1));
    assert_eq!(leading.step(1.0, Input::Lasts(short)), []);
    leading.renew(10.0, 0, 2);
    let promised = Output::RenewOk { identity: renewal(0, 2).identity, sequence: 2, lasts: short };
    assert_eq!(leading.step(10.0, Input::Proven(2)), std::slice::from_ref(&promised));
    assert_eq!(leading.step(11.9, Input::Tick), []);
    let out = leading.step(12.0, Input::Tick);
    assert_eq!(out, [Output::Propose(Entry::Lease { base: 0, lasts: short, decided_by: LEADER })]);
    // It may be committed from now on, whatever becomes of the request for another one.
    assert_eq!(leading.step(12.0, Input::Lasts(2 * LEASE)), []);
    leading.renew(12.05, 0, 2);
    assert_eq!(leading.step(12.05, Input::Proven(3)), [promised]);
    leading.agree(12.1, &out);
    assert_eq!(leading.registry.lease, short);
    let out = leading.step(12.3, Input::Tick);
    assert_eq!(out, [Output::Propose(Entry::Lease { base: 1, lasts: 2 * LEASE, decided_by: LEADER })]);
}

#[test]
fn a_lease_counts_from_when_the_renewal_was_sent() {
    let mut lease = Lease::new(1);
    assert_eq!(lease.until(), Time(0));
    let first = lease.renew(at(1.0));
    let second = lease.renew(at(2.0));
    assert_eq!(lease.renewed_every(LEASE), LEASE / 6);
    lease.confirmed(at(5.0), 1, second, LEASE);
    assert_eq!(lease.until(), at(11.0));
    assert_eq!(lease.renewed_every(LEASE / 3), LEASE / 18);
    lease.confirmed(at(6.0), 1, first, LEASE);
    lease.confirmed(at(6.0), 2, second, 9 * LEASE);
    lease.confirmed(at(6.0), 1, 77, 9 * LEASE);
    assert_eq!(lease.until(), at(11.0), "neither shorter nor longer");
    let third = lease.renew(at(20.0));
    lease.confirmed(at(20.5), 1, third, LEASE);
    assert_eq!(lease.until(), at(29.0), "it goes on");
    let fourth = lease.renew(at(22.0));
    lease.confirmed(at(22.0), 1, fourth, LEASE / 3);
    assert_eq!(
        (lease.until(), lease.renewed_every(LEASE)),
        (at(29.0), LEASE / 18),
        "less is promised from now on"
    );
    (0..1000).for_each(|_| _ = lease.renew(at(21.0)));
    assert!(format!("{lease:?}").len() < 5000, "what is never answered is forgotten");
}

fn enter(id: u32, incarnation: u64) -> Input {
    Input::Enter { id, member: MemberEntry::new(incarnation, "", "") }
}

#[test]
fn a_newcomer_enters_when_all_members_are_in_the_view() {
    let mut leading = Leading::new(&[0, 1]);
    assert_eq!(leading.step(1.0, enter(7, 3)), []);
    leading.renewed(1.1, renewal(0, 1));
    assert_eq!(leading.step(2.0, Input::Tick), [], "a member may not know this view yet");
    leading.renewed(2.1, renewal(1, 1));
    assert_eq!(leading.step(2.12, enter(8, 2)), [], "others may follow within a moment");
    assert_eq!(leading.leases.next_tick(&leading.registry), Some(at(2.1) + NEWCOMERS_WITHIN));
    let out = leading.step(2.2, Input::Tick);
    leading.agree(2.2, &out);
    assert_eq!(leading.members(), [0, 1, 7, 8]);
    assert_eq!(leading.registry.members[&7].joined, 2);
    assert_eq!(leading.step(4.0, enter(7, 3)), [], "it is in already");
}

#[test]
fn a_node_that_comes_back_waits_until_its_old_incarnation_is_excluded() {
    let mut leading = Leading::new(&[0, 1]);
    leading.renewed(0.0, renewal(1, 1));
    for tenth in 0..=110_u32 {
        let now = f64::from(tenth) / 10.0;
        leading.renewed(now, renewal(0, tenth.into()));
        assert_eq!(leading.step(now, enter(1, 2)), [], "at {now}");
        assert_eq!(leading.members(), [0, 1]);
    }
    let out = leading.step(11.2, Input::Tick);
    leading.agree(11.2, &out);
    assert_eq!(leading.members(), [0]);
    leading.renewed(11.3, Renewal { epoch: 2, ..renewal(0, 200) });
    leading.step(11.3, enter(1, 2));
    let out = leading.step(11.4, Input::Tick);
    leading.agree(11.4, &out);
    assert_eq!(leading.registry.members[&1].incarnation, 2);
}

#[test]
fn after_all_nodes_were_lost_those_that_came_back_are_the_next_view() {
    let mut leading = Leading::new(&[0, 1]);
    leading.step(10.0, enter(0, 2));
    leading.step(10.5, enter(1, 2));
    assert_eq!(leading.step(11.0, Input::Tick), []);
    let out = leading.step(11.1, Input::Tick);
    leading.agree(11.1, &out);
    assert_eq!((leading.members(), leading.registry.epoch), (vec![0, 1], 2));
}

#[test]
fn a_node_that_stops_asking_is_not_admitted() {
    let mut leading = Leading::new(&[0]);
    leading.step(0.0, enter(7, 3));
    for second in 9..15_u32 {
        leading.renewed(f64::from(second), renewal(0, second.into()));
        assert_eq!(leading.step(f64::from(second) + 0.1, Input::Tick), []);
    }
}
