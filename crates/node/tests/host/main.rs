//! Tests of whole nodes over loopback, in one program: consensus takes long to compile.

mod encryption;
mod failover;
mod hostile;
mod locks;
mod log;
mod orders;
mod rights;
mod support;
mod watching;
