//! Locks in etcd by its lock service (`v3lock`): a lease per client, `lock` waits in etcd's queue, `unlock`
//! deletes the key. Requests go through etcd's own JSON gateway over HTTP/1.1, with one persistent connection
//! per client.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::{Locker, Peer, Workload};
use crate::error::Error;

/// The ttl of a lease, in seconds: longer than any run.
const TTL: u32 = 600;

/// A connection to etcd, and a lease.
pub(super) struct Etcd {
    stream: TcpStream,
    endpoint: String,
    incoming: Vec<u8>,
    lease: String,
    /// The key of the held lock, as etcd wrote it.
    held: Option<String>,
}

pub(super) async fn clients(peer: &Peer, workload: &Workload) -> Result<Vec<Etcd>, Error> {
    let mut clients = Vec::new();
    for endpoint in peer.endpoints.iter().cycle().take(workload.clients) {
        clients.push(Etcd::connect(endpoint).await?);
    }
    Ok(clients)
}

impl Etcd {
    async fn connect(endpoint: &str) -> Result<Etcd, Error> {
        let stream = TcpStream::connect(endpoint).await?;
        stream.set_nodelay(true)?;
        let (endpoint, incoming, lease) = (endpoint.to_string(), Vec::with_capacity(4096), String::new());
        let mut etcd = Etcd { stream, endpoint, incoming, lease, held: None };
        etcd.lease = etcd.ask("lease/grant", &format!("{{\"TTL\":{TTL}}}"), "ID").await?;
        Ok(etcd)
    }

    /// Sends a request, and returns the text of this field of the answer.
    async fn ask(&mut self, path: &str, body: &str, field: &str) -> Result<String, Error> {
        let request = format!(
            "POST /v3/{path} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            self.endpoint,
            body.len()
        );
        self.stream.write_all(request.as_bytes()).await?;
        loop {
            if let Some((text, length)) = answer(&self.incoming) {
                self.incoming.drain(..length);
                let value = text_of(&text, field).map(str::to_string);
                return value.ok_or_else(|| Error::Peer(format!("etcd answers {path} with {text}")));
            }
            let read = self.stream.read_buf(&mut self.incoming).await?;
            if read == 0 {
                return Err(Error::HungUp("etcd"));
            }
        }
    }
}

impl Locker for Etcd {
    async fn acquire(&mut self, name: &str) -> Result<(), Error> {
        let body = format!("{{\"name\":\"{}\",\"lease\":\"{}\"}}", base64(name.as_bytes()), self.lease);
        self.held = Some(self.ask("lock/lock", &body, "key").await?);
        Ok(())
    }

    async fn release(&mut self) -> Result<(), Error> {
        let Some(key) = self.held.take() else { return Ok(()) };
        // Every answer contains the revision, so this checks that it is one.
        self.ask("lock/unlock", &format!("{{\"key\":\"{key}\"}}"), "revision").await.map(drop)
    }
}

/// The body of the first answer in these bytes, and how many it takes; `None` if it is not complete.
fn answer(bytes: &[u8]) -> Option<(String, usize)> {
    let head_ends = bytes.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let head = String::from_utf8_lossy(&bytes[..head_ends]).to_ascii_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
    // etcd's answers to these requests are short: Go writes their length.
    let length: usize = length.and_then(|length| length.trim().parse().ok())?;
    let body = bytes.get(head_ends..head_ends + length)?;
    Some((String::from_utf8_lossy(body).into_owned(), head_ends + length))
}

/// The text of a field in JSON that has no quotation marks inside texts.
fn text_of<'a>(json: &'a str, field: &str) -> Option<&'a str> {
    let (_, after) = json.split_once(&format!("\"{field}\":\""))?;
    after.split_once('"').map(|(text, _)| text)
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let number = (0..3).fold(0, |number, place| number << 8 | u32::from(*three.get(place).unwrap_or(&0)));
        for place in 0..4 {
            let digit = DIGITS[(number >> (18 - 6 * place) & 63) as usize];
            text.push(if place <= three.len() { char::from(digit) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_as_others_write_it() {
        let written = ["", "f", "fo", "foo", "foob"].map(|text| base64(text.as_bytes()));
        assert_eq!(written, ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg=="]);
    }

    #[test]
    fn answers_are_read_whole_or_not_at_all() {
        let bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 14\r\n\r\n{\"key\":\"abc=\"}HTTP";
        let (body, length) = answer(bytes).unwrap();
        assert_eq!((text_of(&body, "key"), length), (Some("abc="), bytes.len() - 4));
        assert_eq!(answer(&bytes[..length - 1]), None);
    }
}
