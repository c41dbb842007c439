//! The configuration of a core.

use std::sync::Arc;
use std::time::Duration;

use crate::defect::Defect;
use crate::limits::Limits;
use crate::view::View;

/// The configuration of a core.
#[derive(Clone, Debug)]
pub struct Config {
    /// This node's id.
    pub id: u32,
    /// This node's incarnation, new at every start.
    pub incarnation: u64,
    /// The view it starts in.
    pub view: Arc<View>,
    /// Whether this node grants only while it has a lease; if not, members are assumed alive.
    pub leased: bool,
    /// How often a local client may pass clients of other nodes that wait.
    pub passes: u32,
    /// What the algorithms' timers take for the time of a message.
    pub hop: Duration,
    /// How long a `try` may take to ask other nodes.
    pub try_limit: Duration,
    /// How long an idle token stays where it was used last before it goes home.
    pub linger: Duration,
    /// How long an idle resource is kept.
    pub keep_idle: Duration,
    /// How much is kept for clients.
    pub limits: Limits,
    /// Decides what is left to chance.
    pub seed: u64,
    /// A rule to leave out, to see that it is needed.
    pub defect: Option<Defect>,
}

impl Config {
    /// The defaults for a node with this id in this view.
    pub fn new(id: u32, view: impl Into<Arc<View>>) -> Config {
        Config {
            id,
            incarnation: 1,
            view: view.into(),
            leased: false,
            passes: 4,
            hop: Duration::from_micros(500),
            try_limit: Duration::from_millis(100),
            linger: Duration::from_secs(10),
            keep_idle: Duration::from_secs(10),
            limits: Limits::default(),
            seed: 1,
            defect: None,
        }
    }
}
