//! Changes of rights, as entries of the log: checked, bounded, and harmless when they are repeated.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::action::{Action, Actions};
use super::rights::{MOST_OF_EACH, Quota, QuotaOf, Rights, Who};
use super::token::{Token, TokenHash};
use crate::name::LONGEST_NAME;

/// The longest name of a principal or a group, in bytes.
const LONGEST_PRINCIPAL: usize = 128;

/// The principal of the token that turns security on.
pub const FIRST_ADMIN: &str = "admin";

/// A change of rights. Variants are only ever added at the end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Change {
    /// Turns security on. The token of this hash is that of the principal `admin`, who may do everything.
    Secure {
        /// The hash of the first token.
        admin: TokenHash,
    },
    /// Adds a token.
    AddToken {
        /// The hash of its secret.
        hash: TokenHash,
        /// What it is good for.
        token: Token,
    },
    /// Removes a token.
    RemoveToken(TokenHash),
    /// Adds a principal to a group, which exists as long as it has members.
    AddToGroup {
        /// The group.
        group: Arc<str>,
        /// The principal.
        principal: Arc<str>,
    },
    /// Removes a principal from a group.
    RemoveFromGroup {
        /// The group.
        group: Arc<str>,
        /// The principal.
        principal: Arc<str>,
    },
    /// Allows more.
    Allow {
        /// To whom.
        who: Who,
        /// On names that begin so.
        prefix: Arc<str>,
        /// What.
        actions: Actions,
    },
    /// Allows less.
    Disallow {
        /// To whom.
        who: Who,
        /// The prefix of the rule.
        prefix: Arc<str>,
        /// What.
        actions: Actions,
    },
    /// Denies a principal everything, or ends that.
    Bar {
        /// The principal.
        principal: Arc<str>,
        /// Whether it is barred from now on.
        barred: bool,
    },
    /// Sets a quota; one without any limit removes it.
    SetQuota {
        /// What it is for.
        of: QuotaOf,
        /// The quota.
        quota: Quota,
    },
}

impl Change {
    /// What it changes, for the audit. Of a token it is the id.
    pub fn subject(&self) -> String {
        match self {
            Change::Secure { admin } => format!("security on, token {}", admin.id()),
            Change::AddToken { hash, token } => format!("token {} of {}", hash.id(), token.principal),
            Change::RemoveToken(hash) => format!("token {} removed", hash.id()),
            Change::AddToGroup { group, principal } => format!("{principal} in @{group}"),
            Change::RemoveFromGroup { group, principal } => format!("{principal} not in @{group}"),
            Change::Allow { who, prefix, actions } => format!("{who} may {actions} '{prefix}'"),
            Change::Disallow { who, prefix, actions } => format!("{who} may not {actions} '{prefix}'"),
            Change::Bar { principal, barred: true } => format!("{principal} barred"),
            Change::Bar { principal, barred: false } => format!("{principal} not barred"),
            Change::SetQuota { of, .. } => format!("quota of {of}"),
        }
    }
}

/// Why a change of rights is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum InvalidChange {
    /// Security is on already.
    IsOn,
    /// Security is not on yet.
    IsOff,
    /// The name of a principal or a group cannot be.
    Name,
    /// The prefix is too long, or has control characters.
    Prefix,
    /// The rule has no action, or one that is not known.
    NoAction,
    /// `admin` is about the whole cluster, and has no prefix.
    AdminWithPrefix,
    /// There are as many as there can be.
    TooMany,
    /// There is no such thing.
    NotThere,
    /// The token is there already, for another principal or with another end.
    TokenThere,
    /// No token that does not expire could change rights after that.
    LastAdmin,
    /// A namespace has no sessions.
    SessionsOfNamespace,
}

impl fmt::Display for InvalidChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InvalidChange::IsOn => f.write_str("security is on already"),
            InvalidChange::IsOff => {
                f.write_str("security is not on: turn it on first with 'tokenwood auth on'")
            }
            InvalidChange::Name => write!(
                f,
                "a principal or a group has 1 to {LONGEST_PRINCIPAL} bytes without control characters and spaces, and does not \
                 begin with '@', '*' or 'node/'"
            ),
            InvalidChange::Prefix => {
                write!(f, "a prefix has at most {LONGEST_NAME} bytes, and no control characters")
            }
            InvalidChange::NoAction => f.write_str("the rule has no action that is known: name at least one"),
            InvalidChange::AdminWithPrefix => f.write_str(
                "admin is about the whole cluster: give it with the empty prefix, in a rule of its own",
            ),
            InvalidChange::TooMany => write!(f, "there are {MOST_OF_EACH} already: remove some"),
            InvalidChange::NotThere => f.write_str("there is no such thing: see 'tokenwood auth list'"),
            InvalidChange::TokenThere => f.write_str("there is such a token already"),
            InvalidChange::LastAdmin => f.write_str(
                "no token without an end could change rights after that: give another principal admin first",
            ),
            InvalidChange::SessionsOfNamespace => f.write_str(
                "sessions belong to principals and not to namespaces: set that quota for a principal",
            ),
        }
    }
}

