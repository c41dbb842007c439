//! The configuration of a node: the file, in TOML with the names of the flags, and the settings in effect.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use clap::ValueEnum;
use serde::Deserialize;
use serde_json::json;
use service::limits::Limits;

use crate::daemon::addresses::Addresses;
use crate::daemon::encryption::{Choice, Mode, Rights};
use crate::daemon::log::{Format, Threshold};
use crate::locks::endpoints::duration;

/// What a file says. Whatever it does not say is left to flags, the environment and defaults.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NodeFile {
    pub(crate) cluster: Option<String>,
    pub(crate) id: Option<u32>,
    pub(crate) data: Option<PathBuf>,
    pub(crate) listen: Option<Address>,
    pub(crate) reached_at: Option<Address>,
    pub(crate) clients: Option<Address>,
    pub(crate) advertise: Option<Address>,
    pub(crate) http: Option<Address>,
    pub(crate) player: Option<Player>,
    pub(crate) lease: Option<Length>,
    pub(crate) linger: Option<Length>,
    pub(crate) keep_idle: Option<Length>,
    pub(crate) log_level: Option<Threshold>,
    pub(crate) log_format: Option<Format>,
    pub(crate) ca: Option<PathBuf>,
    pub(crate) certificate: Option<PathBuf>,
    pub(crate) key: Option<PathBuf>,
    pub(crate) encryption: Option<Mode>,
    pub(crate) rights: Option<Rights>,
    pub(crate) insecure: Option<bool>,
    pub(crate) socket: Option<PathBuf>,
    pub(crate) limits: Option<Limits>,
    #[serde(default)]
    pub(crate) members: BTreeMap<MemberId, Address>,
}

impl NodeFile {
    /// Reads a file; what is wrong is said with its line.
    pub(crate) fn read(file: &Path) -> Result<NodeFile> {
        let text = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        NodeFile::parse(&text).map_err(|why| anyhow!("{}, {why}", file.display()))
    }

    fn parse(text: &str) -> Result<NodeFile, String> {
        toml::from_str(text).map_err(|error| {
            let place = error.span().map_or(0, |span| span.start);
            let line = text.bytes().take(place).filter(|byte| *byte == b'\n').count() + 1;
            format!("line {line}: {}", error.message().replace('\n', ": "))
        })
    }
}

/// Where something listens or is reached: `HOST:PORT`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Address(String);

impl Address {
    /// The host, without the port.
    pub(crate) fn host(&self) -> &str {
        self.0.rsplit_once(':').map_or("", |(host, _)| host)
    }

    /// The port.
    pub(crate) fn port(&self) -> u16 {
        self.0.rsplit_once(':').and_then(|(_, port)| port.parse().ok()).unwrap_or(0)
    }
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Address, String> {
        match text.rsplit_once(':') {
            Some((host, port)) if !host.is_empty() && port.parse::<u16>().is_ok() => {
                Ok(Address(text.to_string()))
            }
            _ => Err(format!("'{text}' is not an address: write HOST:PORT, for instance 10.0.0.7:7700")),
        }
    }
}

impl TryFrom<String> for Address {
    type Error = String;

    fn try_from(text: String) -> Result<Address, String> {
        text.parse()
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A length of time: `500ms`, `10s`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Length(pub(crate) Duration);

impl FromStr for Length {
    type Err = String;

    fn from_str(text: &str) -> Result<Length, String> {
        duration(text).map(Length)
    }
}

impl TryFrom<String> for Length {
    type Error = String;

    fn try_from(text: String) -> Result<Length, String> {
        text.parse()
    }
}

impl fmt::Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}ms", self.0.as_millis())
    }
}

/// The id of a member, which is a key of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct MemberId(pub(crate) u32);

impl TryFrom<String> for MemberId {
    type Error = String;

    fn try_from(text: String) -> Result<MemberId, String> {
        text.parse().map(MemberId).map_err(|_| format!("'{text}' is not the id of a member: write a number"))
    }
}

/// Whether a node has the player.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Player {
    /// The page plays algorithms.
    On,
    /// It does not.
    Off,
}

impl fmt::Display for Player {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Player::On => "on",
            Player::Off => "off",
        })
    }
}

/// What is in effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    pub(crate) cluster: String,
    pub(crate) id: u32,
    pub(crate) data: PathBuf,
    pub(crate) members: BTreeMap<u32, Address>,
    pub(crate) listen: Address,
    pub(crate) reached_at: Address,
    pub(crate) clients: Address,
    pub(crate) advertise: Option<Address>,
    pub(crate) http: Option<Address>,
    pub(crate) player: Player,
    pub(crate) lease: Length,
    pub(crate) linger: Length,
    pub(crate) keep_idle: Length,
    pub(crate) log_level: Threshold,
    pub(crate) log_format: Format,
    pub(crate) encryption: Choice,
    pub(crate) limits: Limits,
}

