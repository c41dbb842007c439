//! Where a node listens and is reached: as it was told, as it was before, or as the cluster suggests.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs, UdpSocket};

use anyhow::Result;
use node::reach;

use crate::daemon::node_file::{Address, NodeFile};
use crate::locks::endpoints::PORT;

/// The port for peers, where none is named.
const PEER_PORT: u16 = 7700;

/// Where a node listens and is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Addresses {
    pub(crate) listen: Address,
    pub(crate) reached_at: Address,
    pub(crate) clients: Address,
    pub(crate) advertise: Option<Address>,
}

/// What is said about addresses, by flags, the environment or a file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Said {
    pub(crate) listen: Option<Address>,
    pub(crate) reached_at: Option<Address>,
    pub(crate) clients: Option<Address>,
    pub(crate) advertise: Option<Address>,
}

impl Said {
    /// What this leaves open, as that says.
    pub(crate) fn or(self, other: Said) -> Said {
        Said {
            listen: self.listen.or(other.listen),
            reached_at: self.reached_at.or(other.reached_at),
            clients: self.clients.or(other.clients),
            advertise: self.advertise.or(other.advertise),
        }
    }

    /// The same of a file.
    pub(crate) fn of(file: &NodeFile) -> Said {
        Said {
            listen: file.listen.clone(),
            reached_at: file.reached_at.clone(),
            clients: file.clients.clone(),
            advertise: file.advertise.clone(),
        }
    }
}

/// Chooses the addresses. `mine` is the address of this member in the list of members; `others` are the other members, or the
/// nodes that an invitation names. What others are told is kept only together with where the node listens: a new port has a new
/// address.
pub(crate) fn choose(
    said: Said,
    kept: Said,
    mine: Option<&Address>,
    others: &BTreeMap<u32, String>,
) -> Result<Addresses> {
    let far = others.values().find(|address| !leads_here(address));
    let here = far.and_then(|far| source(far)).map_or("127.0.0.1".to_string(), |here| bracketed(&here));
    let usual = || at(&here, PEER_PORT);
    let mine_here = mine.map(|mine| {
        // Many machines have their own name for 127.0.1.1: the others cannot reach that.
        let every = far.is_some() && leads_here(&mine.to_string()) && !reach::is_loopback(&mine.to_string());
        if every { at("0.0.0.0", mine.port()) } else { Ok(mine.clone()) }
    });
    let listen = match said.listen.or(mine_here.transpose()?).or(kept.listen.clone()) {
        Some(listen) => listen,
        None => usual()?,
    };
    let kept_reached_at = kept.reached_at.filter(|_| kept.listen.as_ref() == Some(&listen));
    let reached_at = match said.reached_at.or(mine.cloned()).or(kept_reached_at) {
        Some(reached_at) => reached_at,
        // Every address of this machine: the one that leads to the cluster.
        None if reach::is_unspecified(&listen.to_string()) && !others.is_empty() => at(&here, listen.port())?,
        None => listen.clone(),
    };
    let clients = match said.clients.or(kept.clients.clone()) {
        Some(clients) => clients,
        None if reach::is_loopback(&reached_at.to_string()) => at("127.0.0.1", PORT)?,
        // Commands on this machine reach it at 127.0.0.1, the others where it is advertised.
        None if reached_at.host().starts_with('[') => at("[::]", PORT)?,
        None => at("0.0.0.0", PORT)?,
    };
    let kept_advertise = kept.advertise.filter(|_| kept.clients.as_ref() == Some(&clients));
    Ok(Addresses { listen, reached_at, clients, advertise: said.advertise.or(kept_advertise) })
}

impl Addresses {
    /// With the ports that the operating system chose where 0 was named, for the next start to find them again.
    pub(crate) fn with_ports(self, for_peers: SocketAddr, for_clients: SocketAddr) -> Result<Addresses> {
        let chosen =
            |address: Address, port| if address.port() == 0 { at(address.host(), port) } else { Ok(address) };
        Ok(Addresses {
            listen: chosen(self.listen, for_peers.port())?,
            reached_at: chosen(self.reached_at, for_peers.port())?,
            clients: chosen(self.clients, for_clients.port())?,
            advertise: self.advertise,
        })
    }

    /// The address that clients are told: a wildcard address is none that they could use.
    pub(crate) fn advertised(&self) -> String {
        match &self.advertise {
            Some(advertise) => advertise.to_string(),
            None if reach::is_unspecified(&self.clients.to_string()) => {
                format!("{}:{}", self.reached_at.host(), self.clients.port())
            }
            None => self.clients.to_string(),
        }
    }

