//! Transports of a program's own.

use super::*;
use bytes::Bytes;
use tokio::sync::{Mutex as AsyncMutex, mpsc};
use trunkline::{
    RevisionChoice, Server,
    client::{ErrorKind, RequestOptions},
    runtime::BoxedTask,
    transport::{Channel, ChannelConnector},
};

/// The server of a channel: returns the responses to a message, or ends the connection.
type Answer = fn(&Value) -> Option<Vec<Value>>;

/// The faults of channels, and the counts of what was done with them.
#[derive(Default)]
struct Faults {
    opened: AtomicUsize,
    closed: AtomicUsize,
    refuses: AtomicUsize,
    fails_to_send: AtomicUsize,
    hangs: AtomicUsize,
    panics: AtomicUsize,
    closes_slowly: AtomicUsize,
}

fn is_set(fault: &AtomicUsize) -> bool {
    fault.load(Ordering::Relaxed) == 1
}

/// Takes a fault away, if it is there.
fn once(fault: &AtomicUsize) -> bool {
    fault.swap(0, Ordering::Relaxed) == 1
}

struct Queues {
    faults: Arc<Faults>,
    answer: Answer,
    to_client: Mutex<Option<mpsc::UnboundedSender<Bytes>>>,
    from_server: AsyncMutex<mpsc::UnboundedReceiver<Bytes>>,
}

impl Channel for Queues {
    async fn send(&self, message: Bytes) -> Result<(), LinkFailure> {
        if once(&self.faults.fails_to_send) {
            return Err(LinkFailure::Broken("the wire is cut".to_owned()));
        }
        if is_set(&self.faults.hangs) {
            std::future::pending::<()>().await;
        }
        assert!(!message.contains(&b'\n'), "STD-20: a message is a line");
        let answers = (self.answer)(&serde_json::from_slice(&message).unwrap());
        let mut to_client = self.to_client.lock().unwrap();
        match answers {
            None => *to_client = None,
            Some(answers) => {
                for answer in answers {
                    to_client.as_ref().unwrap().send(answer.to_string().into()).unwrap();
                }
            }
        }
        Ok(())
    }

    async fn receive(&self) -> Result<Option<Bytes>, LinkFailure> {
        let received = self.from_server.lock().await.recv().await;
        assert!(!once(&self.faults.panics), "on purpose");
        Ok(received)
    }

    async fn close(&self) {
        if is_set(&self.faults.closes_slowly) {
            tokio::time::sleep(ms(200)).await;
        }
        self.faults.closed.fetch_add(1, Ordering::Relaxed);
        if is_set(&self.faults.hangs) {
            std::future::pending::<()>().await;
        }
    }
}

async fn open(faults: &Arc<Faults>, answer: Answer, options: ClientOptions) -> Result<Client, ClientError> {
    Client::connect_with(connector(faults, answer), options, ()).await
}

fn connector(
    faults: &Arc<Faults>,
    answer: Answer,
) -> ChannelConnector<impl Fn() -> BoxedTask<Result<Queues, LinkFailure>> + Send + Sync + 'static> {
    let faults = Arc::clone(faults);
    ChannelConnector::new(move || {
        let faults = Arc::clone(&faults);
        Box::pin(async move {
            faults.opened.fetch_add(1, Ordering::Relaxed);
            if is_set(&faults.refuses) {
                return Err(LinkFailure::Unreachable("nobody is there".to_owned()));
            }
            let (to_client, from_server) = mpsc::unbounded_channel();
            let (to_client, from_server) = (Mutex::new(Some(to_client)), AsyncMutex::new(from_server));
            Ok(Queues { faults, answer, to_client, from_server })
        }) as BoxedTask<_>
    })
}

fn result(request: &Value, result: Value) -> Option<Vec<Value>> {
    Some(vec![json!({"jsonrpc": "2.0", "id": request["id"], "result": result})])
}

/// A server of both eras.
fn dual(message: &Value) -> Option<Vec<Value>> {
    let of_list = json!({"resultType": "complete", "tools": [], "ttlMs": 0, "cacheScope": "private"});
    match message["method"].as_str() {
        Some("server/discover") => result(
            message,
            json!({"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {}, "ttlMs": 0,
                "cacheScope": "private"}),
        ),
        Some("tools/list") => result(message, of_list),
        _ => legacy(message),
    }
}

