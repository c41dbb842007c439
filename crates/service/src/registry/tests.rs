//! Which entries count, and which do not.

use super::*;

const FIRST: Leadership = Leadership { term: 1, node: 0 };

fn view(base_epoch: u64, incarnations: &[(u32, u64)]) -> Entry {
    let member = |&(id, incarnation)| (id, MemberEntry::new(incarnation, "", ""));
    let members = incarnations.iter().map(member).collect();
    Entry::View { base_epoch, decided_by: FIRST, members }
}

#[test]
fn a_view_follows_the_one_it_was_decided_in_and_no_other() {
    let mut registry = Registry::default();
    assert_eq!(registry.apply(&view(0, &[(0, 1), (1, 1)]), FIRST), Applied::Yes);
    assert_eq!(registry.apply(&view(0, &[(0, 1)]), FIRST), Applied::Outdated);
    let second = Leadership { term: 2, node: 1 };
    assert_eq!(registry.apply(&view(1, &[(0, 1)]), second), Applied::Outdated);
    assert_eq!(registry.apply(&view(1, &[(0, 1)]), FIRST), Applied::Yes);
    assert_eq!((registry.epoch, registry.members.len()), (2, 1));
}

#[test]
fn an_incarnation_is_never_admitted_again() {
    let mut registry = Registry::default();
    registry.apply(&view(0, &[(0, 5), (1, 5)]), FIRST);
    registry.apply(&view(1, &[(0, 5)]), FIRST);
    assert_eq!(registry.apply(&view(2, &[(0, 5), (1, 5)]), FIRST), Applied::OldIncarnation);
    assert_eq!(registry.apply(&view(2, &[(0, 5), (1, 4)]), FIRST), Applied::OldIncarnation);
    assert_eq!(registry.apply(&view(2, &[(0, 5), (1, 6)]), FIRST), Applied::Yes);
}

#[test]
fn a_member_has_joined_when_its_incarnation_first_was_in_a_view() {
    let mut registry = Registry::default();
    registry.apply(&view(0, &[(0, 5), (1, 5)]), FIRST);
    registry.apply(&view(1, &[(0, 5)]), FIRST);
    registry.apply(&view(2, &[(0, 5), (1, 6)]), FIRST);
    let joined: Vec<_> = registry.view().members.iter().map(|member| member.joined).collect();
    assert_eq!(joined, [1, 3]);
}

#[test]
fn an_invitation_is_used_once_and_its_id_never_again() {
    let mut registry = Registry::default();
    registry.apply(&view(0, &[(4, 1)]), FIRST);
    assert_eq!(registry.next_id(), 5);
    let invite = |id, secret: Option<u128>| Entry::Invite {
        id,
        invitation: secret.map(|secret| Invitation { secret, until: 0 }),
    };
    assert_eq!(registry.apply(&invite(4, Some(7)), FIRST), Applied::Outdated);
    assert_eq!(registry.apply(&invite(5, Some(7)), FIRST), Applied::Yes);
    assert_eq!(registry.apply(&invite(5, Some(8)), FIRST), Applied::Outdated);
    assert_eq!(registry.apply(&invite(5, None), FIRST), Applied::Yes);
    assert_eq!(registry.apply(&invite(5, None), FIRST), Applied::Outdated);
    assert_eq!(registry.next_id(), 6);
}

#[test]
fn definitions_come_and_go() {
    let mut registry = Registry::default();
    let name: Arc<str> = Arc::from("gpu");
    let define = |definition| Entry::Define { name: name.clone(), definition };
    registry.apply(&define(Some(Definition::Slots(4))), FIRST);
    assert_eq!(registry.definitions.get(&name), Some(&Definition::Slots(4)));
    assert_eq!(registry.apply(&define(Some(Definition::Slots(2))), FIRST), Applied::Yes);
    // A semaphore does not become a room; what is no longer defined may become anything.
    let room = define(Some(Definition::Room));
    assert_eq!(registry.apply(&room, FIRST), Applied::DefinedAs(Definition::Slots(2)));
    assert_eq!(registry.definitions.get(&name), Some(&Definition::Slots(2)));
    registry.apply(&define(None), FIRST);
    assert!(registry.definitions.is_empty());
}

