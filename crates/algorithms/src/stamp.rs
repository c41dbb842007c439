//! Timestamps by which the permission algorithms order requests.

use crate::algorithm::NodeId;

/// The logical time and the node of a request. Older requests are smaller; the node decides between equal
/// times.
pub(crate) type Stamp = (u32, NodeId);
