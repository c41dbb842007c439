//! The commands of the workbench: check, simulate, sweep, reproduce and what they share.

pub(crate) mod algorithms;
pub(crate) mod candidates;
pub(crate) mod check;
pub(crate) mod check_arguments;
pub(crate) mod check_report;
pub(crate) mod errata;
pub(crate) mod map;
pub(crate) mod merge;
pub(crate) mod plan_arguments;
pub(crate) mod random;
pub(crate) mod recommend;
pub(crate) mod recommend_map;
pub(crate) mod recommend_report;
pub(crate) mod record_file;
pub(crate) mod report_folder;
pub(crate) mod reproduce;
pub(crate) mod seat;
pub(crate) mod simulate;
pub(crate) mod sockets_experiment;
pub(crate) mod sweep;
pub(crate) mod sweep_file;
pub(crate) mod sweep_grid;
pub(crate) mod sweep_report;
pub(crate) mod sweep_results;
pub(crate) mod trace;
pub(crate) mod trace_file;
