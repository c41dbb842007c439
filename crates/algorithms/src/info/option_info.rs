//! What an algorithm declares about one of its options.

/// An option of an algorithm.
#[derive(Clone, Copy, Debug)]
pub struct OptionInfo {
    /// Its name.
    pub name: &'static str,
    /// The values it takes, the default first; or a description of them if they are numbers.
    pub values: &'static [&'static str],
    /// The value that it has unless it or another option says otherwise.
    pub default: &'static str,
    /// With which of its values which other option has which default.
    pub implies: &'static [(&'static str, &'static str, &'static str)],
    /// What the option decides.
    pub help: &'static str,
}

impl OptionInfo {
    /// The values of an option that is a number.
    pub const NUMBER: &'static [&'static str] = &["a number"];

    /// An option with these values, the default first.
    pub const fn choice(
        name: &'static str,
        values: &'static [&'static str],
        help: &'static str,
    ) -> OptionInfo {
        OptionInfo { name, values, default: values[0], implies: &[], help }
    }

    /// An option that is a number, with its default.
    pub const fn number(name: &'static str, default: &'static str, help: &'static str) -> OptionInfo {
        OptionInfo { name, values: OptionInfo::NUMBER, default, implies: &[], help }
    }

    /// The same, where a value of it gives another option another default.
    pub const fn implying(
        self,
        implies: &'static [(&'static str, &'static str, &'static str)],
    ) -> OptionInfo {
        OptionInfo { implies, ..self }
    }

    /// Whether the option can have this value.
    pub fn takes(&self, value: &str) -> bool {
        if self.values == Self::NUMBER { value.parse::<u32>().is_ok() } else { self.values.contains(&value) }
    }
}
