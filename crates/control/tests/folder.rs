//! Data folders: what is refused, and that nothing grows.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use control::folder::FolderError;
use control::{Config, Control, FoundError, StartError, Timing};
use service::Definition;
use service::Time;
use service::registry::{Applied, Entry};

#[path = "../src/test_folder.rs"]
mod test_folder;

use test_folder::TestFolder;

const QUICK: Timing = Timing { heartbeat: Duration::from_millis(50), election: Duration::from_millis(300) };

fn config(folder: &TestFolder, cluster: &str, node: u32) -> Config {
    Config {
        cluster: cluster.to_owned(),
        node,
        folder: folder.0.clone(),
        timing: QUICK,
        lease: None,
        clock: || Time(0),
        encryption: transport::Encryption::Off,
    }
}

/// A cluster of one, with something committed, that was stopped.
async fn used_folder() -> TestFolder {
    let folder = TestFolder::new();
    let control = Control::start(config(&folder, "prod", 1)).await.unwrap();
    control.found(&BTreeMap::from([(1, "127.0.0.1:1".to_owned())])).await.unwrap();
    control.leadership().wait_for(Option::is_some).await.unwrap();
    for number in 0..20 {
        define(&control, &format!("name-{number}"), 3).await;
    }
    control.stop().await;
    folder
}

async fn define(control: &Control, name: &str, slots: u32) {
    let entry = Entry::Define { name: Arc::from(name), definition: Some(Definition::Slots(slots)) };
    assert_eq!(control.propose(entry).await, Ok(Applied::Yes));
}

async fn refused(folder: &TestFolder, cluster: &str, node: u32) -> FolderError {
    let before = contents(&folder.0);
    let error = match Control::start(config(folder, cluster, node)).await {
        Ok(_) => panic!("the folder was taken"),
        Err(StartError::Folder(error)) => error,
        Err(error) => panic!("{error}"),
    };
    assert_eq!(contents(&folder.0), before, "a folder that is refused stays as it is");
    let line = error.to_string();
    assert!(!line.contains('\n') && line.contains(": ") && line.len() < 300, "{line}");
    error
}

fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let files = files.filter(|path| !path.ends_with("lock"));
    files.map(|path| (path.display().to_string(), fs::read(&path).unwrap())).collect()
}

#[tokio::test]
async fn a_folder_of_another_node_is_refused() {
    let folder = used_folder().await;
    assert!(matches!(refused(&folder, "test", 1).await, FolderError::OtherCluster { .. }));
    assert!(matches!(refused(&folder, "prod", 2).await, FolderError::OtherNode { .. }));

    let strangers = TestFolder::new();
    fs::create_dir_all(&strangers.0).unwrap();
    fs::write(strangers.0.join("photo.jpg"), b"not ours").unwrap();
    assert!(matches!(refused(&strangers, "prod", 1).await, FolderError::NotOurs(_)));
}

#[tokio::test]
async fn only_its_user_sees_into_a_folder_that_was_made() {
    let folder = used_folder().await;
    let rights = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(rights(&folder.0), 0o700);
    for file in fs::read_dir(&folder.0).unwrap() {
        let file = file.unwrap().path();
        assert_eq!(rights(&file), 0o600, "{}", file.display());
    }
}

#[tokio::test]
async fn a_folder_of_a_newer_program_is_refused() {
    let folder = used_folder().await;
    let identity = folder.0.join("identity");
    let text = fs::read_to_string(&identity).unwrap();
    fs::write(&identity, text.replace("format 1", "format 2")).unwrap();
    assert!(matches!(refused(&folder, "prod", 1).await, FolderError::NewerFormat { found: 2, .. }));
}

#[tokio::test]
async fn a_folder_in_use_is_refused() {
    let folder = TestFolder::new();
    let control = Control::start(config(&folder, "prod", 1)).await.unwrap();
    let again = Control::start(config(&folder, "prod", 1)).await;
    assert!(matches!(again, Err(StartError::Folder(FolderError::InUse(_)))));
    control.stop().await;
    Control::start(config(&folder, "prod", 1)).await.unwrap().stop().await;
}

#[tokio::test]
async fn a_damaged_identity_is_refused() {
    let folder = used_folder().await;
    let identity = folder.0.join("identity");
    let text = fs::read(&identity).unwrap();
    for place in 0..text.len() {
        let mut damaged = text.clone();
        damaged[place] ^= 1;
        fs::write(&identity, &damaged).unwrap();
        refused(&folder, "prod", 1).await;
        fs::write(&identity, &text[..place]).unwrap();
        refused(&folder, "prod", 1).await;
    }
    fs::remove_file(&identity).unwrap();
    assert!(matches!(refused(&folder, "prod", 1).await, FolderError::NotOurs(_)));
    fs::write(&identity, &text).unwrap();
    Control::start(config(&folder, "prod", 1)).await.unwrap().stop().await;
}

