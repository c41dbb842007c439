//! The decision: whether a principal may do something with a name, and by which rule.

use std::fmt;
use std::sync::Arc;

use super::action::{Action, Actions};
use super::caller::Shown;
use super::rights::{Rights, Who};
use crate::event::Filter;

/// Whether something is allowed, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Whether it is allowed.
    pub allowed: bool,
    /// Why.
    pub why: Why,
}

/// Why something is allowed, or is not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// Security is off.
    Off,
    /// This rule allows it.
    Rule(Who, Arc<str>),
    /// A node of the cluster may administer and read.
    Node,
    /// No rule allows it.
    NoRule,
    /// The token is unknown: it was removed, or never added.
    UnknownToken,
    /// The token has expired.
    Expired,
    /// The principal is barred.
    Barred,
    /// The name in the certificate stands for something else.
    ReservedName,
    /// The node of the certificate was removed from the cluster, or was never in it.
    NotANode,
    /// It speaks for another caller, and is no node of the cluster.
    CannotVouch,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Why::Off => f.write_str("security is off, so everything is allowed"),
            Why::Rule(who, prefix) if prefix.is_empty() => {
                write!(f, "the rule for '{who}' on all names allows it")
            }
            Why::Rule(who, prefix) => {
                write!(f, "the rule for '{who}' on names that begin with '{prefix}' allows it")
            }
            Why::Node => f.write_str("a node of the cluster may administer and read"),
            Why::NoRule => f.write_str("no rule allows it"),
            Why::UnknownToken => f.write_str("the token is unknown, or was removed"),
            Why::Expired => f.write_str("the token has expired"),
            Why::Barred => f.write_str("the principal is barred"),
            Why::ReservedName => f.write_str("the name in the certificate is reserved"),
            Why::NotANode => f.write_str("the node of the certificate does not belong to the cluster"),
            Why::CannotVouch => f.write_str("only a node of the cluster can speak for another caller"),
        }
    }
}

/// What the rights say of one caller: the rules that concern it, found once for all its calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    principal: Option<Arc<str>>,
    /// Why nothing is allowed, if that is so.
    denied: Option<Why>,
    /// It is a node, or security is off.
    beyond_rules: Option<Why>,
    /// When its token expires, in seconds since 1970.
    expires: Option<u64>,
    rules: Vec<(Who, Arc<str>, Actions)>,
}

impl Subject {
    /// A caller that shows this.
    pub fn of(rights: &Rights, shown: &Shown) -> Subject {
        match shown {
            Shown::Nothing => Subject::principal(rights, None),
            Shown::Token(hash) => match rights.tokens.get(hash) {
                Some(token) => Subject {
                    expires: token.expires,
                    ..Subject::principal(rights, Some(token.principal.clone()))
                },
                None if !rights.on => Subject::principal(rights, None),
                None => Subject::denied(None, Why::UnknownToken),
            },
            Shown::Certificate(name) if name.starts_with("node/") || name.starts_with("uid/") => {
                Subject::denied(Some(name.clone()), Why::ReservedName)
            }
            Shown::Certificate(name) => Subject::principal(rights, Some(name.clone())),
            Shown::Node(id) => {
                let node = Subject::principal(rights, Some(format!("node/{id}").into()));
                Subject { beyond_rules: node.beyond_rules.or(Some(Why::Node)), ..node }
            }
            Shown::LocalUser(id) => Subject::principal(rights, Some(format!("uid/{id}").into())),
        }
    }

    /// A caller with the certificate of a node that does not belong to the cluster.
    pub fn removed_node(id: u32) -> Subject {
        Subject::denied(Some(format!("node/{id}").into()), Why::NotANode)
    }

    /// A principal, or a caller that shows nothing.
    pub fn principal(rights: &Rights, principal: Option<Arc<str>>) -> Subject {
        if !rights.on {
            let (denied, beyond_rules) = (None, Some(Why::Off));
            return Subject { principal, denied, beyond_rules, expires: None, rules: Vec::new() };
        }
        if principal.as_ref().is_some_and(|principal| rights.barred.contains(principal)) {
            return Subject::denied(principal, Why::Barred);
        }
        let concerns = |who: &Who| rights.concerns(who, principal.as_deref());
        let rules = rights.rules.iter().filter(|((who, _), _)| concerns(who));
        let rules = rules.map(|((who, prefix), actions)| (who.clone(), prefix.clone(), *actions)).collect();
        Subject { principal, denied: None, beyond_rules: None, expires: None, rules }
    }

    fn denied(principal: Option<Arc<str>>, why: Why) -> Subject {
        Subject { principal, denied: Some(why), beyond_rules: None, expires: None, rules: Vec::new() }
    }

    /// The principal; `None` for a caller that shows nothing that counts.
    pub fn name(&self) -> Option<&Arc<str>> {
        self.principal.as_ref()
    }

    /// When its token expires, in seconds since 1970.
    pub fn expires(&self) -> Option<u64> {
        self.expires
    }

