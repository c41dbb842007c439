//! Comparison of curves: by how much a simulation misses a formula, and how a curve runs.

use crate::page::{Claim, Dot, Verdict};

/// A simulated value this close to a formula's confirms it.
pub(crate) const NEAR: f64 = 0.02;

/// A claim that a formula describes the simulation at the same x values: it reproduces if it is nowhere more
/// than [`NEAR`] off (or three standard errors), and otherwise differs by the range of the deviations.
pub(crate) fn formula(source: &'static str, says: &str, formula: &[Dot], simulated: &[Dot]) -> Claim {
    let off = |(formula, simulated): (&Dot, &Dot)| (simulated.y - formula.y) / formula.y;
    let compared = || formula.iter().zip(simulated).filter(|(formula, _)| formula.y > 0.0);
    let (mut least, mut most) = (f64::INFINITY, f64::NEG_INFINITY);
    let mut furthest = None;
    let mut near = true;
    for pair in compared() {
        let this = off(pair);
        (least, most) = (least.min(this), most.max(this));
        near &= this.abs() <= NEAR.max(3.0 * pair.1.error / pair.0.y);
        if furthest.is_none_or(|other| off(other).abs() < this.abs()) {
            furthest = Some(pair);
        }
    }
    let Some((by_formula, by_simulation)) = furthest else {
        return Claim::holds(source, says, false, "there is nothing to compare".to_string());
    };
    let range = if percent(least) == percent(most) {
        percent(least)
    } else {
        format!("{} to {}", percent(least), percent(most))
    };
    let verdict = if near { Verdict::Reproduces } else { Verdict::Differs(range.clone()) };
    if least.abs().max(most.abs()) < 1e-9 {
        return Claim::holds(source, says, true, format!("exactly so at all {} places", compared().count()));
    }
    let found = format!(
        "simulated {range} beside it; furthest off at {}: {} by the formula, {} simulated",
        by_formula.x,
        short(by_formula.y),
        short(by_simulation.y)
    );
    Claim { source, says: says.to_string(), found, verdict, reason: String::new() }
}

/// Whether a curve never goes up.
pub(crate) fn never_rises(dots: &[Dot]) -> bool {
    dots.windows(2).all(|pair| pair[1].y <= pair[0].y + 1e-9)
}

/// The course of a curve from its start to its end, in words.
pub(crate) fn course(name: &str, dots: &[Dot]) -> String {
    match (dots.first(), dots.last()) {
        (Some(first), Some(last)) => {
            format!("{name}: {} at {}, {} at {}", short(first.y), first.x, short(last.y), last.x)
        }
        _ => format!("{name}: nothing"),
    }
}

/// A number without insignificant digits.
pub(crate) fn short(number: f64) -> String {
    let whole = (number - number.round()).abs() < 5e-4;
    if whole || number.abs() >= 1000.0 {
        format!("{number:.0}")
    } else if number.abs() >= 100.0 {
        format!("{number:.1}")
    } else {
        format!("{number:.2}")
    }
}

/// A share in percent.
pub(crate) fn share(part: f64) -> String {
    format!("{:.1} %", part * 100.0)
}

fn percent(share: f64) -> String {
    let rounded = (share * 1000.0).round() / 10.0;
    if rounded == 0.0 { "±0 %".to_string() } else { format!("{rounded:+.1} %") }
}

/// The t such that this share of Student's distribution with these degrees of freedom lies between −t and t.
pub(crate) fn student(share: f64, freedom: usize) -> f64 {
    if freedom == 0 {
        return 0.0;
    }
    let (mut low, mut high) = (0.0, 1e6);
    // Halving an interval of a million sixty times leaves nothing of it.
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if share_within(middle, freedom) < share {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

/// The share of Student's distribution between −t and t: the finite sums for whole degrees of freedom.
fn share_within(t: f64, freedom: usize) -> f64 {
    let angle = (t / (freedom as f64).sqrt()).atan();
    let (sine, cosine) = angle.sin_cos();
    let odd = freedom % 2;
    let (mut term, mut sum) = (if odd == 1 { cosine } else { 1.0 }, 0.0);
    for index in 1..=(freedom - odd) / 2 {
        sum += term;
        term *= cosine * cosine * (2 * index - 1 + odd) as f64 / (2 * index + odd) as f64;
    }
    if odd == 1 { (angle + sine * sum) * 2.0 / std::f64::consts::PI } else { sine * sum }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dots(values: &[f64]) -> Vec<Dot> {
        (0..).zip(values).map(|(x, &y)| Dot::exact(f64::from(x), y)).collect()
    }

    #[test]
    fn a_formula_reproduces_only_if_it_is_near_everywhere() {
        let by_formula = dots(&[100.0, 200.0]);
        let verdict = |values| formula("here", "", &by_formula, &dots(values)).verdict;
        assert_eq!(verdict(&[101.0, 199.0]), Verdict::Reproduces);
        assert_eq!(verdict(&[100.0, 250.0]), Verdict::Differs("±0 % to +25.0 %".to_string()));
        assert_eq!(verdict(&[90.0, 180.0]), Verdict::Differs("-10.0 %".to_string()));
        let unsure = [Dot { error: 4.0, ..Dot::exact(0.0, 110.0) }];
        assert_eq!(formula("here", "", &by_formula[..1], &unsure).verdict, Verdict::Reproduces);
        assert_eq!(formula("here", "", &[], &[]).verdict, Verdict::DoesNot);
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!([0.0, 3.0, 9.4838, 123.456, 1234.5].map(short), ["0", "3", "9.48", "123.5", "1234"]);
        assert!(never_rises(&dots(&[3.0, 3.0, 1.0])) && !never_rises(&dots(&[1.0, 2.0])));
    }

    #[test]
    fn student_as_in_printed_tables() {
        let table =
            [(0.95, 1, 12.706), (0.95, 2, 4.303), (0.95, 4, 2.776), (0.95, 19, 2.093), (0.999, 5, 6.869)];
        for (share, freedom, printed) in table {
            assert!((student(share, freedom) - printed).abs() < 0.001, "{share} {freedom}");
        }
        assert_eq!(student(0.95, 0), 0.0);
    }
}
