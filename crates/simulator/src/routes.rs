//! How long messages are under way where that depends on the two nodes: topologies and measured latencies.

use algorithms::{NodeId, SettingError};
use random::Random;

use crate::latencies::{Latencies, Sites};
use crate::plan::Plan;
use crate::time::{Draws, Span, Ticks};
use crate::topology::Topology;

/// The ways between nodes.
pub(crate) enum Routes {
    /// Through other nodes, link by link.
    Links(Links),
    /// From site to site.
    Sites(SiteTimes),
}

pub(crate) struct Links {
    topology: Topology,
    nodes: u32,
    link: Draws,
    /// The longest time for a link.
    bound: Ticks,
}

pub(crate) struct SiteTimes {
    /// The site of each node.
    of_nodes: Vec<u32>,
    sites: usize,
    /// The time from each site to each, row by row, and its bound.
    times: Vec<(Draws, Ticks)>,
}

impl Routes {
    /// The routes of a plan; `None` if messages between any two nodes take the same time.
    pub(crate) fn of(plan: &Plan) -> Option<Routes> {
        let nodes = plan.setting.nodes;
        let Some(latencies) = &plan.latencies else {
            let (link, bound) = (Draws::new(plan.transit), plan.transit.bound());
            let links = Links { topology: plan.topology, nodes, link, bound };
            return (plan.topology != Topology::Full).then_some(Routes::Links(links));
        };
        let sites = latencies.count();
        let pairs = (0..sites).flat_map(|from| (0..sites).map(move |to| (from, to)));
        let times = pairs.map(|(from, to)| {
            let mean = latencies.time(from, to, plan.transit.mean);
            let span = Span { mean, ..plan.transit };
            (Draws::new(span), span.bound())
        });
        let of_nodes = plan.sites.of_nodes(sites, nodes);
        Some(Routes::Sites(SiteTimes { of_nodes, sites, times: times.collect() }))
    }

    /// How long a message is under way. Each link draws its own time.
    pub(crate) fn draw(&self, from: NodeId, to: NodeId, random: &mut Random) -> Ticks {
        match self {
            Routes::Links(links) => links.link.draw_sum(links.hops(from, to), random),
            Routes::Sites(sites) => sites.time(from, to).0.draw(random),
        }
    }

    /// The longest time that a message is under way.
    pub(crate) fn bound(&self, from: NodeId, to: NodeId) -> Ticks {
        match self {
            Routes::Links(links) => links.bound * u64::from(links.hops(from, to)),
            Routes::Sites(sites) => sites.time(from, to).1,
        }
    }
}

impl Links {
    fn hops(&self, from: NodeId, to: NodeId) -> u32 {
        self.topology.hops(self.nodes, from, to)
    }
}

impl SiteTimes {
    fn time(&self, from: NodeId, to: NodeId) -> &(Draws, Ticks) {
        let [from, to] = [from, to].map(|node| self.of_nodes[node as usize] as usize);
        &self.times[from * self.sites + to]
    }
}

impl Plan {
    /// The transit time between the two nodes that are furthest apart.
    pub(crate) fn longest_transit(&self) -> Span {
        let nodes = self.setting.nodes;
        let mean = match &self.latencies {
            None => self.transit.mean * f64::from(self.topology.diameter(nodes).max(1)),
            Some(latencies) => {
                let all = 0..latencies.count();
                let times = all
                    .clone()
                    .flat_map(|from| all.clone().map(move |to| latencies.time(from, to, self.transit.mean)));
                times.fold(0.0, f64::max)
            }
        };
        Span { mean, ..self.transit }
    }

    /// How long a message takes over one link, its sender's and its receiver's processor included; with
    /// latencies, the mean over all pairs of nodes.
    pub fn mean_hop(&self) -> f64 {
        let transit =
            self.latencies.as_ref().map_or(self.transit.mean, |latencies| self.mean_latency(latencies));
        self.send + transit + self.receive
    }

    /// How long a message takes from one node to another, both processors included: the mean over all pairs of
    /// nodes, over as many links as lie between them.
    pub fn mean_way(&self) -> f64 {
        let links = match self.topology {
            Topology::Full => 1.0,
            topology => topology.mean_hops(self.setting.nodes),
        };
        self.mean_hop() + (links - 1.0) * self.transit.mean
    }

    fn mean_latency(&self, latencies: &Latencies) -> f64 {
        let sites = latencies.count();
        let mut at = vec![0.0; sites];
        for site in self.sites.of_nodes(sites, self.setting.nodes) {
            at[site as usize] += 1.0;
        }
        let (mut sum, mut pairs) = (0.0, 0.0);
        for (from, senders) in at.iter().enumerate() {
            for (to, receivers) in at.iter().enumerate() {
                let here = senders * (receivers - f64::from(u8::from(from == to)));
                sum += here * latencies.time(from, to, self.transit.mean);
                pairs += here;
            }
        }
        if pairs > 0.0 { sum / pairs } else { 0.0 }
    }

    /// Refuses routes that the nodes cannot have.
    pub(crate) fn validate_routes(&self) -> Result<(), SettingError> {
        let nodes = self.setting.nodes;
        match &self.latencies {
            Some(_) if self.topology != Topology::Full => {
                let what = "latencies say how long every pair takes";
                return Err(SettingError(format!("{what}: leave out topology {}", self.topology)));
            }
            Some(latencies) => self.sites.validate(latencies.count(), nodes)?,
            None if self.sites != Sites::Blocks => {
                return Err(SettingError("sites needs latencies, which name the sites".to_string()));
            }
            None => self.topology.validate(nodes)?,
        }
        self.longest_transit().validate("the transit over the longest way")
    }
}
