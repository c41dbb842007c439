//! Draws a [`CellMap`] as SVG or PNG: a coloured cell with a name for each pair of values, hatched where the best two are
//! equally good. Names and hatching are enough without colours.

use crate::chart::{EDGE, LABEL_SIZE, LEGEND_SIZE, NOTE_SIZE, TICK_SIZE, TITLE_SIZE, WIDTH, short};
use crate::page::{CellMap, Distance, MapCell};
use crate::scene::{Anchor, Colour, Position, Scene, Shape, Text, font, png, svg};

/// Okabe and Ito's colours, which colour-blind readers can distinguish, and grey for all others.
const COLOURS: [Colour; 8] = [
    Colour(0x00, 0x72, 0xB2),
    Colour(0xE6, 0x9F, 0x00),
    Colour(0x00, 0x9E, 0x73),
    Colour(0xCC, 0x79, 0xA7),
    Colour(0x56, 0xB4, 0xE9),
    Colour(0xD5, 0x5E, 0x00),
    Colour(0xF0, 0xE4, 0x42),
    Colour(0x8C, 0x8C, 0x8C),
];
/// How much white is mixed in.
const WHITE: f64 = 0.5;
const ROW: f64 = 48.0;
/// A column is at most this wide, so that few columns are not stretched.
const COLUMN: f64 = 130.0;
const NAME_SIZE: f64 = 12.0;
const MARGIN_SIZE: f64 = 11.0;
/// How far apart the lines of a hatching are.
const HATCH: f64 = 9.0;
const SAMPLE: f64 = 22.0;

/// A map as SVG.
pub fn svg(map: &CellMap) -> String {
    svg::write(&lay_out(map))
}

/// A map as PNG, at two pixels for each of the SVG's.
pub fn png(map: &CellMap) -> Vec<u8> {
    png::write(&lay_out(map))
}

/// The area of a cell or of a sample in the legend.
#[derive(Clone, Copy)]
struct Area {
    left: f64,
    top: f64,
    right: f64,
    bottom: f64,
}

impl Area {
    fn corners(&self) -> Vec<Position> {
        vec![
            (self.left, self.top),
            (self.right, self.top),
            (self.right, self.bottom),
            (self.left, self.bottom),
        ]
    }

    fn middle(&self) -> f64 {
        (self.left + self.right) / 2.0
    }
}

fn lay_out(map: &CellMap) -> Scene {
    let title = font::wrap(&map.title, TITLE_SIZE, WIDTH - 2.0 * EDGE);
    let mut scene = Scene { width: WIDTH, height: 0.0, title: map.title.clone(), shapes: Vec::new() };
    for (line, y) in title.iter().zip((1..).map(|line| EDGE + f64::from(line) * 21.0 - 6.0)) {
        scene.text((WIDTH / 2.0, y), line, TITLE_SIZE, Anchor::Middle, Colour::INK);
    }
    let top = EDGE + title.len() as f64 * 21.0 + 8.0;
    let labels = map.rows.iter().map(|row| font::width(row, TICK_SIZE)).fold(0.0, f64::max);
    let beside = EDGE + 26.0 + labels + 8.0;
    let columns = map.columns.len().max(1) as f64;
    let width = ((WIDTH - EDGE - beside) / columns).min(COLUMN);
    let left = beside + (WIDTH - EDGE - beside - width * columns) / 2.0;
    let bottom = top + ROW * map.rows.len() as f64;
    for (row, cells) in map.cells.iter().enumerate() {
        for (column, cell) in cells.iter().enumerate() {
            let (x, y) = (left + width * column as f64, bottom - ROW * row as f64);
            draw_cell(&mut scene, cell, Area { left: x, top: y - ROW, right: x + width, bottom: y });
        }
    }
    draw_axes(&mut scene, map, Area { left, top, right: left + width * columns, bottom }, width);
    let mut y = draw_legend(&mut scene, map, bottom + 54.0);
    let key: Vec<String> = map.key().iter().map(|(short, full)| format!("{short} = {full}")).collect();
    for line in font::wrap(&key.join(" · "), NOTE_SIZE, WIDTH - 2.0 * EDGE) {
        y += 16.0;
        scene.text((WIDTH / 2.0, y), &line, NOTE_SIZE, Anchor::Middle, Colour::INK);
    }
    for line in font::wrap(&map.note, NOTE_SIZE, WIDTH - 2.0 * EDGE) {
        y += 16.0;
        scene.text((WIDTH / 2.0, y), &line, NOTE_SIZE, Anchor::Middle, Colour::GREY);
    }
    scene.height = (y + EDGE).ceil();
    scene
}

