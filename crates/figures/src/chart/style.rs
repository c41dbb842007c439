//! How curves are distinguished: by colour, by the shape of their marks and by their dashes, so that any one
//! of these is enough.

use crate::page::{Origin, Series};
use crate::scene::{Colour, Position, Scene, Shape};

/// Okabe and Ito's colours, which colour-blind readers can distinguish; grey instead of yellow, which is hard
/// to see on white.
const COLOURS: [Colour; 8] = [
    Colour(0x00, 0x72, 0xB2),
    Colour(0xD5, 0x5E, 0x00),
    Colour(0x00, 0x9E, 0x73),
    Colour(0xCC, 0x79, 0xA7),
    Colour(0xE6, 0x9F, 0x00),
    Colour(0x56, 0xB4, 0xE9),
    Colour(0x11, 0x11, 0x11),
    Colour(0x8C, 0x8C, 0x8C),
];

/// Alternating lengths of dashes and gaps.
const DASHES: [&[f64]; 4] = [&[8.0, 4.0], &[2.5, 3.0], &[12.0, 3.0, 2.5, 3.0], &[16.0, 6.0]];

/// The dashes of measured curves.
const DOTS: &[f64] = &[2.5, 3.0];

/// Half the width of a mark.
pub(super) const RADIUS: f64 = 4.2;
const OUTLINE: f64 = 1.6;

/// The style of a curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Style {
    pub(super) colour: Colour,
    pub(super) mark: usize,
    pub(super) dash: usize,
    pub(super) origin: Origin,
}

/// A style for each curve. A formula, its simulation and its printed values share colour and mark: they are
/// recognised by labels that differ only in words for the origin of a curve.
pub(super) fn styles(series: &[Series]) -> Vec<Style> {
    let mut families: Vec<(String, Vec<Origin>)> = Vec::new();
    let mut formulas = 0;
    let mut styles = Vec::new();
    for curve in series {
        let name = subject(&curve.label);
        let known =
            families.iter().position(|(known, origins)| *known == name && !origins.contains(&curve.origin));
        let family = known.unwrap_or(families.len());
        if known.is_none() {
            families.push((name, Vec::new()));
        }
        families[family].1.push(curve.origin);
        let colour = COLOURS[family % COLOURS.len()];
        let dash = if curve.origin == Origin::Formula { formulas } else { 0 };
        formulas += usize::from(curve.origin == Origin::Formula);
        let mark = family % MARKS;
        styles.push(Style { colour, mark, dash: dash % DASHES.len(), origin: curve.origin });
    }
    // A formula would be invisible on its own simulation.
    for index in 0..styles.len() {
        let shared = styles.iter().filter(|style| style.colour == styles[index].colour).count() > 1;
        if styles[index].origin == Origin::Formula && shared {
            styles[index].colour = styles[index].colour.darker();
        }
    }
    styles
}

/// A label without the words for the origin of a curve.
fn subject(label: &str) -> String {
    const WORDS: [&str; 10] = [
        "formula",
        "formulas",
        "simulated",
        "simulation",
        "printed",
        "measured",
        "paper",
        "theory",
        "bound",
        "ours",
    ];
    let words = label.split(|letter: char| !letter.is_alphanumeric() && letter != '√');
    let words: Vec<String> = words.map(str::to_lowercase).filter(|word| !word.is_empty()).collect();
    let kept: Vec<&str> = words.iter().map(String::as_str).filter(|word| !WORDS.contains(word)).collect();
    if kept.is_empty() { words.join(" ") } else { kept.join(" ") }
}

impl Style {
    /// Draws a line in this style.
    pub(super) fn draw_line(&self, scene: &mut Scene, positions: &[Position]) {
        match self.origin {
            Origin::Simulated => scene.line(positions.to_vec(), 1.8, self.colour),
            Origin::Measured => {
                let (positions, dash) = (positions.to_vec(), DOTS);
                scene.shapes.push(Shape::Line { positions, width: 1.8, colour: self.colour, dash });
            }
            Origin::Formula => {
                let (positions, dash) = (positions.to_vec(), DASHES[self.dash]);
                scene.shapes.push(Shape::Line { positions, width: 1.8, colour: self.colour, dash });
            }
            Origin::Printed => (),
        }
    }

