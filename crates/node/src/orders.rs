//! What operators want changed.

use std::time::{SystemTime, UNIX_EPOCH};

use service::core::Out;
use service::protocol::{Done, Order};
use service::registry::Entry;
use service::{Core, Refusal, Time};

use crate::host::Shared;

/// How far an order is carried out.
pub(crate) enum Carried {
    Done(Done),
    /// The nodes have to agree on this first.
    ToBeAgreedOn(Entry),
}

/// Carries out an order of the operator at this address, and logs what it takes away.
pub(crate) fn carry_out(
    order: &Order,
    (by, log): (&str, fn(&str)),
    core: &mut Core,
    now: Time,
    out: &mut Out,
) -> Result<Carried, Refusal> {
    if let Some(entry) = core.proposal(order)? {
        return Ok(Carried::ToBeAgreedOn(entry));
    }
    let Order::ForceRelease { name, slot, fence, at_once } = order else {
        return Ok(Carried::Done(Done::Agreed));
    };
    let released = core.force_release(name, (*slot, *fence), *at_once, by, now, out)?;
    // The audit line: it has to be there also if nobody watches.
    let audit = |released: &_| log(&format!("tokenwood: {} {released}", utc(SystemTime::now())));
    released.iter().for_each(audit);
    Ok(Carried::Done(Done::ForceReleased(released)))
}

/// Has the nodes agree on a definition.
pub(crate) async fn agree(shared: &Shared, entry: Entry) -> Result<Done, Refusal> {
    let applied = shared.control.propose(entry.clone()).await;
    let applied = applied.map_err(|error| Refusal::NotAgreed(error.to_string()))?;
    applied.of_definition(&entry)?;
    Ok(Done::Agreed)
}

/// A moment as `2026-01-31 23:59:59 UTC`.
fn utc(time: SystemTime) -> String {
    let seconds = time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let (days, clock) = (seconds / 86_400, seconds % 86_400);
    // Years that begin with March have their leap day at the end; 400 of them have the same number of days.
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let date = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = era * 400 + year + u64::from(month <= 2);
    format!("{year}-{month:02}-{date:02} {:02}:{:02}:{:02} UTC", clock / 3600, clock / 60 % 60, clock % 60)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn moments_as_people_write_them() {
        let at = |seconds| utc(UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(at(0), "1970-01-01 00:00:00 UTC");
        assert_eq!(at(951_827_696), "2000-02-29 12:34:56 UTC");
        assert_eq!(at(951_868_800), "2000-03-01 00:00:00 UTC");
        assert_eq!(at(1_798_761_599), "2026-12-31 23:59:59 UTC");
    }
}
