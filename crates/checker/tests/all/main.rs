//! All tests of the search in one program: each algorithm is compiled for it once.

mod partitioned;
mod plain;
mod suite;
mod verdicts;
