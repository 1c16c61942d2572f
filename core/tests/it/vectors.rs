//! The wire vectors of `tests/vectors`: over the standard input and output of the server of these tests; and where the environment names
//! a fixture server (`cargo xtask test --only vectors` does), over all its transports, with those of `features` beside.

mod pattern;

use crate::{
    http_wire::Http,
    process::File,
    wire::{CAPABILITIES, VERSION, Wire, modern},
};
use pattern::{Saved, filled, matches, several, take_match};
use serde::Deserialize;
use serde_json::{Value, json};
use std::{
    collections::HashMap,
    io::{BufRead, BufReader},
    panic::catch_unwind,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::Mutex,
    thread,
    time::{Duration, Instant},
};

/// The program of a fixture server.
const SERVER: &str = "TRUNKLINE_VECTOR_SERVER";
/// A word that stands in the names of the vectors to play; without it, all are.
const ONLY: &str = "TRUNKLINE_VECTOR_ONLY";
const MODERN: &str = "2026-07-28";
/// How long something that is polled may take to become so.
const PATIENCE: Duration = Duration::from_secs(20);

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Vector {
    about: String,
    requirements: Vec<String>,
    #[serde(default)]
    open: Option<String>,
    #[serde(default)]
    revisions: Vec<String>,
    #[serde(default)]
    over: Vec<Transport>,
    #[serde(default)]
    capabilities: Option<Value>,
    /// How many things a page of the server's lists holds.
    page_size: Option<usize>,
    /// Methods of notifications that may arrive at any time.
    #[serde(default)]
    ignore: Vec<String>,
    steps: Vec<Step>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Transport {
    Stdio,
    Http,
    Sse,
    Stateless,
    Json,
}

#[derive(Clone, Deserialize)]
struct Step {
    /// The first revision that has this step.
    since: Option<String>,
    /// The first revision that does not have it any more.
    before: Option<String>,
    #[serde(flatten)]
    act: Act,
}

#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Act {
    Send(Value),
    SendText(String),
    Expect(Vec<Value>),
    ExpectInOrder(Vec<Value>),
    Poll { send: Value, until: Value },
}

#[test]
fn every_vector_holds() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/vectors");
    let server = Server::from_environment();
    let mut files = files_in(&folder);
    assert!(files.len() > 15, "{files:?}");
    if server.is_some() {
        files.extend(files_in(&folder.join("features")));
    }
    let only = std::env::var(ONLY).unwrap_or_default();
    let vectors: Vec<_> = files.iter().map(|file| read(file)).filter(|(name, _)| name.contains(&only)).collect();
    let plays = vectors.iter().flat_map(|(name, vector)| {
        vector.plays().into_iter().map(move |(revision, transport)| (name, vector, revision, transport))
    });
    // Processes are apart from each other; the sessions of one HTTP server all hear what is told to every client.
    let (piped, shared): (Vec<_>, Vec<_>) = plays.partition(|(_, _, _, transport)| *transport == Transport::Stdio);
    let (first, second) = piped.split_at(piped.len() / 2);
    let (broken, server) = (&Mutex::new(Vec::new()), server.as_ref());
    thread::scope(|scope| {
        for lane in [first, second, &shared] {
            scope.spawn(move || {
                for &(name, vector, revision, transport) in lane {
                    let name = match revision {
                        Some(revision) => format!("{name} in {revision} over {transport:?}"),
                        None => format!("{name} over {transport:?}"),
                    };
                    let play = || Play::new(vector, revision, transport, server).run(&name);
                    let held = catch_unwind(play).is_ok();
                    println!("vector {name}: {}", if held { "ok" } else { "FAILED" });
                    broken.lock().unwrap().extend((!held).then_some(name));
                }
            });
        }
    });
    let broken = broken.lock().unwrap();
    assert!(broken.is_empty(), "{broken:#?}");
}

fn read(file: &Path) -> (String, Vector) {
    let name = file.file_stem().unwrap().to_string_lossy().into_owned();
    let text = std::fs::read_to_string(file).unwrap();
    let vector: Vector = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert!(!vector.about.is_empty() && !vector.requirements.is_empty(), "{name}");
    (name, vector)
}

fn files_in(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    files
}

impl Vector {
    /// The revision, if the vector names several, and the transport of each time that it is played.
    fn plays(&self) -> Vec<(Option<&str>, Transport)> {
        if self.revisions.is_empty() {
            let over = if self.over.is_empty() { &[Transport::Stdio] } else { &self.over[..] };
            return over.iter().map(|over| (None, *over)).collect();
        }
        let usual = &[Transport::Stdio, Transport::Http, Transport::Sse][..];
        let over = if self.over.is_empty() { usual } else { &self.over };
        let plays = self.revisions.iter().flat_map(|revision| over.iter().map(move |over| (&**revision, *over)));
        // HTTP+SSE is the transport of the oldest revision.
        let plays = plays.filter(|(revision, over)| *over != Transport::Sse || *revision == "2024-11-05");
        plays.map(|(revision, over)| (Some(revision), over)).collect()
    }
}

