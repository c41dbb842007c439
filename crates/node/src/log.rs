//! What a node logs: events of `tracing`, for the surrounding program to write or to drop.
//!
//! Nothing is logged while the member is locked: its notes are kept, and logged when the member is free
//! again. What strangers cause is limited.

use std::fmt::Display;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use control::RefusedCall;
use service::auth::AuditEntry;
use service::member::Note;
use sync::IgnorePoison;
use tracing::{debug, error, info, warn};

use crate::host::Shared;
use crate::limiter::Limiter;
use transport::peers::{Notice, Trouble};
use transport::wire::HelloRefusal;

/// This much of a stranger's text is shown.
const MOST_LETTERS: usize = 200;

/// What a node logs, and how much of it.
#[derive(Default)]
pub(crate) struct Log {
    node: u32,
    /// Whether there are any notes: looked at after every input.
    any: AtomicBool,
    notes: Mutex<Vec<Note>>,
    callers: Limiter,
    questions: Limiter,
    greetings: Limiter,
    no_connections: Limiter,
    not_accepted: Limiter,
    refusals: Limiter,
}

impl Log {
    pub(crate) fn new(node: u32) -> Log {
        Log { node, ..Log::default() }
    }

    /// Keeps a note of the member, which is locked.
    pub(crate) fn keep(&self, note: Note) {
        self.notes.lock().ignore_poison().push(note);
        self.any.store(true, Ordering::Release);
    }

    /// Logs what became of a connection to a peer, or of a caller.
    pub(crate) fn notice(&self, notice: &Notice) {
        let (node, now) = (self.node, Instant::now());
        match notice {
            Notice::TurnedAway { address, why, .. } => {
                if self.callers.allows(now) {
                    let shown = shown(why);
                    // A peer that has heard of a view before this node has; or after: it belongs to the cluster, and calls again.
                    if matches!(why, Trouble::Refused(HelloRefusal::NotAMember { .. })) {
                        info!(target: "node", node, %address, "connection from {address} rejected: {shown}");
                    } else {
                        warn!(target: "node", node, %address, "connection from {address} rejected: {shown}");
                    }
                }
            }
            Notice::CannotAccept { .. } => {
                if self.not_accepted.allows(now) {
                    warn!(target: "node", node, "{notice}");
                }
            }
            Notice::NoConnection { peer, .. } => {
                if self.no_connections.allows(now) {
                    info!(target: "node", node, peer = peer.id, "{}", shown(notice));
                }
            }
            Notice::Connected { peer, .. } | Notice::LaterView { peer, .. } => {
                info!(target: "node", node, peer = peer.id, "{notice}");
            }
            Notice::LetIn { address, peer } => {
                debug!(target: "node", node, %address, peer = peer.id, "{notice}");
            }
            Notice::Disconnected { peer, .. } => {
                warn!(target: "node", node, peer = peer.id, "{}", shown(notice));
            }
        }
    }

    /// The control plane refused a caller, or a question of one.
    pub(crate) fn refused(&self, address: SocketAddr, refused: &RefusedCall) {
        let (node, now) = (self.node, Instant::now());
        match refused {
            RefusedCall::Question { .. } => {
                if self.questions.allows(now) {
                    let why = shown(refused);
                    warn!(target: "node", node, %address, "request from {address} refused: {why}");
                }
            }
            RefusedCall::NoGreeting(_) | RefusedCall::Caller { .. } | RefusedCall::Frame { .. } => {
                if self.callers.allows(now) {
                    let why = shown(refused);
                    warn!(target: "node", node, %address, "connection from {address} rejected: {why}");
                }
            }
        }
    }

    /// A caller at the port for clients did not greet as a client does.
    pub(crate) fn bad_greeting(&self, address: Option<SocketAddr>, why: &dyn Display) {
        if self.greetings.allows(Instant::now()) {
            let address = address.map_or("an unknown address".to_owned(), |address| address.to_string());
            let why = shown(why);
            warn!(target: "node", node = self.node, address, "no client greeting from {address}: {why}");
        }
    }

    /// How many lines were left out since the node started.
    pub(crate) fn left_out(&self) -> u64 {
        let Log { callers, questions, greetings, no_connections, not_accepted, refusals, .. } = self;
        let limiters = [callers, questions, greetings, no_connections, not_accepted, refusals];
        limiters.into_iter().map(Limiter::left_out_ever).sum()
    }

