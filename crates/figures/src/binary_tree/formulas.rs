//! The formulas of 002: its own (section 4.2), and those of its table 2. Logarithms are to the base 2.

/// A function of the number of nodes.
pub(super) type Formula = fn(u32) -> f64;

/// ⌈log n⌉.
fn log_up(nodes: u32) -> f64 {
    f64::from(nodes.next_power_of_two().ilog2())
}

/// How many levels a tree of n nodes has: ⌈log(n + 1)⌉.
pub(super) fn levels(nodes: u32) -> u32 {
    (nodes + 1).next_power_of_two().ilog2()
}

/// Light load, as printed: 3(⌈log n⌉ − 1).
pub(super) fn light(nodes: u32) -> f64 {
    3.0 * (log_up(nodes) - 1.0)
}

/// Light load, the last leaf: it is ⌊log n⌋ hops from the root, and each hop takes three messages.
pub(super) fn light_leaf(nodes: u32) -> f64 {
    3.0 * f64::from(nodes.ilog2())
}

/// Light load, a random requester: three messages for each hop of the mean depth.
pub(super) fn light_mean(nodes: u32) -> f64 {
    let depths: u32 = (1..=nodes).map(u32::ilog2).sum();
    3.0 * f64::from(depths) / f64::from(nodes)
}

/// Medium load, as printed: 3(⌈log(n + 1)⌉ − 1)/2.
pub(super) fn medium(nodes: u32) -> f64 {
    3.0 * (f64::from(levels(nodes)) - 1.0) / 2.0
}

/// ⌈log(n + 1)⌉ + 2(2^−⌈log(n + 1)⌉ − 1): the sum of (levels − i)/2^i.
fn bracket(nodes: u32) -> f64 {
    let levels = levels(nodes);
    f64::from(levels) + 2.0 * (1.0 / f64::from(1u32 << levels) - 1.0)
}

/// High load, as printed in (7) and table 2: 6 times the bracket.
pub(super) fn high(nodes: u32) -> f64 {
    6.0 * bracket(nodes)
}

/// High load, as the series (6) gives it: 3(n + 1)/n times the bracket.
pub(super) fn high_series(nodes: u32) -> f64 {
    3.0 * f64::from(nodes + 1) / f64::from(nodes) * bracket(nodes)
}

/// High load, as in the abstract, with 2^⌈log(n + 1)⌉: the sign of the exponent is lost.
pub(super) fn high_abstract(nodes: u32) -> f64 {
    let levels = levels(nodes);
    6.0 * (f64::from(levels) + 2.0 * (f64::from(1u32 << levels) - 1.0))
}

