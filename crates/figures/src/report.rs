//! All files of `tokenwood reproduce`: pictures and numbers of every exhibit, and one self-contained page
//! with all of them. Except for measurements over sockets, nothing in it depends on when, where or on how
//! many cores it was made.

mod exhibit_html;
mod html;
mod names;

use rayon::prelude::*;

use crate::page::{Part, Verdict};
use crate::{Effort, Exhibit, Page, Results, cell_map, chart, csv};

/// What was run.
#[derive(Clone, Debug)]
pub struct Run {
    /// The command that repeats the run.
    pub command: String,
    /// The program's version.
    pub version: String,
    /// The effort of the run.
    pub effort: Effort,
    /// The number of simulated points.
    pub points: u64,
    /// The number of measured entries in all of them.
    pub entries: u64,
    /// The number of simulated messages.
    pub messages: u64,
    /// What was measured over sockets, in one line; `None` if everything is simulated.
    pub measured: Option<String>,
}

/// An exhibit with its drawn page.
pub struct Shown {
    /// Its name on the command line and of its files.
    pub id: &'static str,
    /// Where it is printed.
    pub source: &'static str,
    /// What it shows, in one line.
    pub title: &'static str,
    /// Its content.
    pub page: Page,
    /// The violations in its runs.
    pub violations: Vec<String>,
}

/// A file of the report.
pub struct File {
    /// Its name in the report's folder.
    pub name: String,
    /// Its content.
    pub content: Vec<u8>,
}

/// The number of claims with each verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// As claimed.
    pub reproduce: usize,
    /// The same in kind.
    pub differ: usize,
    /// Not as claimed.
    pub do_not: usize,
}

impl Counts {
    /// All claims together.
    pub fn all(&self) -> usize {
        self.reproduce + self.differ + self.do_not
    }

    /// Counts the claims of all exhibits.
    pub fn of(shown: &[Shown]) -> Counts {
        let mut counts = Counts::default();
        for claim in shown.iter().flat_map(|shown| &shown.page.claims) {
            match claim.verdict {
                Verdict::Reproduces => counts.reproduce += 1,
                Verdict::Differs(_) => counts.differ += 1,
                Verdict::DoesNot => counts.do_not += 1,
            }
        }
        counts
    }
}

impl Shown {
    /// Draws an exhibit.
    pub fn of(exhibit: &Exhibit, effort: &Effort, results: &Results) -> Shown {
        let Exhibit { id, source, title, points, draw } = *exhibit;
        let points = crate::results::distinct(points(effort));
        Shown { id, source, title, page: draw(effort, results), violations: results.violations(&points) }
    }

    /// The names of its files, in the order of the page.
    pub fn files(&self) -> Vec<String> {
        let mut files = Vec::new();
        for (part, stem) in self.page.parts.iter().zip(names::stems(self.id, &self.page)) {
            let kinds: &[&str] = match part {
                Part::Chart(_) | Part::Map(_) => &["svg", "png", "csv"],
                Part::Table(_) => &["csv"],
                Part::Text(_) => &[],
            };
            files.extend(kinds.iter().map(|kind| format!("{stem}.{kind}")));
        }
        files
    }

    /// The files themselves.
    fn draw(&self) -> Vec<File> {
        let draw = |(part, stem): (&Part, &String)| {
            let file = |kind: &str, content: Vec<u8>| File { name: format!("{stem}.{kind}"), content };
            match part {
                Part::Chart(drawn) => vec![
                    file("svg", chart::svg(drawn).into_bytes()),
                    file("png", chart::png(drawn)),
                    file("csv", csv::chart(drawn).into_bytes()),
                ],
                Part::Map(drawn) => vec![
                    file("svg", cell_map::svg(drawn).into_bytes()),
                    file("png", cell_map::png(drawn)),
                    file("csv", csv::map(drawn).into_bytes()),
                ],
                Part::Table(table) => vec![file("csv", csv::table(table).into_bytes())],
                Part::Text(_) => Vec::new(),
            }
        };
        let stems = names::stems(self.id, &self.page);
        let drawn: Vec<Vec<File>> = self.page.parts.par_iter().zip(&stems).map(draw).collect();
        drawn.into_iter().flatten().collect()
    }
}

/// All files of a report. The main page is the last, so that it exists only if the others do.
pub fn files(run: &Run, shown: &[Shown]) -> Vec<File> {
    let drawn: Vec<Vec<File>> = shown.par_iter().map(Shown::draw).collect();
    let mut files: Vec<File> = drawn.into_iter().flatten().collect();
    let page = html::index(run, shown);
    files.push(File { name: "index.html".to_string(), content: page.into_bytes() });
    files
}
