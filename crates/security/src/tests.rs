//! Whole handshakes in memory, over every kind of certificate, reload and resumption.

mod fixture;
mod folder;
mod matrix;
mod reload;
mod resumption;
