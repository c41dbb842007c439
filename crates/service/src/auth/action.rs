//! What a caller can do, and sets of that.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// What a caller wants to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Action {
    /// Acquire a name.
    Acquire,
    /// See holders, waiters, events and definitions of a name.
    Read,
    /// Define, resize and undefine a name.
    Define,
    /// Release a grant of another client by force.
    Force,
    /// Change the cluster: members, leases, rights; read the audit.
    Admin,
}

impl Action {
    /// All of them.
    pub const ALL: [Action; 5] =
        [Action::Acquire, Action::Read, Action::Define, Action::Force, Action::Admin];

    /// Its name, as it is typed.
    pub const fn name(self) -> &'static str {
        match self {
            Action::Acquire => "acquire",
            Action::Read => "read",
            Action::Define => "define",
            Action::Force => "force",
            Action::Admin => "admin",
        }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A text that names no action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotAnAction(String);

impl fmt::Display for NotAnAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = Action::ALL.map(Action::name).join(", ");
        write!(f, "'{}' is not an action: use {names}, or all but admin as 'locks'", self.0)
    }
}

impl std::error::Error for NotAnAction {}

impl FromStr for Action {
    type Err = NotAnAction;

    fn from_str(text: &str) -> Result<Action, NotAnAction> {
        Action::ALL.into_iter().find(|it| it.name() == text).ok_or_else(|| NotAnAction(text.to_owned()))
    }
}

/// Some actions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Actions(u8);

impl Actions {
    /// None.
    pub const NONE: Actions = Actions(0);

    /// All of them.
    pub fn all() -> Actions {
        Action::ALL.into_iter().collect()
    }

    /// Whether an action is one of them.
    pub fn has(self, action: Action) -> bool {
        self.0 & (1 << action as u8) != 0
    }

    /// These and those.
    #[must_use]
    pub fn with(self, others: Actions) -> Actions {
        Actions(self.0 | others.0)
    }

    /// These without those.
    #[must_use]
    pub fn without(self, others: Actions) -> Actions {
        Actions(self.0 & !others.0)
    }

    /// Whether there is none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether all of them are actions that this program knows.
    pub fn are_known(self) -> bool {
        self.without(Actions::all()).is_empty()
    }
}

impl FromIterator<Action> for Actions {
    fn from_iter<I: IntoIterator<Item = Action>>(actions: I) -> Actions {
        Actions(actions.into_iter().fold(0, |all, action| all | 1 << action as u8))
    }
}

impl fmt::Display for Actions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = Action::ALL.into_iter().filter(|it| self.has(*it)).map(Action::name).collect();
        f.write_str(&names.join(","))
    }
}

/// Names with commas between; `locks` is all but `admin`.
impl FromStr for Actions {
    type Err = NotAnAction;

    fn from_str(text: &str) -> Result<Actions, NotAnAction> {
        let admin = Actions::from_iter([Action::Admin]);
        text.split(',').try_fold(Actions::NONE, |all, name| match name.trim() {
            "locks" => Ok(all.with(Actions::all().without(admin))),
            name => Ok(all.with(Actions::from_iter([name.parse()?]))),
        })
    }
}