fn draw_axes(scene: &mut Scene, map: &CellMap, area: Area, width: f64) {
    for (column, label) in map.columns.iter().enumerate() {
        let x = area.left + width * (column as f64 + 0.5);
        scene.text((x, area.bottom + 19.0), label, TICK_SIZE, Anchor::Middle, Colour::GREY);
    }
    for (row, label) in map.rows.iter().enumerate() {
        let y = area.bottom - ROW * (row as f64 + 0.5) + 4.5;
        scene.text((area.left - 8.0, y), label, TICK_SIZE, Anchor::End, Colour::GREY);
    }
    scene.text((area.middle(), area.bottom + 41.0), &map.x, LABEL_SIZE, Anchor::Middle, Colour::INK);
    let labels = map.rows.iter().map(|row| font::width(row, TICK_SIZE)).fold(0.0, f64::max);
    let at = (area.left - 8.0 - labels - 12.0, (area.top + area.bottom) / 2.0);
    let (text, size, anchor, colour) = (map.y.clone(), LABEL_SIZE, Anchor::Middle, Colour::INK);
    scene.shapes.push(Shape::Text(Text { at, text, size, anchor, colour, upwards: true }));
}

fn draw_cell(scene: &mut Scene, cell: &MapCell, area: Area) {
    let inner = Area {
        left: area.left + 1.0,
        top: area.top + 1.0,
        right: area.right - 1.0,
        bottom: area.bottom - 1.0,
    };
    let mut shapes = vec![Shape::Area { positions: inner.corners(), colour: colour_of(cell) }];
    if !cell.tied.is_empty() {
        shapes.extend(hatching(inner));
    }
    scene.shapes.push(Shape::Hint { text: hint(cell), shapes: shapes.len() });
    scene.shapes.extend(shapes);
    let most = inner.right - inner.left - 4.0;
    let mut size = NAME_SIZE;
    while font::width(&cell.best, size) > most && size > 8.0 {
        size -= 0.5;
    }
    scene.text((area.middle(), area.top + 21.0), &cell.best, size, Anchor::Middle, Colour::INK);
    scene.text((area.middle(), area.top + 38.0), &cell.margin, MARGIN_SIZE, Anchor::Middle, Colour::INK);
}

fn colour_of(cell: &MapCell) -> Colour {
    COLOURS[cell.colour.min(COLOURS.len() - 1)].lighter(WHITE)
}

/// White lines from the lower left to the upper right, cut off at the edges.
fn hatching(area: Area) -> Vec<Shape> {
    let (width, height) = (area.right - area.left, area.bottom - area.top);
    let lines = ((width + height) / HATCH) as usize;
    let line = |number: usize| {
        // Where the line would leave the left edge, counted from the top.
        let from = HATCH * (number as f64 + 0.5);
        let start = if from <= height {
            (area.left, area.top + from)
        } else {
            (area.left + from - height, area.bottom)
        };
        let end =
            if from <= width { (area.left + from, area.top) } else { (area.right, area.top + from - width) };
        Shape::Line { positions: vec![start, end], width: 1.6, colour: Colour(255, 255, 255), dash: &[] }
    };
    (0..lines).map(line).collect()
}

fn hint(cell: &MapCell) -> String {
    let MapCell { first, value, second, second_value, tied, ours, .. } = cell;
    let rest = if tied.is_empty() {
        format!("then {second} {}", short(*second_value))
    } else {
        format!("as good, as far as the runs can tell: {}", tied.join(", "))
    };
    let ours =
        ours.as_ref().filter(|(name, ..)| name != first).map_or(String::new(), |(name, value, far)| {
            format!("; ours: {name} {}{}", short(*value), times(*far))
        });
    format!("{first} {}{}; {rest}{ours}", short(*value), times(cell.distance))
}

