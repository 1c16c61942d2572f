//! Runs one vector after the other.

use crate::{
    server::Server,
    vector::{Act, Step, Transport, Vector},
    wire::{CAPABILITIES, VERSION, Wire, modern},
};
use serde_json::{Value, json};
use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};
use trunkline_pattern::{Saved, filled, matches, several, take_match};

const MODERN: &str = "2026-07-28";
/// Timeout of a poll.
const POLL_TIMEOUT: Duration = Duration::from_secs(20);

/// One vector in one revision over one transport.
#[derive(Clone, Debug)]
pub struct Played {
    /// The name of the vector.
    pub vector: String,
    /// The revision, if the vector names several.
    pub revision: Option<String>,
    /// The transport.
    pub over: Transport,
    /// The result.
    pub outcome: Outcome,
}

/// The result of playing a vector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The server behaved as described by the vector.
    Held,
    /// The server did not; the string says where.
    Failed(String),
    /// The server cannot be reached over this transport.
    Skipped,
}

impl std::fmt::Display for Played {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&Self::name(&self.vector, self.revision.as_deref(), self.over))
    }
}

impl Played {
    /// The name of a play, which results and shares are given by.
    pub fn name(vector: &str, revision: Option<&str>, over: Transport) -> String {
        match revision {
            Some(revision) => format!("{vector} in {revision} over {over}"),
            None => format!("{vector} over {over}"),
        }
    }
}

/// Plays the vectors in every selected revision and over every transport of the server, and calls
/// `report` after each.
///
/// Two processes are tested at once. The sessions of one HTTP server run one after the other,
/// because each receives the notifications that are sent to all clients.
pub fn play_all(
    vectors: &[Vector],
    server: &dyn Server,
    wanted: impl Fn(&Vector, Option<&str>, Transport) -> bool,
    report: impl Fn(&Played) + Sync,
) -> Vec<Played> {
    let plays = vectors
        .iter()
        .flat_map(|vector| vector.plays().into_iter().map(move |(revision, over)| (vector, revision, over)));
    let plays = plays.filter(|&(vector, revision, over)| wanted(vector, revision, over));
    let (processes, shared): (Vec<_>, Vec<_>) = plays.partition(|(_, _, over)| *over == Transport::Stdio);
    let (first, second) = processes.split_at(processes.len() / 2);
    let all = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for lane in [first, second, &shared] {
            let (all, report) = (&all, &report);
            scope.spawn(move || {
                for &(vector, revision, over) in lane {
                    let outcome = play(vector, revision, over, server);
                    let revision = revision.map(str::to_owned);
                    let played = Played { vector: vector.name.clone(), revision, over, outcome };
                    report(&played);
                    all.lock().unwrap_or_else(PoisonError::into_inner).push(played);
                }
            });
        }
    });
    all.into_inner().unwrap_or_else(PoisonError::into_inner)
}

fn play(vector: &Vector, revision: Option<&str>, over: Transport, server: &dyn Server) -> Outcome {
    let played = catch_unwind(AssertUnwindSafe(|| {
        let Some(wire) = server.connect(over, vector.page_size) else { return Outcome::Skipped };
        Play::new(vector, revision, wire).run();
        Outcome::Held
    }));
    played.unwrap_or_else(|payload| Outcome::Failed(message_of(&*payload)))
}

/// The message of a failed assertion.
fn message_of(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("a failure without a text").to_owned()
}

struct Play<'a> {
    wire: Wire,
    revision: Option<&'a str>,
    capabilities: Value,
    steps: Vec<Step>,
    saved: Saved,
    polls: u32,
    ignored: &'a [String],
}

impl<'a> Play<'a> {
    fn new(vector: &'a Vector, revision: Option<&'a str>, mut wire: Wire) -> Self {
        let capabilities = vector.capabilities.clone().unwrap_or_else(|| json!({}));
        if let Some(session) = vector.open.as_deref().or(revision).filter(|revision| *revision != MODERN) {
            wire.open_with(session, &capabilities);
        }
        let (steps, saved, ignored) = (vector.steps.clone(), Saved::new(), &vector.ignore[..]);
        Self { wire, revision, capabilities, steps, saved, polls: 0, ignored }
    }

