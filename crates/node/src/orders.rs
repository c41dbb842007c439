//! What operators want changed.

use service::core::Out;
use service::protocol::{Done, Order};
use service::{Core, Refusal, Time};

/// Carries out an order of whoever is at this address.
///
/// What the nodes have to agree on is not carried out here: it is proposed to the control plane, and the answer is given when it
/// is agreed on.
pub(crate) fn carry_out(
    order: &Order,
    by: &str,
    core: &mut Core,
    now: Time,
    out: &mut Out,
) -> Result<Done, Refusal> {
    match (core.proposal(order)?, order) {
        (None, Order::ForceRelease { name, slot, fence, at_once }) => {
            let released = core.force_release(name, (*slot, *fence), *at_once, by, now, out)?;
            // The audit line: it has to be there also if nobody watches.
            released.iter().for_each(|released| eprintln!("tokenwood: {released}"));
            Ok(Done::ForceReleased(released))
        }
        _ => Err(Refusal::NotAgreed("this cluster has fixed members and no control plane".to_string())),
    }
}