fn times(distance: Option<Distance>) -> String {
    distance.map_or(String::new(), |Distance { limit, times }| {
        format!(" ({} times the limit {})", short(times), short(limit))
    })
}

/// Draws the names of all that are best somewhere, in as many lines as they need. Returns where it ends.
fn draw_legend(scene: &mut Scene, map: &CellMap, top: f64) -> f64 {
    let mut named: Vec<&MapCell> = Vec::new();
    for cell in map.cells.iter().flatten() {
        if !named.iter().any(|other| other.label == cell.label) {
            named.push(cell);
        }
    }
    named.sort_by_key(|cell| cell.colour);
    let text = |cell: &MapCell| {
        // The grey cells are named by what they are; the key has the names in full.
        if cell.colour >= COLOURS.len() { cell.label.clone() } else { cell.best.clone() }
    };
    let mut lines: Vec<(f64, Vec<&MapCell>)> = vec![(0.0, Vec::new())];
    for cell in named {
        let width = SAMPLE + 8.0 + font::width(&text(cell), LEGEND_SIZE) + 22.0;
        if lines.last().is_some_and(|(used, _)| used + width > WIDTH - 2.0 * EDGE) {
            lines.push((0.0, Vec::new()));
        }
        if let Some((used, line)) = lines.last_mut() {
            *used += width;
            line.push(cell);
        }
    }
    let mut y = top;
    for (used, line) in lines {
        let mut x = ((WIDTH - used) / 2.0).max(EDGE);
        for cell in line {
            let sample = Area { left: x, top: y, right: x + SAMPLE, bottom: y + 13.0 };
            scene.shapes.push(Shape::Area { positions: sample.corners(), colour: colour_of(cell) });
            scene.text((x + SAMPLE + 8.0, y + 11.0), &text(cell), LEGEND_SIZE, Anchor::Start, Colour::INK);
            x += SAMPLE + 8.0 + font::width(&text(cell), LEGEND_SIZE) + 22.0;
        }
        y += 20.0;
    }
    y
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(best: &str, tied: &[&str]) -> MapCell {
        MapCell {
            best: best.to_string(),
            label: format!("{best} in full"),
            colour: 1,
            first: best.to_string(),
            value: 1.0,
            second: "other".to_string(),
            second_value: 2.0,
            margin: "50 % less".to_string(),
            tied: tied.iter().map(ToString::to_string).collect(),
            distance: Some(Distance { limit: 0.5, times: 2.0 }),
            ours: Some(("mine".to_string(), 3.0, None)),
            names: vec![(best.to_string(), format!("{best} in full"))],
        }
    }

    #[test]
    fn names_margins_and_hatching_are_drawn() {
        let map = CellMap {
            suffix: String::new(),
            title: "Who <is> best".to_string(),
            x: "rate".to_string(),
            y: "section".to_string(),
            columns: vec!["0.1".to_string(), "1".to_string()],
            rows: vec!["0".to_string()],
            cells: vec![vec![cell("one", &[]), cell("two", &["three"])]],
            note: "a note".to_string(),
        };
        let drawn = svg(&map);
        for text in [
            "Who &lt;is&gt; best",
            ">one<",
            ">two<",
            "one = one in full · two = two in full",
            "50 % less",
            "a note",
            "section",
        ] {
            assert!(drawn.contains(text), "{text}");
        }
        assert!(drawn.contains("then other 2") && drawn.contains("as far as the runs can tell: three"));
        assert!(drawn.contains("one 1 (2 times the limit 0.5)") && drawn.contains("ours: mine 3"), "{drawn}");
        assert_eq!(map.key().len(), 2);
        // Only the second is hatched, within its cell.
        assert!(drawn.matches("<polyline").count() > 10);
        assert_eq!(drawn.matches("<g>").count(), drawn.matches("</g>").count());
        assert!(png(&map).len() > 1000);
    }

    #[test]
    fn a_hatching_stays_in_its_cell() {
        let area = Area { left: 10.0, top: 20.0, right: 60.0, bottom: 50.0 };
        for shape in hatching(area) {
            let Shape::Line { positions, .. } = shape else { panic!() };
            assert!(positions.iter().all(|(x, y)| (10.0..=60.0).contains(x) && (20.0..=50.0).contains(y)));
        }
    }
}
