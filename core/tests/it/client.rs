//! The client against scripted servers: in this process under a clock of the test's own, and as
//! real child processes.

mod cache;
mod channels;
mod duplicates;
mod groups;
mod host;
mod host_tasks;
mod lazy;
mod negotiation;
mod odd_answers;
mod odd_requests;
mod operations;
mod pings;
mod processes;
mod reconnecting;
mod records;
mod requests;
mod skills;
mod subscriptions;
mod targets;
mod tasks;

use crate::wire::checker;
use serde_json::{Value, json};
use std::{
    collections::HashMap,
    future::poll_fn,
    sync::{
        Arc, Mutex, OnceLock,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    task::{Poll, Waker},
    time::{Duration, Instant},
};
use tokio::task::JoinHandle;
use trunkline::{
    client::{
        Client, ClientError, ClientEvents, ClientOptions, Connector, Inbox, Link, LinkFailure, LinkMessage, ProcessExit,
    },
    protocol::{RawJson, RequestId, Revision, model::AuthorizationDemand},
    runtime::{BoxedTask, Runtime},
    wire_log::WireLog,
};
use trunkline_wire::{Direction, Record};

/// Time that only passes when the test advances it.
#[derive(Default)]
struct Clock {
    state: Mutex<ClockState>,
    /// The wire log, if the test wants one.
    records: OnceLock<records::Records>,
}

struct ClockState {
    now: Instant,
    sleepers: Vec<Waker>,
}

impl Default for ClockState {
    fn default() -> Self {
        Self { now: Instant::now(), sleepers: Vec::new() }
    }
}

impl Clock {
    /// Lets time pass, and everything happen that it brings about.
    async fn advance(&self, time: Duration) {
        settle().await;
        let sleepers = {
            let mut state = self.state.lock().unwrap();
            state.now += time;
            std::mem::take(&mut state.sleepers)
        };
        sleepers.into_iter().for_each(Waker::wake);
        settle().await;
    }

    /// Number of tasks that wait for time to pass.
    async fn sleepers(&self) -> usize {
        self.advance(Duration::ZERO).await;
        self.state.lock().unwrap().sleepers.len()
    }
}

/// Lets everything happen that needs no time: the tests' runtime has one thread, so each turn runs
/// all that is ready.
async fn settle() {
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
}

#[derive(Clone)]
struct TestRuntime(Arc<Clock>);

impl Runtime for TestRuntime {
    fn spawn(&self, task: BoxedTask) {
        tokio::spawn(task);
    }

    fn now(&self) -> Instant {
        self.0.state.lock().unwrap().now
    }

    fn sleep_until(&self, at: Instant) -> BoxedTask {
        let clock = Arc::clone(&self.0);
        Box::pin(poll_fn(move |context| {
            let mut state = clock.state.lock().unwrap();
            if state.now >= at {
                return Poll::Ready(());
            }
            state.sleepers.push(context.waker().clone());
            Poll::Pending
        }))
    }

    fn wire_log(&self) -> Option<&dyn WireLog> {
        self.0.records.get().map(|records| records as &dyn WireLog)
    }
}

type Script = dyn FnMut(&Peer, &Value) + Send;

/// A server that follows a script.
struct Fake {
    script: Arc<Mutex<Script>>,
    pipe: bool,
    /// True if the server answers before the sending of a message returns.
    answers_at_once: AtomicBool,
    connections: AtomicUsize,
    seen: Arc<Mutex<Vec<(usize, Value)>>>,
    /// The methods of the requests for which the user may be asked to log in.
    attended: Arc<Mutex<Vec<String>>>,
    peers: Mutex<Vec<Peer>>,
    clock: Arc<Clock>,
}

impl Fake {
    /// A process on a pipe.
    fn process(script: impl FnMut(&Peer, &Value) + Send + 'static) -> Arc<Self> {
        Self::new(true, script)
    }

    fn new(pipe: bool, script: impl FnMut(&Peer, &Value) + Send + 'static) -> Arc<Self> {
        Arc::new(Self {
            script: Arc::new(Mutex::new(script)),
            pipe,
            answers_at_once: AtomicBool::new(false),
            connections: AtomicUsize::new(0),
            seen: Arc::default(),
            attended: Arc::default(),
            peers: Mutex::default(),
            clock: Arc::default(),
        })
    }

    /// Starts to connect.
    fn open(self: &Arc<Self>, options: ClientOptions) -> JoinHandle<Result<Client, ClientError>> {
        self.open_with(options, Heard::default())
    }

    fn open_with(self: &Arc<Self>, options: ClientOptions, events: Heard) -> JoinHandle<Result<Client, ClientError>> {
        let (runtime, connector) = (Arc::new(TestRuntime(Arc::clone(&self.clock))), Arc::clone(self));
        tokio::spawn(async move { Client::open(runtime, Arc::new(Shared(connector)), options, Arc::new(events)).await })
    }

    /// Connects to a server that needs no time.
    async fn connect(self: &Arc<Self>, options: ClientOptions) -> Client {
        self.open(options).await.unwrap().unwrap()
    }

    /// The messages that the server saw: the number of the connection, and the method or the id.
    fn seen(&self) -> Vec<(usize, String)> {
        let name = |message: &Value| {
            message["method"].as_str().map_or_else(|| format!("answer {}", message["id"]), str::to_owned)
        };
        self.seen.lock().unwrap().iter().map(|(connection, message)| (*connection, name(message))).collect()
    }

    fn first(&self) -> Value {
        self.seen.lock().unwrap().first().unwrap().1.clone()
    }

    fn last(&self) -> Value {
        self.seen.lock().unwrap().last().unwrap().1.clone()
    }

    fn peer(&self) -> Peer {
        self.peers.lock().unwrap().last().unwrap().clone()
    }
}

struct Shared(Arc<Fake>);

impl Connector for Shared {
    fn connect(&self, inbox: Arc<dyn Inbox>) -> BoxedTask<Result<Arc<dyn Link>, LinkFailure>> {
        let number = self.0.connections.fetch_add(1, Ordering::Relaxed) + 1;
        let peer = Peer { number, inbox, asked: Arc::default() };
        self.0.peers.lock().unwrap().push(peer.clone());
        let (script, seen) = (Arc::clone(&self.0.script), Arc::clone(&self.0.seen));
        let (attended, answers_at_once) =
            (Arc::clone(&self.0.attended), self.0.answers_at_once.load(Ordering::Relaxed));
        let link = FakeLink { script, seen, attended, peer, answers_at_once };
        Box::pin(std::future::ready(Ok(Arc::new(link) as Arc<dyn Link>)))
    }

    fn is_pipe(&self) -> bool {
        self.0.pipe
    }
}

/// One connection, from the server's side.
#[derive(Clone)]
struct Peer {
    number: usize,
    inbox: Arc<dyn Inbox>,
    /// The methods of its requests by their ids, as JSON.
    asked: Arc<Mutex<HashMap<String, String>>>,
}

impl Peer {
    fn say(&self, message: Value) {
        if let (Some(id), Some(method)) = (message.get("id"), message["method"].as_str()) {
            self.asked.lock().unwrap().insert(id.to_string(), method.to_owned());
        }
        self.inbox.message(message.to_string().into());
    }

    fn result(&self, request: &Value, result: Value) {
        self.say(json!({"jsonrpc": "2.0", "id": request["id"], "result": result}));
    }

    fn error(&self, request: &Value, code: i64, data: Value) {
        self.say(
            json!({"jsonrpc": "2.0", "id": request["id"], "error": {"code": code, "message": "no", "data": data}}),
        );
    }

    fn unauthorized(&self, request: &Value, http_status: Option<u16>) {
        let id = RequestId::from_json(&request["id"].to_string()).unwrap();
        let demand = Box::new(AuthorizationDemand { http_status, ..AuthorizationDemand::default() });
        self.inbox.failed(&id, LinkFailure::Unauthorized { text: "no".to_owned(), demand });
    }

    fn exit(&self) {
        self.inbox.closed(LinkFailure::Exited(ProcessExit::new("the server process exited with status 3")));
    }

    fn accept(&self, initialize: &Value, revision: &str) {
        let info = json!({"name": "fake", "version": "1"});
        self.result(initialize, json!({"protocolVersion": revision, "capabilities": {}, "serverInfo": info}));
    }

    fn discovered(&self, request: &Value, versions: &[&str]) {
        self.result(request, json!({"resultType": "complete", "supportedVersions": versions, "capabilities": {}, "ttlMs": 0, "cacheScope": "private"}));
    }
}

struct FakeLink {
    script: Arc<Mutex<Script>>,
    seen: Arc<Mutex<Vec<(usize, Value)>>>,
    attended: Arc<Mutex<Vec<String>>>,
    peer: Peer,
    answers_at_once: bool,
}

impl Link for FakeLink {
    fn send(&self, message: LinkMessage) {
        let attended = message.request.iter().filter(|request| !request.unattended);
        self.attended.lock().unwrap().extend(attended.map(|request| request.method.to_string()));
        let message: Value = serde_json::from_slice(&message.bytes).unwrap();
        check(&message, self.peer.asked.lock().unwrap().get(&message["id"].to_string()).cloned());
        self.seen.lock().unwrap().push((self.peer.number, message.clone()));
        if self.answers_at_once {
            return (self.script.lock().unwrap())(&self.peer, &message);
        }
        let (script, peer) = (Arc::clone(&self.script), self.peer.clone());
        tokio::spawn(async move { (script.lock().unwrap())(&peer, &message) });
    }

    fn close(&self, _: Duration) -> BoxedTask {
        Box::pin(std::future::ready(()))
    }
}

/// Holds a message of ours, which may answer a request, against the revision that it names, or the
/// newest of the legacy era.
fn check(message: &Value, answered: Option<String>) {
    use trunkline_wire::Revision;
    let named = |value: &Value| value.as_str().and_then(Revision::parse);
    let revision = named(&message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"])
        .or_else(|| named(&message["params"]["protocolVersion"]))
        .unwrap_or(Revision::NEWEST_LEGACY);
    let (direction, message) = (Direction::ClientToServer, message.clone());
    let method = Some(answered.unwrap_or_else(|| "ping".to_owned()));
    let record = Record { revision, direction, method, extensions: None, message };
    let violations = checker().check(&record);
    assert!(violations.is_empty(), "{revision}: {}\n{violations:?}", record.message);
}

/// The notifications that the client's owner received.
#[derive(Clone, Default)]
struct Heard(Arc<Mutex<Vec<String>>>);

impl Heard {
    fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

impl ClientEvents for Heard {
    fn notification(&self, method: &str, _: Option<&RawJson>) {
        self.0.lock().unwrap().push(method.to_owned());
    }

    fn reconnected(&self) {
        self.0.lock().unwrap().push("reconnected".to_owned());
    }

    fn closed(&self, error: Option<&ClientError>) {
        self.0.lock().unwrap().push(format!("closed: {}", error.map(ToString::to_string).unwrap_or_default()));
    }
}

fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}