#[tokio::test]
async fn a_damaged_database_is_refused_or_unharmed() {
    let folder = used_folder().await;
    let database = folder.0.join("control.redb");
    let expected = registry_of(&folder).await;
    let bytes = fs::read(&database).unwrap();
    let mut refusals = 0;
    for place in (0..bytes.len()).step_by(bytes.len() / 100) {
        let end = (place + 16).min(bytes.len());
        let mut damaged = bytes.clone();
        damaged[place..end].iter_mut().for_each(|byte| *byte ^= 0x55);
        fs::write(&database, &damaged).unwrap();
        match Control::start(config(&folder, "prod", 1)).await {
            Ok(control) => {
                control.leadership().wait_for(Option::is_some).await.unwrap();
                let definitions = control.registry().borrow().definitions.clone();
                assert_eq!(definitions, expected, "bytes {place} to {end}");
                control.stop().await;
            }
            Err(StartError::Folder(FolderError::Damaged { .. })) => {
                assert_eq!(fs::read(&database).unwrap(), damaged, "a damaged file stays as it is");
                refusals += 1;
            }
            Err(error) => panic!("{error}"),
        }
    }
    assert!(refusals > 0);
    for damaged in [&b"no database at all"[..], &[], &bytes[..bytes.len() / 2], &bytes[..4096]] {
        fs::write(&database, damaged).unwrap();
        assert!(
            matches!(refused(&folder, "prod", 1).await, FolderError::Damaged { .. }),
            "{}",
            damaged.len()
        );
    }
    fs::remove_file(&database).unwrap();
    assert!(matches!(refused(&folder, "prod", 1).await, FolderError::Damaged { .. }));
    // The database of another folder, although of the same cluster and node.
    let other = used_folder().await;
    fs::copy(other.0.join("control.redb"), &database).unwrap();
    assert!(matches!(refused(&folder, "prod", 1).await, FolderError::Damaged { .. }));
}

async fn registry_of(folder: &TestFolder) -> BTreeMap<Arc<str>, Definition> {
    let control = Control::start(config(folder, "prod", 1)).await.unwrap();
    control.leadership().wait_for(Option::is_some).await.unwrap();
    let definitions = control.registry().borrow().definitions.clone();
    control.stop().await;
    definitions
}

#[tokio::test(flavor = "multi_thread")]
async fn thousands_of_entries_leave_a_small_file_and_a_quick_start() {
    let folder = TestFolder::new();
    let control = Control::start(config(&folder, "prod", 1)).await.unwrap();
    control.found(&BTreeMap::from([(1, "127.0.0.1:1".to_owned())])).await.unwrap();
    control.leadership().wait_for(Option::is_some).await.unwrap();
    let begun = Instant::now();
    for number in 0..5000 {
        define(&control, &format!("name-{}", number % 20), 1 + number).await;
    }
    println!("5000 entries in {:?}", begun.elapsed());
    control.stop().await;
    let size = fs::metadata(folder.0.join("control.redb")).unwrap().len();
    println!("{size} bytes");
    assert!(size < 4 << 20, "{size} bytes");
    let begun = Instant::now();
    let definitions = registry_of(&folder).await;
    println!("started after {:?}", begun.elapsed());
    assert!(begun.elapsed() < Duration::from_secs(5));
    assert_eq!(definitions.get("name-19"), Some(&Definition::Slots(5000)));
    assert_eq!(definitions.len(), 20);
}

#[tokio::test]
async fn a_cluster_is_founded_once_and_by_a_number_of_voters_that_can_decide() {
    let folder = TestFolder::new();
    let control = Control::start(config(&folder, "prod", 1)).await.unwrap();
    let voters = |ids: &[u32]| ids.iter().map(|id| (*id, "127.0.0.1:1".to_owned())).collect();
    assert_eq!(control.found(&voters(&[])).await, Err(FoundError::Voters(0)));
    assert_eq!(control.found(&voters(&[1, 2])).await, Err(FoundError::Voters(2)));
    assert_eq!(control.found(&voters(&[2])).await, Err(FoundError::NotAmong));
    assert_eq!(control.found(&voters(&[1])).await, Ok(()));
    assert_eq!(control.found(&voters(&[1])).await, Err(FoundError::Already));
    control.stop().await;
    let control = Control::start(config(&folder, "prod", 1)).await.unwrap();
    assert_eq!(control.found(&voters(&[1])).await, Err(FoundError::Already));
    control.stop().await;
}
