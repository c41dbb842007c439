//! What looks like a simplification of leases and is none.

/// A rule that can be left out, to see that it is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Defect {
    /// A node counts its lease from when the confirmation came.
    CountedFromReceipt,
    /// The leader confirms without asking whether it still leads.
    NoRound,
    /// A renewal that comes while a round runs is confirmed by it.
    JoinsRunningRound,
    /// A new leader counts as lost whoever has not renewed under it.
    NewLeaderDoesNotWait,
    /// The leader waits as long as a lease lasts on its own clock.
    NoDrift,
    /// A member that is about to be left out can still renew.
    RenewsDuringExclusion,
    /// A shorter lease is agreed on while somebody believes in a longer one.
    ShorterAtOnce,
}

impl Defect {
    /// All of them.
    pub const ALL: [Defect; 7] = [
        Defect::CountedFromReceipt,
        Defect::NoRound,
        Defect::JoinsRunningRound,
        Defect::NewLeaderDoesNotWait,
        Defect::NoDrift,
        Defect::RenewsDuringExclusion,
        Defect::ShorterAtOnce,
    ];
}
