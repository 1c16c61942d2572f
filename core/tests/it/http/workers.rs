//! Several servers with one store, as processes behind a load balancer without stickiness.

use super::{
    faulty_store::{FaultyStore, StoreFault},
    support::*,
};
use serde_json::{Value, json};
use std::{
    cell::Cell,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::{Duration, Instant},
};
use tokio::{sync::Semaphore, time::sleep};
use trunkline::{
    protocol::model::{ElicitParams, Field, FormSchema},
    runtime::BoxedTask,
    server::{Context, Resource, Server, ServerOptions, TaskSupport, Tool, ToolError},
    store::{LogEntry, ProcessStore, Store, StoreChoice, StoreError},
    transport::{HttpOptions, TokioRuntime, TrustedProxy},
};

const MOOD: &str = "mood://today";

fn store() -> Arc<dyn Store> {
    Arc::new(ProcessStore::new(TokioRuntime::current()))
}

async fn worker(store: &Arc<dyn Store>) -> Fixture {
    worker_with(store, HttpOptions::default()).await
}

async fn worker_with(store: &Arc<dyn Store>, http: HttpOptions) -> Fixture {
    let options = ServerOptions::default().with_store(StoreChoice::custom(Arc::clone(store)));
    let fixture = Fixture::with(http, options).await;
    fixture.server.add_resource(Resource::new(MOOD, "mood", async || "fine")).unwrap();
    fixture
}

async fn workers() -> [Fixture; 3] {
    let store = store();
    [worker(&store).await, worker(&store).await, worker(&store).await]
}

impl Fixture {
    async fn ask_in(&self, id: &str, method: &str, params: Value) -> Answer {
        self.post(&[("Mcp-Session-Id", id)], &request(method, params)).await
    }

    async fn stream_of(&self, id: &str, last: Option<&str>) -> Stream {
        let ask = self.ask("GET").header("Accept", "text/event-stream").header("Mcp-Session-Id", id);
        let mut stream = ask.header("Last-Event-ID", last.unwrap_or_default()).start().await;
        stream.until("text/event-stream").await;
        stream
    }

    async fn delete(&self, id: &str) -> u16 {
        self.ask("DELETE").header("Mcp-Session-Id", id).send().await.status
    }
}

fn last_id(stream: &Stream) -> String {
    stream.text().lines().filter_map(|line| line.strip_prefix("id: ")).next_back().expect("no id").to_owned()
}

/// The last message with data.
fn last_message(stream: &Stream) -> Value {
    let text = stream.text();
    let data = text.lines().filter_map(|line| line.strip_prefix("data: {")).next_back().expect("no message");
    serde_json::from_str(&format!("{{{data}")).unwrap()
}

#[tokio::test]
async fn a_session_is_served_by_every_process_until_one_ends_it() {
    let [a, b, c] = workers().await;
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let id = a.session(revision).await;
        for fixture in [&b, &c, &a] {
            let answer = fixture.ask_in(&id, "tools/call", call("echo", json!({"text": "x"}))).await;
            assert_eq!(answer.json()["result"]["content"][0]["text"], "x", "{revision}");
            // HTTP-47: one that was opened is not opened again.
            let again = fixture.post(&[("Mcp-Session-Id", &id)], &initialize(revision)).await;
            assert!(again.json()["error"]["message"].as_str().unwrap().contains("already initialized"));
        }
        assert_eq!(b.delete(&id).await, 204);
        eventually_async("a still serves it", async || {
            a.ask_in(&id, "ping", json!({})).await.status == 404 && c.ask_in(&id, "ping", json!({})).await.status == 404
        })
        .await;
        assert_eq!(b.ask_in(&id, "ping", json!({})).await.status, 404);
        assert_eq!(c.delete(&id).await, 404);
    }
    for wrong in ["x", "../v1/workers", &"y".repeat(32)] {
        assert_eq!(a.ask_in(wrong, "ping", json!({})).await.status, 404);
    }
}

/// TSK-32, TSK-34: without access tokens, at any process, and for no other session.
#[tokio::test]
async fn the_tasks_of_a_session_are_served_by_every_process() {
    let [a, b, c] = workers().await;
    let slow = async || {
        sleep(Duration::from_millis(300)).await;
        "done"
    };
    for fixture in [&a, &b, &c] {
        let endless = async || std::future::pending::<()>().await;
        fixture.server.add_tool(Tool::new("slow-task", "Takes time", slow).task(TaskSupport::Required)).unwrap();
        fixture.server.add_tool(Tool::new("endless-task", "Never ends", endless).task(TaskSupport::Required)).unwrap();
    }
    let id = a.session("2025-11-25").await;
    let slow = json!({"name": "slow-task", "arguments": {}, "task": {}});
    let task = a.ask_in(&id, "tools/call", slow).await.json()["result"]["task"]["taskId"].clone();
    let named = json!({"taskId": task});
    for fixture in [&b, &c, &a] {
        let got = fixture.ask_in(&id, "tasks/get", named.clone()).await.json();
        assert_eq!(got["result"]["taskId"], task, "{got}");
        let listed = fixture.ask_in(&id, "tasks/list", json!({})).await.json();
        assert_eq!(listed["result"]["tasks"][0]["taskId"], task, "{listed}");
    }
    let result = b.ask_in(&id, "tasks/result", named.clone()).await.json();
    assert_eq!(result["result"]["content"][0]["text"], "done", "{result}");
    let other = b.session("2025-11-25").await;
    for method in ["tasks/get", "tasks/result", "tasks/cancel"] {
        let refused = c.ask_in(&other, method, named.clone()).await.json();
        assert!(refused["error"]["message"].as_str().unwrap().contains("Unknown"), "{method}: {refused}");
    }
    assert_eq!(b.ask_in(&other, "tasks/list", json!({})).await.json()["result"]["tasks"], json!([]));
    let endless = json!({"name": "endless-task", "arguments": {}, "task": {}});
    let second = a.ask_in(&id, "tools/call", endless).await.json()["result"]["task"]["taskId"].clone();
    let cancelled = b.ask_in(&id, "tasks/cancel", json!({"taskId": second})).await.json();
    assert_eq!(cancelled["result"]["status"], "cancelled", "{cancelled}");
}

