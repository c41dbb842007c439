//! Draws a frame: a heading, what is wrong, the tables that fit, and the keys.

use std::time::{Duration, UNIX_EPOCH};

use ratatui::Frame as Area;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Paragraph};

use super::frame::Frame;
use super::model::Model;
use super::sheets::{
    Column, NAMES, NODES, WAITS, name_cells, node_cells, state, tells_handoffs, totals, wait_cells,
};
use super::ui::{Table, Ui};
use crate::locks::holders::time_in_words;
use crate::locks::inspect::Found;
use crate::terminal::table::{self, broken, count};

/// What is between two columns.
const GAP: usize = 2;
/// With fewer lines than this, only the chosen table is shown; with as many as the other, all of them.
const FEW_LINES: u16 = 14;
const MANY_LINES: u16 = 34;
/// A title and a heading.
const ABOVE: u16 = 2;

const HELP: &str = "\
Rates are differences of what the nodes count.

q, Ctrl-C    quit
Tab          the next table: names, waits, nodes
arrows, j k  choose a row; PgUp, PgDn, Home, End
Enter        all about a name: holders, queue, tokens
/            only names that begin so; Esc: all again
s            order by grants, waiters, holders, wait, name
Space        hold still; again to go on
Ctrl-Z       stop; 'fg' goes on

–            not known: rates need two answers of a node
5+           at least 5: a node counts 4,096 of a name
lease        a node without one grants nothing";

/// What nodes know of a name, as text.
pub(super) struct Detail {
    lines: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Detail {
    /// From the latest answers; nothing if no node has told of this name yet.
    pub(super) fn of(model: &Model, name: &str) -> Option<Detail> {
        let told: Vec<_> = model
            .answers()
            .filter_map(|(id, sample)| Some((id, sample.inspected.as_ref().filter(|it| it.name == name)?)))
            .collect();
        if told.is_empty() {
            return None;
        }
        let answers = told.iter().map(|(id, it)| (*id, it.home, &it.listings[..]));
        let found = Found::gather(name, answers);
        let complete = told.len() == model.nodes.len();
        let mut lines = found.lines(complete);
        if !complete {
            lines.push(format!("{} of {} nodes have told of it.", told.len(), model.nodes.len()));
        }
        for (id, _) in told.iter().filter(|(_, it)| it.more) {
            lines.push(format!("Node {id} has more clients than are shown: 'tokenwood inspect' lists all."));
        }
        Some(Detail { lines, rows: found.rows() })
    }
}

/// Colours, unless the user wants none.
fn coloured(colour: Color) -> Style {
    let wants_none = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    if wants_none { Style::new() } else { Style::new().fg(colour) }
}

fn bold() -> Style {
    Style::new().add_modifier(Modifier::BOLD)
}

pub(super) fn draw(area: &mut Area<'_>, frame: &Frame, ui: &mut Ui, detail: Option<&Detail>) {
    let whole = area.area();
    let mut lines = heading(frame, ui, whole.width);
    lines.extend(troubles(frame, whole));
    let top = (lines.len() as u16).min(whole.height);
    area.render_widget(Paragraph::new(lines), Rect { height: top, ..whole });
    let bottom = u16::from(whole.height > top);
    let body = Rect { y: whole.y + top, height: whole.height - top - bottom, ..whole };
    let keys = Rect { y: whole.y + whole.height - bottom, height: bottom, ..whole };
    area.render_widget(Paragraph::new(footer(ui, whole.width)), keys);
    if ui.helps {
        area.render_widget(Clear, body);
        let help = HELP.lines().flat_map(|line| broken(line, usize::from(body.width), 13)).map(Line::raw);
        area.render_widget(Paragraph::new(help.collect::<Vec<_>>()), body);
    } else if ui.inspected.is_some() {
        draw_detail(area, ui, detail, body);
    } else {
        draw_tables(area, frame, ui, body);
    }
}

fn heading(frame: &Frame, ui: &Ui, width: u16) -> Vec<Line<'static>> {
    let clock = frame.at.and_then(|at| at.duration_since(UNIX_EPOCH).ok()).map(|at| at.as_secs() % 86_400);
    let clock = clock.map(|at| format!("{:02}:{:02}:{:02} UTC", at / 3600, at / 60 % 60, at % 60));
    let mut parts = vec![format!("cluster {}", frame.cluster)];
    parts.push(count(frame.nodes.len() as u64, "node"));
    parts.push(frame.leader.map_or_else(|| "no leader known".to_string(), |id| format!("node {id} leads")));
    parts.extend(frame.epoch.map(|epoch| format!("view {epoch}")));
    parts.extend(clock);
    let title = if ui.held { "HELD STILL" } else { "tokenwood top" };
    let room = usize::from(width).saturating_sub(title.len() + GAP);
    let first = vec![Span::styled(title, bold()), Span::raw("  "), Span::raw(joined(&parts, room))];
    vec![Line::from(first), Line::raw(joined(&totals(frame), width.into()))]
}

