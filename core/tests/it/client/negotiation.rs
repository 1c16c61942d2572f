//! The client's search for a revision (docs/versions.md, 2.3), with each kind of server.

use super::*;
use trunkline::{RevisionChoice, client::ErrorKind};

fn auto() -> ClientOptions {
    ClientOptions::default().with_probe_timeout(ms(5_000)).with_connect_timeout(ms(30_000))
}

fn steps(steps: &[(usize, &str)]) -> Vec<(usize, String)> {
    steps.iter().map(|(connection, method)| (*connection, (*method).to_owned())).collect()
}

fn method(message: &Value) -> &str {
    message["method"].as_str().unwrap_or_default()
}

#[tokio::test]
async fn disc_03_a_modern_server_is_found_with_one_request() {
    let fake = Fake::process(|peer, message| peer.discovered(message, &["2026-07-28", "2025-11-25"]));
    let client = fake.connect(auto()).await;
    assert_eq!(client.revision(), Revision::V2026_07_28);
    assert_eq!(fake.seen(), steps(&[(1, "server/discover")]));
}

#[tokio::test]
async fn a_silent_server_is_legacy_after_a_while() {
    let fake = Fake::process(|peer, message| {
        if method(message) == "initialize" {
            peer.accept(message, "2024-11-05");
        }
    });
    let opening = fake.open(auto());
    fake.clock.advance(ms(4_999)).await;
    assert_eq!(fake.seen(), steps(&[(1, "server/discover")]));
    fake.clock.advance(ms(1)).await;
    let client = opening.await.unwrap().unwrap();
    assert_eq!(client.revision(), Revision::V2024_11_05);
    // On the same process, and without anything about the probe: it gets nothing before initialize
    // (LIFE-01).
    assert_eq!(fake.seen(), steps(&[(1, "server/discover"), (1, "initialize"), (1, "notifications/initialized")]));
}

#[tokio::test]
async fn a_silent_server_times_out_and_initialize_is_not_cancelled() {
    let fake = Fake::process(|_, _| {});
    let opening = fake.open(auto());
    fake.clock.advance(ms(5_000)).await;
    fake.clock.advance(ms(25_000)).await;
    let error = opening.await.unwrap().err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
    assert_eq!(fake.seen(), steps(&[(1, "server/discover"), (1, "initialize")]), "CAN-03");
}

#[tokio::test]
async fn a_server_that_exits_over_the_probe_is_restarted_once_and_greeted_properly() {
    let fake = Fake::process(|peer, message| match (peer.number, method(message)) {
        (1, _) => peer.exit(),
        (_, "initialize") => peer.accept(message, "2025-06-18"),
        _ => {}
    });
    let client = fake.connect(auto()).await;
    assert_eq!(client.revision(), Revision::V2025_06_18);
    assert_eq!(fake.seen(), steps(&[(1, "server/discover"), (2, "initialize"), (2, "notifications/initialized")]));
}

#[tokio::test]
async fn a_server_that_refuses_the_probe_and_exits_is_restarted_once_too() {
    let fake = Fake::process(|peer, message| match (peer.number, method(message)) {
        (1, "server/discover") => {
            peer.error(message, -32601, Value::Null);
            peer.exit();
        }
        (2, "initialize") => peer.accept(message, "2025-06-18"),
        _ => {}
    });
    let client = fake.connect(auto()).await;
    assert_eq!(client.revision(), Revision::V2025_06_18);
    assert_eq!(fake.seen().last().unwrap(), &(2, "notifications/initialized".to_owned()));
}

#[tokio::test]
async fn a_server_that_always_exits_is_reported_with_its_reason() {
    let fake = Fake::process(|peer, _| peer.exit());
    let error = fake.open(auto()).await.unwrap().err().unwrap();
    assert_eq!(
        (error.kind(), error.to_string().as_str()),
        (ErrorKind::Transport, "the server process exited with status 3")
    );
    assert_eq!(fake.seen(), steps(&[(1, "server/discover"), (2, "initialize")]));
}

#[tokio::test]
async fn a_server_that_exits_right_after_the_handshake_is_an_error_and_no_hang() {
    let fake = Fake::process(|peer, message| {
        peer.accept(message, "2025-06-18");
        peer.exit();
    });
    let options = auto().with_revision(RevisionChoice::Legacy);
    let error = fake.open(options).await.unwrap().err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Transport, "{error}");
}

