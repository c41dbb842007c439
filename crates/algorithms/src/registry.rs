//! All algorithms by name. A driver passes a [`Visitor`], which is called with the type.

use alloc::format;
use alloc::vec::Vec;

use crate::algorithm::Algorithm;
use crate::info::Info;
use crate::setting::Refusal;
use crate::{bulgannawar_vaidya, makki, naimi_trehel};

/// Something that can be done with any algorithm.
pub trait Visitor {
    /// What comes out.
    type Output;
    /// Does it.
    fn visit<A: Algorithm>(self) -> Self::Output;
}

macro_rules! registry {
    ($($algorithm:ty,)*) => {
        /// What is known of every algorithm, in the order of lists.
        pub const ALL: &[Info] = &[$(<$algorithm as Algorithm>::INFO,)*];

        /// Calls the visitor with the algorithm of this name.
        pub fn visit<V: Visitor>(name: &str, visitor: V) -> Result<V::Output, Refusal> {
            $(if name == <$algorithm as Algorithm>::INFO.name {
                return Ok(visitor.visit::<$algorithm>());
            })*
            Err(unknown(name))
        }
    };
}

registry! {
    bulgannawar_vaidya::BulgannawarVaidya,
    makki::Makki,
    naimi_trehel::NaimiTrehel,
}

fn unknown(name: &str) -> Refusal {
    let near: Vec<&str> = ALL.iter().map(|info| info.name).filter(|known| resembles(known, name)).collect();
    let hint = if near.is_empty() { "'tokenwood algorithms' lists them" } else { "did you mean" };
    Refusal(format!("there is no algorithm '{name}'; {hint} {}", near.join(" or ")).trim_end().into())
}

/// Whether a known name shares a part with what was typed.
fn resembles(known: &str, typed: &str) -> bool {
    typed.len() >= 3
        && known.split('-').any(|part| part.len() >= 3 && (typed.contains(part) || part.contains(typed)))
}
