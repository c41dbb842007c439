//! Whether a node takes new sessions and requests.

use crate::refusal::Refusal;
use crate::time::Time;

/// Whether this node takes new sessions and requests. An overloaded node refuses requests for a while; a node that
/// leaves refuses both, and does not come back from that.
#[derive(Clone, Default)]
pub(crate) struct Admission {
    overloaded: bool,
    /// Until when sessions are kept alive, if this node leaves.
    leaves: Option<Time>,
}

impl Admission {
    /// Refuses a new session, if there is a reason to.
    pub(crate) fn of_session(&self) -> Result<(), Refusal> {
        if self.leaves.is_some() { Err(Refusal::Leaving) } else { Ok(()) }
    }

    /// Refuses a new request, if there is a reason to.
    pub(crate) fn of_request(&self) -> Result<(), Refusal> {
        self.of_session()?;
        if self.overloaded { Err(Refusal::Overloaded) } else { Ok(()) }
    }

    pub(crate) fn set_overloaded(&mut self, overloaded: bool) {
        self.overloaded = overloaded;
    }

    /// This node leaves: it keeps sessions alive until this time.
    pub(crate) fn leave(&mut self, until: Time) {
        self.leaves = Some(until);
    }

    /// Until when sessions are kept alive, if this node leaves.
    pub(crate) fn leaves(&self) -> Option<Time> {
        self.leaves
    }

    /// Whether a session is kept alive now. While the node leaves, that depends on whether the session holds something.
    pub(crate) fn keeps_alive(&self, now: Time, holds: impl FnOnce() -> bool) -> bool {
        self.leaves.is_none_or(|until| now < until && holds())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_that_leaves_refuses_more_than_one_that_is_overloaded() {
        let mut admission = Admission::default();
        admission.set_overloaded(true);
        assert_eq!((admission.of_session(), admission.of_request()), (Ok(()), Err(Refusal::Overloaded)));
        admission.leave(Time(5));
        assert_eq!(admission.of_session(), Err(Refusal::Leaving));
        assert_eq!(admission.of_request(), Err(Refusal::Leaving));
    }

    #[test]
    fn a_node_that_leaves_keeps_only_holders_alive_and_not_for_ever() {
        let mut admission = Admission::default();
        assert!(admission.keeps_alive(Time(1), || false));
        admission.leave(Time(5));
        assert!(admission.keeps_alive(Time(4), || true));
        assert!(!admission.keeps_alive(Time(4), || false) && !admission.keeps_alive(Time(5), || true));
    }
}