    /// Draws a mark in this style. Formulas have none.
    pub(super) fn draw_mark(&self, scene: &mut Scene, at: Position, hint: Option<String>) {
        if self.origin == Origin::Formula {
            return;
        }
        // Values that are not simulated are outlined, so that they show on simulated marks.
        let hollow = matches!(self.origin, Origin::Printed | Origin::Measured);
        let shapes = mark(self.mark, at, self.colour, hollow);
        if let Some(text) = hint {
            scene.shapes.push(Shape::Hint { text, shapes: shapes.len() });
        }
        scene.shapes.extend(shapes);
    }
}

/// How many shapes of marks there are.
const MARKS: usize = 10;

fn mark(number: usize, (x, y): Position, colour: Colour, outlined: bool) -> Vec<Shape> {
    let r = RADIUS;
    let at = |corners: &[Position], scale: f64| -> Vec<Position> {
        corners.iter().map(|(across, down)| (x + across * r * scale, y + down * r * scale)).collect()
    };
    let circle: Vec<Position> =
        (0..24).map(|corner| (std::f64::consts::TAU * f64::from(corner) / 24.0).sin_cos()).collect();
    let square = [(-0.86, -0.86), (0.86, -0.86), (0.86, 0.86), (-0.86, 0.86)];
    let triangle = [(0.0, -1.15), (1.1, 0.8), (-1.1, 0.8)];
    let diamond = [(0.0, -1.25), (1.25, 0.0), (0.0, 1.25), (-1.25, 0.0)];
    let downward = [(0.0, 1.15), (1.1, -0.8), (-1.1, -0.8)];
    let filled = |corners: &[Position]| vec![Shape::Area { positions: at(corners, 1.0), colour }];
    // Larger and not filled, so that a mark below shows.
    let hollow = |corners: &[Position]| {
        let mut outline = at(corners, 1.15);
        outline.extend_from_within(..2);
        vec![Shape::Line { positions: outline, width: OUTLINE, colour, dash: &[] }]
    };
    let strokes = |ends: [Position; 4]| {
        let stroke = |a: Position, b: Position| Shape::Line {
            positions: at(&[a, b], 1.0),
            width: 2.2,
            colour,
            dash: &[],
        };
        vec![stroke(ends[0], ends[1]), stroke(ends[2], ends[3])]
    };
    if outlined && number < 4 {
        return hollow([circle.as_slice(), &square, &triangle, &diamond][number]);
    }
    match number {
        0 => vec![Shape::Disc { centre: (x, y), radius: r * 0.95, colour }],
        1 => filled(&square),
        2 => filled(&triangle),
        3 => filled(&diamond),
        4 => strokes([(-0.95, -0.95), (0.95, 0.95), (-0.95, 0.95), (0.95, -0.95)]),
        5 if outlined => hollow(&downward),
        5 => filled(&downward),
        6 => strokes([(-1.2, 0.0), (1.2, 0.0), (0.0, -1.2), (0.0, 1.2)]),
        7 => hollow(&circle),
        8 => hollow(&square),
        _ => hollow(&diamond),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(label: &str, origin: Origin) -> Series {
        Series { label: label.to_string(), origin, dots: Vec::new() }
    }

    #[test]
    fn ten_curves_all_look_different() {
        let curves: Vec<Series> =
            (0..10).map(|number| series(&format!("k = {number}"), Origin::Simulated)).collect();
        let looks = styles(&curves);
        for (index, look) in looks.iter().enumerate() {
            assert!(looks[..index].iter().all(|other| other.mark != look.mark), "{index}");
        }
    }

    #[test]
    fn a_formula_looks_like_its_simulation_but_darker() {
        let looks = styles(&[
            series("k = 3 (formula)", Origin::Formula),
            series("k = 3, simulated", Origin::Simulated),
            series("k = 5, simulated", Origin::Simulated),
        ]);
        assert_eq!(looks[0].colour, looks[1].colour.darker());
        assert_ne!(looks[1].colour, looks[2].colour);
        let alone = styles(&[series("n − 1", Origin::Formula), series("√n", Origin::Formula)]);
        assert_ne!(alone[0].colour, alone[1].colour);
        assert_ne!(alone[0].dash, alone[1].dash);
    }
}
