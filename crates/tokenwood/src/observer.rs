//! Queries to a node, and events from it: a connection without a session.

use std::cmp::Reverse;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use service::core::{Cursor, Listing, Page};
use service::event::{Event, Filter, ForceReleased};
use service::frame;
use service::name::Definition;
use service::protocol::{Order, OrderDone, Question, QuestionAnswer, ToClient, ToNode};
use tokio::time::timeout;

use crate::connection::Connection;
use crate::error::Error;

/// A node that does not answer within this time counts as not answering.
const ANSWER_LIMIT: Duration = Duration::from_secs(2);
/// A commit may take until another leader is elected.
const AGREEMENT_LIMIT: Duration = Duration::from_secs(10);

/// A connection to one node, for queries and events. It holds nothing, and the node does not count it as a
/// client.
pub struct Observer {
    endpoint: String,
    connection: Connection,
    last_question: u64,
}

/// What a watcher receives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    /// An event at the node.
    Event(Event),
    /// This many events were dropped here, because this program did not keep up.
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
    /// # async fn example() -> Result<(), tokenwood::Error> {
    /// use tokenwood::{Observer, Question, QuestionAnswer};
    ///
    /// let mut observer = Observer::connect("127.0.0.1:7710").await?;
    /// if let QuestionAnswer::Status { members, .. } = observer.ask(Question::Status).await? {
    ///     println!("{} members", members.len());
    /// }
    /// # Ok(()) }
    /// ```
    pub async fn ask(&mut self, question: Question) -> Result<QuestionAnswer, Error> {
        self.last_question += 1;
        let number = self.last_question;
        self.say(&[ToNode::Ask { number, question }]).await?;
        loop {
            match self.answer().await? {
                ToClient::QuestionAnswer { number: answered, answer } if answered == number => {
                    return Ok(answer);
                }
                _ => {}
            }
        }
    }

    /// All clients that hold or wait at the node, by name. A client that comes or goes during the listing may
    /// be in it or not; any other client is in it once.
    pub async fn list(&mut self) -> Result<Vec<Listing>, Error> {
        let mut listings = Listings::default();
        loop {
            match self.ask(Question::List(listings.next.clone())).await? {
                QuestionAnswer::List(page) => {
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
                QuestionAnswer::Inspect { home, page } => {
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
                QuestionAnswer::Definitions { definitions, next } => {
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
    fn something_else(&self, answer: QuestionAnswer) -> Error {
        self.no_answer(match answer {
            QuestionAnswer::NotDone(why) => why,
            _ => "unexpected answer: does the node run another version?".to_string(),
        })
    }

    /// Defines a name for the whole cluster; `None` removes its definition. Returns when the change is
    /// committed. A defined name can change only its number of slots.
    pub async fn define(&mut self, name: &str, definition: Option<Definition>) -> Result<(), Error> {
        self.order(Order::Define { name: name.into(), definition }).await.map(drop)
    }

    /// Changes the number of slots of a defined mutex or semaphore. A client that holds a removed slot keeps
    /// it until it releases it. Returns when the change is committed.
    pub async fn resize(&mut self, name: &str, slots: u32) -> Result<(), Error> {
        self.order(Order::Resize { name: name.into(), slots }).await.map(drop)
    }

    /// Revokes the grant of a client at this node, by slot and fence, as [`Observer::inspect`] lists them.
    /// The holder is told. The slot is granted again when the holder has released it, or when the holder's
    /// promise has certainly run out. With `at_once` the slot is granted immediately, **which breaks
    /// exclusion**: the holder may not know yet.
    pub async fn force_release(
        &mut self,
        name: &str,
        slot: u32,
        fence: u64,
        at_once: bool,
    ) -> Result<Vec<ForceReleased>, Error> {
        match self.order(Order::ForceRelease { name: name.into(), slot, fence, at_once }).await? {
            OrderDone::ForceReleased(released) => Ok(released),
            OrderDone::Agreed => Ok(Vec::new()),
        }
    }

    async fn order(&mut self, order: Order) -> Result<OrderDone, Error> {
        self.last_question += 1;
        let number = self.last_question;
        self.say(&[ToNode::Order { number, order }]).await?;
        loop {
            match within(&self.endpoint, AGREEMENT_LIMIT, self.connection.next()).await? {
                ToClient::OrderResult { number: done, result } if done == number => {
                    return result.map_err(Error::Refused);
                }
                _ => {}
            }
        }
    }

    /// Begins to watch: from now on [`Observer::next`] returns the node's events, or those that the filter
    /// shows.
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

    /// Waits for the next event, after [`Observer::watch`]. Can be cancelled and called again: nothing is
    /// lost.
    pub async fn next(&mut self) -> Result<Seen, Error> {
        loop {
            let heard = self.connection.next().await;
            match heard.map_err(|why| Error::NoAnswer { endpoint: self.endpoint.clone(), why })? {
                ToClient::Event(event) => return Ok(Seen::Event(event)),
                ToClient::Missed(events) => return Ok(Seen::Missed(events)),
                _ => {}
            }
        }
    }

    /// Sends these messages, all at once.
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

const REPEATS: &str = "it repeats the same page: does the node run another version?";

/// Pages of listings, put together.
#[derive(Default)]
struct Listings {
    all: Vec<Listing>,
    next: Option<Cursor>,
}

impl Listings {
    /// Adds a page. Returns whether there is another.
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
    let answer = answer.unwrap_or_else(|_| Err(format!("no answer within {} s", limit.as_secs())));
    answer.map_err(|why| Error::NoAnswer { endpoint: endpoint.to_string(), why })
}