impl std::error::Error for InvalidChange {}

/// Refuses what cannot be the name of a principal or a group. Only a node's certificate makes a caller that node.
fn validate_name(name: &str) -> Result<(), InvalidChange> {
    let letters = !name.chars().any(|letter| letter.is_control() || letter.is_whitespace());
    let begins = name.starts_with(['@', '*']) || name.starts_with("node/");
    let fits = !name.is_empty() && name.len() <= LONGEST_PRINCIPAL && letters && !begins;
    if fits { Ok(()) } else { Err(InvalidChange::Name) }
}

impl Who {
    /// Refuses what no rule can be about.
    pub fn validate(&self) -> Result<(), InvalidChange> {
        match self {
            Who::Everyone => Ok(()),
            Who::Group(name) | Who::Principal(name) => validate_name(name),
        }
    }
}

fn within(count: usize) -> Result<(), InvalidChange> {
    if count < MOST_OF_EACH { Ok(()) } else { Err(InvalidChange::TooMany) }
}

fn there(is: bool) -> Result<(), InvalidChange> {
    if is { Ok(()) } else { Err(InvalidChange::NotThere) }
}

impl Rights {
    /// Applies a committed change, or changes nothing and says why.
    pub fn apply(&mut self, change: &Change) -> Result<(), InvalidChange> {
        let mut changed = self.clone();
        changed.change(change)?;
        if self.on && self.has_lasting_admin() && !changed.has_lasting_admin() {
            return Err(InvalidChange::LastAdmin);
        }
        *self = changed;
        Ok(())
    }

    fn change(&mut self, change: &Change) -> Result<(), InvalidChange> {
        match change {
            Change::Secure { .. } if self.on => return Err(InvalidChange::IsOn),
            Change::Secure { admin } => {
                self.on = true;
                let principal: Arc<str> = FIRST_ADMIN.into();
                self.tokens.insert(*admin, Token { principal: principal.clone(), expires: None });
                self.rules.insert((Who::Principal(principal), "".into()), Actions::all());
            }
            _ if !self.on => return Err(InvalidChange::IsOff),
            Change::AddToken { hash, token } => {
                validate_name(&token.principal)?;
                match self.tokens.get(hash) {
                    Some(there) if there == token => {}
                    Some(_) => return Err(InvalidChange::TokenThere),
                    None => {
                        within(self.tokens.len())?;
                        self.tokens.insert(*hash, token.clone());
                    }
                }
            }
            Change::RemoveToken(hash) => there(self.tokens.remove(hash).is_some())?,
            Change::AddToGroup { group, principal } => self.add_to_group(group, principal)?,
            Change::RemoveFromGroup { group, principal } => {
                let members = self.groups.get_mut(group).ok_or(InvalidChange::NotThere)?;
                there(members.remove(principal))?;
                if members.is_empty() {
                    self.groups.remove(group);
                }
            }
            Change::Allow { who, prefix, actions } => self.allow(who, prefix, *actions)?,
            Change::Disallow { who, prefix, actions } => {
                let key = (who.clone(), prefix.clone());
                let left = self.rules.get(&key).ok_or(InvalidChange::NotThere)?.without(*actions);
                match left.is_empty() {
                    true => _ = self.rules.remove(&key),
                    false => _ = self.rules.insert(key, left),
                }
            }
            Change::Bar { principal, barred: true } => {
                validate_name(principal)?;
                within(self.barred.len())?;
                self.barred.insert(principal.clone());
            }
            Change::Bar { principal, barred: false } => there(self.barred.remove(principal))?,
            Change::SetQuota { of, quota } => self.set_quota(of, *quota)?,
        }
        Ok(())
    }

    fn add_to_group(&mut self, group: &Arc<str>, principal: &Arc<str>) -> Result<(), InvalidChange> {
        validate_name(group)?;
        validate_name(principal)?;
        within(self.groups.values().map(|members| members.len()).sum())?;
        self.groups.entry(group.clone()).or_default().insert(principal.clone());
        Ok(())
    }

    fn allow(&mut self, who: &Who, prefix: &Arc<str>, actions: Actions) -> Result<(), InvalidChange> {
        who.validate()?;
        if prefix.len() > LONGEST_NAME || prefix.chars().any(char::is_control) {
            return Err(InvalidChange::Prefix);
        }
        if actions.is_empty() || !actions.are_known() {
            return Err(InvalidChange::NoAction);
        }
        if actions.has(Action::Admin) && !prefix.is_empty() {
            return Err(InvalidChange::AdminWithPrefix);
        }
        within(self.rules.len())?;
        let allowed = self.rules.entry((who.clone(), prefix.clone())).or_default();
        *allowed = allowed.with(actions);
        Ok(())
    }