/// A server of the legacy era that ends the connection when it is asked for something else first.
fn legacy(message: &Value) -> Option<Vec<Value>> {
    match message["method"].as_str() {
        Some("initialize") => result(
            message,
            json!({"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "old", "version": "1"}}),
        ),
        Some("server/discover") => None,
        Some("tools/list") => result(message, json!({"tools": []})),
        _ => Some(Vec::new()),
    }
}

fn pinned(revision: Revision) -> ClientOptions {
    ClientOptions::default().with_revision(RevisionChoice::Pinned(revision))
}

async fn list(client: &Client, timeout: Duration) -> Result<RawJson, ClientError> {
    client.request("tools/list", None, &RequestOptions::default().with_timeout(timeout)).await
}

#[tokio::test]
async fn std_17_std_18_a_channel_carries_both_eras() {
    for (answer, options, revision, opened) in [
        (dual as Answer, ClientOptions::default(), Revision::V2026_07_28, 1),
        (dual, pinned(Revision::V2025_06_18), Revision::V2025_06_18, 1),
        (dual, pinned(Revision::V2026_07_28), Revision::V2026_07_28, 1),
        // The legacy server has ended the first one.
        (legacy, ClientOptions::default(), Revision::V2025_06_18, 2),
    ] {
        let faults = Arc::default();
        let client = open(&faults, answer, options).await.unwrap();
        assert_eq!(client.revision(), revision);
        list(&client, ms(10_000)).await.unwrap();
        client.close().await;
        assert_eq!(faults.opened.load(Ordering::Relaxed), opened, "{revision}");
        assert_eq!(faults.closed.load(Ordering::Relaxed), opened, "{revision}: each is closed once");
    }
}

#[tokio::test]
async fn a_channel_that_fails_costs_its_calls_and_the_next_call_opens_another_one() {
    let faults = Arc::<Faults>::default();
    let client = open(&faults, dual, pinned(Revision::V2025_06_18)).await.unwrap();
    for fault in [&faults.fails_to_send, &faults.panics] {
        fault.store(1, Ordering::Relaxed);
        let error = list(&client, ms(10_000)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Transport, "{error}");
        list(&client, ms(10_000)).await.unwrap();
    }
    assert_eq!(faults.opened.load(Ordering::Relaxed), 3);
    client.close().await;

    faults.refuses.store(1, Ordering::Relaxed);
    let error = open(&faults, dual, ClientOptions::default()).await.err().unwrap();
    assert_eq!((error.kind(), error.to_string().as_str()), (ErrorKind::Transport, "nobody is there"));
}

#[tokio::test]
async fn closing_a_client_waits_until_a_channel_that_was_lost_is_closed() {
    for reconnects in [true, false] {
        let faults = Arc::<Faults>::default();
        let client = open(&faults, dual, pinned(Revision::V2025_06_18).with_reconnect(reconnects)).await.unwrap();
        faults.closes_slowly.store(1, Ordering::Relaxed);
        faults.fails_to_send.store(1, Ordering::Relaxed);
        assert_eq!(list(&client, ms(10_000)).await.unwrap_err().kind(), ErrorKind::Transport);
        client.close().await;
        assert_eq!(faults.closed.load(Ordering::Relaxed), 1, "{reconnects}");
    }
}

/// A server of the legacy era with a tool.
fn with_tool(message: &Value) -> Option<Vec<Value>> {
    match message["method"].as_str() {
        Some("initialize") => result(
            message,
            json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                "serverInfo": {"name": "old", "version": "1"}}),
        ),
        Some("tools/list") => result(message, json!({"tools": [{"name": "now", "inputSchema": {"type": "object"}}]})),
        Some("tools/call") => result(message, json!({"content": [{"type": "text", "text": "noon"}]})),
        _ => Some(Vec::new()),
    }
}

