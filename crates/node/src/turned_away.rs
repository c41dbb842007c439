//! Callers that a port turned away: what the log and the audit have of them.
//!
//! Each way from a port leads through here. A caller that hung up by itself was refused nothing, and one that had to make room
//! may call again, as may a node of the cluster that is in another view: these are only in the log.

use std::fmt::Display;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use control::RefusedCall;
use security::{Holder, Identity};
use service::auth::TurnedAway;
use transport::FailedHandshake;
use transport::peers::{Notice, Trouble};
use transport::wire::HelloRefusal;

use crate::host::{Host, Shared};

const TO_CLIENTS: &str = "connection to the port for clients";
const TO_HTTP: &str = "connection to the HTTP door";
const TO_PEERS: &str = "connection to the port for peers";
const TO_CONSENSUS: &str = "call of consensus";

impl Host {
    /// A handshake at another door of the node failed, with a certificate that says this.
    pub fn http_handshake_failed(&self, address: SocketAddr, claims: Option<&Identity>, why: &io::Error) {
        if !hung_up(why.kind()) {
            self.shared().audit_caller((TO_HTTP, address.to_string()), None, claims, why);
        }
    }
}

impl Shared {
    /// A client said something that none of ours says, and has shown this certificate.
    pub(crate) fn client_turned_away(
        self: &Arc<Shared>,
        address: String,
        caller: Option<&Identity>,
        why: &dyn Display,
    ) {
        self.audit_caller((TO_CLIENTS, address), caller.map(principal), None, why);
    }

    /// A handshake with a client failed.
    pub(crate) fn client_handshake_failed(self: &Arc<Shared>, address: Option<SocketAddr>, why: &io::Error) {
        self.log.bad_greeting(address, why);
        if !hung_up(why.kind()) {
            let address = address.map_or_else(String::new, |address| address.to_string());
            let claims = FailedHandshake::of(why).and_then(|failed| failed.claims.as_ref());
            self.audit_caller((TO_CLIENTS, address), None, claims, why);
        }
    }

    /// Something happened to a connection between nodes, or to a caller that wanted one.
    pub(crate) fn heed(self: &Arc<Shared>, notice: &Notice) {
        self.log.notice(notice);
        if let Notice::Connected { resent, .. } = notice {
            self.links_made.fetch_add(1, Ordering::Relaxed);
            self.resent.fetch_add(*resent as u64, Ordering::Relaxed);
        }
        let Notice::TurnedAway { address, caller, why } = notice else { return };
        let claims = match why {
            Trouble::Closed | Trouble::Evicted | Trouble::Crowded => return,
            Trouble::Io(kind, _) if hung_up(*kind) => return,
            // It has heard of a view before this node has, or after: it calls again.
            Trouble::Refused(HelloRefusal::NotAMember { caller, .. }) if self.belongs(caller.id) => return,
            Trouble::Handshake(failed) => failed.claims.as_ref(),
            _ => None,
        };
        let principal = caller.map(|id| format!("node/{id}"));
        self.audit_caller((TO_PEERS, address.to_string()), principal, claims, why);
    }

    fn belongs(&self, node: u32) -> bool {
        self.control.nodes().contains_key(&node)
    }

    /// Consensus refused a caller, or a question of one.
    pub(crate) fn call_refused(
        self: &Arc<Shared>,
        address: SocketAddr,
        caller: Option<u32>,
        refused: &RefusedCall,
    ) {
        self.log.refused(address, refused);
        if matches!(refused, RefusedCall::NoGreeting(error) if hung_up(error.kind())) {
            return;
        }
        let principal = caller.map(|id| format!("node/{id}"));
        self.audit_caller((TO_CONSENSUS, address.to_string()), principal, None, refused);
    }

    fn audit_caller(
        self: &Arc<Shared>,
        (what, address): (&'static str, String),
        principal: Option<String>,
        claims: Option<&Identity>,
        why: &dyn Display,
    ) {
        let (claims, why) = (claims.map(Identity::to_string), why.to_string());
        let turned_away = TurnedAway { what, address, principal, claims, why };
        self.with_member(|turn| turn.member.turned_away(turned_away, turn.environment, turn.effects));
    }
}

/// Who the holder of a certificate is to the audit.
fn principal(identity: &Identity) -> String {
    match identity.holder() {
        Holder::Node(id) => format!("node/{id}"),
        Holder::Client(name) => name.clone(),
    }
}

/// Whether the caller ended its connection by itself.
fn hung_up(kind: ErrorKind) -> bool {
    [
        ErrorKind::UnexpectedEof,
        ErrorKind::ConnectionReset,
        ErrorKind::ConnectionAborted,
        ErrorKind::BrokenPipe,
    ]
    .contains(&kind)
}
