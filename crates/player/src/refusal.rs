//! A typed no to a request that cannot be answered.

use std::fmt;

use algorithms::SettingError;
use serde::Serialize;

/// Why a request is refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Refusal {
    /// What is wrong with it.
    pub kind: RefusalKind,
    /// The reason, in one line for the user.
    pub message: String,
    /// The text of the step that does not fit, if one does not.
    pub step: Option<String>,
    /// How many steps of the run do fit, if a step does not.
    pub fits: Option<usize>,
}

/// What is wrong with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RefusalKind {
    /// The algorithm does not exist, or does not accept the setting.
    Setting,
    /// A number is beyond the bounds of the player.
    Bounds,
    /// A text is not a step.
    NotAStep,
    /// A step is not possible where it stands.
    Impossible,
    /// A text is not what a link or a file has.
    Unreadable,
}

impl Refusal {
    pub(crate) fn new(kind: RefusalKind, message: impl Into<String>) -> Refusal {
        Refusal { kind, message: message.into(), step: None, fits: None }
    }

    /// A number is beyond its bound.
    pub(crate) fn bounds(what: &str, given: impl fmt::Display, most: impl fmt::Display) -> Refusal {
        Refusal::new(RefusalKind::Bounds, format!("{what}: {given}, and at most {most} can be played"))
    }

    /// The step after these many does not fit.
    pub(crate) fn at_step(kind: RefusalKind, fits: usize, step: &str, why: impl fmt::Display) -> Refusal {
        // A hostile text need not come back whole.
        let step: String = step.chars().take(40).collect();
        let message = format!("step {}, {step}: {why}; the run fits up to step {fits}", fits + 1);
        Refusal { kind, message, step: Some(step), fits: Some(fits) }
    }
}

impl From<SettingError> for Refusal {
    fn from(error: SettingError) -> Refusal {
        Refusal::new(RefusalKind::Setting, error.to_string())
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Refusal {}
