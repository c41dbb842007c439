//! Judges what clients held: never two that exclude each other at once, and fences that rise. Every case is judged so.

/// What a client held, and from when to when, as it saw it itself.
#[derive(Clone, Debug)]
pub(super) struct Hold {
    /// The client and its request, for people.
    pub(super) who: String,
    pub(super) lock: String,
    pub(super) kind: Kind,
    pub(super) slot: u32,
    pub(super) fence: u64,
    /// In nanoseconds of the machine's clock.
    pub(super) from: u64,
    pub(super) until: u64,
}

/// What a client held of a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A slot, of so many if that is known.
    Slot(Option<u32>),
    Shared,
    Exclusive,
    /// A room in this group.
    Group(Option<String>),
}

impl Hold {
    /// Whether both can never be held at the same time.
    fn excludes(&self, other: &Hold) -> bool {
        self.lock == other.lock
            && match (&self.kind, &other.kind) {
                (Kind::Slot(_), Kind::Slot(_)) => self.slot == other.slot,
                (Kind::Shared, Kind::Shared) => false,
                (Kind::Group(one), Kind::Group(another)) => one != another,
                _ => true,
            }
    }
}

/// What is wrong.
pub(super) fn judge(mut holds: Vec<Hold>) -> Vec<String> {
    holds.sort_by_key(|hold| hold.from);
    let mut wrong = Vec::new();
    for (index, first) in holds.iter().enumerate() {
        if let Kind::Slot(Some(slots)) = first.kind
            && first.slot >= slots
        {
            wrong.push(format!("{} was granted slot {} of {slots}", first.who, first.slot));
        }
        for second in holds[index + 1..].iter().filter(|second| first.excludes(second)) {
            let (one, another) = (&first.who, &second.who);
            if second.from < first.until {
                wrong.push(format!("{one} and {another} held '{}' at the same time", first.lock));
            } else if second.fence <= first.fence {
                let (before, after) = (first.fence, second.fence);
                wrong.push(format!(
                    "{another} came after {one} with fence {after}, which is not above {before}"
                ));
            }
        }
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hold(who: &str, kind: Kind, (slot, fence): (u32, u64), (from, until): (u64, u64)) -> Hold {
        Hold { who: who.into(), lock: "x".into(), kind, slot, fence, from, until }
    }

    fn group(name: &str) -> Kind {
        Kind::Group(Some(name.into()))
    }

    #[test]
    fn what_is_right_is_not_found_wrong() {
        for right in [
            [hold("a", Kind::Slot(Some(1)), (0, 1), (0, 5)), hold("b", Kind::Slot(Some(1)), (0, 2), (5, 9))],
            [hold("a", Kind::Slot(Some(2)), (0, 1), (0, 5)), hold("b", Kind::Slot(Some(2)), (1, 1), (1, 9))],
            [hold("a", Kind::Shared, (0, 1), (0, 5)), hold("b", Kind::Shared, (0, 1), (1, 9))],
            [hold("a", group("red"), (0, 1), (0, 5)), hold("b", group("red"), (0, 1), (1, 9))],
        ] {
            assert_eq!(judge(right.to_vec()), [""; 0]);
        }
    }

    #[test]
    fn two_at_once_and_fences_that_do_not_rise_are_found() {
        let both = "a and b held 'x' at the same time";
        for (wrong, said) in [
            (
                [hold("a", Kind::Slot(None), (0, 1), (0, 5)), hold("b", Kind::Slot(None), (0, 2), (4, 9))],
                both,
            ),
            ([hold("a", Kind::Shared, (0, 1), (0, 5)), hold("b", Kind::Exclusive, (0, 2), (4, 9))], both),
            ([hold("a", group("red"), (0, 1), (0, 5)), hold("b", group("blue"), (0, 2), (4, 9))], both),
            (
                [hold("a", Kind::Slot(None), (0, 2), (0, 5)), hold("b", Kind::Slot(None), (0, 2), (5, 9))],
                "b came after a with fence 2, which is not above 2",
            ),
            (
                [
                    hold("a", Kind::Slot(Some(2)), (2, 2), (0, 5)),
                    hold("b", Kind::Slot(Some(2)), (0, 2), (5, 9)),
                ],
                "a was granted slot 2 of 2",
            ),
        ] {
            assert_eq!(judge(wrong.to_vec()), [said]);
        }
    }
}
