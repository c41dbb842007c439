//! The links of one incarnation to the peers of its view, and what the node knows of the world through them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use service::member::{ControlPlane, Environment};
use service::session_key::KEY_BYTES;
use service::view::{View, ViewMember};
use service::{Identity, SessionKey};
use tokio::sync::mpsc;

use crate::control_calls;
use crate::host::{Door, Shared};
use transport::link::Limits;
use transport::peers::callers::Call;
use transport::peers::{Peers, ReactorOf};

/// So many calls of peers wait to be greeted.
const CALLS: usize = 64;
/// What a link keeps for a peer that does not acknowledge: more than all clients that are there already can cause.
const LIMITS: Limits = Limits { payloads: 1 << 24, bytes: 1 << 32 };

/// The links of one incarnation.
pub(crate) struct Links {
    pub(crate) peers: Peers,
    /// Connections of peers, from the port that they share with others.
    pub(crate) calls: mpsc::Sender<Call>,
}

impl Links {
    /// Links to no peer yet: the incarnation is in no view.
    pub(crate) fn start(shared: &Arc<Shared>, me: Identity) -> Result<Links, transport::StartError> {
        let (calls, called) = mpsc::channel(CALLS);
        let alone = View { epoch: 0, members: vec![ViewMember::new(me, &shared.address)] };
        let encryption = shared.encryption.clone();
        let config =
            transport::Config { limits: LIMITS, encryption, ..transport::Config::new(&shared.cluster, me) };
        let door = Arc::new(Door { shared: shared.clone(), me });
        let reactor = ReactorOf::Node(shared.reactor.clone());
        // An embedded client may be what starts this, on a thread of its own.
        let _inside = shared.runtime.enter();
        let peers = Peers::start_on(reactor, config, alone.into(), called.into(), door)?;
        Ok(Links { peers, calls })
    }

    /// Drops all links, and begins with those of the next incarnation.
    pub(crate) fn restart(&mut self, shared: &Arc<Shared>, me: Identity) {
        let links = Links::start(shared, me).expect("a node that has started can start again");
        let before = std::mem::replace(self, links);
        shared.runtime.spawn(async move { before.peers.stop().await });
    }
}

/// What the node knows at this moment.
pub(crate) struct Around<'a> {
    pub(crate) peers: &'a Peers,
    pub(crate) shared: &'a Shared,
}

impl Environment for Around<'_> {
    fn unreachable(&self) -> BTreeMap<u32, Duration> {
        self.peers.unreachable()
    }

    fn waiting_for(&self, peer: u32) -> usize {
        self.peers.kept(peer)
    }

    fn control_plane(&self) -> ControlPlane {
        let (control, voters_there) = (&self.shared.control, self.shared.voters());
        // A leader without a majority does not lead.
        let leader = control.leader().filter(|_| voters_there.majority);
        ControlPlane { leader, voters: control.voters(), nodes: control.nodes(), voters_there }
    }

    fn session_key(&self) -> SessionKey {
        let mut bytes = [0; KEY_BYTES];
        // A key that could be guessed would be worse than no node.
        getrandom::getrandom(&mut bytes).expect("the operating system has random bytes");
        SessionKey::new(bytes)
    }

    fn unix_seconds(&self) -> u64 {
        control_calls::unix_seconds()
    }

    fn certificate_left(&self) -> Option<Duration> {
        let credentials = self.shared.encryption.credentials()?;
        Some(credentials.expires().at.duration_since(SystemTime::now()).unwrap_or_default())
    }
}
