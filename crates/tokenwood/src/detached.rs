//! Grants that outlive the program that took them, for scripts: a handle that can be printed and read again.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use service::client::promised_until;
use service::protocol::{ToClient, ToNode};
use service::{Refusal, Reply, RequestOutcome, SessionHandle, SessionId};

use crate::access::Access;
use crate::admin::Admin;
use crate::error::Error;
use transport::clock;

/// A grant that is held without a program that keeps it alive; [`Guard::detach`](crate::Guard::detach) makes
/// one.
///
/// **What to know about time.** No program watches over it. It is held for as long as [`Detached::renew`]
/// says, and its user has to have stopped by then. That time is counted from before the node was asked, on
/// the clock of this machine. It holds as long as the node that keeps the grant runs: if that node dies or is
/// stopped, another client is granted the slot about a lease later, and a script cannot be told. Where that
/// matters, let the protected resource check fences ([`crate::fence::Gate`]), or let a program hold the lock
/// itself and learn of its loss ([`crate::Guard::lost`]).
///
/// As text it is `node.incarnation.session.request.fence.key@host:port`, which shells leave as it is. **The text is a secret**:
/// a program that has it can renew and release the grant. `Debug` does not show the key.
///
/// ```
/// let text = "0.17.5.1.1099511627777.000102030405060708090a0b0c0d0e0f@127.0.0.1:7710";
/// let grant: tokenwood::Detached = text.parse().unwrap();
/// assert_eq!(grant.fence(), 1_099_511_627_777);
/// assert_eq!(grant.to_string(), text);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Detached {
    pub(crate) endpoint: String,
    pub(crate) session: SessionHandle,
    pub(crate) request: u64,
    pub(crate) fence: u64,
}

impl Detached {
    /// What was granted to this request of a session, at the node with this endpoint.
    pub fn new(endpoint: &str, session: SessionHandle, request: u64, fence: u64) -> Detached {
        Detached { endpoint: endpoint.to_string(), session, request, fence }
    }

    /// The session that holds it.
    pub fn session(&self) -> SessionHandle {
        self.session
    }

    /// The number of the request that was granted, in its session.
    pub fn request(&self) -> u64 {
        self.request
    }

    /// The fence of the grant.
    pub fn fence(&self) -> u64 {
        self.fence
    }

    /// The node that keeps it.
    pub fn endpoint(&self) -> &str {
        &self.endpoint
    }

    /// Prolongs it by the time to live of its session. Returns for how long it is held from now on.
    pub async fn renew(&self, access: &Access) -> Result<Duration, Error> {
        let mut admin = Admin::connect_to(self.session.id.node, &self.endpoint, access).await?;
        let sent = clock::now();
        let lasts = self.keep_alive(&mut admin).await?;
        Ok(promised_until(sent, lasts) - clock::now())
    }

    /// Releases it and ends its session; comes back when the node has done so.
    pub async fn release(&self, access: &Access) -> Result<(), Error> {
        let Detached { session, request, fence, .. } = *self;
        let mut admin = Admin::connect_to(self.session.id.node, &self.endpoint, access).await?;
        self.have_heard(&mut admin, ToNode::Release { session, request, fence }).await?;
        self.have_heard(&mut admin, ToNode::Close { session }).await
    }

    /// Says something, and waits until the node has heard it. The node says nothing to a release that it accepts, and a node that
    /// leaves answers no keep-alive; but it refuses to release a request that never was, and says so in the order of what it
    /// heard.
    async fn have_heard(&self, admin: &mut Admin, frame: ToNode) -> Result<(), Error> {
        const NEVER_WAS: u64 = u64::MAX;
        let refused = ToNode::Release { session: self.session, request: NEVER_WAS, fence: 0 };
        admin.say(&[frame, refused]).await?;
        loop {
            match admin.answer().await? {
                ToClient::NotReleased { session, request, .. }
                    if (session, request) == (self.session.id, NEVER_WAS) =>
                {
                    return Ok(());
                }
                ToClient::NotReleased { session, refusal, .. } if session == self.session.id => {
                    return Err(Error::Refused(refusal));
                }
                _ => {}
            }
        }
    }

