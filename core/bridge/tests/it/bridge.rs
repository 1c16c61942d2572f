//! The bridge under a host of the tests' own: a thread that drains when the bell rings, as a
//! binding does.

mod alone;
mod auth;
mod calls;
mod closing;
mod groups;
mod handoff;
#[cfg(unix)]
mod hooks;
mod lifespans;
#[cfg(unix)]
mod logs;
mod mounted;
mod opening;
mod server_requests;
mod stores;
mod subscriptions;
mod tasks;
mod telemetry;
mod threads;

pub(crate) use alone::play;

use crate::process::DEADLINE;
use bytes::Bytes;
use serde_json::{Value, json};
use std::{
    collections::HashMap,
    sync::{Arc, Condvar, Mutex},
    thread::JoinHandle,
    time::Instant,
};
use trunkline_bridge::{Bell, BridgeError, Event, EventKind, Lane, Port, Shape};

/// The bell of a thread that sleeps until it rings.
#[derive(Clone, Default)]
struct Alarm(Arc<(Mutex<(bool, usize)>, Condvar)>);

impl Alarm {
    fn wait(&self) {
        let (state, rung) = &*self.0;
        let mut state = rung.wait_while(state.lock().unwrap(), |(pending, _)| !*pending).unwrap();
        state.0 = false;
    }

    fn rings(&self) -> usize {
        self.0.0.lock().unwrap().1
    }
}

impl Bell for Alarm {
    fn ring(&self) {
        let mut state = self.0.0.lock().unwrap();
        *state = (true, state.1 + 1);
        self.0.1.notify_all();
    }
}

type OnCall = Arc<dyn Fn(&Port, &Event) + Send + Sync>;

/// A host: it answers calls with its functions by handle, and records all events.
struct Host {
    port: Port,
    #[cfg_attr(not(unix), allow(dead_code, reason = "read where pipes are handed over"))]
    alarm: Alarm,
    functions: Arc<Mutex<HashMap<u64, OnCall>>>,
    heard: Arc<(Mutex<Vec<Event>>, Condvar)>,
    thread: Option<JoinHandle<()>>,
}

impl Host {
    fn new() -> Self {
        let alarm = Alarm::default();
        let port = Port::new(alarm.clone());
        let (functions, heard): (Arc<Mutex<HashMap<u64, OnCall>>>, _) =
            (Arc::default(), Arc::<(Mutex<Vec<Event>>, Condvar)>::default());
        let (draining, rung, known, noted) = (port.clone(), alarm.clone(), Arc::clone(&functions), Arc::clone(&heard));
        let thread = std::thread::spawn(move || {
            loop {
                rung.wait();
                loop {
                    let events = draining.drain(Lane::Queue, 16, 0).unwrap();
                    if events.is_empty() {
                        break;
                    }
                    for event in events {
                        let stopped = event.kind == EventKind::Stopped;
                        let function = known.lock().unwrap().get(&event.handle).cloned();
                        if let (EventKind::Call, Some(function)) = (event.kind, function) {
                            function(&draining, &event);
                        }
                        noted.0.lock().unwrap().push(event);
                        noted.1.notify_all();
                        if stopped {
                            return;
                        }
                    }
                }
            }
        });
        Self { port, alarm, functions, heard, thread: Some(thread) }
    }

    fn register(&self, kind: &str, json: Value) -> Result<u64, BridgeError> {
        self.port.register(kind, json.to_string().as_bytes())
    }

    fn server(&self) -> u64 {
        self.server_with(json!({}))
    }

    fn server_with(&self, options: Value) -> u64 {
        self.register("server", json!({"info": {"name": "host", "version": "1"}, "options": options})).unwrap()
    }

    /// A tool that only the test answers.
    fn tool(&self, server: u64, name: &str) -> u64 {
        self.register("tool", json!({"server": server, "tool": {"name": name, "inputSchema": {"type": "object"}}}))
            .unwrap()
    }

    /// A tool that a function answers.
    fn tool_with(&self, server: u64, tool: Value, function: impl Fn(&Port, &Event) + Send + Sync + 'static) -> u64 {
        let handle = self.register("tool", json!({"server": server, "tool": tool})).unwrap();
        self.functions.lock().unwrap().insert(handle, Arc::new(function));
        handle
    }

