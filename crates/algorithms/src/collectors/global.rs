//! The rules of the global collector.

use alloc::vec::Vec;

use super::{
    COLLECT, Context, Defect, Epoch, Grouped, LocalGroup, MOMENT, Message, Out, Share, Variant, notes,
};
use crate::algorithm::NodeId;

/// The rules of the global collector.
impl<V: Variant> Grouped<V> {
    pub(super) fn on_group_request(
        &mut self,
        site: &Context<'_, V>,
        from: NodeId,
        group: LocalGroup,
        epoch: Epoch,
        out: &mut Out<'_, V>,
    ) {
        if !self.is_global(site) {
            return self.misdirected(site, Message::GroupRequest(group, epoch), epoch, out);
        }
        if self.asking.contains(&group) {
            return out.never("a group asks and is in the queue already");
        }
        if site.has_defect(Defect::QueuesItself) {
            self.waiting.push(from);
            return self.enqueue(site, site.rules.layout.group_of(site.me), out);
        }
        self.enqueue(site, group, out);
    }

    pub(super) fn on_return(
        &mut self,
        site: &Context<'_, V>,
        tokens: u32,
        epoch: Epoch,
        out: &mut Out<'_, V>,
    ) {
        if self.is_global(site) {
            self.give_back(site, tokens, out);
        } else {
            self.misdirected(site, Message::Return(tokens, epoch), epoch, out);
        }
    }

    pub(super) fn enqueue(&mut self, site: &Context<'_, V>, group: LocalGroup, out: &mut Out<'_, V>) {
        self.asking.push(group);
        if self.collecting(site) {
            if self.asking.len() == 1 {
                out.arm(COLLECT, MOMENT);
            }
        } else if self.available == 0 && !site.has_defect(Defect::SharesFromK) {
            out.note(notes::WAITS);
        } else {
            self.share_out(site, out);
        }
    }

    /// Whether the timer is armed: only then do groups wait while tokens are free.
    pub(super) fn collecting(&self, site: &Context<'_, V>) -> bool {
        site.rules.collect && self.available > 0 && !self.asking.is_empty()
    }

    pub(super) fn share_out(&mut self, site: &Context<'_, V>, out: &mut Out<'_, V>) {
        let Some(&longest) = self.asking.first() else { return };
        if site.has_defect(Defect::OwnGroupFirst) {
            self.asking.sort_by_key(|&group| site.rules.layout.collector(group) != site.me);
        }
        let pool = if site.has_defect(Defect::SharesFromK) { site.tokens } else { self.available };
        let served: Vec<LocalGroup> = {
            let most = self.asking.len().min(pool as usize);
            self.asking.drain(..most).collect()
        };
        let Some(groups) = u32::try_from(served.len()).ok().filter(|&groups| groups > 0) else { return };
        if !served.contains(&longest) {
            out.never("the group that has waited longest is passed over");
        }
        // All shares are computed before the first grant: dealing to the own group may return tokens.
        let shares: Vec<u32> =
            (0..groups).zip(&served).map(|(index, &group)| share(site, pool, groups, index, group)).collect();
        self.available = self.available.saturating_sub(shares.iter().sum());
        let last = served[served.len() - 1];
        for (group, tokens) in served.into_iter().zip(shares) {
            match site.rules.layout.collector(group) {
                collector if collector == site.me => self.deal(site, tokens, out),
                collector => out.send(collector, Message::Grant(tokens)),
            }
        }
        self.granted(site, groups, last, out);
    }
}

/// The number of tokens, out of `pool`, for the group with this index among those served now.
fn share<V: Variant>(site: &Context<'_, V>, pool: u32, groups: u32, index: u32, group: LocalGroup) -> u32 {
    let equal = pool / groups + u32::from(index < pool % groups);
    match site.rules.share {
        Share::Equal => equal,
        Share::Capped => equal.min(site.tokens.div_ceil(site.rules.layout.groups())),
        Share::One if site.rules.layout.collector(group) == site.me => 1 + pool - groups,
        Share::One => 1,
    }
}
