//! Erased values compare, hash and print as the values they hold.

use core::cmp::Ordering;
use core::fmt::{self, Debug, Display};
use core::hash::{Hash, Hasher};

use super::{Durable, Erased, MIXED, Message, MessageOf, Rules, RulesOf};
use crate::algorithm::Algorithm;

impl Clone for Erased {
    fn clone(&self) -> Erased {
        Erased(self.0.copy())
    }
}

impl PartialEq for Erased {
    fn eq(&self, other: &Erased) -> bool {
        self.0.equals(&*other.0)
    }
}

impl Eq for Erased {}

impl Hash for Erased {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.0.hash_into(hasher);
    }
}

impl Debug for Erased {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Clone for Message {
    fn clone(&self) -> Message {
        Message(self.0.copy())
    }
}

impl PartialEq for Message {
    fn eq(&self, other: &Message) -> bool {
        self.0.compare(&*other.0) == Some(Ordering::Equal)
    }
}

impl Eq for Message {}

impl PartialOrd for Message {
    fn partial_cmp(&self, other: &Message) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Message {
    fn cmp(&self, other: &Message) -> Ordering {
        self.0.compare(&*other.0).expect(MIXED)
    }
}

impl Hash for Message {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.0.hash_into(hasher);
    }
}

impl Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Debug::fmt(&self.0, f)
    }
}

impl Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Display::fmt(&self.0, f)
    }
}

impl<A: Algorithm> Debug for MessageOf<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Debug::fmt(&self.0, f)
    }
}

impl<A: Algorithm> Display for MessageOf<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Display::fmt(&self.0, f)
    }
}

impl Clone for Durable {
    fn clone(&self) -> Durable {
        Durable(self.0.as_ref().map(|saved| saved.copy()))
    }
}

impl PartialEq for Durable {
    fn eq(&self, other: &Durable) -> bool {
        match (&self.0, &other.0) {
            (Some(saved), Some(other)) => saved.equals(&**other),
            (saved, other) => saved.is_none() && other.is_none(),
        }
    }
}

impl Eq for Durable {}

impl Hash for Durable {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        if let Some(saved) = &self.0 {
            saved.hash_into(hasher);
        }
    }
}

impl Debug for Durable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.as_ref().map_or(Ok(()), |saved| saved.fmt(f))
    }
}

impl<A: Algorithm> Debug for RulesOf<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Debug for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
