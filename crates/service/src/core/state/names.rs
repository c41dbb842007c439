//! The names that a node knows, and the resources that they stand for.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use algorithms::Origin;

use super::AccountId;
use crate::defect::Defect;
use crate::name::{Definition, Kind};
use crate::resource::{Policy, Position, Resource, Setup, Start};
use crate::slab::Slab;
use crate::time::Time;
use crate::view::MemberIndex;

/// The names that this node knows, and the resources that they stand for.
///
/// - Each resource is listed under its name and kind, and what is listed exists: in `numbers`, where every
///   request and every message looks, and in `by_name`, in order. One name may stand for several kinds for a
///   while: only its home decides which of them it is, and refuses the others. It also decides how many slots
///   there are.
/// - `origin` is at least as high as every counter and clock of a resource that was forgotten, and as the
///   floor of the view: a recreated resource begins above what it had.
/// - A resource that is marked as listed has an entry in `idle`. An entry may be out of date: its resource
///   may be in use again, or gone.
#[derive(Clone)]
pub(crate) struct Names {
    resources: Slab<Resource>,
    /// With unpredictable keys, so that no client can choose names that collide. Its order is never looked
    /// at.
    numbers: HashMap<Arc<str>, Numbers>,
    by_name: BTreeMap<Kind, BTreeMap<Arc<str>, u32>>,
    /// The committed definitions, as far as this node has heard.
    definitions: BTreeMap<Arc<str>, Definition>,
    /// Resources that may be idle, with the time since when, oldest first.
    idle: VecDeque<(Time, u32)>,
    /// The slots that count against a bound, by the number of the resource, and in which account.
    charges: BTreeMap<u32, (Option<AccountId>, u64)>,
    /// What was counted for each resource, by its number. Beside the resources: what they do does not depend on it.
    tallies: Vec<Tally>,
    origin: Origin,
    policy: Policy,
    /// The view. Resources that were last run in an earlier one have to be brought into it before they are used.
    epoch: u64,
}

/// What was counted for a resource since it was made here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) grants: u64,
    /// When it was first granted here.
    pub(crate) since: Time,
}

/// The resources of a name, by their kinds.
#[derive(Clone, Copy, Default)]
struct Numbers([Option<NonZeroU32>; Kind::ALL.len()]);

impl Numbers {
    fn get(self, kind: Kind) -> Option<u32> {
        self.0[kind as usize].map(|after| after.get() - 1)
    }

    fn set(&mut self, kind: Kind, number: Option<u32>) {
        self.0[kind as usize] = number.and_then(|number| NonZeroU32::new(number + 1));
    }

    fn is_empty(self) -> bool {
        self.0.iter().all(Option::is_none)
    }
}

impl Names {
    /// No names. Fences begin above the floor in `policy`.
    pub(crate) fn new(policy: Policy, epoch: u64) -> Names {
        Names {
            resources: Slab::new(),
            numbers: HashMap::new(),
            by_name: BTreeMap::new(),
            definitions: BTreeMap::new(),
            idle: VecDeque::new(),
            charges: BTreeMap::new(),
            tallies: Vec::new(),
            origin: Origin { floor: policy.floor, clock: 0 },
            policy,
            epoch,
        }
    }

    /// A view begins: its fences are above this floor, and its clocks start again.
    pub(crate) fn enter(&mut self, floor: u64, epoch: u64) {
        self.policy.floor = floor;
        self.epoch = epoch;
        self.origin = Origin { floor: self.origin.floor.max(floor), clock: 0 };
    }

    /// What is higher than any counter and clock that was forgotten.
    pub(crate) fn origin(&self) -> Origin {
        self.origin
    }

    /// What resources begin with at a node of this position.
    pub(crate) fn setup(&self, position: Position) -> Setup {
        Setup { position, policy: self.policy, origin: self.origin }
    }

    /// How many resources there are.
    pub(crate) fn len(&self) -> usize {
        self.resources.len()
    }

