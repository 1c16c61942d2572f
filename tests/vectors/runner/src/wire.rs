//! A raw client of a server process: it writes anything, and checks everything that it reads.

use crate::http::Http;
use serde_json::{Value, json};
use std::{
    collections::{HashMap, VecDeque},
    io::{BufRead, BufReader, Read, Write},
    process::{Child, ChildStdout, Command, ExitStatus, Stdio},
    sync::{OnceLock, mpsc},
    thread,
    time::{Duration, Instant},
};
use trunkline_wire::{Checker, Direction, Record, Revision};

/// A peer that takes longer hangs, on any machine.
pub const TIMEOUT: Duration = Duration::from_secs(60);
/// The key of `_meta` that names the revision of a request.
pub const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// The key of `_meta` with the capabilities of the client.
pub const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// The key of `_meta` that names the subscription of a notification.
pub const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// A connection to a server. It can send any text, and checks every incoming message against its
/// revision.
pub struct Wire {
    /// The server, if this wire started it.
    child: Option<Child>,
    input: Option<Box<dyn Write>>,
    stdout: Option<BufReader<ChildStdout>>,
    lines: Option<mpsc::Receiver<String>>,
    stderr: Option<thread::JoinHandle<String>>,
    /// Messages that were read but not consumed yet.
    early: VecDeque<Value>,
    /// The revision of the session.
    session: Option<Revision>,
    /// Each request, by its id as a string; progress tokens are looked up here too.
    asked: HashMap<String, Asked>,
    syncs: u32,
}

/// The parts of a request that determine the form of its response.
#[derive(Clone)]
struct Asked {
    method: String,
    revision: Revision,
    /// The extensions that the request declared.
    extensions: Vec<String>,
}

impl Wire {
    /// Starts a server that prints other lines before `ready`. Its output is not read before
    /// [`Self::read`].
    pub fn start_unread(command: Command, ready: &str) -> Self {
        let mut wire = Self::spawn(command);
        let stdout = wire.stdout.as_mut().unwrap();
        let mut line = String::new();
        while line.trim_end() != ready {
            line.clear();
            assert_ne!(stdout.read_line(&mut line).unwrap(), 0, "the server did not start");
        }
        wire
    }

    /// Starts any server on standard input and output, and reads what it writes.
    pub fn run(command: Command) -> Self {
        let mut wire = Self::spawn(command);
        wire.read();
        wire
    }

    fn spawn(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stderr = child.stderr.take().unwrap();
        let stderr = thread::spawn(move || {
            let mut text = Vec::new();
            let _ = stderr.read_to_end(&mut text);
            String::from_utf8_lossy(&text).into_owned()
        });
        let input = child.stdin.take().unwrap();
        let stdout = child.stdout.take().map(BufReader::new);
        let mut wire = Self::with(Box::new(input));
        (wire.child, wire.stdout, wire.stderr) = (Some(child), stdout, Some(stderr));
        wire
    }

    /// Connects to a server over HTTP.
    pub fn over_http(mut http: Http) -> Self {
        let lines = http.lines();
        let mut wire = Self::with(Box::new(http));
        wire.lines = Some(lines);
        wire
    }

    fn with(input: Box<dyn Write>) -> Self {
        Self {
            child: None,
            input: Some(input),
            stdout: None,
            lines: None,
            stderr: None,
            early: VecDeque::new(),
            session: None,
            asked: HashMap::new(),
            syncs: 0,
        }
    }

