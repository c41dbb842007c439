//! `tokenwood play`: serves the page that plays algorithms, prints its address and opens a browser.

use std::fmt::Write;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::ops::Range;

use algorithms::{Info, registry};
use anyhow::{Context, Result, bail};
use clap::Args;
use http_door::player::{Opened, What, serve};
use player::{Links, Setting, Shared};
use tokio::net::TcpListener;

use crate::Ended;
use crate::daemon::node::PORT_IN_USE;
use crate::locks::endpoints::runtime;
use crate::locks::ui;
use crate::terminal::output::{self, note};
use crate::terminal::signals::Signals;
use crate::workbench::link::Link;
use crate::workbench::plan_arguments;

/// Where the page is, if none of these is taken; else anywhere.
const USUAL_PORTS: Range<u16> = 7730..7740;

/// Play an algorithm in a browser: act, step, go back, break it, find a violation, share the run
///
/// Serves the page on this machine, without a cluster, prints its address and opens a browser. Without an algorithm, the page
/// offers all of them, the gallery of printed errors and the stories of the papers. Ctrl-C ends it.
///
/// A link of the player opens here, whichever server made it: the whole run is in it, and no other server is asked.
#[derive(Args)]
pub(crate) struct Arguments {
    /// The algorithm ('tokenwood algorithms' lists them), or partitioned(NAME); or a link that Share made, in quotes
    #[arg(value_name = "ALGORITHM or LINK")]
    algorithm: Option<String>,
    /// How many nodes [default: 6, or what shows the defect]
    #[arg(long, short = 'n', requires = "algorithm")]
    nodes: Option<u64>,
    /// How many clients may be in the critical section at once (k) [default: 2 for a k-mutex, else 1]
    #[arg(long, short = 'k', requires = "algorithm")]
    tokens: Option<u64>,
    /// How many groups, for group mutual exclusion [default: 2 for a group mutex, else 1]
    #[arg(long, short = 'm', requires = "algorithm")]
    groups: Option<u64>,
    /// An option of the algorithm, as name=value
    #[arg(long = "set", value_name = "NAME=VALUE", requires = "algorithm")]
    options: Vec<String>,
    /// Put a defect back ('tokenwood check --list-defects' lists them)
    #[arg(long, requires = "algorithm")]
    defect: Option<String>,
    /// Decides what the algorithm picks, and what a run does by itself [default: 1]
    #[arg(long, requires = "algorithm")]
    seed: Option<u64>,
    /// The address of the page, on this machine [default: 127.0.0.1:7730, or another port if that is taken]
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,
    /// Print the address only
    #[arg(long)]
    no_open: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Ended> {
    let first = match &arguments.algorithm {
        Some(link) if Link::is_meant(link) => {
            if let Some(flag) = arguments.given() {
                bail!("{flag} does not go with a link, which says what to play: leave out {flag}");
            }
            Link::parse(link)?.place
        }
        Some(name) => address(&arguments.setting(registry::info(name)?, name)?),
        None => "/ui/play".to_string(),
    };
    show(arguments.listen, !arguments.no_open, Opened { first, what: None })
}

impl Arguments {
    /// A flag that was given about what to play, if any was.
    fn given(&self) -> Option<&'static str> {
        let flags = [
            ("--nodes", self.nodes.is_some()),
            ("--tokens", self.tokens.is_some()),
            ("--groups", self.groups.is_some()),
            ("--set", !self.options.is_empty()),
            ("--defect", self.defect.is_some()),
            ("--seed", self.seed.is_some()),
        ];
        flags.into_iter().find_map(|(flag, given)| given.then_some(flag))
    }

    /// What to play: what the flags say and, where they are silent, what shows the defect.
    fn setting(&self, info: &Info, name: &str) -> Result<Setting> {
        let mut setting = Setting::of(name);
        let defect = self.defect.as_deref();
        if let Some(defect) = info.defects.iter().find(|known| Some(known.name) == defect) {
            let shows = algorithms::Setting::of(&defect.scope, None);
            (setting.nodes, setting.tokens) = (Some(shows.nodes.into()), Some(shows.tokens.into()));
            setting.groups = Some(shows.groups.into());
            setting.options = shows.options.into_iter().collect();
            setting.links =
                defect.scope.allowance.reorder.map(|any| if any { Links::Any } else { Links::Fifo });
        }
        let options: Vec<(String, String)> =
            self.options.iter().map(|option| plan_arguments::pair(option)).collect::<Result<_>>()?;
        plan_arguments::refuse_repeated(options.iter().map(|(name, _)| name.as_str()))?;
        setting.options.extend(options);
        let given = Setting {
            nodes: self.nodes.or(setting.nodes),
            tokens: self.tokens.or(setting.tokens),
            groups: self.groups.or(setting.groups),
            defect: self.defect.clone(),
            seed: self.seed.unwrap_or(setting.seed),
            ..setting
        };
        // The page is told no more than it would not choose itself.
        let links = given.links;
        Ok(Setting { links, ..given.completed()? })
    }
}

