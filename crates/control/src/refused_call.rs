//! What was refused to callers: for the log of the node.

use std::fmt;
use std::io;
use std::sync::Arc;

use service::frame::FrameError;

use crate::wire::{CallRefusal, Hello};

/// Something that was refused.
#[derive(Debug)]
pub enum RefusedCall {
    /// A caller that did not greet as nodes do, or not in time.
    NoGreeting(io::Error),
    /// A caller.
    Caller {
        /// What it said.
        hello: Hello,
        /// Why.
        why: CallRefusal,
    },
    /// A frame that makes no sense, and with it the connection.
    Frame {
        /// Which node it was, as it said itself.
        from: u32,
        /// What is wrong.
        why: FrameError,
    },
    /// A question, which was answered with why.
    Question {
        /// Which node it was, as it said itself.
        from: u32,
        /// Why.
        why: String,
    },
}

/// Called with what was refused. Must not block.
pub type OnRefusedCall = Arc<dyn Fn(RefusedCall) + Send + Sync>;

impl fmt::Display for RefusedCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RefusedCall::NoGreeting(error) => write!(f, "no greeting for the control shared: {error}"),
            RefusedCall::Caller { hello, why } => {
                let Hello { version, cluster, from, to, .. } = hello;
                write!(f, "node {from} connects to the control shared, but ")?;
                match why {
                    CallRefusal::Version { here } => {
                        write!(f, "speaks version {version}, this node version {here}")
                    }
                    CallRefusal::Cluster { here } => {
                        write!(f, "belongs to cluster '{cluster}', this node to '{here}'")
                    }
                    CallRefusal::ClusterId => f.write_str("belongs to another cluster of the same name"),
                    CallRefusal::Mistaken { here } => write!(f, "wants node {to}, this is node {here}"),
                    CallRefusal::Folder => f.write_str("this node cannot write to its data folder"),
                }
            }
            RefusedCall::Frame { from, why } => write!(f, "node {from} sent a malformed frame: {why}"),
            RefusedCall::Question { from, why } => write!(f, "node {from} asked the control shared: {why}"),
        }
    }
}
