//! Aligned columns for people, and lines that fit the terminal they are read at.

use std::io::IsTerminal;
use std::os::fd::AsFd;

use crate::terminal::output::say;

/// What is between two columns.
const GAP: &str = "  ";
/// A table whose rows would become taller than this is divided: some of its columns come below the others.
const TALLEST_ROW: usize = 3;
/// No taller are the rows of such a part, unless it has one column only.
const TALLEST_ROW_OF_PART: usize = 2;

/// How many characters a line of standard output has; `None` if that is no terminal: then nothing is made to fit.
pub(crate) fn width() -> Option<usize> {
    width_of(&std::io::stdout())
}

/// The same of any output.
pub(crate) fn width_of<T: AsFd + IsTerminal>(output: &T) -> Option<usize> {
    let size = output.is_terminal().then(|| rustix::termios::tcgetwinsize(output))?.ok()?;
    (size.ws_col > 0).then_some(size.ws_col.into())
}

/// Prints rows in columns; the first row is the heading.
pub(crate) fn print(rows: &[Vec<String>]) {
    print_keyed(rows, 1);
}

/// The same, where the first columns say which row it is: they come again if a terminal is too narrow for all columns.
pub(crate) fn print_keyed(rows: &[Vec<String>], keys: usize) {
    lines(rows, keys, width()).iter().for_each(|line| say!("{line}"));
}

/// A text that is broken between its words, if it is for a terminal. Lines after the first begin with so many blanks.
pub(crate) fn flowed(text: &str, blanks: usize) -> String {
    let Some(width) = width() else { return text.to_string() };
    broken(text, width, blanks).join("\n")
}

/// The lines of such a table for a screen of this width.
pub(crate) fn lines(rows: &[Vec<String>], keys: usize, width: Option<usize>) -> Vec<String> {
    let all: Vec<usize> = (0..rows.iter().map(Vec::len).max().unwrap_or(0)).collect();
    let natural = widths(rows, &all, |cell| cell.chars().count());
    let Some(width) = width.filter(|width| total(&natural) > *width) else {
        return aligned(rows, &all, &natural);
    };
    if let Some(widths) = shrunk(rows, &all, width, TALLEST_ROW) {
        return aligned(rows, &all, &widths);
    }
    let (keys, others) = all.split_at(keys.min(all.len()));
    let mut found = Vec::new();
    let mut rest = others;
    while !rest.is_empty() {
        let fits = |count: &usize| {
            let columns = [keys, &rest[..*count]].concat();
            shrunk(rows, &columns, width, TALLEST_ROW_OF_PART).is_some()
        };
        // One column at least, however wide it is.
        let count = (1..=rest.len()).take_while(fits).last().unwrap_or(1);
        let columns = [keys, &rest[..count]].concat();
        let fallback =
            || columns.iter().map(|column| natural[*column].min(width / columns.len() - 2)).collect();
        let widths = shrunk(rows, &columns, width, usize::MAX).unwrap_or_else(fallback);
        if rest.len() < others.len() {
            found.push(String::new());
        }
        found.extend(aligned(rows, &columns, &widths));
        rest = &rest[count..];
    }
    found
}

/// Whether a table stays in one piece where it is printed.
pub(crate) fn is_whole(rows: &[Vec<String>]) -> bool {
    width().is_none_or(|width| stays_whole(rows, width))
}

fn stays_whole(rows: &[Vec<String>], width: usize) -> bool {
    let all: Vec<usize> = (0..rows.iter().map(Vec::len).max().unwrap_or(0)).collect();
    shrunk(rows, &all, width, TALLEST_ROW).is_some()
}

fn total(widths: &[usize]) -> usize {
    widths.iter().sum::<usize>() + GAP.len() * widths.len().saturating_sub(1)
}

fn widths(rows: &[Vec<String>], columns: &[usize], of: impl Fn(&str) -> usize) -> Vec<usize> {
    let width = |column: &usize| rows.iter().filter_map(|row| row.get(*column)).map(|cell| of(cell)).max();
    columns.iter().map(|column| width(column).unwrap_or(0)).collect()
}

/// Widths at which the columns fit, the widest made narrower first; `None` if even single words do not fit, or rows would
/// be taller than this.
fn shrunk(rows: &[Vec<String>], columns: &[usize], width: usize, most_lines: usize) -> Option<Vec<usize>> {
    let least = widths(rows, columns, longest_word);
    let mut widths = widths(rows, columns, |cell| cell.chars().count());
    while total(&widths) > width {
        let (_, widest) = (0..widths.len())
            .filter(|column| widths[*column] > least[*column])
            .map(|column| (widths[column], column))
            .max()?;
        widths[widest] -= 1;
    }
    Some(widths).filter(|widths| tallest(rows, columns, widths) <= most_lines)
}

/// What has to stay on one line: a word; or a number with its unit and its error.
fn longest_word(text: &str) -> usize {
    if text.starts_with(|letter: char| letter.is_ascii_digit()) {
        return text.chars().count();
    }
    let words = text.split_whitespace().map(|word| word.chars().count());
    indentation(text) + words.max().unwrap_or(0)
}

fn indentation(text: &str) -> usize {
    text.chars().take_while(|letter| *letter == ' ').count()
}

/// How many lines the tallest row takes.
fn tallest(rows: &[Vec<String>], columns: &[usize], widths: &[usize]) -> usize {
    let lines = |row: &Vec<String>| {
        let cells = columns.iter().zip(widths);
        cells.filter_map(|(column, width)| Some(broken(row.get(*column)?, *width, 0).len())).max()
    };
    rows.iter().filter_map(lines).max().unwrap_or(0)
}

