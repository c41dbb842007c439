//! `tokenwood top` as a user meets it: at a terminal, in a pipe, and for scripts, with real nodes.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{Termios, Winsize, tcgetattr, tcsetwinsize};
use serde_json::Value;

use crate::cluster::{Cluster, SOON, ended_within, kill};
use crate::folder::{code, text};
use crate::json_schema::document;
use crate::narrow::terminal;

/// Enough on a machine that is busy with everything else.
const LONG: Duration = Duration::from_secs(40);

/// A terminal that remembers what is on its screen.
struct Screen {
    size: (usize, usize),
    cells: Vec<Vec<char>>,
    at: (usize, usize),
    /// What was begun of an escape sequence.
    escape: Option<String>,
    /// Whether the program has the whole screen now.
    alternate: bool,
    /// A character was written behind the last column.
    overflowed: bool,
    /// A colour was asked for.
    coloured: bool,
}

impl Screen {
    fn new(columns: usize, rows: usize) -> Screen {
        Screen {
            size: (columns, rows),
            cells: vec![vec![' '; columns]; rows],
            at: (0, 0),
            escape: None,
            alternate: false,
            overflowed: false,
            coloured: false,
        }
    }

    fn text(&self) -> String {
        let lines = self.cells.iter().map(|line| line.iter().collect::<String>().trim_end().to_string());
        lines.collect::<Vec<_>>().join("\n")
    }

    fn take(&mut self, letter: char) {
        if let Some(escape) = &mut self.escape {
            escape.push(letter);
            if letter != '[' && !letter.is_ascii_digit() && !";?".contains(letter) {
                let escape = self.escape.take().unwrap();
                self.obey(&escape);
            }
            return;
        }
        match letter {
            '\u{1b}' => self.escape = Some(String::new()),
            '\r' => self.at.0 = 0,
            '\n' => self.at.1 = (self.at.1 + 1).min(self.size.1 - 1),
            letter => {
                let (column, row) = self.at;
                if column >= self.size.0 || row >= self.size.1 {
                    self.overflowed = true;
                    return;
                }
                self.cells[row][column] = letter;
                self.at.0 += 1;
            }
        }
    }

    fn obey(&mut self, escape: &str) {
        let Some(sequence) = escape.strip_prefix('[') else { return };
        let (values, what) = sequence.split_at(sequence.len() - 1);
        let numbers: Vec<usize> = values.split(';').map(|value| value.parse().unwrap_or(0)).collect();
        match what {
            "H" => {
                let row = numbers.first().copied().unwrap_or(1).max(1) - 1;
                self.at = (numbers.get(1).copied().unwrap_or(1).max(1) - 1, row);
            }
            "J" => self.cells = vec![vec![' '; self.size.0]; self.size.1],
            "h" if values == "?1049" => self.alternate = true,
            "l" if values == "?1049" => self.alternate = false,
            "m" => self.coloured |= numbers.iter().any(|number| matches!(number, 30..=38 | 40..=48)),
            _ => {}
        }
    }
}

/// `tokenwood top` at a terminal.
struct Top {
    child: Child,
    seen: File,
    written: OwnedFd,
    before: Termios,
    screen: Arc<Mutex<Screen>>,
}

impl Top {
    fn start(cluster: &Cluster, node: usize, size: (u16, u16), arguments: &[&str]) -> Top {
        Top::start_with(cluster, node, size, arguments, |command| _ = command.env_remove("NO_COLOR"))
    }

    fn start_with(
        cluster: &Cluster,
        node: usize,
        (columns, rows): (u16, u16),
        arguments: &[&str],
        prepare: impl FnOnce(&mut Command),
    ) -> Top {
        let (seen, written) = terminal();
        resize(&written, columns, rows);
        let before = tcgetattr(&written).unwrap();
        let mut command = cluster.client(node, &[&["top", "--every", "200ms"], arguments].concat());
        command.stdin(Stdio::from(written.try_clone().unwrap()));
        command.stdout(Stdio::from(written.try_clone().unwrap())).stderr(Stdio::null());
        prepare(&mut command);
        let child = command.spawn().unwrap();
        let screen = Arc::new(Mutex::new(Screen::new(columns.into(), rows.into())));
        let (mut reads, shared) = (File::from(seen.try_clone().unwrap()), screen.clone());
        // It ends with the last writer.
        std::thread::spawn(move || {
            let (mut bytes, mut part) = (Vec::new(), [0; 4096]);
            while let Ok(count @ 1..) = reads.read(&mut part) {
                bytes.extend_from_slice(&part[..count]);
                // A character may come in two parts.
                let whole = match std::str::from_utf8(&bytes) {
                    Ok(_) => bytes.len(),
                    Err(error) => error.valid_up_to(),
                };
                let rest = bytes.split_off(whole);
                let mut screen = shared.lock().unwrap();
                String::from_utf8(bytes).unwrap().chars().for_each(|letter| screen.take(letter));
                bytes = rest;
            }
        });
        Top { child, seen: File::from(seen), written, before, screen }
    }

