//! The global collector moves (`grc=moves`): the routine that 000 prints and never calls, Broadcast_New_GRC, made to
//! work. After some grants the collector that was served last takes over the free tokens and the waiting groups.
//! Messages that were sent to an earlier global collector are forwarded. Epochs rise along every chain of forwards, so
//! none is endless.

use alloc::vec::Vec;

use super::{Context, Defect, Epoch, FIRST_GLOBAL, Grouped, LocalGroup, Message, Out, Variant, notes};
use crate::algorithm::NodeId;

/// What a collector knows of the global one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Office {
    /// The global collector of the newest epoch that this node knows of.
    pub(super) global: NodeId,
    pub(super) epoch: Epoch,
    /// At the global collector: how many groups it has granted tokens to.
    granted: u32,
    /// Group requests and returns of a newer epoch: the office that they are for is under way to this node.
    early: Vec<Message>,
}

impl Office {
    pub(super) fn start(moves_after: Option<u32>) -> Office {
        let epoch = Epoch::from(moves_after.is_some());
        Office { global: FIRST_GLOBAL, epoch, granted: 0, early: Vec::new() }
    }

    pub(super) fn early_tokens(&self) -> u32 {
        let tokens = |message: &Message| if let Message::Return(tokens, _) = message { *tokens } else { 0 };
        self.early.iter().map(tokens).sum()
    }
}

impl<V: Variant> Grouped<V> {
    pub(super) fn is_global(&self, site: &Context<'_, V>) -> bool {
        self.office.global == site.me
    }

    /// The global collector has granted tokens to so many groups, to this one last. If it has granted enough, the
    /// collector of that group becomes the global one.
    pub(super) fn granted(
        &mut self,
        site: &Context<'_, V>,
        groups: u32,
        last: LocalGroup,
        out: &mut Out<'_, V>,
    ) {
        let Some(moves_after) = site.rules.moves_after else { return };
        let heir = site.rules.layout.collector(last);
        // Dealing to its own group may have moved the office already.
        if !self.is_global(site) {
            return;
        }
        self.office.granted += groups;
        if self.office.granted < moves_after || heir == site.me {
            return;
        }
        out.note(notes::MOVED);
        let epoch = self.office.epoch + 1;
        self.office = Office { global: heir, epoch, granted: 0, early: Vec::new() };
        let (mut available, mut asking) =
            (core::mem::take(&mut self.available), core::mem::take(&mut self.asking));
        if site.has_defect(Defect::AnnouncesOnly) {
            (available, asking) = (0, Vec::new());
        }
        if site.has_defect(Defect::OverWithoutQueue) {
            asking.clear();
        }
        out.send(heir, Message::Over { epoch, available, asking });
        let layout = site.rules.layout;
        let others = (0..layout.groups()).map(|group| layout.collector(group));
        for to in others.filter(|&to| to != site.me && to != heir) {
            out.send(to, Message::New(heir, epoch));
        }
    }

    pub(super) fn take_over(
        &mut self,
        site: &Context<'_, V>,
        epoch: Epoch,
        available: u32,
        asking: Vec<LocalGroup>,
        out: &mut Out<'_, V>,
    ) {
        let early = core::mem::take(&mut self.office.early);
        self.office = Office { global: site.me, epoch, granted: 0, early: Vec::new() };
        self.available += available;
        self.asking = asking;
        for message in early {
            match message {
                Message::GroupRequest(group, _) => self.asking.push(group),
                Message::Return(tokens, _) => self.available += tokens,
                _ => out.never("only messages for the global collector are kept"),
            }
        }
        if self.available > 0 {
            self.share_out(site, out);
        }
    }

    pub(super) fn on_new(
        &mut self,
        site: &Context<'_, V>,
        global: NodeId,
        epoch: Epoch,
        out: &mut Out<'_, V>,
    ) {
        if epoch <= self.office.epoch {
            return;
        }
        (self.office.global, self.office.epoch) = (global, epoch);
        for message in core::mem::take(&mut self.office.early) {
            if let Message::GroupRequest(_, epoch) | Message::Return(_, epoch) = message {
                self.misdirected(site, message, epoch, out);
            }
        }
    }

    /// A message for the global collector, which this node is not: not any more, or not yet.
    pub(super) fn misdirected(
        &mut self,
        site: &Context<'_, V>,
        message: Message,
        epoch: Epoch,
        out: &mut Out<'_, V>,
    ) {
        if epoch > self.office.epoch && !site.has_defect(Defect::EarlyForwarded) {
            out.note(notes::EARLY);
            return self.office.early.push(message);
        }
        if epoch > self.office.epoch {
            out.never("a message is forwarded to an earlier global collector");
        }
        out.note(notes::FORWARDED);
        let (to, epoch) = (self.office.global, self.office.epoch);
        match message {
            Message::GroupRequest(group, _) if !site.has_defect(Defect::LateRequestDropped) => {
                out.send(to, Message::GroupRequest(group, epoch));
            }
            Message::Return(tokens, _) if !site.has_defect(Defect::LateReturnDropped) => {
                out.send(to, Message::Return(tokens, epoch));
            }
            _ => {}
        }
    }
}