    /// Logs what is another than at the last start, and what others can hardly reach.
    pub(crate) fn log_changes(&self, kept: &Said, listens: SocketAddr) {
        let now = [Some(&self.listen), Some(&self.reached_at), Some(&self.clients), self.advertise.as_ref()];
        let before = [&kept.listen, &kept.reached_at, &kept.clients, &kept.advertise];
        for (name, (now, before)) in
            ["listen", "reached_at", "clients", "advertise"].into_iter().zip(now.into_iter().zip(before))
        {
            if let Some(before) = before.as_ref().filter(|before| now != Some(before)) {
                let now = now.map_or("not set".to_string(), ToString::to_string);
                tracing::info!(target: "tokenwood", "{name} is {now} from now on; at the last start it was {before}");
            }
        }
        if listens.ip().is_loopback() && !reach::is_loopback(&self.reached_at.to_string()) {
            tracing::warn!(
                target: "tokenwood",
                "this node listens for peers at {listens}, which only processes on this machine reach, and tells the others \
                 to reach it at {}: unless something here passes connections on, add --listen 0.0.0.0:{}",
                self.reached_at,
                self.listen.port()
            );
        }
    }
}

fn at(host: &str, port: u16) -> Result<Address> {
    format!("{host}:{port}").parse().map_err(anyhow::Error::msg)
}

fn bracketed(ip: &IpAddr) -> String {
    match ip {
        IpAddr::V4(ip) => ip.to_string(),
        IpAddr::V6(ip) => format!("[{ip}]"),
    }
}

/// Whether this address leads to this machine, and from other machines to others: a loopback address, or a name for one.
fn leads_here(address: &str) -> bool {
    let named = || {
        let all: Vec<SocketAddr> = address.to_socket_addrs().map(Iterator::collect).unwrap_or_default();
        !all.is_empty() && all.iter().all(|it| it.ip().is_loopback())
    };
    reach::is_loopback(address) || named()
}

/// The address of this machine on the way to that one. No packet is sent for it.
fn source(far: &str) -> Option<IpAddr> {
    let to = far.to_socket_addrs().ok()?.next()?;
    let any: SocketAddr = if to.is_ipv4() { ([0; 4], 0).into() } else { ([0u16; 8], 0).into() };
    let socket = UdpSocket::bind(any).ok()?;
    socket.connect(to).ok()?;
    Some(socket.local_addr().ok()?.ip())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> Address {
        text.parse().unwrap()
    }

    fn chosen(said: Said, kept: Said, mine: Option<&str>) -> [String; 4] {
        let mine = mine.map(address);
        let chosen = choose(said, kept, mine.as_ref(), &BTreeMap::new()).unwrap();
        let advertised = chosen.advertised();
        [chosen.listen.to_string(), chosen.reached_at.to_string(), chosen.clients.to_string(), advertised]
    }

    #[test]
    fn a_member_on_another_machine_serves_clients_of_all_machines() {
        let none = Said::default;
        let far = chosen(none(), none(), Some("10.0.0.1:7700"));
        assert_eq!(far, ["10.0.0.1:7700", "10.0.0.1:7700", "0.0.0.0:7710", "10.0.0.1:7710"]);
        let six = chosen(none(), none(), Some("[fd00::1]:7700"));
        assert_eq!(six, ["[fd00::1]:7700", "[fd00::1]:7700", "[::]:7710", "[fd00::1]:7710"]);
        let near = chosen(none(), none(), Some("127.0.0.1:7701"));
        assert_eq!(near, ["127.0.0.1:7701", "127.0.0.1:7701", "127.0.0.1:7710", "127.0.0.1:7710"]);
    }

    #[test]
    fn what_was_is_kept_until_something_else_is_said() {
        let kept = || Said {
            listen: Some(address("0.0.0.0:7700")),
            reached_at: Some(address("one:7700")),
            clients: Some(address("0.0.0.0:7711")),
            advertise: Some(address("front:80")),
        };
        let same = ["0.0.0.0:7700", "one:7700", "0.0.0.0:7711", "front:80"].map(str::to_string);
        assert_eq!(chosen(Said::default(), kept(), None), same);
        let moved = Said { clients: Some(address("127.0.0.1:7712")), ..Said::default() };
        assert_eq!(chosen(moved, kept(), None)[2..], ["127.0.0.1:7712", "127.0.0.1:7712"]);
        let moved = Said { listen: Some(address("two:7700")), ..Said::default() };
        assert_eq!(chosen(moved, kept(), None)[..2], ["two:7700", "two:7700"]);
    }
}
