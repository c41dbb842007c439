//! What a user hears whose request, definition or change does not fit what a name stands for: which flags do.

use tokenwood::{Definition, Refusal};

/// Why a request for a lock is refused. A name that is something else: the flags that ask for that.
pub(crate) fn in_words(refusal: &Refusal, name: &str) -> String {
    match refusal {
        Refusal::DefinedAs { defined, asked } => {
            let instead = match (defined, asked) {
                (Definition::Slots(_), Definition::Slots(slots)) => {
                    format!("leave out --slots, or 'tokenwood resize {name} {slots}' first")
                }
                _ => format!("{}, or 'tokenwood undefine {name}' first", defined_flags(*defined)),
            };
            format!("the name is defined as {defined}, not {asked}: {instead}")
        }
        Refusal::Contradicts { defined, asked } => {
            let flags = match defined {
                Definition::Slots(slots) if *slots > 1 => format!("use --slots {slots}"),
                defined => defined_flags(*defined).to_string(),
            };
            format!("the name is in use as {defined}, not {asked}: {flags}, or another name")
        }
        refusal => refusal.to_string(),
    }
}

/// What asks for a name that is defined so.
fn defined_flags(defined: Definition) -> &'static str {
    match defined {
        Definition::Slots(_) => "leave out --slots, --group, --shared and --exclusive",
        Definition::RwLock => "use --shared or --exclusive",
        Definition::Room => "use --group",
    }
}

/// Why the definition of a name cannot be changed in this way.
pub(crate) fn of_change(refusal: &Refusal, name: &str) -> String {
    match refusal {
        Refusal::DefinedAs { defined, asked } => {
            format!(
                "the name is defined as {defined}, and cannot become {asked}: 'tokenwood undefine {name}' first"
            )
        }
        Refusal::NotDefined => {
            "the name is not defined: 'tokenwood definitions' lists those that are".to_string()
        }
        refusal => refusal.to_string(),
    }
}
