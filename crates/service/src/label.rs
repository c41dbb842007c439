//! Who a client is, as it says itself. It is for people: nothing is decided by it.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::refusal::Refusal;

/// The longest that the free text of a label can be, in bytes.
pub const LONGEST_TEXT: usize = 128;
/// The longest that each other part can be, in bytes.
pub const LONGEST_PART: usize = 64;

/// Who a client is: each part is empty or 0 if the client does not say it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Label {
    /// The user that its process runs as.
    pub user: String,
    /// The machine.
    pub host: String,
    /// The process id.
    pub process: u32,
    /// The program, without its arguments: they may be secret.
    pub command: String,
    /// Anything that helps people to know it again.
    pub text: String,
}

impl Label {
    fn parts(&self) -> [(&str, usize); 4] {
        let Label { user, host, command, text, .. } = self;
        [(user, LONGEST_PART), (host, LONGEST_PART), (command, LONGEST_PART), (text, LONGEST_TEXT)]
    }

    /// How many bytes its texts have.
    pub(crate) fn bytes(&self) -> usize {
        self.parts().iter().map(|(part, _)| part.len()).sum()
    }

    /// Refuses what is too long, or would not be printed as it is.
    pub fn validate(&self) -> Result<(), Refusal> {
        let is_fine =
            |(part, most): &(&str, usize)| part.len() <= *most && !part.chars().any(char::is_control);
        if self.parts().iter().all(is_fine) { Ok(()) } else { Err(Refusal::Label) }
    }

    /// As much of this text as a part can have, without what would not be printed.
    pub fn part(text: &str) -> String {
        let mut part: String = text.chars().filter(|letter| !letter.is_control()).collect();
        part.truncate(part.floor_char_boundary(LONGEST_PART));
        part
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Label { user, host, process, command, text } = self;
        let place = match (user.is_empty(), host.is_empty()) {
            (false, false) => format!("{user}@{host}"),
            _ => format!("{user}{host}"),
        };
        let process = match (process, command.is_empty()) {
            (0, true) => String::new(),
            (0, false) => format!("({command})"),
            (process, true) => format!("(pid {process})"),
            (process, false) => format!("(pid {process}: {command})"),
        };
        let text = if text.is_empty() { String::new() } else { format!("\"{text}\"") };
        let parts: Vec<String> = [place, process, text].into_iter().filter(|part| !part.is_empty()).collect();
        f.write_str(&parts.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn label() -> Label {
        let [user, host, command] = ["deploy", "build-7", "./backup.sh"].map(str::to_string);
        Label { user, host, process: 4121, command, text: String::new() }
    }

    #[test]
    fn a_label_is_read_as_a_person_would_say_it() {
        assert_eq!(label().to_string(), "deploy@build-7 (pid 4121: ./backup.sh)");
        let text = "nightly".to_string();
        assert_eq!(
            Label { process: 0, command: String::new(), text, ..label() }.to_string(),
            "deploy@build-7 \"nightly\""
        );
        assert_eq!(Label::default().to_string(), "");
    }

    #[test]
    fn what_is_too_long_or_moves_the_cursor_is_refused() {
        assert_eq!(label().validate(), Ok(()));
        for wrong in ["x".repeat(LONGEST_PART + 1), "a\u{1b}[2J".to_string()] {
            assert_eq!(Label { user: wrong.clone(), ..label() }.validate(), Err(Refusal::Label));
            assert_eq!(Label { user: Label::part(&wrong), ..label() }.validate(), Ok(()));
        }
        assert_eq!(Label { text: "x".repeat(LONGEST_TEXT), ..label() }.validate(), Ok(()));
        assert_eq!(Label { text: "ü".repeat(LONGEST_TEXT), ..label() }.validate(), Err(Refusal::Label));
    }
}
