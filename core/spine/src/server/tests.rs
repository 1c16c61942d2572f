//! Test servers. A client is a pair of queues, and the clock can be paused.

use super::{
    Call, Connection, ConversationSetup, ConversationStart, Origin, Outbound, Outcome, OutgoingMessage, Server,
    ServerBuilder, ToolDefinition,
};
use crate::{
    engine::Mirror,
    protocol::{RawJson, Revision, envelope::Frame, meta},
    runtime::{BoxedTask, Runtime},
    sync::Mutex,
    wire_log::{Transport, WireLog},
};
use bytes::Bytes;
use serde_json::{Value, json, value::RawValue};
use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

pub(in crate::server) fn server() -> ServerBuilder {
    Server::builder("tested", "1.0.0")
}

/// Spawns tasks on the test's runtime, whose clock may be paused.
pub(in crate::server) struct TestRuntime;

impl Runtime for TestRuntime {
    fn spawn(&self, task: BoxedTask) {
        tokio::spawn(task);
    }

    fn run_blocking(&self, work: Box<dyn FnOnce() + Send>) {
        drop(tokio::task::spawn_blocking(work));
    }

    fn now(&self) -> Instant {
        tokio::time::Instant::now().into_std()
    }

    fn sleep_until(&self, at: Instant) -> BoxedTask {
        Box::pin(tokio::time::sleep_until(at.into()))
    }

    fn wire_log(&self) -> Option<&dyn WireLog> {
        None
    }
}

/// A tool that keeps its call open.
pub(in crate::server) fn keeping(descriptor: Value) -> (ToolDefinition, Arc<Mutex<Option<Call>>>) {
    let calls = Arc::<Mutex<_>>::default();
    let kept = Arc::clone(&calls);
    (ToolDefinition::new(descriptor, move |call: Call| *kept.lock() = Some(call)), calls)
}

/// A client that can send any message.
pub(in crate::server) struct Peer {
    pub(in crate::server) connection: Arc<Connection>,
    pub(in crate::server) out: Arc<Out>,
    ids: AtomicU64,
}

#[derive(Default)]
pub(in crate::server) struct Out {
    pub(in crate::server) came: Mutex<VecDeque<Value>>,
    /// All received messages as text, including those already taken from `came`.
    pub(in crate::server) texts: Mutex<Vec<String>>,
    pub(in crate::server) auth: Option<RawJson>,
    pub(in crate::server) is_behind: AtomicBool,
}

impl Outbound for Out {
    fn send(&self, outgoing: OutgoingMessage) {
        if let Some(message) = outgoing.message() {
            self.texts.lock().push(String::from_utf8_lossy(message).into_owned());
            let raw: &RawValue = serde_json::from_slice(message).unwrap();
            // No `Value` can hold a number of any length: such a message is among the texts only.
            self.came.lock().extend(serde_json::from_str::<Value>(raw.get()).ok());
        }
    }

    fn is_behind(&self) -> bool {
        self.is_behind.load(Ordering::Relaxed)
    }

    fn auth(&self) -> Option<&RawJson> {
        self.auth.as_ref()
    }

    fn grants(&self, scopes: &[String]) -> bool {
        scopes.iter().all(|scope| scope == "granted")
    }
}

/// The listener that all test connections belong to.
pub(in crate::server) const LISTENER: Origin = Origin::Listener(1_000_000);

impl Peer {
    pub(in crate::server) fn of(server: &Server) -> Self {
        Self::with(server, Transport::Stdio, None)
    }

    pub(in crate::server) fn with(server: &Server, transport: Transport, principal: Option<&str>) -> Self {
        let auth = principal.map(|principal| RawJson::from_value(&json!({"principal": principal})).unwrap());
        let out = Arc::new(Out { auth, ..Out::default() });
        let unrelated: Arc<dyn Outbound> = out.clone();
        let setup = ConversationSetup { runtime: Arc::new(TestRuntime), transport, unrelated, origin: LISTENER };
        let connection = server.connect(setup, ConversationStart::Session);
        Self { connection, out, ids: AtomicU64::new(1) }
    }

    /// Opens a session of that revision.
    pub(in crate::server) async fn in_session(self, revision: Revision, capabilities: Value) -> Self {
        let info = json!({"name": "raw", "version": "1"});
        let params = json!({"protocolVersion": revision.as_str(), "capabilities": capabilities, "clientInfo": info});
        assert_eq!(self.ask("initialize", params).await["result"]["protocolVersion"], revision.as_str());
        self.send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        self
    }

    pub(in crate::server) fn send(&self, message: Value) {
        self.send_with(&message, None);
    }

    fn send_with(&self, message: &Value, mirror: Option<&Mirror>) {
        self.send_text(&message.to_string(), mirror);
    }