/// As many of these as fit on a line.
fn joined(parts: &[String], width: usize) -> String {
    let mut line = String::new();
    for part in parts {
        let longer = if line.is_empty() { part.clone() } else { format!("{line}  {part}") };
        if Line::raw(longer.as_str()).width() > width {
            break;
        }
        line = longer;
    }
    line
}

/// What is wrong, in no more than a quarter of the screen.
fn troubles(frame: &Frame, whole: Rect) -> Vec<Line<'static>> {
    let most = usize::from(whole.height / 4).max(1);
    let style = coloured(Color::Red).add_modifier(Modifier::BOLD);
    let width = usize::from(whole.width);
    let mut lines: Vec<String> = Vec::new();
    for (index, trouble) in frame.troubles.iter().enumerate() {
        let broken = broken(&format!("! {trouble}"), width, 2);
        let left = frame.troubles.len() - index;
        let is_last = left == 1;
        if lines.len() + broken.len() + usize::from(!is_last) > most && !lines.is_empty() {
            lines.truncate(most - 1);
            lines.push(format!("! And {left} more: they need a taller screen."));
            break;
        }
        lines.extend(broken);
    }
    lines.truncate(most);
    lines.into_iter().map(|line| Line::styled(line, style)).collect()
}

fn footer(ui: &Ui, width: u16) -> Line<'static> {
    if let Some(typed) = &ui.typed {
        return Line::from(vec![
            Span::styled("names that begin with: ", bold()),
            Span::raw(format!("{typed}▏")),
        ]);
    }
    let keys: &[&str] = if ui.inspected.is_some() {
        &["Esc back", "q quit", "↑↓ scroll", "Space hold"]
    } else {
        &["q quit", "? help", "Tab table", "↵ inspect", "/ prefix", "s sort", "Space hold", "↑↓ choose"]
    };
    let keys: Vec<String> = keys.iter().map(ToString::to_string).collect();
    Line::styled(joined(&keys, width.into()), Style::new().add_modifier(Modifier::DIM))
}

fn draw_tables(area: &mut Area<'_>, frame: &Frame, ui: &mut Ui, body: Rect) {
    let nodes = (frame.nodes.len() as u16 + ABOVE + 1).min(body.height / 3);
    let parts: Vec<(Table, u16)> = match body.height {
        0..FEW_LINES => vec![(ui.table, body.height)],
        height if height < MANY_LINES => {
            let other = if ui.table == Table::Waits { Table::Waits } else { Table::Names };
            vec![(Table::Nodes, nodes), (other, height - nodes)]
        }
        height => {
            let waits = (height - nodes) / 3;
            vec![(Table::Nodes, nodes), (Table::Names, height - nodes - waits), (Table::Waits, waits)]
        }
    };
    let mut y = body.y;
    for (table, height) in parts {
        draw_table(area, frame, ui, table, Rect { y, height, ..body });
        y += height;
    }
}

fn draw_table(area: &mut Area<'_>, frame: &Frame, ui: &mut Ui, table: Table, part: Rect) {
    let page = usize::from(part.height.saturating_sub(ABOVE));
    if table == ui.table {
        ui.page = page.max(1);
    }
    let chosen = ui.index(table);
    // A page at a time, so that rows stay where they are while the choice moves.
    let first = chosen / page.max(1) * page.max(1);
    let names = ui.names(frame);
    let (columns, all, rows): (&[Column], usize, Vec<Vec<String>>) = match table {
        Table::Names => {
            (&NAMES, names.len(), names.iter().skip(first).take(page).map(|row| name_cells(row)).collect())
        }
        Table::Waits => {
            let rows = frame.waits.iter().skip(first).take(page).map(wait_cells);
            (&WAITS, frame.waits.len(), rows.collect())
        }
        Table::Nodes => {
            let rows = frame.nodes.iter().skip(first).take(page).map(node_cells);
            (&NODES, frame.nodes.len(), rows.collect())
        }
    };
    let hides_handoffs = table == Table::Nodes && !tells_handoffs(frame);
    let widths = widths(columns, part.width.into(), hides_handoffs);
    let mark = if table == ui.table { "▶ " } else { "  " };
    let style = if table == ui.table { coloured(Color::Cyan).add_modifier(Modifier::BOLD) } else { bold() };
    let title = fit(&format!("{mark}{}", title(frame, ui, table, all)), part.width.into(), false);
    let titles: Vec<String> = columns.iter().map(|column| column.title.to_string()).collect();
    let heading = Style::new().add_modifier(Modifier::UNDERLINED);
    let mut lines =
        vec![Line::styled(title, style), Line::styled(row_text(columns, &widths, &titles), heading)];
    for (index, cells) in rows.iter().enumerate() {
        let mut style = Style::new();
        if table == Table::Nodes && !matches!(state(&frame.nodes[first + index]), "leads" | "serves" | "…")
        {
            style = coloured(Color::Red).add_modifier(Modifier::BOLD);
        }
        if table == ui.table && first + index == chosen {
            style = style.add_modifier(Modifier::REVERSED);
        }
        lines.push(Line::styled(row_text(columns, &widths, cells), style));
    }
    if rows.is_empty() && table != Table::Nodes {
        let nothing = if table == Table::Names { "  No name is in use." } else { "  No client waits." };
        lines.push(Line::raw(if frame.at.is_some() && frame.round.is_some() { nothing } else { "  …" }));
    }
    area.render_widget(Paragraph::new(lines), part);
}

