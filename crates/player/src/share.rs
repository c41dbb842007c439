//! A run as a short text for a link, and as a trace file.

use algorithms::schedule::{Step, parse_schedule};
use algorithms::trace::Trace;
use algorithms::{Action, Conditions, registry};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use miniz_oxide::deflate::compress_to_vec;
use miniz_oxide::inflate::decompress_to_vec_with_limit;
use serde::{Deserialize, Serialize};

use crate::can::is_tolerated;
use crate::limits::{LONGEST_LINK, MOST_STEPS};
use crate::refusal::{Refusal, RefusalKind};
use crate::run::Run;
use crate::setting::{Links, Setting};
use crate::state::Beyond;
use crate::trace_file;

/// A setting with steps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shared {
    /// What to play.
    #[serde(flatten)]
    pub setting: Setting,
    /// The steps, in order.
    #[serde(default)]
    pub steps: Vec<String>,
}

/// A run as texts to share.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SharedTexts {
    /// Setting and steps: all that is needed to play the run again.
    pub run: String,
    /// The steps alone, for an address that has the setting in words.
    pub steps: String,
}

/// How hard to compress: runs are short, and links should be.
const LEVEL: u8 = 9;

/// Packs a text for an address.
fn pack(text: &str) -> String {
    URL_SAFE_NO_PAD.encode(compress_to_vec(text.as_bytes(), LEVEL))
}

/// Unpacks what [`pack`] has packed.
fn unpack(packed: &str) -> Result<String, Refusal> {
    let bad = || {
        let why = "this is neither a trace file nor the link of a run; a link may have lost its end";
        Refusal::new(RefusalKind::Unreadable, why)
    };
    if packed.len() > LONGEST_LINK {
        return Err(Refusal::bounds("bytes in a link", packed.len(), LONGEST_LINK));
    }
    let bytes = URL_SAFE_NO_PAD.decode(packed.trim()).map_err(|_| bad())?;
    let text = decompress_to_vec_with_limit(&bytes, 4 * LONGEST_LINK).map_err(|_| bad())?;
    String::from_utf8(text).map_err(|_| bad())
}

/// The texts of a run. The run need not fit: it is not replayed.
pub fn share(shared: &Shared) -> Result<SharedTexts, Refusal> {
    if shared.steps.len() > MOST_STEPS {
        return Err(Refusal::bounds("steps", shared.steps.len(), MOST_STEPS));
    }
    let steps = shared.steps.join(" ");
    // What is read back must be what was written.
    parse_schedule(&steps).map_err(|error| Refusal::new(RefusalKind::NotAStep, error.to_string()))?;
    let heading = print_setting(&shared.setting)?;
    Ok(SharedTexts { run: pack(&format!("{heading}\n{steps}")), steps: pack(&steps) })
}

/// The steps of a fragment.
pub fn open_steps(packed: &str) -> Result<Vec<String>, Refusal> {
    Ok(unpack(packed)?.split_whitespace().map(ToString::to_string).collect())
}

/// Opens a shared run, or the text of a trace file.
pub fn open(text: &str) -> Result<Shared, Refusal> {
    if text.trim_start().starts_with('{') {
        if text.len() > 64 * LONGEST_LINK {
            return Err(Refusal::bounds("bytes in a trace", text.len(), 64 * LONGEST_LINK));
        }
        return Ok(of_trace(&trace_file::parse(text)?));
    }
    let text = unpack(text)?;
    let (heading, steps) = text.split_once('\n').unwrap_or((&text, ""));
    let steps = steps.split_whitespace().map(ToString::to_string).collect();
    Ok(Shared { setting: parse_setting(heading)?, steps })
}

/// The run of a trace.
pub fn of_trace(trace: &Trace) -> Shared {
    let steps: Vec<String> = trace.steps.iter().map(|step| step.step.clone()).collect();
    let parsed: Vec<Step> = steps.iter().filter_map(|step| step.parse().ok()).collect();
    let overtakes = |step: &Step| matches!(step.action, Action::Deliver(envelope) if envelope.overtakes > 0);
    let client = |step: &Step| match step.action {
        Action::Request { client, .. } => client,
        _ => 0,
    };
    let most = parsed.iter().map(client).max().unwrap_or(0);
    let setting = Setting {
        // A trace does not say how many clients there are, or in which order messages may arrive.
        clients: (most > 1).then(|| u64::from(most) + 1),
        links: parsed.iter().any(overtakes).then_some(Links::Any),
        faulty: Some(trace.conditions() == Conditions::Faulty),
        ..Setting::of_system(&trace.algorithm, &trace.setting())
    };
    Shared { setting, steps }
}

