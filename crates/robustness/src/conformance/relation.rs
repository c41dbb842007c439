//! Relations between grants, as cases write them: `a.fence < b.fence`, `b.group = 'red'`.

use std::fmt;

use serde::Deserialize;

/// A relation between two values.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(try_from = "String")]
pub struct Relation {
    left: Term,
    is: Is,
    right: Term,
    text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Is {
    Equal,
    Different,
    Less,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Term {
    /// A text or a number.
    Literal(Fact),
    /// What is known of a request.
    Of(String, Field),
}

/// What a case can ask about a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// The fence of its grant.
    Fence,
    /// The slot of its grant.
    Slot,
    /// The group of its grant.
    Group,
    /// When it was granted.
    Granted,
    /// When the client knew that the grant was lost.
    Lost,
}

/// A value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fact {
    /// A fence, a slot or a time.
    Number(u64),
    /// A group.
    Text(String),
}

impl TryFrom<String> for Relation {
    type Error = String;

    fn try_from(text: String) -> Result<Relation, String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let wrong = || format!("'{text}' is no relation: write 'a.fence < b.fence' or \"b.group = 'red'\"");
        let [left, is, right] = words[..] else { return Err(wrong()) };
        let is = match is {
            "=" => Is::Equal,
            "!=" => Is::Different,
            "<" => Is::Less,
            _ => return Err(wrong()),
        };
        let (left, right) = (term(left).ok_or_else(wrong)?, term(right).ok_or_else(wrong)?);
        Ok(Relation { left, is, right, text })
    }
}

fn term(text: &str) -> Option<Term> {
    if let Some(literal) = text.strip_prefix('\'').and_then(|text| text.strip_suffix('\'')) {
        return Some(Term::Literal(Fact::Text(literal.to_string())));
    }
    if let Ok(number) = text.parse() {
        return Some(Term::Literal(Fact::Number(number)));
    }
    let (request, field) = text.split_once('.')?;
    let field = match field {
        "fence" => Field::Fence,
        "slot" => Field::Slot,
        "group" => Field::Group,
        "granted" => Field::Granted,
        "lost" => Field::Lost,
        _ => return None,
    };
    Some(Term::Of(request.to_string(), field))
}

impl Relation {
    /// The requests that it names.
    pub fn requests(&self) -> Vec<&str> {
        [&self.left, &self.right]
            .into_iter()
            .filter_map(|term| match term {
                Term::Of(name, _) => Some(name.as_str()),
                Term::Literal(_) => None,
            })
            .collect()
    }

    /// What is wrong with it, by what is known of requests.
    pub fn wrong(&self, known: impl Fn(&str, Field) -> Option<Fact>) -> Option<String> {
        let value = |term: &Term| match term {
            Term::Literal(fact) => Some(fact.clone()),
            Term::Of(request, field) => known(request, *field),
        };
        let (Some(left), Some(right)) = (value(&self.left), value(&self.right)) else {
            return Some(format!("{self}: one of them is not known"));
        };
        let holds = match self.is {
            Is::Equal => left == right,
            Is::Different => left != right,
            Is::Less => left < right,
        };
        (!holds).then(|| format!("{self} does not hold: {left} and {right}"))
    }
}

impl fmt::Display for Relation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Display for Fact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fact::Number(number) => number.fmt(f),
            Fact::Text(text) => write!(f, "'{text}'"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(text: &str) -> Option<String> {
        let relation = Relation::try_from(text.to_string()).unwrap();
        relation.wrong(|request, field| match (request, field) {
            ("a", Field::Fence) => Some(Fact::Number(3)),
            ("b", Field::Fence) => Some(Fact::Number(4)),
            ("b", Field::Group) => Some(Fact::Text("red".into())),
            _ => None,
        })
    }

    #[test]
    fn relations_hold_or_say_why_not() {
        for holds in ["a.fence < b.fence", "a.fence != b.fence", "a.fence = 3", "b.group = 'red'"] {
            assert_eq!(wrong(holds), None, "{holds}");
        }
        assert_eq!(wrong("b.fence < a.fence").unwrap(), "b.fence < a.fence does not hold: 4 and 3");
        assert_eq!(wrong("b.group = 'blue'").unwrap(), "b.group = 'blue' does not hold: 'red' and 'blue'");
        assert_eq!(wrong("a.lost < b.granted").unwrap(), "a.lost < b.granted: one of them is not known");
    }

    #[test]
    fn what_is_no_relation_is_refused() {
        for text in ["", "a.fence", "a.fence > b.fence", "a.size = 3", "a < b"] {
            assert!(Relation::try_from(text.to_string()).is_err(), "{text}");
        }
    }
}
