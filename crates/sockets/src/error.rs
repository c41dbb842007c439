//! Why a run over sockets failed, each in one line.

use std::collections::BTreeSet;
use std::fmt;
use std::io;

use algorithms::{Group, NodeId, SettingError};
use service::frame::FrameError;
use tokio::task::JoinError;
use transport::StartError;

use super::Counts;
use super::replay::ReplayError;

/// Why a run over sockets failed.
#[derive(Debug)]
pub enum Error {
    /// The algorithm or its setting cannot be run over sockets.
    Refused(SettingError),
    /// No port could be opened.
    Listen(io::Error),
    /// A connection failed.
    Connection(io::Error),
    /// The other end sent something else than a frame.
    Frame(FrameError),
    /// The connections between the nodes could not be started.
    Peers(StartError),
    /// No collector listens at this address.
    NoCollector(String, io::Error),
    /// No seat listens at this address.
    NoSeat(String, io::Error),
    /// What listens at this address does not speak as a seat of this version does.
    NotASeat(String, Box<Error>),
    /// The seat at this address takes part in another run.
    SeatBusy(String),
    /// The seat at this address is of another version of this program.
    OtherProgram {
        /// Where the seat is.
        seat: String,
        /// Its version.
        theirs: String,
        /// The version of this program.
        ours: String,
    },
    /// The collector has not said anything for a long time.
    SilentCollector,
    /// No connection of a node could be accepted.
    Accept(io::Error),
    /// The node has not connected to the collector in time.
    NotConnected(NodeId),
    /// The node does not answer in time.
    NoAnswer(NodeId),
    /// The node answers another question than it was asked.
    OtherAnswer(NodeId),
    /// The connection to the node has ended, for this reason.
    Gone(NodeId, Box<Error>),
    /// The other end has closed the connection.
    Closed,
    /// The node has failed, for this reason.
    Failed(NodeId, String),
    /// The node got an order before the orders that must come first.
    OutOfOrder(&'static str),
    /// The node has no connection to these nodes.
    Unreachable(Vec<NodeId>),
    /// The client of this node has waited longer than the timeout of the plan.
    TimedOut(NodeId),
    /// The client's task has panicked.
    Client(JoinError),
    /// Messages are under way that do not arrive.
    NotSilent,
    /// The report of this node is too long.
    ReportTooLong(NodeId),
    /// The report of this node cannot be read.
    Report(NodeId, FrameError),
    /// There are not as many reports as nodes.
    ReportCount {
        /// How many nodes there are.
        nodes: u32,
        /// How many reports there are.
        reports: usize,
    },
    /// A node has reported this failure.
    Reported(String),
    /// These clients were inside at the same time, as (group, node).
    Overlap(BTreeSet<(Group, NodeId)>),
    /// The record cannot be replayed.
    Replay(ReplayError),
    /// The nodes counted something else than the replay.
    Counts {
        /// What the nodes counted.
        counted: Counts,
        /// What the replay counted.
        replayed: Counts,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Refused(refusal) => write!(f, "{refusal}"),
            Error::Listen(error) => write!(f, "cannot listen: {error}"),
            Error::Connection(error) => write!(f, "{error}"),
            Error::Frame(error) => write!(f, "{error}"),
            Error::Peers(error) => write!(f, "{error}"),
            Error::NoCollector(address, error) => write!(f, "no collector answers at {address}: {error}"),
            Error::NoSeat(seat, error) => write!(
                f,
                "no seat answers at {seat} ({error}): start 'tokenwood seat --listen {seat}' there, and look for a \
                 firewall in between"
            ),
            Error::NotASeat(seat, why) => {
                write!(
                    f,
                    "what answers at {seat} is no seat of this version ({why}): start 'tokenwood seat' of the same version there"
                )
            }
            Error::SeatBusy(seat) => {
                write!(
                    f,
                    "the seat at {seat} takes part in another run: wait for its end, or start the seat again"
                )
            }
            Error::OtherProgram { seat, theirs, ours } => write!(
                f,
                "the seat at {seat} is of version {theirs}, this program is of {ours}: install the same on all machines"
            ),
            Error::SilentCollector => f.write_str("the collector says nothing any more"),
            Error::Accept(error) => write!(f, "no node can be accepted: {error}"),
            Error::NotConnected(node) => write!(f, "node {node} does not call"),
            Error::NoAnswer(node) => write!(f, "node {node} does not answer"),
            Error::OtherAnswer(node) => write!(f, "node {node} answers something else than it was asked"),
            Error::Gone(node, why) => write!(f, "node {node} is gone: {why}"),
            Error::Closed => f.write_str("it hung up"),
            Error::Failed(node, why) => write!(f, "node {node}: {why}"),
            Error::OutOfOrder(what) => f.write_str(what),
            Error::Unreachable(nodes) => {
                let nodes: Vec<String> = nodes.iter().map(|node| format!("node {node}")).collect();
                write!(
                    f,
                    "there is no connection to {}: every node has to reach every other",
                    nodes.join(", ")
                )
            }
            Error::TimedOut(node) => write!(f, "the client of node {node} waits in vain"),
            Error::Client(error) => write!(f, "{error}"),
            Error::NotSilent => f.write_str("messages are under way that do not arrive"),
            Error::ReportTooLong(node) => {
                write!(f, "the report of node {node} is too long: take fewer entries")
            }
            Error::Report(node, error) => write!(f, "the report of node {node} cannot be read: {error}"),
            Error::ReportCount { nodes, reports } => write!(f, "{nodes} nodes, but {reports} reports"),
            Error::Reported(failure) => f.write_str(failure),
            Error::Overlap(inside) => {
                let inside: Vec<String> =
                    inside.iter().map(|(group, node)| format!("node {node} in group {group}")).collect();
                write!(f, "clients that exclude each other are inside together: {}", inside.join(", "))
            }
            Error::Replay(error) => write!(f, "{error}"),
            Error::Counts { counted, replayed } => {
                write!(f, "the nodes counted {counted}, the replay {replayed}")
            }
        }
    }
}

impl Error {
    /// The node that the error is about, if it is about one.
    pub fn node(&self) -> Option<NodeId> {
        match self {
            Error::NotConnected(node)
            | Error::NoAnswer(node)
            | Error::OtherAnswer(node)
            | Error::Gone(node, _)
            | Error::Failed(node, _)
            | Error::TimedOut(node)
            | Error::ReportTooLong(node)
            | Error::Report(node, _) => Some(*node),
            _ => None,
        }
    }
}

impl std::error::Error for Error {}
