//! The one font: the width of a text, its line breaks, and the outlines of its letters. It is part of the
//! program, because a system may have none.

use std::sync::LazyLock;

use ab_glyph::{Font, FontRef, GlyphId, OutlineCurve, Point, ScaleFont};

/// A subset of DejaVu Sans: Latin, Greek, and mathematical symbols. Its licence is beside it.
static FONT: LazyLock<FontRef<'static>> = LazyLock::new(|| {
    let bytes = include_bytes!("../../font/DejaVuSans-subset.ttf");
    FontRef::try_from_slice(bytes).expect("the font in the program is whole")
});

/// How wide a text is at a size.
pub(crate) fn width(text: &str, size: f64) -> f64 {
    let mut width = 0.0;
    for_each_glyph(text, size, |_, _, right| width = right);
    width
}

/// Breaks a text at spaces into lines of at most this width. A longer word stays whole.
pub(crate) fn wrap(text: &str, size: f64, most: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if width(&format!("{line} {word}"), size) <= most => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_string()),
        }
    }
    lines
}

/// Calls `curve` for each curve of the letters' outlines, with the text beginning at the origin, y downwards.
pub(crate) fn outlines(text: &str, size: f64, mut curve: impl FnMut(OutlineCurve)) {
    let em = FONT.units_per_em().unwrap_or(1000.0);
    let scale = size as f32 / em;
    for_each_glyph(text, size, |glyph, left, _| {
        let Some(outline) = FONT.outline(glyph) else { return };
        let place = |point: Point| Point { x: left as f32 + point.x * scale, y: -point.y * scale };
        for part in outline.curves {
            curve(match part {
                OutlineCurve::Line(a, b) => OutlineCurve::Line(place(a), place(b)),
                OutlineCurve::Quad(a, b, c) => OutlineCurve::Quad(place(a), place(b), place(c)),
                OutlineCurve::Cubic(a, b, c, d) => {
                    OutlineCurve::Cubic(place(a), place(b), place(c), place(d))
                }
            });
        }
    });
}

/// Each letter with where it begins and ends.
fn for_each_glyph(text: &str, size: f64, mut visit: impl FnMut(GlyphId, f64, f64)) {
    let em = FONT.units_per_em().unwrap_or(1000.0);
    // At a scale of its height the font uses its own units.
    let font = FONT.as_scaled(FONT.height_unscaled());
    let mut left = 0.0;
    for letter in text.chars() {
        let glyph = font.glyph_id(letter);
        let right = left + f64::from(font.h_advance(glyph) / em) * size;
        visit(glyph, left, right);
        left = right;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_add_up_and_grow_with_the_size() {
        assert!((width("λ = 10", 20.0) - 2.0 * width("λ = 10", 10.0)).abs() < 1e-6);
        assert!((width("ab", 10.0) - width("a", 10.0) - width("b", 10.0)).abs() < 1e-6);
        // DejaVu Sans: a digit is 1303 of 2048 units wide.
        assert!((width("0", 2048.0) - 1303.0).abs() < 1e-3);
    }

    #[test]
    fn lines_break_at_spaces() {
        assert_eq!(wrap("one two three", 10.0, width("one two", 10.0)), ["one two", "three"]);
        assert_eq!(wrap("unbreakable", 10.0, 1.0), ["unbreakable"]);
        assert!(wrap("", 10.0, 1.0).is_empty());
    }

    #[test]
    fn every_sign_of_our_formulas_is_in_the_font() {
        for sign in "azAZ09<>&%éüαβλνμπΣ√⌈⌉⌊⌋×±≤≥–—·−⁰¹²³⁴⁵⁶⁷⁸⁹⁻₀₁₂∞≈≠→…“”‘’".chars()
        {
            assert_ne!(FONT.glyph_id(sign), GlyphId(0), "{sign}");
        }
    }
}