/// A process where a session seems idle leaves its task alone while another one serves it, and a
/// call that takes longer than a session may be idle keeps its session for all.
#[tokio::test]
async fn a_session_is_used_as_long_as_any_process_is_busy_with_it() {
    let store = store();
    let options =
        ServerOptions::default().with_store(StoreChoice::custom(store)).with_session_idle(Duration::from_secs(2));
    let a = Fixture::with(HttpOptions::default(), options.clone()).await;
    let b = Fixture::with(HttpOptions::default(), options).await;
    let takes = async || {
        sleep(Duration::from_secs(5)).await;
        "done"
    };
    let [lasting, _] = [&a, &b].map(|fixture| Lasting::add(&fixture.server));
    for fixture in [&a, &b] {
        fixture.server.add_tool(Tool::new("takes-time", "Takes time", takes)).unwrap();
    }
    let id = a.session("2025-11-25").await;
    let task = lasting.start(&a, &id).await;
    for _ in 0..15 {
        let got = b.ask_in(&id, "tasks/get", json!({"taskId": task})).await.json();
        assert_eq!(got["result"]["status"], "working", "{got}");
        sleep(Duration::from_millis(250)).await;
    }
    lasting.released.add_permits(1);
    let result = b.ask_in(&id, "tasks/result", json!({"taskId": task})).await;
    assert!(result.body.contains("done"), "{result:?}");
    let called = a.ask_in(&id, "tools/call", json!({"name": "takes-time"})).await;
    assert!(called.body.contains("done"), "{called:?}");
    let level = json!({"level": "error"});
    for fixture in [&b, &a] {
        assert_eq!(fixture.ask_in(&id, "logging/setLevel", level.clone()).await.json()["result"], json!({}));
    }
    // Elsewhere it ended without a word to this process, which learns it with its next change.
    assert_eq!(b.delete(&id).await, 204);
    assert_eq!(a.ask_in(&id, "logging/setLevel", json!({"level": "debug"})).await.status, 404);
}

/// A store that notes which keys are written.
struct Noting(Arc<dyn Store>, Mutex<Vec<String>>);

impl Noting {
    fn writes_of(&self, key: &str) -> usize {
        self.1.lock().unwrap().iter().filter(|written| *written == key).count()
    }
}

impl Store for Noting {
    fn get(&self, key: &str) -> BoxedTask<Result<Option<String>, StoreError>> {
        self.0.get(key)
    }

    fn put(&self, key: &str, text: &str, keep_for: Duration) -> BoxedTask<Result<(), StoreError>> {
        self.1.lock().unwrap().push(key.to_owned());
        self.0.put(key, text, keep_for)
    }

    fn put_if(
        &self,
        key: &str,
        expected: Option<&str>,
        text: &str,
        keep_for: Duration,
    ) -> BoxedTask<Result<bool, StoreError>> {
        self.1.lock().unwrap().push(key.to_owned());
        self.0.put_if(key, expected, text, keep_for)
    }

    fn remove(&self, key: &str) -> BoxedTask<Result<(), StoreError>> {
        self.0.remove(key)
    }

    fn append(&self, log: &str, entry: &str, max: usize, keep_for: Duration) -> BoxedTask<Result<u64, StoreError>> {
        self.0.append(log, entry, max, keep_for)
    }

    fn read(
        &self,
        log: &str,
        after: u64,
        limit: usize,
        wait: Duration,
    ) -> BoxedTask<Result<Vec<LogEntry>, StoreError>> {
        self.0.read(log, after, limit, wait)
    }
}

/// Otherwise the session could expire seconds after a request, which the other process has not
/// seen.
#[tokio::test]
async fn a_process_that_begins_to_serve_a_session_extends_its_life() {
    let store = store();
    let noting = Arc::new(Noting(Arc::clone(&store), Mutex::default()));
    let (a, b) = (worker(&store).await, worker(&(Arc::clone(&noting) as Arc<dyn Store>)).await);
    let id = a.session("2025-11-25").await;
    let record = format!("v1/session/{id}");
    assert_eq!(b.ask_in(&id, "ping", json!({})).await.status, 200);
    eventually("b does not renew it", || noting.writes_of(&record) == 1).await;
    // From then on, only from time to time.
    assert_eq!(b.ask_in(&id, "ping", json!({})).await.status, 200);
    sleep(Duration::from_millis(50)).await;
    assert_eq!(noting.writes_of(&record), 1);
}

/// Otherwise its client would get all of its events again.
#[tokio::test]
async fn what_the_client_of_a_session_has_read_is_known_for_as_long_as_it_lives() {
    let store = store();
    let noting = Arc::new(Noting(Arc::clone(&store), Mutex::default()));
    let (a, b) = (worker(&store).await, worker(&(Arc::clone(&noting) as Arc<dyn Store>)).await);
    let id = a.session("2025-11-25").await;
    let (key, read) = (format!("v1/session/{id}/read"), "9223372036854775809-1");
    store.put(&key, read, Duration::from_secs(60)).await.unwrap();
    assert_eq!(b.ask_in(&id, "ping", json!({})).await.status, 200);
    eventually("b does not extend it", || noting.writes_of(&key) == 1).await;
    assert_eq!(store.get(&key).await.unwrap().as_deref(), Some(read));
}

/// The log of its own events expires an hour after the last one.
#[tokio::test]
async fn http_38_a_session_that_was_quiet_resumes_its_stream() {
    let store = store();
    let (a, b) = (worker(&store).await, worker(&store).await);
    let quick = Tool::new("quick", "Is done.", async || "done").task(TaskSupport::Optional);
    a.server.add_tool(quick).unwrap();
    let id = a.session("2025-11-25").await;
    let run = async || {
        let params = json!({"name": "quick", "arguments": {}, "task": {}});
        assert_eq!(a.ask_in(&id, "tools/call", params).await.status, 200);
    };
    let read_one = async |mut stream: Stream| {
        stream.until("notifications/tasks/status").await;
        assert_eq!(stream.text().matches("tasks/status").count(), 1, "{}", stream.text());
        let last = last_id(&stream);
        drop(stream);
        // The position is stored a moment later.
        sleep(Duration::from_millis(1500)).await;
        last
    };
    let expire = async || store.remove(&format!("v1/session/{id}/events")).await.unwrap();
    let stream = a.stream_of(&id, None).await;
    run().await;
    let first = read_one(stream).await;
    run().await;
    let second = read_one(b.stream_of(&id, Some(&first)).await).await;
    expire().await;
    let ask = a.ask("GET").header("Accept", "text/event-stream").header("Mcp-Session-Id", &id);
    assert_eq!(ask.header("Last-Event-ID", &first).send().await.status, 400, "an event is lost");
    // With a new event, and without one.
    run().await;
    let third = read_one(a.stream_of(&id, Some(&second)).await).await;
    expire().await;
    let stream = b.stream_of(&id, Some(&third)).await;
    run().await;
    read_one(stream).await;
}

/// Nobody notifies a process if the record has expired.
#[tokio::test]
async fn a_session_without_a_record_ends_at_a_process_that_serves_it() {
    let store = store();
    let options = ServerOptions::default().with_store(StoreChoice::custom(Arc::clone(&store)));
    let a = Fixture::with(HttpOptions::default(), options.with_session_idle(Duration::from_secs(2))).await;
    let lasting = Lasting::add(&a.server);
    let id = a.session("2025-11-25").await;
    lasting.start(&a, &id).await;
    store.remove(&format!("v1/session/{id}")).await.unwrap();
    eventually_async("it is served", async || a.ask_in(&id, "ping", json!({})).await.status == 404).await;
    eventually("its task still runs", || lasting.cancelled() == 1).await;
}

/// A tool whose tasks run until `released`, and the number of them that were cancelled.
struct Lasting {
    released: Arc<Semaphore>,
    cancelled: Arc<AtomicUsize>,
}

