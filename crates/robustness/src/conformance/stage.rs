//! Plays a case: starts its actors, goes through its steps, and has everything judged that they held.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use rustix::process::Signal;
use serde_json::json;
use tokio::time::sleep;

use super::agent::{Agent, Event, NONSENSE, Pool};
use super::all_of;
use super::case::{Asking, Case, Mode, Outcomes, Step};
use super::cluster::Cluster;
use super::judge::{Hold, Kind, judge};
use super::now;
use super::relation::{Fact, Field};

/// Whatever is to happen happens within so many leases.
const LONGEST: u32 = 30;

/// A case while it is played.
pub(super) struct Stage<'a> {
    case: &'a Case,
    cluster: &'a Cluster,
    pool: &'a Pool,
    /// What the names of its locks begin with, so that cases do not meet.
    prefix: String,
    ttl: Duration,
    actors: BTreeMap<String, Actor>,
    requests: Vec<Request>,
    defined: BTreeSet<String>,
}

struct Actor {
    agent: Agent,
    /// When its process was stopped.
    paused: Vec<u64>,
    /// When it was asked to close its session, or was killed.
    ended: Option<u64>,
    killed: bool,
}

/// A request, and how to find what became of it.
struct Request {
    name: String,
    by: String,
    id: u64,
    lock: String,
    kind: Kind,
    /// When the client began to release what it was granted.
    release: Option<u64>,
    /// When the answer to a release said that the grant was lost before.
    lost: Option<u64>,
}

