//! All tests of the simulator in one program: each algorithm is compiled for it once.

mod closed_forms;
mod common;
mod faults;
mod limit;
mod model;
mod once;
mod random;
mod routes;
mod sync_delay;
mod unequal;
