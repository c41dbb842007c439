//! A drawing as a list of shapes in layout pixels. A chart is laid out once and then written as [SVG](svg) or
//! painted as [PNG](png), so that both show the same. It needs no installed fonts, C libraries or displays.

pub(crate) mod font;
pub(crate) mod png;
mod raster;
pub(crate) mod svg;

/// A position: to the right and downwards.
pub(crate) type Position = (f64, f64);

/// Red, green and blue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Colour(pub(crate) u8, pub(crate) u8, pub(crate) u8);

impl Colour {
    /// Titles and labels.
    pub(crate) const INK: Colour = Colour(34, 34, 34);
    /// Ticks and notes.
    pub(crate) const GREY: Colour = Colour(90, 90, 90);
    /// Grid lines.
    pub(crate) const FAINT: Colour = Colour(228, 228, 228);

    /// The same, halfway to black: distinguishable where the two overlap.
    pub(crate) fn darker(self) -> Colour {
        Colour(self.0 / 2, self.1 / 2, self.2 / 2)
    }

    /// The same mixed with white, so that dark letters on it are legible; 1 is white.
    pub(crate) fn lighter(self, white: f64) -> Colour {
        let mix = |part: u8| (f64::from(part) * (1.0 - white) + 255.0 * white).round() as u8;
        Colour(mix(self.0), mix(self.1), mix(self.2))
    }
}

/// Which part of a text is at its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// A line of text; its position is on the baseline.
#[derive(Clone, Debug)]
pub(crate) struct Text {
    pub(crate) at: Position,
    pub(crate) text: String,
    pub(crate) size: f64,
    pub(crate) anchor: Anchor,
    pub(crate) colour: Colour,
    /// Whether it reads upwards.
    pub(crate) upwards: bool,
}

/// Something to draw. Later shapes cover earlier ones.
#[derive(Clone, Debug)]
pub(crate) enum Shape {
    /// A line through positions, with dashes and gaps of these lengths; solid if there are none.
    Line { positions: Vec<Position>, width: f64, colour: Colour, dash: &'static [f64] },
    /// A filled polygon without holes.
    Area { positions: Vec<Position>, colour: Colour },
    /// A filled disc.
    Disc { centre: Position, radius: f64, colour: Colour },
    /// A text.
    Text(Text),
    /// The tooltip of the next shapes, this many of them; only in SVG.
    Hint { text: String, shapes: usize },
}

/// A drawing.
#[derive(Clone, Debug)]
pub(crate) struct Scene {
    pub(crate) width: f64,
    pub(crate) height: f64,
    /// A description for readers who cannot see it.
    pub(crate) title: String,
    pub(crate) shapes: Vec<Shape>,
}

impl Scene {
    pub(crate) fn line(&mut self, positions: Vec<Position>, width: f64, colour: Colour) {
        self.shapes.push(Shape::Line { positions, width, colour, dash: &[] });
    }

    pub(crate) fn text(&mut self, at: Position, text: &str, size: f64, anchor: Anchor, colour: Colour) {
        let text = text.to_string();
        self.shapes.push(Shape::Text(Text { at, text, size, anchor, colour, upwards: false }));
    }
}
