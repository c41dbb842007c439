//! Asking how things are, and watching what happens: a connection to a node without a session.

use std::future::Future;
use std::time::Duration;

use service::event::{Event, Filter};
use service::frame;
use service::protocol::{Question, ToClient, ToNode, Told};
use tokio::time::timeout;

use crate::connection::Connection;
use crate::error::Error;

/// A node that does not answer for so long is given up on.
const ANSWER_LIMIT: Duration = Duration::from_secs(2);

/// A connection to one node, to ask how things are and to watch what happens. It holds nothing, and the node does not count it as a client.
pub struct Observer {
    endpoint: String,
    connection: Connection,
    last_question: u64,
}

/// What somebody who watches sees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    /// Something that happened.
    Event(Event),
    /// So many things happened here that were not told, because this program did not keep up.
    Missed(u64),
}

impl Observer {
    /// Connects to this node, named as `host:port`.
    pub async fn connect(endpoint: &str) -> Result<Observer, Error> {
        match Connection::open(endpoint).await {
            Ok(connection) => Ok(Observer { endpoint: endpoint.to_string(), connection, last_question: 0 }),
            Err(why) => Err(Error::NoAnswer { endpoint: endpoint.to_string(), why }),
        }
    }

    /// Where the node is.
    pub fn endpoint(&self) -> &str {
        &self.endpoint
    }

    /// Asks the node something.
    ///
    /// ```no_run
    /// # async fn example() -> Result<(), client::Error> {
    /// use client::{Observer, Question, Told};
    ///
    /// let mut observer = Observer::connect("127.0.0.1:7710").await?;
    /// if let Told::Status { members, .. } = observer.ask(Question::Status).await? {
    ///     println!("{} members", members.len());
    /// }
    /// # Ok(()) }
    /// ```
    pub async fn ask(&mut self, question: Question) -> Result<Told, Error> {
        self.last_question += 1;
        let number = self.last_question;
        self.say(&[ToNode::Ask { number, question }]).await?;
        loop {
            match self.answer().await? {
                ToClient::Told { number: told, what } if told == number => return Ok(what),
                _ => {}
            }
        }
    }

    /// Begins to watch: from now on [`Observer::next`] has what happens at the node, or what the filter shows of it.
    pub async fn watch(&mut self, filter: Filter) -> Result<(), Error> {
        self.say(&[ToNode::Watch(filter)]).await?;
        loop {
            if self.answer().await? == ToClient::Watching {
                return Ok(());
            }
        }
    }

    /// Waits for the next thing that happens, after [`Observer::watch`]. Can be given up and called again: nothing is lost.
    pub async fn next(&mut self) -> Result<Seen, Error> {
        loop {
            let heard = self.connection.next().await;
            match heard.map_err(|why| Error::NoAnswer { endpoint: self.endpoint.clone(), why })? {
                ToClient::Happened(event) => return Ok(Seen::Event(event)),
                ToClient::Missed(events) => return Ok(Seen::Missed(events)),
                _ => {}
            }
        }
    }

    /// Says something, all of it at once.
    pub(crate) async fn say(&mut self, said: &[ToNode]) -> Result<(), Error> {
        let mut bytes = Vec::new();
        said.iter().for_each(|said| frame::put(self.connection.version, said, &mut bytes));
        let endpoint = self.endpoint.clone();
        within(&endpoint, self.connection.write(&bytes)).await
    }

    /// The next thing the node says, which has to come soon.
    pub(crate) async fn answer(&mut self) -> Result<ToClient, Error> {
        let endpoint = self.endpoint.clone();
        within(&endpoint, self.connection.next()).await
    }
}

async fn within<T>(endpoint: &str, answer: impl Future<Output = Result<T, String>>) -> Result<T, Error> {
    let answer = timeout(ANSWER_LIMIT, answer).await;
    let answer = answer.unwrap_or_else(|_| Err(format!("nothing heard within {} s", ANSWER_LIMIT.as_secs())));
    answer.map_err(|why| Error::NoAnswer { endpoint: endpoint.to_string(), why })
}
