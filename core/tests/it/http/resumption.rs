//! Streams that break, or are closed early, and are resumed (2025-11-25, basic/transports,
//! resumability).

use super::support::*;
use serde_json::json;
use std::{sync::atomic::Ordering, time::Duration};
use trunkline::{
    RevisionChoice,
    client::{Client, ClientOptions},
    server::{Context, ServerOptions, Tool},
    transport::HttpOptions,
};

const RETRY_DELAY: Duration = Duration::from_millis(250);

async fn polling() -> (Fixture, Gate) {
    let fixture = Fixture::with(HttpOptions::default().with_retry(RETRY_DELAY), ServerOptions::default()).await;
    let gate = Gate::add(&fixture.server);
    (fixture, gate)
}

impl Fixture {
    fn in_session(&self, id: &str, body: &serde_json::Value) -> Ask {
        self.ask("POST").json(body).header("Mcp-Session-Id", id)
    }

    fn resume(&self, id: &str, last: &str) -> Ask {
        let ask = self.ask("GET").header("Accept", "text/event-stream").header("Mcp-Session-Id", id);
        ask.header("Last-Event-ID", last)
    }
}

#[tokio::test]
async fn http_26_and_27_a_call_is_polled_for_its_answer() {
    let (fixture, gate) = polling().await;
    let id = fixture.session("2025-11-25").await;
    for progress in [false, true] {
        let first = fixture.in_session(&id, &Gate::call(5, true, progress)).send().await;
        assert_eq!((first.status, first.header("content-type")), (200, Some("text/event-stream")));
        assert!(first.body.starts_with("id: ") && first.body.contains("\ndata: \n\n"), "{first:?}");
        assert!(first.body.ends_with("retry: 250\n\n"), "{first:?}");
        assert_eq!(first.events().len(), usize::from(progress));
        let last = first.ids().pop().unwrap().to_owned();

        // Too early: it waits, and is closed early no more.
        let mut second = fixture.resume(&id, &last).header("Connection", "close").start().await;
        second.until("text/event-stream").await;
        gate.open(1);
        let events = second.finish().await.events();
        assert_eq!(events.len(), 1 + usize::from(progress), "{events:?}");
        assert_eq!(events.last().unwrap()["result"]["content"][0]["text"], "let through");

        // A client that asks again gets it again, and only that.
        let again = fixture.resume(&id, &last).send().await;
        assert_eq!(again.events(), events);
        let none = fixture.resume(&id, again.ids().last().unwrap()).send().await;
        assert_eq!((none.status, none.events().len()), (200, 0));
    }
}

#[tokio::test]
async fn http_20_streams_are_closed_early_only_where_that_is_defined() {
    let (fixture, gate) = polling().await;
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18"] {
        let id = fixture.session(revision).await;
        let mut stream =
            fixture.in_session(&id, &Gate::call(5, true, true)).header("Connection", "close").start().await;
        stream.until("notifications/progress").await;
        gate.open(1);
        let answer = stream.finish().await;
        assert_eq!(answer.events().len(), 3, "{revision}");
        assert!(!answer.body.contains("data: \n") && !answer.body.contains("retry"), "{revision}: {answer:?}");
    }
    // Nor does it end calls of the other era, for which the end of the stream is the end of the
    // call.
    let mut call = json!({"name": "gate", "arguments": {"close": true}});
    call["_meta"] = json!({"progressToken": 1});
    let mut stream = fixture.modern("tools/call", call).header("Connection", "close").start().await;
    stream.until("notifications/progress").await;
    gate.open(1);
    let answer = stream.finish().await;
    assert_eq!((answer.events().len(), answer.ids().len()), (3, 0));
}

