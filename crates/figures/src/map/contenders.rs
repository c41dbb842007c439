//! The algorithms that the maps compare, with names that fit into a cell.

use algorithms::{Kind, registry};
use simulator::time::Shape;

/// An algorithm on the map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contender {
    /// Its name in the registry.
    pub algorithm: &'static str,
    /// Options other than the default.
    pub options: &'static [(&'static str, &'static str)],
    /// A name that fits into a cell.
    pub short: &'static str,
    /// The number of its colour.
    pub(super) colour: usize,
}

/// The colour of all that are not often the best.
const OTHERS: usize = 7;

/// Requests are not collected, and a token at rest tells where it is.
const AT_ONCE: &[(&str, &str)] = &[("collect", "0"), ("news", "rest")];
/// The names of ours.
const OURS: [&str; 4] = ["forest", "balanced", "rooms", "rooms arrival"];

const fn plain(algorithm: &'static str, short: &'static str, colour: usize) -> Contender {
    with(algorithm, &[], short, colour)
}

const fn with(
    algorithm: &'static str,
    options: &'static [(&'static str, &'static str)],
    short: &'static str,
    colour: usize,
) -> Contender {
    Contender { algorithm, options, short, colour }
}

/// All of them. Two with the same colour are never on the same map.
const ALL: &[Contender] = &[
    plain("forest", "forest", 0),
    with("neilsen-mizuno", &[("shape", "star")], "star", 1),
    with("bulgannawar-vaidya", &[("tuning", "balanced")], "balanced", 2),
    plain("srimani-reddy", "Srim.–Reddy", 5),
    plain("suzuki-kasami", "Suz.–Kasami", 5),
    plain("singhal-heuristic", "Singhal", 4),
    with("helary", &[("behaviour", "proxy")], "proxy", 3),
    plain("bulgannawar-vaidya", "Bulg.–Vaidya", OTHERS),
    with("bulgannawar-vaidya", &[("choose", "last-seen"), ("inform", "2")], "seen, inform", OTHERS),
    with("bulgannawar-vaidya", &[("choose", "last-seen")], "last seen", OTHERS),
    plain("raymond-k", "Raymond k", OTHERS),
    with("raymond-k", &[("reply", "arrival")], "Raym. arrival", OTHERS),
    plain("k-majority", "k-majority", OTHERS),
    plain("makki", "Makki", OTHERS),
    plain("collectors", "collectors", OTHERS),
    plain("chaudhuri-edward", "Chaudh.–Edw.", OTHERS),
    plain("lacbt", "LACBT", 2),
    plain("naimi-trehel", "Naimi–Trehel", OTHERS),
    plain("raymond-tree", "Raymond tree", OTHERS),
    with("raymond-tree", &[("shape", "star")], "Raym. star", OTHERS),
    plain("neilsen-mizuno", "Neils.–Miz.", OTHERS),
    with("partitioned(helary)", &[("behaviour", "proxy")], "proxy parts", 3),
    with("partitioned(neilsen-mizuno)", &[("shape", "star")], "star parts", 1),
    plain("partitioned(singhal-heuristic)", "Singhal parts", 4),
    plain("partitioned(suzuki-kasami)", "Suz. parts", OTHERS),
    plain("partitioned(naimi-trehel)", "Naimi parts", OTHERS),
    with("partitioned(banerjee-chrysanthis)", AT_ONCE, "B.–C. 0 parts", 6),
    with("partitioned(banerjee-chrysanthis)", &[("news", "rest")], "B.–C. parts", OTHERS),
    plain("lamport", "Lamport", OTHERS),
    plain("ricart-agrawala", "Ricart–Agr.", OTHERS),
    plain("carvalho-roucairol", "Carv.–Rouc.", OTHERS),
    plain("singhal-dynamic", "Singh. dyn.", OTHERS),
    plain("maekawa", "Maekawa", OTHERS),
    plain("banerjee-chrysanthis", "Ban.–Chrys.", OTHERS),
    with("banerjee-chrysanthis", AT_ONCE, "B.–C. 0 rest", 6),
    with("banerjee-chrysanthis", &[("news", "rest")], "B.–C. rest", OTHERS),
    plain("helary", "Hélary", OTHERS),
    plain("lodha-kshemkalyani", "Lodha–Ksh.", OTHERS),
    plain("rooms", "rooms", 0),
    with("rooms", &[("queue", "arrival")], "rooms arrival", 2),
    plain("drs-gme", "DRS", 1),
    plain("ra1", "RA1", 5),
];

/// With one token these do the same as another one, but for a message here and there: forest, suzuki-kasami,
/// ricart-agrawala and collectors.
const ONLY_FOR_SEVERAL: &[&str] = &["bulgannawar-vaidya", "srimani-reddy", "raymond-k", "chaudhuri-edward"];

/// The algorithms for this many tokens and groups, and delays of this shape.
pub fn contenders(tokens: u32, groups: u32, delay: Shape) -> Vec<Contender> {
    let fits = |contender: &&Contender| {
        let Ok(info) = registry::info(contender.algorithm) else { return false };
        let same = ONLY_FOR_SEVERAL.contains(&contender.algorithm);
        let paced = info.relies_on_pace() && delay != Shape::Constant;
        let kind = match info.kind {
            Kind::GroupMutex => groups > 1,
            Kind::KMutex => groups == 1 && (tokens > 1 || !same && !contender.is_partitioned()),
            Kind::Mutex => groups == 1 && tokens == 1,
        };
        kind && !paced
    };
    ALL.iter().filter(fits).copied().collect()
}

impl Contender {
    /// Whether the nodes are divided into clusters, each with a mutex of its own.
    pub(super) fn is_partitioned(&self) -> bool {
        self.algorithm.starts_with("partitioned(")
    }

    /// Whether it is one of ours.
    pub fn is_ours(&self) -> bool {
        OURS.contains(&self.short)
    }

    /// Name and options, as the command line takes them.
    pub fn label(&self) -> String {
        let options = self.options.iter().map(|(name, value)| format!(" {name}={value}"));
        self.algorithm.to_string() + &options.collect::<String>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_algorithm_is_somewhere_on_a_map() {
        let all = [(1, 1), (3, 1), (1, 2)]
            .map(|(tokens, groups)| contenders(tokens, groups, Shape::Constant))
            .concat();
        for info in registry::ALL {
            assert!(all.iter().any(|contender| contender.algorithm == info.name), "{}", info.name);
        }
        assert!(contenders(3, 1, Shape::Exponential).iter().all(|contender| contender.algorithm != "makki"));
        for (tokens, groups) in [(1, 1), (3, 1), (1, 2)] {
            let mut colours: Vec<usize> =
                contenders(tokens, groups, Shape::Constant).iter().map(|one| one.colour).collect();
            colours.retain(|colour| *colour != OTHERS);
            let count = colours.len();
            colours.sort_unstable();
            colours.dedup();
            assert_eq!(colours.len(), count, "two of {tokens} tokens and {groups} groups share a colour");
        }
        for (index, one) in ALL.iter().enumerate() {
            assert!(ALL[..index].iter().all(|other| other.short != one.short), "{}", one.short);
        }
    }
}