    /// Waits until the screen is such. Returns it.
    fn until(&self, what: &str, is_so: impl Fn(&str) -> bool) -> String {
        let begun = Instant::now();
        loop {
            let text = self.screen.lock().unwrap().text();
            if is_so(&text) {
                return text;
            }
            assert!(begun.elapsed() < LONG, "never {what}:\n{text}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn press(&mut self, keys: &str) {
        self.seen.write_all(keys.as_bytes()).unwrap();
    }

    /// It has ended, and the terminal is as it was.
    fn has_ended_well(&mut self) {
        let status = ended_within(&mut self.child, SOON).expect("it ends");
        assert!(status.success(), "{status}");
        let begun = Instant::now();
        while self.screen.lock().unwrap().alternate {
            assert!(begun.elapsed() < SOON, "the screen was not given back");
            std::thread::sleep(Duration::from_millis(10));
        }
        let after = tcgetattr(&self.written).unwrap();
        assert_eq!(after.local_modes, self.before.local_modes, "lines, echo and signals are on again");
        assert_eq!(after.output_modes, self.before.output_modes);
    }
}

impl Drop for Top {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

fn resize(written: &OwnedFd, columns: u16, rows: u16) {
    tcsetwinsize(written, Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
}

/// A process that ends with its test.
struct Client(Child);

impl Drop for Client {
    fn drop(&mut self) {
        // Politely, so that it ends its command.
        kill("-TERM", u64::from(self.0.id()));
        if ended_within(&mut self.0, SOON).is_none() {
            _ = self.0.kill();
        }
    }
}

/// Holds a name at a node while the test runs.
fn run(cluster: &Cluster, node: usize, name: &str, label: &str) -> Client {
    let mut command = cluster.client(node, &["run", name, "--label", label, "--", "sleep", "600"]);
    Client(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
}

#[test]
fn top_shows_a_holder_and_a_waiter_and_obeys_its_keys() {
    let cluster = Cluster::start("top-keys", 3, false);
    let _holder = run(&cluster, 0, "jobs/nightly", "the-holder");
    cluster.until("jobs/nightly", 1, 0);
    let _waiter = run(&cluster, 1, "jobs/nightly", "the-waiter");
    cluster.until("jobs/nightly", 1, 1);
    let _other = run(&cluster, 2, "other", "someone-else");
    cluster.until("other", 1, 0);
    let mut top = Top::start(&cluster, 0, (220, 30), &[]);
    // Each node answers when it can, so the waiter of another node may appear later than the holder.
    let one_and_one = |text: &str| {
        let row = text.lines().find(|line| line.starts_with("jobs/nightly"));
        row.is_some_and(|row| row.split_whitespace().skip(2).take(2).eq(["1", "1"]))
    };
    let first = top.until("a holder, and a waiter", |text| {
        text.contains("the-holder") && text.contains("other") && one_and_one(text)
    });
    assert!(first.contains("nodes (3)") && first.contains("leads"), "{first}");
    // Tab: the waits. They say who waits and who holds.
    top.press("\t");
    let waits = top.until("the waits", |text| text.contains("▶ longest waits (1)"));
    let row = waits.lines().find(|line| line.contains("the-waiter")).expect("a row of the waiter");
    assert!(row.contains("jobs/nightly") && row.contains("the-holder"), "{row}");
    // Enter: everything about the name. Esc leaves it.
    top.press("\r");
    let detail = top.until("everything about the name", |text| text.contains("The token is at node"));
    assert!(detail.contains("a mutex") && detail.contains("fence"), "{detail}");
    top.press("\u{1b}");
    top.until("the waits again", |text| text.contains("▶ longest waits (1)"));
    // A prefix, then none.
    top.press("\t\t/oth\r");
    top.until("one name", |text| text.contains("that begin with oth") && text.contains("names (1)"));
    top.press("\u{1b}");
    top.until("both names", |text| text.contains("names (2)"));
    top.press("ssss");
    top.until("another order", |text| text.contains("by name"));
    top.press(" ");
    top.until("held still", |text| text.contains("HELD STILL"));
    top.press(" ?");
    top.until("help", |text| text.contains("not known: rates need two answers"));
    top.press("x");
    top.until("no help", |text| text.contains("names (2)"));
    top.press("q");
    top.has_ended_well();
}

#[test]
fn top_fits_narrow_terminals_and_follows_their_size_without_colours() {
    let cluster = Cluster::start("top-narrow", 3, false);
    let long = "a-name-that-is-much-too-long-for-a-terminal-of-sixty-columns/".repeat(3);
    let _holder = run(&cluster, 0, &long, "a label that is long, too, and has many words in it");
    cluster.until(&long, 1, 0);
    let _waiter = run(&cluster, 1, &long, "another label that is long, too, and has many words");
    cluster.until(&long, 1, 1);
    let mut top = Top::start(&cluster, 0, (60, 20), &[]);
    for table in ["▶ names (1)", "▶ longest waits (1)", "▶ nodes (3)"] {
        top.until(table, |text| {
            text.contains(table) && text.contains("a-name-that") && text.contains("q quit")
        });
        top.press("\t");
    }
    top.until("the names", |text| text.contains("▶ names (1)"));
    assert!(!top.screen.lock().unwrap().overflowed, "nothing is written behind the last column");
    assert!(top.screen.lock().unwrap().coloured, "there are colours");
    *top.screen.lock().unwrap() = Screen::new(100, 45);
    resize(&top.written, 100, 45);
    // It is told by the kernel only if it is of the terminal's session.
    kill("-WINCH", u64::from(top.child.id()));
    top.until("all tables at once", |text| text.contains("names (1)") && text.contains("longest waits (1)"));
    kill("-TERM", u64::from(top.child.id()));
    top.has_ended_well();
    let top = Top::start_with(&cluster, 0, (60, 20), &[], |command| _ = command.env("NO_COLOR", "1"));
    top.until("a frame", |text| text.contains("▶ names (1)"));
    assert!(!top.screen.lock().unwrap().coloured, "there are no colours");
}

#[test]
fn top_gives_the_terminal_back_however_it_is_ended() {
    let cluster = Cluster::start("top-ends", 1, false);
    for (signal, number) in [("-TERM", 15), ("-INT", 2), ("-HUP", 1), ("-QUIT", 3)] {
        // Under nohup, or in the background of a script, some are ignored, and top leaves them so.
        if is_ignored(number) {
            continue;
        }
        let mut top = Top::start(&cluster, 0, (80, 24), &[]);
        top.until("a frame", |text| text.contains("nodes (1)") && text.contains("leads"));
        kill(signal, u64::from(top.child.id()));
        top.has_ended_well();
    }
    // Ctrl-C is a key while it has the terminal.
    let mut top = Top::start(&cluster, 0, (80, 24), &[]);
    top.until("a frame", |text| text.contains("nodes (1)"));
    top.press("\u{3}");
    top.has_ended_well();
    // Ctrl-Z gives it back and stops; continued, it draws everything again.
    let mut top = Top::start(&cluster, 0, (80, 24), &[]);
    top.until("a frame", |text| text.contains("nodes (1)"));
    let process = top.child.id();
    top.press("\u{1a}");
    let begun = Instant::now();
    while !std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap().contains(") T ") {
        assert!(begun.elapsed() < SOON, "it does not stop");
        std::thread::sleep(Duration::from_millis(10));
    }
    top.until("the screen given back", |_| !top.screen.lock().unwrap().alternate);
    assert_eq!(tcgetattr(&top.written).unwrap().local_modes, top.before.local_modes);
    *top.screen.lock().unwrap() = Screen::new(80, 24);
    kill("-CONT", u64::from(process));
    top.until("a frame again", |text| text.contains("nodes (1)") && text.contains("q quit"));
    top.press("q");
    top.has_ended_well();
}

fn is_ignored(signal: u32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
    u64::from_str_radix(ignored.trim(), 16).unwrap() >> (signal - 1) & 1 == 1
}

/// Waits a little for something to read.
fn is_readable(terminal: &File) -> bool {
    let mut looked_at = [PollFd::new(terminal, PollFlags::IN)];
    let a_little = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
    poll(&mut looked_at, Some(&a_little)).is_ok_and(|ready| ready > 0)
}

#[test]
fn top_ends_when_its_terminal_is_closed() {
    let cluster = Cluster::start("top-closed", 1, false);
    let (seen, written) = terminal();
    resize(&written, 80, 24);
    let mut command = cluster.client(0, &["top", "--every", "200ms"]);
    command.stdin(Stdio::from(written.try_clone().unwrap()));
    command.stdout(Stdio::from(written)).stderr(Stdio::null());
    let mut child = Client(command.spawn().unwrap());
    // It has copies of the terminal.
    drop(command);
    // What is on the screen counts, not what was written: of a frame only the difference to the last one is written.
    let (mut seen, mut screen, mut part) = (File::from(seen), Screen::new(80, 24), [0; 4096]);
    let begun = Instant::now();
    while !screen.text().contains("nodes (1)") {
        assert!(begun.elapsed() < LONG, "it never draws its node:\n{}", screen.text());
        if !is_readable(&seen) {
            continue;
        }
        let count = seen.read(&mut part).expect("it draws");
        String::from_utf8_lossy(&part[..count]).chars().for_each(|letter| screen.take(letter));
    }
    drop(seen);
    assert!(ended_within(&mut child.0, SOON).is_some(), "it ends");
}

#[test]
fn top_says_what_is_lost_and_what_comes_back() {
    let cluster = Cluster::start("top-lost", 3, true);
    let _holder = run(&cluster, 0, "kept", "the-holder");
    cluster.until("kept", 1, 0);
    let mut top = Top::start(&cluster, 0, (120, 40), &[]);
    top.until("three nodes", |text| text.contains("nodes (3)") && text.contains("the-holder"));
    kill("-STOP", cluster.pids[2]);
    top.until("no answer", |text| text.contains("! Node 2: no answer for"));
    kill("-STOP", cluster.pids[1]);
    let once = cluster.run(0, &["top", "--once", "--every", "200ms"]);
    assert_eq!(code(&once), 69, "{}", text(&once.stdout));
    top.until("no majority", |text| text.contains("! The cluster grants nothing: waiting for"));
    kill("-CONT", cluster.pids[1]);
    kill("-CONT", cluster.pids[2]);
    top.until("all is well", |text| !text.contains("! ") && text.contains("leads"));
    kill("-KILL", cluster.pids[1]);
    top.until("a killed node", |text| text.contains("! Node 1: no answer for"));
    top.until("it is away", |text| text.lines().any(|line| line.contains("1  away")));
    top.press("q");
    top.has_ended_well();
    let once = cluster.run(0, &["top", "--once", "--every", "200ms"]);
    assert_eq!(code(&once), 0, "all members answer: {}", text(&once.stderr));
    assert!(text(&once.stdout).contains("! Node 1: no answer"), "{}", text(&once.stdout));
}

#[test]
fn top_prints_one_frame_into_a_pipe() {
    let cluster = Cluster::start("top-once", 3, false);
    let _holder = run(&cluster, 0, "backup", "the-holder");
    cluster.until("backup", 1, 0);
    let _waiter = run(&cluster, 1, "backup", "the-waiter");
    cluster.until("backup", 1, 1);
    for arguments in [&["top", "--every", "200ms"][..], &["top", "--once", "--every", "200ms"]] {
        let said = cluster.says(0, arguments);
        assert!(!said.contains('\u{1b}'), "{said}");
        for wanted in ["node", "grants/s", "backup", "the-holder", "the-waiter"] {
            assert!(said.contains(wanted), "{wanted}: {said}");
        }
    }
    let none = cluster.says(0, &["top", "--once", "--every", "200ms", "--prefix", "nothing"]);
    assert!(none.contains("No name is in use") && !none.contains("backup"), "{none}");
}

#[test]
fn top_counts_grants_for_scripts() {
    let cluster = Cluster::start("top-json", 3, false);
    let held = cluster.says(1, &["acquire", "held", "--ttl", "10m", "--quiet"]);
    let mut command = cluster.client(0, &["top", "--every", "500ms", "--format", "json"]);
    let mut top = Client(command.stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap());
    let mut lines = BufReader::new(top.0.stdout.take().unwrap()).lines();
    let mut granted = 0.0;
    let (mut last, begun) = (Value::Null, Instant::now());
    let rate = |value: &Value, name: &str| {
        let row = value["names"].as_array().unwrap().iter().find(|row| row["name"] == name).cloned();
        row.and_then(|row| row["grants_per_second"].as_f64()).unwrap_or(0.0)
    };
    // It is granted between two looks, so that the difference of the counters has it.
    while granted == 0.0 {
        assert!(begun.elapsed() < LONG, "no grant was counted: {last:#}");
        let grant = cluster.says(2, &["acquire", "hot", "--quiet"]);
        cluster.says(2, &["release", grant.trim()]);
        last = document(lines.next().expect("another object").unwrap());
        granted = rate(&last, "hot");
    }
    assert_eq!(last["nodes"].as_array().unwrap().len(), 3);
    assert!(last["grants"].as_bool().unwrap() && last["troubles"].as_array().unwrap().is_empty(), "{last:#}");
    let row = last["names"].as_array().unwrap().iter().find(|row| row["name"] == "held").expect("a row");
    assert_eq!((&row["holders"], &row["grants_per_second"]), (&Value::from(1), &Value::from(0.0)), "{row:#}");
    assert_eq!(row["held_longest"]["node"], 1);
    let once = document(cluster.says(0, &["top", "--once", "--every", "200ms", "--format", "json"]));
    assert_eq!(once["schema"], "tokenwood.top/1");
    cluster.says(1, &["release", held.trim()]);
}
