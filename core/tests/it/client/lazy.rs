//! Connections that the first request opens.

use super::*;
use trunkline::{
    RevisionChoice,
    client::{ErrorKind, RequestOptions},
};

const CHOICES: [RevisionChoice; 3] =
    [RevisionChoice::Auto, RevisionChoice::Legacy, RevisionChoice::Pinned(Revision::V2026_07_28)];

/// A server of both eras, which exits at the first messages of its first connections.
fn late(refused: usize) -> Arc<Fake> {
    Fake::process(move |peer, message| match message["method"].as_str() {
        _ if peer.number <= refused => peer.exit(),
        Some("server/discover") => peer.discovered(message, &["2026-07-28"]),
        Some("initialize") => peer.accept(message, message["params"]["protocolVersion"].as_str().unwrap()),
        Some("tools/list") => {
            peer.result(message, json!({"resultType": "complete", "tools": [], "ttlMs": 0, "cacheScope": "private"}));
        }
        Some("subscriptions/listen") => {
            peer.error(message, -32601, Value::Null);
        }
        _ => {}
    })
}

async fn open(fake: &Arc<Fake>, choice: RevisionChoice) -> Client {
    fake.connect(ClientOptions::default().with_revision(choice).with_lazy(true)).await
}

fn list(client: &Client) -> JoinHandle<Result<RawJson, ClientError>> {
    let client = client.clone();
    tokio::spawn(async move { client.request("tools/list", None, &RequestOptions::default()).await })
}

#[tokio::test]
async fn the_first_requests_share_one_opening() {
    for choice in CHOICES {
        let fake = late(0);
        let client = open(&fake, choice).await;
        settle().await;
        assert!(client.is_connected() && client.server_info().is_none() && fake.seen().is_empty());
        client.notify("com.example/note", None).unwrap();
        for call in [list(&client), list(&client), list(&client)] {
            call.await.unwrap().unwrap();
        }
        settle().await;
        let seen: Vec<_> = fake.seen().into_iter().map(|(_, method)| method).collect();
        let count = |method: &str| seen.iter().filter(|seen| *seen == method).count();
        assert_eq!(fake.connections.load(Ordering::Relaxed), 1, "{seen:?}");
        assert_eq!((count("tools/list"), count("com.example/note")), (3, 1), "{seen:?}");
        assert!(count("initialize") + count("server/discover") == 1, "{seen:?}");
        client.close().await;
        assert_eq!(list(&client).await.unwrap().unwrap_err().kind(), ErrorKind::Closed);
    }
}

#[tokio::test]
async fn a_request_that_cannot_open_the_connection_fails_and_the_next_one_tries_again() {
    // A pinned modern revision needs no probe, so that opening the connection cannot fail.
    for choice in [RevisionChoice::Auto, RevisionChoice::Legacy] {
        // Negotiating restarts a process that exits on a probe.
        let per_attempt = if choice == RevisionChoice::Auto { 2 } else { 1 };
        let fake = late(2 * per_attempt);
        let client = open(&fake, choice).await;
        let error = list(&client).await.unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Transport, "{error}");
        assert!(client.is_connected());
        // The second attempt follows at once.
        list(&client).await.unwrap().unwrap_err();
        let call = list(&client);
        settle().await;
        assert!(!call.is_finished(), "the third one follows after a pause");
        fake.clock.advance(ms(100)).await;
        call.await.unwrap().unwrap();
        assert_eq!(fake.connections.load(Ordering::Relaxed), 2 * per_attempt + 1);
    }
}

#[tokio::test]
async fn a_request_that_waits_for_the_connection_can_be_cancelled() {
    let fake = Fake::process(|_, _| {});
    let client = open(&fake, RevisionChoice::Legacy).await;
    let call = list(&client);
    settle().await;
    assert_eq!(fake.seen().len(), 1);
    call.abort();
    assert!(call.await.unwrap_err().is_cancelled());
    // Nobody waits, but the opening has its time.
    let other = list(&client);
    fake.clock.advance(Duration::from_secs(30)).await;
    let error = other.await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
    let seen: Vec<_> = fake.seen().into_iter().map(|(_, method)| method).collect();
    assert!(!seen.contains(&"tools/list".to_owned()), "{seen:?}");
}

#[tokio::test]
async fn closing_ends_what_waits_for_the_connection() {
    let fake = Fake::process(|_, _| {});
    let client = open(&fake, RevisionChoice::Auto).await;
    let call = list(&client);
    settle().await;
    client.close().await;
    assert_eq!(call.await.unwrap().unwrap_err().kind(), ErrorKind::Closed);
}

#[tokio::test]
async fn a_lost_connection_is_opened_again_as_with_any_client() {
    let fake = late(0);
    let client = open(&fake, RevisionChoice::Legacy).await;
    list(&client).await.unwrap().unwrap();
    fake.peer().exit();
    list(&client).await.unwrap().unwrap();
    assert_eq!(fake.connections.load(Ordering::Relaxed), 2);
}

#[tokio::test]
async fn a_group_is_not_opened_by_its_first_request() {
    let options = ClientOptions::default().with_lazy(true);
    let error =
        trunkline::ClientGroup::connect_with([("a", "http://localhost:9/mcp")], options, ()).await.err().unwrap();
    assert!(error.to_string().contains("lazy: a group connects"), "{error}");
}
