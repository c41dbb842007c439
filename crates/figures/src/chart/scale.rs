//! The mapping of values to positions along an axis, with ticks at round numbers.

use crate::page::Spacing;

/// An axis with its ends and ticks.
#[derive(Debug)]
pub(super) struct Scale {
    low: f64,
    high: f64,
    spacing: Spacing,
    pub(super) ticks: Vec<Tick>,
}

/// A mark on an axis.
#[derive(Debug)]
pub(super) struct Tick {
    pub(super) value: f64,
    /// Empty for minor ticks.
    pub(super) label: String,
}

/// Where an axis begins and ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ends {
    /// At 0 and at a tick, so that heights can be compared.
    Zero,
    /// Near the first and the last value; at 0 if that is not far.
    Values,
}

impl Scale {
    /// An axis for these values. On a logarithmic axis only those above 0 count.
    pub(super) fn of(values: &[f64], spacing: Spacing, ends: Ends) -> Scale {
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        match (values.is_empty(), spacing) {
            (true, Spacing::Linear) => Scale::linear(0.0, 1.0, Ends::Zero),
            (true, Spacing::Logarithmic) => Scale::logarithmic(0.1, 10.0, ends),
            (false, Spacing::Linear) => Scale::linear(least, most, ends),
            (false, Spacing::Logarithmic) => Scale::logarithmic(least, most, ends),
        }
    }

    /// The position of a value, from 0 at the beginning to 1 at the end.
    pub(super) fn place(&self, value: f64) -> f64 {
        match self.spacing {
            Spacing::Linear => (value - self.low) / (self.high - self.low),
            Spacing::Logarithmic => {
                (value.log10() - self.low.log10()) / (self.high.log10() - self.low.log10())
            }
        }
    }

    fn linear(least: f64, most: f64, ends: Ends) -> Scale {
        let near_zero = |near: f64, far: f64| ends == Ends::Zero || near.abs() <= 0.35 * far.abs();
        let mut low = if least >= 0.0 && near_zero(least, most) { 0.0 } else { least };
        let mut high = if most <= 0.0 && near_zero(most, least) { 0.0 } else { most };
        if high - low <= 1e-12 * high.abs().max(low.abs()) {
            // A single value is in the middle.
            let around = if low == 0.0 { 1.0 } else { low.abs() * 0.5 };
            (low, high) = (if low == 0.0 { 0.0 } else { low - around }, high + around);
        }
        let step = round_step((high - low) / 7.0);
        if ends == Ends::Zero {
            (low, high) = ((low / step + 1e-9).floor() * step, (high / step - 1e-9).ceil() * step);
        } else {
            let margin = (high - low) * 0.025;
            low -= if low == 0.0 { 0.0 } else { margin };
            high += if high == 0.0 { 0.0 } else { margin };
        }
        let (first, last) = ((low / step - 1e-9).ceil() as i64, (high / step + 1e-9).floor() as i64);
        let ticks: Vec<f64> = (first..=last).map(|number| number as f64 * step).collect();
        let largest = low.abs().max(high.abs());
        let ticks = ticks.into_iter().map(|value| Tick { value, label: linear_label(value, step, largest) });
        Scale { low, high, spacing: Spacing::Linear, ticks: ticks.collect() }
    }

    fn logarithmic(least: f64, most: f64, ends: Ends) -> Scale {
        let (mut low, mut high) = (round_down(least), round_up(most));
        if high / low < 1.5 {
            (low, high) = (round_down(low * 0.6), round_up(high * 1.7));
        }
        let decades = high.log10() - low.log10();
        // With few decades there are labels in between, with many only some decades have one.
        let every = (decades / 9.0).ceil().max(1.0) as i32;
        let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
        let mut ticks = Vec::new();
        for exponent in first..=last {
            for digit in 1..=9 {
                let value = power(f64::from(digit), exponent);
                if value < low * 0.999 || value > high * 1.001 || (decades > 12.0 && digit > 1) {
                    continue;
                }
                let labelled = match digit {
                    1 => exponent.rem_euclid(every) == 0,
                    2 | 5 => decades < 2.5,
                    _ => decades < 0.8,
                };
                let label = if labelled { power_label(digit, exponent) } else { String::new() };
                ticks.push(Tick { value, label });
            }
        }
        if ends == Ends::Values {
            let margin = 10f64.powf(decades * 0.02);
            (low, high) = (low / margin, high * margin);
        }
        Scale { low, high, spacing: Spacing::Logarithmic, ticks }
    }
}

