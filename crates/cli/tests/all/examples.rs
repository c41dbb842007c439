//! Every example is executed: those of all pages, of the guide and of the help of every command.

mod changes;
mod on_machines;
pub(crate) mod pages;
mod shown;
mod stage;

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use sync::IgnorePoison;

use crate::cluster::{Cluster, ended_within, kill};
use crate::folder::{Folder, text};
use changes::{CHANGES, Change, How};
use pages::{Example, Page};

/// An example, and how it is run here.
pub(crate) struct Planned {
    example: Example,
    command: String,
    hows: Vec<&'static How>,
}

impl Planned {
    fn new(page: &str, example: Example) -> Planned {
        let hows: Vec<&How> =
            CHANGES.iter().filter(|change| change.is_for(page, &example)).map(|change| &change.how).collect();
        let mut command = changes::without_comment(&example.command).to_string();
        for how in &hows {
            match how {
                How::With(flags) => command = changes::with_flags(&command, flags),
                How::Replaced(from, to) => command = command.replacen(from, to, 1),
                _ => {}
            }
        }
        Planned { example, command, hows }
    }

    fn is_run_here(&self) -> bool {
        !self.hows.iter().any(|how| matches!(how, How::OnMachines | How::NotRun))
    }

    fn expected_code(&self) -> i32 {
        let code = self.hows.iter().find_map(|how| match how {
            How::EndsWith(code) => Some(*code),
            _ => None,
        });
        code.unwrap_or(0)
    }

    fn needs_cluster(&self) -> bool {
        let for_clusters = [
            "run", "acquire", "release", "renew", "locks", "inspect", "watch", "status", "members", "define",
            "resize", "health", "auth", "audit", "top", "ui",
        ];
        if self.command.contains("$DOOR") {
            return true;
        }
        let words: Vec<&str> = self.command.split_whitespace().collect();
        let pairs = words.windows(2).filter(|pair| pair[0].ends_with("tokenwood"));
        self.is_run_here() && pairs.into_iter().any(|pair| for_clusters.contains(&pair[1]))
    }
}

/// Longer than any page takes on a busy machine: an example that hangs is named.
const TOO_LONG: Duration = Duration::from_secs(240);

