//! What a member accepts from peers. A message is checked before it reaches the core; a peer that breaks the rules is
//! disconnected, barred for the rest of the view and named to the leader, which parts the two.
//!
//! What one message says by itself, and what this member knows of its sender, is checked here. The core finds messages that
//! contradict the state of a resource (a token that is here already, for instance); they change nothing. A node that finds its own
//! state impossible, without a message, ends: its assertions stay on.

use std::fmt;

use super::{Effect, Member, Note};
use crate::core::{PeerContent, PeerMessage};
use crate::name;
use crate::resource::ResourceMessage;
use crate::time::Time;
use crate::view::MemberIndex;

/// A rule that a peer broke.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Breach {
    /// The payload is malformed.
    Malformed(String),
    /// The name is not a valid name of a resource.
    Name,
    /// The definition is not valid.
    Definition,
    /// The content does not go with the definition.
    OtherKind,
    /// It names a node, a slot or a number that is out of range.
    OutOfRange,
    /// It contradicts what this node knows of the resource.
    Contradiction(&'static str),
    /// A report came after the end mark of its sender.
    ReportAfterEnd,
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Breach::Malformed(why) => write!(f, "it sent a malformed message: {why}"),
            Breach::Name => f.write_str("it sent an invalid resource name"),
            Breach::Definition => f.write_str("it sent an invalid definition"),
            Breach::OtherKind => f.write_str("it sent a message for another kind of resource"),
            Breach::OutOfRange => f.write_str("it sent a node, slot or number that is out of range"),
            Breach::Contradiction(what) => write!(f, "its message contradicts what is known here: {what}"),
            Breach::ReportAfterEnd => f.write_str("it sent a report after its end mark"),
        }
    }
}

impl Member {
    /// A peer of the view sent a message; each comes once, and in order. A message of a later view waits,
    /// with the driver, until this member has entered that view.
    pub fn receive(&mut self, from: u32, message: PeerMessage, now: Time, effects: &mut Vec<Effect>) {
        let Some(index) = self.view().index_of(from).filter(|_| !self.barred.contains(&from)) else { return };
        match self.judge(index, &message) {
            Ok(()) => {
                self.core.receive(index, message, now, &mut self.out);
                self.pass_on(effects);
            }
            Err(breach) => self.bar(from, breach, effects),
        }
    }

    /// A peer of the view sent bytes that are no message.
    pub fn received_nonsense(&mut self, from: u32, why: String, effects: &mut Vec<Effect>) {
        if self.view().index_of(from).is_some() && !self.barred.contains(&from) {
            self.bar(from, Breach::Malformed(why), effects);
        }
    }

    pub(super) fn bar(&mut self, peer: u32, why: Breach, effects: &mut Vec<Effect>) {
        self.barred.insert(peer);
        effects.push(Effect::Note(Note::Breach { peer, why: why.clone() }));
        effects.push(Effect::Disconnect { peer, why });
    }

    fn judge(&self, from: MemberIndex, message: &PeerMessage) -> Result<(), Breach> {
        let PeerContent::Resource { name, definition, message: about } = &message.content else {
            return Ok(());
        };
        name::validate(name).map_err(|_| Breach::Name)?;
        definition.validate().map_err(|_| Breach::Definition)?;
        let of_this_view = message.epoch == self.view().epoch;
        if matches!(about, ResourceMessage::Report(_)) && of_this_view && !self.core.expects_report(from) {
            return Err(Breach::ReportAfterEnd);
        }
        if !about.fits(definition.kind()) {
            return Err(Breach::OtherKind);
        }
        // Indices are those of the view that the message belongs to; the core drops messages of others.
        let within = !of_this_view || about.is_within(&self.view().bounds());
        within.then_some(()).ok_or(Breach::OutOfRange)
    }
}