impl<'a> Stage<'a> {
    /// Starts the actors of a case, each with one of these agents.
    pub(super) async fn prepare(
        case: &'a Case,
        cluster: &'a Cluster,
        pool: &'a Pool,
        prefix: String,
    ) -> Result<Stage<'a>> {
        let ttl = case.ttl.length(cluster.lease, Duration::ZERO);
        let begin = |(index, (name, node)): (usize, (&'a String, &'a usize))| {
            let label = label(&prefix, name);
            async move {
                let agent = pool.take(index).await?;
                let setup = json!({
                    "do": "open",
                    "endpoints": cluster.endpoints_from(*node),
                    "doors": cluster.doors_from(*node),
                    "ttl_ms": ttl.as_millis() as u64,
                    "label": label,
                });
                let id = agent.say(setup).await?;
                let answer = agent.hear(cluster.lease * LONGEST, |event| event.id == id).await?;
                ensure!(answer.event == "opened", "{name} cannot open a session: {}", in_words(&answer));
                Ok((name.clone(), Actor { agent, paused: Vec::new(), ended: None, killed: false }))
            }
        };
        let actors = all_of(case.actors.iter().enumerate().map(begin)).await;
        let actors = actors.into_iter().collect::<Result<_>>()?;
        Ok(Stage { case, cluster, pool, prefix, ttl, actors, requests: Vec::new(), defined: BTreeSet::new() })
    }

    /// Plays it to its end. What is wrong.
    pub(super) async fn play(mut self) -> Vec<String> {
        let mut wrong = Vec::new();
        let case = self.case;
        for (number, step) in (1..).zip(&case.steps) {
            if let Err(error) = self.act(step).await {
                wrong.push(format!("step {number}: {error:#}"));
                break;
            }
        }
        let end = now();
        let nonsense = self.actors.iter().flat_map(|(name, actor)| {
            let events = actor.agent.events().into_iter().filter(|event| event.event == NONSENSE);
            events.map(move |event| format!("{name}'s agent: {}", in_words(&event))).collect::<Vec<_>>()
        });
        wrong.extend(nonsense);
        wrong.extend(judge(self.requests.iter().filter_map(|request| self.hold(request, end)).collect()));
        for (name, actor) in std::mem::take(&mut self.actors) {
            // After a failure it may wait for something that never comes.
            if actor.killed || !wrong.is_empty() {
                continue;
            }
            match self.close(&name, &actor).await {
                Ok(()) => self.pool.give_back(actor.agent),
                Err(error) => wrong.push(format!("{error:#}")),
            }
        }
        wrong
    }

    async fn act(&mut self, step: &Step) -> Result<()> {
        match step {
            Step::Acquire(asking) => self.acquire(asking, asking.wait.map(|wait| self.length(wait))).await,
            Step::Try(asking) => self.acquire(asking, Some(Duration::ZERO)).await,
            Step::Await { of, expect } => self.outcome(self.request(of)?, expect, None).await,
            Step::StillWaits { of, time } => {
                sleep(self.length(*time)).await;
                let request = self.request(of)?;
                let answer = self.answer(request);
                ensure!(
                    answer.is_none(),
                    "{of} does not wait any more: {}",
                    in_words(&answer.unwrap_or_default())
                );
                Ok(())
            }
            Step::Check { of, expect } => {
                let (request, command) = (self.request(of)?, json!({"do": "check"}));
                self.ask(request, command, expect).await.map(|_| ())
            }
            Step::Release { of, expect } => {
                let (request, command) = (self.request(of)?, json!({"do": "release"}));
                let released = self.ask(request, command, expect).await?;
                let request = self.request_mut(of)?;
                match released.event.as_str() {
                    "released" => request.release.get_or_insert(released.at),
                    _ => request.lost.get_or_insert(released.at),
                };
                Ok(())
            }
            Step::Cancel { of } => {
                let (request, command) = (self.request(of)?, json!({"do": "cancel"}));
                self.ask(request, command, &Outcomes::One("done".to_string())).await.map(|_| ())
            }
            Step::Force { of } => self.force(of).await,
            Step::Close { .. } | Step::Pause { .. } | Step::Resume { .. } | Step::Kill { .. } => {
                self.act_on_process(step).await
            }
            Step::KillNode { node } => self.cluster.kill(*node).await,
            Step::LeaveNode { node } => self.cluster.leave(*node).await,
            Step::Define { lock, slots } => {
                self.defined.insert(lock.clone());
                self.cluster.define(&self.full(lock), Some(*slots), self.longest()).await
            }
            Step::Undefine { lock } => self.cluster.define(&self.full(lock), None, self.longest()).await,
            Step::Queue { lock, holders, waiters } => {
                self.cluster.until_queue(&self.full(lock), *holders, *waiters, self.longest()).await
            }
            Step::Contend { by, lock, rounds } => self.contend(by, lock, *rounds).await,
            Step::Expect { that } => {
                let known = |of: &str, field| self.fact(of, field);
                let wrong: Vec<String> = that.iter().filter_map(|relation| relation.wrong(known)).collect();
                ensure!(wrong.is_empty(), "{}", wrong.join("; "));
                Ok(())
            }
        }
    }

    async fn act_on_process(&mut self, step: &Step) -> Result<()> {
        let (Step::Close { who } | Step::Pause { who } | Step::Resume { who } | Step::Kill { who }) = step
        else {
            bail!("no step of a process");
        };
        let actor = self.actors.get_mut(who).with_context(|| format!("there is no actor '{who}'"))?;
        match step {
            Step::Close { .. } => {
                actor.ended = Some(now());
                let actor = self.actor(who)?;
                self.close(who, actor).await?;
            }
            Step::Pause { .. } => {
                actor.agent.signal(Signal::STOP)?;
                actor.paused.push(now());
            }
            Step::Resume { .. } => actor.agent.signal(Signal::CONT)?,
            _ => {
                actor.agent.signal(Signal::KILL)?;
                (actor.ended, actor.killed) = (Some(now()), true);
            }
        }
        Ok(())
    }

    async fn close(&self, who: &str, actor: &Actor) -> Result<()> {
        let id = actor.agent.say(json!({"do": "close"})).await?;
        let answer = actor.agent.hear(self.longest(), |event| event.id == id).await?;
        ensure!(answer.event == "closed", "{who} cannot close: {}", in_words(&answer));
        Ok(())
    }

    async fn acquire(&mut self, asking: &Asking, wait: Option<Duration>) -> Result<()> {
        let lock = self.full(&asking.lock);
        let command = json!({
            "do": "acquire",
            "lock": lock,
            "slots": asking.slots,
            "mode": asking.mode.map(Mode::name),
            "groups": asking.groups,
            "wait_ms": wait.map(|wait| wait.as_millis() as u64),
        });
        let id = self.actor(&asking.by)?.agent.say(command).await?;
        let kind = match (asking.mode, &asking.groups) {
            (Some(Mode::Shared), _) => Kind::Shared,
            (Some(Mode::Exclusive), _) => Kind::Exclusive,
            (None, Some(_)) => Kind::Group(None),
            (None, None) if self.defined.contains(&asking.lock) => Kind::Slot(None),
            (None, None) => Kind::Slot(Some(asking.slots.unwrap_or(1))),
        };
        let (name, by) = (asking.name.clone(), asking.by.clone());
        self.requests.push(Request { name, by, id, lock, kind, release: None, lost: None });
        match &asking.expect {
            None => Ok(()),
            Some(expect) => {
                self.outcome(self.request(&asking.name)?, expect, asking.held_by.as_deref()).await
            }
        }
    }

    /// Waits for the outcome of a request, or for its loss.
    async fn outcome(&self, request: &Request, expect: &Outcomes, held_by: Option<&str>) -> Result<()> {
        let (agent, id) = (&self.actor(&request.by)?.agent, request.id);
        let waits_for_loss = expect.include("lost");
        let fits = |event: &Event| event.id == id && (event.event == "lost") == waits_for_loss;
        let wanted = expect.all().join(" or ");
        let expected = || format!("{}: expected {wanted}", request.name);
        let outcome = agent.hear(self.longest(), fits).await.with_context(expected)?;
        ensure!(expect.include(&outcome.event), "{}, and not {}", expected(), in_words(&outcome));
        if outcome.event == "granted" {
            let has_both = outcome.fence.is_some() && outcome.slot.is_some();
            ensure!(has_both && outcome.at > 0, "{}: a grant without fence, slot or time", request.name);
        }
        if let Some(holder) = held_by {
            let label = label(&self.prefix, holder);
            let names = outcome.holders.iter().any(|named| named.contains(&label));
            ensure!(names, "{}: {holder} holds it, and not one of {:?}", request.name, outcome.holders);
        }
        Ok(())
    }

    /// Gives a command about a request to the agent of its client, and waits for its answer.
    async fn ask(
        &self,
        request: &Request,
        mut command: serde_json::Value,
        expect: &Outcomes,
    ) -> Result<Event> {
        let agent = &self.actor(&request.by)?.agent;
        let what = command["do"].as_str().unwrap_or_default().to_string();
        command["of"] = json!(request.id);
        let id = agent.say(command).await?;
        let answer = agent.hear(self.longest(), |event| event.id == id).await;
        let answer = answer.with_context(|| format!("{what} {}", request.name))?;
        let wanted = expect.all().join(" or ");
        let said = in_words(&answer);
        ensure!(expect.include(&answer.event), "{what} {}: expected {wanted}, and not {said}", request.name);
        Ok(answer)
    }

    async fn force(&self, of: &str) -> Result<()> {
        let request = self.request(of)?;
        let (Some(Fact::Number(fence)), Some(Fact::Number(slot))) =
            (self.fact(of, Field::Fence), self.fact(of, Field::Slot))
        else {
            bail!("{of} was not granted");
        };
        self.cluster.force(&request.lock, u32::try_from(slot)?, fence).await
    }

    /// Has these clients acquire and release a lock so many times each, all at once.
    async fn contend(&mut self, by: &[String], lock: &str, rounds: u32) -> Result<()> {
        let full = self.full(lock);
        let stage = &*self;
        let contend = |who: &String| {
            let (who, full) = (who.clone(), full.clone());
            async move {
                let mut requests = Vec::new();
                for round in 1..=rounds {
                    let agent = &stage.actor(&who)?.agent;
                    let id = agent.say(json!({"do": "acquire", "lock": full})).await?;
                    let (name, kind) = (format!("round {round}"), Kind::Slot(Some(1)));
                    let mut request = Request {
                        name,
                        by: who.clone(),
                        id,
                        lock: full.clone(),
                        kind,
                        release: None,
                        lost: None,
                    };
                    stage.outcome(&request, &Outcomes::One("granted".into()), None).await?;
                    sleep(stage.cluster.lease / 50).await;
                    let command = json!({"do": "release"});
                    let released = stage.ask(&request, command, &Outcomes::One("released".into())).await?;
                    request.release = Some(released.at);
                    requests.push(request);
                }
                anyhow::Ok(requests)
            }
        };
        let done = all_of(by.iter().map(contend)).await;
        for requests in done {
            self.requests.extend(requests?);
        }
        Ok(())
    }

    /// What the client of a request held, if it was granted.
    fn hold(&self, request: &Request, end: u64) -> Option<Hold> {
        let granted = self.answer(request).filter(|answer| answer.event == "granted")?;
        let actor = self.actors.get(&request.by)?;
        let lost = self.loss(request).map(|lost| lost.at).or(request.lost);
        // A process that is stopped does nothing: what it lost meanwhile, it held until then.
        let stopped = actor.paused.iter().find(|from| **from > granted.at && lost >= Some(**from));
        let ends = [lost, request.release, actor.ended, stopped.copied()];
        let until = ends.into_iter().flatten().fold(end, u64::min);
        let kind = match &request.kind {
            Kind::Group(_) => Kind::Group(granted.group),
            kind => kind.clone(),
        };
        Some(Hold {
            who: format!("{} ({})", request.by, request.name),
            lock: request.lock.clone(),
            kind,
            slot: granted.slot?,
            fence: granted.fence?,
            from: granted.at,
            until,
        })
    }

    fn fact(&self, of: &str, field: Field) -> Option<Fact> {
        let request = self.request(of).ok()?;
        let granted = self.answer(request).filter(|answer| answer.event == "granted");
        match field {
            Field::Fence => granted?.fence.map(Fact::Number),
            Field::Slot => granted?.slot.map(|slot| Fact::Number(slot.into())),
            Field::Group => granted?.group.map(Fact::Text),
            Field::Granted => granted.map(|granted| Fact::Number(granted.at)),
            Field::Lost => self.loss(request).map(|lost| Fact::Number(lost.at)),
        }
    }

    fn answer(&self, request: &Request) -> Option<Event> {
        self.find(request, |event| event.event != "lost")
    }

    fn loss(&self, request: &Request) -> Option<Event> {
        self.find(request, |event| event.event == "lost")
    }

    fn find(&self, request: &Request, fits: impl Fn(&Event) -> bool) -> Option<Event> {
        let events = self.actors.get(&request.by)?.agent.events();
        events.into_iter().find(|event| event.id == request.id && fits(event))
    }

    fn request(&self, name: &str) -> Result<&Request> {
        self.requests
            .iter()
            .find(|request| request.name == name)
            .with_context(|| format!("there is no '{name}'"))
    }

    fn request_mut(&mut self, name: &str) -> Result<&mut Request> {
        let found = self.requests.iter_mut().find(|request| request.name == name);
        found.with_context(|| format!("there is no '{name}'"))
    }

    fn actor(&self, name: &str) -> Result<&Actor> {
        self.actors.get(name).with_context(|| format!("there is no actor '{name}'"))
    }

    fn full(&self, lock: &str) -> String {
        format!("{}/{lock}", self.prefix)
    }

    fn length(&self, span: super::case::Span) -> Duration {
        span.length(self.cluster.lease, self.ttl)
    }

    fn longest(&self) -> Duration {
        self.cluster.lease * LONGEST
    }
}

/// How an actor calls itself.
fn label(prefix: &str, actor: &str) -> String {
    format!("{actor} of {prefix}")
}

fn in_words(event: &Event) -> String {
    match &event.why {
        Some(why) => format!("{} ({why})", event.event),
        None => event.event.clone(),
    }
}
