//! Completions and manual pages know every command.

use std::fs;

use crate::folder::{Folder, code, text};

#[test]
fn completions_and_manual_pages_know_every_command() {
    let folder = Folder::new("shell");
    for shell in ["bash", "zsh", "fish"] {
        let output = folder.run(&format!("completions {shell}"));
        let script = text(&output.stdout);
        assert_eq!(code(&output), 0);
        for command in ["acquire", "members", "recommend", "--ttl", "--defect"] {
            assert!(script.contains(command.trim_start_matches('-')), "{shell} does not know {command}");
        }
    }
    assert_eq!(code(&folder.run("man --out pages")), 0);
    let page = |name: &str| fs::read_to_string(folder.0.join("pages").join(name)).unwrap();
    assert!(
        page("tokenwood.1").contains("tokenwood\\-acquire(1)") && page("tokenwood-run.1").contains("grace")
    );
    assert!(!folder.0.join("pages/tokenwood-guardian.1").exists(), "hidden commands have no page");
}
