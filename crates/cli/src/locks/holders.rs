//! Who holds a lock and who waits for it, in the words of a person.

use std::cmp::Reverse;
use std::time::Duration;

use service::SessionId;
use service::core::Held;
use tokenwood::Admin;
use tokenwood::label::Label;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::locks::cluster::around;
use crate::locks::endpoints::Endpoints;

/// A node that does not answer within this time is left out.
const LONGEST_ANSWER: Duration = Duration::from_secs(2);
/// So many holders are named.
const NAMED: usize = 3;

/// The clients of a name, at all nodes that answer.
#[derive(Default)]
pub(crate) struct Clients {
    /// The longest first.
    holders: Vec<Held>,
    /// In the order in which they came.
    waiters: Vec<Held>,
}

impl Clients {
    /// Asks all nodes; `None` if none answers.
    pub(crate) async fn of(endpoints: &Endpoints, name: &str) -> Option<Clients> {
        let members = timeout(LONGEST_ANSWER, around(endpoints)).await.ok()?.ok()?.members();
        let (mut asked, access) = (JoinSet::new(), endpoints.access().ok()?);
        for endpoint in members.into_iter().filter_map(|member| member.endpoint) {
            let (name, access) = (name.to_string(), access.clone());
            asked.spawn(timeout(LONGEST_ANSWER, async move {
                let mut admin = Admin::connect_with(&endpoint, &access).await?;
                let (_, listings) = admin.inspect(&name).await?;
                Ok::<_, tokenwood::Error>(listings)
            }));
        }
        let answers = asked.join_all().await.into_iter().filter_map(|answer| answer.ok()?.ok());
        let mut clients: Vec<Held> = answers.flatten().flat_map(|listing| listing.clients).collect();
        clients.sort_by_key(|client| Reverse(client.since));
        let (holders, waiters) = clients.into_iter().partition(|client| client.granted.is_some());
        Some(Clients { holders, waiters })
    }

    /// `held by deploy@build-7 (pid 4121: ./backup.sh) for 3 min, 2 waiting`; nothing if no client holds it. A client that waits
    /// itself is told how many are before it.
    pub(crate) fn in_words(&self, me: Option<&Label>) -> Option<String> {
        let (first, others) = self.holders.split_at(self.holders.len().min(NAMED));
        if first.is_empty() {
            return None;
        }
        let named: Vec<String> = first.iter().map(holder_in_words).collect();
        let mut text = format!("held by {}", named.join(", "));
        if !others.is_empty() {
            text.push_str(&format!(" and {} more", others.len()));
        }
        let is_me = |client: &Held| me.is_some_and(|me| client.label.as_ref() == Some(me));
        match (self.waiters.iter().position(is_me), self.waiters.len()) {
            (Some(0), _) => text.push_str("; you are next"),
            (Some(before), _) => text.push_str(&format!("; {before} waiting before you")),
            (None, 0) => {}
            (None, waiting) => text.push_str(&format!(", {waiting} waiting")),
        }
        Some(text)
    }
}

impl Clients {
    /// What is new if it has changed: who holds, and who waits before this client.
    pub(crate) fn sessions(&self, me: Option<&Label>) -> Vec<(SessionId, u64, bool)> {
        let before = self.waiters.iter().take_while(|client| me.is_none() || client.label.as_ref() != me);
        let clients = self.holders.iter().chain(before);
        clients.map(|client| (client.session, client.request, client.revoked)).collect()
    }
}

fn holder_in_words(holder: &Held) -> String {
    let revoked = if holder.revoked { ", being revoked" } else { "" };
    format!("{} for {}{revoked}", who(holder), time_in_words(holder.since))
}

/// Who a client is.
pub(crate) fn who(client: &Held) -> String {
    match client.label.as_ref().map(Label::to_string).filter(|label| !label.is_empty()) {
        Some(label) => label,
        None => {
            format!("client {}/{} of node {}", client.session.number, client.request, client.session.node)
        }
    }
}

/// `1.2 s`, `3 min`, `2 h 5 min`, `4 d 3 h`.
pub(crate) fn time_in_words(time: Duration) -> String {
    let seconds = time.as_secs();
    let two = |first: u64, unit: &str, second: u64, smaller: &str| match second {
        0 => format!("{first} {unit}"),
        second => format!("{first} {unit} {second} {smaller}"),
    };
    match seconds {
        0..60 => format!("{:.1} s", time.as_secs_f64()),
        60..3600 => format!("{} min", seconds / 60),
        3600..86_400 => two(seconds / 3600, "h", seconds / 60 % 60, "min"),
        _ => two(seconds / 86_400, "d", seconds / 3600 % 24, "h"),
    }
}

#[cfg(test)]
mod tests {
    use service::Want;
    use tokenwood::Grant;

    use super::*;

    fn client(process: u32, seconds: u64, holds: bool) -> Held {
        let label = Label { user: "deploy".into(), host: "build-7".into(), process, ..Label::default() };
        Held {
            session: SessionId { node: 1, incarnation: 1, number: 5 },
            request: 2,
            granted: holds.then_some(Grant { slot: 0, fence: 1, group: 0 }),
            want: Want::Slot,
            since: Duration::from_secs(seconds),
            label: Some(label),
            left: None,
            revoked: false,
        }
    }

    #[test]
    fn holders_and_waiters_as_people_say_it() {
        let mut clients = Clients { holders: vec![client(7, 200, true)], ..Clients::default() };
        assert_eq!(clients.in_words(None).unwrap(), "held by deploy@build-7 (pid 7) for 3 min");
        clients.waiters = vec![client(8, 9, false), client(9, 5, false)];
        assert_eq!(clients.in_words(None).unwrap(), "held by deploy@build-7 (pid 7) for 3 min, 2 waiting");
        let me = |process| client(process, 0, false).label;
        let told = |clients: &Clients, process| clients.in_words(me(process).as_ref()).unwrap();
        assert_eq!(told(&clients, 8), "held by deploy@build-7 (pid 7) for 3 min; you are next");
        assert_eq!(told(&clients, 9), "held by deploy@build-7 (pid 7) for 3 min; 1 waiting before you");
        clients.holders[0].label = None;
        clients.holders[0].revoked = true;
        assert!(told(&clients, 9).starts_with("held by client 5/2 of node 1 for 3 min, being revoked"));
        assert_eq!(Clients::default().in_words(None), None);
    }

    #[test]
    fn lengths_of_time_in_words() {
        for (seconds, expected) in [
            (0, "0.0 s"),
            (59, "59.0 s"),
            (60, "1 min"),
            (7500, "2 h 5 min"),
            (7200, "2 h"),
            (90_000, "1 d 1 h"),
        ] {
            assert_eq!(time_in_words(Duration::from_secs(seconds)), expected);
        }
    }
}
