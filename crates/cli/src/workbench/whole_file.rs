//! Files that are written whole or not at all, whatever happens meanwhile.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Writes a file. What was there stays until all of it is written, and if it cannot be written, nothing else is left.
pub(crate) fn write(file: &Path, content: &[u8]) -> io::Result<()> {
    if is_device(file) {
        return fs::write(file, content);
    }
    set_aside(file, content)?;
    put_in_place(file)
}

/// Writes what a file will have to another one beside it, or leaves nothing there.
pub(crate) fn set_aside(file: &Path, content: &[u8]) -> io::Result<()> {
    fs::write(beside(file), content).inspect_err(|_| forget(file))
}

/// Puts what was set aside in place.
pub(crate) fn put_in_place(file: &Path) -> io::Result<()> {
    fs::rename(beside(file), file).inspect_err(|_| forget(file))
}

/// Removes what was set aside. That it cannot be removed says no more than that it could not be written.
pub(crate) fn forget(file: &Path) {
    _ = fs::remove_file(beside(file));
}

/// Refuses a file that cannot be written, before anything is computed for it.
pub(crate) fn refuse_unwritable(file: &Path) -> Result<()> {
    if is_device(file) {
        return Ok(());
    }
    let unfinished = beside(file);
    File::create(&unfinished)
        .and_then(|_| fs::remove_file(&unfinished))
        .with_context(|| format!("cannot write '{}'", file.display()))
}

/// Nothing can be renamed to such as /dev/stdout.
fn is_device(file: &Path) -> bool {
    file.metadata().is_ok_and(|found| !found.is_file() && !found.is_dir())
}

/// Where it is until it is whole.
pub(crate) fn beside(file: &Path) -> PathBuf {
    let mut name = file.to_path_buf().into_os_string();
    name.push(".part");
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_cannot_be_put_in_place_leaves_nothing() {
        let folder = std::env::temp_dir().join(format!("tokenwood-whole-{}", std::process::id()));
        let place = folder.join("taken");
        fs::create_dir_all(place.join("inner")).unwrap();
        assert!(write(&place, b"text").is_err());
        write(&folder.join("file"), b"text").unwrap();
        refuse_unwritable(&folder.join("file")).unwrap();
        let mut left: Vec<_> =
            fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["file", "taken"]);
        assert_eq!(fs::read(folder.join("file")).unwrap(), b"text");
        write(Path::new("/dev/null"), b"text").unwrap();
        fs::remove_dir_all(&folder).unwrap();
    }
}