/// These columns of all rows, each in its width; the heading is underlined.
fn aligned(rows: &[Vec<String>], columns: &[usize], widths: &[usize]) -> Vec<String> {
    let mut found = Vec::new();
    for (index, row) in rows.iter().enumerate() {
        let cell = |column: &usize| row.get(*column).map_or("", String::as_str);
        let cells: Vec<Vec<String>> = columns
            .iter()
            .zip(widths)
            .map(|(column, width)| broken(cell(column), *width, indentation(cell(column))))
            .collect();
        for line in 0..cells.iter().map(Vec::len).max().unwrap_or(0) {
            let parts = cells.iter().zip(widths).map(|(cell, width)| {
                let part = cell.get(line).map_or("", String::as_str);
                format!("{part:width$}")
            });
            found.push(parts.collect::<Vec<_>>().join(GAP).trim_end().to_string());
        }
        if index == 0 {
            let rules: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
            found.push(rules.join(GAP));
        }
    }
    found
}

/// A text in lines of at most this width, broken between words; words that are longer are cut. Lines after the first
/// begin with so many blanks.
pub(crate) fn broken(text: &str, width: usize, blanks: usize) -> Vec<String> {
    let width = width.max(1);
    let blanks = " ".repeat(if blanks < width { blanks } else { 0 });
    let (mut lines, mut rest, mut start) = (Vec::new(), text.trim_end(), "");
    while start.len() + rest.chars().count() > width {
        let room = rest.char_indices().nth(width - start.len()).map_or(rest.len(), |(place, _)| place);
        // A blank right after the last letter that fits is a good place, too.
        let end = rest[room..].chars().next().map_or(room, |letter| room + letter.len_utf8());
        let between_words = rest[..end].rfind(' ').filter(|place| !rest[..*place].trim().is_empty());
        let (line, others) = rest.split_at(between_words.unwrap_or(room));
        lines.push(format!("{start}{}", line.trim_end()));
        (rest, start) = (others.trim_start(), &blanks);
    }
    lines.push(format!("{start}{rest}"));
    lines
}

/// A number with its digits in groups of three.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// So many of these: `1 state`, `2,000 states`, `1 entry`, `2 entries`.
pub(crate) fn count(number: u64, what: &str) -> String {
    let grouped = grouped(number);
    // A day and a key, unlike an entry, keep their last letter.
    match what.strip_suffix('y').filter(|stem| !stem.ends_with(['a', 'e', 'o', 'u'])) {
        _ if number == 1 => format!("{grouped} {what}"),
        Some(stem) => format!("{grouped} {stem}ies"),
        None if what.ends_with('h') || what.ends_with('s') => format!("{grouped} {what}es"),
        None => format!("{grouped} {what}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &[&[&str]]) -> Vec<Vec<String>> {
        text.iter().map(|row| row.iter().map(ToString::to_string).collect()).collect()
    }

    fn widest(lines: &[String]) -> usize {
        lines.iter().map(|line| line.chars().count()).max().unwrap()
    }

    #[test]
    fn words_are_broken_within_their_column() {
        let table = rows(&[&["name", "needs"], &["lamport", "messages in order, no loss, no crash"]]);
        let wide = ["name     needs", "───────  ────────────────────────────────────"];
        assert_eq!(lines(&table, 1, None)[..2], wide);
        assert_eq!(lines(&table, 1, Some(80)), lines(&table, 1, None));
        let narrow = lines(&table, 1, Some(30));
        let expected = ["lamport  messages in order, no", "         loss, no crash"];
        assert_eq!(narrow[2..], expected, "{narrow:#?}");
        assert!(widest(&narrow) <= 30);
    }

    #[test]
    fn columns_that_do_not_fit_come_below_with_their_keys() {
        let table = rows(&[&["", "one", "two", "three"], &["a", "111111111", "222222222", "333333333"]]);
        let found = lines(&table, 1, Some(24));
        let expected = [
            "   one        two",
            "─  ─────────  ─────────",
            "a  111111111  222222222",
            "",
            "   three",
            "─  ─────────",
        ];
        assert_eq!(found[..6], expected, "{found:#?}");
        assert_eq!(found[6], "a  333333333");
        assert!(!stays_whole(&table, 24) && stays_whole(&table, 40));
    }

    #[test]
    fn what_is_wider_than_the_terminal_is_cut() {
        let table = rows(&[&["key", "value"], &["a", &"x".repeat(50)]]);
        let found = lines(&table, 1, Some(20));
        assert!(widest(&found) <= 20, "{found:#?}");
        assert_eq!(found.concat().matches('x').count(), 50);
    }

    #[test]
    fn indented_cells_stay_indented() {
        assert_eq!(broken("  half of them wait", 12, 2), ["  half of", "  them wait"]);
        assert_eq!(broken("- Where: here and there", 14, 2), ["- Where: here", "  and there"]);
        assert_eq!(broken("   1  req0  enters now", 18, 12), ["   1  req0  enters", "            now"]);
        assert_eq!(broken("ääää öööö", 4, 0), ["ääää", "öööö"]);
    }

    #[test]
    fn one_is_not_several() {
        assert_eq!(count(1, "state"), "1 state");
        assert_eq!(count(2000, "state"), "2,000 states");
        assert_eq!(count(1, "entry"), "1 entry");
        assert_eq!(count(0, "entry"), "0 entries");
        assert_eq!(count(3, "crash"), "3 crashes");
        assert_eq!(count(3, "day"), "3 days");
        assert_eq!(count(3, "key"), "3 keys");
        assert_eq!(count(3, "loss"), "3 losses");
    }
}