    /// Why nothing is allowed at this time, if that is so: the caller is not who it was, or may not be here at all.
    pub fn is_denied(&self, now: u64) -> Option<Why> {
        let expired = self.expires.is_some_and(|expires| expires <= now);
        self.denied.clone().or(expired.then_some(Why::Expired))
    }

    /// Whether it may do this with this name, at this time in seconds since 1970. For `admin` the name is empty.
    pub fn decide(&self, action: Action, name: &str, now: u64) -> Decision {
        let by_rule = |(_, prefix, actions): &&(Who, Arc<str>, Actions)| {
            actions.has(action) && name.starts_with(&**prefix)
        };
        self.decide_by(action, by_rule, now)
    }

    /// The part of a filter that it may read; `None` if that is nothing. Only prefixes of rules narrow it, so that the answer tells
    /// nothing about other names.
    pub fn readable(&self, filter: &Filter) -> Option<Filter> {
        if self.denied.is_some() {
            return None;
        }
        let rules = self.rules.iter().filter(|(_, _, actions)| actions.has(Action::Read));
        let prefixes: Vec<&str> = rules.map(|(_, prefix, _)| &**prefix).collect();
        if self.beyond_rules.is_some() || prefixes.contains(&"") {
            return Some(filter.clone());
        }
        if filter.is_empty() {
            let prefixes: Vec<String> = prefixes.iter().map(|prefix| prefix.to_string()).collect();
            return (!prefixes.is_empty()).then(|| Filter { names: Vec::new(), prefixes });
        }
        let names = filter.names.iter().filter(|name| prefixes.iter().any(|prefix| name.starts_with(prefix)));
        let narrower = filter.prefixes.iter().flat_map(|asked| {
            let meets = |allowed: &&str| match (asked.starts_with(allowed), allowed.starts_with(&**asked)) {
                (true, _) => Some(asked.clone()),
                (false, true) => Some(allowed.to_string()),
                (false, false) => None,
            };
            prefixes.iter().filter_map(meets).collect::<Vec<_>>()
        });
        let readable = Filter { names: names.cloned().collect(), prefixes: narrower.collect() };
        (!readable.is_empty()).then_some(readable)
    }

    /// Whether it may do this with any name at all.
    pub fn decide_any(&self, action: Action, now: u64) -> Decision {
        self.decide_by(action, |(_, _, actions)| actions.has(action), now)
    }

    fn decide_by(
        &self,
        action: Action,
        by_rule: impl FnMut(&&(Who, Arc<str>, Actions)) -> bool,
        now: u64,
    ) -> Decision {
        if let Some(why) = self.is_denied(now) {
            return Decision { allowed: false, why };
        }
        match &self.beyond_rules {
            Some(Why::Off) => return Decision { allowed: true, why: Why::Off },
            Some(_) if matches!(action, Action::Admin | Action::Read) => {
                return Decision { allowed: true, why: Why::Node };
            }
            _ => {}
        }
        match self.rules.iter().find(by_rule) {
            Some((who, prefix, _)) => Decision { allowed: true, why: Why::Rule(who.clone(), prefix.clone()) },
            None => Decision { allowed: false, why: Why::NoRule },
        }
    }
}

/// Whether a principal (`None`: a caller that shows nothing) may do this with this name. For `admin` the name is empty.
pub fn decide(rights: &Rights, principal: Option<&str>, action: Action, name: &str) -> Decision {
    Subject::principal(rights, principal.map(Into::into)).decide(action, name, 0)
}

#[cfg(test)]
mod tests {
    use super::super::{Change, Token, TokenHash};
    use super::*;

    const HASH: TokenHash = TokenHash([7; 32]);

    fn rights() -> Rights {
        let mut rights = Rights::default();
        let rules = [
            ("@ci", "ci/", "acquire,read"),
            ("ci/deploy", "prod", "acquire"),
            ("ops", "", "admin"),
            ("ops", "db/", "locks"),
            ("*", "public/", "read"),
            ("uid/1000", "home/", "locks"),
        ];
        rights.apply(&Change::Secure { admin: TokenHash([1; 32]) }).unwrap();
        for (who, prefix, actions) in rules {
            let (who, prefix, actions) = (who.parse().unwrap(), prefix.into(), actions.parse().unwrap());
            rights.apply(&Change::Allow { who, prefix, actions }).unwrap();
        }
        for principal in ["ci/build", "ci/deploy", "ci/left"] {
            let (group, principal) = ("ci".into(), principal.into());
            rights.apply(&Change::AddToGroup { group, principal }).unwrap();
        }
        rights.apply(&Change::Bar { principal: "ci/left".into(), barred: true }).unwrap();
        let token = Token { principal: "ci/build".into(), expires: Some(100) };
        rights.apply(&Change::AddToken { hash: HASH, token }).unwrap();
        rights
    }

