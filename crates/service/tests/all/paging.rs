//! Listings in pages: every client is listed once, and each page fits into a frame.

use std::collections::BTreeSet;
use std::sync::Arc;

use service::core::{Cursor, Page, Timeout};
use service::event::Filter;
use service::frame::{self, LONGEST_BODY};
use service::protocol::{QuestionAnswer, ToClient};
use service::view::View;
use service::{Acquire, Config, Core, Definition, Effects, SessionId, Time, Want};

const NOW: Time = Time(1_000_000_000);

struct Node {
    core: Core,
    out: Effects,
    session: SessionId,
    requests: u64,
}

impl Node {
    fn new() -> Node {
        let mut core = Core::new(Config::new(0, View::alone(0)));
        let (session, _) = core.open(None, NOW).unwrap();
        Node { core, out: Effects::default(), session, requests: 0 }
    }

    fn acquire(&mut self, name: &str, definition: Definition, want: Want) {
        self.requests += 1;
        let ask =
            Acquire { request: self.requests, name: name.into(), definition, want, timeout: Timeout::Never };
        self.core.acquire(self.session, &ask, NOW, &mut self.out).unwrap();
    }

    /// All pages. Between two of them a change may come.
    fn pages(
        &mut self,
        page: impl Fn(&Core, Option<&Cursor>) -> Page,
        mut between: impl FnMut(&mut Node),
    ) -> Vec<Page> {
        let mut pages: Vec<Page> = Vec::new();
        loop {
            let next = page(&self.core, pages.last().and_then(|page| page.next.as_ref()));
            assert!(length(&next) < LONGEST_BODY, "a page fits into a frame");
            let clients: usize = next.listings.iter().map(|listing| listing.clients.len()).sum();
            assert!(clients <= 2_048 && next.listings.len() <= 1_024, "a page does not take long");
            pages.push(next);
            if pages.last().is_some_and(|page| page.next.is_none()) {
                return pages;
            }
            between(self);
        }
    }
}

fn length(page: &Page) -> usize {
    let mut bytes = Vec::new();
    frame::put(
        1,
        &ToClient::QuestionAnswer { number: 0, answer: QuestionAnswer::List(page.clone()) },
        &mut bytes,
    );
    bytes.len()
}

/// The requests that were listed, each of which has to be listed once.
fn told(pages: &[Page]) -> BTreeSet<u64> {
    let listings = pages.iter().flat_map(|page| &page.listings);
    let requests: Vec<u64> =
        listings.flat_map(|listing| &listing.clients).map(|client| client.request).collect();
    let distinct: BTreeSet<u64> = requests.iter().copied().collect();
    assert_eq!(distinct.len(), requests.len(), "nobody is told twice");
    distinct
}

#[test]
fn names_of_all_kinds_are_told_once() {
    let mut node = Node::new();
    let long: Vec<Arc<str>> = (0..64).map(|group| Arc::from(format!("{group:0>255}"))).collect();
    for number in 0..10_000 {
        node.acquire(&format!("slots/{number}"), Definition::Slots(2), Want::Slot);
        node.acquire(&format!("{:0>255}", number % 1_000), Definition::RwLock, Want::Read);
    }
    for number in 0..200 {
        node.acquire(&format!("room/{number}"), Definition::Room, Want::AnyOf(long.clone().into()));
    }
    let pages = node.pages(|core, after| core.list_page(&Filter::default(), after, NOW), |_| {});
    assert!(pages.len() > 3, "{} pages", pages.len());
    assert_eq!(told(&pages).len(), 20_200);
    let names: BTreeSet<&String> =
        pages.iter().flat_map(|page| &page.listings).map(|listing| &listing.name).collect();
    assert_eq!(names.len(), 11_200);
}

#[test]
fn a_filter_shows_its_names_once_and_the_node_looks_at_no_others() {
    let mut node = Node::new();
    for number in 0..5_000 {
        node.acquire(&format!("ci/{number:04}"), Definition::MUTEX, Want::Slot);
        node.acquire(&format!("db/{number:04}"), Definition::RwLock, Want::Read);
    }
    node.acquire("ci", Definition::Room, Want::AnyOf([Arc::from("red")].into()));
    let texts = |texts: &[&str]| texts.iter().map(|text| text.to_string()).collect();
    let mut names = |names: &[&str], prefixes: &[&str]| -> Vec<String> {
        let filter = Filter { names: texts(names), prefixes: texts(prefixes) };
        let pages = node.pages(|core, after| core.list_page(&filter, after, NOW), |_| {});
        assert!(pages.len() <= 1 + told(&pages).len() / 800, "no page for names that are not shown");
        pages.iter().flat_map(|page| &page.listings).map(|listing| listing.name.clone()).collect()
    };
    assert_eq!(names(&["db/0001", "ci/4999", "db/0001", "none"], &[]), ["ci/4999", "db/0001"]);
    assert_eq!(names(&["ci/0123", "ci"], &["ci/012", "ci/0120", "x"]).len(), 11);
    assert_eq!(names(&[], &["ci/1", "db/2", "ci/12"]).len(), 2_000);
    assert_eq!(names(&[], &["e"]), Vec::<String>::new());
    assert_eq!(names(&[], &[""]).len(), 10_001);
}

