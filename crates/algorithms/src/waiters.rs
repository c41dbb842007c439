//! Clients that wait at a node, first come first served. Any of them can cancel at little cost, however many
//! wait, and the changes of one message can be undone.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;
use core::fmt;
use core::hash::{Hash, Hasher};

use crate::algorithm::ClientId;
use crate::renaming::Renaming;

/// Up to this many are searched one by one. Beyond that there is an index.
const FEW: usize = 64;

/// Waiting clients, the oldest first, each with a value of type `T`.
#[derive(Clone)]
pub struct Waiters<T = ()> {
    /// All waiters, if there is no index.
    few: VecDeque<(ClientId, T)>,
    many: Option<Box<Many<T>>>,
}

/// Too many waiters to search one by one.
#[derive(Clone)]
struct Many<T> {
    /// By their turns: numbers that rise with every new waiter.
    by_turn: BTreeMap<u64, (ClientId, T)>,
    turns: BTreeMap<ClientId, u64>,
    last: u64,
    journal: Option<Journal<T>>,
}

/// The changes since a mark, so that they can be undone.
#[derive(Clone)]
struct Journal<T> {
    /// The last turn at the mark.
    last: u64,
    /// The waiters removed since then.
    gone: Vec<(u64, (ClientId, T))>,
    /// All waiters at the mark, if more than removals happened since.
    all: Option<BTreeMap<u64, (ClientId, T)>>,
}

/// The state that [`Waiters::undo`] goes back to. With many waiters it is a journal inside [`Waiters`].
pub(crate) struct Mark<T>(Option<VecDeque<(ClientId, T)>>);

impl<T> Waiters<T> {
    /// No waiters.
    pub const fn new() -> Waiters<T> {
        Waiters { few: VecDeque::new(), many: None }
    }

    /// Whether no client waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of waiters.
    pub fn len(&self) -> usize {
        self.many.as_ref().map_or(self.few.len(), |many| many.by_turn.len())
    }

    /// All waiters, the oldest first.
    pub fn iter(&self) -> impl Iterator<Item = (ClientId, &T)> {
        let many = self.many.iter().flat_map(|many| many.by_turn.values());
        self.few.iter().chain(many).map(|(client, what)| (*client, what))
    }

    /// The oldest waiter.
    pub fn front(&self) -> Option<(ClientId, &T)> {
        let (client, what) = match &self.many {
            Some(many) => many.by_turn.first_key_value()?.1,
            None => self.few.front()?,
        };
        Some((*client, what))
    }
}

#[cfg(test)]
impl<T> Waiters<T> {
    /// The number of waiters that fit without an allocation.
    pub(crate) fn capacity(&self) -> usize {
        self.few.capacity()
    }
}

impl<T: Clone> Waiters<T> {
    /// Adds a client that does not wait yet.
    pub fn push_back(&mut self, client: ClientId, what: T) {
        if self.many.is_none() && self.few.len() == FEW {
            let mut many = Many::new();
            self.few.drain(..).for_each(|(client, what)| many.push_back(client, what));
            self.many = Some(Box::new(many));
        }
        match &mut self.many {
            Some(many) => many.push_back(client, what),
            None => self.few.push_back((client, what)),
        }
    }

    /// Removes the oldest waiter.
    pub fn pop_front(&mut self) -> Option<(ClientId, T)> {
        let Some(many) = &mut self.many else { return self.few.pop_front() };
        let turn = *many.by_turn.first_key_value()?.0;
        let first = many.take(turn);
        self.drop_index();
        first
    }

    /// Removes a client. Returns its value, if it waited.
    pub fn remove(&mut self, client: ClientId) -> Option<T> {
        let Some(many) = &mut self.many else {
            let index = self.few.iter().position(|(waiter, _)| *waiter == client)?;
            return self.few.remove(index).map(|(_, what)| what);
        };
        let turn = *many.turns.get(&client)?;
        let (_, what) = many.take(turn)?;
        self.drop_index();
        Some(what)
    }

