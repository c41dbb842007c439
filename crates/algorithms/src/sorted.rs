//! Lists in ascending order without duplicates, so that equal sets are equal values.

use alloc::vec::Vec;

/// Inserts an element, unless it is in the list already.
#[inline]
pub(crate) fn insert<T: Ord>(list: &mut Vec<T>, element: T) {
    if let Err(index) = list.binary_search(&element) {
        list.insert(index, element);
    }
}

/// Removes an element, if it is in the list.
#[inline]
pub(crate) fn remove<T: Ord>(list: &mut Vec<T>, element: &T) {
    if let Ok(index) = list.binary_search(element) {
        list.remove(index);
    }
}