/// The number of messages, as printed and, where that is a number, at any size.
pub(super) type Messages = (&'static str, Option<Formula>);

/// A row of table 2.
#[derive(Clone, Copy)]
pub(super) struct Row {
    pub(super) name: &'static str,
    /// The name of our implementation, if there is one.
    pub(super) ours: Option<&'static str>,
    pub(super) delay: &'static str,
    pub(super) heavy: Messages,
    pub(super) light: Messages,
}

fn root(nodes: u32) -> f64 {
    f64::from(nodes).sqrt()
}

fn number(nodes: u32) -> f64 {
    f64::from(nodes)
}

const fn row(name: &'static str, delay: &'static str, heavy: Messages, light: Messages) -> Row {
    Row { name, ours: None, delay, heavy, light }
}

const fn have(name: &'static str, row: Row) -> Row {
    Row { ours: Some(name), ..row }
}

const LAMPORT: Messages = ("3(N − 1)", Some(|n| 3.0 * (number(n) - 1.0)));
const TWICE: Messages = ("2(N − 1)", Some(|n| 2.0 * (number(n) - 1.0)));
const ALL: Messages = ("N", Some(number));

/// Table 2.
pub(super) const TABLE: [Row; 19] = [
    have("lamport", row("Lamport", "O(1)", LAMPORT, LAMPORT)),
    have("ricart-agrawala", row("Ricart and Agrawala", "O(1)", TWICE, TWICE)),
    have(
        "maekawa",
        row(
            "Maekawa",
            "O(1)",
            ("5(√N − 1)", Some(|n| 5.0 * (root(n) - 1.0))),
            ("3(√N − 1)", Some(|n| 3.0 * (root(n) - 1.0))),
        ),
    ),
    have("suzuki-kasami", row("Suzuki and Kasami", "O(1)", ALL, ALL)),
    have("raymond-tree", row("Raymond", "O(N)", ("4", Some(|_| 4.0)), ("O(log N)", None))),
    row("Nishio et al.", "O(N)", ALL, ALL),
    have("helary", row("Helary et al.", "O(log N)", ("O(N)", None), ("O(N)", None))),
    row("Wu and Joung", "–", ("O(NZ)", None), ("O(NZ)", None)),
    have(
        "lodha-kshemkalyani",
        row("Lodha and Kshemkalyani", "–", ("N − 1", Some(|n| number(n) - 1.0)), TWICE),
    ),
    row("Keane and Moir", "–", ("O(N)", None), ("O(N)", None)),
    row("Cao and Singhal", "O(T)", ("O(K)", None), ("O(K)", None)),
    row("Cantarell", "–", ("log(min(N, R))", None), ("log(min(N, R))", None)),
    row("Paydar et al.", "–", ("–", None), ("4√N", Some(|n| 4.0 * root(n)))),
    row("Zheng et al.", "2ST + E", ("Bc(Pm) + Hp(Pn, Pm)", None), ("Bc(Pm) + Hp(Pn, Pm)", None)),
    row("Atreya et al.", "–", ("–", None), ("O(lmn)", None)),
    row("Kakugawa et al.", "4", ("O(|Q|)", None), ("O(|Q|)", None)),
    row("Taheri et al.", "O(√N)", ("√N", Some(root)), ("O(√N)", None)),
    row(
        "Neamatollahi et al.",
        "O(√N)",
        ("3", Some(|_| 3.0)),
        // The lower end of the printed range.
        ("2(√N + 1) to 3(√N + 1)", Some(|n| 2.0 * (root(n) + 1.0))),
    ),
    have(
        "lacbt",
        row(
            "proposed",
            "O(log N)",
            ("6[⌈log(N + 1)⌉ + 2(2^−⌈log(N + 1)⌉ − 1)]", Some(high)),
            ("3(⌈log N⌉ − 1)", Some(light)),
        ),
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn near(value: f64, expected: f64) {
        assert!((value - expected).abs() < 1e-9, "{value}, not {expected}");
    }

    #[test]
    fn light_load_by_hand() {
        assert_eq!([3, 4, 7, 8, 31, 32, 33].map(light), [3.0, 3.0, 6.0, 6.0, 12.0, 12.0, 15.0]);
        assert_eq!([3, 4, 7, 8, 31, 32, 33].map(light_leaf), [3.0, 6.0, 6.0, 9.0, 12.0, 15.0, 15.0]);
        // Depths 0, 1, 1, 2, 2, 2, 2.
        near(light_mean(7), 30.0 / 7.0);
        near(light_mean(1), 0.0);
    }

    #[test]
    fn medium_and_high_load_by_hand() {
        assert_eq!([1, 3, 7, 8, 15, 31].map(levels), [1, 2, 3, 4, 4, 5]);
        assert_eq!([3, 7, 31].map(medium), [1.5, 3.0, 6.0]);
        // For seven nodes 3 + 2(1/8 − 1) = 1.25.
        near(high(7), 7.5);
        near(high_abstract(7), 6.0 * 17.0);
        near(high_series(7), 30.0 / 7.0);
    }

    /// In complete trees a request of every node costs the same as one of a random node.
    #[test]
    fn the_series_is_the_mean_depth() {
        for nodes in [1, 3, 7, 15, 31, 63, 127, 255] {
            near(high_series(nodes), light_mean(nodes));
        }
    }

    #[test]
    fn table_2_names_algorithms_that_there_are() {
        for row in &TABLE {
            assert!(row.ours.is_none_or(|name| algorithms::registry::info(name).is_ok()), "{}", row.name);
        }
        assert_eq!(TABLE.iter().filter(|row| row.ours.is_some()).count(), 8);
    }
}
