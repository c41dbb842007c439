//! Anti-aliased painting: each shape becomes polygons, and each pixel is covered as far as they cover it.

use ab_glyph::{OutlineCurve, Point, point};
use ab_glyph_rasterizer::Rasterizer;

use super::{Anchor, Colour, Position, Scene, Shape, Text, font};

/// Picture pixels per layout pixel, so that it is sharp in print and on fine screens.
const PIXELS: f64 = 2.0;

/// A picture: red, green and blue of each pixel, row by row.
pub(crate) struct Picture {
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) bytes: Vec<u8>,
}

/// Paints a drawing on white.
pub(crate) fn paint(scene: &Scene) -> Picture {
    let (width, height) = ((scene.width * PIXELS).round() as usize, (scene.height * PIXELS).round() as usize);
    let mut picture = Picture { width, height, bytes: vec![255; width * height * 3] };
    for shape in &scene.shapes {
        match shape {
            Shape::Line { positions, width, colour, dash: [] } => {
                picture.fill(&stroke(positions, *width), *colour);
            }
            Shape::Line { positions, width, colour, dash } => {
                for piece in dashes(positions, dash) {
                    picture.fill(&stroke(&piece, *width), *colour);
                }
            }
            Shape::Area { positions, colour } => picture.fill(&polygon(positions), *colour),
            Shape::Disc { centre, radius, colour } => picture.fill(&disc(*centre, *radius), *colour),
            Shape::Text(text) => picture.fill(&letters(text), text.colour),
            Shape::Hint { .. } => (),
        }
    }
    picture
}

impl Picture {
    /// Fills the inside of closed curves.
    fn fill(&mut self, curves: &[OutlineCurve], colour: Colour) {
        let Some((left, top, right, bottom)) = self.bounds(curves) else { return };
        let (width, height) = (right - left, bottom - top);
        let mut rasterizer = Rasterizer::new(width, height);
        let place = |p: Point| {
            let (x, y) = (p.x - left as f32, p.y - top as f32);
            // Points outside are clamped, so that the rasterizer never leaves its area.
            ab_glyph_rasterizer::point(x.clamp(0.0, width as f32), y.clamp(0.0, height as f32))
        };
        for curve in curves {
            match curve {
                OutlineCurve::Line(a, b) => rasterizer.draw_line(place(*a), place(*b)),
                OutlineCurve::Quad(a, b, c) => rasterizer.draw_quad(place(*a), place(*b), place(*c)),
                OutlineCurve::Cubic(a, b, c, d) => {
                    rasterizer.draw_cubic(place(*a), place(*b), place(*c), place(*d));
                }
            }
        }
        let ink = [colour.0, colour.1, colour.2];
        rasterizer.for_each_pixel_2d(|x, y, covered| {
            if covered > 0.0 {
                let at = ((top + y as usize) * self.width + left + x as usize) * 3;
                let share = covered.min(1.0);
                for (byte, ink) in self.bytes[at..at + 3].iter_mut().zip(ink) {
                    let mixed = f32::from(*byte) * (1.0 - share) + f32::from(ink) * share;
                    *byte = mixed.round() as u8;
                }
            }
        });
    }

    /// The pixels that curves may touch: left, top, right, bottom; none if they are outside.
    fn bounds(&self, curves: &[OutlineCurve]) -> Option<(usize, usize, usize, usize)> {
        let points = || curves.iter().flat_map(corners);
        let x = || points().map(|p| p.x);
        let y = || points().map(|p| p.y);
        let least = |value: f32| value.floor().max(0.0) as usize;
        let left = least(x().fold(f32::INFINITY, f32::min));
        let top = least(y().fold(f32::INFINITY, f32::min));
        let right = (x().fold(0.0, f32::max).ceil() as usize).min(self.width);
        let bottom = (y().fold(0.0, f32::max).ceil() as usize).min(self.height);
        (left < right && top < bottom).then_some((left, top, right, bottom))
    }
}

/// Corners that enclose the whole curve.
fn corners(curve: &OutlineCurve) -> [Point; 4] {
    match *curve {
        OutlineCurve::Line(a, b) => [a, a, b, b],
        OutlineCurve::Quad(a, b, c) => [a, b, b, c],
        OutlineCurve::Cubic(a, b, c, d) => [a, b, c, d],
    }
}