/// 1, 2, 2.5 or 5 times a power of ten, at least as large.
fn round_step(least: f64) -> f64 {
    let exponent = least.log10().floor() as i32;
    let steps = [1.0, 2.0, 2.5, 5.0, 10.0].map(|digit| power(digit, exponent));
    steps.into_iter().find(|step| *step >= least * (1.0 - 1e-9)).unwrap_or(steps[4])
}

/// 1, 2 or 5 times a power of ten, at most as large.
fn round_down(value: f64) -> f64 {
    let exponent = value.log10().floor() as i32;
    let steps = [5.0, 2.0, 1.0].map(|digit| power(digit, exponent));
    steps.into_iter().find(|step| *step <= value * (1.0 + 1e-9)).unwrap_or(steps[2])
}

/// 1, 2 or 5 times a power of ten, at least as large.
fn round_up(value: f64) -> f64 {
    let exponent = value.log10().floor() as i32;
    let steps = [1.0, 2.0, 5.0, 10.0].map(|digit| power(digit, exponent));
    steps.into_iter().find(|step| *step >= value * (1.0 - 1e-9)).unwrap_or(steps[3])
}

/// Rounded as the decimal text would be, so that 3 × 0.1 is 0.3.
fn power(digit: f64, exponent: i32) -> f64 {
    format!("{digit}e{exponent}").parse().unwrap_or(digit)
}

fn linear_label(value: f64, step: f64, largest: f64) -> String {
    if value.abs() < step * 1e-6 {
        return "0".to_string();
    }
    if !(1e-3..1e7).contains(&largest) {
        let exponent = largest.log10().floor() as i32;
        let mantissa = plain(value / power(1.0, exponent), decimals(step / power(1.0, exponent)));
        return format!("{mantissa}·10{}", superscript(exponent));
    }
    grouped(&plain(value, decimals(step)))
}

fn power_label(digit: i32, exponent: i32) -> String {
    if !(-4..=5).contains(&exponent) {
        let power = format!("10{}", superscript(exponent));
        return if digit == 1 { power } else { format!("{digit}·{power}") };
    }
    let decimals = usize::try_from(-exponent).unwrap_or(0);
    grouped(&plain(power(f64::from(digit), exponent), decimals))
}

/// How many decimals distinguish the steps.
fn decimals(step: f64) -> usize {
    (0..12)
        .find(|digits| {
            let scaled = step * 10f64.powi(*digits as i32);
            (scaled - scaled.round()).abs() < 1e-6 * scaled.max(1.0)
        })
        .unwrap_or(12)
}

fn plain(value: f64, decimals: usize) -> String {
    format!("{value:.decimals$}").replace('-', "−")
}

/// With commas between thousands, from 10,000 on.
pub(crate) fn grouped(number: &str) -> String {
    let (sign, rest) = number.strip_prefix('−').map_or(("", number), |rest| ("−", rest));
    let (whole, fraction) =
        rest.split_once('.').map_or((rest, String::new()), |(whole, part)| (whole, format!(".{part}")));
    if whole.len() < 5 {
        return number.to_string();
    }
    let mut digits = String::new();
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) {
            digits.push(',');
        }
        digits.push(digit);
    }
    format!("{sign}{digits}{fraction}")
}

