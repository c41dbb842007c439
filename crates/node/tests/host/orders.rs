//! What operators order, over real sockets.

use std::time::Duration;

use node::LocalCluster;
use tokenwood::{Admin, Definition, Error, Filter, GrantAgain, Refusal, Seen, Tokenwood};

/// Long enough for whatever has to happen, however busy the machine is.
const SOON: Duration = Duration::from_secs(10);

async fn fence_of(admin: &mut Admin, name: &str) -> (u32, u64) {
    let (_, listings) = admin.inspect(name).await.expect("it is told");
    let granted = listings.iter().flat_map(|listing| &listing.clients).find_map(|client| client.granted);
    granted.map(|grant| (grant.slot, grant.fence)).expect("a client holds it")
}

#[tokio::test]
async fn what_is_taken_away_is_lost_and_nothing_else() {
    let cluster = LocalCluster::start(3).await.unwrap();
    let far = Tokenwood::connect([cluster.endpoints[0].clone()]).await.unwrap();
    let near = cluster.hosts[0].embedded();
    let mut admin = Admin::connect(&cluster.endpoints[0]).await.unwrap();
    let mut watching = Admin::connect(&cluster.endpoints[0]).await.unwrap();
    watching.watch(Filter { names: vec!["x".to_string()], prefixes: Vec::new() }).await.unwrap();
    for tokenwood in [far, near] {
        let (taken, kept) =
            (tokenwood.mutex("x").acquire().await.unwrap(), tokenwood.mutex("y").acquire().await.unwrap());
        let (slot, fence) = fence_of(&mut admin, "x").await;
        assert_eq!(fence, taken.fence());
        let (_, listings) = admin.inspect("x").await.unwrap();
        let label =
            listings[0].clients[0].label.as_ref().expect("clients in this process say who they are, too");
        assert_eq!(label.process, std::process::id());
        let wrong = admin.force_release("x", slot, fence + 1, GrantAgain::WhenSafe).await;
        assert_eq!(wrong, Err(Error::Refused(Refusal::NobodyHolds)));
        let other = Tokenwood::connect([cluster.endpoints[1].clone()]).await.unwrap();
        let next = tokio::spawn(async move { other.mutex("x").acquire().await });
        let released = admin.force_release("x", slot, fence, GrantAgain::WhenSafe).await.unwrap();
        assert_eq!(released[0].grant.fence, fence);
        tokio::time::timeout(SOON, taken.lost()).await.expect("the holder hears of it");
        assert!(taken.is_lost() && !kept.is_lost());
        // It releases, and the next client is granted the slot at once, long before the promise would have
        // run out.
        drop(taken);
        let next = tokio::time::timeout(SOON / 2, next).await.expect("the next is granted").unwrap().unwrap();
        assert!(next.fence() > fence);
        loop {
            let seen = tokio::time::timeout(SOON, watching.next()).await.expect("it is told").unwrap();
            if let Seen::Event(tokenwood::Event::ForceReleased(seen)) = seen {
                assert_eq!(seen, released[0]);
                break;
            }
        }
    }
    cluster.stop().await;
}

#[tokio::test]
async fn a_holder_is_not_waited_for_if_the_operator_says_so() {
    let cluster = LocalCluster::start(1).await.unwrap();
    let tokenwood = Tokenwood::connect(cluster.endpoints.clone()).await.unwrap();
    let mut admin = Admin::connect(&cluster.endpoints[0]).await.unwrap();
    let (_first, other) = (
        tokenwood.mutex("x").acquire().await.unwrap(),
        Tokenwood::connect(cluster.endpoints.clone()).await.unwrap(),
    );
    let (slot, fence) = fence_of(&mut admin, "x").await;
    admin.force_release("x", slot, fence, GrantAgain::AtOnce).await.unwrap();
    let next = tokio::time::timeout(SOON, other.mutex("x").acquire()).await.unwrap().unwrap();
    assert!(next.fence() > fence);
    cluster.stop().await;
}

#[tokio::test]
async fn definitions_are_agreed_on_and_change_while_names_are_in_use() {
    let cluster = LocalCluster::start(3).await.unwrap();
    let mut admin = Admin::connect(&cluster.endpoints[0]).await.unwrap();
    let refused = admin.define("gpu", Definition::Slots(0)).await;
    assert_eq!(refused, Err(Error::Refused(Refusal::Slots(0))));
    assert_eq!(admin.resize("gpu", 3).await, Err(Error::Refused(Refusal::NotDefined)));
    // Without a definition it is a mutex.
    let tokenwood = Tokenwood::connect([cluster.endpoints[0].clone()]).await.unwrap();
    let first = tokenwood.as_defined("gpu").acquire().await.unwrap();
    assert!(tokenwood.as_defined("gpu").try_acquire().await.is_err_and(|error| error.is_taken()));
    admin.define("gpu", Definition::Slots(1)).await.unwrap();
    let waits = tokio::spawn({
        let tokenwood = tokenwood.clone();
        async move { tokenwood.as_defined("gpu").acquire().await }
    });
    admin.resize("gpu", 2).await.unwrap();
    let second = tokio::time::timeout(SOON, waits).await.expect("there is a second slot").unwrap().unwrap();
    assert_ne!(first.slot(), second.slot());
    let (defined, asked) = (Definition::Slots(2), Definition::Room);
    let refused = admin.define("gpu", Definition::Room).await;
    assert_eq!(refused, Err(Error::Refused(Refusal::DefinedAs { defined, asked })));
    cluster.stop().await;
}
