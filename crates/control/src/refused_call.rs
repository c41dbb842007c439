//! What was refused to callers: for the log of the node.

use std::fmt;
use std::io;
use std::sync::Arc;

use service::frame::FrameError;

use crate::wire::{CallRefusal, Hello};

/// Something that was refused to a caller.
#[derive(Debug)]
pub enum RefusedCall {
    /// The caller did not greet as nodes do, or not in time.
    NoGreeting(io::Error),
    /// The caller itself is not accepted.
    Caller {
        /// The caller's hello.
        hello: Hello,
        /// Why the caller is not accepted.
        why: CallRefusal,
    },
    /// A frame is malformed. The connection ends with it.
    Frame {
        /// The id of the node, as it said itself.
        from: u32,
        /// What is wrong with the frame.
        why: FrameError,
    },
    /// A question was refused, and the caller was told why.
    Question {
        /// The id of the node, as it said itself.
        from: u32,
        /// Why the question was refused.
        why: String,
    },
}

/// Called with what was refused. Must not block.
pub type OnRefusedCall = Arc<dyn Fn(RefusedCall) + Send + Sync>;

impl fmt::Display for RefusedCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RefusedCall::NoGreeting(error) => write!(f, "no greeting for the control plane: {error}"),
            RefusedCall::Caller { hello, why } => {
                let Hello { version, cluster, from, to, .. } = hello;
                write!(f, "node {from} connects to the control plane, but ")?;
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
                    CallRefusal::Identity => f.write_str("its certificate is that of another"),
                    CallRefusal::NoCluster | CallRefusal::InCluster { .. } => {
                        f.write_str("belongs to no cluster yet")
                    }
                }
            }
            RefusedCall::Frame { from, why } => write!(f, "node {from} sent a malformed frame: {why}"),
            RefusedCall::Question { from, why } => write!(f, "node {from} asked the control plane: {why}"),
        }
    }
}