#[test]
fn waiters_of_one_name_are_told_once_whatever_others_do_meanwhile() {
    let mut node = Node::new();
    for _ in 0..30_000 {
        node.acquire("x", Definition::MUTEX, Want::Slot);
    }
    let mut left = 0;
    let pages = node.pages(
        |core, after| core.inspect_page("x", after, NOW),
        |node| {
            // The first waiter gives up, and another comes.
            left += 1;
            node.core.cancel(node.session, 1 + left, NOW, &mut node.out).unwrap();
            node.acquire("x", Definition::MUTEX, Want::Slot);
        },
    );
    assert!(pages.len() > 3, "{} pages", pages.len());
    assert!(pages.iter().flat_map(|page| &page.listings).all(|listing| listing.name == "x"));
    let told = told(&pages);
    assert!((2 + left..=30_000).all(|request| told.contains(&request)), "who stays is told");
    assert_eq!(
        pages.iter().flat_map(|page| &page.listings).filter(|found| !found.slots.is_empty()).count(),
        1
    );
}

#[test]
fn a_name_that_nobody_uses_is_still_known() {
    let mut node = Node::new();
    node.acquire("x", Definition::Slots(65_536), Want::Slot);
    node.core.cancel(node.session, 1, NOW, &mut node.out).unwrap_or_default();
    let pages = node.pages(|core, after| core.inspect_page("x", after, NOW), |_| {});
    let listings: Vec<_> = pages.iter().flat_map(|page| &page.listings).collect();
    assert_eq!(listings.len(), 1);
    assert_eq!(listings[0].slots.len(), 65_536);
    assert_eq!(node.core.inspect_page("y", None, NOW).listings, []);
}

#[test]
fn definitions_are_told_once() {
    let mut node = Node::new();
    let defined = (0..5_000).map(|number| (format!("{number:0>255}").into(), Definition::Room)).collect();
    node.core.all_defined(&defined, NOW, &mut node.out);
    let (mut told, mut after) = (Vec::new(), None::<Arc<str>>);
    loop {
        let (page, more) = node.core.definitions_page(after.as_deref(), |_| true);
        let bytes: usize = page.iter().map(|(name, _)| name.len() + 8).sum();
        assert!(bytes < LONGEST_BODY, "a page fits into a frame");
        told.extend(page);
        if !more {
            break;
        }
        after = told.last().map(|(name, _)| Arc::clone(name));
    }
    assert!(told.into_iter().eq(defined));
}

#[test]
fn the_use_of_every_name_is_told_once_with_its_longest_waits() {
    let mut node = Node::new();
    let names: BTreeSet<Arc<str>> = (0..3_000).map(|number| format!("jobs/{number:04}").into()).collect();
    names.iter().for_each(|name| node.acquire(name, Definition::MUTEX, Want::Slot));
    (0..5_000).for_each(|_| node.acquire("jobs/0007", Definition::MUTEX, Want::Slot));
    (0..4).for_each(|_| node.acquire("jobs/0008", Definition::MUTEX, Want::Slot));
    let (mut told, mut after, later) = (Vec::new(), None, NOW + std::time::Duration::from_secs(3));
    loop {
        let page = node.core.uses_page(&Filter::default(), after.as_ref(), later);
        assert!(page.uses.len() <= 1_024, "a page does not take long");
        told.extend(page.uses);
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(told.len(), 3_000, "each once");
    assert_eq!(told.iter().map(|used| used.name.clone()).collect::<BTreeSet<_>>(), names);
    assert!(told.iter().all(|used| used.grants == 1 && used.counted.as_secs() == 3));
    let [many, few] = [&told[7], &told[8]];
    assert!(many.more && many.holders + many.waiters == 4_096, "no more are looked at");
    assert_eq!((few.holders, few.waiters, few.more), (1, 4, false));
    assert_eq!((few.longest_waits.len(), few.longest_waits[0].since.as_secs()), (3, 3));
    assert!(few.longest_hold.as_ref().is_some_and(|held| held.granted.is_some()));
    let one = Filter { names: vec!["jobs/0008".to_string()], prefixes: Vec::new() };
    let page = node.core.uses_page(&one, None, later);
    assert_eq!((page.uses, page.next), (vec![few.clone()], None));
}
