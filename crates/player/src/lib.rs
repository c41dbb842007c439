//! The server's side of a page that plays algorithms: every run can be stepped, broken, searched, compared and shared.
//!
//! Everything here is a function from a request to an answer. There is no socket, no clock and nothing that is kept
//! between requests: a page sends a setting and steps, and [`play()`] replays them. The state machines of `algorithms`
//! decide every step, the checker finds ways ([`find()`]), and the simulator runs what is compared ([`compare()`]).
//! `docs/player.md` describes the JSON.

#![forbid(unsafe_code)]

mod autorun;
mod can;
mod catalogue;
mod compare;
mod curve;
mod find;
mod gallery;
pub mod limits;
mod outline;
mod play;
mod refusal;
mod rules;
mod run;
mod sentence;
mod setting;
mod share;
mod state;
mod stories;
pub mod trace_file;

pub use autorun::{AutorunRequest, autorun};
pub use can::{Can, CanKind};
pub use catalogue::{Bears, Playable, PlayableOption, catalogue};
pub use compare::{
    CompareAnswer, CompareEntry, CompareRequest, CompareWatch, Compared, Load, Scene, Value, compare,
};
pub use curve::{Curve, CurveAnswer, CurveRequest, CurveWatch, curve};
pub use find::{FindAnswer, FindProgress, FindRequest, FindWatch, Goal, May, find};
pub use gallery::{Exhibit, gallery};
pub use outline::{Arrow, Bar, Outline};
pub use play::{PlayAnswer, PlayRequest, Violated, Want, play};
pub use refusal::{Refusal, RefusalKind};
pub use rules::{Change, Rule, RuleRun};
pub use setting::{Links, Setting};
pub use share::{Shared, SharedTexts, beyond, of_trace, open, open_steps, share, to_trace};
pub use state::{
    Beyond, ClientState, Counts, Flight, NodeIs, NodeState, PointerTo, PropertyVerdict, Queued, State, TieTo,
    Verdict,
};
pub use stories::{Caption, Story, stories};
