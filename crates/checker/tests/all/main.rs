//! All tests of the search in one program.

mod goals;
mod partitioned;
mod plain;
mod suite;
mod symmetry;
mod threads;
mod verdicts;
