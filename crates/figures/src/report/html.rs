//! The report's page: the run, the verdicts, the contents, and every exhibit, in one file.

use std::fmt::Write;

use super::{Counts, Run, Shown, exhibit_html, names};
use crate::escape::escaped;
use crate::page::{Claim, Verdict};

const STYLE: &str = include_str!("style.css");

/// The whole page.
pub(super) fn index(run: &Run, shown: &[Shown]) -> String {
    let mut html = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>Tokenwood: what the papers show, computed anew</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
         <header>\n<h1>What the papers show, computed anew</h1>\n"
    );
    write_run(&mut html, run, shown.len());
    html.push_str("</header>\n<main>\n");
    write_violations(&mut html, shown);
    write_counts(&mut html, shown);
    write_contents(&mut html, shown);
    write_verdicts(&mut html, shown);
    let mut paper_before = "";
    for shown in shown {
        let (paper, name) = names::paper(shown.source);
        if paper != paper_before {
            let _ = writeln!(html, "<h2 class=\"paper\">{}</h2>", paper_heading(paper, name));
            paper_before = paper;
        }
        exhibit_html::write(&mut html, shown);
    }
    html.push_str("</main>\n</body>\n</html>\n");
    html
}

fn paper_heading(paper: &str, name: &str) -> String {
    if paper.chars().all(|letter| letter.is_ascii_digit()) {
        format!("<span class=\"number\">{}</span> {}", escaped(paper), escaped(name))
    } else {
        escaped(name)
    }
}

fn write_run(html: &mut String, run: &Run, exhibits: usize) {
    let effort = if run.effort.quick { "quick: coarse, few entries to a point" } else { "full" };
    let seeds = counted(run.effort.seeds, "seed");
    let how = if run.measured.is_some() { "measured over sockets and simulated" } else { "simulated" };
    let measured = run.measured.as_deref().map_or(String::new(), |measured| {
        format!("<div><dt>Measured</dt><dd>{}</dd></div>\n", escaped(measured))
    });
    let _ = write!(
        html,
        "<p class=\"lead\">{} {how} by the algorithms' own state machines, every property checked at every event, \
         set beside what the papers say.</p>\n\
         <dl class=\"run\">\n<div><dt>Command</dt><dd><code>{}</code></dd></div>\n\
         <div><dt>Version</dt><dd>Tokenwood {}</dd></div>\n\
         <div><dt>Effort</dt><dd>{effort}, {seeds} to a point</dd></div>\n\
         {measured}<div><dt>Simulated</dt><dd>{}, {}, {}</dd></div>\n</dl>\n",
        counted(exhibits as u64, "exhibit"),
        escaped(&run.command),
        escaped(&run.version),
        counted(run.points, "point"),
        if run.entries == 1 { "1 entry".to_string() } else { format!("{} entries", grouped(run.entries)) },
        counted(run.messages, "message"),
    );
}

fn counted(number: u64, what: &str) -> String {
    format!("{} {what}{}", grouped(number), if number == 1 { "" } else { "s" })
}

fn grouped(number: u64) -> String {
    crate::chart::grouped(&number.to_string())
}

/// A violation casts doubt on all measures of its runs, so it comes first.
fn write_violations(html: &mut String, shown: &[Shown]) {
    if shown.iter().all(|shown| shown.violations.is_empty()) {
        return;
    }
    html.push_str(
        "<section class=\"alarm\" role=\"alert\">\n<h2>A property was violated</h2>\n\
         <p>These runs did not keep what the algorithm promises. Do not trust what was measured in them.</p>\n<ul>\n",
    );
    for shown in shown {
        for violation in &shown.violations {
            let _ = writeln!(
                html,
                "<li><a href=\"#{0}\">{0}</a>: {1}</li>",
                escaped(shown.id),
                escaped(violation)
            );
        }
    }
    html.push_str("</ul>\n</section>\n");
}

fn write_contents(html: &mut String, shown: &[Shown]) {
    html.push_str("<nav class=\"contents\" aria-label=\"Contents\">\n<h2>Contents</h2>\n");
    let mut paper_before = None;
    for shown in shown {
        let (paper, name) = names::paper(shown.source);
        if paper_before != Some(paper) {
            html.push_str(if paper_before.is_some() { "</ul>\n" } else { "" });
            let _ = writeln!(html, "<h3>{}</h3>\n<ul>", paper_heading(paper, name));
            paper_before = Some(paper);
        }
        let _ = writeln!(
            html,
            "<li><a href=\"#{}\">{}</a> <span class=\"source\">{}</span></li>",
            escaped(shown.id),
            escaped(shown.title),
            escaped(shown.source)
        );
    }
    html.push_str(if paper_before.is_some() { "</ul>\n</nav>\n" } else { "</nav>\n" });
}

