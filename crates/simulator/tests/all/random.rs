//! A few hundred random runs of every algorithm; `tokenwood check --all --random 10000` runs more.

use algorithms::info::{Allowance, OptionInfo};
use algorithms::registry;
use algorithms::{Info, Kind, Scope};
use simulator::random::{RandomJob, RandomRun, run, standard};

const RUNS: u64 = 300;

fn once(info: &Info, job: &RandomJob, seed: u64) -> RandomRun {
    run(info.name, job, seed).unwrap_or_else(|refusal| panic!("{}: {refusal}", info.name))
}

#[test]
fn no_violation_and_no_client_stuck() {
    for info in registry::ALL {
        let jobs = standard(info);
        for job in &jobs {
            for seed in 1..=RUNS.div_ceil(jobs.len() as u64) {
                let run = once(info, job, seed);
                assert_eq!(run.violation, None, "{} {job:?} seed {seed}", info.name);
                let asked = u64::from(job.case.setting.nodes * job.case.allowance.requests);
                let some_may_not_enter = job.case.allowance.crashes > 0 || job.case.allowance.cancels;
                assert!(
                    run.entries == asked || some_may_not_enter && run.entries < asked,
                    "{}: {} entries",
                    info.name,
                    run.entries
                );
            }
        }
    }
}

/// Every value of every option is tried, and does what neither the default nor another value does.
#[test]
fn every_option_makes_a_difference() {
    let mut idle = Vec::new();
    for info in registry::ALL {
        for option in info.options {
            let mut jobs = standard(info);
            jobs.retain(|job| first(job).is_some_and(|(name, _)| name == option.name));
            let values = if option.values == OptionInfo::NUMBER { 1 } else { option.values.len() - 1 };
            assert_eq!(jobs.len(), values, "{} {}", info.name, option.name);
            for job in &jobs {
                idle.extend(instead(job, &jobs).into_iter().filter_map(|others| {
                    let differs = |(one, other): &(RandomJob, RandomJob)| {
                        (1..=RUNS).any(|seed| once(info, one, seed).steps != once(info, other, seed).steps)
                    };
                    let (one, other) = &others[0];
                    let options = |job: &RandomJob| format!("{:?}", job.case.setting.options);
                    let same = || format!("{}: {} does as {}", info.name, options(one), options(other));
                    (!others.iter().any(differs)).then(same)
                }));
            }
        }
    }
    assert!(idle.is_empty(), "{}", idle.join("\n"));
}

/// What is said to be the value of an option that is not set is the value that counts.
#[test]
fn options_that_are_not_set_have_the_values_they_are_said_to_have() {
    for info in registry::ALL {
        for job in standard(info) {
            let mut told = job.clone();
            let options = job.case.setting.effective_options(info).into_iter();
            told.case.setting.options = options.map(|(name, value)| (name.to_string(), value)).collect();
            let (silent, told) = (once(info, &job, 1), once(info, &told, 1));
            assert_eq!(silent.steps, told.steps, "{} {:?}", info.name, job.case.setting.options);
        }
    }
}

/// The option that a job tries.
fn first(job: &RandomJob) -> Option<&(String, String)> {
    job.case.setting.options.first()
}

/// What a job is compared with: itself without the option that it tries, and each job that tries another value of it,
/// in the company of the one or of the other.
fn instead(job: &RandomJob, all: &[RandomJob]) -> Vec<Vec<(RandomJob, RandomJob)>> {
    let with = |job: &RandomJob, value: Option<&(String, String)>| {
        let mut changed = job.clone();
        changed.case.setting.options.splice(..1, value.cloned());
        (job.clone(), changed)
    };
    let others = all.iter().filter(|other| first(other) != first(job));
    let others = others.map(|other| vec![with(job, first(other)), with(other, first(job))]);
    [vec![with(job, None)]].into_iter().chain(others).collect()
}

#[test]
fn a_seed_decides_everything() {
    for info in registry::ALL {
        let job = &standard(info)[0];
        let (one, same, other) = (once(info, job, 7), once(info, job, 7), once(info, job, 8));
        assert_eq!(one.steps, same.steps, "{}", info.name);
        assert_ne!(one.steps, other.steps, "{}", info.name);
    }
}

/// Any number of nodes from 1 on, and any number of tokens up to it, is served, except that k-majority needs
/// room for k quorums.
#[test]
fn every_size_is_served() {
    for info in registry::ALL {
        for nodes in 1..=7 {
            for tokens in 1..=if info.kind == Kind::KMutex { nodes } else { 1 } {
                if info.name == "k-majority" && tokens * (nodes / (tokens + 1) + 1) > nodes {
                    continue;
                }
                for seed in 1..=5 {
                    let job = RandomJob::of(&Scope::new(nodes, tokens, 3), None);
                    let run = once(info, &job, seed);
                    assert_eq!(run.violation, None, "{} n={nodes} k={tokens} seed {seed}", info.name);
                    assert_eq!(run.entries, u64::from(nodes) * 3, "{} n={nodes} k={tokens}", info.name);
                }
            }
        }
    }
}

/// A defect may break every property, but it never makes the program panic, whatever the size.
#[test]
fn no_defect_panics() {
    for info in registry::ALL {
        for defect in info.defects {
            for nodes in 1..=5 {
                for tokens in 1..=if info.kind == Kind::KMutex { nodes } else { 1 } {
                    for seed in 1..=3 {
                        let allowance = Allowance { requests: 2, firings: 1, ..defect.scope.allowance };
                        let scope = Scope { nodes, tokens, allowance, ..defect.scope };
                        let job = RandomJob::of(&scope, Some(defect.name));
                        // A setting that makes no sense with the defect may be refused.
                        let _ = run(info.name, &job, seed);
                    }
                }
            }
        }
    }
}
