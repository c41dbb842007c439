//! Tests of whole nodes over loopback, in one program: consensus takes long to compile.

mod certificates;
mod encryption;
mod failover;
mod hostile;
mod intruders;
mod locks;
mod log;
mod orders;
mod rights;
mod support;
mod vouching;
mod watching;
