//! Claims and examples.