fn title(frame: &Frame, ui: &Ui, table: Table, all: usize) -> String {
    let all = table::grouped(all as u64);
    match table {
        Table::Nodes => format!("nodes ({all})"),
        Table::Waits => format!("longest waits ({all})"),
        Table::Names => {
            let mut title = format!("names ({all}), {}", ui.order.in_words());
            if !ui.prefix.is_empty() {
                title += &format!(", that begin with {}", ui.prefix);
            }
            match frame.round {
                None => title += ", still looking",
                Some(round) if round > Duration::from_secs(3) => {
                    title += &format!(", all seen within {}", time_in_words(round));
                }
                Some(_) => {}
            }
            title
        }
    }
}

/// How wide each column is; nothing for one that has no room.
fn widths(columns: &[Column], width: usize, hides_handoffs: bool) -> Vec<Option<usize>> {
    let is_handoff = |column: &Column| ["local/s", "remote/s"].contains(&column.title);
    let shown = |most: u8| {
        let shows = move |column: &&Column| column.rank <= most && !(hides_handoffs && is_handoff(column));
        columns.iter().filter(shows)
    };
    let total = |most: u8| shown(most).map(|column| column.width + GAP).sum::<usize>().saturating_sub(GAP);
    let most = (0..=3).rev().find(|most| total(*most) <= width).unwrap_or(0);
    let growing = shown(most).filter(|column| column.grows).count();
    let mut left = width.saturating_sub(total(most));
    let mut share = left.checked_div(growing).unwrap_or(0);
    let mut widths = Vec::new();
    for column in columns {
        let is_shown = column.rank <= most && !(hides_handoffs && is_handoff(column));
        if is_shown && column.grows && left < 2 * share {
            share = left;
        }
        let more = if column.grows && is_shown { share } else { 0 };
        left -= more;
        widths.push(is_shown.then_some(column.width + more));
    }
    widths
}

fn row_text(columns: &[Column], widths: &[Option<usize>], cells: &[String]) -> String {
    let all = columns.iter().zip(widths).zip(cells);
    let cells: Vec<String> =
        all.filter_map(|((column, width), cell)| Some(fit(cell, (*width)?, column.right))).collect();
    cells.join(&" ".repeat(GAP))
}

/// A text in exactly this width. What a client says of itself may have anything in it.
fn fit(text: &str, width: usize, right: bool) -> String {
    let clean: String = text.chars().map(|letter| if letter.is_control() { '?' } else { letter }).collect();
    let mut wide = Line::raw(clean.as_str()).width();
    let mut shown = clean;
    if wide > width {
        while wide >= width.max(1) && shown.pop().is_some() {
            wide = Line::raw(shown.as_str()).width();
        }
        shown.push('…');
        wide += 1;
    }
    let blanks = " ".repeat(width.saturating_sub(wide));
    if right { blanks + &shown } else { shown + &blanks }
}

fn draw_detail(area: &mut Area<'_>, ui: &mut Ui, detail: Option<&Detail>, body: Rect) {
    let width = usize::from(body.width);
    let mut lines: Vec<String> = Vec::new();
    match detail {
        None => lines.push("Asking all nodes …".to_string()),
        Some(detail) => {
            lines.extend(detail.lines.iter().flat_map(|line| broken(line, width, 2)));
            lines.push(String::new());
            lines.extend(table::lines(&detail.rows, 1, Some(width)));
        }
    }
    let page = usize::from(body.height);
    ui.page = page.max(1);
    ui.scrolled = ui.scrolled.min(lines.len().saturating_sub(page));
    let shown = lines.iter().skip(ui.scrolled).take(page).map(|line| Line::raw(fit(line, width, false)));
    area.render_widget(Paragraph::new(shown.collect::<Vec<_>>()), body);
}
