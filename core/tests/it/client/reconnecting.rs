//! Lost connections and reconnects.

use super::*;
use trunkline::{
    RevisionChoice,
    client::{ErrorKind, RequestOptions},
    protocol::model::FailureReason,
};

const REVISIONS: [Revision; 2] = [Revision::V2025_06_18, Revision::V2026_07_28];

/// A server that opens at once, describes itself once, answers lists, and dies of pings.
fn fragile() -> Arc<Fake> {
    let mut is_described = false;
    Fake::process(move |peer, message| match message["method"].as_str() {
        Some("server/discover") if !std::mem::replace(&mut is_described, true) => {
            peer.discovered(message, &["2026-07-28"]);
        }
        Some("initialize") => peer.accept(message, message["params"]["protocolVersion"].as_str().unwrap()),
        Some("tools/list") => {
            peer.result(message, json!({"resultType": "complete", "tools": [], "ttlMs": 0, "cacheScope": "private"}));
        }
        Some("ping" | "server/discover") => {
            peer.exit();
            peer.exit();
        }
        _ => {}
    })
}

async fn open(fake: &Arc<Fake>, revision: Revision, heard: &Heard) -> Client {
    let options = ClientOptions::default().with_revision(RevisionChoice::Pinned(revision));
    fake.open_with(options, heard.clone()).await.unwrap().unwrap()
}

fn list(client: &Client) -> JoinHandle<Result<RawJson, ClientError>> {
    let client = client.clone();
    tokio::spawn(async move { client.request("tools/list", None, &RequestOptions::default()).await })
}

#[tokio::test]
async fn calls_in_flight_fail_once_and_the_next_ones_share_one_new_connection() {
    for revision in REVISIONS {
        let (fake, heard) = (fragile(), Heard::default());
        let client = open(&fake, revision, &heard).await;
        let error = client.ping().await.unwrap_err();
        assert_eq!(error.connection().unwrap().reason, Some(FailureReason::Exited));
        let calls: Vec<_> = (0..5).map(|_| list(&client)).collect();
        for call in calls {
            call.await.unwrap().unwrap();
        }
        let seen: Vec<_> =
            fake.seen().into_iter().filter(|(connection, _)| *connection == 2).map(|(_, it)| it).collect();
        let handshake = if revision.as_str() < "2026" { 2 } else { 0 };
        assert_eq!(seen[..handshake], ["initialize", "notifications/initialized"][..handshake]);
        assert_eq!(seen[handshake..], ["tools/list"; 5], "{revision}: what failed is not sent again");
        assert_eq!(fake.connections.load(Ordering::Relaxed), 2);
        assert_eq!(heard.all(), ["reconnected"]);
        client.close().await;
        assert_eq!(heard.all(), ["reconnected", "closed: "]);
    }
}

#[tokio::test]
async fn a_server_that_does_not_last_is_given_pauses() {
    let (fake, heard) = (fragile(), Heard::default());
    let client = open(&fake, Revision::V2025_06_18, &heard).await;
    for _ in 0..2 {
        client.ping().await.unwrap_err();
    }
    let started = |number| fake.connections.load(Ordering::Relaxed) == number;
    assert!(started(2), "the first is made at once");
    let call = list(&client);
    settle().await;
    assert!(started(2) && !call.is_finished());
    fake.clock.advance(ms(49)).await;
    assert!(started(2), "half of 100 ms at least");
    fake.clock.advance(ms(51)).await;
    assert!(started(3));
    call.await.unwrap().unwrap();
    // One that has lasted is followed at once.
    fake.clock.advance(ms(10_000)).await;
    client.ping().await.unwrap_err();
    list(&client).await.unwrap().unwrap();
    assert!(started(4));
}

#[tokio::test]
async fn calls_that_wait_for_a_connection_end_with_its_failure_their_time_or_the_client() {
    let silent = |peer: &Peer, message: &Value| {
        if message["method"] == "initialize" && peer.number == 1 {
            peer.accept(message, "2025-06-18");
        }
    };
    let fake = Fake::process(silent);
    let client = open(&fake, Revision::V2025_06_18, &Heard::default()).await;
    fake.peer().exit();
    let impatient = {
        let client = client.clone();
        let options = RequestOptions::default().with_timeout(ms(1_000));
        tokio::spawn(async move { client.request("tools/list", None, &options).await })
    };
    let (given_up, patient) = (list(&client), list(&client));
    settle().await;
    given_up.abort();
    fake.clock.advance(ms(1_000)).await;
    assert_eq!(impatient.await.unwrap().unwrap_err().kind(), ErrorKind::Timeout);
    assert_eq!(fake.last()["method"], "initialize", "nothing is sent before the handshake, no cancellation either");
    fake.clock.advance(ms(29_000)).await;
    let error = patient.await.unwrap().unwrap_err();
    assert!(error.kind() == ErrorKind::Timeout && error.to_string().contains("the connect timeout"), "{error}");

    // The next attempt fails at once, with the reason.
    let calls = [list(&client), list(&client)];
    fake.clock.advance(ms(20_000)).await;
    fake.peer().exit();
    for call in calls {
        assert_eq!(call.await.unwrap().unwrap_err().connection().unwrap().reason, Some(FailureReason::Exited));
    }
    let call = list(&client);
    settle().await;
    client.close().await;
    assert_eq!(call.await.unwrap().unwrap_err(), ClientError::Closed);
}

/// As over HTTP+SSE, where the request that opens the session may need a login.
#[tokio::test]
async fn a_login_does_not_count_towards_the_time_to_reconnect() {
    let fake = Fake::process(|peer, message| match message["method"].as_str() {
        Some("initialize") if peer.number == 1 => peer.accept(message, "2025-06-18"),
        Some("tools/list") => peer.result(message, json!({"tools": []})),
        _ => {}
    });
    let client = open(&fake, Revision::V2025_06_18, &Heard::default()).await;
    fake.peer().exit();
    let call = list(&client);
    settle().await;
    let (peer, initialize) = (fake.peer(), fake.last());
    let id = RequestId::from_json(&initialize["id"].to_string()).unwrap();
    peer.inbox.pause(&id);
    fake.clock.advance(ms(45_000)).await;
    peer.inbox.resume(&id);
    peer.accept(&initialize, "2025-06-18");
    call.await.unwrap().unwrap();
    // The next attempt does not get that time.
    peer.exit();
    let call = list(&client);
    fake.clock.advance(ms(100)).await;
    fake.clock.advance(ms(30_000)).await;
    assert!(call.is_finished());
    assert_eq!(call.await.unwrap().unwrap_err().kind(), ErrorKind::Timeout);
}

#[tokio::test]
async fn a_server_of_another_revision_is_a_distinct_error() {
    let fake = Fake::process(|peer, message| {
        if message["method"] == "initialize" {
            peer.accept(message, if peer.number == 1 { "2025-06-18" } else { "2025-03-26" });
        }
    });
    let client = open(&fake, Revision::V2025_06_18, &Heard::default()).await;
    fake.peer().exit();
    let error = list(&client).await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Version);
    assert!(error.to_string().contains("2025-03-26"), "{error}");
}
