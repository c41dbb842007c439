//! Golden transcripts: `testdata/<algorithm>/*.txt`. A file starts with prose after `#`, then a `system`
//! line, then commands after `>` each followed by what happened. `TOKENWOOD_REWRITE=1 cargo test transcripts`
//! writes the answers anew; commit a difference only if you can explain it.

use std::format;
use std::fs;
use std::path::{Path, PathBuf};
use std::string::{String, ToString};
use std::vec::Vec;

use crate::erased::Erased;
use crate::info::Conditions;
use crate::registry;
use crate::schedule::parse_schedule;
use crate::setting::Setting;
use crate::world::World;

/// Plays the commands of a transcript and returns the whole text with the answers as they are now.
fn play(algorithm: &str, transcript: &str) -> Result<String, String> {
    let mut world: Option<World<Erased>> = None;
    let mut text = String::new();
    for line in transcript.lines().filter(|line| line.starts_with(['#', '>']) || line.starts_with("system")) {
        text += &format!("{line}\n");
        if let Some(system) = line.strip_prefix("system") {
            let (system, conditions) = match system.strip_suffix(" faulty") {
                Some(system) => (system, Conditions::Faulty),
                None => (system, Conditions::Reliable),
            };
            let system =
                registry::system(algorithm, &read_system(system)?).map_err(|error| error.to_string())?;
            world = Some(World::start(system, conditions));
        }
        let Some(command) = line.strip_prefix('>') else { continue };
        let world = world.as_mut().ok_or("a command comes before the system line")?;
        for step in parse_schedule(command).map_err(|error| error.to_string())? {
            match world.take(&step) {
                Ok(happened) => {
                    for line in happened.lines() {
                        text += &format!("  {line}\n");
                    }
                    if let Some(violation) = happened.violation {
                        text += &format!("  violated: {violation}\n");
                    }
                }
                Err(error) => text += &format!("  not possible: {error}\n"),
            }
        }
    }
    Ok(text)
}

/// Reads `nodes=3 tokens=2 inform=1 defect=name`; a last word `faulty` allows for losses and crashes.
fn read_system(text: &str) -> Result<Setting, String> {
    let mut setting = Setting::new(1, 1);
    for word in text.split_whitespace() {
        let (name, value) = word.split_once('=').ok_or_else(|| format!("'{word}' is not name=value"))?;
        let number = || value.parse::<u32>().map_err(|_| format!("'{word}' is not a number"));
        match name {
            "nodes" => setting.nodes = number()?,
            "tokens" => setting.tokens = number()?,
            "groups" => setting.groups = number()?,
            "defect" => setting.defect = Some(value.to_string()),
            _ => setting.options.push((name.to_string(), value.to_string())),
        }
    }
    Ok(setting)
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .map(|entries| entries.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect())
        .unwrap_or_default();
    files.sort();
    files
}

#[test]
fn transcripts_say_what_happens() {
    let testdata = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata");
    for info in registry::ALL {
        let files = files(&testdata.join(info.name));
        assert!(!files.is_empty(), "{} has no transcript in testdata/{}", info.name, info.name);
        for file in files {
            let text = fs::read_to_string(&file).unwrap();
            let now = play(info.name, &text).unwrap_or_else(|error| panic!("{file:?}: {error}"));
            if std::env::var_os("TOKENWOOD_REWRITE").is_some() {
                fs::write(&file, now).unwrap();
            } else {
                assert_eq!(now, text, "{file:?} differs: TOKENWOOD_REWRITE=1 writes it anew");
            }
        }
    }
}
