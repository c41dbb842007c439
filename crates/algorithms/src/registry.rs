//! All algorithms by name, and `partitioned(NAME)` for each of them that is not a group mutex.
//!
//! Most drivers run the erased algorithm that [`system`] returns. A driver whose inner loop must know the type
//! passes a [`Visitor`], which is called with it.

use alloc::format;
use alloc::vec::Vec;

use crate::algorithm::{Algorithm, Portable};
use crate::erased::{self, Erased};
use crate::info::{Info, Kind};
use crate::partitioned::{self, Partitioned};
use crate::setting::{Setting, SettingError};
use crate::system::System;
use crate::{
    banerjee_chrysanthis, bulgannawar_vaidya, carvalho_roucairol, chaudhuri_edward, collectors, drs_gme,
    forest, helary, k_majority, lacbt, lamport, lodha_kshemkalyani, maekawa, makki, naimi_trehel,
    neilsen_mizuno, ra1, raymond_k, raymond_tree, ricart_agrawala, rooms, singhal_dynamic, singhal_heuristic,
    srimani_reddy, suzuki_kasami,
};

/// An operation on any algorithm, compiled for each of them.
pub trait Visitor {
    /// Its result.
    type Output;
    /// Performs it.
    fn visit<A: Algorithm>(self, system: System<A>) -> Self::Output;
}

/// An operation on the messages of any algorithm, compiled for each of them.
pub trait MessageVisitor {
    /// Its result.
    type Output;
    /// Performs it.
    fn visit<A: Algorithm<Message: Portable>>(self) -> Self::Output;
}

macro_rules! registry {
    ($($algorithm:ty,)*) => {
        /// The descriptions of all algorithms, in the order of lists.
        pub static ALL: &[Info] = &[$(<$algorithm as Algorithm>::INFO,)*];

        /// The descriptions of the same algorithms, partitioned.
        static PARTITIONED: &[Info] = &[$(partitioned::info::<$algorithm>(),)*];

        /// Reads the rules of the algorithm of this name, which has accepted the setting.
        fn erased_rules(name: &str, setting: &Setting) -> Result<erased::Rules, SettingError> {
            $(if name == <$algorithm as Algorithm>::INFO.name {
                return <$algorithm>::rules(setting).map(erased::Rules::new::<$algorithm>);
            })*
            Err(unknown(name))
        }

        /// Calls the visitor with the algorithm of this name, if it accepts the setting.
        pub fn visit<V: Visitor>(
            name: &str,
            setting: &Setting,
            visitor: V,
        ) -> Result<V::Output, SettingError> {
            if let Some(inner) = inner_of_partitioned(name)? {
                return partitioned_system(inner, setting).map(|system| visitor.visit(system));
            }
            $(if name == <$algorithm as Algorithm>::INFO.name {
                return System::<$algorithm>::new(setting).map(|system| visitor.visit(system));
            })*
            Err(unknown(name))
        }

        /// Calls the visitor with the algorithm of this name, which is not a partitioned one.
        pub fn visit_messages<V: MessageVisitor>(name: &str, visitor: V) -> Result<V::Output, SettingError> {
            $(if name == <$algorithm as Algorithm>::INFO.name {
                return Ok(visitor.visit::<$algorithm>());
            })*
            Err(unknown(name))
        }
    };
}

registry! {
    banerjee_chrysanthis::BanerjeeChrysanthis,
    bulgannawar_vaidya::BulgannawarVaidya,
    carvalho_roucairol::CarvalhoRoucairol,
    chaudhuri_edward::ChaudhuriEdward,
    collectors::Collectors,
    drs_gme::DrsGme,
    forest::Forest,
    helary::Helary,
    k_majority::KMajority,
    lacbt::Lacbt,
    lamport::Lamport,
    lodha_kshemkalyani::LodhaKshemkalyani,
    maekawa::Maekawa,
    makki::Makki,
    naimi_trehel::NaimiTrehel,
    neilsen_mizuno::NeilsenMizuno,
    ra1::Ra1,
    raymond_k::RaymondK,
    raymond_tree::RaymondTree,
    ricart_agrawala::RicartAgrawala,
    rooms::Rooms,
    singhal_dynamic::SinghalDynamic,
    singhal_heuristic::SinghalHeuristic,
    srimani_reddy::SrimaniReddy,
    suzuki_kasami::SuzukiKasami,
}

/// The description of the algorithm of this name with its default options. For `partitioned(NAME)` it describes the whole system.
pub fn info(name: &str) -> Result<&'static Info, SettingError> {
    let (list, name) = match inner_of_partitioned(name)? {
        Some(inner) => (ALL.iter().zip(PARTITIONED), inner.name),
        None => (ALL.iter().zip(ALL), name),
    };
    let mut found = list.filter(|(info, _)| info.name == name).map(|(_, described)| described);
    found.next().ok_or_else(|| unknown(name))
}

/// The description of the algorithm of this name with these options: some change what it needs.
pub fn info_with(name: &str, setting: &Setting) -> Result<&'static Info, SettingError> {
    Ok(system(name, setting)?.info())
}

/// What to know before this algorithm is run with these options, as the end of a sentence; nothing for most.
pub fn warning(name: &str, setting: &Setting) -> Option<&'static str> {
    let inner = inner_of_partitioned(name).ok()?.map_or(name, |inner| inner.name);
    if inner == helary::Helary::INFO.name { helary::Rules::of(setting).warning() } else { None }
}

/// A system of the algorithm of this name, erased, if it accepts the setting.
pub fn system(name: &str, setting: &Setting) -> Result<System<Erased>, SettingError> {
    let rules = match inner_of_partitioned(name)? {
        Some(inner) => erased::Rules::new::<Partitioned>(partitioned_system(inner, setting)?.into_rules()),
        None => {
            setting.validate(info(name)?)?;
            erased_rules(name, setting)?
        }
    };
    Ok(System::with_rules(setting, rules))
}

fn partitioned_system(inner: &Info, setting: &Setting) -> Result<System<Partitioned>, SettingError> {
    let position = ALL.iter().position(|info| info.name == inner.name);
    let whole = position.map(|index| &PARTITIONED[index]).ok_or_else(|| unknown(inner.name))?;
    setting.validate(whole)?;
    let read = |setting: &Setting| erased_rules(inner.name, setting);
    Ok(System::with_rules(setting, partitioned::Rules::new(whole, setting, read)?))
}

/// The algorithm NAME, if `name` is `partitioned(NAME)`; refuses an algorithm that cannot be partitioned.
pub fn inner_of_partitioned(name: &str) -> Result<Option<&'static Info>, SettingError> {
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
        Some(info) => Ok(Some(info)),
    }
}

fn unknown(name: &str) -> SettingError {
    let near: Vec<&str> = ALL.iter().map(|info| info.name).filter(|known| resembles(known, name)).collect();
    let hint = match &near[..] {
        [] => "'tokenwood algorithms' lists them".into(),
        near => format!("did you mean {}?", near.join(" or ")),
    };
    SettingError(format!("there is no algorithm '{name}'; {hint}"))
}

/// Whether a known name shares a part with the typed one.
fn resembles(known: &str, typed: &str) -> bool {
    typed.len() >= 3
        && known.split('-').any(|part| part.len() >= 3 && (typed.contains(part) || part.contains(typed)))
}
