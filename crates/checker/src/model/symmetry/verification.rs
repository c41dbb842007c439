//! The proof that renamed parts behave alike. Nothing is taken on trust: the first time that the search asks about
//! a part, the answers for all its renamings are computed and compared. That costs no more than the search
//! without symmetry, which asks about each of those parts as well.

use algorithms::{Census, Property, Renaming};
use sync::IgnorePoison;

use super::super::{Cause, InboxInfo, Model, Move, NodeInfo, Outcome};
use super::Exchange;
use crate::fast_hash::FastSet;
use crate::row::Budget;

/// A question about parts whose answer is verified.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Question {
    Node(u32),
    Inbox(u32),
    Delivery(u32, u32),
}

/// What a step does, in a form that can be compared: the order of different steps, and of messages to
/// different nodes, has no meaning, and neither has which client is which in the state that it leads to.
type Summary = (Option<(Cause, Budget)>, u32, Vec<(u32, u32)>, u64, Option<Property>);

/// What an inbox allows and counts, in the same form.
type InboxSummary = (Vec<(u32, u32)>, Option<Census>, Option<u32>);

/// What an inbox is called in an error.
pub(super) const MESSAGES: &str = "the messages on their way to a node";

impl Cause {
    /// The same cause after clients were renamed. Any idle client may make a request: which one does, has no
    /// meaning.
    fn renamed(self, clients: Option<&Renaming>) -> Cause {
        let of = |client| clients.map_or(client, |renaming| renaming.of(client));
        match self {
            Cause::Request(_, groups) => Cause::Request(0, groups),
            Cause::Cancel(client) => Cause::Cancel(of(client)),
            Cause::Exit(client) => Cause::Exit(of(client)),
            Cause::Expire(_) | Cause::Crash | Cause::Restart => self,
        }
    }
}

impl Model {
    /// Verifies that the node behaves as it does under every renaming.
    pub(in crate::model) fn verify_node(&self, node: u32, info: &NodeInfo) {
        if !self.is_unverified(Question::Node(node)) {
            return;
        }
        let mut compared = FastSet::from_iter([node]);
        self.for_each_exchange(|exchange| {
            let other = self.rename_node(node, exchange);
            self.is_unverified(Question::Node(other));
            if !compared.insert(other) {
                return;
            }
            let found = self.node_alone(other);
            let lists = [
                (&info.moves, &found.moves),
                (&info.when_busy, &found.when_busy),
                (&info.when_silent, &found.when_silent),
            ];
            let mut alike = lists.into_iter().all(|(expected, found)| {
                self.summaries(expected, Some(exchange)) == self.summaries(found, None)
            });
            alike &= info.census.as_ref().map(|census| census.renamed(exchange.nodes)) == found.census;
            alike &= (info.done, info.fresh) == (found.done, found.fresh);
            alike &= info.ticked.map(|ticked| self.rename_node(ticked, exchange)) == found.ticked;
            if !alike {
                self.report_unlike(&self.describe_node(node), exchange);
            }
        });
    }

    /// Verifies that the inbox means what it means under every renaming. Messages name no clients, so renamed
    /// clients change nothing.
    pub(in crate::model) fn verify_inbox(&self, inbox: u32, info: &InboxInfo) {
        if !self.is_unverified(Question::Inbox(inbox)) {
            return;
        }
        let mut compared = FastSet::from_iter([inbox]);
        self.for_each_exchange(|exchange| {
            let other = self.rename_inbox(inbox, exchange.nodes);
            self.is_unverified(Question::Inbox(other));
            if !compared.insert(other) {
                return;
            }
            let found = self.inbox_alone(other);
            let expected = self.inbox_summary(info, Some(exchange.nodes));
            if expected != self.inbox_summary(&found, None) {
                self.report_unlike(MESSAGES, exchange);
            }
        });
    }