    pub(crate) fn get(&self, number: u32) -> Option<&Resource> {
        self.resources.get(number)
    }

    pub(crate) fn get_mut(&mut self, number: u32) -> Option<&mut Resource> {
        self.resources.get_mut(number)
    }

    /// Whether a resource was not brought into this view yet.
    pub(crate) fn is_behind(&self, number: u32) -> bool {
        self.get(number).is_some_and(|resource| resource.epoch() != self.epoch)
    }

    /// The first resources from this number on that were not brought into this view yet, at most this many.
    pub(crate) fn behind(&self, first: u32, most: usize) -> Vec<u32> {
        let behind = self.resources.from(first).filter(|(_, resource)| resource.epoch() != self.epoch);
        behind.map(|(number, _)| number).take(most).collect()
    }

    /// The resources from this number on, in the order of their numbers.
    pub(crate) fn from(&self, first: u32) -> impl Iterator<Item = (u32, &Resource)> {
        self.resources.from(first)
    }

    /// All resources, in the order of their numbers.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &Resource)> {
        self.resources.iter()
    }

    /// The resource of this name and kind.
    pub(crate) fn find(&self, name: &str, kind: Kind) -> Option<u32> {
        self.numbers.get(name)?.get(kind)
    }

    /// The numbers of all resources, by kind and name.
    pub(crate) fn by_kind(&self) -> &BTreeMap<Kind, BTreeMap<Arc<str>, u32>> {
        &self.by_name
    }

    /// The resources of this name, one for each kind at most.
    pub(crate) fn all_of(&self, name: &str) -> impl Iterator<Item = u32> {
        let numbers = self.numbers.get(name).copied().unwrap_or_default();
        Kind::ALL.into_iter().filter_map(move |kind| numbers.get(kind))
    }

    /// The resources of the name of this one, itself included.
    pub(crate) fn of_same_name(&self, number: u32) -> impl Iterator<Item = u32> {
        let name = self.get(number).map(|resource| resource.name().clone());
        name.into_iter().flat_map(|name| self.all_of(&name).collect::<Vec<_>>())
    }

    /// The resources of this name that are of another kind.
    pub(crate) fn of_other_kinds(&self, name: &str, kind: Kind) -> Vec<u32> {
        let numbers = self.numbers.get(name).copied().unwrap_or_default();
        Kind::ALL.into_iter().filter(|other| *other != kind).filter_map(|other| numbers.get(other)).collect()
    }

    /// Makes the resource of a name and kind that has none; with as many slots as are defined, or else as many as are
    /// asked for.
    pub(crate) fn create(
        &mut self,
        name: &Arc<str>,
        asked: Definition,
        home: MemberIndex,
        position: Position,
        start: Start,
    ) -> u32 {
        let kind = asked.kind();
        let defined = self.definition(name);
        let definition = defined.filter(|defined| defined.kind() == kind).unwrap_or(asked);
        let setup = self.setup(position);
        let mut resource = Resource::new(name.clone(), (definition, defined), home, setup, start);
        resource.enter(self.epoch, home);
        let number = self.resources.insert(resource);
        self.numbers.entry(name.clone()).or_default().set(kind, Some(number));
        let before = self.by_name.entry(kind).or_default().insert(name.clone(), number);
        assert!(before.is_none(), "a name has one resource of each kind");
        number
    }

    /// A resource was granted.
    pub(crate) fn count_grant(&mut self, number: u32, now: Time) {
        let index = number as usize;
        if self.tallies.len() <= index {
            self.tallies.resize(index + 1, Tally::default());
        }
        let tally = &mut self.tallies[index];
        if tally.grants == 0 {
            tally.since = now;
        }
        tally.grants += 1;
    }

    /// What was counted for a resource.
    pub(crate) fn tally(&self, number: u32) -> Tally {
        self.tallies.get(number as usize).copied().unwrap_or_default()
    }

    /// The slots of a resource count in this account.
    pub(crate) fn charge(&mut self, number: u32, account: Option<AccountId>, slots: u64) {
        self.charges.insert(number, (account, slots));
    }

    /// What counted for a resource that was forgotten, and where.
    pub(crate) fn take_charge(&mut self, number: u32) -> Option<(Option<AccountId>, u64)> {
        self.charges.remove(&number)
    }

    /// Forgets a resource, but not how far its counters went.
    pub(crate) fn remove(&mut self, number: u32, position: Position) -> Option<Resource> {
        let resource = self.resources.remove(number)?;
        if let Some(tally) = self.tallies.get_mut(number as usize) {
            *tally = Tally::default();
        }
        if self.policy.defect != Some(Defect::NoFloor) {
            self.origin.rise_to(resource.droppable(position).unwrap_or_default());
        }
        self.origin.rise_to(resource.clock());
        let kind = resource.definition().kind();
        if let Some(numbers) = self.numbers.get_mut(resource.name()) {
            numbers.set(kind, None);
            if numbers.is_empty() {
                self.numbers.remove(resource.name());
            }
        }
        if let Some(names) = self.by_name.get_mut(&kind) {
            names.remove(resource.name());
            if names.is_empty() {
                self.by_name.remove(&kind);
            }
        }
        Some(resource)
    }

    /// At the home: whether the resource is to be forgotten before this is made, because it is idle, not defined, and
    /// has another number of slots.
    pub(crate) fn is_replaced_by(&self, number: u32, asked: Definition, position: Position) -> bool {
        let Some(resource) = self.get(number) else { return false };
        let undefined = resource.definition() != asked && resource.defined().is_none();
        undefined && resource.home() == position.me && resource.droppable(position).is_some()
    }

    /// At the home, where a name can be of one kind at a time: the resource that is to be forgotten before one of
    /// another kind is made. The error says what the name stands for, if that is in use.
    pub(crate) fn in_the_way(&self, name: &str, position: Position) -> Result<Option<u32>, Definition> {
        // A guess may still turn out to be something else.
        let known = |number: &u32| !self.get(*number).is_some_and(Resource::is_guess);
        let Some(number) = self.all_of(name).find(known) else { return Ok(None) };
        match self.get(number) {
            Some(resource) if resource.droppable(position).is_none() => Err(resource.definition()),
            _ => Ok(Some(number)),
        }
    }

    /// What a name is defined as.
    pub(crate) fn definition(&self, name: &str) -> Option<Definition> {
        self.definitions.get(name).copied()
    }

    /// What names are defined as.
    pub(crate) fn definitions(&self) -> &BTreeMap<Arc<str>, Definition> {
        &self.definitions
    }

    /// A name is defined as this from now on; or not at all.
    pub(crate) fn define(&mut self, name: &Arc<str>, definition: Option<Definition>) {
        match definition {
            Some(definition) => _ = self.definitions.insert(name.clone(), definition),
            None => _ = self.definitions.remove(name),
        }
    }

    /// Lists a resource as idle, if it is. True if there was none in the list before.
    pub(crate) fn list_if_idle(&mut self, number: u32, position: Position, now: Time) -> bool {
        let Some(resource) = self.resources.get_mut(number) else { return false };
        if resource.is_listed() || resource.droppable(position).is_none() {
            return false;
        }
        resource.set_listed(true);
        self.idle.push_back((now, number));
        self.idle.len() == 1
    }

    /// Since when the first in the list has been idle.
    pub(crate) fn idle_since(&self) -> Option<Time> {
        self.idle.front().map(|(since, _)| *since)
    }

    /// Takes the first out of the list of idle resources. Returns it if it has been idle for at least `keep`.
    pub(crate) fn take_idle(&mut self, position: Position, keep: Duration, now: Time) -> Option<u32> {
        let (_, number) = self.idle.pop_front()?;
        let resource = self.resources.get_mut(number)?;
        if resource.epoch() != self.epoch || resource.droppable(position).is_none() {
            // It is in use, or not in this view yet, and will be listed again when it is idle.
            resource.set_listed(false);
            return None;
        }
        let used = resource.used();
        if used + keep > now {
            // It goes behind the others; the list stays in order closely enough.
            self.idle.push_back((used, number));
            return None;
        }
        Some(number)
    }

    /// Gives memory back after many resources were forgotten.
    pub(crate) fn shrink(&mut self) {
        self.idle.shrink_to(1024);
        if self.resources.len() == 0 {
            self.tallies = Vec::new();
        }
        if self.numbers.len() < self.numbers.capacity() / 4 {
            self.numbers.shrink_to(1024);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOME: Position = Position { me: MemberIndex(0), nodes: 1 };

    fn names() -> Names {
        Names::new(Policy { passes: 4, linger: 10, floor: 100, defect: None }, 1)
    }

    #[test]
    fn a_name_can_be_of_several_kinds_and_each_is_found_until_it_is_forgotten() {
        let mut names = names();
        let name: Arc<str> = "x".into();
        let mutex = names.create(&name, Definition::MUTEX, MemberIndex(0), HOME, Start::AtOnce);
        let room = names.create(&name, Definition::Room, MemberIndex(0), HOME, Start::AtOnce);
        assert_eq!(names.all_of("x").collect::<Vec<_>>(), [mutex, room]);
        assert_eq!(names.of_other_kinds("x", Kind::Slots), [room]);
        assert_eq!(names.find("x", Kind::Room), Some(room));
        assert!(names.remove(room, HOME).is_some() && names.remove(room, HOME).is_none());
        assert_eq!((names.find("x", Kind::Room), names.len()), (None, 1));
    }

    #[test]
    fn what_is_defined_counts_more_than_what_is_asked_for() {
        let mut names = names();
        let name: Arc<str> = "x".into();
        names.define(&name, Some(Definition::Slots(3)));
        let number = names.create(&name, Definition::MUTEX, MemberIndex(0), HOME, Start::AtOnce);
        assert_eq!(names.get(number).unwrap().definition(), Definition::Slots(3));
    }

    #[test]
    fn what_begins_is_never_below_what_was_forgotten() {
        let mut names = names();
        names.enter(200, 2);
        assert_eq!(names.origin().floor, 200);
        names.enter(150, 3);
        assert_eq!(names.origin().floor, 200, "even if the floor of a view were lower");
        let number = names.create(&"x".into(), Definition::MUTEX, MemberIndex(0), HOME, Start::AtOnce);
        names.remove(number, HOME);
        assert!(names.origin().floor >= 200);
    }

    #[test]
    fn the_grants_of_a_resource_are_counted_until_it_is_forgotten() {
        let mut names = names();
        let create = |names: &mut Names, name: &str| {
            names.create(&name.into(), Definition::MUTEX, MemberIndex(0), HOME, Start::AtOnce)
        };
        let (first, second) = (create(&mut names, "x"), create(&mut names, "y"));
        (3..6).for_each(|at| names.count_grant(second, Time(at)));
        assert_eq!(names.tally(second), Tally { grants: 3, since: Time(3) });
        assert_eq!(names.tally(first), Tally::default());
        names.remove(second, HOME);
        let again = create(&mut names, "z");
        assert_eq!((again, names.tally(again)), (second, Tally::default()), "its number is used again");
    }

    #[test]
    fn an_idle_resource_is_kept_for_a_while_after_its_last_use() {
        let mut names = names();
        let number = names.create(&"x".into(), Definition::MUTEX, MemberIndex(0), HOME, Start::AtOnce);
        assert!(names.list_if_idle(number, HOME, Time(1)) && !names.list_if_idle(number, HOME, Time(2)));
        names.get_mut(number).unwrap().use_at(Time(5));
        let keep = Duration::from_nanos(10);
        assert_eq!((names.take_idle(HOME, keep, Time(11)), names.idle_since()), (None, Some(Time(5))));
        assert_eq!((names.take_idle(HOME, keep, Time(15)), names.idle_since()), (Some(number), None));
    }
}
