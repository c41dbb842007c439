//! The commands that run nodes: `node` and `dev`, their configuration, log and end.

pub(crate) mod addresses;
pub(crate) mod dev;
pub(crate) mod encryption;
pub(crate) mod environment;
pub(crate) mod fail_stop;
pub(crate) mod kept;
pub(crate) mod log;
pub(crate) mod node;
pub(crate) mod node_file;
pub(crate) mod parent;