    /// Verifies that a message has the same effects on a node under every renaming.
    pub(in crate::model) fn verify_delivery(&self, node: u32, envelope: u32, outcomes: &[Outcome]) {
        if !self.is_unverified(Question::Delivery(node, envelope)) {
            return;
        }
        let mut compared = FastSet::from_iter([(node, envelope)]);
        self.for_each_exchange(|exchange| {
            let to = self.rename_node(node, exchange);
            let other = self.rename_envelope(envelope, exchange.nodes);
            self.is_unverified(Question::Delivery(to, other));
            if !compared.insert((to, other)) {
                return;
            }
            let found = self.deliver_alone(to, other);
            let summaries = |outcomes: &[Outcome], exchange| {
                let mut all: Vec<Summary> =
                    outcomes.iter().map(|outcome| self.summary(None, outcome, exchange)).collect();
                all.sort();
                all
            };
            if summaries(outcomes, Some(exchange)) != summaries(&found, None) {
                let what = format!("{} to {}", self.envelope(envelope).message, self.describe_node(node));
                self.report_unlike(&what, exchange);
            }
        });
    }

    /// Calls `verify` with every renaming in use except the identity.
    fn for_each_exchange(&self, verify: impl FnMut(Exchange<'_>)) {
        let (nodes, clients) = (self.node_renamings(), self.client_renamings());
        let all =
            nodes.iter().flat_map(|nodes| clients.iter().map(move |clients| Exchange { nodes, clients }));
        all.skip(1).for_each(verify);
    }

    /// Whether a question has not been verified under all renamings. It is from now on.
    fn is_unverified(&self, question: Question) -> bool {
        self.renamings
            .as_ref()
            .is_some_and(|renamings| renamings.verified.lock().ignore_poison().insert(question))
    }

    pub(super) fn describe_node(&self, node: u32) -> String {
        format!("{:?}", self.nodes.get(node).node.state)
    }

    /// A part and its renaming do not behave alike.
    fn report_unlike(&self, what: &str, exchange: Exchange<'_>) {
        self.report(&format!("renaming {exchange} changes more than names in what happens with {what}"));
    }

    /// A renaming cannot be undone, so a renamed part may stand for one that was never compared with it.
    pub(super) fn report_lossy(&self, what: &str, exchange: Exchange<'_>) {
        self.report(&format!("renaming {exchange} and back changes {what}"));
    }

    fn report(&self, why: &str) {
        let name = self.system.info().name;
        let Some(renamings) = &self.renamings else { return };
        renamings.broken.get_or_init(|| {
            format!("{name} is not symmetric here, although it says so: {why}. Explore it without --symmetry")
        });
    }

    fn summaries(&self, moves: &[Move], exchange: Option<Exchange<'_>>) -> Vec<Summary> {
        let clients = exchange.map(|exchange| exchange.clients);
        let summary = |step: &Move| {
            self.summary(Some((step.cause.renamed(clients), step.cost)), &step.outcome, exchange)
        };
        let mut all: Vec<Summary> = moves.iter().map(summary).collect();
        all.sort();
        all
    }

    fn summary(
        &self,
        cause: Option<(Cause, Budget)>,
        outcome: &Outcome,
        exchange: Option<Exchange<'_>>,
    ) -> Summary {
        let (mut node, mut sends) = (outcome.node, outcome.sends.to_vec());
        if let Some(exchange) = exchange {
            node = self.rename_nodes_in(node, exchange.nodes);
            for (to, envelope) in &mut sends {
                (*to, *envelope) = (exchange.nodes.of(*to), self.rename_envelope(*envelope, exchange.nodes));
            }
        }
        // Messages to one node keep their order.
        sends.sort_by_key(|&(to, _)| to);
        let violated = outcome.violation.as_ref().map(|violation| violation.property);
        (cause, self.smallest_form(node), sends, outcome.notes, violated)
    }

    fn inbox_summary(&self, info: &InboxInfo, renaming: Option<&Renaming>) -> InboxSummary {
        let InboxInfo { arrivals, census, ticked } = info;
        let Some(renaming) = renaming else {
            let mut arrivals = arrivals.clone();
            arrivals.sort_unstable();
            return (arrivals, census.clone(), *ticked);
        };
        let renamed = arrivals.iter().map(|&(envelope, rest)| {
            (self.rename_envelope(envelope, renaming), self.rename_inbox(rest, renaming))
        });
        let mut arrivals: Vec<(u32, u32)> = renamed.collect();
        arrivals.sort_unstable();
        let ticked = ticked.map(|ticked| self.rename_inbox(ticked, renaming));
        (arrivals, census.as_ref().map(|census| census.renamed(renaming)), ticked)
    }
}
