//! Tokenwood's algorithms: every published token algorithm of the papers, and the classics they are compared
//! with, as pure state machines.
//!
//! This crate has no network, reads no clock, draws no random number and starts no thread; it is `no_std`,
//! and keeps no collection whose order depends on hashing. Simulator, checker and sockets drive it from
//! outside.
//!
//! Begin with [`algorithm`]: the trait, its inputs and effects, and the contract. Then read one algorithm
//! ([`naimi_trehel`] is the shortest) and [`properties`], which all of them keep.

#![forbid(unsafe_code)]
#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod algorithm;
mod bounds;
pub mod census;
pub mod erased;
#[cfg(test)]
mod fairness;
pub mod info;
#[cfg(test)]
mod light_load;
pub mod node;
mod origin;
pub mod picture;
mod pointers;
mod post;
pub mod properties;
pub mod registry;
mod renaming;
pub mod schedule;
pub mod setting;
#[cfg(test)]
mod shuffle;
mod sorted;
mod stamp;
pub mod system;
pub mod trace;
#[cfg(test)]
mod transcript;
pub mod tree;
mod waiters;
pub mod world;

pub mod banerjee_chrysanthis;
pub mod bulgannawar_vaidya;
pub mod carvalho_roucairol;
pub mod chaudhuri_edward;
pub mod collectors;
pub mod drs_gme;
pub mod forest;
pub mod helary;
pub mod k_majority;
pub mod lacbt;
pub mod lamport;
pub mod lodha_kshemkalyani;
pub mod maekawa;
pub mod makki;
pub mod naimi_trehel;
pub mod neilsen_mizuno;
pub mod partitioned;
pub mod ra1;
pub mod raymond_k;
pub mod raymond_tree;
pub mod ricart_agrawala;
pub mod rooms;
pub mod singhal_dynamic;
pub mod singhal_heuristic;
pub mod srimani_reddy;
pub mod suzuki_kasami;

pub use algorithm::{
    Algorithm, Chance, ClientId, Effect, Grant, Group, Groups, Input, NodeId, Outbox, Portable, Site, Timer,
    TokenId, Wait,
};
pub use bounds::Bounds;
pub use census::Census;
pub use erased::Erased;
pub use info::{Conditions, Info, Kind, Scope};
pub use origin::Origin;
pub use picture::{Contents, Picture};
pub use properties::{Property, Violation};
pub use renaming::Renaming;
pub use schedule::{Action, Step};
pub use setting::{Case, Setting, SettingError};
pub use system::System;
pub use waiters::Waiters;
pub use world::World;