    /// Logs how many lines were left out.
    fn say_left_out(&self, now: Instant) {
        for (limiter, what) in [
            (&self.callers, "rejected connections"),
            (&self.questions, "refused requests to the control plane"),
            (&self.greetings, "connections without a client greeting"),
            (&self.no_connections, "failed connections to peers"),
            (&self.not_accepted, "failures to accept connections"),
        ] {
            if let Some(left_out) = limiter.left_out(now) {
                warn!(target: "node", node = self.node, left_out, "lines left out: {left_out} {what}");
            }
        }
    }
}

/// Logs the notes of the member, now that it is free.
pub(crate) fn say_notes(shared: &Shared) {
    let log = &shared.log;
    if log.any.load(Ordering::Relaxed) && log.any.swap(false, Ordering::Acquire) {
        let notes = std::mem::take(&mut *log.notes.lock().ignore_poison());
        notes.into_iter().for_each(|note| say(shared, note));
    }
}

/// Logs now and then how many lines were left out, also when nothing follows.
pub(crate) async fn keep_counting(shared: Arc<Shared>) {
    loop {
        tokio::time::sleep(Duration::from_secs(1)).await;
        shared.log.say_left_out(Instant::now());
    }
}

fn say(shared: &Shared, note: Note) {
    let node = shared.id;
    match note {
        Note::Entered { epoch, members } => {
            let members: Vec<String> = members.iter().map(u32::to_string).collect();
            info!(target: "node", node, epoch, "view {epoch} with nodes {}", members.join(", "));
        }
        Note::Excluded { while_leased: true } => error!(
            target: "node",
            node,
            "ALARM: excluded before the lease ran out on this node's clock: clocks drift more than allowed"
        ),
        Note::Excluded { while_leased: false } => {
            warn!(target: "node", node, "excluded from the view: starting a new incarnation");
        }
        Note::NoLease { lasts, refused } => {
            warn!(target: "node", node, "{}", no_lease(shared, lasts, refused));
        }
        Note::ForceReleased(released) => info!(
            target: "audit",
            node,
            name = &*released.name,
            slot = released.grant.slot,
            fence = released.grant.fence,
            by = &*released.by,
            at_once = released.at_once,
            "{released}"
        ),
        Note::Audit(entry) => say_audit(shared, &entry),
        Note::Breach { peer, why } => {
            let why = shown(&why);
            error!(target: "node", node, peer, "node {peer} broke the protocol and was disconnected: {why}");
        }
    }
}

/// Who did what. Strangers cause refusals, so those are limited; the node's history counts them all.
fn say_audit(shared: &Shared, entry: &AuditEntry) {
    let (node, allowed) = (shared.id, entry.allowed);
    let (principal, address, what) = (&*entry.principal, &*entry.address, &*entry.what);
    let (name, text) = (shown(&entry.name), shown(entry));
    if allowed {
        info!(target: "audit", node, principal, address, what, name, allowed, "{text}");
    } else if shared.log.refusals.allows(Instant::now()) {
        warn!(target: "audit", node, principal, address, what, name, allowed, "{text}");
    }
}

/// Why this node has no lease, as far as it knows.
fn no_lease(shared: &Shared, lasts: Duration, refused: Option<String>) -> String {
    let why = match (refused, shared.voters().waiting(), shared.control.leader()) {
        (Some(refused), None, _) => refused,
        (Some(refused), Some(waiting), _) => format!("{waiting}; the leader said last: {refused}"),
        (None, Some(waiting), _) => waiting,
        (None, None, Some(leader)) => {
            format!("node {leader} is the leader, and has not admitted this node yet")
        }
        (None, None, None) => "no node of the cluster has called this one yet".to_owned(),
    };
    format!("no lease for {} s, so this node grants nothing: {why}", lasts.as_secs())
}

/// What a stranger may have caused: no longer than a line, and nothing that a terminal would obey.
fn shown(text: &(impl Display + ?Sized)) -> String {
    let text = text.to_string();
    let mut shown: String = text.chars().take(MOST_LETTERS).flat_map(printable).collect();
    if text.chars().nth(MOST_LETTERS).is_some() {
        shown.push('…');
    }
    shown
}

fn printable(letter: char) -> impl Iterator<Item = char> {
    let (as_is, escaped) =
        if letter.is_control() { (None, Some(letter.escape_default())) } else { (Some(letter), None) };
    as_is.into_iter().chain(escaped.into_iter().flatten())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_strangers_say_is_short_and_harmless() {
        assert_eq!(shown("a\u{1b}[2J\nb"), "a\\u{1b}[2J\\nb");
        let long = shown(&"\u{9b}".repeat(100_000));
        assert!(long.len() < 2000 && !long.contains('\u{9b}'), "{long}");
    }
}
