//! Draws a [`Chart`] as SVG or PNG: axes, curves, and a legend below them that covers nothing.

mod scale;
mod style;

use crate::compare::student;
use crate::page::{Axis, Chart, Dot, Origin, Series, Spacing};
use crate::scene::{Anchor, Colour, Position, Scene, Shape, Text, font, png, svg};
pub(crate) use scale::grouped;
use scale::{Ends, Scale};
use style::Style;

pub(crate) const WIDTH: f64 = 900.0;
/// The height of the plot area.
const FIELD: f64 = 385.0;
pub(crate) const EDGE: f64 = 16.0;
pub(crate) const TITLE_SIZE: f64 = 16.0;
pub(crate) const LABEL_SIZE: f64 = 14.0;
pub(crate) const TICK_SIZE: f64 = 12.5;
pub(crate) const LEGEND_SIZE: f64 = 13.0;
pub(crate) const NOTE_SIZE: f64 = 11.5;
/// The length of a line in the legend, and the space behind an entry.
const SAMPLE: f64 = 34.0;
const GAP: f64 = 26.0;
const MOST_COLUMNS: usize = 4;
/// An error bar is the interval in which the mean is with this confidence.
const CONFIDENCE: f64 = 0.95;

/// A chart as SVG.
pub fn svg(chart: &Chart) -> String {
    svg::write(&lay_out(chart))
}

/// A chart as PNG, at two pixels for each of the SVG's.
pub fn png(chart: &Chart) -> Vec<u8> {
    png::write(&lay_out(chart))
}

/// The plot area, and the mapping of values to it.
struct Field {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
    x: Scale,
    y: Scale,
}

impl Field {
    fn across(&self, value: f64) -> f64 {
        self.left + self.x.place(value) * (self.right - self.left)
    }

    fn up(&self, value: f64) -> f64 {
        self.bottom - self.y.place(value) * (self.bottom - self.top)
    }
}

fn lay_out(chart: &Chart) -> Scene {
    let title = font::wrap(&chart.title, TITLE_SIZE, WIDTH - 2.0 * EDGE);
    let field = field(chart, EDGE + title.len() as f64 * 21.0 + 12.0);
    let mut scene = Scene { width: WIDTH, height: 0.0, title: chart.title.clone(), shapes: Vec::new() };
    for (line, y) in title.iter().zip((1..).map(|line| EDGE + f64::from(line) * 21.0 - 6.0)) {
        scene.text((WIDTH / 2.0, y), line, TITLE_SIZE, Anchor::Middle, Colour::INK);
    }
    draw_axes(&mut scene, chart, &field);
    let styles = style::styles(&chart.series);
    draw_curves(&mut scene, chart, &field, &styles);
    let mut y = field.bottom + 52.0;
    y = draw_legend(&mut scene, chart, &styles, y);
    for line in notes(chart).iter().flat_map(|note| font::wrap(note, NOTE_SIZE, WIDTH - 2.0 * EDGE)) {
        y += 16.0;
        scene.text((WIDTH / 2.0, y), &line, NOTE_SIZE, Anchor::Middle, Colour::GREY);
    }
    scene.height = (y + EDGE).ceil();
    scene
}

/// Whether a dot can be drawn: it has finite coordinates, positive ones on a logarithmic axis.
fn drawable(chart: &Chart, dot: &Dot) -> bool {
    let fits =
        |value: f64, axis: &Axis| value.is_finite() && (value > 0.0 || axis.spacing == Spacing::Linear);
    fits(dot.x, &chart.x) && fits(dot.y, &chart.y)
}

/// The lower and the upper end of a dot's error bar; none if it has no error.
fn error_bar(dot: &Dot) -> Option<(f64, f64)> {
    let far = dot.error * student(CONFIDENCE, dot.values.saturating_sub(1));
    (far.is_finite() && far > 0.0).then_some((dot.y - far, dot.y + far))
}

fn field(chart: &Chart, top: f64) -> Field {
    let dots = || chart.series.iter().flat_map(|series| &series.dots).filter(|dot| drawable(chart, dot));
    let x: Vec<f64> = dots().map(|dot| dot.x).collect();
    let mut y: Vec<f64> = dots().map(|dot| dot.y).collect();
    // Error bars may extend the axis upwards; downwards only where there are values below 0 anyway.
    let below = y.iter().any(|value| *value < 0.0);
    let bars = || dots().filter_map(error_bar);
    y.extend(bars().map(|(_, high)| high));
    y.extend(bars().map(|(low, _)| low).filter(|_| below));
    let x = Scale::of(&x, chart.x.spacing, Ends::Values);
    let y = Scale::of(&y, chart.y.spacing, Ends::Zero);
    let labels = y.ticks.iter().map(|tick| font::width(&tick.label, TICK_SIZE)).fold(0.0, f64::max);
    let left = EDGE + 18.0 * upward_label(chart).len() as f64 + 10.0 + labels + 8.0;
    Field { left, right: WIDTH - EDGE - 14.0, top, bottom: top + FIELD, x, y }
}

