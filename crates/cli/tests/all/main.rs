//! Tests of the whole program, in one binary: twenty would each be linked, and run one after the other.

mod cluster;
mod commands;
mod errata;
mod fail_stop;
mod folder;
mod listings;
mod locks;
mod map;
mod node_config;
mod nodes;
mod ordeal;
mod orders;
mod peers;
mod recommend;
mod reproduce;
mod scripts;
mod seats;
mod simulated_faults;
mod sockets;
mod storm;
mod sweep;
mod unread;