    pub(in crate::server) fn send_text(&self, text: &str, mirror: Option<&Mirror>) {
        let reply: Arc<dyn Outbound> = self.out.clone();
        let bytes = Bytes::copy_from_slice(text.as_bytes());
        self.connection
            .receive(Frame::parse(&bytes, self.connection.server().options().limits.frame()), mirror, &reply)
            .map(drop)
            .unwrap_or_else(|_| panic!("{text}"));
    }

    pub(in crate::server) fn request(&self, method: &str, params: Value) -> u64 {
        self.request_with(method, params, None)
    }

    /// Sends a request with the given HTTP headers mirroring its body.
    pub(in crate::server) fn request_with(&self, method: &str, params: Value, mirror: Option<&Mirror>) -> u64 {
        let id = self.ids.fetch_add(1, Ordering::Relaxed);
        self.send_with(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}), mirror);
        id
    }

    pub(in crate::server) async fn ask(&self, method: &str, params: Value) -> Value {
        let id = self.request(method, params);
        self.answer(id).await
    }

    pub(in crate::server) async fn answer(&self, id: u64) -> Value {
        self.first(&format!("the answer to {id}"), |message| message["id"] == id && message.get("method").is_none())
            .await
    }

    /// Returns the result of a response as it was written.
    pub(in crate::server) async fn result_text(&self, id: u64) -> String {
        self.answer(id).await;
        let texts = self.out.texts.lock();
        let answer = texts.iter().find(|text| text.contains(&format!("\"id\":{id},"))).expect("an answer");
        answer.split_once("\"result\":").and_then(|(_, result)| result.strip_suffix('}')).expect("a result").to_owned()
    }

    /// Waits for a message that contains this, and returns it as it was written.
    pub(in crate::server) async fn text_with(&self, part: &str) -> String {
        for _ in 0..2000 {
            if let Some(text) = self.out.texts.lock().iter().find(|text| text.contains(part)) {
                return text.clone();
            }
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        panic!("no message contains {part}")
    }

    /// Returns the parameters of the last notification of a method as they were written.
    pub(in crate::server) fn params_text(&self, method: &str) -> String {
        let texts = self.out.texts.lock();
        let sent =
            texts.iter().rfind(|text| text.contains(&format!("\"method\":\"{method}\","))).expect("a notification");
        sent.split_once("\"params\":").and_then(|(_, params)| params.strip_suffix('}')).expect("params").to_owned()
    }

    /// Returns the first message of a method that has not been taken yet.
    pub(in crate::server) async fn received(&self, method: &str) -> Value {
        self.first(method, |message| message["method"] == method).await
    }

    pub(in crate::server) async fn first(&self, what: &str, is_it: impl Fn(&Value) -> bool) -> Value {
        for _ in 0..2000 {
            {
                let mut came = self.out.came.lock();
                if let Some(position) = came.iter().position(&is_it) {
                    return came.remove(position).unwrap();
                }
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        panic!("{what} did not come, but {:?}", self.out.came.lock());
    }

    /// Reports progress on several threads and completes the call meanwhile: the values must rise,
    /// and none may be sent after the end.
    pub(in crate::server) fn report_and_complete(&self, call: Call) {
        const LAST: u32 = 300;
        let (info, next) = (call.info().clone(), AtomicU32::new(1));
        let reported = || -> Vec<f64> {
            let texts = self.out.texts.lock();
            let messages = texts.iter().map(|text| serde_json::from_str::<Value>(text).unwrap());
            messages.filter_map(|message| message["params"]["progress"].as_f64()).collect()
        };
        let at_end = thread::scope(|scope| {
            let report = || {
                while let value @ ..=LAST = next.fetch_add(1, Ordering::Relaxed) {
                    info.progress(value.into(), None, None);
                }
            };
            (0..3).for_each(|_| drop(scope.spawn(report)));
            while next.load(Ordering::Relaxed) < LAST / 2 {
                thread::yield_now();
            }
            call.complete(Outcome::Text("done".into()));
            reported().len()
        });
        let reported = reported();
        assert!(reported.is_sorted_by(|one, next| one < next), "{reported:?}");
        assert_eq!(reported.len(), at_end, "reported after the end: {:?}", &reported[at_end..]);
    }

    /// Waits until coalesced notifications have been sent, and returns all messages not taken yet.
    pub(in crate::server) async fn rest(&self) -> Vec<Value> {
        tokio::time::sleep(Duration::from_millis(100)).await;
        self.out.came.lock().drain(..).collect()
    }
}

/// Adds the metadata of 2026-07-28 to the parameters of a request.
pub(in crate::server) fn modern(mut params: Value, capabilities: Value) -> Value {
    params["_meta"] = json!({meta::PROTOCOL_VERSION: "2026-07-28", meta::CLIENT_CAPABILITIES: capabilities});
    params
}

pub(in crate::server) fn text_of(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text: {answer}"))
}

pub(in crate::server) fn accept(content: Value) -> Value {
    json!({"action": "accept", "content": content})
}
