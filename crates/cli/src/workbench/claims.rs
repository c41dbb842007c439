//! The claims of a report in paragraphs, for terminals that are too narrow for a table of them, and the reasons below
//! such a table.

use figures::Claim;
use figures::page::Verdict;
use figures::report::Shown;

use crate::terminal::output::say;
use crate::terminal::table;

/// Prints a paragraph for each claim: where it is from, the verdict, what it says, what was found, and why.
pub(crate) fn print(shown: &[Shown]) {
    let all =
        shown.iter().flat_map(|Shown { id, page, .. }| page.claims.iter().map(move |claim| (id, claim)));
    for (index, (id, claim)) in all.enumerate() {
        if index > 0 {
            say!("");
        }
        for line in lines(id, claim) {
            say!("{}", table::flowed(&line, 2));
        }
    }
}

/// Says why claims do not hold, each reason once for all claims of an exhibit that it explains.
pub(crate) fn print_reasons(shown: &[Shown]) {
    for Shown { id, page, .. } in shown {
        let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
        let fails = |claim: &&Claim| claim.verdict != Verdict::Reproduces && !claim.reason.is_empty();
        for Claim { reason, says, .. } in page.claims.iter().filter(fails) {
            let says = format!("'{says}'");
            match reasons.iter_mut().find(|(known, _)| known == reason) {
                Some((_, claims)) => claims.push(says),
                None => reasons.push((reason, vec![says])),
            }
        }
        for (reason, claims) in reasons {
            say!("\n{}", table::flowed(&format!("{id}, {}:", claims.join(", ")), 2));
            say!("{}", table::flowed(&format!("  {reason}"), 2));
        }
    }
}

fn lines(id: &str, claim: &Claim) -> Vec<String> {
    let Claim { source, says, found, verdict, reason } = claim;
    let first = format!("{id} ({source}): {verdict}");
    let all = [first, format!("  {says}"), format!("  found: {found}"), format!("  {reason}")];
    all.into_iter().filter(|line| !line.trim().is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_is_a_paragraph() {
        let claim = Claim::number("001 fig. 30", "It sends two messages.", 2.0, 3.0, 0.1);
        let wanted = ["a (001 fig. 30): differs by +50 %", "  It sends two messages.", "  found: 3.000"];
        assert_eq!(lines("a", &claim), wanted);
        assert_eq!(lines("a", &claim.because("The load is light."))[3], "  The load is light.");
    }
}
