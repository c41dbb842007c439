//! What the keys have chosen: the table, the row, the order, the prefix; and what each key does.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::frame::{Frame, NameRow};
use super::sheets::Order;

/// The tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Table {
    Names,
    Waits,
    Nodes,
}

/// What a key asks the main loop for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Asked {
    Nothing,
    End,
    Stop,
    Filter(String),
    Inspect(Option<String>),
}

/// What the keys have chosen.
pub(super) struct Ui {
    pub(super) table: Table,
    pub(super) order: Order,
    /// The rows that are chosen in names, waits and nodes.
    chosen: [Chosen; 3],
    /// Only names that begin so.
    pub(super) prefix: String,
    /// The prefix that is being typed.
    pub(super) typed: Option<String>,
    pub(super) held: bool,
    pub(super) helps: bool,
    pub(super) inspected: Option<String>,
    /// The first line that is shown of what is inspected.
    pub(super) scrolled: usize,
    /// How many rows a page has: the view says.
    pub(super) page: usize,
}

/// A row that is chosen: a row of a name moves with it.
#[derive(Clone, Default)]
struct Chosen {
    index: usize,
    key: Option<String>,
}

impl Ui {
    pub(super) fn new(prefix: String) -> Ui {
        Ui {
            table: Table::Names,
            order: Order::Grants,
            chosen: Default::default(),
            prefix,
            typed: None,
            held: false,
            helps: false,
            inspected: None,
            scrolled: 0,
            page: 10,
        }
    }

    /// The names in the chosen order. What begins otherwise than the prefix may still be in a frame that is held.
    pub(super) fn names<'a>(&self, frame: &'a Frame) -> Vec<&'a NameRow> {
        let mut rows = self.order.sorted(&frame.names);
        rows.retain(|row| row.name.starts_with(&self.prefix));
        rows
    }

    /// The rows of a table by what they are about.
    fn keys(&self, table: Table, frame: &Frame) -> Vec<String> {
        match table {
            Table::Names => self.names(frame).iter().map(|row| row.name.to_string()).collect(),
            Table::Waits => frame.waits.iter().map(|row| row.name.to_string()).collect(),
            Table::Nodes => frame.nodes.iter().map(|row| row.id.to_string()).collect(),
        }
    }

    /// The index of the row that is chosen in a table.
    pub(super) fn index(&self, table: Table) -> usize {
        self.chosen[table as usize].index
    }

    /// Another frame is shown: the row that is chosen may have moved.
    pub(super) fn follow(&mut self, frame: &Frame) {
        for table in [Table::Names, Table::Nodes, Table::Waits] {
            let keys = self.keys(table, frame);
            let chosen = &mut self.chosen[table as usize];
            if table != Table::Waits
                && let Some(key) = &chosen.key
            {
                // A name that is gone for a moment leaves the place.
                chosen.index = keys.iter().position(|it| it == key).unwrap_or(chosen.index);
            }
            chosen.index = chosen.index.min(keys.len().saturating_sub(1));
        }
    }

    fn choose(&mut self, frame: &Frame, index: usize) {
        let keys = self.keys(self.table, frame);
        let index = index.min(keys.len().saturating_sub(1));
        // The first row stays the first, whichever that is.
        let key = keys.get(index).filter(|_| index > 0).cloned();
        self.chosen[self.table as usize] = Chosen { index, key };
    }

    /// Does what a key stands for.
    pub(super) fn press(&mut self, key: KeyEvent, frame: &Frame) -> Asked {
        if key.kind == KeyEventKind::Release {
            return Asked::Nothing;
        }
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            return match key.code {
                KeyCode::Char('c') => Asked::End,
                KeyCode::Char('z') => Asked::Stop,
                _ => Asked::Nothing,
            };
        }
        if self.typed.is_some() {
            return self.type_prefix(key.code);
        }
        if self.helps {
            self.helps = false;
            return if key.code == KeyCode::Char('q') { Asked::End } else { Asked::Nothing };
        }
        match key.code {
            KeyCode::Char('q') => return Asked::End,
            KeyCode::Char('?') => self.helps = true,
            KeyCode::Char(' ') => self.held = !self.held,
            _ if self.inspected.is_some() => return self.press_in_inspection(key.code),
            KeyCode::Char('/') => self.typed = Some(self.prefix.clone()),
            KeyCode::Char('s') => {
                let at = Order::ALL.iter().position(|order| *order == self.order).unwrap_or(0);
                self.order = Order::ALL[(at + 1) % Order::ALL.len()];
                self.chosen[Table::Names as usize] = Chosen::default();
            }
            KeyCode::Esc if !self.prefix.is_empty() => return self.set_prefix(String::new()),
            KeyCode::Enter => return self.inspect(frame),
            code => self.move_by(code, frame),
        }
        Asked::Nothing
    }

    fn move_by(&mut self, code: KeyCode, frame: &Frame) {
        let index = self.index(self.table);
        match code {
            KeyCode::Tab => {
                self.table = match self.table {
                    Table::Names => Table::Waits,
                    Table::Waits => Table::Nodes,
                    Table::Nodes => Table::Names,
                }
            }
            KeyCode::BackTab => {
                self.table = match self.table {
                    Table::Names => Table::Nodes,
                    Table::Waits => Table::Names,
                    Table::Nodes => Table::Waits,
                }
            }
            KeyCode::Up | KeyCode::Char('k') => self.choose(frame, index.saturating_sub(1)),
            KeyCode::Down | KeyCode::Char('j') => self.choose(frame, index + 1),
            KeyCode::PageUp => self.choose(frame, index.saturating_sub(self.page)),
            KeyCode::PageDown => self.choose(frame, index + self.page),
            KeyCode::Home => self.choose(frame, 0),
            KeyCode::End => self.choose(frame, usize::MAX),
            _ => {}
        }
    }

    fn inspect(&mut self, frame: &Frame) -> Asked {
        if self.table == Table::Nodes {
            return Asked::Nothing;
        }
        let Some(name) = self.keys(self.table, frame).into_iter().nth(self.index(self.table)) else {
            return Asked::Nothing;
        };
        (self.inspected, self.scrolled) = (Some(name.clone()), 0);
        Asked::Inspect(Some(name))
    }

    fn press_in_inspection(&mut self, code: KeyCode) -> Asked {
        match code {
            KeyCode::Esc | KeyCode::Enter | KeyCode::Backspace => {
                self.inspected = None;
                return Asked::Inspect(None);
            }
            KeyCode::Up | KeyCode::Char('k') => self.scrolled = self.scrolled.saturating_sub(1),
            KeyCode::Down | KeyCode::Char('j') => self.scrolled += 1,
            KeyCode::PageUp => self.scrolled = self.scrolled.saturating_sub(self.page),
            KeyCode::PageDown => self.scrolled += self.page,
            KeyCode::Home => self.scrolled = 0,
            _ => {}
        }
        Asked::Nothing
    }

    fn type_prefix(&mut self, code: KeyCode) -> Asked {
        let Some(typed) = &mut self.typed else { return Asked::Nothing };
        match code {
            KeyCode::Char(letter) => typed.push(letter),
            KeyCode::Backspace => _ = typed.pop(),
            KeyCode::Esc => self.typed = None,
            KeyCode::Enter => {
                let prefix = self.typed.take().unwrap_or_default();
                return self.set_prefix(prefix);
            }
            _ => {}
        }
        Asked::Nothing
    }

    fn set_prefix(&mut self, prefix: String) -> Asked {
        self.chosen[Table::Names as usize] = Chosen::default();
        self.prefix.clone_from(&prefix);
        Asked::Filter(prefix)
    }
}
