//! What operators do at a node: ask, watch, define, revoke, invite. A connection without a session.

use std::cmp::Reverse;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use service::Identity;
use service::auth::{self, AuditPage, Rights};
use service::core::{Cursor, Listing, Page, Status, Uses};
use service::event::{Event, Filter, ForceReleased};
use service::frame;
use service::name::Definition;
use service::protocol::{
    Cluster, Counters, Order, OrderDone, PeerStatus, Question, QuestionAnswer, ToClient, ToNode, Voters,
};
use tokio::time::timeout;

use crate::access::Access;
use crate::connection::Connection;
use crate::endpoints::first_that_answers;
use crate::error::{Error, NoAnswer};

/// A node that does not answer within this time counts as not answering.
const ANSWER_LIMIT: Duration = Duration::from_secs(2);
/// A commit may take until another leader is elected.
const AGREEMENT_LIMIT: Duration = Duration::from_secs(10);

/// A connection to one node, for operators: queries, events and changes. It has no session and holds nothing.
///
/// ```no_run
/// # async fn example() -> Result<(), tokenwood::Error> {
/// use tokenwood::Admin;
///
/// let mut admin = Admin::connect("127.0.0.1:7710").await?;
/// println!("{} members", admin.status().await?.members.len());
/// # Ok(()) }
/// ```
pub struct Admin {
    endpoint: String,
    connection: Connection,
    last_question: u64,
}

/// The status of a node, and the members of its cluster as the node sees them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeStatus {
    /// The status of the node itself.
    pub node: Status,
    /// All members, in the order of ids.
    pub members: Vec<PeerStatus>,
    /// How long the certificate of the node is still valid, if it has one.
    pub certificate_left: Option<Duration>,
}

/// When a slot that was revoked is granted again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrantAgain {
    /// When the holder has released it, or when the holder's promise has certainly expired.
    WhenSafe,
    /// Immediately. **This breaks exclusion**: the holder may not know yet.
    AtOnce,
}

/// What a watcher receives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    /// An event at the node.
    Event(Event),
    /// This many events were dropped here, because this program did not keep up.
    Missed(u64),
}

impl Admin {
    /// Connects to this node, named as `host:port` or `unix:path`, without encryption.
    pub async fn connect(endpoint: &str) -> Result<Admin, Error> {
        Admin::connect_with(endpoint, &Access::default()).await
    }

    /// Connects to this node, and gets in like this.
    pub async fn connect_with(endpoint: &str, access: &Access) -> Result<Admin, Error> {
        match Connection::open(endpoint, access).await {
            Ok(connection) => Ok(Admin { endpoint: endpoint.to_string(), connection, last_question: 0 }),
            Err(why) => Err(Error::NoAnswer { endpoint: endpoint.to_string(), why }),
        }
    }

    /// Connects to this node, which has to be the one with this id.
    pub async fn connect_to(node: u32, endpoint: &str, access: &Access) -> Result<Admin, Error> {
        let admin = Admin::connect_with(endpoint, access).await?;
        let found = admin.node().id;
        if found == node {
            Ok(admin)
        } else {
            Err(admin.no_answer(NoAnswer::OtherNode { found, wanted: node }))
        }
    }

    /// Where the node is.
    pub fn endpoint(&self) -> &str {
        &self.endpoint
    }

    /// The node that answers, in the incarnation in which it greeted.
    pub fn node(&self) -> Identity {
        self.connection.node
    }

    /// Connects to the first of these nodes that answers.
    pub async fn connect_first(endpoints: &[String], access: &Access) -> Result<Admin, Error> {
        let open = |endpoint: String| async move {
            let connection = Connection::open(&endpoint, access).await?;
            Ok(Admin { endpoint, connection, last_question: 0 })
        };
        first_that_answers(endpoints, open).await
    }

    /// The status of the node, and the members of its cluster.
    pub async fn status(&mut self) -> Result<NodeStatus, Error> {
        match self.ask(Question::Status).await? {
            QuestionAnswer::Status { node, members, certificate_left } => {
                Ok(NodeStatus { node, members, certificate_left })
            }
            other => Err(self.unexpected(other)),
        }
    }

    /// The nodes of the cluster, the leader, and the view and the lease of the node.
    pub async fn cluster(&mut self) -> Result<Cluster, Error> {
        match self.ask(Question::Cluster).await? {
            QuestionAnswer::Cluster(cluster) => Ok(cluster),
            other => Err(self.unexpected(other)),
        }
    }

