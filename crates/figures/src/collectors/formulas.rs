//! The formulas of 000 section IV, as printed, and the corrected ones.

/// How long a message takes in the text's curves (M).
pub(crate) const MESSAGE: f64 = 10.0;
/// How long a critical section takes in them (E).
pub(crate) const SECTION: f64 = 50.0;

/// A round: the number of tokens, and the number of requests in each requesting group (N₀, N₁ …).
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Round {
    /// Its x value.
    pub(crate) x: f64,
    pub(crate) tokens: u32,
    pub(crate) sizes: Vec<u32>,
}

/// Case 1: the same number in each of the groups.
pub(crate) fn equal(groups: u32, each: u32) -> Vec<u32> {
    vec![each; groups as usize]
}

/// Case 2: each group has half as many as the next, rounded up where that is not a whole number.
pub(crate) fn halved(groups: u32, largest: u32) -> Vec<u32> {
    (0..groups).rev().map(|halvings| largest.div_ceil(1 << halvings)).collect()
}

impl Round {
    fn groups(&self) -> f64 {
        self.sizes.len() as f64
    }

    fn asking(&self) -> f64 {
        self.sizes.iter().map(|&size| f64::from(size)).sum()
    }

    fn largest(&self) -> f64 {
        f64::from(self.sizes.iter().copied().max().unwrap_or(0))
    }

    /// S: one share stays with the global collector's own group.
    fn share(&self) -> f64 {
        f64::from(self.tokens) / (self.groups() + 1.0)
    }

    /// Case 1: 3M + (N/S)(M + E) + M.
    pub(crate) fn time_1(&self) -> f64 {
        4.0 * MESSAGE + self.largest() / self.share() * (MESSAGE + SECTION)
    }

    /// Case 1: NQ + 2Q + (N/S)Q + 2Q.
    pub(crate) fn messages_1(&self) -> f64 {
        self.asking() + 4.0 * self.groups() + self.asking() / self.share()
    }

    /// Case 2: 4M + G of the last group, where G = N(Q + 1)/(2K) · (M + E) − (G of the group before) + 2M.
    /// The first group has no other before it: its G is that of step 4, N/S · (M + E).
    pub(crate) fn time_2(&self) -> f64 {
        let alone = |size: &u32| f64::from(*size) / self.share() * (MESSAGE + SECTION);
        let mut sizes = self.sizes.iter();
        let first = sizes.next().map_or(0.0, alone);
        4.0 * MESSAGE + sizes.fold(first, |before, size| alone(size) / 2.0 - before + 2.0 * MESSAGE)
    }

    /// Case 2 as printed: 3Q + ΣN + N₀(Q + 1)/K + 3(Q + 1)/4 · Σ of all N but the first.
    pub(crate) fn messages_2_printed(&self) -> f64 {
        self.messages_2(3.0 * (self.groups() + 1.0) / 4.0)
    }

    /// The same with 3(Q + 1)/(4K), three quarters of 1/S: that is what step 7 describes.
    pub(crate) fn messages_2_mended(&self) -> f64 {
        self.messages_2(3.0 / (4.0 * self.share()))
    }

    fn messages_2(&self, factor: f64) -> f64 {
        let first = self.sizes.first().map_or(0.0, |&size| f64::from(size));
        3.0 * self.groups() + self.asking() + first / self.share() + factor * (self.asking() - first)
    }

    /// Chaudhuri and Edward, both cases: 3M + (largest N)(M + E) + M.
    pub(crate) fn edward_time(&self) -> f64 {
        4.0 * MESSAGE + self.largest() * (MESSAGE + SECTION)
    }

    /// Chaudhuri and Edward, both cases: 4Q + 2ΣN. (Case 2 prints the sum from 0 to Q, one group too many.)
    pub(crate) fn edward_messages(&self) -> f64 {
        4.0 * self.groups() + 2.0 * self.asking()
    }

    /// The whole tokens that each group uses: equal shares of all of them, the remainder to the first, and at
    /// most one for each request; and whether some of its share returns unused.
    fn used(&self) -> Vec<(u32, bool)> {
        let groups = self.sizes.len() as u32;
        let share = |index| self.tokens / groups + u32::from(index < self.tokens % groups);
        (0..groups)
            .zip(&self.sizes)
            .map(|(index, &size)| (share(index).min(size), share(index) > size))
            .collect()
    }

    /// Ours, for both cases and tokens that follow their queues: REQ, GREQ, two hops of collecting, GRANT;
    /// the longest queue of any token, a message and a critical section for each entry; HOME and RET.
    pub(crate) fn time(&self) -> f64 {
        let queues =
            self.used().into_iter().zip(&self.sizes).map(|((used, _), size)| size.div_ceil(used.max(1)));
        7.0 * MESSAGE + f64::from(queues.max().unwrap_or(0)) * (MESSAGE + SECTION)
    }

    /// Ours, for the same: REQ and TOKEN for each request, GREQ and GRANT for each group, HOME and RET for
    /// each used token, and a RET for each group that could not use all.
    pub(crate) fn messages(&self) -> f64 {
        let back: f64 =
            self.used().into_iter().map(|(used, rest)| f64::from(2 * used + u32::from(rest))).sum();
        2.0 * self.asking() + 2.0 * self.groups() + back
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(value: f64, expected: f64) {
        assert!((value - expected).abs() < 1e-9, "{value}, not {expected}");
    }

    /// Q = 8, N = 128, K = 18: S = 2 by the text, shares of 3, 3, 2 … 2 in whole tokens.
    #[test]
    fn case_1_by_hand() {
        let round = Round { x: 0.0, tokens: 18, sizes: equal(8, 128) };
        near(round.time_1(), 40.0 + 64.0 * 60.0);
        near(round.messages_1(), 1024.0 + 32.0 + 512.0);
        near(round.edward_time(), 7720.0);
        near(round.edward_messages(), 2080.0);
        near(round.time(), 70.0 + 64.0 * 60.0);
        near(round.messages(), 2048.0 + 16.0 + 36.0);
    }

    /// Q = 3, N = 1, 2, 4, K = 8: S = 2 by the text; 3, 3, 2 whole tokens, of which 1, 2, 2 are used.
    #[test]
    fn case_2_by_hand() {
        let round = Round { x: 0.0, tokens: 8, sizes: halved(3, 4) };
        assert_eq!(round.sizes, [1, 2, 4]);
        // G: 30, then 30 − 30 + 20 = 20, then 60 − 20 + 20 = 60.
        near(round.time_2(), 100.0);
        near(round.messages_2_printed(), 9.0 + 7.0 + 0.5 + 3.0 * 6.0);
        near(round.messages_2_mended(), 9.0 + 7.0 + 0.5 + 0.375 * 6.0);
        near(round.edward_time(), 280.0);
        near(round.edward_messages(), 26.0);
        near(round.time(), 70.0 + 2.0 * 60.0);
        near(round.messages(), 14.0 + 6.0 + 2.0 * 5.0 + 2.0);
    }

    #[test]
    fn halves_are_rounded_up() {
        assert_eq!(halved(8, 128), [1, 2, 4, 8, 16, 32, 64, 128]);
        assert_eq!(halved(4, 10), [2, 3, 5, 10]);
        assert_eq!(halved(1, 7), [7]);
    }
}
