//! A parameter or a measure with its name: a column in a table of results.

use std::fmt;

/// A name and a value.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// The name.
    pub name: String,
    /// The value.
    pub value: Cell,
}

/// A value in a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// A whole number.
    Count(u64),
    /// Any number.
    Number(f64),
    /// A word.
    Text(String),
    /// No value.
    Nothing,
}

impl Column {
    pub(crate) fn new(name: impl Into<String>, value: impl Into<Cell>) -> Column {
        Column { name: name.into(), value: value.into() }
    }
}

impl From<u64> for Cell {
    fn from(value: u64) -> Cell {
        Cell::Count(value)
    }
}

impl From<u32> for Cell {
    fn from(value: u32) -> Cell {
        Cell::Count(value.into())
    }
}

impl From<f64> for Cell {
    fn from(value: f64) -> Cell {
        Cell::Number(value)
    }
}

impl From<String> for Cell {
    fn from(value: String) -> Cell {
        Cell::Text(value)
    }
}

impl From<&str> for Cell {
    fn from(value: &str) -> Cell {
        Cell::Text(value.to_string())
    }
}

impl<T: Into<Cell>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Cell {
        value.map_or(Cell::Nothing, Into::into)
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cell::Count(value) => value.fmt(f),
            Cell::Number(value) => value.fmt(f),
            Cell::Text(value) => value.fmt(f),
            Cell::Nothing => Ok(()),
        }
    }
}
