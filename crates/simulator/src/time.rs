//! Simulated time: whole ticks, a thousand million to a unit, so that sums are exact and runs are the same
//! everywhere.

use std::fmt;

use algorithms::SettingError;
use random::Random;

/// A moment or a length of time, in ticks.
pub type Ticks = u64;

/// Ticks per unit of time, whatever unit the user has in mind.
pub const UNIT: f64 = 1e9;

/// Longer than any run; a moment that never comes.
pub const NEVER: Ticks = u64::MAX;

/// The longest time that can be requested, in units: a run of millions of these still fits.
const LONGEST_UNITS: f64 = 1e6;

/// Units as ticks.
#[inline]
pub fn ticks(units: f64) -> Ticks {
    (units * UNIT + 0.5) as Ticks
}

/// Ticks as units.
pub fn units(ticks: Ticks) -> f64 {
    ticks as f64 / UNIT
}

/// A length of time: constant, or around a mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    /// The mean, in units.
    pub mean: f64,
    /// The distribution of single values around it.
    pub shape: Shape,
}

/// The distribution of values around their mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Always the mean.
    Constant,
    /// Exponential: without memory.
    Exponential,
    /// Uniform between zero and twice the mean.
    Uniform,
    /// Pareto with exponent 3/2: most values are a third of the mean, a few are a hundred times as long, and
    /// the variance is infinite.
    HeavyTailed,
}

impl Shape {
    /// All of them, with their names.
    pub const ALL: [(&'static str, Shape); 4] = [
        ("constant", Shape::Constant),
        ("exponential", Shape::Exponential),
        ("uniform", Shape::Uniform),
        ("heavy-tailed", Shape::HeavyTailed),
    ];

    /// The shape of this name.
    pub fn named(name: &str) -> Result<Shape, SettingError> {
        let found = Shape::ALL.iter().find(|(known, _)| *known == name);
        found.map(|(_, shape)| *shape).ok_or_else(|| {
            let names: Vec<&str> = Shape::ALL.iter().map(|(name, _)| *name).collect();
            SettingError(format!("'{name}' is none of {}", names.join(", ")))
        })
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Shape::ALL.iter().find(|(_, shape)| shape == self).map_or("?", |(name, _)| name);
        f.write_str(name)
    }
}

/// A number in a refusal: what is far out of bounds is written with an exponent, and not with hundreds of digits.
pub(crate) struct Typed(pub(crate) f64);

impl fmt::Display for Typed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Typed(number) = *self;
        let usual = number == 0.0 || !number.is_finite() || (1e-9..1e15).contains(&number.abs());
        if usual { write!(f, "{number}") } else { write!(f, "{number:e}") }
    }
}

impl Span {
    /// Always this many units.
    pub const fn constant(units: f64) -> Span {
        Span { mean: units, shape: Shape::Constant }
    }

    /// Refuses a value that is no length of time.
    pub fn validate(&self, name: &str) -> Result<(), SettingError> {
        if !self.mean.is_finite() || self.mean < 0.0 {
            return Err(SettingError(format!(
                "{name} must be a time of at least 0, not {}",
                Typed(self.mean)
            )));
        }
        if self.mean > LONGEST_UNITS {
            let hint = "give all times in a larger unit";
            return Err(SettingError(format!(
                "{name} must be at most {LONGEST_UNITS}, not {}: {hint}",
                Typed(self.mean)
            )));
        }
        Ok(())
    }

    /// A length that is hardly ever exceeded, for timers to rely on.
    pub fn bound(&self) -> Ticks {
        ticks(match self.shape {
            Shape::Constant => self.mean,
            Shape::Uniform => self.mean * 2.0,
            Shape::Exponential => self.mean * 10.0,
            Shape::HeavyTailed => self.mean * 100.0,
        })
    }
}

/// A span that values are drawn from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Draws {
    span: Span,
    constant: Ticks,
}

impl Draws {
    pub(crate) fn new(span: Span) -> Draws {
        Draws { span, constant: ticks(span.mean) }
    }

    /// The next value.
    #[inline(always)]
    pub(crate) fn draw(&self, random: &mut Random) -> Ticks {
        if self.span.shape == Shape::Constant { self.constant } else { self.draw_varying(random) }
    }

    #[inline(never)]
    fn draw_varying(&self, random: &mut Random) -> Ticks {
        let mean = self.span.mean;
        match self.span.shape {
            Shape::Constant => self.constant,
            Shape::Exponential => ticks(mean * random.exponential()),
            Shape::Uniform => ticks(mean * 2.0 * random.fraction()),
            Shape::HeavyTailed => ticks(mean / 3.0 * libm::exp(random.exponential() / 1.5)),
        }
    }

    /// The sum of the next values.
    pub(crate) fn draw_sum(&self, count: u32, random: &mut Random) -> Ticks {
        match self.span.shape {
            Shape::Constant => self.constant * u64::from(count),
            _ => (0..count).map(|_| self.draw(random)).sum(),
        }
    }
}