/// A transport of another language carries one connection at a time.
#[tokio::test]
async fn a_proxy_shares_an_exclusive_channel_between_its_callers() {
    for (is_exclusive, opened) in [(true, 1), (false, 3)] {
        let faults = Arc::<Faults>::default();
        let connector = connector(&faults, with_tool);
        let connector = if is_exclusive { connector.exclusive() } else { connector };
        let remote = Client::connect_with(connector, pinned(Revision::V2025_06_18), ()).await.unwrap();
        let gateway = Server::builder("gateway", "1").proxy(&remote).build();
        for revision in [Revision::V2025_06_18, Revision::V2025_11_25] {
            let caller = Client::connect_with(&gateway, pinned(revision), ()).await.unwrap();
            let (one, another) = tokio::join!(caller.call_tool("now", ()), caller.call_tool("now", ()));
            assert_eq!((one.unwrap().joined_text(), another.unwrap().joined_text()), ("noon".into(), "noon".into()));
            caller.close().await;
        }
        assert_eq!(faults.opened.load(Ordering::Relaxed), opened);
        remote.close().await;
    }
}

/// A server that ends the connection when its client listens for changes.
fn leaves(message: &Value) -> Option<Vec<Value>> {
    match message["method"].as_str() {
        Some("server/discover") => result(
            message,
            json!({"resultType": "complete", "supportedVersions": ["2026-07-28"],
                "capabilities": {"tools": {"listChanged": true}}, "ttlMs": 0, "cacheScope": "private"}),
        ),
        _ => None,
    }
}

#[tokio::test]
async fn an_opening_that_loses_its_channel_fails_when_that_is_closed() {
    for reconnects in [true, false] {
        let faults = Arc::<Faults>::default();
        faults.closes_slowly.store(1, Ordering::Relaxed);
        let options = ClientOptions::default().with_listen(true).with_reconnect(reconnects);
        let error = open(&faults, leaves, options).await.err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Transport, "{error}");
        assert_eq!(faults.closed.load(Ordering::Relaxed), 1, "{reconnects}");
    }
}

#[tokio::test]
async fn a_channel_that_hangs_delays_nothing_beyond_its_time() {
    let faults = Arc::<Faults>::default();
    let began = Instant::now();
    let client = open(&faults, dual, pinned(Revision::V2026_07_28)).await.unwrap();
    faults.hangs.store(1, Ordering::Relaxed);
    let error = list(&client, ms(50)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
    let text = "x".repeat(1 << 20);
    let params = RawJson::from_value(&json!({"name": text})).unwrap();
    let options = RequestOptions::default().with_timeout(ms(50));
    let mut kinds = Vec::new();
    for _ in 0..18 {
        kinds.push(client.request("prompts/get", Some(&params), &options).await.unwrap_err().kind());
    }
    assert_eq!((kinds[0], kinds[17]), (ErrorKind::Timeout, ErrorKind::Busy), "what waits is bounded");
    client.close_within(ms(0)).await;
    assert!(began.elapsed() < Duration::from_secs(10));
}

/// The transport of a binding is disposed of when connecting has failed.
#[tokio::test]
async fn a_channel_that_hangs_until_the_connect_timeout_is_closed() {
    let faults = Arc::<Faults>::default();
    faults.hangs.store(1, Ordering::Relaxed);
    faults.closes_slowly.store(1, Ordering::Relaxed);
    let options = pinned(Revision::V2025_06_18).with_connect_timeout(ms(50)).with_close_timeout(ms(1_000));
    let error = open(&faults, dual, options).await.err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
    assert_eq!(faults.closed.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn a_message_beyond_the_limit_fails_its_request_only() {
    fn long(message: &Value) -> Option<Vec<Value>> {
        match message["method"].as_str() {
            Some("prompts/list") => result(message, json!({"prompts": [], "x": "x".repeat(3_000)})),
            _ => dual(message),
        }
    }
    let faults = Arc::<Faults>::default();
    let options = pinned(Revision::V2025_06_18).with_max_message_bytes(2_000);
    let client = open(&faults, long, options).await.unwrap();
    let error = client.request("prompts/list", None, &RequestOptions::default()).await.unwrap_err();
    assert!(error.to_string().contains("more than 2000 bytes"), "{error}");
    list(&client, ms(10_000)).await.unwrap();
    assert_eq!(faults.opened.load(Ordering::Relaxed), 1);
    client.close().await;
}