impl Lasting {
    fn add(server: &Server) -> Self {
        let this = Self { released: Arc::new(Semaphore::new(0)), cancelled: Arc::default() };
        let (released, cancelled) = (Arc::clone(&this.released), Arc::clone(&this.cancelled));
        let run = move |ctx: Context| {
            let (released, cancelled) = (Arc::clone(&released), Arc::clone(&cancelled));
            async move {
                tokio::select! {
                    () = ctx.cancelled() => drop(cancelled.fetch_add(1, SeqCst)),
                    _ = released.acquire() => {}
                }
                "done"
            }
        };
        server.add_tool(Tool::new("lasting", "Lasts.", run).task(TaskSupport::Required)).unwrap();
        this
    }

    async fn start(&self, fixture: &Fixture, session: &str) -> Value {
        let call = json!({"name": "lasting", "arguments": {}, "task": {}});
        fixture.ask_in(session, "tools/call", call).await.json()["result"]["task"]["taskId"].take()
    }

    fn cancelled(&self) -> usize {
        self.cancelled.load(SeqCst)
    }
}

/// A session that made room for others at one process lives on, and so does its task there, but no
/// longer than the session.
#[tokio::test]
async fn the_tasks_of_a_session_end_with_it_and_not_with_its_process() {
    let store = store();
    let options = ServerOptions::default().with_store(StoreChoice::custom(store)).with_max_sessions(1);
    let a = Fixture::with(HttpOptions::default(), options.clone()).await;
    let b = Fixture::with(HttpOptions::default(), options).await;
    let [lasting, _] = [&a, &b].map(|fixture| Lasting::add(&fixture.server));
    let id = a.session("2025-11-25").await;
    let (task, ended) = (lasting.start(&a, &id).await, lasting.start(&a, &id).await);
    a.session("2025-11-25").await;
    assert_eq!(a.server.load().sessions(), 1, "another made room");
    let cancelled = b.ask_in(&id, "tasks/cancel", json!({"taskId": ended})).await.json();
    assert_eq!(cancelled["result"]["status"], "cancelled", "{cancelled}");
    eventually("it was not cancelled", || lasting.cancelled() == 1).await;
    lasting.released.add_permits(1);
    let result = b.ask_in(&id, "tasks/result", json!({"taskId": task})).await;
    assert!(result.body.contains("done"), "{result:?}");
    lasting.released.forget_permits(1);
    lasting.start(&a, &id).await;
    a.session("2025-11-25").await;
    assert_eq!(b.delete(&id).await, 204);
    eventually("its task still runs", || lasting.cancelled() == 2).await;
}

/// Otherwise a client could fill the store with the records of its sessions.
#[tokio::test]
async fn a_session_that_makes_room_for_another_of_its_client_ends_at_every_process() {
    let store = store();
    let options = ServerOptions::default().with_store(StoreChoice::custom(Arc::clone(&store)));
    let proxies = ["127.0.0.1".parse::<TrustedProxy>().unwrap()];
    let http = HttpOptions::default().with_trusted_proxies(proxies);
    let a = Fixture::with(http, options.with_max_sessions_per_client(2)).await;
    let b = worker(&store).await;
    let mut ids = Vec::new();
    for _ in 0..3 {
        let opened = a.post(&[("X-Forwarded-For", "203.0.113.9")], &initialize("2025-11-25")).await;
        ids.push(opened.header("mcp-session-id").unwrap().to_owned());
    }
    let other = a.post(&[("X-Forwarded-For", "198.51.100.7")], &initialize("2025-11-25")).await;
    ids.push(other.header("mcp-session-id").unwrap().to_owned());
    for (id, status) in ids.iter().zip([404, 200, 200, 200]) {
        assert_eq!(b.ask_in(id, "ping", json!({})).await.status, status);
    }
}

/// Nobody notifies a process that a session has expired, and the store may be away when it looks.
#[tokio::test]
async fn the_tasks_of_a_session_end_when_it_expires() {
    const SESSIONS: usize = 20;
    let faulty = FaultyStore::new(store());
    let lookups = Arc::new(Lookups::default());
    let store: Arc<dyn Store> = Arc::new(Slow(Arc::clone(&faulty), Duration::ZERO, Arc::clone(&lookups)));
    let options = ServerOptions::default().with_store(StoreChoice::custom(Arc::clone(&store))).with_max_sessions(1);
    // The server looks every half second.
    let a = Fixture::with(HttpOptions::default(), options.with_session_idle(Duration::from_secs(4))).await;
    let lasting = Lasting::add(&a.server);
    let mut sessions = Vec::new();
    for _ in 0..SESSIONS {
        let id = a.session("2025-11-25").await;
        lasting.start(&a, &id).await;
        sessions.push(id);
    }
    a.session("2025-11-25").await;
    for id in sessions {
        store.remove(&format!("v1/session/{id}")).await.unwrap();
    }
    faulty.set_away(true);
    lookups.most.store(0, SeqCst);
    sleep(Duration::from_millis(600)).await;
    faulty.set_away(false);
    eventually("their tasks still run", || lasting.cancelled() == SESSIONS).await;
    // All of them at once would fill the queue of a store.
    assert!(lookups.most.load(SeqCst) <= 16, "{lookups:?}");
}

#[tokio::test]
async fn a_restarted_process_continues_its_sessions() {
    let store = store();
    let first = worker(&store).await;
    let id = first.session("2025-06-18").await;
    let subscribed = first.ask_in(&id, "resources/subscribe", json!({"uri": MOOD})).await;
    assert_eq!(subscribed.status, 200, "{subscribed:?}");
    first.listener.close(Duration::ZERO).await;
    drop(first);
    let second = worker(&store).await;
    let mut stream = second.stream_of(&id, None).await;
    second.server.resource_updated(MOOD);
    stream.until("notifications/resources/updated").await;
    assert_eq!(second.ask_in(&id, "ping", json!({})).await.json()["result"], json!({}));
}

#[tokio::test]
async fn a_change_in_one_process_reaches_the_subscribers_of_all_in_both_eras() {
    let [a, b, c] = workers().await;
    let id = a.session("2025-11-25").await;
    // The stream is at a, the subscription is made at b, the changes happen in c.
    let mut stream = a.stream_of(&id, None).await;
    let filter = json!({"notifications": {"toolsListChanged": true, "resourceSubscriptions": [MOOD]}});
    let listen = b.modern("subscriptions/listen", filter).header("Accept", "application/json, text/event-stream");
    let mut listening = listen.start().await;
    listening.until("notifications/subscriptions/acknowledged").await;
    assert_eq!(b.ask_in(&id, "resources/subscribe", json!({"uri": MOOD})).await.status, 200);
    c.server.resource_updated(MOOD);
    stream.until("notifications/resources/updated").await;
    listening.until("notifications/resources/updated").await;
    c.server.remove_tool("echo");
    stream.until("notifications/tools/list_changed").await;
    listening.until("notifications/tools/list_changed").await;
    // Each once, in order, and none without a subscription.
    c.server.resource_updated("mood://tomorrow");
    assert_eq!(c.ask_in(&id, "resources/unsubscribe", json!({"uri": MOOD})).await.status, 200);
    c.server.resource_updated(MOOD);
    c.server.remove_tool("count");
    let read = std::mem::take(&mut stream.received);
    stream.until("tools/list_changed").await;
    stream.received.splice(0..0, read);
    assert_eq!(stream.text().matches("resources/updated").count(), 1, "{}", stream.text());
    assert!(!stream.text().contains("tomorrow"));
}

