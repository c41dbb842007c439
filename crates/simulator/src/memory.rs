//! The memory that the nodes of a run take. It is estimated before they are built, so that a run that would
//! not fit is refused and does not take the program down.

use std::hash::{Hash, Hasher};

use algorithms::node::Node;
use algorithms::{Algorithm, SettingError, Site};

use crate::desk::Desk;
use crate::plan::Plan;

/// The states of a run's nodes may take this many bytes together.
pub const MOST_BYTES: u64 = 4 << 30;

/// The initial states of the nodes.
pub(crate) fn nodes<A: Algorithm>(plan: &Plan, rules: &A::Rules) -> Vec<Node<A>> {
    (0..plan.setting.nodes).map(|me| node(plan, rules, me)).collect()
}

/// The driver's state of the nodes.
pub(crate) fn desks<A: Algorithm>(plan: &Plan) -> Vec<Desk> {
    (0..plan.setting.nodes).map(|_| Desk::new(A::INFO.timers.len())).collect()
}

fn node<A: Algorithm>(plan: &Plan, rules: &A::Rules, me: u32) -> Node<A> {
    Node::start(&Site { me, nodes: plan.setting.nodes, tokens: plan.setting.tokens, rules })
}

/// Refuses a plan whose nodes would not fit.
pub(crate) fn refuse_too_large<A: Algorithm>(plan: &Plan, rules: &A::Rules) -> Result<(), SettingError> {
    let nodes = plan.setting.nodes;
    // Five nodes are enough to tell. A few may hold more than others (a token, a root), so the median counts.
    let mut sizes: Vec<u64> = [0, nodes / 4, nodes / 2, nodes / 4 * 3, nodes - 1]
        .into_iter()
        .map(|me| bytes(&node::<A>(plan, rules, me)))
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
        A::INFO.name,
        all as f64 / 1e9,
        MOST_BYTES as f64 / 1e9,
        fits as u64 / 100 * 100,
    )))
}

/// About how many bytes a node takes, on average: its state and the driver's state of it, without allocator
/// overhead. It is computed, so it is the same on every machine.
pub(crate) fn bytes_per_node<A: Algorithm>(nodes: &[Node<A>]) -> u64 {
    let all: u64 = nodes.iter().map(bytes).sum();
    let desk = size_of::<Desk>() + A::INFO.timers.len() * size_of::<u32>();
    all / (nodes.len() as u64).max(1) + desk as u64
}

/// About how many bytes a node's state takes: its fixed part and everything it owns.
fn bytes<A: Algorithm>(node: &Node<A>) -> u64 {
    let mut count = Count(0);
    node.hash(&mut count);
    size_of::<Node<A>>() as u64 + count.0
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
    use algorithms::drs_gme::DrsGme;
    use algorithms::lacbt::Lacbt;
    use algorithms::naimi_trehel::NaimiTrehel;
    use algorithms::suzuki_kasami::SuzukiKasami;

    use super::*;

    fn fits<A: Algorithm>(nodes: u32) -> Result<(), SettingError> {
        let mut plan = Plan::of(&A::INFO);
        plan.setting.nodes = nodes;
        refuse_too_large::<A>(&plan, &A::rules(&plan.setting)?)
    }

    #[test]
    fn an_entry_for_each_node_on_each_node_does_not_fit() {
        for refused in [fits::<SuzukiKasami>(100_000), fits::<DrsGme>(100_000)] {
            let SettingError(why) = refused.unwrap_err();
            assert!(why.contains("on each of 100000 nodes"), "{why}");
        }
        assert_eq!(fits::<SuzukiKasami>(20_000), Ok(()));
    }

    #[test]
    fn a_few_words_on_each_node_fit() {
        assert_eq!(fits::<NaimiTrehel>(1_000_000), Ok(()));
        // The root keeps an entry for each node; the others do not.
        assert_eq!(fits::<Lacbt>(100_000), Ok(()));
    }

    #[test]
    fn a_node_takes_what_its_state_and_its_desk_take() {
        let mut plan = Plan::of(&NaimiTrehel::INFO);
        plan.setting.nodes = 7;
        let built = nodes::<NaimiTrehel>(&plan, &NaimiTrehel::rules(&plan.setting).unwrap());
        let fixed = size_of::<Node<NaimiTrehel>>() + size_of::<Desk>();
        let found = bytes_per_node(&built) as usize;
        assert!((fixed..fixed + 64).contains(&found), "{found} {fixed}");
    }
}
