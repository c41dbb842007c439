//! The content of an exhibit: charts, tables, text, and claims with a verdict. Plain data; other modules draw
//! it.

/// The content of an exhibit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Page {
    /// Charts, tables and text, in the order of the report.
    pub parts: Vec<Part>,
    /// What the paper claims about it, and what we found.
    pub claims: Vec<Claim>,
}

/// A part of a page.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    /// Curves.
    Chart(Chart),
    /// Coloured cells.
    Map(CellMap),
    /// Rows and columns.
    Table(Table),
    /// Paragraphs, with an empty line between them. One that has line breaks is shown line by line, as a
    /// listing.
    Text(String),
}

/// Curves over one axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// A suffix to the exhibit's name for file names; empty if it is the only chart.
    pub suffix: &'static str,
    /// What it shows.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The curves, in the order of the legend.
    pub series: Vec<Series>,
}

/// An axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// Its quantity, with its unit.
    pub label: String,
    /// How its values are spaced.
    pub spacing: Spacing,
}

/// How the values of an axis are spaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spacing {
    /// Equal differences are equally far apart.
    Linear,
    /// Equal ratios are equally far apart.
    Logarithmic,
}

/// A curve.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Its name in the legend.
    pub label: String,
    /// Its origin.
    pub origin: Origin,
    /// Its points, from left to right.
    pub dots: Vec<Dot>,
}

/// The origin of a curve. Each is drawn differently, so that a formula cannot be taken for a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Simulated: a line with marks and error bars.
    Simulated,
    /// Measured over sockets: a dotted line with hollow marks and error bars.
    Measured,
    /// A formula of a paper or of ours: a dashed line.
    Formula,
    /// Numbers that a paper prints: marks without a line.
    Printed,
}

/// A point of a curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dot {
    /// The horizontal coordinate.
    pub x: f64,
    /// The vertical coordinate.
    pub y: f64,
    /// The standard error of `y`; 0 for formulas.
    pub error: f64,
    /// Of how many values `y` is the mean; 0 for formulas.
    pub values: usize,
}

/// Rows and columns.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// A suffix to the exhibit's name for the file name; empty if it is the only table.
    pub suffix: &'static str,
    /// What it shows.
    pub title: String,
    /// The headings.
    pub columns: Vec<String>,
    /// The cells, as text.
    pub rows: Vec<Vec<String>>,
}

/// Coloured cells over two axes: who is best where.
#[derive(Clone, Debug, PartialEq)]
pub struct CellMap {
    /// A suffix to the exhibit's name for file names; empty if it is the only map.
    pub suffix: String,
    /// What it shows.
    pub title: String,
    /// The quantity of the columns, with its unit.
    pub x: String,
    /// The quantity of the rows, with its unit.
    pub y: String,
    /// The values of the columns, from left to right.
    pub columns: Vec<String>,
    /// The values of the rows, from the bottom up.
    pub rows: Vec<String>,
    /// The cells of each row.
    pub cells: Vec<Vec<MapCell>>,
    /// What a reader has to know to read it.
    pub note: String,
}

/// A cell of a map.
#[derive(Clone, Debug, PartialEq)]
pub struct MapCell {
    /// The short name of the best, or that many are.
    pub best: String,
    /// The same in the legend.
    pub label: String,
    /// Its colour, the same in all maps; those that are hardly ever best share the last.
    pub colour: usize,
    /// The name of the one with the best value.
    pub first: String,
    /// What was measured of it.
    pub value: f64,
    /// The name of the second best.
    pub second: String,
    /// What was measured of that.
    pub second_value: f64,
    /// How much better the best is, in words.
    pub margin: String,
    /// The others that are as good, as far as the runs can tell.
    pub tied: Vec<String>,
    /// How far the best is from what no algorithm can be below, where that is known.
    pub distance: Option<Distance>,
    /// The best of ours, its value, and how far it is.
    pub ours: Option<(String, f64, Option<Distance>)>,
    /// The short names in the cell, each with the name in full.
    pub names: Vec<(String, String)>,
}

/// How far a value is from what no algorithm can be below.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Distance {
    /// What no algorithm can be below.
    pub limit: f64,
    /// How many times that the value is.
    pub times: f64,
}

impl CellMap {
    /// The short names in all cells, each with the name in full, without those that are in full already.
    pub fn key(&self) -> Vec<(String, String)> {
        let names = self.cells.iter().flatten().flat_map(|cell| cell.names.clone());
        let key: std::collections::BTreeSet<_> = names.filter(|(short, full)| short != full).collect();
        key.into_iter().collect()
    }
}

/// A claim of a paper, and what we found.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// Where the paper makes it, such as "001 ch. V sec. B.1".
    pub source: &'static str,
    /// The claim, in our words.
    pub says: String,
    /// What we found, with numbers.
    pub found: String,
    /// How the two compare.
    pub verdict: Verdict,
    /// The reason, where we know it.
    pub reason: String,
}

/// How a claim compares with what we found.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// As claimed, within the error or the claim's own "about".
    Reproduces,
    /// The same in kind, but different in amount.
    Differs(String),
    /// Not as claimed.
    DoesNot,
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Verdict::Reproduces => f.write_str("reproduces"),
            // An amount, or a direction.
            Verdict::Differs(how) if how.starts_with(['+', '-', '−', '±']) => {
                write!(f, "differs by {how}")
            }
            Verdict::Differs(how) if how.starts_with("by ") => write!(f, "differs {how}"),
            Verdict::Differs(how) => write!(f, "differs: {how}"),
            Verdict::DoesNot => f.write_str("does not reproduce"),
        }
    }
}

impl Axis {
    /// An axis with equal steps.
    pub fn linear(label: &str) -> Axis {
        Axis { label: label.to_string(), spacing: Spacing::Linear }
    }

    /// An axis with logarithmic steps.
    pub fn logarithmic(label: &str) -> Axis {
        Axis { label: label.to_string(), spacing: Spacing::Logarithmic }
    }
}

impl Claim {
    /// Compares a number with the paper's: it reproduces within `tolerance` (a share of the paper's number),
    /// and otherwise differs by a percentage.
    pub fn number(source: &'static str, says: &str, printed: f64, ours: f64, tolerance: f64) -> Claim {
        let off = (ours - printed) / printed;
        let verdict = if off.abs() <= tolerance {
            Verdict::Reproduces
        } else {
            Verdict::Differs(format!("{:+.0} %", off * 100.0))
        };
        Claim { source, says: says.to_string(), found: format!("{ours:.3}"), verdict, reason: String::new() }
    }

    /// A claim that holds or does not.
    pub fn holds(source: &'static str, says: &str, holds: bool, found: String) -> Claim {
        let verdict = if holds { Verdict::Reproduces } else { Verdict::DoesNot };
        Claim { source, says: says.to_string(), found, verdict, reason: String::new() }
    }

    /// The same with a reason.
    pub fn because(self, reason: &str) -> Claim {
        Claim { reason: reason.to_string(), ..self }
    }
}

impl Series {
    /// A curve through these points.
    pub fn new(label: impl Into<String>, origin: Origin, dots: Vec<Dot>) -> Series {
        Series { label: label.into(), origin, dots }
    }
}

impl Dot {
    /// A value of a formula.
    pub fn exact(x: f64, y: f64) -> Dot {
        Dot { x, y, error: 0.0, values: 0 }
    }

    /// A measured value.
    pub fn measured(x: f64, estimate: simulator::Estimate) -> Dot {
        Dot { x, y: estimate.mean, error: estimate.stderr, values: estimate.values }
    }
}
