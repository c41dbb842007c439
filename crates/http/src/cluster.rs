//! What the other nodes know, for callers that may read it.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use node::Host;
use schemars::JsonSchema;
use serde::Serialize;
use service::auth::{Action, Subject, Vouched};
use service::core::{Cursor, Held, Listing, Page, Turns};
use service::event::Filter;
use service::protocol::{Cluster, Question, QuestionAnswer};
use tokenwood::{Access, Admin, ForceReleased, GrantAgain};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::caller::Caller;
use crate::options::Kind;
use crate::problem::{NOT_FOUND, Problem, WRONG_NODE};
use crate::shape::{Client, Defined};
use crate::talk::ask;

/// A node that does not answer within this time is left out.
const LONGEST_ANSWER: Duration = Duration::from_secs(2);

/// The nodes of the cluster.
pub(crate) async fn members(host: &Host, caller: &Caller) -> Result<Cluster, Problem> {
    match ask(host, caller.caller.clone(), Question::Cluster).await? {
        QuestionAnswer::Cluster(cluster) => Ok(cluster),
        _ => Err(Problem::unavailable("the node answered another question")),
    }
}

/// How other nodes are asked for a caller: they know this node by its certificate, or the caller by its token.
pub(crate) fn access(host: &Host, caller: &Caller) -> Access {
    let token = if host.encryption().credentials().is_some() { None } else { caller.token.clone() };
    Access { encryption: host.encryption().clone(), token }
}

/// Asks these other nodes. A node that does not answer in time is there without an answer.
pub(crate) async fn ask_others<T, F>(
    host: &Host,
    caller: &Caller,
    nodes: Vec<(u32, String)>,
    question: impl Fn(u32, Admin) -> F + Clone + Send + 'static,
) -> BTreeMap<u32, Option<T>>
where
    T: Send + 'static,
    F: Future<Output = Result<T, tokenwood::Error>> + Send + 'static,
{
    let access = access(host, caller);
    let mut asked = JoinSet::new();
    for (id, endpoint) in nodes {
        let (access, question) = (access.clone(), question.clone());
        asked.spawn(async move {
            let answer = timeout(LONGEST_ANSWER, async move {
                let admin = Admin::connect_with(&endpoint, &access).await?;
                question(id, admin).await
            });
            (id, answer.await.ok().and_then(Result::ok))
        });
    }
    asked.join_all().await.into_iter().collect()
}

/// The other members, and where they serve clients.
pub(crate) async fn others(host: &Host, caller: &Caller) -> Result<Vec<(u32, String)>, Problem> {
    let nodes = members(host, caller).await?.nodes.into_iter().filter(|node| node.id != host.id());
    Ok(nodes.filter_map(|node| Some((node.id, node.clients?))).collect())
}

/// Whether a caller may do this with this name, as far as this node has heard: for what other nodes are asked only then.
pub(crate) fn may(host: &Host, caller: &Caller, action: Action, name: &str) -> bool {
    let registry = host.control().registry().borrow().clone();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    Subject::of(&registry.rights, &caller.caller.shown).decide(action, name, now).allowed
}

/// Revokes a grant at another node, which decides whether the caller may. With certificates that node would take this one for
/// the caller, so this one says for whom it speaks.
pub(crate) async fn force_at(
    host: &Host,
    caller: &Caller,
    node: u32,
    (name, slot, fence, again): (&str, u32, u64, GrantAgain),
) -> Result<Vec<ForceReleased>, Problem> {
    // Callers that may revoke a grant need not be allowed to see the members.
    let registry = host.control().registry().borrow().clone();
    let Some(member) = registry.members.get(&node) else {
        return Err(Problem::new(&NOT_FOUND, format!("there is no node {node}")));
    };
    let vouched = Vouched::of(&caller.caller);
    let has_certificates = host.encryption().credentials().is_some();
    if has_certificates && vouched.is_none() {
        let detail = format!("node {node} keeps the session of the holder, and no node speaks for another");
        return Err(Problem::new(&WRONG_NODE, detail).with_node(node));
    }
    let forced = async {
        let mut admin = Admin::connect_to(node, &member.clients, &access(host, caller)).await?;
        match vouched.filter(|_| has_certificates) {
            Some(vouched) => admin.force_release_for(vouched, name, (slot, fence), again).await,
            None => admin.force_release(name, slot, fence, again).await,
        }
    };
    forced.await.map_err(|error| match error {
        tokenwood::Error::Refused(refusal) => refusal.into(),
        error => Problem::unavailable(error.to_string()),
    })
}

/// What nodes know of names.
#[derive(Default)]
pub(crate) struct Found {
    /// Each with the node that told it.
    pub(crate) listings: Vec<(u32, Listing)>,
    /// Where the nodes that have more go on.
    pub(crate) next: BTreeMap<u32, Cursor>,
    /// The nodes that did not answer in time.
    pub(crate) no_answer: Vec<u32>,
}

impl Found {
    fn add(&mut self, node: u32, page: Option<Page>) {
        let Some(page) = page else { return self.no_answer.push(node) };
        self.listings.extend(page.listings.into_iter().map(|listing| (node, listing)));
        self.next.extend(page.next.map(|next| (node, next)));
    }
}