/// The address of a setting, below that of the server.
pub(crate) fn address(setting: &Setting) -> String {
    let mut text = format!("/ui/play/{}", escaped(&setting.algorithm));
    let mut separator = '?';
    let mut add = |name: &str, value: &str| {
        // Writing to a text cannot fail.
        _ = write!(text, "{separator}{name}={}", escaped(value));
        separator = '&';
    };
    let numbers =
        [("n", setting.nodes), ("k", setting.tokens), ("groups", setting.groups.filter(|it| *it > 1))];
    for (name, number) in numbers {
        if let Some(number) = number {
            add(name, &number.to_string());
        }
    }
    for (name, value) in &setting.options {
        add("set", &format!("{name}:{value}"));
    }
    if let Some(defect) = &setting.defect {
        add("defect", defect);
    }
    match setting.links {
        Some(Links::Fifo) => add("links", "fifo"),
        Some(Links::Any) => add("links", "any"),
        None => {}
    }
    if setting.seed != Setting::of("").seed {
        add("seed", &setting.seed.to_string());
    }
    text
}

/// A link is no longer than this: some programs cut longer ones.
const LONGEST_LINK: usize = 8 << 10;

/// Where the page shows a run: in its address, if it is short enough.
pub(crate) fn shown(shared: Shared) -> Result<Opened> {
    let shared = Shared { setting: shared.setting.completed()?, ..shared };
    let place = address(&shared.setting);
    let first = format!("{place}&at=0#r={}", player::share(&shared)?.run);
    if first.len() <= LONGEST_LINK {
        return Ok(Opened { first, what: None });
    }
    Ok(Opened { first: format!("{place}&at=0&opened=1"), what: Some(What::Run(shared)) })
}

/// A text within an address.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b':' | b'(' | b')' => {
                escaped.push(byte.into());
            }
            _ => _ = write!(escaped, "%{byte:02X}"),
        }
    }
    escaped
}

/// Serves the page until a signal comes.
pub(crate) fn show(told: Option<SocketAddr>, opens: bool, opened: Opened) -> Result<Ended> {
    if let Some(address) = told.filter(|address| !address.ip().is_loopback()) {
        let port = address.port();
        bail!(
            "--listen {address}: the page is for this machine alone, because it asks for no password and encrypts nothing: use \
             127.0.0.1:{port}, and from another machine 'ssh -L {port}:127.0.0.1:{port} HOST'"
        );
    }
    let runtime = runtime()?;
    runtime.block_on(async {
        let mut signals = Signals::listen()?;
        let listener = listen(told).await?;
        let page = format!("http://{}{}", listener.local_addr()?, opened.first);
        output::announce(format_args!("{page}\n"));
        let serving = async {
            tokio::join!(serve(listener, opened), async {
                // A browser may take long to start, or run in this very terminal.
                let opened = tokio::task::spawn_blocking(move || !opens || ui::open(&page)).await;
                if !opened.unwrap_or(false) {
                    note!("There is no browser to open here: copy the address.");
                }
                note!("Ctrl-C ends it.");
            })
        };
        tokio::select! {
            _ = serving => {}
            _ = signals.next() => {}
        }
        anyhow::Ok(())
    })?;
    // What a page still computes is of no use to it.
    runtime.shutdown_background();
    Ok(Ended::Well)
}

/// Listens where it is told, or at the first usual port that is free.
async fn listen(told: Option<SocketAddr>) -> Result<TcpListener> {
    if let Some(address) = told {
        return TcpListener::bind(address)
            .await
            .with_context(|| format!("cannot listen at {address}: {PORT_IN_USE}"));
    }
    for port in USUAL_PORTS {
        match TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
            bound => return bound.context("cannot listen at 127.0.0.1"),
        }
    }
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.context("cannot listen at 127.0.0.1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_says_what_to_play() {
        let setting = Setting {
            nodes: Some(6),
            tokens: Some(2),
            options: [("choose".to_string(), "random".to_string())].into(),
            defect: Some("holding-not-set".to_string()),
            seed: 7,
            ..Setting::of("bulgannawar-vaidya")
        };
        assert_eq!(
            address(&setting),
            "/ui/play/bulgannawar-vaidya?n=6&k=2&set=choose:random&defect=holding-not-set&seed=7"
        );
        assert_eq!(address(&Setting::of("partitioned(ra1)")), "/ui/play/partitioned(ra1)");
        assert_eq!(escaped("a b/ä?"), "a%20b%2F%C3%A4%3F");
    }
}