#[tokio::test]
async fn http_22_39_and_40_messages_missed_by_a_broken_connection_are_resent() {
    let (fixture, gate) = polling().await;
    for revision in ["2025-03-26", "2025-06-18", "2025-11-25"] {
        let id = fixture.session(revision).await;
        let mut broken = fixture.in_session(&id, &Gate::call(1, false, true)).start().await;
        let mut other =
            fixture.in_session(&id, &Gate::call(2, false, true)).header("Connection", "close").start().await;
        broken.until("notifications/progress").await;
        other.until("notifications/progress").await;
        let text = broken.text();
        let last = text.lines().filter_map(|line| line.strip_prefix("id: ")).next_back().unwrap().to_owned();
        drop(broken);
        gate.open(2);
        let answer = fixture.resume(&id, &last).send().await;
        let events = answer.events();
        assert_eq!(events.len(), 2, "{revision}: {events:?}");
        assert_eq!((&events[0]["params"]["progressToken"], &events[1]["id"]), (&json!(1), &json!(1)));
        // HTTP-35: the other stream had its own.
        let others = other.finish().await;
        assert!(others.events().iter().all(|event| event["id"] == 2 || event["params"]["progressToken"] == 2));
        // HTTP-36, HTTP-37
        let mut ids: Vec<_> = answer.ids().into_iter().chain(others.ids()).map(str::to_owned).collect();
        let count = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), count, "{ids:?}");
    }
}

