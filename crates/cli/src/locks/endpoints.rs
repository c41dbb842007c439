//! Where the nodes are, and how long things may take, as users write it.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::net::Ipv6Addr;

use anyhow::{Context, Result};
use clap::Args;
pub(crate) use service::duration;
use tokenwood::{Access, Error};

use crate::locks::access_arguments::AccessArguments;

/// The port for clients, where none is named.
pub(crate) const PORT: u16 = 7710;

/// The ports that clients try by default, on this machine.
pub(crate) const USUAL_PORTS: std::ops::Range<u16> = PORT..PORT + 3;

/// The end of the error if no node can be reached.
pub(crate) const NO_CLUSTER: &str =
    "is a cluster running? 'tokenwood dev' starts one here; --endpoint names another";

/// Where the nodes are.
#[derive(Args, Default)]
pub(crate) struct Endpoints {
    /// A node to talk to, as HOST:PORT, HOST for port 7710, or unix:PATH for a socket of this machine; several are tried in
    /// turn, beginning with any of them [default: 127.0.0.1:7710, :7711, :7712, in this order]
    #[arg(
        long = "endpoint",
        value_name = "HOST:PORT",
        env = "TOKENWOOD_ENDPOINTS",
        value_delimiter = ',',
        value_parser = endpoint
    )]
    endpoints: Vec<String>,
    /// Try the endpoints in the order in which they are named
    #[arg(long)]
    in_order: bool,
    #[command(flatten)]
    access: AccessArguments,
}

impl Endpoints {
    /// How to get in there.
    pub(crate) fn access(&self) -> Result<Access> {
        self.access.access()
    }

    /// Those that are named, or the usual ones.
    pub(crate) fn named(&self) -> Vec<String> {
        // One after a comma at the end is none.
        let mut named: Vec<String> = self.endpoints.iter().filter(|it| !it.is_empty()).cloned().collect();
        if named.is_empty() {
            return USUAL_PORTS.map(|port| format!("127.0.0.1:{port}")).collect();
        }
        if !self.in_order {
            // Clients that are told the same endpoints do not all go to the first.
            let shuffle = RandomState::new();
            named.sort_by_key(|endpoint| shuffle.hash_one(endpoint));
        }
        named
    }
}

/// What is wrong if no node answers. A node that refuses is running, so that is not asked.
pub(crate) fn unreached(error: Error) -> anyhow::Error {
    if is_unreachable(&error) { Unreached(error).into() } else { error.into() }
}

/// No node could be reached: why, and then what to do.
#[derive(Debug)]
struct Unreached(Error);

impl fmt::Display for Unreached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {NO_CLUSTER}", self.0)
    }
}

impl std::error::Error for Unreached {}

/// Whether no node could be reached.
pub(crate) fn is_unreached(error: &anyhow::Error) -> bool {
    error.is::<Unreached>() || error.downcast_ref().is_some_and(is_unreachable)
}

fn is_unreachable(error: &Error) -> bool {
    match error {
        Error::NoNode(tried) => !tried.iter().any(|(_, why)| why.is_of_a_node()),
        Error::NoAnswer { .. } => true,
        _ => false,
    }
}

/// Reads where a node is: `HOST:PORT`, or `HOST` for the usual port. An IPv6 address needs brackets only before a port.
pub(crate) fn endpoint(text: &str) -> Result<String, String> {
    let wrong = || {
        format!(
            "'{text}' is not an endpoint: write HOST or HOST:PORT, for instance 10.0.0.7:7710 or [::1]:7710"
        )
    };
    let text = text.trim();
    if text.is_empty() {
        return Ok(String::new());
    }
    if text.strip_prefix("unix:").is_some_and(|path| !path.is_empty()) {
        return Ok(text.to_string());
    }
    if text.parse::<Ipv6Addr>().is_ok() {
        return Ok(format!("[{text}]:{PORT}"));
    }
    let bracketed = |host: &str| {
        let inner = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        inner.map(|inner| inner.parse::<Ipv6Addr>().is_ok())
    };
    if bracketed(text) == Some(true) {
        return Ok(format!("{text}:{PORT}"));
    }
    let (host, port) = text.rsplit_once(':').unwrap_or((text, "7710"));
    let is_host = bracketed(host).unwrap_or_else(|| {
        !host.is_empty() && host.chars().all(|letter| letter.is_alphanumeric() || "-._".contains(letter))
    });
    let port: u16 = port.parse().map_err(|_| wrong())?;
    if is_host && port > 0 { Ok(format!("{host}:{port}")) } else { Err(wrong()) }
}

/// A runtime for one command.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("cannot start threads")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_as_people_write_them() {
        for (text, expected) in [
            ("10.0.0.7", "10.0.0.7:7710"),
            ("10.0.0.7:80", "10.0.0.7:80"),
            (" one.example.org ", "one.example.org:7710"),
            ("one:7711", "one:7711"),
            ("::1", "[::1]:7710"),
            ("[::1]", "[::1]:7710"),
            ("[fe80::2]:7711", "[fe80::2]:7711"),
            ("", ""),
        ] {
            assert_eq!(endpoint(text).as_deref(), Ok(expected), "{text}");
        }
        for bad in [
            "one:",
            ":7710",
            "one:x",
            "one:0",
            "one:70000",
            "[one]:7710",
            "[::1",
            "a b",
            "http://one:7710",
            "7:8:9",
        ] {
            assert!(endpoint(bad).unwrap_err().contains("write HOST or HOST:PORT"), "{bad}");
        }
    }

    #[test]
    fn named_endpoints_are_tried_in_any_order_unless_asked_otherwise() {
        let named: Vec<String> = (1..=8).map(|port| format!("one:{port}")).collect();
        let endpoints = |in_order| Endpoints { endpoints: named.clone(), in_order, ..Endpoints::default() };
        assert_eq!(endpoints(true).named(), named);
        let orders: std::collections::BTreeSet<Vec<String>> =
            (0..20).map(|_| endpoints(false).named()).collect();
        assert!(orders.len() > 1, "always the same order");
        assert!(orders.iter().all(|order| order.len() == named.len()));
        let usual = Endpoints { endpoints: vec![String::new()], ..Endpoints::default() }.named();
        assert_eq!(usual, ["127.0.0.1:7710", "127.0.0.1:7711", "127.0.0.1:7712"]);
    }

    #[test]
    fn a_refusal_is_not_taken_for_a_cluster_that_does_not_run() {
        let tried = |why| Error::NoNode(vec![("one:7710".to_string(), why)]);
        let refused = unreached(tried(tokenwood::NoAnswer::Refused(tokenwood::Refusal::Leaving)));
        assert!(!format!("{refused:#}").contains("is a cluster running"), "{refused:#}");
        let nothing = unreached(tried(tokenwood::NoAnswer::Closed));
        assert!(format!("{nothing:#}").contains("is a cluster running"), "{nothing:#}");
    }
}