/// A fixture server: its program, and the processes of it that listen, by the words they were started with.
struct Server {
    program: PathBuf,
    listening: Mutex<HashMap<Vec<String>, Listening>>,
}

struct Listening {
    process: Child,
    url: String,
}

impl Server {
    fn from_environment() -> Option<Self> {
        Some(Self { program: std::env::var_os(SERVER)?.into(), listening: Mutex::default() })
    }

    /// A conversation with it, which is of one process for all plays with the same options over HTTP.
    fn wire(&self, over: Transport, page_size: Option<usize>) -> Wire {
        let mut words: Vec<String> =
            page_size.map(|size| ["--page-size".into(), size.to_string()]).into_iter().flatten().collect();
        if over == Transport::Stdio {
            let mut command = Command::new(&self.program);
            command.arg("--stdio").args(words);
            return Wire::run(command);
        }
        words.extend(match over {
            Transport::Stateless => Some("--stateless".into()),
            Transport::Json => Some("--json".into()),
            _ => None,
        });
        let mut listening = self.listening.lock().unwrap();
        let server = listening.entry(words).or_insert_with_key(|words| Listening::start(&self.program, words));
        Wire::over_http(match over {
            Transport::Sse => Http::sse(&server.url),
            Transport::Json => Http::json_only(&server.url),
            _ => Http::new(&server.url),
        })
    }
}

impl Listening {
    fn start(program: &Path, words: &[String]) -> Self {
        let mut process =
            Command::new(program).args(["--http", "0"]).args(words).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let url = line.trim().strip_prefix("listening ").expect("where it listens").to_owned();
        Self { process, url }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
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
    fn new(vector: &'a Vector, revision: Option<&'a str>, over: Transport, server: Option<&Server>) -> Self {
        let mut wire = match server {
            None => Wire::start("server", &File::new()),
            Some(server) => server.wire(over, vector.page_size),
        };
        let capabilities = vector.capabilities.clone().unwrap_or_else(|| json!({}));
        if let Some(session) = vector.open.as_deref().or(revision).filter(|revision| *revision != MODERN) {
            wire.open_with(session, &capabilities);
        }
        let (steps, saved, ignored) = (vector.steps.clone(), Saved::new(), &vector.ignore[..]);
        Self { wire, revision, capabilities, steps, saved, polls: 0, ignored }
    }

    fn run(mut self, name: &str) {
        for (number, step) in std::mem::take(&mut self.steps).into_iter().enumerate() {
            let revision = self.revision.unwrap_or_default();
            let is_early = step.since.is_some_and(|since| revision < &*since);
            if is_early || step.before.is_some_and(|before| revision >= &*before) {
                continue;
            }
            let place = format!("{name}, step {number}");
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

    /// Exactly these messages, in whatever order.
    fn expect(&mut self, patterns: Vec<Value>, place: &str) {
        let mut patterns = self.patterns(patterns);
        let several = several(&mut patterns);
        let check = |patterns: &mut Vec<Value>, message: &Value, saved: &mut Saved| {
            let expected =
                take_match(patterns, message, saved) || several.iter().any(|pattern| matches(pattern, message, saved));
            assert!(expected, "{place}: {message} is none of {patterns:#?}");
        };
        while !patterns.is_empty() {
            let message = self.arrive();
            check(&mut patterns, &message, &mut self.saved);
        }
        for message in self.arrived(0) {
            check(&mut patterns, &message, &mut self.saved);
        }
    }

    /// Asks until the answer is as wanted.
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
            assert!(started.elapsed() < PATIENCE, "{place}: {answer} is not {until}");
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn patterns(&self, patterns: Vec<Value>) -> Vec<Value> {
        patterns.into_iter().map(|pattern| filled(pattern, &self.saved)).collect()
    }

    fn arrive(&mut self) -> Value {
        loop {
            let message = self.wire.next();
            if !self.is_ignored(&message) {
                return message;
            }
        }
    }

    /// So many messages, and those that arrive beyond.
    fn arrived(&mut self, count: usize) -> Vec<Value> {
        let mut messages: Vec<_> = (0..count).map(|_| self.arrive()).collect();
        messages.extend(self.wire.rest().into_iter().filter(|message| !self.is_ignored(message)));
        messages
    }

    fn is_ignored(&self, message: &Value) -> bool {
        self.ignored.iter().any(|method| message["method"] == **method)
    }

    /// The message with its placeholders filled, and with the `_meta` that `"$modern"` or the revision demands.
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