#[tokio::test]
async fn http_38_a_stream_resumes_at_any_process_without_loss() {
    let [a, b, c] = workers().await;
    let id = a.session("2025-06-18").await;
    assert_eq!(a.ask_in(&id, "resources/subscribe", json!({"uri": MOOD})).await.status, 200);
    let mut stream = a.stream_of(&id, None).await;
    b.server.resource_updated(MOOD);
    stream.until("resources/updated").await;
    let last = last_id(&stream);
    drop(stream);
    // Nobody reads: what happens now waits.
    c.server.remove_tool("echo");
    let mut stream = b.stream_of(&id, Some(&last)).await;
    stream.until("tools/list_changed").await;
    assert!(!stream.text().contains("resources/updated"), "it was read: {}", stream.text());
    // A newer stream takes over, wherever the older is.
    let newer = c.stream_of(&id, Some(&last_id(&stream))).await;
    stream.until("\r\n0\r\n\r\n").await;
    let text = stream.text();
    assert_eq!(text.matches("tools/list_changed").count(), 1, "{text}");
    a.server.resource_updated(MOOD);
    let mut newer = newer;
    newer.until("resources/updated").await;
    for unknown in [
        "0-9007199254740991",
        "17-1",
        "x",
        "9223372036854775808-9007199254740991",
        "9223372036854775808-0",
        "9232379236109516799-1",
        "18446744073709551615-18446744073709551615",
    ] {
        let ask = a.ask("GET").header("Accept", "text/event-stream").header("Mcp-Session-Id", &id);
        assert_eq!(ask.header("Last-Event-ID", unknown).send().await.status, 400, "{unknown}");
    }
}

/// Clients can invent streams of the right form, and each would be looked for a while.
#[tokio::test]
async fn http_38_streams_that_nobody_knows_are_waited_for_a_few_at_a_time() {
    let a = worker(&store()).await;
    let id = a.session("2025-11-25").await;
    let ask = |number: u64| {
        let ask = a.ask("GET").header("Accept", "text/event-stream").header("Mcp-Session-Id", &id);
        ask.header("Last-Event-ID", &format!("{}-1", (9 << 32) | number))
    };
    let mut waiting = Vec::new();
    for number in 0..32 {
        waiting.push(ask(number).start().await);
    }
    let refused = AtomicUsize::new(0);
    eventually_async("each is waited for", async || {
        let status = ask(99).send().await.status;
        refused.fetch_add(usize::from(status == 503), SeqCst) > 0
    })
    .await;
    drop(waiting);
    eventually_async("it stays busy", async || ask(99).send().await.status == 400).await;
}

#[tokio::test]
async fn http_38_a_greedy_session_does_not_push_out_the_events_of_another() {
    const REVISION: &str = "2025-11-25";
    let (store, few) = (store(), || HttpOptions::default().with_replay_events(8));
    let (a, b) = (worker_with(&store, few()).await, worker_with(&store, few()).await);
    // The end of a task is announced on the stream of its session.
    let quick = Tool::new("quick", "Is done.", async || "done").task(TaskSupport::Optional);
    a.server.add_tool(quick).unwrap();
    let run = async |session: &str, times: usize| {
        for _ in 0..times {
            let params = json!({"name": "quick", "arguments": {}, "task": {}});
            assert_eq!(a.ask_in(session, "tools/call", params).await.status, 200);
        }
    };
    let (bystander, greedy) = (a.session(REVISION).await, a.session(REVISION).await);
    assert_eq!(a.ask_in(&bystander, "resources/subscribe", json!({"uri": MOOD})).await.status, 200);
    let mut last = Vec::new();
    for session in [&bystander, &greedy] {
        let mut stream = a.stream_of(session, None).await;
        run(session, 1).await;
        stream.until("notifications/tasks/status").await;
        last.push(last_id(&stream));
    }
    // Nothing reads: the bystander misses one of its own events, and one change.
    run(&bystander, 1).await;
    a.server.resource_updated(MOOD);
    run(&greedy, 20).await;
    // A greedy tool: more changes than the log of all processes stores.
    let seen = Cell::new(0);
    for number in 0..11_000 {
        a.server.resource_updated(&format!("noise://{number}"));
        if number % 1000 == 999 {
            let latest = format!("noise://{number}\"");
            eventually_async("the store does not have it", async || {
                let entries = store.read("v1/workers", seen.get(), 20_000, Duration::ZERO).await.unwrap();
                seen.set(entries.last().map_or(seen.get(), |entry| entry.position - 1));
                entries.last().is_some_and(|entry| entry.text.contains(&latest))
            })
            .await;
        }
    }
    let oldest = store.read("v1/workers", 0, 1, Duration::ZERO).await.unwrap();
    assert!(oldest[0].text.contains("noise://"), "{oldest:?}");
    let mut stream = b.stream_of(&bystander, Some(&last[0])).await;
    stream.until("notifications/tasks/status").await;
    assert_eq!(stream.text().matches("resources/updated").count(), 1, "{}", stream.text());
    // Its own events are bounded, and it learns so.
    let again = b.ask("GET").header("Accept", "text/event-stream").header("Mcp-Session-Id", &greedy);
    assert_eq!(again.header("Last-Event-ID", &last[1]).send().await.status, 400);
    // Live again: changes of others are skipped, and its own arrives.
    a.server.resource_updated("noise://more");
    stream.received.clear();
    a.server.resource_updated(MOOD);
    stream.until("resources/updated").await;
    assert!(!stream.text().contains("noise"), "{}", stream.text());
    run(&bystander, 1).await;
    stream.until("notifications/tasks/status").await;
    assert_eq!(stream.text().matches("resources/updated").count(), 1, "{}", stream.text());
}

/// With its result, the change of a task can be too large for the store, and is then tried again.
#[tokio::test]
async fn a_change_of_a_task_that_does_not_fit_delays_no_other_change() {
    let store: Arc<dyn Store> = Arc::new(ProcessStore::with_capacity(TokioRuntime::current(), 300 << 10));
    let (a, b) = (worker(&store).await, worker(&store).await);
    let large = Tool::new("large", "Says much.", async || "x".repeat(200 << 10)).task(TaskSupport::Optional);
    a.server.add_tool(large).unwrap();
    let id = b.session("2025-11-25").await;
    assert_eq!(b.ask_in(&id, "resources/subscribe", json!({"uri": MOOD})).await.status, 200);
    let mut stream = b.stream_of(&id, None).await;
    let call = json!({"name": "large", "arguments": {}, "task": {}});
    let task = a.ask_in(&id, "tools/call", call).await.json()["result"]["task"]["taskId"].take();
    // The result is stored, and there is no room for it a second time.
    let result = a.ask_in(&id, "tasks/result", json!({"taskId": task})).await;
    assert_eq!(result.status, 200, "{result:?}");
    a.server.resource_updated(MOOD);
    stream.until("resources/updated").await;
}

