//! All tests of the search in one program.

mod partitioned;
mod plain;
mod suite;
mod symmetry;
mod threads;
mod verdicts;