#[tokio::test]
async fn a_permissive_legacy_server_answers_the_probe_with_anything() {
    for answer in [
        json!({}),
        json!({"tools": []}),
        json!({"supportedVersions": "all"}),
        json!([]),
        json!("yes"),
        json!({"resultType": "x"}),
    ] {
        let fake = Fake::process(move |peer, message| match method(message) {
            "initialize" => peer.accept(message, "2025-03-26"),
            _ if message.get("id").is_some() => peer.result(message, answer.clone()),
            _ => {}
        });
        assert_eq!(fake.connect(auto()).await.revision(), Revision::V2025_03_26);
        assert_eq!(fake.seen(), steps(&[(1, "server/discover"), (1, "initialize"), (1, "notifications/initialized")]));
    }
}

#[tokio::test]
async fn disc_24_any_error_that_is_not_modern_means_legacy() {
    for code in [-32601, -32602, -32600, -32700, -32603, -32002, -32000, 0, 404] {
        let fake = Fake::process(move |peer, message| match method(message) {
            "initialize" => peer.accept(message, "2025-11-25"),
            "server/discover" => peer.error(message, code, Value::Null),
            _ => {}
        });
        assert_eq!(fake.connect(auto()).await.revision(), Revision::V2025_11_25, "{code}");
    }
}

#[tokio::test]
async fn disc_25_modern_errors_are_never_followed_by_initialize() {
    for code in [-32020, -32021] {
        let fake = Fake::process(move |peer, message| peer.error(message, code, Value::Null));
        let error = fake.open(auto()).await.unwrap().err().unwrap();
        assert_eq!((error.kind(), error.rpc().unwrap().code), (ErrorKind::Protocol, code));
        assert_eq!(fake.seen(), steps(&[(1, "server/discover")]));
    }
}

#[tokio::test]
async fn lists_that_mix_the_eras() {
    for (answers, expected) in [
        (json!({"supportedVersions": ["2030-01-01", "2026-07-28", "2025-06-18"], "capabilities": {}}), "2026-07-28"),
        (json!({"supportedVersions": ["2030-01-01", "2025-06-18"], "capabilities": {}}), "2025-06-18"),
        (json!({"supported": ["2025-06-18", "2030-01-01"]}), "2025-06-18"),
        (json!({"supported": ["2030-01-01"]}), "none"),
        (json!({"supportedVersions": [], "capabilities": {}}), "none"),
        (json!({"supported": []}), "none"),
    ] {
        let given = answers.clone();
        let fake = Fake::process(move |peer, message| match method(message) {
            "initialize" => peer.accept(message, "2025-06-18"),
            "server/discover" if given.get("supported").is_some() => peer.error(message, -32022, given.clone()),
            "server/discover" => peer.result(message, given.clone()),
            _ => {}
        });
        match fake.open(auto()).await.unwrap() {
            Ok(client) => assert_eq!(client.revision().as_str(), expected, "{answers}"),
            Err(error) => {
                assert_eq!((error.kind(), expected), (ErrorKind::Version, "none"), "{answers}: {error}");
                assert_eq!(fake.seen(), steps(&[(1, "server/discover")]));
            }
        }
    }
}

#[tokio::test]
async fn disc_13_a_corrected_version_is_asked_for_once() {
    let fake = Fake::process(|peer, message| peer.error(message, -32022, json!({"supported": ["2026-07-28"]})));
    let error = fake.open(auto()).await.unwrap().err().unwrap();
    assert_eq!(error.rpc().unwrap().code, -32022);
    assert!(fake.seen().len() <= 2, "{:?}", fake.seen());
}

#[tokio::test]
async fn a_late_answer_to_an_abandoned_probe_is_ignored() {
    let mut probe = Value::Null;
    let fake = Fake::process(move |peer, message| match method(message) {
        "server/discover" => probe = message.clone(),
        "initialize" => {
            peer.discovered(&probe, &["2026-07-28"]);
            peer.accept(message, "2025-06-18");
            peer.error(&probe, -32022, json!({"supported": ["2026-07-28"]}));
        }
        _ => {}
    });
    let opening = fake.open(auto());
    fake.clock.advance(ms(5_000)).await;
    assert_eq!(opening.await.unwrap().unwrap().revision(), Revision::V2025_06_18);
}

#[tokio::test]
async fn a_slow_server_whose_first_request_fixed_its_era_is_asked_once_more() {
    let mut probes = 0;
    let fake = Fake::process(move |peer, message| match method(message) {
        "initialize" => peer.error(message, -32022, json!({"supported": ["2026-07-28"], "requested": "2025-11-25"})),
        "server/discover" => {
            probes += 1;
            if probes == 2 {
                peer.discovered(message, &["2026-07-28"]);
            }
        }
        _ => {}
    });
    let opening = fake.open(auto());
    fake.clock.advance(ms(5_000)).await;
    assert_eq!(opening.await.unwrap().unwrap().revision(), Revision::V2026_07_28);
    assert_eq!(
        fake.seen(),
        steps(&[(1, "server/discover"), (1, "initialize"), (1, "server/discover")]),
        "never a mix of eras"
    );
}

