//! Measured latencies: sites, how long a message takes from one to another, and which nodes are at which site.

use std::fmt;

use algorithms::SettingError;

/// A matrix of transit times between sites, as people write and measure it.
#[derive(Clone, Debug, PartialEq)]
pub struct Latencies {
    /// The names of the sites.
    sites: Vec<String>,
    /// One-way transit times in units, row by row: the row is the sender's site. Only a site's own may be
    /// missing.
    times: Vec<Option<f64>>,
}

/// Which nodes are at which site.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Sites {
    /// About as many at each, with consecutive numbers; the first sites have one more.
    #[default]
    Blocks,
    /// Node i is at site i modulo the number of sites.
    Spread,
    /// This many at each, with consecutive numbers.
    Counts(Vec<u32>),
}

/// The longest latency, in units.
const LONGEST: f64 = 1e6;

impl Latencies {
    /// Reads a matrix: its rows are lines or, in a single line, end with semicolons. The header is `one-way` or
    /// `round-trip` and the names of the sites; each row is the name of a site and its times to all sites. The
    /// time within a site may be left out. Lines that begin with # are comments.
    pub fn parse(text: &str) -> Result<Latencies, SettingError> {
        // Spreadsheets write a byte order mark.
        let text = text.trim_start_matches('\u{feff}');
        let lines: Vec<&str> =
            if text.contains('\n') { text.lines().collect() } else { text.split(';').collect() };
        let mut rows = (1..)
            .zip(lines)
            .map(|(number, line)| (number, line.trim()))
            .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let Some((number, header)) = rows.next() else {
            return Err(SettingError(format!("there is no header: {EXAMPLE}")));
        };
        let (factor, sites) = read_header(number, header)?;
        let mut times = Vec::with_capacity(sites.len() * sites.len());
        let mut last = number;
        for (number, line) in rows {
            let row = times.len() / sites.len();
            times.extend(read_row(number, line, &sites, row)?.into_iter().map(|time| Some(time? * factor)));
            last = number;
        }
        if let Some(site) = sites.get(times.len() / sites.len()) {
            return Err(SettingError(format!("after line {last} the row of {site} is missing")));
        }
        Ok(Latencies { sites, times })
    }

    /// How many sites there are.
    pub fn count(&self) -> usize {
        self.sites.len()
    }

    /// The transit time from a site to another, or within it; `within` where the matrix leaves that open.
    pub(crate) fn time(&self, from: usize, to: usize, within: f64) -> f64 {
        self.times[from * self.sites.len() + to].unwrap_or(within)
    }

    /// Whether the time within each site is there, so that no other transit time is needed.
    pub(crate) fn is_complete(&self) -> bool {
        self.times.iter().all(Option::is_some)
    }
}

const EXAMPLE: &str = "write one-way,a,b (or round-trip,a,b), then a row for each site: a,1,40 and b,40,1";

fn cells(line: &str) -> Vec<&str> {
    line.split(',').map(|cell| cell.trim().trim_matches('"').trim()).collect()
}

/// The factor for the times, and the names of the sites.
fn read_header(number: u32, line: &str) -> Result<(f64, Vec<String>), SettingError> {
    let cells = cells(line);
    let factor = match cells[0] {
        "one-way" => 1.0,
        "round-trip" => 0.5,
        other => {
            let wanted = "not one-way or round-trip, which says what was measured (ping: round-trip)";
            return Err(SettingError(format!("line {number}, column 1 is '{other}', {wanted}: {EXAMPLE}")));
        }
    };
    let sites: Vec<String> = cells[1..].iter().map(|name| (*name).to_string()).collect();
    if sites.is_empty() {
        return Err(SettingError(format!("line {number} names no sites: {EXAMPLE}")));
    }
    for (index, site) in sites.iter().enumerate() {
        let column = index + 2;
        if site.is_empty() || site.contains([';', '#']) {
            let hint = "a name has no ; or # in it";
            return Err(SettingError(format!("line {number}, column {column}: '{site}' is no name: {hint}")));
        }
        if sites[..index].contains(site) {
            return Err(SettingError(format!("line {number}, column {column}: {site} is named twice")));
        }
    }
    Ok((factor, sites))
}

/// The times from a site to all.
fn read_row(number: u32, line: &str, sites: &[String], row: usize) -> Result<Vec<Option<f64>>, SettingError> {
    let cells = cells(line);
    let Some(site) = sites.get(row) else {
        return Err(SettingError(format!("line {number}: all {} sites have a row already", sites.len())));
    };
    if cells[0] != site {
        let what = "rows come in the order of the header";
        return Err(SettingError(format!("line {number}, column 1 is '{}', not {site}: {what}", cells[0])));
    }
    if cells.len() != sites.len() + 1 {
        let (there, wanted) = (cells.len() - 1, sites.len());
        return Err(SettingError(format!("line {number} has {there} times, the header has {wanted} sites")));
    }
    let time = |(index, cell): (usize, &&str)| match cell.parse::<f64>() {
        Ok(time) if (0.0..=LONGEST).contains(&time) => Ok(Some(time)),
        _ if cell.is_empty() && index == row => Ok(None),
        _ => {
            let (column, to) = (index + 2, &sites[index]);
            let wanted = "a number of at least 0 and at most a million, the time";
            Err(SettingError(format!(
                "line {number}, column {column}: '{cell}' is not {wanted} from {site} to {to}"
            )))
        }
    };
    cells[1..].iter().enumerate().map(time).collect()
}

