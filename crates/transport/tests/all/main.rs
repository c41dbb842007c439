//! Peers over loopback: nothing is lost or doubled however often connections break, and strangers do no harm.

mod fixture;
mod proxy;
mod storm;
mod strangers;
mod traitors;
mod views;