#[tokio::test]
async fn ping_01_a_server_may_ping_before_the_connection_is_open() {
    let fake = Fake::process(|peer, message| match message["method"].as_str() {
        Some("server/discover") => {
            peer.say(json!({"jsonrpc": "2.0", "id": "early", "method": "ping"}));
            peer.error(message, -32601, json!({}));
        }
        Some("initialize") => {
            peer.say(json!({"jsonrpc": "2.0", "id": "during", "method": "ping"}));
            peer.accept(message, "2025-06-18");
            peer.say(json!({"jsonrpc": "2.0", "id": "after", "method": "ping"}));
        }
        _ => {}
    });
    fake.connect(ClientOptions::default()).await;
    settle().await;
    let seen: Vec<_> = fake.seen().into_iter().map(|(_, what)| what).collect();
    // Nobody knows yet whether the era of the first one has a ping.
    for answered in ["answer \"during\"", "answer \"after\""] {
        assert!(seen.iter().any(|what| what == answered), "{seen:?}");
    }
    assert!(!seen.iter().any(|what| what == "answer \"early\""), "{seen:?}");
}

#[tokio::test]
async fn life_10_an_answer_that_the_client_cannot_speak_ends_it() {
    for answered in ["2026-07-28", "2019-01-01", ""] {
        let fake = Fake::process(move |peer, message| peer.accept(message, answered));
        let options = auto().with_revision(RevisionChoice::Legacy);
        let error = fake.open(options).await.unwrap().err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Version, "{answered}");
        assert_eq!(fake.seen(), steps(&[(1, "initialize")]));
    }
}

/// DISC-02, LIFE-03.
#[tokio::test]
async fn life_06_and_07_a_pinned_revision_is_spoken_without_a_probe() {
    for revision in Revision::ALL {
        let fake = Fake::process(move |peer, message| {
            if method(message) == "initialize" {
                assert_eq!(message["params"]["protocolVersion"], revision.as_str());
                peer.accept(message, revision.as_str());
            }
        });
        let options = auto().with_revision(RevisionChoice::Pinned(revision));
        assert_eq!(fake.connect(options).await.revision(), revision);
        let expected = if revision == Revision::V2026_07_28 {
            // Not a probe: the client is open, and nothing waits for the answer.
            steps(&[(1, "server/discover")])
        } else {
            steps(&[(1, "initialize"), (1, "notifications/initialized")])
        };
        assert_eq!(fake.seen(), expected);
    }
}

/// DISC-04: a pipe is probed too, so that a legacy server fails at once.
#[tokio::test]
async fn disc_02_a_client_with_a_pinned_revision_opens_at_once_and_discovers_its_server_later() {
    let options = || auto().with_revision(RevisionChoice::Pinned(Revision::V2026_07_28));
    let fake = Fake::process(|peer, message| {
        if method(message) == "tools/list" {
            peer.result(message, json!({"resultType": "complete", "tools": [], "ttlMs": 0, "cacheScope": "private"}));
        }
    });
    let client = fake.connect(options()).await;
    assert_eq!((client.server_info(), client.instructions()), (None, None));
    let asked = fake.last();
    client.list_tools().await.unwrap();
    fake.peer().result(
        &asked,
        json!({"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"logging": {}},
            "instructions": "Ask.", "ttlMs": 0, "cacheScope": "private",
            "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "late", "version": "1"}}}),
    );
    assert_eq!(client.server_info().unwrap().name, "late");
    assert_eq!((client.server_capabilities().logging.is_some(), client.instructions()), (true, Some("Ask.")));

    let fake = Fake::process(|peer, message| match method(message) {
        "server/discover" => peer.error(message, -32601, Value::Null),
        _ => peer.result(message, json!({"resultType": "complete", "tools": [], "ttlMs": 0, "cacheScope": "private"})),
    });
    let client = fake.connect(options()).await;
    client.list_tools().await.unwrap();
    assert_eq!((client.server_info(), client.revision()), (None, Revision::V2026_07_28));
    assert_eq!(fake.seen(), steps(&[(1, "server/discover"), (1, "tools/list")]), "asked once");
}

#[tokio::test]
async fn modern_only_reports_a_legacy_server() {
    let fake = Fake::process(|peer, message| peer.error(message, -32601, Value::Null));
    let options = auto().with_revision(RevisionChoice::Modern);
    let error = fake.open(options).await.unwrap().err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Version, "{error}");
    assert_eq!(fake.seen(), steps(&[(1, "server/discover")]));
}

#[tokio::test]
async fn a_url_that_is_silent_is_no_evidence_of_an_era() {
    let fake = Fake::new(false, |_, _| {});
    let opening = fake.open(auto());
    fake.clock.advance(ms(30_000)).await;
    assert_eq!(opening.await.unwrap().err().unwrap().kind(), ErrorKind::Timeout);
    assert_eq!(fake.seen(), steps(&[(1, "server/discover")]));
}

/// The era of a server, and its reaction to a request of the other one.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Speaks {
    /// Refuses with an error of JSON-RPC, over HTTP with a status.
    Legacy,
    /// Answers nothing.
    SilentLegacy,
    /// Ends its process.
    ExitingLegacy,
    /// Answers anything.
    PermissiveLegacy,
    Modern,
    Both,
}

