//! Files for one user alone: written whole or not at all, and never over another by accident.

use std::fs::{self, DirBuilder, File};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use crate::error::SecurityError;

const FILE_MODE: u32 = 0o600;
const FOLDER_MODE: u32 = 0o700;

/// Makes the folder, for this user alone. One that is there stays as it is.
pub fn make_folder(folder: &Path) -> Result<(), SecurityError> {
    let made = DirBuilder::new().recursive(true).mode(FOLDER_MODE).create(folder);
    made.map_err(|error| SecurityError::Write(folder.to_owned(), error))
}

/// Writes a file that must not be there yet.
pub fn create(file: &Path, bytes: &[u8]) -> Result<(), SecurityError> {
    place(file, bytes, |new| {
        // A link, unlike a rename, fails if the name is taken, also if it was taken a moment ago.
        fs::hard_link(new, file)?;
        fs::remove_file(new)
    })
}

/// Puts new contents in the place of the old: a reader finds the one or the other, whole.
pub fn replace(file: &Path, bytes: &[u8]) -> Result<(), SecurityError> {
    place(file, bytes, |new| fs::rename(new, file))
}

fn place(file: &Path, bytes: &[u8], put: impl FnOnce(&Path) -> io::Result<()>) -> Result<(), SecurityError> {
    let new = beside(file);
    let placed = write(&new, bytes).and_then(|()| put(&new)).and_then(|()| flush_folder(file));
    placed.map_err(|error| {
        // A key must not stay behind in a file without a known name. It may be gone already.
        _ = fs::remove_file(&new);
        match error.kind() {
            ErrorKind::AlreadyExists => SecurityError::Exists(file.to_owned()),
            _ => SecurityError::Write(file.to_owned(), error),
        }
    })
}

/// A name in the same folder that no other writer uses.
fn beside(file: &Path) -> PathBuf {
    static WRITTEN: AtomicU64 = AtomicU64::new(0);
    let mut name = file.as_os_str().to_owned();
    name.push(format!(".new-{}-{}", process::id(), WRITTEN.fetch_add(1, Ordering::Relaxed)));
    name.into()
}

fn write(new: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut writing = File::options().write(true).create_new(true).mode(FILE_MODE).open(new)?;
    writing.write_all(bytes)?;
    writing.sync_all()
}

/// Without it, a crash could undo the new name.
fn flush_folder(file: &Path) -> io::Result<()> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

/// Refuses a key that other users can read or write.
pub fn check_key(file: &Path) -> Result<(), SecurityError> {
    let found = fs::metadata(file).map_err(|error| SecurityError::Read(file.to_owned(), error))?;
    let mode = found.permissions().mode() & 0o7777;
    if mode & 0o077 == 0 { Ok(()) } else { Err(SecurityError::KeyNotPrivate(file.to_owned(), mode)) }
}

/// What tells, without reading a file, that it has been written or replaced. A file that is not there has one too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp(Option<(u64, u64, u64, Option<SystemTime>)>);

impl Stamp {
    /// The stamp of the file as it is now.
    pub fn of(file: &Path) -> Stamp {
        let found = fs::metadata(file).ok();
        Stamp(found.map(|found| (found.dev(), found.ino(), found.len(), found.modified().ok())))
    }
}

#[cfg(test)]
mod tests;
