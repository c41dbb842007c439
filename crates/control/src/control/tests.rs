//! What can only be tested from the inside.

use super::*;
use crate::config::Timing;
use crate::test_folder::TestFolder;

#[tokio::test]
async fn founding_that_was_interrupted_is_completed() {
    let folder = TestFolder::new();
    let timing = Timing::default();
    let config = Config {
        cluster: "test".to_owned(),
        node: 1,
        folder: folder.0.clone(),
        timing,
        lease: None,
        clock: || Time(0),
        encryption: transport::Encryption::Off,
    };
    let control = Control::start(config.clone()).await.unwrap();
    // The first entry is on disk, the number of the cluster is not.
    control.shared.raft.initialize(BTreeMap::from([(1, BasicNode::new("127.0.0.1:1"))])).await.unwrap();
    control.stop().await;

    let control = Control::start(config.clone()).await.unwrap();
    let drawn = *control.shared.local.cluster_id.lock().await;
    assert!(drawn.is_some());
    let again = control.found(&BTreeMap::from([(1, "127.0.0.1:1".to_owned())])).await;
    assert_eq!(again, Err(FoundError::Already));
    control.leadership().wait_for(Option::is_some).await.unwrap();
    control.stop().await;

    let control = Control::start(config).await.unwrap();
    assert_eq!(*control.shared.local.cluster_id.lock().await, drawn);
    control.stop().await;
}
