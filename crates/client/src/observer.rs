//! Asking how things are, and watching what happens: a connection to a node without a session.

use std::cmp::Reverse;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use service::core::{Cursor, Listing, Page};
use service::event::{Event, Filter, ForceReleased};
use service::frame;
use service::name::Definition;
use service::protocol::{Done, Order, Question, ToClient, ToNode, Told};
use tokio::time::timeout;

use crate::connection::Connection;
use crate::error::Error;

/// A node that does not answer for so long is given up on.
const ANSWER_LIMIT: Duration = Duration::from_secs(2);
/// What nodes have to agree on may take until another of them leads.
const AGREEMENT_LIMIT: Duration = Duration::from_secs(10);

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

    /// All clients that hold or wait at the node, by names. What changes while the node tells may be in it or not; a client that
    /// is there all the time is in it once.
    pub async fn list(&mut self) -> Result<Vec<Listing>, Error> {
        let mut listings = Listings::default();
        loop {
            match self.ask(Question::List(listings.next.clone())).await? {
                Told::List(page) => {
                    if !listings.add(page).map_err(|why| self.no_answer(why))? {
                        return Ok(listings.sorted());
                    }
                }
                other => return Err(self.something_else(other)),
            }
        }
    }

    /// The home of a name, and all that the node knows of it.
    pub async fn inspect(&mut self, name: &str) -> Result<(u32, Vec<Listing>), Error> {
        let mut listings = Listings::default();
        loop {
            let (name, after) = (name.to_string(), listings.next.clone());
            match self.ask(Question::Inspect { name, after }).await? {
                Told::Inspect { home, page } => {
                    if !listings.add(page).map_err(|why| self.no_answer(why))? {
                        return Ok((home, listings.sorted()));
                    }
                }
                other => return Err(self.something_else(other)),
            }
        }
    }

    /// What names are defined as, as far as the node has heard, in the order of names.
    pub async fn definitions(&mut self) -> Result<Vec<(Arc<str>, Definition)>, Error> {
        let (mut all, mut after) = (Vec::new(), None);
        loop {
            match self.ask(Question::Definitions(after.clone())).await? {
                Told::Definitions { definitions, next } => {
                    all.extend(definitions);
                    if next.is_none() {
                        return Ok(all);
                    }
                    if next <= after {
                        return Err(self.no_answer(REPEATS.to_string()));
                    }
                    after = next;
                }
                other => return Err(self.something_else(other)),
            }
        }
    }

    fn no_answer(&self, why: String) -> Error {
        Error::NoAnswer { endpoint: self.endpoint.clone(), why }
    }

    /// An answer to another question, or the reason why there is none.
    fn something_else(&self, told: Told) -> Error {
        self.no_answer(match told {
            Told::NotDone(why) => why,
            _ => "it answers something else: is it of another version?".to_string(),
        })
    }

    /// Says what a name stands for from now on, for all: `None` for nothing in particular. Comes back when the nodes have agreed
    /// on it. Of what is defined already only the number of slots can change.
    pub async fn define(&mut self, name: &str, definition: Option<Definition>) -> Result<(), Error> {
        self.order(Order::Define { name: name.into(), definition }).await.map(drop)
    }

    /// Gives so many slots to what is defined as a mutex or a semaphore. Whoever is inside by a slot that goes stays until it
    /// leaves. Comes back when the nodes have agreed on it.
    pub async fn resize(&mut self, name: &str, slots: u32) -> Result<(), Error> {
        self.order(Order::Resize { name: name.into(), slots }).await.map(drop)
    }

    /// Takes away what a client holds at this node by this slot with this fence, as [`Observer::inspect`] tells. The holder is told,
    /// and somebody else is let in when it has let go, or has certainly stopped to believe that it holds anything; with
    /// `at_once` right away, **which breaks exclusion**: the holder may not know yet.
    pub async fn force_release(
        &mut self,
        name: &str,
        slot: u32,
        fence: u64,
        at_once: bool,
    ) -> Result<Vec<ForceReleased>, Error> {
        match self.order(Order::ForceRelease { name: name.into(), slot, fence, at_once }).await? {
            Done::ForceReleased(released) => Ok(released),
            Done::Agreed => Ok(Vec::new()),
        }
    }

    async fn order(&mut self, order: Order) -> Result<Done, Error> {
        self.last_question += 1;
        let number = self.last_question;
        self.say(&[ToNode::Order { number, order }]).await?;
        loop {
            match within(&self.endpoint, AGREEMENT_LIMIT, self.connection.next()).await? {
                ToClient::Done { number: done, result } if done == number => {
                    return result.map_err(Error::Refused);
                }
                _ => {}
            }
        }
    }

    /// Begins to watch: from now on [`Observer::next`] has what happens at the node, or what the filter shows of it.
    pub async fn watch(&mut self, filter: Filter) -> Result<(), Error> {
        self.say(&[ToNode::Watch(filter)]).await?;
        loop {
            match self.answer().await? {
                ToClient::Watching => return Ok(()),
                ToClient::NotWatching(refusal) => return Err(Error::Refused(refusal)),
                _ => {}
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
        within(&self.endpoint, ANSWER_LIMIT, self.connection.write(&bytes)).await
    }

    /// The next thing the node says, which has to come soon.
    pub(crate) async fn answer(&mut self) -> Result<ToClient, Error> {
        within(&self.endpoint, ANSWER_LIMIT, self.connection.next()).await
    }
}

const REPEATS: &str = "it tells the same again and again: is it of another version?";

/// Pages of listings, put together.
#[derive(Default)]
struct Listings {
    all: Vec<Listing>,
    next: Option<Cursor>,
}

impl Listings {
    /// Adds a page. Says whether there is another.
    fn add(&mut self, page: Page) -> Result<bool, String> {
        let Page { listings, next } = page;
        for mut listing in listings {
            let kind = listing.definition.kind();
            match self.all.last_mut() {
                // It began on the page before.
                Some(last) if last.name == listing.name && last.definition.kind() == kind => {
                    last.clients.append(&mut listing.clients);
                }
                _ => self.all.push(listing),
            }
        }
        if next.is_some() && next == self.next {
            return Err(REPEATS.to_string());
        }
        self.next = next;
        Ok(self.next.is_some())
    }

    /// In the order of names; in each the clients that hold it first, and then in the order in which they came.
    fn sorted(mut self) -> Vec<Listing> {
        self.all.sort_by(|one, other| one.name.cmp(&other.name));
        for listing in &mut self.all {
            listing.clients.sort_by_key(|client| (client.granted.is_none(), Reverse(client.since)));
        }
        self.all
    }
}

async fn within<T>(
    endpoint: &str,
    limit: Duration,
    answer: impl Future<Output = Result<T, String>>,
) -> Result<T, Error> {
    let answer = timeout(limit, answer).await;
    let answer = answer.unwrap_or_else(|_| Err(format!("nothing heard within {} s", limit.as_secs())));
    answer.map_err(|why| Error::NoAnswer { endpoint: endpoint.to_string(), why })
}
