//! `tokenwood ui`: finds the page of a node, prints its address and opens a browser.

use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::Result;
use clap::Args;

use crate::Ended;
use crate::locks::endpoints::{Endpoints, NO_CLUSTER};
use crate::terminal::output::{note, say};

/// The ports of HTTP doors, where none are named.
pub(crate) const USUAL_HTTP_PORTS: std::ops::Range<u16> = 7720..7723;
/// A door that does not answer within this time is not there.
const LONGEST_ANSWER: Duration = Duration::from_secs(2);

/// Open the page of a node in a browser: nodes, names, holders, queues and events, live
///
/// Prints the address of the page. A node has one if it has an HTTP door ('tokenwood node --http', 'tokenwood dev'). Without
/// --http, the doors at ports 7720, 7721 and 7722 of the machines of the endpoints are tried.
#[derive(Args)]
pub(crate) struct Arguments {
    /// The HTTP door of a node, as a URL; several are tried in turn
    #[arg(long = "http", value_name = "URL", env = "TOKENWOOD_HTTP", value_delimiter = ',')]
    doors: Vec<String>,
    /// Print the address only
    #[arg(long)]
    no_open: bool,
    #[command(flatten)]
    endpoints: Endpoints,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Ended> {
    let encrypted = arguments.endpoints.access()?.encryption.credentials().is_some();
    let named: Vec<String> =
        arguments.doors.iter().map(|url| url.trim().trim_end_matches('/').to_string()).collect();
    let doors = match named.iter().any(|url| !url.is_empty()) {
        true => named,
        false => usual(&arguments.endpoints.named(), encrypted),
    };
    let Some(door) = doors.iter().find(|door| is_door(door)) else {
        let tried = doors.join(", ");
        anyhow::bail!(
            "no HTTP door answers: {tried}; start nodes with --http, or name a door with --http; {NO_CLUSTER}"
        );
    };
    let page = format!("{door}/ui/");
    say!("{page}");
    if !arguments.no_open && !open(&page) {
        note!("There is no browser to open here: copy the address.");
    }
    Ok(Ended::Well)
}

/// The usual doors of the machines that these endpoints are at.
fn usual(endpoints: &[String], encrypted: bool) -> Vec<String> {
    let scheme = if encrypted { "https" } else { "http" };
    let mut hosts: Vec<&str> = Vec::new();
    for endpoint in endpoints {
        // A socket is on this machine.
        let host = match endpoint.starts_with("unix:") {
            true => "127.0.0.1",
            false => endpoint.rsplit_once(':').map_or(endpoint.as_str(), |(host, _)| host),
        };
        if !hosts.contains(&host) {
            hosts.push(host);
        }
    }
    let doors =
        hosts.iter().flat_map(|host| USUAL_HTTP_PORTS.map(move |port| format!("{scheme}://{host}:{port}")));
    doors.collect()
}

/// Whether a door answers there. Behind TLS it is enough that something listens: the browser will say what is wrong.
fn is_door(url: &str) -> bool {
    let (plain, place) = match (url.strip_prefix("http://"), url.strip_prefix("https://")) {
        (Some(place), _) => (true, place),
        (_, Some(place)) => (false, place),
        _ => return false,
    };
    let address = if place.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok()) {
        place.to_string()
    } else {
        format!("{place}:{}", if plain { 80 } else { 443 })
    };
    let Ok(mut found) = address.to_socket_addrs() else { return false };
    let Some(mut stream) = found.find_map(|it| TcpStream::connect_timeout(&it, LONGEST_ANSWER).ok()) else {
        return false;
    };
    if !plain {
        return true;
    }
    let request = format!("HEAD /ui/ HTTP/1.1\r\nHost: {place}\r\nConnection: close\r\n\r\n");
    let limits =
        [stream.set_read_timeout(Some(LONGEST_ANSWER)), stream.set_write_timeout(Some(LONGEST_ANSWER))];
    let mut answer = [0; 12];
    limits.iter().all(Result::is_ok)
        && stream.write_all(request.as_bytes()).is_ok()
        && stream.read_exact(&mut answer).is_ok()
        && &answer == b"HTTP/1.1 200"
}

/// Opens a browser, if there is one.
pub(crate) fn open(page: &str) -> bool {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    // Without a display, xdg-open would take over the terminal with a browser for text.
    let display =
        ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|it| std::env::var_os(it).is_some_and(|it| !it.is_empty()));
    if !cfg!(target_os = "macos") && !display {
        return false;
    }
    let mut command = Command::new(program);
    command.arg(page).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_doors_are_at_the_machines_of_the_endpoints() {
        let endpoints = ["a:7710", "a:7711", "[::1]:7710", "unix:/run/x"].map(String::from);
        let doors = usual(&endpoints, true);
        assert_eq!(doors.len(), 9);
        assert_eq!(
            (&*doors[0], &*doors[3], &*doors[8]),
            ("https://a:7720", "https://[::1]:7720", "https://127.0.0.1:7722")
        );
    }
}