/// A cluster whose leases last for ever cannot fail over, and one whose leases last no time grants nothing.
#[test]
fn no_entry_is_out_of_bounds() {
    let mut registry = Registry::default();
    for lasts in [Duration::ZERO, Duration::from_millis(499), Duration::from_secs(601), Duration::MAX] {
        let entry = Entry::Lease { base: 0, lasts, decided_by: FIRST };
        assert_eq!(registry.apply(&entry, FIRST), Applied::OutOfBounds, "{lasts:?}");
    }
    let long = "x".repeat(LONGEST_ADDRESS + 1);
    for member in [
        MemberEntry::new(1, &long, ""),
        MemberEntry::new(1, "", &long),
        MemberEntry::new(LAST_INCARNATION + 1, "", ""),
    ] {
        let members = BTreeMap::from([(0, member)]);
        let entry = Entry::View { base_epoch: 0, decided_by: FIRST, members };
        assert_eq!(registry.apply(&entry, FIRST), Applied::OutOfBounds);
    }
    for (name, slots) in [("", 1), ("a\nb", 1), ("x", 0), ("x", u32::MAX)] {
        let entry = Entry::Define { name: name.into(), definition: Some(Definition::Slots(slots)) };
        let applied = registry.apply(&entry, FIRST);
        assert_eq!(applied, Applied::OutOfBounds, "{name:?} {slots}");
        assert!(!matches!(applied.of_definition(&entry), Ok(()) | Err(Refusal::Bound { .. })));
    }
    let invitation = Some(Invitation { secret: 1, until: 0 });
    let entry = Entry::Invite { id: u32::MAX, invitation };
    assert_eq!(registry.apply(&entry, FIRST), Applied::OutOfBounds);
    assert_eq!(registry, Registry::default(), "none of them changed anything");
}

#[test]
fn invitations_and_definitions_do_not_grow_for_ever() {
    let mut registry = Registry::default();
    let invite = |id| Entry::Invite { id, invitation: Some(Invitation { secret: 1, until: 0 }) };
    for id in 0..MOST_INVITATIONS as u32 {
        assert_eq!(registry.apply(&invite(id), FIRST), Applied::Yes);
    }
    assert_eq!(registry.apply(&invite(MOST_INVITATIONS as u32), FIRST), Applied::OutOfBounds);
    let define = |name: String, slots| {
        let definition = Some(Definition::Slots(slots));
        Entry::Define { name: name.into(), definition }
    };
    for number in 0..MOST_DEFINITIONS {
        registry.definitions.insert(format!("{number}").into(), Definition::MUTEX);
    }
    assert_eq!(registry.apply(&define("0".to_owned(), 2), FIRST), Applied::Yes, "it is there already");
    let one_more = define("one more".to_owned(), 2);
    let applied = registry.apply(&one_more, FIRST);
    assert_eq!(applied, Applied::OutOfBounds);
    let most = MOST_DEFINITIONS as u64;
    assert_eq!(applied.of_definition(&one_more), Err(Refusal::Bound { bound: Bound::Definitions, most }));
}

#[test]
fn the_last_view_stays_in_force() {
    let mut registry = Registry { epoch: LAST_EPOCH - 1, ..Registry::default() };
    assert_eq!(registry.apply(&view(LAST_EPOCH - 1, &[(0, 5)]), FIRST), Applied::Yes);
    let last = registry.clone();
    assert_eq!(registry.apply(&view(LAST_EPOCH, &[(0, 5), (1, 5)]), FIRST), Applied::NoMoreViews);
    assert_eq!(registry, last);
}

#[test]
fn leases_last_as_long_as_the_leader_that_waited_says() {
    let mut registry = Registry::default();
    let second = Leadership { term: 2, node: 1 };
    let entry = Entry::Lease { base: 0, lasts: Duration::from_secs(1), decided_by: FIRST };
    assert_eq!(registry.apply(&entry, second), Applied::Outdated);
    assert_eq!(registry.lease, Duration::from_secs(3));
    assert_eq!(registry.apply(&entry, FIRST), Applied::Yes);
    assert_eq!(registry.lease, Duration::from_secs(1));
    let longer = Entry::Lease { base: 1, lasts: Duration::from_secs(9), decided_by: FIRST };
    assert_eq!(registry.apply(&longer, FIRST), Applied::Yes);
    // The same again, which was repeated in between.
    assert_eq!(registry.apply(&entry, FIRST), Applied::Outdated);
    assert_eq!(registry.lease, Duration::from_secs(9));
}
