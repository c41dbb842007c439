//! A drawing as SVG.

use std::fmt::Write;

use super::{Anchor, Colour, Position, Scene, Shape, Text};
use crate::escape::escaped;

/// Fonts that are as wide as the one it was laid out with, then any.
const FONTS: &str = "DejaVu Sans, Verdana, Bitstream Vera Sans, Geneva, sans-serif";

/// The whole file.
pub(crate) fn write(scene: &Scene) -> String {
    let mut svg = String::new();
    let (width, height) = (number(scene.width), number(scene.height));
    let _ = write!(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{}\" font-family=\"{FONTS}\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
        escaped(&scene.title)
    );
    let mut hinted = 0;
    for shape in &scene.shapes {
        if let Shape::Hint { text, shapes } = shape {
            let _ = write!(svg, "<g><title>{}</title>", escaped(text));
            hinted = *shapes;
            continue;
        }
        write_shape(&mut svg, shape);
        if hinted > 0 {
            hinted -= 1;
            if hinted == 0 {
                svg.push_str("</g>");
            }
        }
        if hinted == 0 {
            svg.push('\n');
        }
    }
    svg.push_str("</svg>\n");
    svg
}

fn write_shape(svg: &mut String, shape: &Shape) {
    let _ = match shape {
        Shape::Line { positions, width, colour, dash } => {
            let dashes: Vec<String> = dash.iter().map(|length| number(*length)).collect();
            let dashes = match dash {
                [] => String::new(),
                _ => format!(" stroke-dasharray=\"{}\"", dashes.join(" ")),
            };
            write!(
                svg,
                "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\"{dashes} \
                 stroke-linejoin=\"round\"/>",
                points(positions),
                hex(*colour),
                number(*width)
            )
        }
        Shape::Area { positions, colour } => {
            write!(svg, "<polygon points=\"{}\" fill=\"{}\"/>", points(positions), hex(*colour))
        }
        Shape::Disc { centre, radius, colour } => write!(
            svg,
            "<circle cx=\"{}\" cy=\"{}\" r=\"{}\" fill=\"{}\"/>",
            number(centre.0),
            number(centre.1),
            number(*radius),
            hex(*colour)
        ),
        Shape::Text(text) => write_text(svg, text),
        Shape::Hint { .. } => Ok(()),
    };
}

fn write_text(svg: &mut String, text: &Text) -> std::fmt::Result {
    let (x, y) = (number(text.at.0), number(text.at.1));
    let anchor = match text.anchor {
        Anchor::Start => "",
        Anchor::Middle => " text-anchor=\"middle\"",
        Anchor::End => " text-anchor=\"end\"",
    };
    let turn = if text.upwards { format!(" transform=\"rotate(-90 {x} {y})\"") } else { String::new() };
    let (size, colour) = (number(text.size), hex(text.colour));
    write!(svg, "<text x=\"{x}\" y=\"{y}\" font-size=\"{size}\" fill=\"{colour}\"{anchor}{turn}>")?;
    write!(svg, "{}</text>", escaped(&text.text))
}

fn points(positions: &[Position]) -> String {
    let pairs: Vec<String> =
        positions.iter().map(|(x, y)| format!("{},{}", number(*x), number(*y))).collect();
    pairs.join(" ")
}

fn hex(colour: Colour) -> String {
    format!("#{:02x}{:02x}{:02x}", colour.0, colour.1, colour.2)
}

/// Hundredths of a pixel are enough.
fn number(value: f64) -> String {
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_string() } else { text.to_string() }
}
