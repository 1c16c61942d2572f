//! Pings that keep a session alive.

use super::*;
use trunkline::RevisionChoice;

/// A server that answers pings, and exits at a list.
fn server() -> Arc<Fake> {
    Fake::process(move |peer, message| match message["method"].as_str() {
        Some("server/discover") => peer.discovered(message, &["2026-07-28"]),
        Some("initialize") => peer.accept(message, message["params"]["protocolVersion"].as_str().unwrap()),
        Some("ping") => peer.result(message, json!({})),
        Some("tools/list") => peer.exit(),
        _ => {}
    })
}

/// How often a connection was pinged.
fn pings(fake: &Fake, connection: usize) -> usize {
    fake.seen().iter().filter(|(at, method)| *at == connection && method == "ping").count()
}

async fn pass(fake: &Fake, seconds: u64) {
    for _ in 0..seconds {
        fake.clock.advance(ms(1_000)).await;
        settle().await;
    }
}

#[tokio::test]
async fn a_server_of_the_legacy_era_is_pinged_while_the_connection_lasts() {
    for (revision, each) in [(Revision::V2025_06_18, 3), (Revision::V2026_07_28, 0)] {
        let fake = server();
        let options = ClientOptions::default().with_revision(RevisionChoice::Pinned(revision));
        let client = fake.connect(options.with_ping_interval(ms(1_000))).await;
        pass(&fake, 3).await;
        assert_eq!(pings(&fake, 1), each, "{revision}");
        client.list_tools().await.unwrap_err();
        pass(&fake, 3).await;
        assert_eq!(fake.connections.load(Ordering::Relaxed), 1, "{revision}: a ping does not reconnect");
        client.notify("com.example/note", None).unwrap();
        settle().await;
        pass(&fake, 3).await;
        assert_eq!((pings(&fake, 1), pings(&fake, 2)), (each, each), "{revision}");
        client.close().await;
        pass(&fake, 3).await;
        assert_eq!(pings(&fake, 2), each, "{revision}");
    }
}
