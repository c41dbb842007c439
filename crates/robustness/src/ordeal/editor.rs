//! Clients of an ordeal: each takes a lock, reads a number from the store, works for a moment, and writes it back counted up
//! by one.

use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::storm::{self, Line, Tally, now, say};
use anyhow::Result;
use clap::Args;
use random::Random;
use security::{Credentials, Files};
use service::{Definition, Time};
use tokenwood::{Access, Encryption, Error, Guard, Options, Refusal, Tokenwood};
use tokio::time::{sleep, timeout};

use super::store::Register;
use crate::client_processes::LONGEST_WAIT;

/// A client of an ordeal
#[derive(Args)]
pub struct Arguments {
    #[arg(long = "endpoint", value_delimiter = ',')]
    endpoints: Vec<String>,
    #[arg(long)]
    store: PathBuf,
    #[arg(long = "want", value_delimiter = ',')]
    wanted: Vec<usize>,
    #[arg(long)]
    ttl_ms: u64,
    /// The longest time that it works inside
    #[arg(long)]
    section_ms: u64,
    #[arg(long)]
    seed: u64,
    /// It does not look whether it has lost the lock before it writes
    #[arg(long)]
    careless: bool,
    /// It encrypts, and trusts this CA
    #[arg(long)]
    ca: Option<PathBuf>,
    /// It shows this certificate
    #[arg(long)]
    certificate: Option<PathBuf>,
    #[arg(long)]
    key: Option<PathBuf>,
}

impl Arguments {
    fn credentials(&self) -> Result<Option<Credentials>> {
        let Some(ca) = self.ca.clone() else { return Ok(None) };
        let files = Files { ca, certificate: self.certificate.clone(), key: self.key.clone() };
        Ok(Some(Credentials::load(files, None)?))
    }
}

/// So often a client looks whether it still holds what it holds.
const LOOKS: Duration = Duration::from_millis(2);
/// How long it waits before it tries again when no node accepts it.
const AGAIN: Duration = Duration::from_millis(20);

/// Runs the client until standard input ends.
pub async fn run(arguments: &Arguments) -> Result<()> {
    let over = Arc::new(AtomicBool::new(false));
    let ends = over.clone();
    // It may wait for ever: it is not waited for.
    std::thread::spawn(move || {
        _ = std::io::stdin().read_to_end(&mut Vec::new());
        ends.store(true, Ordering::Relaxed);
    });
    let mut register = Register::connect(&arguments.store).await?;
    let credentials = arguments.credentials()?;
    let access = Access {
        encryption: credentials.clone().map_or(Encryption::Off, Encryption::Required),
        ..Access::default()
    };
    let mut editor = Editor { arguments, access, tally: Tally::default(), tokenwood: None, stays: 0 };
    let mut random = Random::new(arguments.seed);
    while !over.load(Ordering::Relaxed) {
        if let Some(credentials) = credentials.iter().find(|credentials| credentials.changed_on_disk()) {
            // A certificate without its new key is half of a change: the next look finds the rest.
            _ = credentials.reload();
        }
        let wanted = arguments.wanted[random.below(arguments.wanted.len() as u64) as usize];
        let asked = now();
        match timeout(LONGEST_WAIT, editor.take(wanted, &over)).await {
            Ok(Some(guard)) => editor.edit(&mut register, guard, (wanted, asked), &mut random).await?,
            Ok(None) => {}
            Err(_) => say(&Line::Wrong(format!("timed out waiting for {}", storm::wanted(wanted).0))),
        }
        sleep(Duration::from_micros(random.below(5_000))).await;
    }
    say(&Line::Sum(editor.tally));
    drop(editor);
    // The session says goodbye in a task of its own.
    sleep(Duration::from_millis(50)).await;
    Ok(())
}

struct Editor<'a> {
    arguments: &'a Arguments,
    access: Access,
    tally: Tally,
    tokenwood: Option<Tokenwood>,
    stays: u64,
}

impl Editor<'_> {
    /// Acquires it, however often the session is lost meanwhile. `None` if the run is over before a node could be asked.
    async fn take(&mut self, wanted: usize, over: &AtomicBool) -> Option<Guard> {
        let (name, definition) = storm::wanted(wanted);
        let Definition::Slots(slots) = definition else { return None };
        loop {
            let taken = match &self.tokenwood {
                Some(tokenwood) => tokenwood.semaphore(&name, slots).acquire().await,
                None => {
                    let ttl = Duration::from_millis(self.arguments.ttl_ms);
                    let options = Options { access: self.access.clone(), ..Options::with_ttl(ttl) };
                    let connected = Tokenwood::connect_with(self.arguments.endpoints.clone(), options).await;
                    match connected {
                        Ok(connected) => {
                            self.tokenwood = Some(connected);
                            continue;
                        }
                        Err(error) => Err(error),
                    }
                }
            };
            match taken {
                Ok(guard) => return Some(guard),
                Err(Error::Lost) => self.tally.lost += 1,
                Err(Error::NoNode(_) | Error::Refused(Refusal::NoLease | Refusal::Overloaded)) => {
                    self.tally.refused += 1;
                }
                Err(error) => say(&Line::Wrong(error.to_string())),
            }
            if over.load(Ordering::Relaxed) && self.tokenwood.is_none() {
                return None;
            }
            sleep(AGAIN).await;
        }
    }

    /// Reads, works, writes. It holds the lock from when it saw the grant until it last saw that it is not lost.
    async fn edit(
        &mut self,
        register: &mut Register,
        guard: Guard,
        (wanted, asked): (usize, Time),
        random: &mut Random,
    ) -> Result<()> {
        let (slot, fence, stay) = (guard.slot(), guard.fence(), self.stays);
        self.stays += 1;
        let at = now();
        if guard.is_lost() {
            return Ok(());
        }
        say(&Line::In { stay, wanted, slot, fence, group: 0, asked, at });
        self.tally.granted += 1;
        let name = storm::wanted(wanted).0;
        let seen = register.read(&name, slot, fence).await?;
        let work = Duration::from_micros(random.below(self.arguments.section_ms * 1000 + 1));
        let done = at + work;
        let (mut believed, mut lost) = (at, false);
        while !lost && now() < done {
            sleep(LOOKS.min(work)).await;
            let moment = now();
            lost = guard.is_lost();
            if !lost {
                believed = moment;
            }
        }
        if self.arguments.careless || !lost {
            register.count_up(&name, slot, fence, seen).await?;
        }
        let moment = now();
        if !guard.is_lost() {
            believed = moment;
        } else {
            self.tally.lost += 1;
        }
        // First written down, then left.
        say(&Line::Out { stay, at: believed });
        drop(guard);
        Ok(())
    }
}
