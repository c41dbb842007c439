//! Pages of other places do not reach a node or the player through the browser of a reader.

use std::net::IpAddr;

use axum::extract::Request;
use axum::http::header::{HOST, HeaderName, ORIGIN};
use axum::http::uri::Authority;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::player::No;

/// Whether another page sends this. A node that asks no caller who it is would take locks for it.
pub(crate) fn is_foreign<B>(request: &axum::http::Request<B>) -> bool {
    header(request, ORIGIN).is_some_and(|origin| !is_same(origin, header(request, HOST).unwrap_or_default()))
}

/// Refuses names that merely lead to this machine: a page of another place could use one to get around [`is_foreign`].
pub(crate) async fn check_host(request: Request, next: Next) -> Response {
    if !header(&request, HOST).is_some_and(is_loopback) {
        let message =
            "this server answers at 127.0.0.1, [::1] and localhost only: use the address that it printed";
        return No::forbidden(message).into_response();
    }
    next.run(request).await
}

/// A header; empty if it is no text.
fn header<B>(request: &axum::http::Request<B>, name: HeaderName) -> Option<&str> {
    request.headers().get(name).map(|value| value.to_str().unwrap_or_default())
}

/// Whether a page of this origin may ask at this host. One of this machine may.
fn is_same(origin: &str, host: &str) -> bool {
    let place = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
    place.is_some_and(|place| place.eq_ignore_ascii_case(host) || is_loopback(place))
}

/// Whether this is a name of this very machine that no name server decides about.
fn is_loopback(place: &str) -> bool {
    // User names in front of a host are meant to mislead.
    let Some(authority) = place.parse::<Authority>().ok().filter(|_| !place.contains('@')) else {
        return false;
    };
    let host = authority.host();
    let address = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
    host.eq_ignore_ascii_case("localhost") || address.parse::<IpAddr>().is_ok_and(|it| it.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_this_machine_are_its_own() {
        for place in
            ["127.0.0.1", "127.0.0.1:7730", "127.8.8.8:1", "localhost:7730", "LocalHost", "[::1]:7730"]
        {
            assert!(is_loopback(place), "{place}");
        }
        for place in [
            "",
            "example.org",
            "127.0.0.1.example.org:7730",
            "localhost.example.org",
            "localhost@example.org",
            "127.0.0.1:80@example.org",
            "10.0.0.1",
            "[::2]",
            "0.0.0.0:7730",
            "\u{7f}",
        ] {
            assert!(!is_loopback(place), "{place}");
        }
    }

    #[test]
    fn a_page_asks_at_its_own_address() {
        assert!(is_same("https://node.example.org:7720", "node.example.org:7720"));
        assert!(is_same("http://127.0.0.1:9000", "127.0.0.1:7730"));
        for origin in ["null", "", "http://example.org", "http://node.example.org", "file://"] {
            assert!(!is_same(origin, "node.example.org:7720"), "{origin}");
        }
    }
}