    /// Keeps only the waiters for which `keeps` is true. Asks for each of them, the oldest first.
    pub fn retain(&mut self, mut keeps: impl FnMut(ClientId, &T) -> bool) {
        let Some(many) = &mut self.many else {
            return self.few.retain(|(client, what)| keeps(*client, what));
        };
        let leave = many.by_turn.iter().filter(|(_, (client, what))| !keeps(*client, what));
        let leave: Vec<u64> = leave.map(|(turn, _)| *turn).collect();
        leave.into_iter().for_each(|turn| _ = many.take(turn));
        self.drop_index();
    }

    /// Changes the value of every waiter.
    pub fn for_each(&mut self, mut change: impl FnMut(&mut T)) {
        let Some(many) = &mut self.many else {
            return self.few.iter_mut().for_each(|(_, what)| change(what));
        };
        if let Some(journal) = many.journal.as_mut().filter(|journal| journal.all.is_none()) {
            let mut all = many.by_turn.clone();
            all.extend(journal.gone.drain(..));
            all.retain(|turn, _| *turn <= journal.last);
            journal.all = Some(all);
        }
        many.by_turn.values_mut().for_each(|(_, what)| change(what));
    }

    /// Gives the clients other numbers. Nothing is undone across that.
    pub(crate) fn rename(&mut self, renaming: &Renaming) {
        let mut renamed = Waiters::new();
        self.iter().for_each(|(client, what)| renamed.push_back(renaming.of(client), what.clone()));
        *self = renamed;
    }

    /// Starts a journal: changes can be undone until [`Waiters::keep`].
    pub(crate) fn mark(&mut self) -> Mark<T> {
        let Some(many) = &mut self.many else { return Mark(Some(self.few.clone())) };
        many.journal = Some(Journal { last: many.last, gone: Vec::new(), all: None });
        Mark(None)
    }

    /// Keeps the changes since the mark.
    pub(crate) fn keep(&mut self) {
        if let Some(many) = &mut self.many {
            many.journal = None;
            self.drop_index();
        }
    }

    /// Undoes the changes since the mark.
    pub(crate) fn undo(&mut self, mark: Mark<T>) {
        if let Some(few) = mark.0 {
            (self.few, self.many) = (few, None);
            return;
        }
        let Some(many) = &mut self.many else { return };
        let Some(Journal { last, gone, all }) = many.journal.take() else { return };
        match all {
            Some(all) => many.by_turn = all,
            None => {
                many.by_turn.split_off(&(last + 1));
                many.by_turn.extend(gone.into_iter().filter(|(turn, _)| *turn <= last));
            }
        }
        many.last = last;
        many.turns = many.by_turn.iter().map(|(turn, (client, _))| (*client, *turn)).collect();
    }

    /// Drops the index, if few waiters are left.
    fn drop_index(&mut self) {
        let is_small = |many: &Many<T>| many.journal.is_none() && many.by_turn.len() <= FEW / 4;
        if let Some(many) = self.many.take_if(|many| is_small(many)) {
            self.few = many.by_turn.into_values().collect();
        }
    }
}

impl<T> Many<T> {
    fn new() -> Many<T> {
        Many { by_turn: BTreeMap::new(), turns: BTreeMap::new(), last: 0, journal: None }
    }

    fn push_back(&mut self, client: ClientId, what: T) {
        self.last += 1;
        self.by_turn.insert(self.last, (client, what));
        self.turns.insert(client, self.last);
    }
}

impl<T: Clone> Many<T> {
    fn take(&mut self, turn: u64) -> Option<(ClientId, T)> {
        let gone = self.by_turn.remove(&turn)?;
        self.turns.remove(&gone.0);
        if let Some(journal) = self.journal.as_mut().filter(|journal| journal.all.is_none()) {
            journal.gone.push((turn, gone.clone()));
        }
        Some(gone)
    }
}

impl<T> Default for Waiters<T> {
    fn default() -> Waiters<T> {
        Waiters::new()
    }
}

