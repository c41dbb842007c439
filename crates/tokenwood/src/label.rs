//! What a client tells the nodes about itself, for people.

use std::path::Path;
use std::sync::OnceLock;

pub use service::label::{LONGEST_TEXT, Label};

/// What is known of this process: its user, machine, process id and program. Arguments of the program are not told, because
/// they may be secret.
pub fn of_this_process() -> Label {
    static LABEL: OnceLock<Label> = OnceLock::new();
    LABEL.get_or_init(look).clone()
}

fn look() -> Label {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let user = variable("USER").or_else(|| variable("LOGNAME")).unwrap_or_else(|| {
        let user = rustix::process::getuid();
        if user.is_root() { "root".to_string() } else { format!("uid {}", user.as_raw()) }
    });
    let program = std::env::args_os().next().unwrap_or_default();
    let program = Path::new(&program).file_name().unwrap_or_default().to_string_lossy();
    Label {
        user: Label::part(&user),
        host: Label::part(&rustix::system::uname().nodename().to_string_lossy()),
        process: std::process::id(),
        command: Label::part(&program),
        text: String::new(),
    }
}
