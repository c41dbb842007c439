//! Texts 001 and 003: waits, messages and words of four algorithms against the request rate, partitioning,
//! and the thesis' own implementation.
//!
//! All figures of chapter V are views of the same few hundred points (`model`); a figure asks for its own
//! curves and for those that its claims compare them with, and every point is simulated once.

mod conference_paper;
mod drawing;
mod experiment;
mod message_length;
mod messages;
mod model;
mod one_token;
mod partitions;
mod socket_claims;
pub mod sockets;
mod variants;
mod verdicts;
mod wait_claims;
mod waits;

#[cfg(test)]
mod tests;

use crate::Exhibit;

/// The exhibits of this module, in the order of the report.
pub fn exhibits() -> Vec<Exhibit> {
    let parts = [
        waits::short_sections(),
        messages::short_sections(),
        message_length::exhibits(),
        waits::long_sections(),
        messages::long_sections(),
        partitions::exhibits(),
        experiment::exhibits(),
        conference_paper::exhibits(),
        vec![one_token::exhibit()],
        variants::exhibits(),
    ];
    parts.into_iter().flatten().collect()
}