/// How many claims there are of each verdict, with links to them.
fn write_counts(html: &mut String, shown: &[Shown]) {
    let counts = Counts::of(shown);
    if counts.all() == 0 {
        return;
    }
    html.push_str("<ul class=\"counts\">\n");
    for (class, count, word, words) in verdicts(counts) {
        let word = if count == 1 { word } else { words };
        let _ = writeln!(html, "<li class=\"{class}\"><a href=\"#{class}\"><b>{count}</b> {word}</a></li>");
    }
    html.push_str("</ul>\n");
}

/// Each verdict with its class, count, and words for one and for several.
fn verdicts(counts: Counts) -> [(&'static str, usize, &'static str, &'static str); 3] {
    [
        ("does-not", counts.do_not, "claim does not reproduce", "claims do not reproduce"),
        ("differs", counts.differ, "claim differs", "claims differ"),
        ("reproduces", counts.reproduce, "claim reproduces", "claims reproduce"),
    ]
}

/// All claims, those that do not hold first: they interest a reader most.
fn write_verdicts(html: &mut String, shown: &[Shown]) {
    let counts = Counts::of(shown);
    html.push_str("<section id=\"verdicts\">\n<h2>Claims and verdicts</h2>\n");
    if counts.all() == 0 {
        html.push_str("<p>There are no claims among these exhibits.</p>\n");
    }
    for (class, count, word, words) in verdicts(counts).into_iter().filter(|(_, count, _, _)| *count > 0) {
        let word = if count == 1 { word } else { words };
        let _ = writeln!(
            html,
            "<details open id=\"{class}\">\n<summary>{count} {word}</summary>\n<div class=\"wide\">"
        );
        open_claims(html, ExhibitColumn::Shown);
        for shown in shown {
            for claim in shown.page.claims.iter().filter(|claim| class_of(&claim.verdict).0 == class) {
                write_claim(html, claim, Some(shown.id));
            }
        }
        html.push_str("</tbody>\n</table>\n</div>\n</details>\n");
    }
    html.push_str("</section>\n");
}

/// A verdict's class, and a symbol that does not depend on colour.
fn class_of(verdict: &Verdict) -> (&'static str, &'static str) {
    match verdict {
        Verdict::Reproduces => ("reproduces", "✓"),
        Verdict::Differs(_) => ("differs", "≈"),
        Verdict::DoesNot => ("does-not", "✗"),
    }
}

/// Whether a table of claims names the exhibit of each.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ExhibitColumn {
    /// The claims are of several exhibits.
    Shown,
    /// The claims are of the exhibit above the table.
    Hidden,
}

/// Begins a table of claims.
pub(super) fn open_claims(html: &mut String, column: ExhibitColumn) {
    html.push_str("<table class=\"claims\">\n<thead><tr><th>Source</th><th>Claim</th><th>Found</th><th>Verdict</th><th>Reason</th>");
    html.push_str(if column == ExhibitColumn::Shown { "<th>Exhibit</th>" } else { "" });
    html.push_str("</tr></thead>\n<tbody>\n");
}

/// A row of a table of claims, with a link to its exhibit where that is elsewhere.
pub(super) fn write_claim(html: &mut String, claim: &Claim, exhibit: Option<&str>) {
    let (class, mark) = class_of(&claim.verdict);
    let _ = write!(
        html,
        "<tr><td data-label=\"Source\" class=\"source\">{}</td><td data-label=\"Claim\">{}</td>\
         <td data-label=\"Found\">{}</td><td data-label=\"Verdict\"><span class=\"verdict {class}\">\
         <span aria-hidden=\"true\">{mark}</span> {}</span></td><td data-label=\"Reason\">{}</td>",
        escaped(claim.source),
        escaped(&claim.says),
        escaped(&claim.found),
        escaped(&claim.verdict.to_string()),
        escaped(&claim.reason)
    );
    if let Some(id) = exhibit {
        let _ = write!(html, "<td data-label=\"Exhibit\"><a href=\"#{0}\">{0}</a></td>", escaped(id));
    }
    html.push_str("</tr>\n");
}