/// A long change is stored outside of the log of changes.
#[tokio::test]
async fn http_38_a_long_change_reaches_a_stream_at_a_process_that_joins_later() {
    let store = store();
    let long = format!("mood://{}", "x".repeat(8_000));
    let a = worker(&store).await;
    a.server.add_resource(Resource::new(&long, "long", async || "fine")).unwrap();
    let id = a.session("2025-11-25").await;
    for uri in [MOOD, &long] {
        assert_eq!(a.ask_in(&id, "resources/subscribe", json!({"uri": uri})).await.status, 200);
    }
    let mut stream = a.stream_of(&id, None).await;
    a.server.resource_updated(MOOD);
    stream.until("resources/updated").await;
    let last = last_id(&stream);
    drop(stream);
    a.server.resource_updated(&long);
    eventually_async("the store does not have it", async || {
        let changes = store.read("v1/workers", 0, 99, Duration::ZERO).await.unwrap();
        changes.last().is_some_and(|entry| entry.text.starts_with("@v1/workers/"))
    })
    .await;
    let b = worker(&store).await;
    let mut stream = b.stream_of(&id, Some(&last)).await;
    stream.until(&long).await;
    assert_eq!(stream.text().matches("resources/updated").count(), 1, "{}", stream.text());
}

#[tokio::test]
async fn a_client_without_an_event_id_gets_unread_messages() {
    let [a, b, c] = workers().await;
    let id = a.session("2025-06-18").await;
    b.server.remove_tool("echo");
    let mut stream = c.stream_of(&id, None).await;
    stream.until("tools/list_changed").await;
    drop(stream);
    // The position is stored a moment later.
    sleep(Duration::from_millis(1500)).await;
    assert_eq!(a.ask_in(&id, "resources/subscribe", json!({"uri": MOOD})).await.status, 200);
    b.server.resource_updated(MOOD);
    let mut stream = a.stream_of(&id, None).await;
    stream.until("resources/updated").await;
    assert!(!stream.text().contains("tools/list_changed"), "{}", stream.text());
}

#[tokio::test]
async fn what_a_client_answers_and_cancels_at_any_process_reaches_its_call() {
    let [a, b, c] = workers().await;
    let ask = async |ctx: Context| {
        let question = ElicitParams::form("Which word?", FormSchema::new().required("word", Field::text()));
        let answer = ctx.elicit(question).await?;
        let word = answer.content.as_ref().and_then(|content| content.get("word")?.as_str().map(str::to_owned));
        Ok::<_, ToolError>(word.unwrap_or_default())
    };
    for fixture in [&a, &b] {
        fixture.server.add_tool(Tool::new("ask", "Asks.", ask)).unwrap();
    }
    let mut open = initialize("2025-06-18");
    open["params"]["capabilities"] = json!({"elicitation": {}});
    let id = c.post(&[], &open).await.header("mcp-session-id").unwrap().to_owned();
    c.post(&[("Mcp-Session-Id", &id)], &notification("notifications/initialized")).await;
    let call_at = async |fixture: &Fixture, number: i64, tool: &str, arguments: Value| {
        let body = json!({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": call(tool, arguments)});
        fixture.ask("POST").json(&body).header("Mcp-Session-Id", &id).header("Connection", "close").start().await
    };
    let mut calls = Vec::new();
    for (fixture, number) in [(&a, 1), (&b, 2)] {
        let mut stream = call_at(fixture, number, "ask", json!({})).await;
        stream.until("elicitation/create").await;
        let asked = last_message(&stream);
        calls.push((stream, asked["id"].clone(), format!("word {number}")));
    }
    assert_ne!(calls[0].1, calls[1].1, "RPC-05");
    for (_, asked, word) in &calls {
        let result = json!({"action": "accept", "content": {"word": word}});
        let answer = json!({"jsonrpc": "2.0", "id": asked, "result": result});
        assert_eq!(c.post(&[("Mcp-Session-Id", &id)], &answer).await.status, 202);
    }
    for (stream, _, word) in calls {
        let events = stream.finish().await.events();
        assert_eq!(events.last().unwrap()["result"]["content"][0]["text"], *word, "{events:?}");
    }
    // CAN-01
    let cancelled = call_at(&a, 3, "wait", json!({"milliseconds": 60_000})).await;
    a.until_begun(1).await;
    let params = json!({"requestId": 3, "reason": "no more"});
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params});
    assert_eq!(b.post(&[("Mcp-Session-Id", &id)], &cancel).await.status, 202);
    assert_eq!(cancelled.finish().await.events().len(), 0);
    eventually("it still runs", || a.ends.dropped.load(std::sync::atomic::Ordering::SeqCst) == 1).await;
}

#[tokio::test]
async fn long_uris_do_not_fill_the_store() {
    let store: Arc<dyn Store> = Arc::new(ProcessStore::with_capacity(TokioRuntime::current(), 4 << 20));
    let fixture = worker(&store).await;
    let uri = format!("{MOOD}/{}", "x".repeat(1 << 20));
    fixture.server.add_resource(Resource::new(&uri, "long", async || "fine")).unwrap();
    let id = fixture.session("2025-11-25").await;
    for _ in 0..5 {
        let subscribed = fixture.ask_in(&id, "resources/subscribe", json!({"uri": uri})).await;
        assert_eq!(subscribed.error(), (200, -32602));
        assert_eq!(fixture.ask_in(&id, "resources/unsubscribe", json!({"uri": uri})).await.status, 200);
    }
    assert_eq!(fixture.ask_in(&id, "resources/subscribe", json!({"uri": MOOD})).await.status, 200);
}