    fn run(mut self) {
        for (number, step) in std::mem::take(&mut self.steps).into_iter().enumerate() {
            let revision = self.revision.unwrap_or_default();
            let is_early = step.since.is_some_and(|since| revision < &*since);
            if is_early || step.before.is_some_and(|before| revision >= &*before) {
                continue;
            }
            let place = format!("step {number}");
            match step.act {
                Act::Send(message) => {
                    let message = self.message(message);
                    self.wire.send(message);
                }
                Act::SendText(text) => self.wire.send_text(&text),
                Act::Expect(patterns) => self.expect(patterns, &place),
                Act::ExpectInOrder(patterns) => {
                    let patterns = self.patterns(patterns);
                    let messages = self.arrived(patterns.len());
                    assert_eq!(messages.len(), patterns.len(), "{place}: {messages:#?}");
                    for (pattern, message) in patterns.iter().zip(&messages) {
                        assert!(matches(pattern, message, &mut self.saved), "{place}: {message} is not {pattern}");
                    }
                }
                Act::Poll { send, until } => self.poll(send, &until, &place),
            }
        }
    }

    /// Exactly these messages, in any order.
    fn expect(&mut self, patterns: Vec<Value>, place: &str) {
        let mut patterns = self.patterns(patterns);
        let several = several(&mut patterns);
        let check = |patterns: &mut Vec<Value>, message: &Value, saved: &mut Saved| {
            let expected =
                take_match(patterns, message, saved) || several.iter().any(|pattern| matches(pattern, message, saved));
            assert!(expected, "{place}: {message} is not one of {patterns:#?}");
        };
        while !patterns.is_empty() {
            let message = self.arrive();
            check(&mut patterns, &message, &mut self.saved);
        }
        for message in self.arrived(0) {
            check(&mut patterns, &message, &mut self.saved);
        }
    }

    /// Polls until the response matches.
    fn poll(&mut self, message: Value, until: &Value, place: &str) {
        let started = Instant::now();
        loop {
            self.polls += 1;
            let id = format!("poll {}", self.polls);
            let mut message = message.clone();
            message["id"] = (*id).into();
            self.wire.send(self.message(message));
            let answer = self.wire.answer(id);
            if matches(&filled(until.clone(), &self.saved), &answer, &mut self.saved) {
                return;
            }
            assert!(started.elapsed() < POLL_TIMEOUT, "{place}: {answer} is not {until}");
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn patterns(&self, patterns: Vec<Value>) -> Vec<Value> {
        patterns.into_iter().map(|pattern| filled(pattern, &self.saved)).collect()
    }

    fn arrive(&mut self) -> Value {
        loop {
            let message = self.wire.receive();
            if !self.is_ignored(&message) {
                return message;
            }
        }
    }

    /// Receives `count` messages, and any that arrive in addition.
    fn arrived(&mut self, count: usize) -> Vec<Value> {
        let mut messages: Vec<_> = (0..count).map(|_| self.arrive()).collect();
        messages.extend(self.wire.rest().into_iter().filter(|message| !self.is_ignored(message)));
        messages
    }

    fn is_ignored(&self, message: &Value) -> bool {
        self.ignored.iter().any(|method| message["method"] == **method)
    }

    /// The message with its placeholders filled in, and with the `_meta` required by `"$modern"` or
    /// the revision.
    fn message(&self, message: Value) -> Value {
        let mut message = filled(message, &self.saved);
        if message["params"]["_meta"] == "$modern" {
            message["params"]["_meta"] = modern(json!({}))["_meta"].take();
        }
        if self.revision == Some(MODERN) && message.get("id").is_some() && message.get("method").is_some() {
            let given = message["params"]["_meta"].take();
            let mut meta = json!({VERSION: MODERN, CAPABILITIES: self.capabilities});
            meta.as_object_mut().unwrap().extend(given.as_object().cloned().unwrap_or_default());
            message["params"]["_meta"] = meta;
        }
        message
    }
}
