//! A drawing as a list of shapes in layout pixels. A chart is laid out once and then written as [SVG](svg) or painted
//! as [PNG](png), so that both show the same. No fonts, C libraries or displays are needed on the machine.

pub(crate) mod font;
pub(crate) mod png;
mod raster;
pub(crate) mod svg;

/// A place: to the right and downwards.
pub(crate) type Place = (f64, f64);

/// Red, green and blue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Colour(pub(crate) u8, pub(crate) u8, pub(crate) u8);

impl Colour {
    /// Titles and labels.
    pub(crate) const INK: Colour = Colour(34, 34, 34);
    /// Ticks and notes.
    pub(crate) const GREY: Colour = Colour(90, 90, 90);
    /// Lines that guide the eye.
    pub(crate) const FAINT: Colour = Colour(228, 228, 228);

    /// The same, halfway to black: told apart from it where the two lie on each other.
    pub(crate) fn darker(self) -> Colour {
        Colour(self.0 / 2, self.1 / 2, self.2 / 2)
    }
}

/// Which part of a text stands at its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// A word or a line of them; its place is on the line on which the letters stand.
#[derive(Clone, Debug)]
pub(crate) struct Text {
    pub(crate) at: Place,
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
    /// A line through places, in strokes and gaps of these lengths; whole if there are none.
    Line { places: Vec<Place>, width: f64, colour: Colour, dash: &'static [f64] },
    /// A filled polygon without holes.
    Area { places: Vec<Place>, colour: Colour },
    /// A filled disc.
    Disc { centre: Place, radius: f64, colour: Colour },
    /// A text.
    Text(Text),
    /// What a reader sees who points at the next so many shapes; only in SVG.
    Hint { text: String, shapes: usize },
}

/// A drawing.
#[derive(Clone, Debug)]
pub(crate) struct Scene {
    pub(crate) width: f64,
    pub(crate) height: f64,
    /// What it shows, for those who cannot see it.
    pub(crate) title: String,
    pub(crate) shapes: Vec<Shape>,
}

impl Scene {
    pub(crate) fn line(&mut self, places: Vec<Place>, width: f64, colour: Colour) {
        self.shapes.push(Shape::Line { places, width, colour, dash: &[] });
    }

    pub(crate) fn text(&mut self, at: Place, text: &str, size: f64, anchor: Anchor, colour: Colour) {
        let text = text.to_string();
        self.shapes.push(Shape::Text(Text { at, text, size, anchor, colour, upwards: false }));
    }
}
