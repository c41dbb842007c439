//! Values with small numbers that are used again.

/// A list with holes.
#[derive(Clone, Debug)]
pub(crate) struct Slab<T> {
    entries: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Slab<T> {
    pub(crate) fn new() -> Slab<T> {
        Slab { entries: Vec::new(), free: Vec::new() }
    }

    /// How many values there are.
    pub(crate) fn len(&self) -> usize {
        self.entries.len() - self.free.len()
    }

    pub(crate) fn insert(&mut self, value: T) -> u32 {
        if let Some(number) = self.free.pop() {
            self.entries[number as usize] = Some(value);
            return number;
        }
        self.entries.push(Some(value));
        self.entries.len() as u32 - 1
    }

    pub(crate) fn get(&self, number: u32) -> Option<&T> {
        self.entries.get(number as usize)?.as_ref()
    }

    pub(crate) fn get_mut(&mut self, number: u32) -> Option<&mut T> {
        self.entries.get_mut(number as usize)?.as_mut()
    }

    /// All numbers are below this.
    pub(crate) fn end(&self) -> u32 {
        self.entries.len() as u32
    }

    /// Takes a value out. Memory comes back when the last one has gone.
    pub(crate) fn remove(&mut self, number: u32) -> Option<T> {
        let value = self.entries.get_mut(number as usize)?.take()?;
        self.free.push(number);
        if self.len() == 0 && self.entries.len() > KEPT {
            self.entries = Vec::new();
            self.free = Vec::new();
        }
        Some(value)
    }

    /// The values from this number on, with their numbers, in the order of numbers.
    pub(crate) fn from(&self, first: u32) -> impl Iterator<Item = (u32, &T)> {
        let entries = self.entries.get(first as usize..).unwrap_or_default();
        (first..).zip(entries).filter_map(|(number, entry)| Some((number, entry.as_ref()?)))
    }

    /// All values with their numbers, in the order of numbers.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        self.from(0)
    }
}

/// The number of entries kept for the next values. The memory of more is given back.
const KEPT: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_used_again() {
        let mut slab = Slab::new();
        let (a, b) = (slab.insert('a'), slab.insert('b'));
        assert_eq!((a, b, slab.len()), (0, 1, 2));
        assert_eq!(slab.remove(a), Some('a'));
        assert_eq!(slab.remove(a), None);
        assert_eq!(slab.insert('c'), a);
        assert_eq!(
            slab.iter().map(|(number, value)| (number, *value)).collect::<Vec<_>>(),
            [(0, 'c'), (1, 'b')]
        );
    }

    #[test]
    fn memory_comes_back() {
        let mut slab = Slab::new();
        let numbers: Vec<u32> = (0..5000).map(|value| slab.insert(value)).collect();
        numbers.into_iter().for_each(|number| _ = slab.remove(number));
        assert_eq!((slab.entries.capacity(), slab.free.capacity()), (0, 0));
    }
}