#[tokio::test]
async fn http_26_a_quiet_call_soon_sends_its_client_an_event_id_for_resuming() {
    let (fixture, gate) = polling().await;
    let id = fixture.session("2025-11-25").await;
    let mut stream = fixture.in_session(&id, &Gate::call(1, false, false)).start().await;
    stream.until("data: \n\n").await;
    let text = stream.text();
    let last = text.lines().find_map(|line| line.strip_prefix("id: ")).unwrap().to_owned();
    drop(stream);
    gate.open(1);
    assert_eq!(fixture.resume(&id, &last).send().await.events().len(), 1);
    assert_eq!(fixture.ends.dropped.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn http_38_the_get_stream_resumes_where_it_broke() {
    let fixture = Fixture::new().await;
    let id = fixture.session("2025-11-25").await;
    let tool = |name: &str| Tool::new(name, "Comes later.", || async { "x".to_owned() });
    let mut stream =
        fixture.ask("GET").header("Mcp-Session-Id", &id).header("Accept", "text/event-stream").start().await;
    stream.until("id: 0-0\ndata: \n\n").await;
    fixture.server.add_tool(tool("late")).unwrap();
    stream.until("notifications/tools/list_changed").await;
    let mut second = fixture.resume(&id, "0-0").start().await;
    second.until("id: 0-1\n").await;
    second.until("notifications/tools/list_changed").await;
    stream.until("0\r\n\r\n").await;
    drop(second);
    fixture.server.add_tool(tool("later")).unwrap();
    let mut third = fixture.resume(&id, "0-1").start().await;
    third.until("id: 0-2\n").await;
    assert!(!third.text().contains("id: 0-1\n"));
    assert_eq!(fixture.ask("DELETE").header("Mcp-Session-Id", &id).send().await.status, 204);
    third.until("0\r\n\r\n").await;
    assert_eq!(fixture.resume(&id, "0-1").send().await.status, 404);
}

#[tokio::test]
async fn http_38_unknown_and_forgotten_events_are_refused() {
    let options = HttpOptions::default().with_replay_events(3);
    let fixture = Fixture::with(options, ServerOptions::default()).await;
    let id = fixture.session("2025-11-25").await;
    let count = request("tools/call", call_with_progress("count"));
    let first = fixture.in_session(&id, &count).send().await;
    let ids = first.ids();
    assert_eq!(ids.len(), 5, "{ids:?}");
    assert_eq!(fixture.resume(&id, ids[1]).send().await.events().len(), 3);
    let other = fixture.session("2025-11-25").await;
    for (session, last) in
        [(&id, ids[0]), (&id, "99-0"), (&id, "1-99"), (&id, "nonsense"), (&id, "\u{e9}"), (&other, ids[4])]
    {
        let answer = fixture.resume(session, last).send().await;
        assert_eq!(answer.error(), (400, -32600), "{last}");
        assert!(answer.body.contains("Last-Event-ID"), "{answer:?}");
    }
    // The session continues.
    assert_eq!(fixture.in_session(&id, &request("ping", json!({}))).send().await.status, 200);

    let off = HttpOptions::default().with_replay_events(0);
    let fixture = Fixture::with(off, ServerOptions::default()).await;
    let id = fixture.session("2025-11-25").await;
    let answer = fixture.in_session(&id, &count).send().await;
    assert_eq!((answer.events().len(), answer.ids().len()), (4, 0));
    assert_eq!(fixture.resume(&id, "0-0").send().await.error(), (400, -32600));
}

#[tokio::test]
async fn h26_21_a_modern_request_ignores_last_event_ids() {
    let fixture = Fixture::new().await;
    let answer = fixture.modern("tools/list", json!({})).header("Last-Event-ID", "1-1").send().await;
    assert_eq!(answer.status, 200);
    let answer = fixture.modern("tools/call", call_with_progress("count")).send().await;
    assert_eq!((answer.events().len(), answer.ids().len()), (4, 0));
}

#[tokio::test]
async fn a_flood_that_nobody_reads_stays_within_bounds_and_leaves_the_answer() {
    let options = HttpOptions::default().with_replay_bytes(10_000);
    let fixture = Fixture::with(options, ServerOptions::default()).await;
    let flood = |ctx: Context| async move {
        for step in 0..50_000 {
            ctx.progress(f64::from(step), None).await;
        }
        "flooded".to_owned()
    };
    fixture.server.add_tool(Tool::new("flood", "Says too much.", flood)).unwrap();
    let id = fixture.session("2025-11-25").await;
    // A client that does not read its stream delays no one, and gets the rest when it does.
    let unread = fixture.in_session(&id, &request("tools/call", call_with_progress("flood")));
    let unread = unread.header("Connection", "close").start().await;
    let again = fixture.in_session(&id, &request("ping", json!({}))).send().await;
    assert_eq!(again.status, 200);
    let answer = unread.finish().await;
    let last = answer.ids().pop().unwrap().to_owned();
    assert_eq!(answer.events().last().unwrap()["result"]["content"][0]["text"], "flooded");
    let (stream, event) = last.split_once('-').unwrap();
    let before = format!("{stream}-{}", event.parse::<u64>().unwrap() - 1);
    assert_eq!(fixture.resume(&id, &before).send().await.events().len(), 1);
    assert_eq!(fixture.resume(&id, &format!("{stream}-0")).send().await.error(), (400, -32600));
}

#[tokio::test]
async fn many_clients_connect_and_disconnect_at_once() {
    let (fixture, gate) = polling().await;
    let id = fixture.session("2025-11-25").await;
    let mut broken = Vec::new();
    for number in 0..30 {
        let mut stream = fixture.in_session(&id, &Gate::call(number, number % 2 == 0, true)).start().await;
        stream.until("notifications/progress").await;
        let text = stream.text();
        broken.push(text.lines().filter_map(|line| line.strip_prefix("id: ")).next_back().unwrap().to_owned());
    }
    gate.open(30);
    let mut seen = Vec::new();
    for last in &broken {
        let events = fixture.resume(&id, last).send().await.events();
        assert_eq!(events.len(), 2, "{events:?}");
        seen.push(events[1]["id"].as_i64().unwrap());
    }
    assert_eq!(seen, (0..30).collect::<Vec<_>>());
}

#[tokio::test]
async fn http_29_a_client_of_ours_polls_by_itself() {
    let (fixture, gate) = polling().await;
    let options = ClientOptions::default().with_revision(RevisionChoice::Legacy);
    let client = Client::connect_with(fixture.listener.url().unwrap(), options, ()).await.unwrap();
    gate.open(1);
    let result = client.call_tool("gate", json!({"close": true})).await.unwrap();
    assert_eq!(serde_json::to_value(&result).unwrap()["content"][0]["text"], "let through");
    client.close().await;
}
