//! Every input has a rule, every rule that a table names exists, and every row is used.

use std::collections::BTreeSet;

use algorithms::info::Clients;
use algorithms::{Info, registry};

use super::{On, Row, row, tables};
use crate::autorun;
use crate::gallery::{gallery, setting};
use crate::run::Run;
use crate::setting::Setting;

/// The rows that a run uses: with these steps, and then so many of its own.
fn used(setting: &Setting, steps: &[String], count: usize) -> BTreeSet<usize> {
    let game = setting.accept().unwrap();
    let table = tables::of(game.system.info().name).unwrap();
    let mut run = Run::start(&game);
    let mut used = BTreeSet::new();
    for number in 0..steps.len() + count {
        let happened = match steps.get(number) {
            Some(step) => run.take_text(step).unwrap(),
            None => match autorun::next(&run, true) {
                Some(action) => run.take(&action.into()).unwrap(),
                None => break,
            },
        };
        let found = row(table, &happened);
        let lines = || happened.outcome.lines();
        assert!(super::on(&happened).is_none() || found.is_some(), "{setting:?} {:?}", lines());
        used.extend(found);
    }
    used
}

fn inputs(info: &Info) -> Vec<On> {
    let mut inputs = vec![On::Request, On::Exit];
    inputs.extend((0..info.timers.len()).map(On::Timer));
    inputs.extend((info.clients == Clients::Many).then_some(On::Cancel));
    inputs.extend(info.needs.tolerates_crashes.then_some(On::Restart));
    inputs
}

#[test]
fn every_input_has_a_rule_and_every_row_an_input() {
    let exhibits = gallery().unwrap();
    for info in registry::ALL {
        let table = tables::of(info.name).unwrap();
        let rules = super::of(info.name);
        for Row(_, _, number, part) in table.rows {
            let rule = rules.iter().find(|rule| rule.number == *number);
            assert!(*part as usize <= rule.unwrap().parts.len(), "{} {number}", info.name);
        }
        for input in inputs(info) {
            assert!(
                table.rows.iter().any(|Row(on, when, ..)| *on == input && when.len() < 2),
                "{} {input:?}",
                info.name
            );
        }
        let mut rows = BTreeSet::new();
        for scope in info.suite {
            for seed in 1..=4 {
                rows.extend(used(&Setting { seed, ..setting(info.name, scope, None) }, &[], 120));
            }
        }
        for seed in 1..=4 {
            rows.extend(used(&Setting { seed, ..Setting::of(info.name) }, &[], 300));
        }
        for exhibit in exhibits.iter().filter(|exhibit| exhibit.algorithm == info.name) {
            rows.extend(used(&exhibit.setting, &exhibit.steps, 0));
        }
        let unused = (0..table.rows.len()).filter(|index| !rows.contains(index));
        let unused: Vec<u32> = unused.map(|index| table.rows[index].2).collect();
        assert!(unused.is_empty(), "{}: no run uses the rows of {unused:?}", info.name);
    }
}