    /// Invites a node. Returns the invitation that it has to be started with; the invitation expires after
    /// this time.
    pub async fn invite(&mut self, expires: Duration) -> Result<String, Error> {
        match self.ask(Question::Invite(expires)).await? {
            QuestionAnswer::Invited(invitation) => Ok(invitation),
            other => Err(self.unexpected(other)),
        }
    }

    /// The invitations that are open: for which node, and until when, in seconds since 1970.
    pub async fn invitations(&mut self) -> Result<Vec<(u32, u64)>, Error> {
        match self.ask(Question::Invitations).await? {
            QuestionAnswer::Invitations(open) => Ok(open),
            other => Err(self.unexpected(other)),
        }
    }

    /// Withdraws the invitation for a node that has not come.
    pub async fn withdraw(&mut self, node: u32) -> Result<(), Error> {
        self.change(Question::Withdraw(node)).await
    }

    /// The voters, and whether a majority of them is there, as far as the node knows.
    pub async fn voters(&mut self) -> Result<Voters, Error> {
        match self.ask(Question::Voters).await? {
            QuestionAnswer::Voters(voters) => Ok(voters),
            other => Err(self.unexpected(other)),
        }
    }

    /// Removes a node that was stopped from the cluster, for good; or the invitation of one that has not come.
    pub async fn remove(&mut self, node: u32) -> Result<(), Error> {
        self.change(Question::Remove(node)).await
    }

    /// Changes the length of node leases.
    pub async fn set_lease(&mut self, length: Duration) -> Result<(), Error> {
        self.change(Question::Lease(length)).await
    }

    async fn change(&mut self, question: Question) -> Result<(), Error> {
        match self.ask(question).await? {
            QuestionAnswer::Done => Ok(()),
            other => Err(self.unexpected(other)),
        }
    }

