//! The bounds of everything that a request can ask for.

/// More nodes than this are not played.
pub const MOST_NODES: u64 = 100;
/// More tokens than this are not played.
pub const MOST_TOKENS: u64 = 100;
/// More clients of a node than this are not played.
pub const MOST_CLIENTS: u64 = 16;
/// More steps than this do not make a run.
pub const MOST_STEPS: usize = 10_000;
/// More states than this are not answered at once.
pub const MOST_STATES: usize = 500;
/// More messages than this are not under way at once.
pub const MOST_UNDER_WAY: usize = 10_000;
/// More messages under way than this are not listed: the answer tells how many more there are.
pub const MOST_LISTED: usize = 1_000;
/// A text of a step is no longer than this.
pub const LONGEST_STEP: usize = 400;
/// Of an action with picks, no more variants than this are listed.
pub const MOST_VARIANTS: usize = 8;
/// A search keeps no more states than this.
pub const MOST_SEARCHED: u64 = 20_000_000;
/// No more entries than this are compared.
pub const MOST_COMPARED: u64 = 500;
/// A simulation of a curve has no more entries than this, in all its runs.
pub const MOST_SIMULATED: u64 = 2_000_000;
/// A curve has no more runs than this: points times seeds.
pub const MOST_RUNS: u64 = 1_000;
/// A link is no longer than this, in bytes, and its text no longer than four times as many.
pub const LONGEST_LINK: usize = 256 << 10;

/// The bounds that depend on where the player runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// A search takes no more memory than this, in bytes.
    pub search_bytes: u64,
    /// What to do if that is too little.
    pub more_memory: &'static str,
}

impl Limits {
    /// On a machine of the reader's own.
    pub const ALONE: Limits =
        Limits { search_bytes: 2 << 30, more_memory: "'tokenwood check' takes as much as you let it" };
    /// Beside a node: its memory is for locks.
    pub const AT_NODE: Limits = Limits {
        search_bytes: 256 << 20,
        more_memory: "'tokenwood play' on a machine of yours gives it 2 GiB, 'tokenwood check' as much as you let it",
    };
}