/// What all nodes that answer know of a name. This node decides whether the caller may read it.
pub(crate) async fn inspect(host: &Host, caller: &Caller, name: &str) -> Result<Found, Problem> {
    let question = Question::Inspect { name: name.to_string(), after: None };
    let mut found = Found::default();
    if let QuestionAnswer::Inspect { page, .. } = ask(host, caller.caller.clone(), question).await? {
        found.add(host.id(), Some(Page { next: None, ..page }));
    }
    // Callers that may read a name need not be allowed to see the members.
    let others = others(host, caller).await.unwrap_or_default();
    let name = name.to_string();
    let question = move |_, mut admin: Admin| {
        let name = name.clone();
        async move { Ok(Page { listings: admin.inspect(&name).await?.1, next: None }) }
    };
    for (node, page) in ask_others(host, caller, others, question).await {
        found.add(node, page);
    }
    Ok(found)
}

/// A page of what nodes know of names: of this node, or of all of them, or of those that had more after the page before.
pub(crate) async fn list(
    host: &Host,
    caller: &Caller,
    filter: Filter,
    after: Option<BTreeMap<u32, Cursor>>,
    all: bool,
) -> Result<Found, Problem> {
    let asks = |node: u32| after.as_ref().is_none_or(|after| after.contains_key(&node));
    let begins = |node: u32| after.as_ref().and_then(|after| after.get(&node).cloned());
    let mut found = Found::default();
    // This node is asked in any case: it decides whether the caller may list.
    let question = Question::List { filter: filter.clone(), after: begins(host.id()) };
    let QuestionAnswer::List(page) = ask(host, caller.caller.clone(), question).await? else {
        return Err(Problem::unavailable("the node answered another question"));
    };
    if asks(host.id()) {
        found.add(host.id(), Some(page));
    }
    if !all {
        return Ok(found);
    }
    // The others may take this node for the caller, so it asks them only for what the caller may read.
    let registry = host.control().registry().borrow().clone();
    let Some(filter) = Subject::of(&registry.rights, &caller.caller.shown).readable(&filter) else {
        return Ok(found);
    };
    let others = others(host, caller).await?.into_iter().filter(|(node, _)| asks(*node)).collect();
    let after = after.clone();
    let question = move |node, mut admin: Admin| {
        let (filter, after) = (filter.clone(), after.as_ref().and_then(|after| after.get(&node).cloned()));
        async move { admin.list_page(filter, after).await }
    };
    for (node, page) in ask_others(host, caller, others, question).await {
        found.add(node, page);
    }
    Ok(found)
}

/// A problem with who holds the name and how many wait, as far as the caller may know.
pub(crate) async fn with_holders(host: &Host, caller: &Caller, name: &str, problem: Problem) -> Problem {
    let Ok(found) = inspect(host, caller, name).await else { return problem };
    let (mut holders, waiters): (Vec<&Held>, Vec<&Held>) =
        clients(&found.listings).into_iter().partition(|client| client.granted.is_some());
    holders.sort_by_key(|client| Reverse(client.since));
    problem.with_holders(holders.into_iter().map(Client::from).collect(), waiters.len() as u64)
}

fn clients(listings: &[(u32, Listing)]) -> Vec<&Held> {
    listings.iter().flat_map(|(_, listing)| &listing.clients).collect()
}

/// The token of a slot: a node needs it to grant the slot.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Token {
    slot: u32,
    /// Where it is.
    node: u32,
    /// The nodes that get it next, in their order.
    next: Vec<u32>,
}

/// A pointer: `from` would send a request for the token of the slot to `to`. Pointers lead to the token, or to a node that
/// waits for it.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Pointer {
    slot: u32,
    from: u32,
    to: u32,
}

/// A name, with all its clients.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Inspected {
    name: String,
    /// Null if no node knows the name: then it is free, and can become anything.
    kind: Option<Kind>,
    /// How many clients may hold it at once, if it is a mutex or a semaphore.
    slots: Option<u32>,
    /// The node that is the home of the name.
    home: Option<u32>,
    /// First those that hold, the longest first; then those that wait, the next first, as far as the tokens tell.
    clients: Vec<Client>,
    /// Where its tokens are, by slot. One that travels between nodes is nowhere for a moment.
    tokens: Vec<Token>,
    /// How requests find the tokens, by slot and node: at most 256 of each node. A node that waits for a token has none for it,
    /// nor does a node that does not know the name, which would ask the home.
    pointers: Vec<Pointer>,
    /// Nodes that did not answer in time: their clients are missing.
    no_answer: Vec<u32>,
}

/// A name, with all its clients.
pub(crate) fn described(name: &str, found: &Found) -> Inspected {
    let turns = Turns::of(found.listings.iter().map(|(node, listing)| (*node, listing)));
    let mut clients = clients(&found.listings);
    clients.sort_by_key(|client| turns.turn(client));
    let first = found.listings.first().map(|(_, listing)| listing);
    let tokens = found.listings.iter().flat_map(|(node, listing)| {
        let token = |(slot, next): &(u32, Vec<u32>)| Token { slot: *slot, node: *node, next: next.clone() };
        listing.slots.iter().map(token)
    });
    let mut tokens: Vec<Token> = tokens.collect();
    tokens.sort_by_key(|token| token.slot);
    let pointers = found.listings.iter().flat_map(|(from, listing)| {
        listing.pointers.iter().map(|&(slot, to)| Pointer { slot, from: *from, to })
    });
    let mut pointers: Vec<Pointer> = pointers.collect();
    pointers.sort_by_key(|pointer| (pointer.slot, pointer.from));
    let defined = first.map(|listing| Defined::from(listing.definition));
    Inspected {
        name: name.to_string(),
        kind: defined.map(|defined| defined.kind),
        slots: defined.and_then(|defined| defined.slots),
        home: first.map(|listing| listing.home),
        clients: clients.into_iter().map(Client::from).collect(),
        tokens,
        pointers,
        no_answer: found.no_answer.clone(),
    }
}