    fn set_quota(&mut self, of: &QuotaOf, quota: Quota) -> Result<(), InvalidChange> {
        let (QuotaOf::Principal(name) | QuotaOf::Namespace(name)) = of;
        validate_name(name)?;
        if matches!(of, QuotaOf::Namespace(_)) && quota.sessions.is_some() {
            return Err(InvalidChange::SessionsOfNamespace);
        }
        if quota == Quota::default() {
            return there(self.quotas.remove(of).is_some());
        }
        within(self.quotas.len())?;
        self.quotas.insert(of.clone(), quota);
        Ok(())
    }

    /// Whether some token that does not expire can change rights: otherwise the cluster would lock its operators out.
    fn has_lasting_admin(&self) -> bool {
        let lasting = self.tokens.values().filter(|token| token.expires.is_none());
        lasting.map(|token| &*token.principal).any(|principal| {
            let allowed = super::decide(self, Some(principal), Action::Admin, "");
            allowed.allowed
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: TokenHash = TokenHash([1; 32]);

    fn secured() -> Rights {
        let mut rights = Rights::default();
        rights.apply(&Change::Secure { admin: FIRST }).unwrap();
        rights
    }

    fn allow(who: &str, prefix: &str, actions: &str) -> Change {
        let (who, actions) = (who.parse().unwrap(), actions.parse().unwrap());
        Change::Allow { who, prefix: prefix.into(), actions }
    }

    #[test]
    fn security_is_turned_on_once_and_nothing_changes_before() {
        let mut rights = Rights::default();
        assert_eq!(rights.apply(&allow("*", "", "read")), Err(InvalidChange::IsOff));
        rights.apply(&Change::Secure { admin: FIRST }).unwrap();
        let other = TokenHash([2; 32]);
        assert_eq!(rights.apply(&Change::Secure { admin: other }), Err(InvalidChange::IsOn));
        assert_eq!(rights.tokens.keys().collect::<Vec<_>>(), [&FIRST]);
    }

    #[test]
    fn a_change_that_is_repeated_changes_nothing_more() {
        let mut rights = secured();
        let token = Token { principal: "ci/build".into(), expires: Some(9) };
        let group = Change::AddToGroup { group: "ci".into(), principal: "ci/build".into() };
        let add = Change::AddToken { hash: TokenHash([2; 32]), token };
        for change in [add, group, allow("@ci", "ci/", "acquire,read")] {
            rights.apply(&change).unwrap();
            let before = rights.clone();
            assert_eq!((rights.apply(&change), &rights), (Ok(()), &before), "{change:?}");
        }
        rights.apply(&allow("@ci", "ci/", "force")).unwrap();
        assert_eq!(rights.rules[&(Who::Group("ci".into()), "ci/".into())].to_string(), "acquire,read,force");
    }

    #[test]
    fn what_cannot_be_is_refused_and_changes_nothing() {
        let mut rights = secured();
        let principal = |name: &str| Change::Bar { principal: name.into(), barred: true };
        let quota = Quota { sessions: Some(1), ..Quota::default() };
        let who = |name: &str| Who::Principal(name.into());
        let actions = Actions::all();
        let rule = |name: &str| Change::Allow { who: who(name), prefix: "".into(), actions };
        let cases = [
            (principal(""), InvalidChange::Name),
            (principal("a b"), InvalidChange::Name),
            (principal("node/3"), InvalidChange::Name),
            (principal(&"x".repeat(129)), InvalidChange::Name),
            (rule("@x"), InvalidChange::Name),
            (allow("a", &"x".repeat(256), "read"), InvalidChange::Prefix),
            (allow("a", "x\n", "read"), InvalidChange::Prefix),
            (allow("a", "x/", "read,admin"), InvalidChange::AdminWithPrefix),
            (Change::RemoveToken(TokenHash([9; 32])), InvalidChange::NotThere),
            (Change::RemoveToken(FIRST), InvalidChange::LastAdmin),
            (principal("admin"), InvalidChange::LastAdmin),
            (Change::Disallow { who: who("admin"), prefix: "".into(), actions }, InvalidChange::LastAdmin),
            (
                Change::SetQuota { of: QuotaOf::Namespace("x".into()), quota },
                InvalidChange::SessionsOfNamespace,
            ),
        ];
        for (change, why) in cases {
            let before = rights.clone();
            assert_eq!((rights.apply(&change), &rights), (Err(why), &before), "{change:?}");
        }
    }

    #[test]
    fn there_is_room_for_so_many_and_no_more() {
        let mut rights = secured();
        let rules = (1..MOST_OF_EACH).map(|number| allow("*", &format!("{number}/"), "read"));
        rules.for_each(|rule| rights.apply(&rule).unwrap());
        assert_eq!(rights.apply(&allow("*", "x", "read")), Err(InvalidChange::TooMany));
    }
}
