//! The page of `trunkline inspect` as the program serves it, without a browser.

use crate::{
    program::{DEADLINE, Folder, command},
    roles::Role,
};
use serde_json::{Value, json};
use std::{
    cell::RefCell,
    collections::BTreeMap,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    process::{Child, ChildStdout, Command, Stdio},
    time::Instant,
};

/// A program that serves its page.
pub(crate) struct Page {
    pub(crate) process: Child,
    pub(crate) lines: BufReader<ChildStdout>,
    pub(crate) port: u16,
    pub(crate) token: String,
    _home: Option<Folder>,
}

/// A response of the program.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Response {
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let start = format!("{name}:");
        let line = self.head.lines().find(|line| line.to_ascii_lowercase().starts_with(&start))?;
        line.split_once(':').map(|(_, value)| value.trim())
    }
}

impl Page {
    /// Inspects a server of this binary.
    pub(crate) fn of_role(role: Role, flags: &[&str]) -> Self {
        let flags = flags.iter().map(|flag| (*flag).to_owned());
        Self::start(&flags.chain(role.command()).collect::<Vec<_>>())
    }

    /// Inspects whatever the words name.
    pub(crate) fn start(words: &[String]) -> Self {
        let home = Folder::new();
        let mut page = Self::run(command(&home.path).arg("inspect").args(words));
        page._home = Some(home);
        page
    }

