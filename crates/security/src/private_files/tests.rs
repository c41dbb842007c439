//! Modes, refusals and what stays behind, in a folder of each test's own.

use std::env;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::Barrier;
use std::thread;

use super::{Stamp, check_key, create, make_folder, replace};
use crate::error::SecurityError;

/// A folder that is removed with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Folder {
        let folder = env::temp_dir().join(format!("tokenwood-security-{test}-{}", process::id()));
        make_folder(&folder).unwrap();
        Folder(folder)
    }

    fn names(&self) -> Vec<String> {
        let name = |entry: std::io::Result<fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
        fs::read_dir(&self.0).unwrap().map(name).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        _ = fs::remove_dir_all(&self.0);
    }
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

#[test]
fn files_and_folders_are_for_one_user_alone() {
    let folder = Folder::new("modes");
    let key = folder.0.join("node-3.key");
    create(&key, b"key").unwrap();
    assert_eq!((mode(&folder.0), mode(&key)), (0o700, 0o600));
    replace(&key, b"other key").unwrap();
    assert_eq!((fs::read(&key).unwrap(), mode(&key)), (b"other key".to_vec(), 0o600));
}

#[test]
fn create_never_overwrites_and_leaves_nothing_behind() {
    let folder = Folder::new("exists");
    let key = folder.0.join("ca.key");
    create(&key, b"first").unwrap();
    let refused = create(&key, b"second").unwrap_err();
    assert!(matches!(&refused, SecurityError::Exists(file) if *file == key), "{refused}");
    assert!(refused.to_string().contains("ca.key is there already"), "{refused}");
    assert_eq!(fs::read(&key).unwrap(), b"first");
    assert_eq!(folder.names(), ["ca.key"]);
}

#[test]
fn one_of_many_writers_creates_a_file() {
    let folder = Folder::new("race");
    let key = folder.0.join("ca.key");
    let together = Barrier::new(8);
    let created = thread::scope(|scope| {
        let write = |writer: u8| {
            let (key, together) = (&key, &together);
            scope.spawn(move || {
                together.wait();
                create(key, &[writer; 1000]).is_ok().then_some(writer)
            })
        };
        let writers: Vec<_> = (0..8).map(write).collect();
        writers.into_iter().filter_map(|writer| writer.join().unwrap()).collect::<Vec<_>>()
    });
    assert_eq!(created.len(), 1, "{created:?}");
    assert_eq!(fs::read(&key).unwrap(), [created[0]; 1000], "the file is the winner's, whole");
    assert_eq!(folder.names(), ["ca.key"]);
}

#[test]
fn a_folder_that_is_missing_is_named() {
    let folder = Folder::new("missing");
    let key = folder.0.join("none").join("ca.key");
    let refused = create(&key, b"key").unwrap_err();
    assert!(matches!(&refused, SecurityError::Write(file, _) if *file == key), "{refused}");
}

#[test]
fn a_key_that_others_can_reach_is_refused() {
    let folder = Folder::new("private");
    let key = folder.0.join("node-3.key");
    create(&key, b"key").unwrap();
    check_key(&key).unwrap();
    for reachable in [0o640, 0o604, 0o620, 0o601] {
        fs::set_permissions(&key, Permissions::from_mode(reachable)).unwrap();
        let refused = check_key(&key).unwrap_err().to_string();
        assert!(refused.contains(&format!("chmod 600 {}", key.display())), "{refused}");
    }
    fs::set_permissions(&key, Permissions::from_mode(0o400)).unwrap();
    check_key(&key).unwrap();
    let missing = check_key(&folder.0.join("none")).unwrap_err();
    assert!(matches!(missing, SecurityError::Read(..)), "{missing}");
}

#[test]
fn a_stamp_changes_with_its_file() {
    let folder = Folder::new("stamp");
    let file = folder.0.join("ca.pem");
    let missing = Stamp::of(&file);
    create(&file, b"one").unwrap();
    let first = Stamp::of(&file);
    assert_ne!(missing, first);
    assert_eq!(first, Stamp::of(&file));
    // The same length, and perhaps the same tick of the file system's clock: the new file is another one.
    replace(&file, b"two").unwrap();
    assert_ne!(first, Stamp::of(&file));
}
