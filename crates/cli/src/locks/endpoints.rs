//! Where the nodes are, and how long things may take, as users write it.

use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;
use tokenwood::{Options, Tokenwood};

/// The ports that clients try by default, on this machine.
pub(crate) const USUAL_PORTS: std::ops::Range<u16> = 7710..7713;

/// The beginning of the error if no node answers.
pub(crate) const NO_CLUSTER: &str =
    "is a cluster running? 'tokenwood dev' starts one here; --endpoint names another";

/// Where the nodes are.
#[derive(Args)]
pub(crate) struct Endpoints {
    /// A node to talk to, as HOST:PORT; several are tried in turn [default: 127.0.0.1:7710, :7711, :7712]
    #[arg(long = "endpoint", value_name = "HOST:PORT", env = "TOKENWOOD_ENDPOINTS", value_delimiter = ',')]
    endpoints: Vec<String>,
}

impl Endpoints {
    /// Those that are named, or the usual ones.
    pub(crate) fn named(&self) -> Vec<String> {
        if self.endpoints.is_empty() {
            return USUAL_PORTS.map(|port| format!("127.0.0.1:{port}")).collect();
        }
        self.endpoints.clone()
    }

    /// Connects to the first node that answers.
    pub(crate) async fn connect(&self, options: Options) -> Result<Tokenwood> {
        let connected = Tokenwood::connect_with(self.named(), options).await;
        connected.context(NO_CLUSTER)
    }
}

/// A runtime for one command.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("cannot start threads")
}

/// Reads a length of time: `500ms`, `10s`, `2m`, `1h`.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let split = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let seconds = match unit {
        "ms" => 0.001,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return Err(format!("'{text}' is not a length of time: write 500ms, 10s, 2m or 1h")),
    };
    let number: f64 = number.parse().map_err(|_| format!("'{text}' does not begin with a number"))?;
    Duration::try_from_secs_f64(number * seconds).map_err(|_| format!("'{text}' is too long"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_time() {
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("1.5s"), Ok(Duration::from_millis(1500)));
        assert_eq!(duration("2m"), Ok(Duration::from_secs(120)));
        for bad in ["", "10", "s", "10 s", "-1s", "1e400s", "1x"] {
            assert!(duration(bad).is_err(), "{bad}");
        }
    }
}