    /// Keeps its session alive. Returns for how long, in nanoseconds.
    async fn keep_alive(&self, admin: &mut Admin) -> Result<u64, Error> {
        const SEQUENCE: u64 = 1;
        admin.say(&[ToNode::KeepAlive { session: self.session, sequence: SEQUENCE, settled: 0 }]).await?;
        loop {
            match admin.answer().await? {
                ToClient::Promise { session, promise }
                    if session == self.session.id && promise.sequence == SEQUENCE =>
                {
                    return Ok(promise.kept);
                }
                ToClient::NotKept { session, refusal } if session == self.session.id => {
                    return Err(Error::Refused(refusal));
                }
                ToClient::SessionGone { session } if session == self.session.id => {
                    return Err(Error::Refused(Refusal::NoSuchSession));
                }
                ToClient::Reply(Reply { session, request, outcome: RequestOutcome::Revoked })
                    if (session, request) == (self.session.id, self.request) =>
                {
                    return Err(Error::Refused(Refusal::ForceReleased));
                }
                _ => {}
            }
        }
    }
}

impl fmt::Display for Detached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Detached { endpoint, session: SessionHandle { id, key }, request, fence } = self;
        let SessionId { node, incarnation, number } = id;
        // The brackets of an address like [::1]:7710 mean something to shells; it can be read without them.
        let endpoint = endpoint.replace(['[', ']'], "");
        write!(f, "{node}.{incarnation}.{number}.{request}.{fence}.{}@{endpoint}", key.to_text())
    }
}

/// A text that is not a grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotAGrant;

impl fmt::Display for NotAGrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Not the text itself: with one letter too many it is as good as a grant, and errors end up in logs.
        f.write_str("this is not a grant: pass what 'tokenwood acquire' printed")
    }
}

impl std::error::Error for NotAGrant {}

impl FromStr for Detached {
    type Err = NotAGrant;

    fn from_str(text: &str) -> Result<Detached, NotAGrant> {
        let wrong = || NotAGrant;
        let (numbers, endpoint) = text.split_once('@').ok_or_else(wrong)?;
        let (numbers, key) = numbers.rsplit_once('.').ok_or_else(wrong)?;
        let key = key.parse().map_err(|_| wrong())?;
        let numbers: Result<Vec<u64>, _> = numbers.split('.').map(str::parse).collect();
        let [node, incarnation, number, request, fence] = numbers.map_err(|_| wrong())?[..] else {
            return Err(wrong());
        };
        let node = u32::try_from(node).map_err(|_| wrong())?;
        let (host, port) = endpoint.rsplit_once(':').ok_or_else(wrong)?;
        let port: u16 = port.parse().map_err(|_| wrong())?;
        if host.is_empty() {
            return Err(wrong());
        }
        let endpoint = if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") };
        let session = SessionHandle { id: SessionId { node, incarnation, number }, key };
        Ok(Detached { endpoint, session, request, fence })
    }
}

#[cfg(test)]
mod tests {
    use service::SessionKey;

    use super::*;

    const KEY: &str = "000102030405060708090a0b0c0d0e0f";

    #[test]
    fn what_is_printed_can_be_read_again_and_survives_shells() {
        let id = SessionId { node: 2, incarnation: u64::MAX, number: 5 };
        let session = SessionHandle { id, key: SessionKey::new([0xa5; 16]) };
        for endpoint in ["127.0.0.1:7710", "[::1]:7710", "node-3.example.org:80"] {
            let grant = Detached { endpoint: endpoint.to_string(), session, request: 1, fence: 1 << 40 };
            let text = grant.to_string();
            assert!(text.chars().all(|letter| letter.is_alphanumeric() || ".:@-".contains(letter)), "{text}");
            assert!(text.contains(&"a5".repeat(16)) && !format!("{grant:?}").contains("a5a5"), "{grant:?}");
            assert_eq!(text.parse(), Ok(grant));
        }
    }

    #[test]
    fn what_is_no_grant_is_refused() {
        for text in [
            "",
            "x",
            "1.2.3.4.5.KEY",
            "1.2.3.4.KEY@a:1",
            "1.2.3.4.5@a:1",
            "1.2.3.4.5.KEY@a",
            "1.2.3.4.5.KEY@:1",
            "1.2.3.4.-5.KEY@a:1",
            "1.2.3.4.5.KEY@a:b",
            "1.2.3.4.5.0KEY@a:1",
        ] {
            let text = text.replace("KEY", KEY);
            assert_eq!(text.parse::<Detached>(), Err(NotAGrant));
        }
    }
}