fn upward_label(chart: &Chart) -> Vec<String> {
    font::wrap(&chart.y.label, LABEL_SIZE, FIELD)
}

fn draw_axes(scene: &mut Scene, chart: &Chart, field: &Field) {
    for tick in &field.y.ticks {
        let y = field.up(tick.value);
        let labelled = !tick.label.is_empty();
        if labelled {
            scene.line(vec![(field.left, y), (field.right, y)], 1.0, Colour::FAINT);
            scene.text((field.left - 8.0, y + 4.5), &tick.label, TICK_SIZE, Anchor::End, Colour::GREY);
        }
        scene.line(
            vec![(field.left - if labelled { 5.0 } else { 2.5 }, y), (field.left, y)],
            1.0,
            Colour::GREY,
        );
    }
    let mut free_from = f64::NEG_INFINITY;
    for tick in &field.x.ticks {
        let x = field.across(tick.value);
        let half = font::width(&tick.label, TICK_SIZE) / 2.0;
        let labelled = !tick.label.is_empty();
        if labelled {
            scene.line(vec![(x, field.top), (x, field.bottom)], 1.0, Colour::FAINT);
        }
        if labelled && x - half > free_from {
            scene.text((x, field.bottom + 19.0), &tick.label, TICK_SIZE, Anchor::Middle, Colour::GREY);
            free_from = x + half + 6.0;
        }
        let length = if labelled { 5.0 } else { 2.5 };
        scene.line(vec![(x, field.bottom), (x, field.bottom + length)], 1.0, Colour::GREY);
    }
    let corner = (field.left, field.bottom);
    scene.line(vec![(field.left, field.top), corner, (field.right, field.bottom)], 1.0, Colour::GREY);
    let middle = ((field.left + field.right) / 2.0, field.bottom + 41.0);
    scene.text(middle, &chart.x.label, LABEL_SIZE, Anchor::Middle, Colour::INK);
    for (index, line) in upward_label(chart).into_iter().enumerate() {
        let at = (EDGE + 13.0 + 18.0 * index as f64, (field.top + field.bottom) / 2.0);
        let (size, anchor, colour) = (LABEL_SIZE, Anchor::Middle, Colour::INK);
        scene.shapes.push(Shape::Text(Text { at, text: line, size, anchor, colour, upwards: true }));
    }
}

/// Lines first, then bars and marks, so that no line hides a mark.
fn draw_curves(scene: &mut Scene, chart: &Chart, field: &Field, styles: &[Style]) {
    let place = |dot: &Dot| (field.across(dot.x), field.up(dot.y));
    for drawn in [Origin::Simulated, Origin::Measured, Origin::Formula] {
        for (series, style) in chart.series.iter().zip(styles).filter(|(series, _)| series.origin == drawn) {
            // A value that cannot be drawn leaves a gap.
            for piece in series.dots.split(|dot| !drawable(chart, dot)).filter(|piece| piece.len() > 1) {
                let positions: Vec<Position> = piece.iter().map(place).collect();
                style.draw_line(scene, &positions);
            }
        }
    }
    for (series, style) in chart.series.iter().zip(styles) {
        for dot in series.dots.iter().filter(|dot| drawable(chart, dot)) {
            if let Some((low, high)) = error_bar(dot) {
                draw_bar(scene, field, place(dot), (low, high), style.colour);
            }
            style.draw_mark(scene, place(dot), Some(hint(series, dot)));
        }
    }
    if !chart.series.iter().flat_map(|series| &series.dots).any(|dot| drawable(chart, dot)) {
        let middle = ((field.left + field.right) / 2.0, (field.top + field.bottom) / 2.0);
        scene.text(middle, "no values", LABEL_SIZE, Anchor::Middle, Colour::GREY);
    }
}

fn draw_bar(
    scene: &mut Scene,
    field: &Field,
    (x, middle): Position,
    (low, high): (f64, f64),
    colour: Colour,
) {
    const HALF: f64 = 3.5;
    let top = field.up(high).max(field.top);
    // A bar inside the mark would only blur its shape.
    if middle - top <= style::RADIUS {
        return;
    }
    // On a logarithmic axis a bar that reaches 0 reaches the bottom.
    let bottom = field.up(low);
    let ends_inside = bottom.is_finite() && bottom <= field.bottom;
    let bottom = if ends_inside { bottom } else { field.bottom };
    scene.line(vec![(x, top), (x, bottom)], 1.2, colour);
    scene.line(vec![(x - HALF, top), (x + HALF, top)], 1.2, colour);
    if ends_inside {
        scene.line(vec![(x - HALF, bottom), (x + HALF, bottom)], 1.2, colour);
    }
}

