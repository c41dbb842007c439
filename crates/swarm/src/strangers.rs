//! Strangers that guess the numbers of sessions: without the key of a session they change nothing, and learn nothing. Nor do they
//! if they say that they speak for another caller.

use std::net::{Ipv4Addr, SocketAddr};

use service::auth::{Vouched, VouchedShown};
use service::core::Timeout;
use service::member::ConnectionId;
use service::protocol::{Order, ToClient, ToNode};
use service::{Acquire, Defect, Definition, Refusal, SessionHandle, SessionId, SessionKey, Want};

use crate::run::Run;

/// A stranger tries this many numbers over one connection.
const GUESSES: u64 = 20;
/// The numbers of sessions and requests are counted from 1, so low ones are likely to be in use.
const HIGHEST_GUESS: u64 = 40;

impl Run {
    /// A stranger connects to a node, which greets it with its id and incarnation, and guesses the rest.
    pub(crate) fn guess(&mut self) {
        let Some((node, connection)) = self.operator() else { return };
        let Some(identity) = self.processes[node].member.as_ref().map(|member| member.identity()) else {
            return;
        };
        // Answers to operators that came too late for them.
        self.told.clear();
        for _ in 0..GUESSES {
            let number = 1 + self.below(HIGHEST_GUESS);
            let id = SessionId { node: identity.id, incarnation: identity.incarnation, number };
            let said = self.guessed(SessionHandle { id, key: SessionKey::new([0; 16]) });
            let told = self.order(node, connection, said.clone());
            // Without the rule the stranger does harm, which the judge of grants has to find by itself.
            let judged = self.plan.defect != Some(Defect::KeyNotChecked);
            if let Some(hint) = told.iter().find(|frame| judged && !is_as_for_unknown(frame)) {
                let what = format!("node {node} answers a stranger that says {said:?}: {hint:?}");
                self.outcome.violations.push(what);
            }
        }
        self.speak_for_another(node, connection);
        self.hung_up(node, self.processes[node].started, connection);
    }

    /// Only nodes can. Without security that shows in what is told: a stranger could revoke the grant in its own name.
    fn speak_for_another(&mut self, node: usize, connection: ConnectionId) {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 1));
        let order = Order::ForceReleaseFor {
            caller: Vouched { address, shown: VouchedShown::Nothing },
            name: "name 0".into(),
            slot: 0,
            fence: 0,
            at_once: true,
        };
        let told = self.order(node, connection, ToNode::Order { number: 1, order });
        let is_refusal = |frame: &ToClient| {
            matches!(frame, ToClient::OrderResult { result: Err(Refusal::NotAllowed(_)), .. })
        };
        if let Some(told) = told.iter().find(|frame| !is_refusal(frame)) {
            let what = format!("node {node} lets a stranger speak for another caller: {told:?}");
            self.outcome.violations.push(what);
        }
    }

    fn guessed(&mut self, session: SessionHandle) -> ToNode {
        let request = 1 + self.below(HIGHEST_GUESS);
        match self.below(12) {
            0 => ToNode::KeepAlive { session, sequence: request, settled: request },
            1 => ToNode::Cancel { session, request },
            2 => ToNode::Release { session, request, fence: 0 },
            3 => {
                let (name, definition) = ("name 0".into(), Definition::MUTEX);
                let ask = Acquire { request, name, definition, want: Want::Slot, timeout: Timeout::Try };
                ToNode::Acquire { session, ask }
            }
            _ => ToNode::Close { session },
        }
    }
}

/// Whether a node says this about a session that does not exist.
fn is_as_for_unknown(told: &ToClient) -> bool {
    match told {
        ToClient::SessionGone { .. } => true,
        ToClient::NotReleased { refusal, .. } => *refusal == Refusal::NoSuchSession,
        _ => false,
    }
}