#[test]
fn every_example_runs() {
    // For those who mend one page: EXAMPLES=docs/map.md.
    let only = std::env::var("EXAMPLES").ok();
    let mut pages = pages::all();
    pages.retain(|page| only.as_ref().is_none_or(|only| page.name == *only));
    let pages = Mutex::new(pages);
    let (run, wrong) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(page) = take(&pages) {
                    let (count, found) = run_page(page);
                    run.fetch_add(count, Ordering::Relaxed);
                    wrong.lock().ignore_poison().extend(found);
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{} examples are wrong\n\n{}", wrong.len(), wrong.join("\n\n"));
    let run = run.into_inner();
    let least = if only.is_some() { 1 } else { 80 };
    assert!(run >= least, "only {run} examples were found");
}

/// Checks and simulations that a page names within its text: they are taken, and break nothing as far as they get here.
#[test]
fn commands_within_the_text_run() {
    // The commands of the errata find violations; the program itself writes that page, and a test compares it.
    let names: Vec<String> = pages::files().into_iter().filter(|name| name != "docs/errata.md").collect();
    let (folder, mut run, mut wrong) = (Folder::new("inline"), BTreeSet::new(), Vec::new());
    for name in names {
        for example in pages::inline(&fs::read_to_string(pages::root().join(&name)).unwrap()) {
            let command = example.command.replace('"', "");
            let flags = match command.split_once(" --random ") {
                Some(_) => "--random 5",
                None if command.starts_with("tokenwood check") => "--max-states 200",
                None => "--entries 30 --seeds 1",
            };
            let command = changes::with_flags(&command, flags);
            if !run.insert(command.clone()) {
                continue;
            }
            let output = folder.run(command.trim_start_matches("tokenwood "));
            // A check that is stopped at its limit ends with 3.
            if ![Some(0), Some(3)].contains(&output.status.code()) {
                wrong.push(format!("{name}:{}: {command}: {}", example.line, text(&output.stderr)));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(run.len() > 80, "only {} commands were found", run.len());
}

fn take(pages: &Mutex<Vec<Page>>) -> Option<Page> {
    pages.lock().ignore_poison().pop()
}

#[test]
fn every_change_is_for_an_example() {
    let pages = pages::all();
    let is_used = |change: &&Change| {
        pages.iter().any(|page| page.examples.iter().any(|example| change.is_for(&page.name, example)))
    };
    let unused: Vec<String> = CHANGES.iter().filter(|change| !is_used(change)).map(Change::name).collect();
    assert!(unused.is_empty(), "no example is like this any more: {unused:#?}");
    let unlike: Vec<String> = pages.iter().flat_map(not_replaced).collect();
    assert!(unlike.is_empty(), "{unlike:#?}");
}

/// The changes of a page that replace what is not there.
fn not_replaced(page: &Page) -> Vec<String> {
    let mut found = Vec::new();
    for change in CHANGES {
        let How::Replaced(from, _) = change.how else { continue };
        let examples = page.examples.iter().filter(|example| change.is_for(&page.name, example));
        let unlike = examples.filter(|example| !example.command.contains(from));
        found.extend(unlike.map(|example| format!("{}:{}: {}", page.name, example.line, change.name())));
    }
    found
}

/// Runs the examples of a page in their order. Returns how many, and what is wrong.
fn run_page(page: Page) -> (usize, Vec<String>) {
    let examples: Vec<Planned> =
        page.examples.into_iter().map(|example| Planned::new(&page.name, example)).collect();
    let folder = Folder::new("examples");
    stage::set(&folder);
    let bin = folder.0.join("bin");
    let mut shell = Command::new("sh");
    shell.current_dir(&folder.0).stdin(Stdio::null()).stdout(Stdio::null()).process_group(0);
    shell.env("PATH", format!("{}:{}", bin.display(), std::env::var("PATH").unwrap()));
    let mut script = stage::script(&examples);
    let cluster = examples.iter().any(Planned::needs_cluster).then(|| Cluster::start("examples", 3, false));
    if let Some(cluster) = &cluster {
        // Where no node is named, the first is asked, as at the addresses that are the default.
        shell.env("TOKENWOOD_ENDPOINTS", &cluster.endpoints[0]).env("other", &cluster.endpoints[1]);
        let door = format!("http://{}", cluster.ready["nodes"][0]["http"].as_str().unwrap());
        shell.env("DOOR", &door).env("TOKENWOOD_HTTP", door);
        for (node, endpoint) in cluster.endpoints.iter().enumerate() {
            script = script.replace(&format!("127.0.0.1:{}", 7710 + node), endpoint);
        }
    }
    fs::write(folder.0.join("script"), script).unwrap();
    let errors = fs::File::create(folder.0.join("errors")).unwrap();
    let mut shell = shell.arg("script").stderr(errors).spawn().unwrap();
    let ended = ended_within(&mut shell, TOO_LONG);
    if ended.is_none() {
        kill("-KILL", u64::from(shell.id()));
        kill("-KILL --", u64::from(shell.id()));
        _ = shell.wait();
    }
    let count = examples.iter().filter(|planned| planned.is_run_here()).count();
    (count, judge(&page.name, &examples, &folder))
}

/// What is wrong with the examples of a page that has been run.
fn judge(page: &str, examples: &[Planned], folder: &Folder) -> Vec<String> {
    let read = |name: String| fs::read_to_string(folder.0.join(name)).unwrap_or_default();
    let mut wrong = Vec::new();
    let begun = read("begun".to_string());
    for (number, planned) in examples.iter().enumerate().filter(|(_, planned)| planned.is_run_here()) {
        let (printed, errors) = (read(format!("out.{number}")), read(format!("err.{number}")));
        let ended = read(format!("code.{number}")).trim().parse::<i32>();
        let why = match ended {
            Err(_) if begun.trim() == number.to_string() => "it does not end, or ends the script".to_string(),
            Err(_) => "it was not reached, or did not end".to_string(),
            Ok(code) if code != planned.expected_code() => {
                format!("exit code {code}, not {}", planned.expected_code())
            }
            Ok(_) if planned.example.shown.trim().is_empty() => continue,
            Ok(_) => {
                let later: String = (0..examples.len()).map(|other| read(format!("out.{other}"))).collect();
                let said = if printed.is_empty() { &errors } else { &printed };
                match shown::difference(&planned.example.shown, said, &later) {
                    Some(difference) => difference,
                    None => continue,
                }
            }
        };
        let (line, command) = (planned.example.line, &planned.example.command);
        let before = read(format!("before.{number}")) + &read("errors".to_string());
        let run_as = &planned.command;
        wrong.push(format!("{page}:{line}: {command}\nrun as: {run_as}\n{why}\nstderr: {errors}{before}"));
    }
    wrong
}
