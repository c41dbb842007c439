//! How much memory a search may take: what the user says, or a share of what the machine and its control groups have.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

/// The share of the available memory that a search takes at most, unless the user says otherwise.
const SHARE: (u64, u64) = (3, 4);

const UNITS: [(&str, u64); 9] = [
    ("TiB", 1 << 40),
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("TB", 1_000_000_000_000),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("kB", 1000),
    ("B", 1),
];

/// Reads a number of bytes, such as `8GiB`.
pub(crate) fn size(text: &str) -> Result<u64> {
    let example = "write a number with its unit, for example 8GiB or 500MiB";
    let unit = UNITS.iter().find_map(|(name, bytes)| Some((text.strip_suffix(name)?, *bytes)));
    let Some((number, unit)) = unit else { bail!("'{text}' has no unit: {example}") };
    match number.trim().parse::<f64>() {
        Ok(number) if number.is_finite() && number * unit as f64 >= 1.0 => Ok((number * unit as f64) as u64),
        Ok(_) => bail!("'{text}' is no memory at all: {example}"),
        Err(_) => bail!("'{number}' is not a number: {example}"),
    }
}

/// A number of bytes for people.
pub(crate) fn in_words(bytes: u64) -> String {
    let (unit, size) =
        UNITS[..4].iter().rev().take_while(|(_, size)| bytes >= *size).last().unwrap_or(&UNITS[8]);
    let number = bytes as f64 / *size as f64;
    if number.fract() == 0.0 { format!("{number} {unit}") } else { format!("{number:.1} {unit}") }
}

/// What a search may take if the user says nothing; `u64::MAX` where the system does not say what there is.
pub(crate) fn usual() -> u64 {
    let meminfo = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let available = [available(&meminfo), of_control_groups(&groups, Path::new("/sys/fs/cgroup"))];
    let (part, of) = SHARE;
    available.into_iter().flatten().min().map_or(u64::MAX, |bytes| bytes / of * part)
}

/// The system is asked for the memory of this process at most this often.
const PAUSE: Duration = Duration::from_millis(10);

/// A bound on the memory of this process.
pub(crate) struct MemoryLimit {
    most: u64,
    began: Instant,
    /// When the system was asked last, in milliseconds since the beginning.
    asked: AtomicU64,
}

impl MemoryLimit {
    pub(crate) fn new(most: u64) -> MemoryLimit {
        MemoryLimit { most, began: Instant::now(), asked: AtomicU64::new(0) }
    }

    /// Whether this process takes all that it may. Where the system does not say what it takes, what the search has
    /// counted counts.
    pub(crate) fn is_used_up(&self, counted: u64) -> bool {
        if counted >= self.most {
            return true;
        }
        let now = self.began.elapsed().as_millis() as u64;
        let before = self.asked.load(Ordering::Relaxed);
        if now < before + PAUSE.as_millis() as u64 {
            return false;
        }
        // Of several threads, one asks.
        let mine = self.asked.compare_exchange(before, now, Ordering::Relaxed, Ordering::Relaxed).is_ok();
        mine && resident().is_some_and(|bytes| bytes >= self.most)
    }
}

/// What this process has of the machine's memory, where Linux says so.
fn resident() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    kibibytes(&status, "VmRSS:")
}

/// What Linux says could be used without swapping.
fn available(meminfo: &str) -> Option<u64> {
    kibibytes(meminfo, "MemAvailable:")
}

/// The number after this name, in bytes.
fn kibibytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kibi: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kibi << 10)
}

/// The smallest limit of the control groups that this process is in, of either version.
fn of_control_groups(groups: &str, root: &Path) -> Option<u64> {
    let limit = |line: &str| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next()?, parts.next()?.trim_start_matches('/'));
        let (root, file) = match controllers {
            "" => (root.to_path_buf(), "memory.max"),
            _ if controllers.split(',').any(|name| name == "memory") => {
                (root.join("memory"), "memory.limit_in_bytes")
            }
            _ => return None,
        };
        let within = root.join(path);
        let folders = within.ancestors().take_while(|folder| folder.starts_with(&root));
        folders
            .filter_map(|folder| fs::read_to_string(folder.join(file)).ok()?.trim().parse::<u64>().ok())
            .min()
    };
    groups.lines().filter_map(limit).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_and_written() {
        assert_eq!(size("8GiB").unwrap(), 8 << 30);
        assert_eq!(size("1.5 MiB").unwrap(), 3 << 19);
        assert_eq!(size("20MB").unwrap(), 20_000_000);
        assert_eq!(in_words(8 << 30), "8 GiB");
        assert_eq!(in_words(3 << 19), "1.5 MiB");
        assert_eq!(in_words(100), "100 B");
        for (text, why) in [
            ("8", "'8' has no unit: write a number with its unit, for example 8GiB"),
            ("manyGiB", "'many' is not a number"),
            ("0GiB", "no memory at all"),
            ("-1GiB", "no memory at all"),
        ] {
            let refusal = size(text).unwrap_err().to_string();
            assert!(refusal.contains(why), "{refusal}");
        }
    }

    #[test]
    fn the_smallest_limit_on_the_way_counts() {
        assert_eq!(available("MemTotal: 9 kB\nMemAvailable:    2048 kB\n"), Some(2 << 20));
        let root = std::env::temp_dir().join(format!("tokenwood-test-groups-{}", std::process::id()));
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::create_dir_all(root.join("memory/c")).unwrap();
        fs::write(root.join("a/memory.max"), "5000\n").unwrap();
        fs::write(root.join("a/b/memory.max"), "max\n").unwrap();
        fs::write(root.join("memory/c/memory.limit_in_bytes"), "7000\n").unwrap();
        assert_eq!(of_control_groups("0::/a/b\n", &root), Some(5000));
        assert_eq!(of_control_groups("5:cpu:/x\n4:memory:/c\n", &root), Some(7000));
        assert_eq!(of_control_groups("1:cpu:/x\n", &root), None);
        fs::remove_dir_all(&root).unwrap();
    }
}
