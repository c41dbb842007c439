//! Which random runs every algorithm gets.

use algorithms::info::{Allowance, Clients, OptionInfo};
use algorithms::{Case, Info, Kind, Scope, Setting};

use super::RandomJob;

const BASE: Scope = Scope::new(7, 1, 4);

/// Options that are numbers are tried as 2, but for these: `collect` is 2 if nothing is said, and no node has three
/// `turns` in a row in so few requests.
const OTHER_NUMBERS: &[(&str, &[&str])] = &[("collect", &["0"]), ("turns", &["1"])];

/// A value of an option that changes nothing by itself, and what it acts with.
struct Company {
    algorithm: &'static str,
    value: (&'static str, &'static str),
    options: &'static [(&'static str, &'static str)],
    /// Losses in each run.
    losses: u32,
}

const fn with(
    algorithm: &'static str,
    value: (&'static str, &'static str),
    options: &'static [(&'static str, &'static str)],
) -> Company {
    Company { algorithm, value, options, losses: 0 }
}

const COMPANY: &[Company] = &[
    with("bulgannawar-vaidya", ("choose", "fair-share"), &[("first", "same")]),
    with("bulgannawar-vaidya", ("whom", "ring"), &[("inform", "2")]),
    with("bulgannawar-vaidya", ("whom", "askers"), &[("inform", "2")]),
    with("bulgannawar-vaidya", ("repeats", "2"), &[("inform", "2")]),
    with("bulgannawar-vaidya", ("first", "same"), &[("choose", "last-seen")]),
    with("collectors", ("move-after", "2"), &[("grc", "moves")]),
    // Only a loss lets the timer of the captain run out.
    Company { losses: 5, ..with("drs-gme", ("watch", "start"), &[]) },
    // A node has no more than three clients here.
    with("forest", ("share", "nodes"), &[("passes", "1")]),
    with("makki", ("token", "straight"), &[("release", "queue")]),
    with("rooms", ("hand-off", "yes"), &[("exclusive", "2")]),
];

/// The settings for random runs of an algorithm: more nodes than a search can cover, every option, and the
/// faults that the algorithm declares to tolerate. The first option of a setting is the one that is tried.
pub fn standard(info: &Info) -> Vec<RandomJob> {
    let (tokens, groups) = match info.kind {
        Kind::Mutex => (1, 1),
        Kind::KMutex => (3, 1),
        Kind::GroupMutex => (1, 3),
    };
    let plain = Case { setting: Setting { groups, ..Setting::new(7, tokens) }, ..Case::of(&BASE, None) };
    let mut cases = vec![plain.clone()];
    for option in info.options {
        cases.extend(values(option).iter().map(|value| trying(info, &plain, (option.name, value))));
    }
    let usual = plain.allowance;
    let mut allow = |allowance| cases.push(Case { allowance, ..plain.clone() });
    if groups > 1 {
        allow(Allowance { any_of: true, ..usual });
    }
    if info.needs.tolerates_loss {
        allow(Allowance { losses: 5, firings: 1, ..usual });
    }
    if info.needs.tolerates_duplicates {
        allow(Allowance { duplicates: 5, firings: 1, ..usual });
    }
    if info.needs.tolerates_crashes {
        allow(Allowance { losses: 2, crashes: 2, firings: 1, ..usual });
    }
    if info.clients == Clients::Many {
        for Case { allowance, .. } in &mut cases {
            (allowance.clients, allowance.cancels, allowance.firings) = (3, true, 1);
        }
        cases.push(Case { allowance: Allowance { firings: 0, ..usual }, ..plain });
        let many = Setting { tokens: if tokens > 1 { 9 } else { 1 }, groups, ..Setting::new(5, 1) };
        let allowance = Allowance { clients: 6, cancels: true, firings: 1, ..usual };
        cases.push(Case { setting: many, allowance });
    }
    cases.into_iter().map(|case| RandomJob { case, pause: 1 }).collect()
}

/// What is tried of an option: some number, or each name but the first, which is the default.
fn values(option: &OptionInfo) -> &'static [&'static str] {
    if option.values != OptionInfo::NUMBER {
        return &option.values[1..];
    }
    let other = OTHER_NUMBERS.iter().find(|(name, _)| *name == option.name);
    other.map_or(&["2"], |(_, values)| values)
}

/// The case with an option, and with what that option acts with.
fn trying(info: &Info, plain: &Case, value: (&str, &str)) -> Case {
    let mut case = plain.clone();
    let company = COMPANY.iter().find(|one| one.algorithm == info.name && one.value == value);
    let options = company.map_or(&[][..], |company| company.options);
    let all = [value].into_iter().chain(options.iter().copied());
    case.setting.options.extend(all.map(|(name, value)| (name.to_string(), value.to_string())));
    case.allowance.losses = company.map_or(0, |company| company.losses);
    // An option may need a timer, and losses do.
    case.allowance.firings = u32::from(info.relies_on_timers() || case.allowance.losses > 0);
    case
}
