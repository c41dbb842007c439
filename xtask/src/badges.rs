//! The badges of the README: pictures in the repository, drawn from Cargo.toml, so that they are true and nothing has to
//! be fetched to see them.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};

/// The width of a letter, in the units of the picture. Letters differ, and `textLength` makes the text fit.
const LETTER: usize = 7;
const PADDING: usize = 6;

/// Writes them.
pub(crate) fn write() -> Result<()> {
    for (file, drawn) in badges()? {
        fs::write(&file, drawn).with_context(|| format!("cannot write {}", file.display()))?;
    }
    Ok(())
}

/// Those that are not as they should be.
pub(crate) fn problems() -> Result<Vec<String>> {
    let stale =
        badges()?.into_iter().filter(|(file, drawn)| fs::read_to_string(file).ok().as_ref() != Some(drawn));
    Ok(stale
        .map(|(file, _)| format!("{}: not as Cargo.toml says: cargo xtask rewrite", file.display()))
        .collect())
}

fn badges() -> Result<Vec<(PathBuf, String)>> {
    let manifest = fs::read_to_string("Cargo.toml").context("Cargo.toml")?;
    let value = |key: &str| {
        let line = manifest.lines().find_map(|line| line.strip_prefix(&format!("{key} = ")));
        line.map(|value| value.trim_matches('"').to_owned())
            .with_context(|| format!("Cargo.toml has no {key}"))
    };
    Ok(vec![
        (file("version"), badge("version", &value("version")?)),
        (file("rust"), badge("rust", &format!("{}+", value("rust-version")?))),
        (file("licence"), badge("licence", &value("license")?.replace(" OR ", " or "))),
    ])
}

fn file(name: &str) -> PathBuf {
    PathBuf::from(format!("docs/images/badge-{name}.svg"))
}

fn badge(label: &str, value: &str) -> String {
    let width = |text: &str| text.len() * LETTER + 2 * PADDING;
    let (left, right) = (width(label), width(value));
    let all = left + right;
    let text = |text: &str, start: usize| {
        let (x, length) = (start + PADDING, text.len() * LETTER);
        format!("<text x=\"{x}\" y=\"14\" textLength=\"{length}\">{text}</text>")
    };
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{all}\" height=\"20\" role=\"img\">\n\
         <title>{label}: {value}</title>\n\
         <rect width=\"{all}\" height=\"20\" rx=\"3\" fill=\"#2f6f4f\"/>\n\
         <path d=\"M3 0H{left}V20H3A3 3 0 0 1 0 17V3A3 3 0 0 1 3 0Z\" fill=\"#444\"/>\n\
         <g fill=\"#fff\" font-family=\"Verdana,DejaVu Sans,sans-serif\" font-size=\"11\">\n\
         {}\n{}\n</g>\n</svg>\n",
        text(label, 0),
        text(value, left)
    )
}