fn polygon(positions: &[Position]) -> Vec<OutlineCurve> {
    // All polygons have the same orientation, so that overlapping ones add up and do not cancel out.
    let turned = |index: usize| {
        let ((ax, ay), (bx, by)) = (positions[index], positions[(index + 1) % positions.len()]);
        ax * by - bx * ay
    };
    let area: f64 = (0..positions.len()).map(turned).sum();
    let point = |position: &Position| point((position.0 * PIXELS) as f32, (position.1 * PIXELS) as f32);
    let mut points: Vec<Point> = positions.iter().map(point).collect();
    if area < 0.0 {
        points.reverse();
    }
    (0..points.len())
        .map(|index| OutlineCurve::Line(points[index], points[(index + 1) % points.len()]))
        .collect()
}

fn disc(centre: Position, radius: f64) -> Vec<OutlineCurve> {
    const CORNERS: usize = 24;
    let corner = |index: usize| {
        let angle = std::f64::consts::TAU * index as f64 / CORNERS as f64;
        (centre.0 + radius * angle.cos(), centre.1 + radius * angle.sin())
    };
    polygon(&(0..CORNERS).map(corner).collect::<Vec<Position>>())
}

/// A line as a band for each segment, with discs between them.
fn stroke(positions: &[Position], width: f64) -> Vec<OutlineCurve> {
    let mut curves = Vec::new();
    for pair in positions.windows(2) {
        let ((ax, ay), (bx, by)) = (pair[0], pair[1]);
        let length = (bx - ax).hypot(by - ay);
        if length > 0.0 {
            let (x, y) = (-(by - ay) / length * width / 2.0, (bx - ax) / length * width / 2.0);
            curves.extend(polygon(&[(ax + x, ay + y), (bx + x, by + y), (bx - x, by - y), (ax - x, ay - y)]));
        }
    }
    // Hairlines need no joints, and would grow thicker there.
    if width > 1.0 && positions.len() > 2 {
        for position in &positions[1..positions.len() - 1] {
            curves.extend(disc(*position, width / 2.0));
        }
    }
    curves
}

fn letters(text: &Text) -> Vec<OutlineCurve> {
    let width = font::width(&text.text, text.size);
    let shift = match text.anchor {
        Anchor::Start => 0.0,
        Anchor::Middle => -width / 2.0,
        Anchor::End => -width,
    };
    let place = |p: Point| {
        let (along, down) = (f64::from(p.x) + shift, f64::from(p.y));
        let (x, y) = if text.upwards { (down, -along) } else { (along, down) };
        point(((text.at.0 + x) * PIXELS) as f32, ((text.at.1 + y) * PIXELS) as f32)
    };
    let mut curves = Vec::new();
    font::outlines(&text.text, text.size, |curve| {
        curves.push(match curve {
            OutlineCurve::Line(a, b) => OutlineCurve::Line(place(a), place(b)),
            OutlineCurve::Quad(a, b, c) => OutlineCurve::Quad(place(a), place(b), place(c)),
            OutlineCurve::Cubic(a, b, c, d) => OutlineCurve::Cubic(place(a), place(b), place(c), place(d)),
        });
    });
    curves
}

/// A line in pieces, with gaps between them.
fn dashes(positions: &[Position], pattern: &[f64]) -> Vec<Vec<Position>> {
    let mut pieces: Vec<Vec<Position>> = Vec::new();
    let (mut part, mut left) = (0, pattern[0]);
    let mut piece: Vec<Position> = positions.first().copied().into_iter().collect();
    for pair in positions.windows(2) {
        let (mut from, to) = (pair[0], pair[1]);
        loop {
            let length = (to.0 - from.0).hypot(to.1 - from.1);
            let drawn = part % 2 == 0;
            if length <= left {
                left -= length;
                if drawn {
                    piece.push(to);
                }
                break;
            }
            let share = left / length;
            from = (from.0 + (to.0 - from.0) * share, from.1 + (to.1 - from.1) * share);
            if drawn {
                piece.push(from);
                pieces.push(std::mem::take(&mut piece));
            } else {
                piece = vec![from];
            }
            part += 1;
            left = pattern[part % pattern.len()];
        }
    }
    pieces.push(piece);
    pieces.retain(|piece| piece.len() > 1);
    pieces
}

#[cfg(test)]
mod tests {
    use super::dashes;

    #[test]
    fn dashes_cover_their_share_of_the_way() {
        let pieces = dashes(&[(0.0, 0.0), (30.0, 0.0), (60.0, 0.0)], &[8.0, 4.0]);
        let length: f64 = pieces.iter().map(|piece| piece[piece.len() - 1].0 - piece[0].0).sum();
        assert_eq!((pieces.len(), length), (5, 40.0));
    }
}
