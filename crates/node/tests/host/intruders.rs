//! Who gets in, over real sockets: a table of callers and ports, session keys that are wrong, and what was recorded, changed or
//! cut. Not one of them gets anything, each refusal is in the audit, and nobody else notices.

mod caller;
mod keys;
mod matrix;
mod recorded;
mod recorder;
mod watch;