    async fn ask(&mut self, question: Question) -> Result<QuestionAnswer, Error> {
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

    /// A page of the clients that hold or wait at the node for the names that the filter shows, after this one.
    /// [`Admin::list_matching`] gets all of them.
    pub async fn list_page(&mut self, filter: Filter, after: Option<Cursor>) -> Result<Page, Error> {
        match self.ask(Question::List { filter, after }).await? {
            QuestionAnswer::List(page) => Ok(page),
            other => Err(self.unexpected(other)),
        }
    }

    /// What the node counts. A node that is older than this question hangs up.
    pub async fn counters(&mut self) -> Result<Counters, Error> {
        match self.ask(Question::Counters).await? {
            QuestionAnswer::Counters(counters) => Ok(counters),
            other => Err(self.unexpected(other)),
        }
    }

    /// A page of how much names are used at the node, after this one.
    pub async fn uses_page(&mut self, filter: Filter, after: Option<Cursor>) -> Result<Uses, Error> {
        match self.ask(Question::Uses { filter, after }).await? {
            QuestionAnswer::Uses(uses) => Ok(uses),
            other => Err(self.unexpected(other)),
        }
    }

    /// All clients that hold or wait at the node, by name. A client that comes or goes during the listing may
    /// be in it or not; any other client is in it once.
    pub async fn list(&mut self) -> Result<Vec<Listing>, Error> {
        self.list_matching(Filter::default()).await
    }

    /// The same for the names that the filter shows. The node looks at no others.
    pub async fn list_matching(&mut self, filter: Filter) -> Result<Vec<Listing>, Error> {
        let mut listings = Listings::default();
        loop {
            let page = self.list_page(filter.clone(), listings.next.clone()).await?;
            if !listings.add(page).map_err(|why| self.no_answer(why))? {
                return Ok(listings.sorted());
            }
        }
    }

    /// The home of a name, and all that the node knows of it.
    pub async fn inspect(&mut self, name: &str) -> Result<(u32, Vec<Listing>), Error> {
        let mut listings = Listings::default();
        loop {
            let (home, page) = self.inspect_page(name, listings.next.clone()).await?;
            if !listings.add(page).map_err(|why| self.no_answer(why))? {
                return Ok((home, listings.sorted()));
            }
        }
    }

    /// The home of a name, and a page of what the node knows of it, after this one.
    pub async fn inspect_page(&mut self, name: &str, after: Option<Cursor>) -> Result<(u32, Page), Error> {
        match self.ask(Question::Inspect { name: name.to_string(), after }).await? {
            QuestionAnswer::Inspect { home, page } => Ok((home, page)),
            other => Err(self.unexpected(other)),
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
                        return Err(self.no_answer(NoAnswer::RepeatsPage));
                    }
                    after = next;
                }
                other => return Err(self.unexpected(other)),
            }
        }
    }

    fn no_answer(&self, why: NoAnswer) -> Error {
        Error::NoAnswer { endpoint: self.endpoint.clone(), why }
    }

    /// The error for an answer to another question, or for the node's reason why it did not do what it was
    /// asked for.
    fn unexpected(&self, answer: QuestionAnswer) -> Error {
        match answer {
            QuestionAnswer::NotDone(why) => Error::NotDone(why),
            QuestionAnswer::Refused(refusal) => Error::Refused(refusal),
            _ => self.no_answer(NoAnswer::Unexpected),
        }
    }

    /// Defines a name for the whole cluster. Returns when the change is committed. A defined name can change
    /// only its number of slots.
    pub async fn define(&mut self, name: &str, definition: Definition) -> Result<(), Error> {
        let definition = Some(definition);
        self.order(Order::Define { name: name.into(), definition }).await.map(drop)
    }

    /// Removes the definition of a name from the whole cluster. Returns when the change is committed.
    pub async fn undefine(&mut self, name: &str) -> Result<(), Error> {
        self.order(Order::Define { name: name.into(), definition: None }).await.map(drop)
    }

    /// Changes the number of slots of a defined mutex or semaphore. A client that holds a removed slot keeps
    /// it until it releases it. Returns when the change is committed.
    pub async fn resize(&mut self, name: &str, slots: u32) -> Result<(), Error> {
        self.order(Order::Resize { name: name.into(), slots }).await.map(drop)
    }

    /// Revokes the grant of a client at this node, by slot and fence, as [`Admin::inspect`] lists them.
    /// The node tells the holder.
    pub async fn force_release(
        &mut self,
        name: &str,
        slot: u32,
        fence: u64,
        grant_again: GrantAgain,
    ) -> Result<Vec<ForceReleased>, Error> {
        let at_once = grant_again == GrantAgain::AtOnce;
        self.revoke(Order::ForceRelease { name: name.into(), slot, fence, at_once }).await
    }

    /// The same for a caller of this node, which needs the right. Only a node can say that, with its own certificate; one that is
    /// older than this order hangs up.
    pub async fn force_release_for(
        &mut self,
        caller: auth::Vouched,
        name: &str,
        (slot, fence): (u32, u64),
        grant_again: GrantAgain,
    ) -> Result<Vec<ForceReleased>, Error> {
        let at_once = grant_again == GrantAgain::AtOnce;
        self.revoke(Order::ForceReleaseFor { caller, name: name.into(), slot, fence, at_once }).await
    }

    async fn revoke(&mut self, order: Order) -> Result<Vec<ForceReleased>, Error> {
        match self.order(order).await? {
            OrderDone::ForceReleased(released) => Ok(released),
            OrderDone::Agreed => Ok(Vec::new()),
        }
    }

    /// Who may do what, as far as the node has heard.
    pub async fn rights(&mut self) -> Result<Rights, Error> {
        match self.ask(Question::Rights).await? {
            QuestionAnswer::Rights(rights) => Ok(*rights),
            other => Err(self.unexpected(other)),
        }
    }

    /// Changes rights. Returns when the change is committed.
    pub async fn change_rights(&mut self, change: auth::Change) -> Result<(), Error> {
        self.order(Order::Rights(change)).await.map(drop)
    }

    /// Who did what at the node: a page, after the entry of this number.
    pub async fn audit(&mut self, after: u64) -> Result<AuditPage, Error> {
        match self.ask(Question::Audit(after)).await? {
            QuestionAnswer::Audit(page) => Ok(page),
            other => Err(self.unexpected(other)),
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

    /// Begins to watch: from now on [`Admin::next`] returns the node's events, or those that the filter
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

    /// Waits for the next event, after [`Admin::watch`]. Can be cancelled and called again: nothing is
    /// lost.
    pub async fn next(&mut self) -> Result<Seen, Error> {
        loop {
            let heard = self.connection.next().await;
            match heard.map_err(|why| self.no_answer(why))? {
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

/// Pages of listings, put together.
#[derive(Default)]
struct Listings {
    all: Vec<Listing>,
    next: Option<Cursor>,
}

impl Listings {
    /// Adds a page. Returns whether there is another.
    fn add(&mut self, page: Page) -> Result<bool, NoAnswer> {
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
            return Err(NoAnswer::RepeatsPage);
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
    answer: impl Future<Output = Result<T, NoAnswer>>,
) -> Result<T, Error> {
    let answer = timeout(limit, answer).await;
    let answer = answer.unwrap_or(Err(NoAnswer::TimedOut(limit)));
    answer.map_err(|why| Error::NoAnswer { endpoint: endpoint.to_string(), why })
}