fn hint(series: &Series, dot: &Dot) -> String {
    let error = if dot.error > 0.0 { format!(" ± {}", short(dot.error)) } else { String::new() };
    format!("{}: {} at {}{error}", series.label, short(dot.y), short(dot.x))
}

/// Four significant digits.
pub(crate) fn short(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    let before = value.abs().log10().floor() as i32;
    if !(-5..9).contains(&before) {
        return format!("{value:.3e}");
    }
    let decimals = usize::try_from(3 - before).unwrap_or(0);
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_string() } else { text }
}

/// Draws the legend in as many columns as fit, and returns where it ends.
fn draw_legend(scene: &mut Scene, chart: &Chart, styles: &[Style], top: f64) -> f64 {
    const LINE: f64 = 18.0;
    let most = WIDTH - 2.0 * EDGE - SAMPLE - 8.0;
    let entries: Vec<Vec<String>> =
        chart.series.iter().map(|series| font::wrap(&series.label, LEGEND_SIZE, most)).collect();
    let width = |entry: &Vec<String>| {
        let text = entry.iter().map(|line| font::width(line, LEGEND_SIZE)).fold(0.0, f64::max);
        SAMPLE + 8.0 + text + GAP
    };
    let widths = |columns: usize| -> Vec<f64> {
        let rows = entries.len().div_ceil(columns);
        entries.chunks(rows.max(1)).map(|column| column.iter().map(width).fold(0.0, f64::max)).collect()
    };
    let fits = |columns: &usize| widths(*columns).iter().sum::<f64>() - GAP <= WIDTH - 2.0 * EDGE;
    let columns = (1..=MOST_COLUMNS.min(entries.len().max(1))).rev().find(fits).unwrap_or(1);
    let rows = entries.len().div_ceil(columns).max(1);
    let total = widths(columns).iter().sum::<f64>() - GAP;
    let mut x = ((WIDTH - total) / 2.0).max(EDGE);
    let mut end = top;
    for (number, column) in entries.chunks(rows).enumerate() {
        let mut y = top;
        for (index, entry) in column.iter().enumerate() {
            let style = &styles[number * rows + index];
            let middle = y + LINE / 2.0;
            style.draw_line(scene, &[(x, middle), (x + SAMPLE, middle)]);
            style.draw_mark(scene, (x + SAMPLE / 2.0, middle), None);
            for line in entry {
                let at = (x + SAMPLE + 8.0, y + LINE / 2.0 + 4.5);
                scene.text(at, line, LEGEND_SIZE, Anchor::Start, Colour::INK);
                y += LINE;
            }
            y += 2.0;
        }
        end = end.max(y);
        x += widths(columns)[number];
    }
    end
}

/// What a reader has to know to read the chart.
fn notes(chart: &Chart) -> Vec<String> {
    let dots = || chart.series.iter().flat_map(|series| &series.dots);
    let has = |origin: Origin| chart.series.iter().any(|series| series.origin == origin);
    let mut notes = Vec::new();
    let mut reading = Vec::new();
    if dots().any(|dot| error_bar(dot).is_some()) {
        reading.push("bars: 95 % interval (Student's t), where larger than the mark");
    }
    if has(Origin::Measured) {
        reading.push("dotted, with hollow marks: measured over sockets");
    }
    if has(Origin::Formula) {
        reading.push("dashed: formula");
    }
    if has(Origin::Printed) {
        reading.push("marks without a line: printed");
    }
    if !reading.is_empty() {
        notes.push(reading.join(" · "));
    }
    let missing = dots().filter(|dot| !drawable(chart, dot)).count();
    if missing > 0 {
        let values = if missing == 1 { "1 value is".to_string() } else { format!("{missing} values are") };
        notes.push(format!("{values} not drawn: not a number, or not above 0 on a logarithmic axis"));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_bar_is_longer_the_fewer_runs_there_are() {
        let far =
            |values| error_bar(&Dot { error: 1.0, values, ..Dot::exact(0.0, 0.0) }).map(|(_, high)| high);
        assert!((far(3).unwrap() - 4.303).abs() < 0.001 && (far(20).unwrap() - 2.093).abs() < 0.001);
        assert_eq!([far(0), far(1)], [None, None]);
    }
}