/// Two queues are equal if the same clients wait in the same order; an index makes no difference.
impl<T: PartialEq> PartialEq for Waiters<T> {
    fn eq(&self, other: &Waiters<T>) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

impl<T: Eq> Eq for Waiters<T> {}

impl<T: Hash> Hash for Waiters<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.len().hash(state);
        self.iter().for_each(|waiter| waiter.hash(state));
    }
}

impl<T: fmt::Debug> fmt::Debug for Waiters<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use random::Random;

    use super::*;

    /// The reference model of [`Waiters`].
    type Model = VecDeque<(ClientId, u32)>;

    fn change(waiters: &mut Waiters<u32>, model: &mut Model, random: &mut Random, next: &mut ClientId) {
        match random.below(8) {
            0..4 => {
                *next += 1;
                waiters.push_back(*next, *next % 5);
                model.push_back((*next, *next % 5));
            }
            4 => assert_eq!(waiters.pop_front(), model.pop_front()),
            5 | 6 => {
                let client = random.below(u64::from(*next) + 2) as ClientId;
                let index = model.iter().position(|(other, _)| *other == client);
                assert_eq!(
                    waiters.remove(client),
                    index.and_then(|index| model.remove(index)).map(|it| it.1)
                );
            }
            _ if random.below(20) == 0 => {
                waiters.retain(|_, what| *what != 3);
                model.retain(|(_, what)| *what != 3);
                waiters.for_each(|what| *what += 1);
                model.iter_mut().for_each(|(_, what)| *what += 1);
            }
            _ => {}
        }
    }

    fn check(waiters: &Waiters<u32>, model: &Model) {
        assert!(waiters.iter().eq(model.iter().map(|(client, what)| (*client, what))));
        assert_eq!((waiters.len(), waiters.is_empty()), (model.len(), model.is_empty()));
        assert_eq!(waiters.front(), model.front().map(|(client, what)| (*client, what)));
        let mut fresh = Waiters::new();
        model.iter().for_each(|(client, what)| fresh.push_back(*client, *what));
        assert_eq!(*waiters, fresh);
    }

    #[test]
    fn it_is_a_queue_however_many_wait() {
        for seed in 0..20 {
            let (mut waiters, mut model) = (Waiters::new(), Model::new());
            let (mut random, mut next) = (Random::new(seed), 0);
            for step in 0..600 {
                change(&mut waiters, &mut model, &mut random, &mut next);
                if step % 10 == 0 {
                    check(&waiters, &model);
                }
            }
            while let Some(first) = model.pop_front() {
                assert_eq!(waiters.pop_front(), Some(first));
            }
            assert!(waiters.is_empty() && waiters.many.is_none());
        }
    }

    #[test]
    fn renamed_clients_keep_their_turns() {
        let swap = &Renaming::all(2)[1];
        for last in [2, 2 * FEW as ClientId] {
            let mut waiters = Waiters::new();
            (0..=last).for_each(|client| waiters.push_back(client, client));
            waiters.rename(swap);
            let mut clients: Vec<ClientId> = (0..=last).collect();
            clients.swap(0, 1);
            assert!(waiters.iter().map(|(client, _)| client).eq(clients));
            assert_eq!(waiters.remove(1), Some(0));
            assert_eq!(waiters.pop_front(), Some((0, 1)));
        }
    }

    #[test]
    fn everything_since_a_mark_can_be_undone() {
        for seed in 0..200 {
            let (mut waiters, mut model) = (Waiters::new(), Model::new());
            let (mut random, mut next) = (Random::new(seed), 0);
            for _ in 0..random.below(500) {
                change(&mut waiters, &mut model, &mut random, &mut next);
            }
            let mark = waiters.mark();
            let mut after = model.clone();
            for _ in 0..random.below(100) {
                change(&mut waiters, &mut after, &mut random, &mut next);
            }
            check(&waiters, &after);
            if seed % 2 == 0 {
                waiters.keep();
                model = after;
            } else {
                waiters.undo(mark);
            }
            check(&waiters, &model);
            for _ in 0..200 {
                change(&mut waiters, &mut model, &mut random, &mut next);
            }
            check(&waiters, &model);
        }
    }
}
