//! Which addresses others can reach: a node that tells other machines to call 127.0.0.1 sends them to themselves.

use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr};

/// An address that a node cannot tell the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreachable {
    /// The address.
    pub address: String,
    /// For whom it is.
    pub whose: Whose,
    /// A node on another machine, and its address; `None` if no process at all can connect to the address.
    pub other: Option<(u32, String)>,
}

/// For whom an address is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// Where peers reach this node.
    Peers,
    /// Where clients reach this node.
    Clients,
    /// Where this node is to reach another member.
    Member(u32),
}

impl fmt::Display for Unreachable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Unreachable { address, whose, other } = self;
        let (who, what) = match whose {
            Whose::Peers => ("other nodes would be told to reach this one", "--reached-at HOST:PORT"),
            Whose::Clients => ("clients would be told to reach this node", "--advertise HOST:PORT"),
            Whose::Member(_) => ("a member is listed", ""),
        };
        match other {
            Some((node, at)) => write!(
                f,
                "{who} at {address}, which only processes on the same machine can use, but node {node} is on another \
                 one ({at}): "
            )?,
            None => {
                write!(f, "{who} at {address}, which stands for every address and is none to connect to: ")?;
            }
        }
        match whose {
            Whose::Member(id) => {
                write!(f, "name the address at which the others reach it, with --member {id}=HOST:PORT")
            }
            _ => write!(f, "add {what} with an address of this machine that the others reach"),
        }
    }
}

impl std::error::Error for Unreachable {}

/// The host of an address `host:port`, without brackets.
pub fn host(address: &str) -> &str {
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
}

/// Whether only processes on the same machine reach this address. A name is taken for another machine, unless it is `localhost`.
pub fn is_loopback(address: &str) -> bool {
    let host = host(address);
    host.eq_ignore_ascii_case("localhost") || ip(host).is_some_and(|ip| ip.is_loopback())
}

/// Whether this address stands for every address of a machine.
pub fn is_unspecified(address: &str) -> bool {
    ip(host(address)).is_some_and(|ip| ip.is_unspecified())
}

fn ip(host: &str) -> Option<IpAddr> {
    let ip: IpAddr = host.parse().ok()?;
    // ::ffff:127.0.0.1 is 127.0.0.1.
    let mapped: Option<Ipv4Addr> = match ip {
        IpAddr::V6(ip) => ip.to_ipv4_mapped(),
        IpAddr::V4(_) => None,
    };
    Some(mapped.map_or(ip, IpAddr::V4))
}

/// Refuses addresses that the others cannot use. `nodes` are all nodes that are known, with their addresses for peers.
pub fn check(id: u32, peers: &str, clients: &str, nodes: &BTreeMap<u32, String>) -> Result<(), Unreachable> {
    let others = || nodes.iter().filter(|(node, _)| **node != id);
    let mine = [(Whose::Peers, peers), (Whose::Clients, clients)];
    let listed = others().map(|(node, at)| (Whose::Member(*node), &**at));
    let refused =
        |whose, address: &str, other| Err(Unreachable { address: address.to_owned(), whose, other });
    for (whose, address) in mine.into_iter().chain(listed) {
        if is_unspecified(address) {
            return refused(whose, address, None);
        }
        if !is_loopback(address) {
            continue;
        }
        let far = |(node, at): &(&u32, &String)| {
            !is_loopback(at) && !is_unspecified(at) && whose != Whose::Member(**node)
        };
        let other = others().find(far).map(|(node, at)| (*node, at.clone()));
        // A member at loopback is no member for a node that is elsewhere.
        let me = matches!(whose, Whose::Member(_)) && !is_loopback(peers) && !is_unspecified(peers);
        if let Some(other) = other.or(me.then(|| (id, peers.to_owned()))) {
            return refused(whose, address, Some(other));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nodes(list: &[(u32, &str)]) -> BTreeMap<u32, String> {
        list.iter().map(|(id, at)| (*id, (*at).to_owned())).collect()
    }

    #[test]
    fn addresses_that_others_cannot_use_are_refused() {
        let far = nodes(&[(0, "10.0.0.1:7700"), (1, "10.0.0.2:7700")]);
        let near = nodes(&[(0, "127.0.0.1:7700"), (1, "[::1]:7701"), (2, "localhost:7702")]);
        let mixed = nodes(&[(0, "10.0.0.1:7700"), (1, "127.0.0.1:7700")]);
        let whose =
            |peers, clients, nodes| check(0, peers, clients, nodes).err().map(|refused| refused.whose);
        for (peers, clients, nodes, expected) in [
            ("10.0.0.1:7700", "10.0.0.1:7710", &far, None),
            ("one.example.org:7700", "one.example.org:7710", &far, None),
            ("127.0.0.1:7700", "127.0.0.1:7710", &near, None),
            ("127.0.0.1:7700", "127.0.0.1:7710", &far, Some(Whose::Peers)),
            ("10.0.0.1:7700", "127.0.0.1:7710", &far, Some(Whose::Clients)),
            ("10.0.0.1:7700", "[::1]:7710", &far, Some(Whose::Clients)),
            ("10.0.0.1:7700", "[::ffff:127.0.0.1]:7710", &far, Some(Whose::Clients)),
            ("10.0.0.1:7700", "localhost:7710", &far, Some(Whose::Clients)),
            ("10.0.0.1:7700", "0.0.0.0:7710", &far, Some(Whose::Clients)),
            ("0.0.0.0:7700", "10.0.0.1:7710", &far, Some(Whose::Peers)),
            ("127.0.0.1:7700", "[::]:7710", &near, Some(Whose::Clients)),
            ("10.0.0.1:7700", "10.0.0.1:7710", &mixed, Some(Whose::Member(1))),
        ] {
            assert_eq!(whose(peers, clients, nodes), expected, "{peers} {clients}");
        }
        let why = check(0, "10.0.0.1:7700", "127.0.0.1:7710", &far).unwrap_err().to_string();
        assert!(
            why.contains("node 1 is on another one (10.0.0.2:7700)") && why.contains("--advertise"),
            "{why}"
        );
        let why = check(0, "10.0.0.1:7700", "10.0.0.1:7710", &mixed).unwrap_err().to_string();
        assert!(why.contains("--member 1=HOST:PORT"), "{why}");
    }
}
