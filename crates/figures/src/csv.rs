//! The numbers behind charts and tables, for readers who want to draw them differently.

use crate::escape::cell;
use crate::page::{CellMap, Chart, Origin, Table};

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

/// A map, a line for each cell.
pub fn map(map: &CellMap) -> String {
    let mut text = String::from("x,y,best,value,second,second_value,margin,tied\n");
    for (row, cells) in map.rows.iter().zip(&map.cells) {
        for (column, shown) in map.columns.iter().zip(cells) {
            let (best, second) = (cell(&shown.first), cell(&shown.second));
            let (margin, tied) = (cell(&shown.margin), cell(&shown.tied.join("; ")));
            let (value, second_value) = (shown.value, shown.second_value);
            let (column, row) = (cell(column), cell(row));
            text.push_str(&format!(
                "{column},{row},{best},{value},{second},{second_value},{margin},{tied}\n"
            ));
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