    /// A tool that returns its argument `message`.
    fn echo(&self, server: u64) -> u64 {
        let schema = json!({"type": "object", "properties": {"message": {"type": "string"}}, "required": ["message"]});
        self.tool_with(server, json!({"name": "echo", "inputSchema": schema}), |port, event| {
            let arguments = body(event);
            let text = arguments["message"].as_str().unwrap().to_owned();
            port.complete(event.ticket, Shape::Text, text.into()).unwrap();
        })
    }

    fn open(&self, json: Value) -> u64 {
        self.port.open(json.to_string().as_bytes()).unwrap()
    }

    /// Opens something and waits until it is open.
    fn opened(&self, json: Value) -> (u64, Value) {
        let handle = self.open(json);
        let reply = self.reply(handle);
        assert!(reply.ok(), "{}", body(&reply));
        (handle, body(&reply))
    }

    /// A connection to a server of this host.
    fn connection(&self, server: u64) -> u64 {
        self.connection_of(server, "auto")
    }

    fn connection_of(&self, server: u64, revision: &str) -> u64 {
        self.opened(json!({"client": {"revision": revision}, "transport": {"type": "memory", "server": server}})).0
    }

    fn request(&self, connection: u64, json: Value) -> u64 {
        self.port.request(connection, json.to_string().as_bytes()).unwrap()
    }

    fn call(&self, connection: u64, tool: &str, arguments: Value) -> u64 {
        self.request(connection, json!({"method": "tools/call", "params": {"name": tool, "arguments": arguments}}))
    }

    /// Calls a tool and waits for its result.
    fn result(&self, connection: u64, tool: &str, arguments: Value) -> Value {
        let reply = self.reply(self.call(connection, tool, arguments));
        assert!(reply.ok(), "{}", body(&reply));
        body(&reply)
    }

    /// Waits for an event, which may already have arrived.
    fn event(&self, what: &str, is_it: impl Fn(&Event) -> bool) -> Event {
        self.events(what, 1, is_it).remove(0)
    }

    /// Waits for so many events.
    fn events(&self, what: &str, count: usize, is_it: impl Fn(&Event) -> bool) -> Vec<Event> {
        let started = Instant::now();
        let mut heard = self.heard.0.lock().unwrap();
        loop {
            let found: Vec<_> = heard.iter().filter(|event| is_it(event)).cloned().collect();
            if found.len() >= count {
                return found;
            }
            let left = DEADLINE
                .checked_sub(started.elapsed())
                .unwrap_or_else(|| panic!("{} of {count} {what}: {heard:#?}", found.len()));
            heard = self.heard.1.wait_timeout(heard, left).unwrap().0;
        }
    }

    fn reply(&self, ticket: u64) -> Event {
        self.event("a reply", |event| event.kind == EventKind::Reply && event.ticket == ticket)
    }

    /// The reply of a request that fails: its error object.
    fn failure(&self, ticket: u64) -> Value {
        let reply = self.reply(ticket);
        assert!(!reply.ok(), "{}", body(&reply));
        body(&reply)
    }

    /// The call of a tool: the only one, or the first.
    fn called(&self, tool: u64) -> Event {
        self.event("a call", |event| event.kind == EventKind::Call && event.handle == tool)
    }

    fn kinds(&self) -> Vec<EventKind> {
        self.heard.0.lock().unwrap().iter().map(|event| event.kind).collect()
    }

    fn describe(&self, target: u64) -> Value {
        serde_json::from_str(&self.port.describe(target).unwrap()).unwrap()
    }

    /// Number of handles and tickets of the port that are in use.
    fn things(&self) -> u64 {
        self.describe(0)["things"].as_u64().unwrap()
    }

    /// Closes the port and waits for the end of the host's thread.
    fn stop(&mut self, deadline_ms: u64) {
        self.port.close(0, deadline_ms).unwrap();
        let started = Instant::now();
        while !self.thread.as_ref().unwrap().is_finished() {
            assert!(started.elapsed() < DEADLINE, "it does not stop: {:?}", self.kinds());
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        self.thread.take().unwrap().join().unwrap();
        assert_eq!(self.kinds().iter().filter(|kind| **kind == EventKind::Stopped).count(), 1);
        assert_eq!(self.kinds().last(), Some(&EventKind::Stopped));
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // The thread has its own port, which would never be dropped.
        let _ = self.port.close(0, 0);
    }
}

fn body(event: &Event) -> Value {
    serde_json::from_slice(&bytes(event)).unwrap()
}

/// The body as it crosses to other languages.
fn bytes(event: &Event) -> Bytes {
    event.body.clone().into_bytes()
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text in {result}"))
}

const REVISIONS: [&str; 5] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];
