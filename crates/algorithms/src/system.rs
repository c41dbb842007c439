//! An algorithm with a setting that it has accepted: what every driver starts from.

use crate::algorithm::{Algorithm, NodeId, Site};
use crate::erased::{self, Erased};
use crate::info::Info;
use crate::setting::{Setting, SettingError};

/// Sizes and options of a system, and the rules that the algorithm has read from them.
#[derive(Clone, Debug)]
pub struct System<A: Algorithm> {
    setting: Setting,
    rules: A::Rules,
}

impl<A: Algorithm> System<A> {
    /// Refuses a setting that the algorithm cannot serve.
    pub fn new(setting: &Setting) -> Result<System<A>, SettingError> {
        setting.validate(&A::INFO)?;
        Ok(System::with_rules(setting, A::rules(setting)?))
    }

    /// A system with rules that were read from this setting.
    pub(crate) fn with_rules(setting: &Setting, rules: A::Rules) -> System<A> {
        System { setting: setting.clone(), rules }
    }

    /// The same system, for drivers that do not know the type.
    pub fn erase(self) -> System<Erased> {
        System { setting: self.setting, rules: erased::Rules::new::<A>(self.rules) }
    }

    /// Sizes and options.
    pub fn setting(&self) -> &Setting {
        &self.setting
    }

    /// The rules that the algorithm has read.
    pub fn rules(&self) -> &A::Rules {
        &self.rules
    }

    /// The rules alone.
    pub(crate) fn into_rules(self) -> A::Rules {
        self.rules
    }

    /// The description of the algorithm.
    pub fn info(&self) -> &'static Info {
        A::info(&self.rules)
    }

    /// The site of a node.
    #[inline]
    pub fn site(&self, me: NodeId) -> Site<'_, A> {
        Site { me, nodes: self.setting.nodes, tokens: self.setting.tokens, rules: &self.rules }
    }
}
