//! The numbers behind charts and tables, for readers who want to draw them differently.

use crate::escape::cell;
use crate::page::{CellMap, Chart, Distance, Origin, Table};

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
    let mut text = String::from(
        "x,y,best,value,second,second_value,margin,tied,limit,times_limit,ours,ours_value,ours_limit,ours_times_limit\n",
    );
    for (row, cells) in map.rows.iter().zip(&map.cells) {
        for (column, shown) in map.columns.iter().zip(cells) {
            let (best, second) = (cell(&shown.first), cell(&shown.second));
            let (margin, tied) = (cell(&shown.margin), cell(&shown.tied.join("; ")));
            let (value, second_value) = (shown.value, shown.second_value);
            let (column, row) = (cell(column), cell(row));
            let limit = distance(shown.distance);
            let ours = shown.ours.as_ref().map_or(",,,".to_string(), |(name, value, far)| {
                format!("{},{value},{}", cell(name), distance(*far))
            });
            text.push_str(&format!(
                "{column},{row},{best},{value},{second},{second_value},{margin},{tied},{limit},{ours}\n"
            ));
        }
    }
    text
}

/// A limit, and how many times that a value is; two empty cells if none is known.
fn distance(distance: Option<Distance>) -> String {
    distance.map_or(",".to_string(), |Distance { limit, times }| format!("{limit},{times}"))
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