/// A process that could not renew its lease while the store was away seems dead until it does.
#[tokio::test]
async fn an_answer_for_a_process_that_seems_dead_is_not_accepted() {
    let store = store();
    let faulty = FaultyStore::new(Arc::clone(&store));
    let (a, b) = (worker(&(Arc::clone(&faulty) as Arc<dyn Store>)).await, worker(&store).await);
    let ask = async |ctx: Context| {
        let question = ElicitParams::form("Which word?", FormSchema::new().required("word", Field::text()));
        Ok::<_, ToolError>(json!(ctx.elicit(question).await?.content).to_string())
    };
    a.server.add_tool(Tool::new("ask", "Asks.", ask)).unwrap();
    let mut open = initialize("2025-11-25");
    open["params"]["capabilities"] = json!({"elicitation": {}});
    let id = a.post(&[], &open).await.header("mcp-session-id").unwrap().to_owned();
    let call = request("tools/call", json!({"name": "ask", "arguments": {}}));
    let called = a.ask("POST").json(&call).header("Mcp-Session-Id", &id).header("Connection", "close");
    let mut stream = called.start().await;
    stream.until("elicitation/create").await;
    let asked = last_message(&stream);
    let lease = format!("v1/worker/{}", asked["id"].as_str().unwrap().split_once('-').unwrap().0);
    let result = json!({"action": "accept", "content": {"word": "yes"}});
    let answer = json!({"jsonrpc": "2.0", "id": asked["id"], "result": result});
    faulty.set_away(true);
    store.remove(&lease).await.unwrap();
    let refused = b.post(&[("Mcp-Session-Id", &id)], &answer).await;
    assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")), "{refused:?}");
    faulty.set_away(false);
    store.put(&lease, "1", Duration::from_secs(8)).await.unwrap();
    assert_eq!(b.post(&[("Mcp-Session-Id", &id)], &answer).await.status, 202);
    let events = stream.finish().await.events();
    assert_eq!(events.last().unwrap()["result"]["content"][0]["text"], r#"{"word":"yes"}"#, "{events:?}");
}

/// Where the task runs, where its result is asked for, and where the answer comes in differ.
#[tokio::test]
async fn tsk_19_a_task_asks_on_the_stream_of_a_request_for_its_result_at_any_process() {
    let [a, b, c] = workers().await;
    let ask = async |ctx: Context| {
        let question = ElicitParams::form("Which word?", FormSchema::new().required("word", Field::text()));
        Ok::<_, ToolError>(json!(ctx.elicit(question).await?.content).to_string())
    };
    for fixture in [&a, &b, &c] {
        fixture.server.add_tool(Tool::new("ask-task", "Asks.", ask).task(TaskSupport::Required)).unwrap();
    }
    let mut open = initialize("2025-11-25");
    open["params"]["capabilities"] = json!({"elicitation": {}});
    let id = c.post(&[], &open).await.header("mcp-session-id").unwrap().to_owned();
    c.post(&[("Mcp-Session-Id", &id)], &notification("notifications/initialized")).await;
    let task = json!({"name": "ask-task", "arguments": {}, "task": {}});
    let task = a.ask_in(&id, "tools/call", task).await.json()["result"]["task"]["taskId"].clone();
    let body = json!({"jsonrpc": "2.0", "id": 7, "method": "tasks/result", "params": {"taskId": task}});
    let fetch = b.ask("POST").json(&body).header("Mcp-Session-Id", &id).header("Connection", "close");
    let mut stream = fetch.start().await;
    stream.until("elicitation/create").await;
    let asked = last_message(&stream);
    let result = json!({"action": "accept", "content": {"word": "yes"}});
    let answer = json!({"jsonrpc": "2.0", "id": asked["id"], "result": result});
    assert_eq!(c.post(&[("Mcp-Session-Id", &id)], &answer).await.status, 202);
    let events = stream.finish().await.events();
    assert_eq!(events.last().unwrap()["result"]["content"][0]["text"], r#"{"word":"yes"}"#, "{events:?}");
}

#[tokio::test]
async fn http_38_a_call_is_read_on_at_any_process() {
    let [a, b, c] = workers().await;
    let gate = Gate::add(&a.server);
    for revision in ["2025-06-18", "2025-11-25"] {
        let id = a.session(revision).await;
        let mut stream = a.ask("POST").json(&Gate::call(5, false, true)).header("Mcp-Session-Id", &id).start().await;
        stream.until("notifications/progress").await;
        // The stream continues at b while the first connection is still open, then at c.
        let mut at_b = b.stream_of(&id, Some(&last_id(&stream))).await;
        gate.open(1);
        at_b.until("let through").await;
        assert_eq!(at_b.text().matches("notifications/progress").count(), 1, "{}", at_b.text());
        let again = c.ask("GET").header("Accept", "text/event-stream").header("Mcp-Session-Id", &id);
        let again = again.header("Last-Event-ID", &last_id(&stream)).send().await;
        let events = again.events();
        assert_eq!(events.len(), 2, "{events:?}");
        assert_eq!((&events[0]["params"]["progress"], &events[1]["id"]), (&json!(2), &json!(5)));
        drop(stream);
        // SEC-04: no other session has that stream.
        let other = a.session(revision).await;
        let foreign = c.ask("GET").header("Accept", "text/event-stream").header("Mcp-Session-Id", &other);
        assert_eq!(foreign.header("Last-Event-ID", again.ids()[0]).send().await.status, 400);
    }
}

/// As in the memory of the process that serves the call.
#[tokio::test]
async fn http_38_a_large_response_does_not_push_out_the_small_events_before_it() {
    let store = store();
    let (a, b) = (worker(&store).await, worker(&store).await);
    let large = async |context: Context| {
        for step in 1..=20 {
            context.progress(f64::from(step), None).await;
        }
        "x".repeat(1 << 20)
    };
    a.server.add_tool(Tool::new("large", "Says much at the end.", large)).unwrap();
    let id = a.session("2025-11-25").await;
    let params = json!({"name": "large", "arguments": {}, "_meta": {"progressToken": 1}});
    let first = a.ask_in(&id, "tools/call", params).await.ids()[0].to_owned();
    let log = format!("v1/session/{id}/stream/{}", first.split_once('-').unwrap().0);
    eventually_async("it is not stored", async || {
        let entries = store.read(&log, 0, 99, Duration::ZERO).await.unwrap();
        entries.last().is_some_and(|last| last.text == r#""finished""#)
    })
    .await;
    let again = b.ask("GET").header("Accept", "text/event-stream").header("Mcp-Session-Id", &id);
    let again = again.header("Last-Event-ID", &first).send().await;
    assert_eq!((again.status, again.events().len()), (200, 21), "{}", &again.body[..200]);
}

/// The store keeps no more of a session than `replay_bytes`, for however many calls.
#[tokio::test]
async fn http_38_a_greedy_session_does_not_fill_the_store() {
    let (store, few) = (store(), || HttpOptions::default().with_replay_bytes(8_000));
    let (a, b) = (worker_with(&store, few()).await, worker_with(&store, few()).await);
    let long = async |context: Context| {
        context.progress(1.0, None).await;
        "x".repeat(3_000)
    };
    a.server.add_tool(Tool::new("long", "Says much.", long)).unwrap();
    let id = a.session("2025-11-25").await;
    let mut first_of = Vec::new();
    for number in 0..4 {
        let params = json!({"name": "long", "arguments": {}, "_meta": {"progressToken": number}});
        first_of.push(a.ask_in(&id, "tools/call", params).await.ids()[0].to_owned());
    }
    let read_after = async |last: &str| {
        let again = b.ask("GET").header("Accept", "text/event-stream").header("Mcp-Session-Id", &id);
        again.header("Last-Event-ID", last).send().await
    };
    eventually_async("it keeps the first", async || read_after(&first_of[0]).await.status == 400).await;
    let newest = read_after(&first_of[3]).await;
    assert_eq!(newest.events().last().unwrap()["result"]["content"][0]["text"], "x".repeat(3_000));
    let left = async |first: &str| {
        let number = first.split_once('-').unwrap().0;
        let left = store.read(&format!("v1/session/{id}/stream/{number}"), 0, 9, Duration::ZERO).await.unwrap();
        left.into_iter().map(|entry| entry.text).collect::<Vec<_>>()
    };
    let nothing = [r#""finished""#];
    assert_eq!(left(&first_of[0]).await, nothing);
    assert_ne!(left(&first_of[3]).await, nothing);
    // Nor of one that has ended: a client could open many, one after the other.
    assert_eq!(b.delete(&id).await, 204);
    eventually_async("it keeps the last", async || left(&first_of[3]).await == nothing).await;
}

/// Lookups of sessions in a store.
#[derive(Debug, Default)]
struct Lookups {
    running: AtomicUsize,
    /// The most at once.
    most: AtomicUsize,
}

/// A store with slow appends, which counts lookups of sessions.
struct Slow(Arc<FaultyStore>, Duration, Arc<Lookups>);

impl Store for Slow {
    fn get(&self, key: &str) -> BoxedTask<Result<Option<String>, StoreError>> {
        let (got, lookups) = (self.0.get(key), Arc::clone(&self.2));
        if !key.starts_with("v1/session/") {
            return got;
        }
        Box::pin(async move {
            lookups.most.fetch_max(lookups.running.fetch_add(1, SeqCst) + 1, SeqCst);
            sleep(Duration::from_millis(5)).await;
            lookups.running.fetch_sub(1, SeqCst);
            got.await
        })
    }

    fn put(&self, key: &str, text: &str, keep_for: Duration) -> BoxedTask<Result<(), StoreError>> {
        self.0.put(key, text, keep_for)
    }

    fn put_if(
        &self,
        key: &str,
        expected: Option<&str>,
        text: &str,
        keep_for: Duration,
    ) -> BoxedTask<Result<bool, StoreError>> {
        self.0.put_if(key, expected, text, keep_for)
    }

    fn remove(&self, key: &str) -> BoxedTask<Result<(), StoreError>> {
        self.0.remove(key)
    }

    fn append(&self, log: &str, entry: &str, max: usize, keep_for: Duration) -> BoxedTask<Result<u64, StoreError>> {
        let (store, log, entry, delay) = (Arc::clone(&self.0), log.to_owned(), entry.to_owned(), self.1);
        if delay.is_zero() {
            return store.append(&log, &entry, max, keep_for);
        }
        Box::pin(async move {
            sleep(delay).await;
            store.append(&log, &entry, max, keep_for).await
        })
    }

    fn read(
        &self,
        log: &str,
        after: u64,
        limit: usize,
        wait: Duration,
    ) -> BoxedTask<Result<Vec<LogEntry>, StoreError>> {
        self.0.read(log, after, limit, wait)
    }
}

#[tokio::test]
async fn a_call_whose_process_died_fails_with_a_typed_error_at_another() {
    let store = store();
    let killed = FaultyStore::new(Arc::clone(&store));
    let slow = Slow(Arc::clone(&killed), Duration::from_millis(100), Arc::default());
    let a = worker(&(Arc::new(slow) as Arc<dyn Store>)).await;
    let b = worker(&store).await;
    let _gate = Gate::add(&a.server);
    let id = a.session("2025-11-25").await;
    let mut stream = a.ask("POST").json(&Gate::call(5, false, true)).header("Mcp-Session-Id", &id).start().await;
    stream.until("notifications/progress").await;
    let last = last_id(&stream);
    // Like a process that was killed as soon as its client knew of the stream: it sends nothing
    // more, and its lease has expired.
    killed.set_away(true);
    let number: u64 = last.split_once('-').unwrap().0.parse().unwrap();
    let lease = format!("v1/worker/{}", number >> 32);
    assert!(store.get(&lease).await.unwrap().is_some());
    sleep(Duration::from_millis(500)).await;
    store.remove(&lease).await.unwrap();
    // Until the client has read it, however often its connection breaks.
    drop(b.stream_of(&id, Some(&last)).await);
    for _ in 0..2 {
        let mut resumed = b.stream_of(&id, Some(&last)).await;
        resumed.until("\r\n0\r\n\r\n").await;
        let answer = last_message(&resumed);
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(5), &json!(-32603)), "{answer}");
        assert_eq!(answer["error"]["data"]["reason"], "interrupted");
    }
    // The session continues.
    assert_eq!(b.ask_in(&id, "ping", json!({})).await.status, 200);
}

/// The store was away for all processes, and one needs longer to notice that it is back.
#[tokio::test]
async fn a_call_is_not_given_up_because_the_store_was_away() {
    let store = store();
    let [of_a, of_b] = [(); 2].map(|()| FaultyStore::new(Arc::clone(&store)));
    let a = worker(&(Arc::clone(&of_a) as Arc<dyn Store>)).await;
    let b = worker(&(Arc::clone(&of_b) as Arc<dyn Store>)).await;
    let gate = Gate::add(&a.server);
    let id = a.session("2025-11-25").await;
    assert_eq!(b.ask_in(&id, "ping", json!({})).await.status, 200);
    let mut stream = a.ask("POST").json(&Gate::call(5, false, true)).header("Mcp-Session-Id", &id).start().await;
    stream.until("notifications/progress").await;
    let last = last_id(&stream);
    let lease = format!("v1/worker/{}", last.split_once('-').unwrap().0.parse::<u64>().unwrap() >> 32);
    of_a.set_away(true);
    of_b.set_away(true);
    // Renewals fail, and leases expire.
    sleep(Duration::from_millis(2500)).await;
    store.remove(&lease).await.unwrap();
    of_b.set_away(false);
    eventually_async("b is not in service again", async || b.ask_in(&id, "ping", json!({})).await.status == 200).await;
    let mut at_b = b.stream_of(&id, Some(&last)).await;
    sleep(Duration::from_millis(2500)).await;
    store.put(&lease, "1", Duration::from_secs(60)).await.unwrap();
    of_a.set_away(false);
    gate.open(1);
    at_b.until("let through").await;
}

/// Once its record is gone, nobody could end it a second time.
#[tokio::test]
async fn a_session_ends_everywhere_although_its_client_does_not_wait_for_that() {
    let store = store();
    let slow = Slow(FaultyStore::new(Arc::clone(&store)), Duration::from_millis(300), Arc::default());
    let a = worker(&(Arc::new(slow) as Arc<dyn Store>)).await;
    let b = worker(&store).await;
    let id = a.session("2025-11-25").await;
    assert_eq!(b.ask_in(&id, "ping", json!({})).await.status, 200);
    let deleting = a.ask("DELETE").header("Mcp-Session-Id", &id).start().await;
    let record = format!("v1/session/{id}");
    eventually_async("it has a record", async || store.get(&record).await.unwrap().is_none()).await;
    drop(deleting);
    for worker in [&a, &b] {
        eventually_async("it is served", async || worker.ask_in(&id, "ping", json!({})).await.status == 404).await;
    }
}

/// The stream ends, and its client resumes it at another process.
#[tokio::test]
async fn a_process_that_closes_does_not_wait_for_the_calls_of_others() {
    let [a, b, _] = workers().await;
    let gate = Gate::add(&a.server);
    let id = a.session("2025-11-25").await;
    let mut stream = a.ask("POST").json(&Gate::call(5, false, true)).header("Mcp-Session-Id", &id).start().await;
    stream.until("notifications/progress").await;
    let last = last_id(&stream);
    let mut at_b = b.stream_of(&id, Some(&last)).await;
    let start = Instant::now();
    b.listener.close(Duration::from_secs(60)).await;
    assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
    at_b.until("\r\n0\r\n\r\n").await;
    let mut resumed = a.stream_of(&id, Some(&last)).await;
    gate.open(1);
    resumed.until("let through").await;
}

/// Otherwise it would be lost with the process: the other ones would report an interrupted call.
#[tokio::test]
async fn the_last_response_of_a_process_that_closes_is_stored() {
    let store = store();
    let slow = Slow(FaultyStore::new(Arc::clone(&store)), Duration::from_millis(50), Arc::default());
    let a = worker(&(Arc::new(slow) as Arc<dyn Store>)).await;
    let b = worker(&store).await;
    let gate = Gate::add(&a.server);
    let id = a.session("2025-11-25").await;
    // Its client polls, and reads nothing when the call ends.
    let first = a.ask("POST").json(&Gate::call(5, true, false)).header("Mcp-Session-Id", &id).send().await;
    let last = first.ids().pop().unwrap().to_owned();
    gate.open(1);
    a.listener.close(Duration::from_secs(10)).await;
    let log = format!("v1/session/{id}/stream/{}", last.split_once('-').unwrap().0);
    let stored = store.read(&log, 0, 9, Duration::ZERO).await.unwrap();
    assert!(stored.iter().any(|entry| entry.text.contains("let through")), "{stored:?}");
    let mut resumed = b.stream_of(&id, Some(&last)).await;
    resumed.until("let through").await;
}

#[tokio::test]
async fn the_endpoints_of_a_server_share_one_opening_of_its_store_and_announce_a_change_once() {
    let options = ServerOptions::default().with_store(StoreChoice::url("memory:"));
    let one = Fixture::with(HttpOptions::default(), options).await;
    one.server.add_resource(Resource::new(MOOD, "mood", async || "fine")).unwrap();
    let listener = one.server.listen_with(HttpOptions::default().with_port(0)).await.unwrap();
    let address = listener.url().unwrap().trim_start_matches("http://").trim_end_matches("/mcp").parse().unwrap();
    let other = Fixture { listener, address, server: one.server.clone(), ends: one.ends.clone() };
    let id = one.session("2025-11-25").await;
    assert_eq!(other.ask_in(&id, "resources/subscribe", json!({"uri": MOOD})).await.status, 200);
    let filter = json!({"notifications": {"toolsListChanged": true, "resourceSubscriptions": [MOOD]}});
    let listen = other.modern("subscriptions/listen", filter).header("Accept", "application/json, text/event-stream");
    let mut listening = listen.start().await;
    listening.until("notifications/subscriptions/acknowledged").await;
    let mut stream = one.stream_of(&id, None).await;
    one.server.resource_updated(MOOD);
    stream.until("resources/updated").await;
    listening.until("resources/updated").await;
    one.server.remove_tool("echo");
    for stream in [&mut stream, &mut listening] {
        stream.until("tools/list_changed").await;
        assert_eq!(stream.text().matches("resources/updated").count(), 1, "{}", stream.text());
    }
}

#[tokio::test]
async fn a_change_whose_client_disconnects_is_stored_with_the_next_request() {
    let store = store();
    let faulty = FaultyStore::new(Arc::clone(&store));
    let (a, b) = (worker(&(Arc::clone(&faulty) as Arc<dyn Store>)).await, worker(&store).await);
    let id = a.session("2025-11-25").await;
    let mut stream = b.stream_of(&id, None).await;
    faulty.set(Some(StoreFault::Silent));
    let before = faulty.calls();
    let subscribe = request("resources/subscribe", json!({"uri": MOOD}));
    let subscribing = a.ask("POST").header("Mcp-Session-Id", &id).json(&subscribe).start().await;
    eventually("nothing is being stored", || faulty.calls() > before).await;
    drop(subscribing);
    faulty.set(None);
    assert_eq!(a.ask_in(&id, "ping", json!({})).await.status, 200);
    b.server.resource_updated(MOOD);
    stream.until("resources/updated").await;
}

/// Each change writes the whole record of a session.
#[tokio::test]
async fn changes_of_a_session_with_a_long_record_leave_the_store_to_others() {
    let fixture = worker(&store()).await;
    let id = fixture.session("2025-11-25").await;
    let uris: Vec<_> = (0..64).map(|number| format!("{MOOD}/{number}/{}", "x".repeat(15 << 10))).collect();
    for uri in &uris {
        fixture.server.add_resource(Resource::new(uri, uri, async || "fine")).unwrap();
        assert_eq!(fixture.ask_in(&id, "resources/subscribe", json!({"uri": uri})).await.status, 200);
    }
    let start = Instant::now();
    for uri in &uris[..8] {
        assert_eq!(fixture.ask_in(&id, "resources/unsubscribe", json!({"uri": uri})).await.status, 200);
    }
    assert!(start.elapsed() > Duration::from_millis(400), "{:?}", start.elapsed());
}

#[tokio::test]
async fn while_the_store_is_away_clients_learn_it_at_once_and_nothing_is_lost() {
    let faulty = FaultyStore::new(store());
    let store: Arc<dyn Store> = Arc::clone(&faulty) as _;
    let (a, b) = (worker(&store).await, worker(&store).await);
    let id = a.session("2025-06-18").await;
    let mut stream = a.stream_of(&id, None).await;
    faulty.set_away(true);
    let answer = b.ask_in(&id, "ping", json!({})).await;
    assert_eq!((answer.status, answer.header("retry-after")), (503, Some("1")), "{answer:?}");
    assert!(
        answer.body.contains("the store of sessions is not available") && !answer.body.contains("test:"),
        "{answer:?}"
    );
    assert_eq!(b.post(&[], &initialize("2025-06-18")).await.status, 503);
    let sessions = || [&a, &b].map(|worker| worker.server.load().sessions());
    assert!(b.server.load().store_errors() > 0);
    assert_eq!(sessions(), [1, 0]);
    // The session continues at its worker, also after a change, and modern requests need no store.
    for _ in 0..2 {
        assert_eq!(a.ask_in(&id, "ping", json!({})).await.status, 200);
        assert_eq!(a.ask_in(&id, "resources/subscribe", json!({"uri": MOOD})).await.status, 503);
    }
    assert_eq!(b.modern("tools/list", json!({})).send().await.status, 200);
    b.server.remove_tool("echo");
    sleep(Duration::from_millis(300)).await;
    faulty.set_away(false);
    stream.until("tools/list_changed").await;
    eventually_async("a does not store the change", async || {
        a.ask_in(&id, "resources/subscribe", json!({"uri": MOOD})).await.status == 200
    })
    .await;
    eventually_async("b is not in service again", async || b.ask_in(&id, "ping", json!({})).await.status == 200).await;
    assert_eq!(sessions(), [1, 1], "both serve it");
    assert_eq!(b.delete(&id).await, 204);
    eventually("it is still counted", || sessions() == [0, 0]).await;
}
