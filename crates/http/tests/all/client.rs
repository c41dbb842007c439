//! The smallest client of HTTP: one request for each connection.

use std::net::SocketAddr;

use node::LocalCluster;
use serde_json::Value;
use service::core::Config;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::judge::Judge;

/// A cluster with a door at each node.
pub(crate) struct Doors {
    pub(crate) cluster: LocalCluster,
    pub(crate) doors: Vec<SocketAddr>,
    /// Compares every answer with the document that a node serves.
    pub(crate) judge: Judge,
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Value,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let fields = self.head.lines().filter_map(|line| line.split_once(": "));
        fields.filter(|(field, _)| field.eq_ignore_ascii_case(name)).map(|(_, value)| value).next()
    }

    /// The kind of the problem that it tells of.
    pub(crate) fn problem(&self) -> &str {
        self.body["type"].as_str().and_then(|kind| kind.rsplit(':').next()).unwrap_or_default()
    }

    pub(crate) fn text(&self, field: &str) -> String {
        self.body[field].as_str().unwrap_or_else(|| panic!("no {field}: {self:?}")).to_string()
    }

    pub(crate) fn number(&self, field: &str) -> u64 {
        self.body[field].as_u64().unwrap_or_else(|| panic!("no {field}: {self:?}"))
    }
}

impl Doors {
    pub(crate) async fn start(nodes: u32) -> Doors {
        Doors::start_with(nodes, |_| {}).await
    }

    /// The same with changes to the defaults.
    pub(crate) async fn start_with(nodes: u32, tune: fn(&mut Config)) -> Doors {
        let cluster = LocalCluster::start_with(nodes, tune).await.unwrap();
        let mut doors = Vec::new();
        for host in &cluster.hosts {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            doors.push(listener.local_addr().unwrap());
            tokio::spawn(http_door::serve(host.clone(), listener));
        }
        let mut doors = Doors { cluster, doors, judge: Judge::default() };
        let document = doors.exchange(0, "GET /openapi.json", &[], "").await;
        doors.judge = Judge::new(document.body);
        doors
    }

    /// Sends a request to the door of a node, and waits for its answer.
    pub(crate) async fn send(&self, node: usize, request: &str, body: &str) -> Answer {
        self.send_with(node, request, &[], body).await
    }

    /// The same, with more headers.
    pub(crate) async fn send_with(&self, node: usize, request: &str, headers: &[&str], body: &str) -> Answer {
        let answer = self.exchange(node, request, headers, body).await;
        self.judge.judge(request, &answer);
        answer
    }

    /// The same for what the document does not have.
    pub(crate) async fn exchange(&self, node: usize, request: &str, headers: &[&str], body: &str) -> Answer {
        let mut stream = self.begin(node, request, headers, body).await;
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).await.unwrap();
        let text = String::from_utf8(bytes).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
        Answer {
            status: status.unwrap_or_else(|| panic!("no answer to {request}: {text:?}")),
            head: head.to_string(),
            body: serde_json::from_str(body).unwrap_or_else(|_| Value::from(body)),
        }
    }

    /// Sends a request. What comes back is not read.
    pub(crate) async fn begin(&self, node: usize, request: &str, headers: &[&str], body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.doors[node]).await.unwrap();
        let mut text = format!("{request} HTTP/1.1\r\nhost: door\r\nconnection: close\r\n");
        for header in headers {
            text += &format!("{header}\r\n");
        }
        if !body.is_empty() {
            text += &format!("content-length: {}\r\n", body.len());
            if !headers.iter().any(|header| header.starts_with("content-type")) {
                text += "content-type: application/json\r\n";
            }
        }
        stream.write_all(format!("{text}\r\n{body}").as_bytes()).await.unwrap();
        stream
    }

    /// How many clients hold a name, and how many wait for it, at a node.
    pub(crate) async fn clients(&self, node: usize, name: &str) -> (usize, usize) {
        let answer = self.send(node, &format!("GET /v1/locks/{name}"), "").await;
        let clients = answer.body["clients"].as_array().unwrap();
        let holds = clients.iter().filter(|client| client["state"] == "holds").count();
        (holds, clients.len() - holds)
    }
}