    /// Runs a command that prints the URL of its page.
    pub(crate) fn run(command: &mut Command) -> Self {
        let mut process = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap());
        let mut url = String::new();
        lines.read_line(&mut url).unwrap();
        let parts = url.trim().strip_prefix("http://127.0.0.1:").and_then(|rest| rest.split_once("/#t="));
        let (port, token) = parts.unwrap_or_else(|| panic!("no URL but {url:?}: {:?}", process.wait()));
        let (port, token) = (port.parse().unwrap(), token.to_owned());
        Self { process, lines, port, token, _home: None }
    }

    /// Sends a request as it is.
    pub(crate) fn raw(&self, request: &str) -> Response {
        Self::raw_at(self.port, request)
    }

    pub(crate) fn raw_at(port: u16, request: &str) -> Response {
        let mut stream = Self::connect(port);
        stream.write_all(request.as_bytes()).unwrap();
        let mut reader = BufReader::new(stream);
        let head = head(&mut reader);
        let (mut body, mut part, began) = (Vec::new(), [0; 64 * 1024], Instant::now());
        loop {
            // A stream that is kept alive never ends.
            assert!(began.elapsed() < DEADLINE, "the response does not end: {head}");
            match reader.read(&mut part).unwrap() {
                0 => break,
                bytes => body.extend_from_slice(&part[..bytes]),
            }
        }
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Response { status, head, body }
    }

    pub(crate) fn connect(port: u16) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        stream
    }

    pub(crate) fn get(&self, path: &str, headers: &str) -> Response {
        self.raw(&format!("GET {path} HTTP/1.0\r\nHost: 127.0.0.1:{}\r\n{headers}\r\n", self.port))
    }

    /// Sends a command with these headers.
    pub(crate) fn post(&self, command: &str, headers: &str, body: &Value) -> Response {
        let (body, port) = (body.to_string(), self.port);
        let length = body.len();
        self.raw(&format!(
            "POST /api/{command} HTTP/1.0\r\nHost: 127.0.0.1:{port}\r\nContent-Length: {length}\r\n{headers}\r\n{body}"
        ))
    }

    pub(crate) fn authorization(&self) -> String {
        format!("Authorization: Bearer {}\r\n", self.token)
    }

    /// Runs a command that succeeds.
    #[track_caller]
    pub(crate) fn done(&self, command: &str, body: &Value) -> Value {
        let response = self.post(command, &self.authorization(), body);
        assert_eq!(response.status, 200, "{response:?}");
        response.json()
    }

    /// Runs a command that is refused, and returns the problem.
    #[track_caller]
    pub(crate) fn refused(&self, command: &str, body: &Value) -> Value {
        let response = self.post(command, &self.authorization(), body);
        assert_eq!(response.status, 400, "{response:?}");
        response.json()["error"].clone()
    }

    /// Opens a tab.
    pub(crate) fn tab(&self) -> Tab {
        self.tab_of("/api/events")
    }

    /// Opens a tab, and waits for the tools in both eras.
    pub(crate) fn with_tools(self) -> (Self, Tab) {
        let tab = self.tab();
        for era in ["modern", "legacy"] {
            tab.connection(era, "open");
            tab.list(era, "tools");
        }
        (self, tab)
    }

    /// Opens the tab of one of several servers.
    pub(crate) fn tab_of(&self, path: &str) -> Tab {
        let mut stream = Self::connect(self.port);
        let authorization = self.authorization();
        write!(stream, "GET {path} HTTP/1.0\r\nHost: 127.0.0.1:{}\r\n{authorization}\r\n", self.port).unwrap();
        let mut reader = BufReader::new(stream);
        let head = head(&mut reader);
        assert!(head.contains(" 200 ") && head.contains("application/x-ndjson"), "{head}");
        Tab { reader: RefCell::new(reader), shown: RefCell::default() }
    }

    /// Starts a call, and waits for its end.
    pub(crate) fn call(&self, tab: &Tab, tool: &str, arguments: &Value) -> Value {
        let id = self.begin(tool, arguments);
        tab.end_of(id)
    }

    pub(crate) fn begin(&self, tool: &str, arguments: &Value) -> u64 {
        let call = json!({"era": "modern", "name": tool, "arguments": arguments});
        self.done("call", &call)["call"].as_u64().unwrap()
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn head(reader: &mut impl BufRead) -> String {
    let mut head = String::new();
    loop {
        let mut line = String::new();
        assert_ne!(reader.read_line(&mut line).unwrap(), 0, "no response after {head:?}");
        if line == "\r\n" {
            return head;
        }
        head += &line;
    }
}

/// A tab that shows the page.
pub(crate) struct Tab {
    reader: RefCell<BufReader<TcpStream>>,
    shown: RefCell<Shown>,
}

/// The knowledge of a tab.
#[derive(Default)]
struct Shown {
    sequence: u64,
    connections: BTreeMap<String, Value>,
}

impl Tab {
    /// The next event; `None` at the end of the stream.
    pub(crate) fn next(&self) -> Option<Value> {
        let (mut line, began) = (String::new(), Instant::now());
        while line.trim().is_empty() {
            assert!(began.elapsed() < DEADLINE, "the stream has no event");
            line.clear();
            if self.reader.borrow_mut().read_line(&mut line).unwrap() == 0 {
                return None;
            }
        }
        let event: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        self.shown.borrow_mut().take(&event);
        Some(event)
    }

    /// Waits for the blank line of a stream without events.
    pub(crate) fn is_kept_alive(&self) {
        let mut line = String::new();
        while line != "\n" {
            line.clear();
            assert_ne!(self.reader.borrow_mut().read_line(&mut line).unwrap(), 0, "the stream has ended");
        }
    }

    /// Waits for an event.
    pub(crate) fn until(&self, is_it: impl Fn(&Value) -> bool) -> Value {
        loop {
            let event = self.next().expect("the stream has ended");
            if is_it(&event) {
                return event;
            }
        }
    }

    fn known(&self, era: &str) -> Value {
        self.shown.borrow().connections.get(era).cloned().unwrap_or_default()
    }

    /// Waits for the state of a connection.
    pub(crate) fn connection(&self, era: &str, state: &str) -> Value {
        while self.known(era)["state"] != state {
            self.next().expect("the stream has ended");
        }
        self.known(era)
    }

    /// Waits until a list is ready.
    pub(crate) fn list(&self, era: &str, list: &str) -> Value {
        while self.known(era)["lists"][list]["state"] != "ready" {
            self.next().expect("the stream has ended");
        }
        self.known(era)["lists"][list].clone()
    }

    /// Waits for the end of a call.
    pub(crate) fn end_of(&self, id: u64) -> Value {
        let has_ended = |call: &&Value| call["id"] == id && call["state"] != "running";
        loop {
            let event = self.next().expect("the stream has ended");
            // A tab that was too slow gets a snapshot in place of the event.
            let all = event["calls"].as_array().map_or(&[][..], Vec::as_slice);
            if let Some(call) = all.iter().chain(event.get("call")).find(has_ended) {
                return call.clone();
            }
        }
    }

    /// Waits for a question: one that is open already, or the next one.
    pub(crate) fn round(&self) -> Value {
        let event = self.until(|event| event["event"] == "round" || event["rounds"][0].is_object());
        if event["event"] == "round" { event["round"].clone() } else { event["rounds"][0].clone() }
    }
}

impl Shown {
    fn take(&mut self, event: &Value) {
        if let Some(sequence) = event["sequence"].as_u64() {
            assert!(
                event["event"] == "snapshot" || sequence == self.sequence + 1,
                "{sequence} after {}",
                self.sequence
            );
            self.sequence = sequence;
        }
        let all = event["connections"].as_array().map_or(&[][..], Vec::as_slice);
        for connection in all.iter().chain(event.get("connection")) {
            self.connections.insert(connection["era"].as_str().unwrap().to_owned(), connection.clone());
        }
        if event["event"] == "list" {
            let connection = self.connections.get_mut(event["era"].as_str().unwrap()).unwrap();
            connection["lists"][event["list"].as_str().unwrap()] = event["state"].clone();
        }
    }
}