impl Speaks {
    fn fake(self, is_pipe: bool) -> Arc<Fake> {
        Fake::new(is_pipe, move |peer, message| match (self, method(message)) {
            (Self::Modern, "initialize") => {
                let data = json!({"supported": ["2026-07-28"], "requested": "2025-11-25"});
                peer.error(message, -32022, data);
            }
            (_, "initialize") => peer.accept(message, "2025-11-25"),
            (Self::Modern | Self::Both, "server/discover") => peer.discovered(message, &["2026-07-28"]),
            (Self::Legacy, "server/discover") if !is_pipe => {
                let id = RequestId::from_json(&message["id"].to_string()).unwrap();
                let (status, text, challenges) = (400, "Bad Request: no session".to_owned(), Vec::new());
                peer.inbox.failed(&id, LinkFailure::Status { status, text, challenges });
            }
            (Self::Legacy, "server/discover") => peer.error(message, -32601, Value::Null),
            (Self::ExitingLegacy, "server/discover") => peer.exit(),
            (Self::PermissiveLegacy, "server/discover") => peer.result(message, json!({})),
            _ => {}
        })
    }
}

#[tokio::test]
async fn life_06_disc_03_disc_24_every_pairing_of_eras_ends_in_a_revision_of_both_or_in_an_error() {
    use RevisionChoice::{Auto, Legacy, Modern};
    use Speaks::{Both, ExitingLegacy, PermissiveLegacy, SilentLegacy};
    let (legacy, modern) = (Ok("2025-11-25"), Ok("2026-07-28"));
    let pairings = [
        (Auto, Speaks::Legacy, legacy),
        (Auto, Speaks::Modern, modern),
        (Auto, Both, modern),
        (Legacy, Speaks::Legacy, legacy),
        (Legacy, Speaks::Modern, Err(ErrorKind::Version)),
        (Legacy, Both, legacy),
        (Modern, Speaks::Legacy, Err(ErrorKind::Version)),
        (Modern, Speaks::Modern, modern),
        (Modern, Both, modern),
        (Auto, PermissiveLegacy, legacy),
        (Legacy, PermissiveLegacy, legacy),
        (Modern, PermissiveLegacy, Err(ErrorKind::Version)),
        // A URL that is silent is not evidence of an era, and has no process.
        (Auto, SilentLegacy, legacy),
        (Legacy, SilentLegacy, legacy),
        (Modern, SilentLegacy, Err(ErrorKind::Version)),
        (Auto, ExitingLegacy, legacy),
        (Legacy, ExitingLegacy, legacy),
        // The process of a server that fails also ends.
        (Modern, ExitingLegacy, Err(ErrorKind::Transport)),
    ];
    for is_pipe in [true, false] {
        for (choice, server, expected) in pairings {
            if !is_pipe && matches!(server, SilentLegacy | ExitingLegacy) {
                continue;
            }
            let fake = server.fake(is_pipe);
            let opening = fake.open(auto().with_revision(choice));
            fake.clock.advance(ms(5_000)).await;
            fake.clock.advance(ms(25_000)).await;
            let opened = opening.await.unwrap();
            let found = opened.as_ref().map(|client| client.revision().as_str()).map_err(ClientError::kind);
            assert_eq!(found, expected, "{choice:?} and {server:?}, pipe: {is_pipe}: {:?}", opened.err());
            let later = if server == ExitingLegacy { 2 } else { 1 };
            assert!(fake.connections.load(Ordering::Relaxed) <= later, "{choice:?} and {server:?}");
            let probes = fake.seen().iter().filter(|(_, method)| method == "server/discover").count();
            assert_eq!(probes, usize::from(choice != Legacy), "{choice:?} and {server:?}: LIFE-01");
        }
    }
}
