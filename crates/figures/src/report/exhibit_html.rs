//! One exhibit on the report's page.

use std::fmt::Write;

use super::{Shown, html, names};
use crate::escape::escaped;
use crate::page::{Part, Table};
use crate::{cell_map, chart};

/// Writes an exhibit: title, source, charts, tables, text, claims.
pub(super) fn write(page: &mut String, shown: &Shown) {
    let _ = writeln!(
        page,
        "<article id=\"{0}\">\n<h3>{1}</h3>\n<p class=\"source\">{2} · <a href=\"#{0}\"><code>{0}</code></a></p>",
        escaped(shown.id),
        escaped(shown.title),
        escaped(shown.source)
    );
    for violation in &shown.violations {
        let _ =
            writeln!(page, "<p class=\"alarm\" role=\"alert\"><b>Violated.</b> {}</p>", escaped(violation));
    }
    for (part, stem) in shown.page.parts.iter().zip(names::stems(shown.id, &shown.page)) {
        let stem = escaped(&stem);
        match part {
            Part::Chart(drawn) => write_figure(page, &chart::svg(drawn), &stem),
            Part::Map(drawn) => write_figure(page, &cell_map::svg(drawn), &stem),
            Part::Table(table) => write_table(page, table, &stem),
            Part::Text(text) => write_text(page, text),
        }
    }
    if !shown.page.claims.is_empty() {
        page.push_str("<div class=\"wide\">\n");
        html::open_claims(page, html::ExhibitColumn::Hidden);
        for claim in &shown.page.claims {
            html::write_claim(page, claim, None);
        }
        page.push_str("</tbody>\n</table>\n</div>\n");
    }
    page.push_str("</article>\n");
}

fn write_figure(page: &mut String, svg: &str, stem: &str) {
    let _ = writeln!(
        page,
        "<figure>\n<div class=\"card\">{svg}</div>\n<figcaption><a href=\"{stem}.svg\">SVG</a> \
         <a href=\"{stem}.png\">PNG</a> <a href=\"{stem}.csv\">CSV</a></figcaption>\n</figure>",
    );
}

fn write_table(page: &mut String, table: &Table, stem: &str) {
    page.push_str("<div class=\"wide\">\n<table class=\"numbers\">\n");
    let _ = write!(
        page,
        "<caption>{} <a href=\"{stem}.csv\">CSV</a></caption>\n<thead><tr>",
        escaped(&table.title)
    );
    let numbers: Vec<bool> = (0..table.columns.len()).map(|column| holds_numbers(table, column)).collect();
    let class = |column: usize| if numbers.get(column) == Some(&true) { " class=\"number\"" } else { "" };
    for (column, heading) in table.columns.iter().enumerate() {
        let _ = write!(page, "<th{}>{}</th>", class(column), escaped(heading));
    }
    page.push_str("</tr></thead>\n<tbody>\n");
    for row in &table.rows {
        page.push_str("<tr>");
        for (column, cell) in row.iter().enumerate() {
            let _ = write!(page, "<td{}>{}</td>", class(column), escaped(cell));
        }
        page.push_str("</tr>\n");
    }
    page.push_str("</tbody>\n</table>\n</div>\n");
}

/// Whether the cells of a column begin like numbers, so that they are set to the right.
fn holds_numbers(table: &Table, column: usize) -> bool {
    let mut cells =
        table.rows.iter().filter_map(|row| row.get(column)).filter(|cell| !cell.is_empty()).peekable();
    let number = |cell: &String| {
        let rest = cell.trim_start_matches(['-', '−', '+', '±', '<', '>', '≤', '≥', '≈', ' ']);
        cell == "–" || cell == "-" || rest.starts_with(|letter: char| letter.is_ascii_digit())
    };
    cells.peek().is_some() && cells.all(number)
}

/// Paragraphs; those with line breaks line by line.
fn write_text(page: &mut String, text: &str) {
    for paragraph in text.split("\n\n").filter(|paragraph| !paragraph.trim().is_empty()) {
        let paragraph = paragraph.trim_matches('\n');
        let (open, close) = if paragraph.contains('\n') { ("<pre>", "</pre>") } else { ("<p>", "</p>") };
        let _ = writeln!(page, "{open}{}{close}", escaped(paragraph));
    }
}