    /// The principal ('-': a caller that shows nothing), the action, the name ('-': none), and what decides.
    const TABLE: &str = "
        admin      acquire  anything    rule admin
        admin      admin    -           rule admin
        ci/build   acquire  ci/gpu      rule @ci ci/
        ci/build   read     ci/         rule @ci ci/
        ci/build   acquire  ci          no rule
        ci/build   force    ci/gpu      no rule
        ci/build   acquire  CI/gpu      no rule
        ci/build   acquire  db/main     no rule
        ci/build   read     public/x    rule * public/
        ci/build   admin    -           no rule
        ci/deploy  acquire  prod        rule ci/deploy prod
        ci/deploy  acquire  production  rule ci/deploy prod
        ci/deploy  read     prod        no rule
        ci/left    acquire  ci/gpu      barred
        ci/left    read     public/x    barred
        ops        admin    -           rule ops
        ops        acquire  ci/gpu      no rule
        ops        read     ci/gpu      no rule
        ops        force    db/main     rule ops db/
        ops        define   db/main     rule ops db/
        stranger   read     public/x    rule * public/
        stranger   acquire  public/x    no rule
        @ci        acquire  ci/gpu      no rule
        -          read     public/x    rule * public/
        -          acquire  ci/gpu      no rule
        -          admin    -           no rule
        uid/1000   force    home/x      rule uid/1000 home/
        uid/1001   force    home/x      no rule
    ";

    fn shown(why: &Why) -> String {
        match why {
            Why::Rule(who, prefix) => format!("rule {who} {prefix}").trim_end().to_string(),
            Why::NoRule => "no rule".to_string(),
            Why::Barred => "barred".to_string(),
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn the_table_of_decisions() {
        let rights = rights();
        for row in TABLE.lines().map(str::trim).filter(|row| !row.is_empty()) {
            let mut columns = row.split_whitespace();
            let mut next = || columns.next().unwrap();
            let (principal, action, name) = (next(), next().parse().unwrap(), next());
            let expected = columns.collect::<Vec<_>>().join(" ");
            let principal = Some(principal).filter(|principal| *principal != "-");
            let decision = decide(&rights, principal, action, if name == "-" { "" } else { name });
            assert_eq!(shown(&decision.why), expected, "{row}");
            assert_eq!(decision.allowed, expected.starts_with("rule"), "{row}");
        }
    }

    #[test]
    fn everything_is_allowed_before_security_is_on() {
        for action in Action::ALL {
            let decision = decide(&Rights::default(), None, action, "x");
            assert_eq!(decision, Decision { allowed: true, why: Why::Off });
        }
        let shown = Subject::of(&Rights::default(), &Shown::Token(HASH));
        assert!(shown.decide(Action::Admin, "", 0).allowed);
    }

    #[test]
    fn a_filter_is_narrowed_to_what_may_be_read() {
        let rights = rights();
        let texts = |text: &str| text.split_whitespace().map(str::to_string).collect::<Vec<_>>();
        let readable = |principal: &str, names: &str, prefixes: &str| {
            let filter = Filter { names: texts(names), prefixes: texts(prefixes) };
            let readable = Subject::principal(&rights, Some(principal.into())).readable(&filter);
            readable.map(|it| format!("{} | {}", it.names.join(" "), it.prefixes.join(" ")))
        };
        assert_eq!(readable("admin", "", "").as_deref(), Some(" | "), "everything");
        assert_eq!(readable("ci/build", "", "").as_deref(), Some(" | public/ ci/"));
        assert_eq!(
            readable("ci/build", "ci/x db/x", "ci/gpu p db/").as_deref(),
            Some("ci/x | ci/gpu public/")
        );
        assert_eq!(readable("ci/build", "db/x", "db/"), None);
        assert_eq!(readable("ci/left", "", ""), None);
    }

    #[test]
    fn a_token_counts_while_it_is_there_and_has_not_expired() {
        let mut rights = rights();
        let decide = |rights: &Rights, now| {
            Subject::of(rights, &Shown::Token(HASH)).decide(Action::Acquire, "ci/gpu", now).why
        };
        assert!(matches!(decide(&rights, 99), Why::Rule(..)));
        assert_eq!(decide(&rights, 100), Why::Expired);
        rights.apply(&Change::RemoveToken(HASH)).unwrap();
        assert_eq!(decide(&rights, 0), Why::UnknownToken);
        // Not even what everyone may do: the caller takes itself for another.
        let subject = Subject::of(&rights, &Shown::Token(HASH));
        assert!(!subject.decide(Action::Read, "public/x", 0).allowed);
    }

    #[test]
    fn a_node_may_administer_and_read_and_no_certificate_of_a_client_makes_one() {
        let rights = rights();
        let decide = |shown: &Shown, action| Subject::of(&rights, shown).decide(action, "ci/gpu", 0).why;
        assert_eq!(decide(&Shown::Node(3), Action::Admin), Why::Node);
        assert_eq!(decide(&Shown::Node(3), Action::Read), Why::Node);
        assert_eq!(decide(&Shown::Node(3), Action::Acquire), Why::NoRule);
        for name in ["node/3", "uid/1000"] {
            let shown = Shown::Certificate(name.into());
            assert_eq!(decide(&shown, Action::Read), Why::ReservedName);
        }
        let certificate = Shown::Certificate("ci/build".into());
        assert!(matches!(decide(&certificate, Action::Acquire), Why::Rule(..)));
    }
}
