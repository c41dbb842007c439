//! A state of the system as a row of numbers: for each node the number of its state, for each node the number
//! of its inbox, and the budget of faults. The empty inbox of a node has the node's number.

use algorithms::Case;

/// How many faults may still happen: losses, duplicates, crashes, and timers that expire while messages are
/// under way. One number holds them all, a byte each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Budget(u32);

impl Budget {
    pub(crate) const NONE: Budget = Budget(0);
    pub(crate) const ONE_LOSS: Budget = Budget(1);
    pub(crate) const ONE_DUPLICATE: Budget = Budget(1 << 8);
    pub(crate) const ONE_CRASH: Budget = Budget(1 << 16);
    pub(crate) const ONE_EARLY: Budget = Budget(1 << 24);

    /// Everything that a case allows. Its numbers are below 256.
    pub(crate) fn new(case: &Case) -> Budget {
        let early = if case.allowance.firings > 0 { case.allowance.early } else { 0 };
        Budget(
            case.allowance.losses * Budget::ONE_LOSS.0
                + case.allowance.duplicates * Budget::ONE_DUPLICATE.0
                + case.allowance.crashes * Budget::ONE_CRASH.0
                + early * Budget::ONE_EARLY.0,
        )
    }

    /// Whether it allows this cost, which is nothing or one fault.
    #[inline]
    pub(crate) fn affords(self, cost: Budget) -> bool {
        cost == Budget::NONE || self.0 & (cost.0 * 0xff) != 0
    }
}

/// Which numbers of a row are what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RowLayout {
    nodes: usize,
}

/// A row, read only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Row<'a> {
    layout: RowLayout,
    words: &'a [u32],
}

/// A row that can be changed.
#[derive(Clone, Debug)]
pub(crate) struct RowBuffer {
    layout: RowLayout,
    words: Vec<u32>,
}

impl RowLayout {
    pub(crate) fn new(nodes: u32) -> RowLayout {
        RowLayout { nodes: nodes as usize }
    }

    /// How many nodes there are.
    #[inline]
    pub(crate) fn nodes(self) -> usize {
        self.nodes
    }

    /// How many numbers a row has.
    pub(crate) fn width(self) -> usize {
        2 * self.nodes + 1
    }

    /// Reads a row.
    #[inline]
    pub(crate) fn row(self, words: &[u32]) -> Row<'_> {
        debug_assert_eq!(words.len(), self.width());
        Row { layout: self, words }
    }

    /// A row with these states, inboxes and budget.
    pub(crate) fn buffer(self, states: &[u32], inboxes: &[u32], budget: Budget) -> RowBuffer {
        RowBuffer { layout: self, words: [states, inboxes, &[budget.0]].concat() }
    }

    /// A row whose numbers are all 0.
    pub(crate) fn zeroes(self) -> RowBuffer {
        RowBuffer { layout: self, words: vec![0; self.width()] }
    }
}

impl<'a> Row<'a> {
    /// The numbers, as the store keeps them.
    #[inline]
    pub(crate) fn words(self) -> &'a [u32] {
        self.words
    }

    /// The state of a node.
    #[inline]
    pub(crate) fn node(self, node: usize) -> u32 {
        self.words[node]
    }

    /// The inbox of a node.
    #[inline]
    pub(crate) fn inbox(self, node: usize) -> u32 {
        self.words[self.layout.nodes + node]
    }

    /// Whether no message is under way to a node.
    #[inline]
    pub(crate) fn is_inbox_empty(self, node: usize) -> bool {
        self.inbox(node) == node as u32
    }

    /// Whether no message is under way.
    pub(crate) fn is_silent(self) -> bool {
        (0..self.layout.nodes).all(|node| self.is_inbox_empty(node))
    }

    /// The faults that may still happen.
    #[inline]
    pub(crate) fn budget(self) -> Budget {
        Budget(self.words[2 * self.layout.nodes])
    }
}

impl RowBuffer {
    #[inline]
    pub(crate) fn as_row(&self) -> Row<'_> {
        Row { layout: self.layout, words: &self.words }
    }

    /// Becomes equal to a row.
    #[inline]
    pub(crate) fn copy(&mut self, row: Row<'_>) {
        self.words.copy_from_slice(row.words);
    }

    /// Sets the state of a node.
    #[inline]
    pub(crate) fn set_node(&mut self, node: usize, state: u32) {
        self.words[node] = state;
    }

    /// Sets the inbox of a node.
    #[inline]
    pub(crate) fn set_inbox(&mut self, node: usize, inbox: u32) {
        self.words[self.layout.nodes + node] = inbox;
    }

    /// Sets one of the numbers, counted from the first node's state.
    #[inline]
    pub(crate) fn set(&mut self, place: usize, part: u32) {
        self.words[place] = part;
    }

    /// Takes a cost, which the budget affords, from the budget.
    #[inline]
    pub(crate) fn spend(&mut self, cost: Budget) {
        self.words[2 * self.layout.nodes] -= cost.0;
    }
}

/// Rows of the same width, one after the other.
#[derive(Clone, Debug)]
pub(crate) struct Rows {
    width: usize,
    words: Vec<u32>,
}

impl Rows {
    pub(crate) fn new(width: usize) -> Rows {
        Rows { width, words: Vec::new() }
    }

    pub(crate) fn len(&self) -> usize {
        self.words.len() / self.width
    }

    #[inline]
    pub(crate) fn push(&mut self, words: &[u32]) {
        debug_assert_eq!(words.len(), self.width);
        self.words.extend_from_slice(words);
    }

    #[inline]
    pub(crate) fn get(&self, index: usize) -> &[u32] {
        &self.words[index * self.width..(index + 1) * self.width]
    }

    pub(crate) fn clear(&mut self) {
        self.words.clear();
    }

    pub(crate) fn bytes(&self) -> u64 {
        4 * self.words.len() as u64
    }
}
