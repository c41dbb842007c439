//! `tokenwood top`: a live view of the whole cluster in the terminal.

mod asking;
mod following;
mod frame;
mod live;
mod model;
mod plain;
mod rates;
mod screen;
mod sheets;
mod troubles;
mod ui;
mod view;

use std::io::{IsTerminal, stdout};
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use tokio::time::{Instant, sleep_until, timeout_at};

use following::Following;
use frame::Frame;

use crate::locks::cluster::UNAVAILABLE;
use crate::locks::endpoints::{Endpoints, runtime};
use crate::locks::list::pause;
use crate::terminal::format::Format;
use crate::terminal::signals::Signals;

/// Show the whole cluster live: nodes, hot names, longest waits, and what is wrong
///
/// Keys: q quits, Tab changes the table, arrows and PgUp/PgDn choose a row, Enter shows everything about a name, / chooses a
/// prefix, s another order, Space holds still, ? helps. Every node is asked for a part of its names at a time, so that a cluster
/// with many names stays fast. Without a terminal it prints one frame.
///
/// Exit code 69 with --once: a member gave no answer, or the cluster grants nothing.
#[derive(Args)]
pub(crate) struct Arguments {
    /// How often to ask
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = pause)]
    every: Duration,
    /// Only names that begin with this
    #[arg(long, value_name = "PREFIX", default_value = "", hide_default_value = true)]
    prefix: String,
    /// Print one frame as plain tables, with rates over the time of --every
    #[arg(long)]
    once: bool,
    /// Tables for people; for scripts an object per line, one each time, until Ctrl-C
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    #[command(flatten)]
    endpoints: Endpoints,
}

/// One frame waits for slow nodes for this long at most, beyond the time of --every.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

pub(crate) fn run(arguments: &Arguments) -> Result<u8> {
    runtime()?.block_on(show(arguments))
}

async fn show(arguments: &Arguments) -> Result<u8> {
    let Arguments { every, prefix, once, format, endpoints } = arguments;
    let mut following = Following::begin(endpoints, *every, prefix.clone()).await?;
    if *format == Format::Json && !once {
        return print_lines(&mut following, *every).await;
    }
    if *once || !stdout().is_terminal() {
        let frame = first_frame(&mut following, *every).await;
        match format {
            Format::Json => plain::print_json(&frame),
            Format::Table => plain::print(&frame),
        }
        let is_complete = frame.grants && frame.nodes.iter().all(|row| row.told.is_some() || !row.member);
        return Ok(if is_complete { 0 } else { UNAVAILABLE });
    }
    live::show(following, *every, prefix.clone()).await?;
    Ok(0)
}

/// The first frame that has rates of all names and of all nodes that answer; a lesser one if that takes too long.
async fn first_frame(following: &mut Following, every: Duration) -> Frame {
    let until = Instant::now() + 2 * every + LONGEST_WAIT;
    let mut tracked = false;
    while !(following.is_complete() && tracked) && timeout_at(until, following.next()).await.is_ok() {
        if following.has_heard_all() && !tracked {
            let frame = following.frame();
            following.track(&frame, std::iter::empty());
            tracked = true;
        }
    }
    following.frame()
}

/// Prints an object each time, until a signal ends it.
async fn print_lines(following: &mut Following, every: Duration) -> Result<u8> {
    let mut signals = Signals::listen()?;
    let mut next = Instant::now() + every;
    loop {
        tokio::select! {
            () = following.next() => {}
            () = sleep_until(next) => {
                next = Instant::now() + every;
                let frame = following.frame();
                following.track(&frame, std::iter::empty());
                plain::print_json(&frame);
            }
            _ = signals.next() => return Ok(0),
        }
    }
}