fn superscript(number: i32) -> String {
    let raised = |digit: char| match digit {
        '-' => '⁻',
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        other => char::from_u32(0x2070 + other.to_digit(10).unwrap_or(0)).unwrap_or(other),
    };
    number.to_string().chars().map(raised).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(scale: &Scale) -> Vec<&str> {
        scale.ticks.iter().map(|tick| tick.label.as_str()).filter(|label| !label.is_empty()).collect()
    }

    #[test]
    fn heights_begin_at_zero_and_end_at_a_tick() {
        let scale = Scale::of(&[3.0, 11.3], Spacing::Linear, Ends::Zero);
        assert_eq!(labels(&scale), ["0", "2", "4", "6", "8", "10", "12"]);
        assert_eq!((scale.place(0.0), scale.place(12.0)), (0.0, 1.0));
        let scale = Scale::of(&[0.0004, 0.00071], Spacing::Linear, Ends::Zero);
        assert_eq!(labels(&scale), ["0", "2·10⁻⁴", "4·10⁻⁴", "6·10⁻⁴", "8·10⁻⁴"]);
        assert_eq!(labels(&Scale::of(&[0.0], Spacing::Linear, Ends::Zero)).first(), Some(&"0"));
        assert_eq!(
            labels(&Scale::of(&[-3.0, 2.0], Spacing::Linear, Ends::Zero)),
            ["−3", "−2", "−1", "0", "1", "2"]
        );
    }

    #[test]
    fn steps_of_a_quarter_keep_their_decimals() {
        let scale = Scale::of(&[0.0, 1.6], Spacing::Linear, Ends::Zero);
        assert_eq!(labels(&scale), ["0", "0.25", "0.50", "0.75", "1.00", "1.25", "1.50", "1.75"]);
    }

    #[test]
    fn widths_stay_near_the_values() {
        assert_eq!(
            labels(&Scale::of(&[5.0, 50.0], Spacing::Linear, Ends::Values)),
            ["0", "10", "20", "30", "40", "50"]
        );
        let scale = Scale::of(&[100.0, 110.0], Spacing::Linear, Ends::Values);
        assert_eq!(labels(&scale), ["100", "102", "104", "106", "108", "110"]);
        assert!(scale.place(100.0) > 0.0 && scale.place(110.0) < 1.0);
        let single = Scale::of(&[7.0], Spacing::Linear, Ends::Values);
        assert!((single.place(7.0) - 0.5).abs() < 1e-9);
    }

    #[test]
    fn decades() {
        let scale = Scale::of(&[0.001, 10.0], Spacing::Logarithmic, Ends::Values);
        assert_eq!(labels(&scale), ["0.001", "0.01", "0.1", "1", "10"]);
        assert!((scale.place(0.1) - 0.5).abs() < 1e-9);
        assert_eq!(
            labels(&Scale::of(&[3.0, 40.0], Spacing::Logarithmic, Ends::Zero)),
            ["2", "5", "10", "20", "50"]
        );
        assert_eq!(
            labels(&Scale::of(&[1e5, 1e9], Spacing::Logarithmic, Ends::Zero)),
            ["100,000", "10⁶", "10⁷", "10⁸", "10⁹"]
        );
        assert!(labels(&Scale::of(&[1e-30, 1e30], Spacing::Logarithmic, Ends::Zero)).len() < 12);
        let single = Scale::of(&[10.0], Spacing::Logarithmic, Ends::Values);
        assert!(single.place(10.0) > 0.2 && single.place(10.0) < 0.8);
    }

    #[test]
    fn numbers_beyond_all_measure_have_ticks_too() {
        for value in [1e-300, 1e300, 5e-324, f64::MAX / 4.0] {
            for spacing in [Spacing::Linear, Spacing::Logarithmic] {
                let scale = Scale::of(&[value], spacing, Ends::Zero);
                assert!(!scale.ticks.is_empty() && scale.ticks.len() < 40, "{value} {scale:?}");
            }
        }
    }
}