impl Settings {
    pub(crate) fn addresses(&self) -> Addresses {
        Addresses {
            listen: self.listen.clone(),
            reached_at: self.reached_at.clone(),
            clients: self.clients.clone(),
            advertise: self.advertise.clone(),
        }
    }

    pub(crate) fn set_addresses(&mut self, addresses: Addresses) {
        let Addresses { listen, reached_at, clients, advertise } = addresses;
        (self.listen, self.reached_at, self.clients, self.advertise) =
            (listen, reached_at, clients, advertise);
    }
}

/// As a file that says the same.
impl fmt::Display for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Strings in TOML are written as in JSON.
        let text = |text: &dyn fmt::Display| json!(text.to_string());
        writeln!(f, "# The name of the cluster, the same on all its nodes.")?;
        writeln!(f, "cluster = {}\n", text(&self.cluster))?;
        writeln!(f, "# The number of this node.\nid = {}\n", self.id)?;
        writeln!(f, "# The folder where this node stores what the cluster agrees on.")?;
        writeln!(f, "data = {}\n", text(&self.data.display()))?;
        writeln!(f, "# Where to listen for peers.\nlisten = {}\n", text(&self.listen))?;
        writeln!(f, "# Where peers reach this node.\nreached_at = {}\n", text(&self.reached_at))?;
        writeln!(f, "# Where to listen for clients.\nclients = {}\n", text(&self.clients))?;
        if let Some(advertise) = &self.advertise {
            writeln!(
                f,
                "# Where clients on other machines reach this node.\nadvertise = {}\n",
                text(advertise)
            )?;
        }
        if let Some(http) = &self.http {
            writeln!(f, "# Where to listen for HTTP.\nhttp = {}\n", text(http))?;
            writeln!(f, "# Whether the page there plays algorithms.\nplayer = {}\n", text(&self.player))?;
        }
        writeln!(f, "# The length of node leases in a new cluster.\nlease = {}\n", text(&self.lease))?;
        writeln!(f, "# How long an idle token stays where it was used last before it goes home.")?;
        writeln!(f, "linger = {}\n", text(&self.linger))?;
        writeln!(f, "# How long the node remembers an unused name.")?;
        writeln!(f, "keep_idle = {}\n", text(&self.keep_idle))?;
        writeln!(f, "# What to log: error, warn, info, debug or trace, and everything above it.")?;
        writeln!(f, "log_level = {}\n", text(&self.log_level.name()))?;
        writeln!(f, "# The log format: text for people, json for programs.")?;
        writeln!(f, "log_format = {}\n", text(&self.log_format.name()))?;
        self.encryption.fmt(f)?;
        writeln!(f, "# How much clients can make this node keep: docs/service.md explains each bound.")?;
        writeln!(f, "[limits]")?;
        if let Ok(serde_json::Value::Object(limits)) = serde_json::to_value(&self.limits) {
            limits.iter().try_for_each(|(name, most)| writeln!(f, "{name} = {most}"))?;
        }
        if self.members.is_empty() {
            return Ok(());
        }
        writeln!(f)?;
        writeln!(f, "# All members of a new cluster, and where their peers reach them.\n[members]")?;
        self.members.iter().try_for_each(|(id, address)| writeln!(f, "{id} = {}", text(address)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        for (text, expected) in [
            ("id = 0\nclint = \"a:1\"\n", "line 2: unknown field `clint`"),
            ("\n\nid = \"zero\"\n", "line 3: invalid type: string \"zero\""),
            ("clients = \"7710\"\n", "line 1: '7710' is not an address: write HOST:PORT"),
            ("[members]\n0 = \"a:1\"\nx = \"a:2\"\n", "line 3: 'x' is not the id of a member"),
            ("[members]\n0 = \"a:1\"\n0 = \"a:2\"\n", "line 3: duplicate key"),
            ("id = 0\nlog_level = \"loud\"\n", "line 2: 'loud' is not a level"),
            ("id = 0\n[limits]\nsession = 5\n", "line 3: unknown field `session`"),
            ("[limits]\nsessions = -1\n", "line 2: invalid value: integer `-1`"),
            ("log_format = \"xml\"\n", "line 1: unknown variant `xml`, expected `text` or `json`"),
            ("id = \n", "line 1: "),
        ] {
            let why = NodeFile::parse(text).unwrap_err();
            assert!(why.contains(expected) && !why.contains('\n'), "{text:?}: {why}");
        }
    }
}
