//! How far a change of views has come.

/// What is left of a change of views.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ViewChange {
    /// Nothing, or the end marks of other members have to come first.
    #[default]
    Done,
    /// Resources from this number on may not be in the view yet.
    Resumes {
        /// The number.
        next: u32,
    },
    /// All members have reported everything. Resources from this number on may not know.
    Mints {
        /// Those that no member has reported to have anything of. They come last.
        guesses: bool,
        /// The number.
        next: u32,
    },
}

impl ViewChange {
    /// Whether there is nothing to do at the moment.
    pub(crate) fn is_done(self) -> bool {
        self == ViewChange::Done
    }

    /// Whether resources may not be in the view yet.
    pub(crate) fn resumes(self) -> bool {
        matches!(self, ViewChange::Resumes { .. })
    }
}
