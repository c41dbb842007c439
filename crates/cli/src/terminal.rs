//! What all commands share at a terminal: output that may lose its reader, tables, progress, signals.

pub(crate) mod failure;
pub(crate) mod format;
pub(crate) mod interrupt;
pub(crate) mod json;
pub(crate) mod output;
pub(crate) mod progress;
pub(crate) mod recording;
pub(crate) mod refused_value;
pub(crate) mod schema;
pub(crate) mod shell;
pub(crate) mod signals;
pub(crate) mod table;
