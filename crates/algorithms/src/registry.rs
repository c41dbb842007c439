//! All algorithms by name, and `partitioned(NAME)` for each of them that is not a group mutex. A driver
//! passes a [`Visitor`], which is called with the type.

use alloc::format;
use alloc::vec::Vec;

use crate::algorithm::Algorithm;
use crate::info::{Info, Kind};
use crate::partitioned::Partitioned;
use crate::setting::SettingError;
use crate::{
    bulgannawar_vaidya, carvalho_roucairol, chaudhuri_edward, collectors, drs_gme, forest, lacbt, lamport,
    maekawa, makki, naimi_trehel, neilsen_mizuno, raymond_k, raymond_tree, ricart_agrawala, rooms,
    srimani_reddy, suzuki_kasami,
};

/// An operation on any algorithm.
pub trait Visitor {
    /// Its result.
    type Output;
    /// Performs it.
    fn visit<A: Algorithm>(self) -> Self::Output;
}

macro_rules! registry {
    ($($algorithm:ty,)*) => {
        /// The descriptions of all algorithms, in the order of lists.
        pub const ALL: &[Info] = &[$(<$algorithm as Algorithm>::INFO,)*];

        /// Calls the visitor with the algorithm of this name.
        pub fn visit<V: Visitor>(name: &str, visitor: V) -> Result<V::Output, SettingError> {
            let inner = partitioned(name)?;
            $(if name == <$algorithm as Algorithm>::INFO.name {
                return Ok(visitor.visit::<$algorithm>());
            }
            if inner == Some(<$algorithm as Algorithm>::INFO.name) {
                return Ok(visitor.visit::<Partitioned<$algorithm>>());
            })*
            Err(unknown(name))
        }
    };
}

registry! {
    bulgannawar_vaidya::BulgannawarVaidya,
    carvalho_roucairol::CarvalhoRoucairol,
    chaudhuri_edward::ChaudhuriEdward,
    collectors::Collectors,
    drs_gme::DrsGme,
    forest::Forest,
    lacbt::Lacbt,
    lamport::Lamport,
    maekawa::Maekawa,
    makki::Makki,
    naimi_trehel::NaimiTrehel,
    neilsen_mizuno::NeilsenMizuno,
    raymond_k::RaymondK,
    raymond_tree::RaymondTree,
    ricart_agrawala::RicartAgrawala,
    rooms::Rooms,
    srimani_reddy::SrimaniReddy,
    suzuki_kasami::SuzukiKasami,
}

/// The description of the algorithm of this name. For `partitioned(NAME)` it describes the whole system.
pub fn info(name: &str) -> Result<Info, SettingError> {
    struct Inform;

    impl Visitor for Inform {
        type Output = Info;

        fn visit<A: Algorithm>(self) -> Info {
            A::INFO
        }
    }

    visit(name, Inform)
}

/// The NAME of `partitioned(NAME)`, if `name` has that form; refuses an algorithm that cannot be partitioned.
fn partitioned(name: &str) -> Result<Option<&'static str>, SettingError> {
    let Some(rest) = name.strip_prefix("partitioned") else { return Ok(None) };
    let inner = rest.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')).unwrap_or("");
    if inner.is_empty() || inner.starts_with("partitioned") {
        let example = "partitioned(NAME), for example partitioned(naimi-trehel)";
        return Err(SettingError(format!("'{name}' names no algorithm to partition with: write {example}")));
    }
    match ALL.iter().find(|info| info.name == inner) {
        None => Err(unknown(inner)),
        Some(info) if info.kind == Kind::GroupMutex => {
            let why = "clusters that do not know of each other would let different groups in at once";
            Err(SettingError(format!("{inner} is a group mutex and cannot be partitioned: {why}")))
        }
        Some(info) => Ok(Some(info.name)),
    }
}

fn unknown(name: &str) -> SettingError {
    let near: Vec<&str> = ALL.iter().map(|info| info.name).filter(|known| resembles(known, name)).collect();
    let hint = if near.is_empty() { "'tokenwood algorithms' lists them" } else { "did you mean" };
    SettingError(format!("there is no algorithm '{name}'; {hint} {}", near.join(" or ")).trim_end().into())
}

/// Whether a known name shares a part with the typed one.
fn resembles(known: &str, typed: &str) -> bool {
    typed.len() >= 3
        && known.split('-').any(|part| part.len() >= 3 && (typed.contains(part) || part.contains(typed)))
}