    /// Starts reading the server's output.
    pub fn read(&mut self) {
        let stdout = self.stdout.take().unwrap();
        let (found, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in stdout.lines() {
                let Ok(line) = line else { return };
                if found.send(line).is_err() {
                    return;
                }
            }
        });
        self.lines = Some(lines);
    }

    /// The id of the server process.
    pub fn id(&self) -> u32 {
        self.child.as_ref().unwrap().id()
    }

    /// Opens a session of a revision.
    pub fn open(&mut self, revision: &str) {
        self.open_with(revision, &json!({}));
    }

    /// Opens a session of a revision with these client capabilities.
    pub fn open_with(&mut self, revision: &str, capabilities: &Value) {
        let info = json!({"name": "raw", "version": "1"});
        let params = json!({"protocolVersion": revision, "capabilities": capabilities, "clientInfo": info});
        let answer = self.ask("open", "initialize", params);
        assert_eq!(answer["result"]["protocolVersion"], revision);
        self.tell("notifications/initialized", json!({}));
    }

    /// Sends a request; [`Self::answer`] reads its response.
    pub fn request(&mut self, id: impl Into<Value>, method: &str, params: Value) {
        self.send(json!({"jsonrpc": "2.0", "id": id.into(), "method": method, "params": params}));
    }

    /// Sends a request and reads its response.
    pub fn ask(&mut self, id: impl Into<Value>, method: &str, params: Value) -> Value {
        let id = id.into();
        self.request(id.clone(), method, params);
        self.answer(id)
    }

    /// Calls a tool in the session and returns the text of its first block.
    pub fn call(&mut self, id: impl Into<Value>, tool: &str, arguments: Value) -> String {
        text_of(&self.ask(id, "tools/call", json!({"name": tool, "arguments": arguments})))
    }

    /// Sends a notification.
    pub fn tell(&mut self, method: &str, params: Value) {
        self.send(json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Sends a message.
    pub fn send(&mut self, message: Value) {
        self.note(&message);
        self.send_text(&message.to_string());
    }

    /// Records what responses are checked against.
    pub fn note(&mut self, message: &Value) {
        for message in message.as_array().map_or(std::slice::from_ref(message), Vec::as_slice) {
            if let (Some(id), Some(method)) = (message.get("id"), message["method"].as_str()) {
                let meta = &message["params"]["_meta"];
                // A legacy revision has no effect there.
                let named = meta[VERSION].as_str().and_then(Revision::parse).filter(|revision| !revision.is_legacy());
                let offered = message["params"]["protocolVersion"].as_str().and_then(Revision::parse);
                let session = offered.or(self.session).filter(|revision| revision.is_legacy());
                let revision = named.or(session).unwrap_or(Revision::NEWEST_LEGACY);
                let declared = meta[CAPABILITIES]["extensions"].as_object();
                let mut extensions: Vec<_> =
                    declared.into_iter().flat_map(|declared| declared.keys().cloned()).collect();
                // TKX-50
                extensions.extend(meta[CAPABILITIES].get("tasks").map(|_| "tasks".to_owned()));
                let asked = Asked { method: method.to_owned(), revision, extensions };
                if let Some(token) = meta.get("progressToken") {
                    self.asked.insert(format!("token {token}"), asked.clone());
                }
                self.asked.insert(id.to_string(), asked);
            }
        }
    }

    /// Sends a line unchanged.
    pub fn send_text(&mut self, text: &str) {
        self.try_send(format!("{text}\n").as_bytes()).expect("the server takes input");
    }

    /// Sends bytes unchanged.
    pub fn try_send(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.input.as_mut().unwrap().write_all(bytes)
    }

    /// The next message, whatever it is.
    pub fn receive(&mut self) -> Value {
        self.early.pop_front().or_else(|| self.read_one()).expect("the server's output ended")
    }

    /// The response to a request.
    pub fn answer(&mut self, id: impl Into<Value>) -> Value {
        let id = id.into();
        self.find(&format!("the answer to {id}"), |message| message.get("method").is_none() && message["id"] == id)
    }

    /// The next notification of a method.
    pub fn told(&mut self, method: &str) -> Value {
        self.find(method, |message| message["method"] == method)
    }

    fn find(&mut self, what: &str, is_it: impl Fn(&Value) -> bool) -> Value {
        if let Some(position) = self.early.iter().position(&is_it) {
            return self.early.remove(position).unwrap();
        }
        loop {
            let message = self.read_one().unwrap_or_else(|| panic!("the server's output ended without {what}"));
            if is_it(&message) {
                return message;
            }
            self.early.push_back(message);
        }
    }

    /// Everything that the server sends in reaction to its input so far, except what was already
    /// consumed.
    pub fn rest(&mut self) -> Vec<Value> {
        self.syncs += 1;
        let id = format!("sync {}", self.syncs);
        match self.session {
            Some(_) => self.send(json!({"jsonrpc": "2.0", "id": id, "method": "ping"})),
            None => self.request(&*id, "server/discover", modern(json!({}))),
        }
        self.answer(id);
        self.early.drain(..).collect()
    }

    fn read_one(&mut self) -> Option<Value> {
        let line = match self.lines.as_ref().unwrap().recv_timeout(TIMEOUT) {
            Ok(line) => line,
            Err(mpsc::RecvTimeoutError::Disconnected) => return None,
            Err(mpsc::RecvTimeoutError::Timeout) => panic!("the server is silent"),
        };
        let message = serde_json::from_str(&line).unwrap_or_else(|error| panic!("no JSON ({error}): {line}"));
        self.check(&message);
        Some(message)
    }

    /// Checks a message of the server against its revision.
    fn check(&mut self, message: &Value) {
        for message in message.as_array().map_or(std::slice::from_ref(message), Vec::as_slice) {
            let params = &message["params"];
            let token = params.get("progressToken").map(|token| format!("token {token}"));
            let stream = || params["_meta"].get(SUBSCRIPTION).map(Value::to_string);
            let id = token.or_else(stream).or_else(|| message.get("id").map(Value::to_string));
            let asked = id.and_then(|id| self.asked.get(&id));
            let negotiated =
                match (asked.map(|asked| asked.method.as_str()), message["result"]["protocolVersion"].as_str()) {
                    (Some("initialize"), Some(answered)) => Revision::parse(answered),
                    _ => None,
                };
            self.session = negotiated.or(self.session);
            // The response has the revision that it names, not that of the request.
            let revision = negotiated.or(asked.map(|asked| asked.revision)).or(self.session);
            let revision = revision.unwrap_or(Revision::NEWEST_LEGACY);
            let record = Record {
                revision,
                direction: Direction::ServerToClient,
                method: asked.map(|asked| asked.method.clone()).filter(|_| message.get("method").is_none()),
                extensions: asked.map(|asked| asked.extensions.clone()),
                message: message.clone(),
            };
            // RPC-11: an error message is one short line.
            if let Some(said) = message["error"]["message"].as_str() {
                assert!((1..=300).contains(&said.len()) && !said.contains('\n'), "{said}");
            }
            let violations = checker().check(&record);
            assert!(violations.is_empty(), "{revision}: {message}\n{violations:?}");
        }
    }

    /// Closes the input.
    pub fn end_input(&mut self) {
        self.input = None;
    }

    /// Closes the input and waits for the server to exit. Returns its last messages, its exit
    /// status and its standard error.
    pub fn close(mut self) -> (Vec<Value>, ExitStatus, String) {
        self.end_input();
        if self.lines.is_none() {
            self.read();
        }
        let mut last: Vec<_> = self.early.drain(..).collect();
        while let Some(message) = self.read_one() {
            last.push(message);
        }
        let status = self.ended();
        (last, status, self.stderr.take().unwrap().join().unwrap())
    }

    /// Closes our end of the server's output.
    pub fn deafen(&mut self) {
        self.stdout = None;
    }

    /// Returns whether the server process has exited.
    pub fn has_ended(&mut self) -> bool {
        self.child.as_mut().unwrap().try_wait().unwrap().is_some()
    }

    /// Waits for the server to exit.
    pub fn ended(&mut self) -> ExitStatus {
        let started = Instant::now();
        loop {
            if let Some(status) = self.child.as_mut().unwrap().try_wait().unwrap() {
                return status;
            }
            assert!(started.elapsed() < TIMEOUT, "the server does not end");
            thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The parameters of a modern request.
pub fn modern(mut params: Value) -> Value {
    params["_meta"][VERSION] = "2026-07-28".into();
    params["_meta"][CAPABILITIES] = json!({});
    params
}

/// The text of the first block of a tool's result.
pub fn text_of(answer: &Value) -> String {
    match answer["result"]["content"][0]["text"].as_str() {
        Some(text) => text.to_owned(),
        None => panic!("no text in {answer}"),
    }
}

/// The closed-world checker.
pub fn checker() -> &'static Checker {
    static CHECKER: OnceLock<Checker> = OnceLock::new();
    CHECKER.get_or_init(|| Checker::new().unwrap())
}
