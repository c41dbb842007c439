//! The program at a terminal of 60 columns: every line fits, and a long simulation shows its progress.

use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::process::Stdio;

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::cluster::kill;
use crate::folder::{Folder, text};

const COLUMNS: u16 = 60;

/// A terminal: what a user sees, and what a program writes to.
pub(crate) fn terminal() -> (OwnedFd, OwnedFd) {
    let seen = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    grantpt(&seen).unwrap();
    unlockpt(&seen).unwrap();
    let name = ptsname(&seen, Vec::new()).unwrap();
    let written =
        rustix::fs::open(&*name, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty()).unwrap();
    let size = Winsize { ws_row: 40, ws_col: COLUMNS, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&written, size).unwrap();
    (seen, written)
}

/// What a command shows there.
fn shown(folder: &Folder, arguments: &str, errors_too: bool) -> String {
    let (seen, written) = terminal();
    let mut command = folder.command(arguments);
    if errors_too {
        command.stderr(Stdio::from(written.try_clone().unwrap()));
    } else {
        command.stderr(Stdio::null());
    }
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::from(written)).spawn().unwrap();
    // The command has a copy of the terminal, which would keep it open.
    drop(command);
    let (mut seen, mut bytes, mut part) = (File::from(seen), Vec::new(), [0; 4096]);
    // The end of a terminal is an error on Linux.
    while let Ok(count @ 1..) = seen.read(&mut part) {
        bytes.extend_from_slice(&part[..count]);
    }
    child.wait().unwrap();
    text(&bytes).replace('\r', "")
}

#[test]
fn tables_fit_a_narrow_terminal() {
    let folder = Folder::new("narrow");
    let commands = [
        ("algorithms", "naimi-trehel"),
        ("check naimi-trehel --all", "  4 nodes, 1 token, "),
        ("check bulgannawar-vaidya --nodes 2 --defect holding-not-set", "Violated after 4 steps"),
        ("check naimi-trehel --random 20", "No violation"),
        ("check --list-defects lamport", "printed:"),
        ("simulate bulgannawar-vaidya --nodes 5 --entries 100", "messages per entry"),
        ("map --nodes 4 --entries 60 --seeds 2 --measure wait", "section \\ λ"),
        ("recommend --nodes 4 --tokens 2 --entries 100 --seeds 2", "algorithm"),
        (
            "sweep raymond-k --vary rate=0.1,1 --nodes 4 --entries 50 --seeds 2 --out a.csv",
            "messages per entry",
        ),
        ("errata lamport", "req0"),
        ("reproduce --list", "exhibit"),
        ("reproduce collectors-4 --quick --seeds 1", "\ncollectors-4 ("),
    ];
    for (command, wanted) in commands {
        let told = shown(&folder, command, false);
        assert!(told.contains(wanted), "{command}: {told}");
        let wide: Vec<&str> = told.lines().filter(|line| line.chars().count() > COLUMNS.into()).collect();
        // A command to copy stays in one piece.
        let wide: Vec<&&str> = wide.iter().filter(|line| !line.contains("tokenwood ")).collect();
        assert!(wide.is_empty(), "{command}: {wide:#?}");
        let piped = text(&folder.run(command).stdout);
        assert!(!piped.is_empty(), "{command}");
    }
}

#[test]
fn many_random_runs_show_their_progress_at_a_terminal() {
    let folder = Folder::new("random-progress");
    let told = shown(&folder, "check naimi-trehel --nodes 6 --requests 5 --random 5000", true);
    assert!(told.contains(" of 5,000 random runs") && told.contains("No violation"), "{told}");
}

#[test]
fn a_signal_takes_the_line_of_progress_away() {
    let folder = Folder::new("signal-line");
    let (seen, written) = terminal();
    let mut command = folder.command("simulate naimi-trehel --nodes 5 --entries 900000000 --no-check");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::from(written));
    let mut child = command.spawn().unwrap();
    drop(command);
    let (mut seen, mut bytes, mut part) = (File::from(seen), Vec::new(), [0; 4096]);
    let mut is_asked = false;
    while let Ok(count @ 1..) = seen.read(&mut part) {
        bytes.extend_from_slice(&part[..count]);
        if !is_asked && text(&bytes).contains(" M of 900 M") {
            is_asked = true;
            kill("-INT", child.id().into());
        }
    }
    child.wait().unwrap();
    let told = text(&bytes);
    let (before, after) = told.split_once("stopping to say what there is; once more ends at once").unwrap();
    let cleared = format!("\r{}\r", " ".repeat(usize::from(COLUMNS) - 1));
    assert!(before.ends_with(&cleared) && after.starts_with("\r\n"), "{told:?}");
}

#[test]
fn a_long_simulation_shows_its_progress_at_a_terminal() {
    let folder = Folder::new("progress");
    let told = shown(&folder, "simulate naimi-trehel --nodes 5 --entries 1000000 --no-check", true);
    assert!(told.contains("simulate ░") && told.contains("entries"), "{told}");
    let piped = folder.run("simulate naimi-trehel --nodes 5 --entries 1000");
    assert!(piped.stderr.is_empty(), "{}", text(&piped.stderr));
}
