//! Frames about a session with a key that is not its own: from strangers, and from clients of the same principal.

use security::Holder;
use service::protocol::{ToClient, ToNode};
use service::{SessionHandle, SessionKey};

use super::caller::{Shown, acquire};
use super::watch::{Friends, Stage, count, until};

/// Everything that can be said about a session.
fn frames(session: SessionHandle) -> [ToNode; 5] {
    [
        ToNode::KeepAlive { session, sequence: 1_000, settled: u64::MAX },
        acquire(session, 1_000, "friend/other"),
        ToNode::Cancel { session, request: 1 },
        ToNode::Release { session, request: 1, fence: 0 },
        ToNode::Close { session },
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_frame_about_a_session_with_a_wrong_key_is_refused() {
    let mut stage = Stage::start().await;
    let friends = Friends::begin(&stage).await;
    let friend = || Shown::certificate(stage.certificates.issue(&Holder::Client("friend".to_owned())));
    let (shown, endpoint) = (friend(), stage.for_clients());
    let mut victim = shown.call(&endpoint, security::CLIENTS).await.unwrap();
    let session = victim.open(&shown.greeting()).await;
    victim.tell(&[acquire(session, 1, "friend/mine")]).await.unwrap();
    let granted = victim.answer().await;
    let mut thief = shown.call(&endpoint, security::CLIENTS).await.unwrap();
    let key_of_thief = thief.open(&shown.greeting()).await.key;

    let right = u128::from_str_radix(&session.key.to_text(), 16).unwrap();
    let wrong = [right ^ 1, right ^ (1 << 127), 0].map(|key| SessionKey::new(key.to_be_bytes()));
    let mut stranger = Shown::default().call(&endpoint, security::CLIENTS).await.unwrap();
    stranger.say(&Shown::default().greeting()).await.unwrap();
    stranger.welcome().await.expect("a welcome");
    let before = stage.target().status();
    let mut tried = 0;
    for key in wrong.into_iter().chain([key_of_thief]) {
        for caller in [&mut thief, &mut stranger] {
            let frames = frames(SessionHandle { key, ..session });
            caller.tell(&frames).await.unwrap();
            tried += frames.len() as u64;
            let counted = || stage.target().status().counts.wrong_keys - before.counts.wrong_keys;
            until("counted", async || counted() == tried).await;
        }
    }
    let refusals = stage.refusals().await;
    for principal in ["friend", ""] {
        let of_this = count(&refusals, |entry| {
            entry.principal == principal && entry.why == "the key is not that of the session"
        });
        assert_eq!(of_this, tried / 2, "'{principal}'");
    }
    // The session is there, with its grant and no other, and the right key is all that it takes.
    assert_eq!(stage.target().status().sessions, before.sessions);
    victim.tell(&[ToNode::KeepAlive { session, sequence: 1, settled: 0 }]).await.unwrap();
    let answer = victim.answer().await;
    assert!(matches!(answer, Some(ToClient::Promise { .. })), "{granted:?}, then {answer:?}");
    let listed = stage.operator.inspect("friend/mine").await.unwrap().1;
    assert_eq!(listed.iter().map(|it| it.clients.len()).sum::<usize>(), 1, "{listed:?}");
    friends.end().await;
    stage.cluster.stop().await;
}
