//! Who is at the other end of a connection, after its handshake.

use std::time::SystemTime;

use rustls::CommonState;

use crate::certificate::Facts;
use crate::error::SecurityError;
use crate::fault::CertificateFault;
use crate::identity::Identity;
use crate::protocols::{CONTROL, PEERS};
use crate::verify::check_node;

/// The holder of the certificate that the other side has presented; none if it has presented none.
///
/// A resumed session has the certificate of its first handshake, and no CA or date was checked again. So the dates are
/// checked here. Where the protocol is one between nodes, only a node is returned.
pub fn caller(connection: &CommonState) -> Result<Option<Identity>, SecurityError> {
    caller_at(connection, SystemTime::now())
}

pub(crate) fn caller_at(
    connection: &CommonState,
    now: SystemTime,
) -> Result<Option<Identity>, SecurityError> {
    let is_between_nodes = matches!(connection.alpn_protocol(), Some(PEERS | CONTROL));
    let presented = connection.peer_certificates().and_then(|chain| chain.first());
    let Some(certificate) = presented else {
        return if is_between_nodes { Err(CertificateFault::Missing.into()) } else { Ok(None) };
    };
    let facts = Facts::of(certificate)?;
    facts.check_dates(now)?;
    let identity = facts.identity()?;
    if is_between_nodes {
        check_node(identity.clone())?;
    }
    Ok(Some(identity))
}
