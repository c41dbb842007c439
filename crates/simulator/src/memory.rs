//! The memory that the nodes of a run take. It is estimated before they are built, so that a run that would
//! not fit is refused and does not take the program down.

use std::hash::{Hash, Hasher};

use algorithms::node::Node;
use algorithms::{Algorithm, Erased, SettingError, System};

use crate::processor::Processor;

/// The states of a run's nodes may take this many bytes together.
pub const MOST_BYTES: u64 = 4 << 30;

/// Refuses a system whose nodes would not fit.
pub(crate) fn refuse_too_large(system: &System<Erased>) -> Result<(), SettingError> {
    let nodes = system.setting().nodes;
    // Five nodes are enough to tell. A few may hold more than others (a token, a root), so the median counts.
    let mut sizes: Vec<u64> = [0, nodes / 4, nodes / 2, nodes / 4 * 3, nodes - 1]
        .into_iter()
        .map(|me| bytes(system.rules(), &Node::start(&system.site(me))))
        .collect();
    sizes.sort_unstable();
    let each = sizes[sizes.len() / 2];
    let all = each.saturating_mul(u64::from(nodes));
    if all <= MOST_BYTES {
        return Ok(());
    }
    // States that do not fit grow with the number of nodes, so all of them together grow with its square.
    let fits = f64::from(nodes) * (MOST_BYTES as f64 / all as f64).sqrt();
    Err(SettingError(format!(
        "{} keeps {each} bytes on each of {nodes} nodes, {:.1} GB in all, and a run may have {:.1} GB: take about {} \
         nodes at most",
        system.info().name,
        all as f64 / 1e9,
        MOST_BYTES as f64 / 1e9,
        fits as u64 / 100 * 100,
    )))
}

/// About how many bytes a node takes, on average: its state and the driver's state of it, without allocator
/// overhead. It is computed, so it is the same on every machine.
pub(crate) fn bytes_per_node<A: Algorithm>(rules: &A::Rules, nodes: &[Node<A>]) -> u64 {
    let all: u64 = nodes.iter().map(|node| bytes(rules, node)).sum();
    let processor = size_of::<Processor>() + A::info(rules).timers.len() * size_of::<u32>();
    all / (nodes.len() as u64).max(1) + processor as u64
}

/// About how many bytes a node's state takes: its fixed part and everything it owns.
fn bytes<A: Algorithm>(rules: &A::Rules, node: &Node<A>) -> u64 {
    let mut count = Count(0);
    node.hash(&mut count);
    A::node_bytes(rules) as u64 + count.0
}

/// Counts the bytes that are hashed: a state is hashed completely, whatever it consists of.
struct Count(u64);

impl Hasher for Count {
    fn write(&mut self, bytes: &[u8]) {
        self.0 += bytes.len() as u64;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use algorithms::naimi_trehel::NaimiTrehel;
    use algorithms::{Setting, registry};

    use super::*;

    fn fits(name: &str, nodes: u32) -> Result<(), SettingError> {
        refuse_too_large(&registry::system(name, &Setting::new(nodes, 1))?)
    }

    #[test]
    fn an_entry_for_each_node_on_each_node_does_not_fit() {
        for refused in [fits("suzuki-kasami", 100_000), fits("drs-gme", 100_000)] {
            let SettingError(why) = refused.unwrap_err();
            assert!(why.contains("on each of 100000 nodes"), "{why}");
        }
        assert_eq!(fits("suzuki-kasami", 20_000), Ok(()));
    }

    #[test]
    fn a_few_words_on_each_node_fit() {
        assert_eq!(fits("naimi-trehel", 1_000_000), Ok(()));
        // The root keeps an entry for each node; the others do not.
        assert_eq!(fits("lacbt", 100_000), Ok(()));
    }

    #[test]
    fn a_node_takes_what_its_state_and_its_processor_take() {
        let system = System::<NaimiTrehel>::new(&Setting::new(7, 1)).unwrap();
        let nodes: Vec<_> = (0..7).map(|me| Node::start(&system.site(me))).collect();
        let fixed = size_of::<Node<NaimiTrehel>>() + size_of::<Processor>();
        let found = bytes_per_node(system.rules(), &nodes) as usize;
        assert!((fixed..fixed + 64).contains(&found), "{found} {fixed}");
    }

    #[test]
    fn an_erased_node_takes_what_the_node_takes() {
        let setting = Setting { groups: 3, ..Setting::new(7, 1) };
        let plain = System::<algorithms::drs_gme::DrsGme>::new(&setting).unwrap();
        let erased = registry::system("drs-gme", &setting).unwrap();
        let taken = bytes(plain.rules(), &Node::start(&plain.site(3)));
        assert_eq!(bytes(erased.rules(), &Node::start(&erased.site(3))), taken);
    }
}