/// The first step of a trace that its algorithm does not claim to bear.
pub fn beyond(trace: &Trace) -> Option<Beyond> {
    let setting = trace.setting();
    let needs = registry::info_with(&trace.algorithm, &setting).ok()?.needs;
    let steps = (1..).zip(&trace.steps);
    let mut parsed = steps.filter_map(|(at, step)| Some((at, step.step.parse::<Step>().ok()?)));
    let (at, step) = parsed.find(|(_, step)| !is_tolerated(step.action, &needs, setting.tokens))?;
    Some(Beyond { at, step: step.to_string() })
}

/// The trace of a run, with its violation if its last step violates a property.
pub fn to_trace(shared: &Shared) -> Result<Trace, Refusal> {
    let game = shared.setting.accept()?;
    let mut run = Run::start(&game);
    run.draws = false;
    let mut steps = Vec::new();
    let mut last = None;
    for step in &shared.steps {
        let happened = run.take_text(step)?;
        last = happened.outcome.violation;
        steps.push(happened.step);
    }
    let violation = last.or_else(|| run.world.violations().into_iter().next());
    Ok(Trace::record(game.system.clone(), game.conditions, violation.as_ref(), &steps))
}

/// A setting on one line, without what is left out.
fn print_setting(setting: &Setting) -> Result<String, Refusal> {
    let mut words = vec![setting.algorithm.clone()];
    let mut word = |name: &str, value: Option<String>| {
        words.extend(value.map(|value| format!("{name}={value}")));
    };
    let number = |value: Option<u64>| value.map(|value| value.to_string());
    word("nodes", number(setting.nodes));
    word("tokens", number(setting.tokens));
    word("groups", number(setting.groups));
    word("clients", number(setting.clients));
    word("defect", setting.defect.clone());
    word("links", setting.links.map(|links| if links == Links::Fifo { "fifo" } else { "any" }.to_string()));
    word("faulty", setting.faulty.map(|faulty| faulty.to_string()));
    word("seed", Some(setting.seed.to_string()));
    for (name, value) in &setting.options {
        word("set", Some(format!("{name}:{value}")));
    }
    if words.iter().any(|word| word.is_empty() || word.contains(char::is_whitespace)) {
        return Err(Refusal::new(RefusalKind::Setting, "no name or value in a setting has white space"));
    }
    Ok(words.join(" "))
}

fn parse_setting(text: &str) -> Result<Setting, Refusal> {
    let bad = |word: &str| {
        let word: String = word.chars().take(40).collect();
        Refusal::new(RefusalKind::Unreadable, format!("'{word}' is not part of a setting"))
    };
    let mut words = text.split_whitespace();
    let mut setting = Setting { seed: 0, ..Setting::of(words.next().ok_or_else(|| bad(""))?) };
    for word in words {
        let (name, value) = word.split_once('=').ok_or_else(|| bad(word))?;
        let number = || value.parse::<u64>().map_err(|_| bad(word));
        match name {
            "nodes" => setting.nodes = Some(number()?),
            "tokens" => setting.tokens = Some(number()?),
            "groups" => setting.groups = Some(number()?),
            "clients" => setting.clients = Some(number()?),
            "seed" => setting.seed = number()?,
            "defect" => setting.defect = Some(value.to_string()),
            "links" if value == "fifo" => setting.links = Some(Links::Fifo),
            "links" if value == "any" => setting.links = Some(Links::Any),
            "faulty" => setting.faulty = Some(value.parse().map_err(|_| bad(word))?),
            "set" => {
                let (name, value) = value.split_once(':').ok_or_else(|| bad(word))?;
                setting.options.insert(name.to_string(), value.to_string());
            }
            _ => return Err(bad(word)),
        }
    }
    Ok(setting)
}
