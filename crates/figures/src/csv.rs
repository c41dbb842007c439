//! The numbers behind charts and tables, for readers who want to draw them differently.

use crate::escape::cell;
use crate::page::{Chart, Origin, Table};

/// A chart's curves, a line for each point. Numbers are written so that they read back exactly.
pub fn chart(chart: &Chart) -> String {
    let mut text = String::from("series,x,y,stderr,origin\n");
    for series in &chart.series {
        let (label, origin) = (cell(&series.label), name(series.origin));
        for dot in &series.dots {
            text.push_str(&format!("{label},{},{},{},{origin}\n", dot.x, dot.y, dot.error));
        }
    }
    text
}

/// A table as CSV.
pub fn table(table: &Table) -> String {
    let mut text = String::new();
    for row in std::iter::once(&table.columns).chain(&table.rows) {
        let cells: Vec<String> = row.iter().map(|text| cell(text)).collect();
        text.push_str(&cells.join(","));
        text.push('\n');
    }
    text
}

fn name(origin: Origin) -> &'static str {
    match origin {
        Origin::Simulated => "simulated",
        Origin::Measured => "measured",
        Origin::Formula => "formula",
        Origin::Printed => "printed",
    }
}
