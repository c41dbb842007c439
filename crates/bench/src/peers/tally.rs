//! The measurements of one run, and several runs beside Redis.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Kind, Measured};
use crate::Figure;
use crate::figure::{Outcome, jain, quantile};

/// The measurements of one run.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    grants: f64,
    /// Processor time of the servers per grant, in microseconds.
    servers: f64,
    /// Processor time of the clients per grant, in microseconds.
    clients: f64,
    wait: f64,
    longest_wait: f64,
    jain: f64,
    /// From release to grant, where all clients request the same lock.
    hand_off: Option<f64>,
}

/// Several runs of a peer in one workload.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Versus {
    /// The workload.
    pub workload: String,
    /// The peer.
    pub peer: String,
    /// The figures.
    pub figures: Vec<Figure>,
}

/// The figures of every peer in every workload.
pub const FIGURES: [&str; 9] = [
    "grants",
    "server CPU per grant",
    "client CPU per grant",
    "wait p50",
    "wait p99",
    "fairness (Jain)",
    "grants / redis",
    "server CPU / redis",
    "total CPU / redis",
];

/// The additional figure where all clients request the same lock.
pub const HAND_OFF: &str = "hand-off p50";

/// The same in bare round trips of the same round.
pub const HAND_OFF_RATIO: &str = "hand-off / bare round trip";

impl Sample {
    pub(super) fn new(measured: &[Measured], span: Duration, servers: f64, clients: f64) -> Sample {
        let counts: Vec<u64> = measured.iter().map(|client| client.waits.len() as u64).collect();
        let all = counts.iter().sum::<u64>() as f64;
        let mut waits: Vec<f64> = measured.iter().flat_map(|client| &client.waits).copied().collect();
        let mut hand_offs: Vec<f64> = measured.iter().flat_map(|client| &client.hand_offs).copied().collect();
        Sample {
            grants: all / span.as_secs_f64(),
            servers: servers / all,
            clients: clients / all,
            wait: quantile(&mut waits, 0.5),
            longest_wait: quantile(&mut waits, 0.99),
            jain: jain(&counts),
            hand_off: (!hand_offs.is_empty()).then(|| quantile(&mut hand_offs, 0.5)),
        }
    }

    fn figures(&self, redis: Option<&Sample>, bare: f64) -> Vec<Figure> {
        let units = ["/s", "µs", "µs", "µs", "µs", "", "×", "×", "×"];
        let mut values =
            vec![self.grants, self.servers, self.clients, self.wait, self.longest_wait, self.jain];
        if let Some(redis) = redis {
            let total = |sample: &Sample| sample.servers + sample.clients;
            values.extend([
                self.grants / redis.grants,
                // The processor clock is coarse: a short run may show no time at all.
                self.servers / redis.servers.max(f64::MIN_POSITIVE),
                total(self) / total(redis).max(f64::MIN_POSITIVE),
            ]);
        }
        let named = FIGURES.iter().zip(values).zip(units);
        let mut figures: Vec<Figure> =
            named.map(|((name, value), unit)| Figure::new(name, value, unit)).collect();
        if let Some(hand_off) = self.hand_off {
            figures.push(Figure::new(HAND_OFF, hand_off, "µs"));
            figures.push(Figure::new(HAND_OFF_RATIO, hand_off / bare, "×"));
        }
        figures
    }
}

/// Combines the rounds of a peer; each is compared with the round of Redis, and the bare round trip, beside
/// it.
pub fn compare(
    workload: &str,
    kind: Kind,
    rounds: &[Sample],
    redis: &[Sample],
    bare: &[f64],
) -> Option<Versus> {
    let (workload, peer) = (workload.to_string(), kind.name().to_string());
    let outcome = |(place, sample): (usize, &Sample)| Outcome {
        scenario: peer.clone(),
        figures: sample.figures(redis.get(place), bare.get(place).copied().unwrap_or(f64::NAN)),
    };
    let outcome = Outcome::of_rounds(rounds.iter().enumerate().map(outcome).collect())?;
    Some(Versus { workload, peer, figures: outcome.figures })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(grants: usize, cpu: f64) -> Sample {
        let life = || Measured { waits: vec![10.0; grants], hand_offs: Vec::new() };
        Sample::new(&[life(), life()], Duration::from_secs(1), cpu, cpu)
    }

    #[test]
    fn rounds_are_compared_with_the_rounds_beside_them() {
        let (ours, redis) = ([sample(10, 400.0), sample(20, 800.0)], [sample(5, 400.0), sample(10, 800.0)]);
        let versus = compare("w", Kind::Tokenwood, &ours, &redis, &[]).unwrap();
        let value = |name: &str| versus.figures.iter().find(|figure| figure.what == name).unwrap().value;
        assert_eq!((value("grants / redis"), value("total CPU / redis")), (2.0, 0.5));
        assert_eq!((value("fairness (Jain)"), value("wait p99")), (1.0, 10.0));
        assert_eq!(versus.figures.len(), FIGURES.len());
        let alone = compare("w", Kind::Tokenwood, &ours, &[], &[]).unwrap();
        assert_eq!(alone.figures.len(), 6, "nothing to compare with");
    }
}
