//! One exchange with the member: a caller's question or order, and its answer.

use std::time::Duration;

use node::{Heard, Host, Line};
use service::auth::Caller;
use service::protocol::{Order, OrderDone, Question, QuestionAnswer, ToClient, ToNode};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at, timeout};

use crate::problem::Problem;

/// An answer that takes longer than this does not come: the control plane has no majority.
const LONGEST_ANSWER: Duration = Duration::from_secs(10);

/// A line of one caller.
pub(crate) struct Talk {
    pub(crate) line: Line,
    pub(crate) heard: Heard,
}

impl Talk {
    pub(crate) fn begin(host: &Host, caller: Caller) -> Talk {
        let (line, heard) = host.line(caller);
        Talk { line, heard }
    }

    /// Says something.
    pub(crate) fn say(&self, frame: ToNode) {
        self.line.say(frame);
    }

    /// Waits for the frame that this picks.
    pub(crate) async fn hear<T>(
        &mut self,
        mut pick: impl FnMut(ToClient) -> Option<T>,
    ) -> Result<T, Problem> {
        let picked = async {
            while let Some(frame) = self.heard.next().await {
                if let Some(picked) = pick(frame) {
                    return Some(picked);
                }
            }
            None
        };
        match timeout(LONGEST_ANSWER, picked).await {
            Ok(Some(picked)) => Ok(picked),
            Ok(None) => Err(stopped()),
            Err(_) => Err(Problem::unavailable("the node does not answer in time: is a majority there?")),
        }
    }
}

/// When to keep a session alive while a request of it waits. Not at once: a timer that is due already takes up to a millisecond.
pub(crate) fn beats(ttl: Duration) -> Interval {
    let mut beat = interval_at(Instant::now() + ttl / 3, ttl / 3);
    beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    beat
}

pub(crate) fn stopped() -> Problem {
    Problem::unavailable("the node has stopped")
}

/// Asks a question.
pub(crate) async fn ask(host: &Host, caller: Caller, question: Question) -> Result<QuestionAnswer, Problem> {
    let mut talk = Talk::begin(host, caller);
    talk.say(ToNode::Ask { number: 1, question });
    let answer = talk.hear(|frame| match frame {
        ToClient::QuestionAnswer { answer, .. } => Some(answer),
        _ => None,
    });
    match answer.await? {
        QuestionAnswer::Refused(refusal) => Err(refusal.into()),
        QuestionAnswer::NotDone(why) => Err(Problem::unavailable(why)),
        answer => Ok(answer),
    }
}

/// Orders a change.
pub(crate) async fn order(host: &Host, caller: Caller, order: Order) -> Result<OrderDone, Problem> {
    let mut talk = Talk::begin(host, caller);
    talk.say(ToNode::Order { number: 1, order });
    let result = talk.hear(|frame| match frame {
        ToClient::OrderResult { result, .. } => Some(result),
        _ => None,
    });
    Ok(result.await??)
}