impl fmt::Display for Latencies {
    /// In the form that `parse` reads, in one line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "one-way,{}", self.sites.join(","))?;
        for (site, row) in self.sites.iter().zip(self.times.chunks(self.sites.len())) {
            write!(f, ";{site}")?;
            for time in row {
                f.write_str(",")?;
                time.map_or(Ok(()), |time| write!(f, "{time}"))?;
            }
        }
        Ok(())
    }
}

impl Sites {
    /// Reads `blocks`, `spread` or how many nodes each site has, such as `10,10,5`.
    pub(crate) fn parse(text: &str) -> Result<Sites, SettingError> {
        match text.trim() {
            "blocks" => return Ok(Sites::Blocks),
            "spread" => return Ok(Sites::Spread),
            _ => {}
        }
        let counts: Result<Vec<u32>, _> = text.split(',').map(|count| count.trim().parse()).collect();
        let usage = "blocks, spread or how many nodes each site has, such as 10,10,5";
        counts.map(Sites::Counts).map_err(|_| SettingError(format!("'{text}' is not {usage}")))
    }

    /// Refuses counts that are not those of these sites and nodes.
    pub(crate) fn validate(&self, sites: usize, nodes: u32) -> Result<(), SettingError> {
        match self {
            Sites::Counts(counts) if counts.len() != sites => {
                let there = counts.len();
                Err(SettingError(format!("sites: {there} numbers for {sites} sites: one is needed for each")))
            }
            Sites::Counts(counts) => {
                let sum: u64 = counts.iter().map(|&count| u64::from(count)).sum();
                if sum == u64::from(nodes) {
                    return Ok(());
                }
                let hint = format!("change them, or take --nodes {sum}");
                Err(SettingError(format!("sites: {self} is {sum} nodes, not {nodes}: {hint}")))
            }
            _ if sites > nodes as usize => {
                let hint = "take more nodes, or say with --sites how many are at each";
                Err(SettingError(format!("latencies: {sites} sites for {nodes} nodes: {hint}")))
            }
            _ => Ok(()),
        }
    }

    /// The site of each node.
    pub(crate) fn of_nodes(&self, sites: usize, nodes: u32) -> Vec<u32> {
        let count = sites as u32;
        match self {
            Sites::Spread => (0..nodes).map(|node| node % count).collect(),
            Sites::Blocks => {
                let size = |site| nodes / count + u32::from(site < nodes % count);
                (0..count).flat_map(|site| (0..size(site)).map(move |_| site)).collect()
            }
            Sites::Counts(counts) => {
                (0..).zip(counts).flat_map(|(site, &size)| (0..size).map(move |_| site)).collect()
            }
        }
    }
}

impl fmt::Display for Sites {
    /// In the form that `parse` reads.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Sites::Blocks => f.write_str("blocks"),
            Sites::Spread => f.write_str("spread"),
            Sites::Counts(counts) => {
                let counts: Vec<String> = counts.iter().map(ToString::to_string).collect();
                f.write_str(&counts.join(","))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_and_its_line_are_the_same_matrix() {
        let file =
            "\u{feff}# measured by ping\r\n\r\nround-trip, \"north\" ,south\r\nnorth,,80\r\nsouth,60,1\r\n";
        let read = Latencies::parse(file).unwrap();
        assert_eq!(read.to_string(), "one-way,north,south;north,,40;south,30,0.5");
        assert_eq!(Latencies::parse(&read.to_string()).unwrap(), read);
        assert_eq!((read.time(0, 0, 7.0), read.time(0, 1, 7.0), read.time(1, 0, 7.0)), (7.0, 40.0, 30.0));
        assert!(!read.is_complete() && Latencies::parse("one-way,a;a,1;").unwrap().is_complete());
    }

    #[test]
    fn errors_name_line_and_column() {
        for (text, wanted) in [
            ("", "there is no header"),
            (",a,b\na,0,1\nb,1,0", "line 1, column 1 is '', not one-way or round-trip"),
            ("one-way", "line 1 names no sites"),
            ("one-way,a,", "line 1, column 3: '' is no name"),
            ("one-way,a,a", "line 1, column 3: a is named twice"),
            ("# comment\none-way,a,b\na,0,fast\n", "line 3, column 3: 'fast' is not a number"),
            ("one-way,a,b;a,0,-1;b,1,0", "line 2, column 3: '-1' is not a number of at least 0"),
            ("one-way,a,b;a,0,;b,1,0", "line 2, column 3: '' is not a number"),
            ("one-way,a,b;a,0,NaN;b,1,0", "from a to b"),
            ("one-way,a,b;b,0,1;a,1,0", "line 2, column 1 is 'b', not a: rows come in the order"),
            ("one-way,a,b;a,0;b,1,0", "line 2 has 1 times, the header has 2 sites"),
            ("one-way,a,b;a,0,1", "after line 2 the row of b is missing"),
            ("one-way,a;a,0;a,0", "line 3: all 1 sites have a row already"),
        ] {
            let refusal = Latencies::parse(text).unwrap_err().to_string();
            assert!(refusal.contains(wanted), "{text}: {refusal}");
        }
    }

    #[test]
    fn nodes_are_at_sites() {
        let of = |text: &str| Sites::parse(text).unwrap().of_nodes(3, 8);
        assert_eq!(of("blocks"), [0, 0, 0, 1, 1, 1, 2, 2]);
        assert_eq!(of("spread"), [0, 1, 2, 0, 1, 2, 0, 1]);
        assert_eq!(of("1,0,7"), [0, 2, 2, 2, 2, 2, 2, 2]);
        for text in ["blocks", "spread", "1,0,7"] {
            assert_eq!(Sites::parse(text).unwrap().to_string(), text);
        }
    }
}
