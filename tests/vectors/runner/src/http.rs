//! A raw wire over HTTP: each line written is one POST, and everything in any response becomes a
//! line to read.

use crate::wire::TIMEOUT;
use serde_json::Value;
use std::{
    collections::HashMap,
    io::{BufRead, BufReader, Error, Read, Result, Write},
    net::{Shutdown, TcpStream},
    sync::{Arc, Mutex, mpsc},
    thread,
    time::{Duration, Instant},
};

/// Posts messages to a server and reads every response.
pub struct Http {
    address: String,
    /// The URL to which messages are posted.
    path: String,
    /// True if responses must not be streams.
    json_only: bool,
    streams: Vec<TcpStream>,
    ears: Ears,
    lines: Option<mpsc::Receiver<String>>,
}

/// A message waits this long for the response to the previous one, once the server has read that.
const RESPONSE_TIMEOUT: Duration = Duration::from_millis(100);

impl Http {
    /// Streamable HTTP at a URL.
    pub fn new(url: &str) -> Self {
        let (address, path) = url.strip_prefix("http://").and_then(|url| url.split_once('/')).expect("a URL");
        let (found, lines) = mpsc::channel();
        let ears = Ears { found, learned: Arc::default() };
        let (address, path) = (address.to_owned(), format!("/{path}"));
        Self { address, path, json_only: false, streams: Vec::new(), ears, lines: Some(lines) }
    }

    /// Streamable HTTP of a server that answers with JSON only.
    pub fn json_only(url: &str) -> Self {
        let mut http = Self::new(url);
        http.json_only = true;
        http
    }

    /// HTTP+SSE of 2024-11-05; the URL is that of the stream.
    pub fn sse(url: &str) -> Self {
        let mut http = Self::new(url);
        let stream = http.ask("GET", &http.path.clone(), "Accept: text/event-stream\r\n", "").unwrap();
        let mut response = Response::read(stream).unwrap();
        assert_eq!(response.status, 200);
        // SSE-02: the first event contains the URL for messages.
        http.path = next_event(&mut response.body, "endpoint").expect("an endpoint");
        let ears = http.ears.clone();
        thread::spawn(move || ears.hear(response));
        http
    }

    /// The messages of all responses.
    pub(crate) fn lines(&mut self) -> mpsc::Receiver<String> {
        self.lines.take().expect("taken once")
    }

    fn post(&mut self, text: &str) -> Result<()> {
        let message: Value = serde_json::from_str(text)?;
        self.begin("POST", &self.headers(&message), text)?;
        if message["method"] == "notifications/initialized" && self.ears.learned.lock().unwrap().session.is_some() {
            let headers = self.headers(&Value::Null).replace("application/json, ", "");
            self.begin("GET", &headers, "")?;
        }
        Ok(())
    }

    /// Sends a request and reads its response, however long that takes.
    fn begin(&mut self, method: &str, headers: &str, body: &str) -> Result<()> {
        let stream = self.ask(method, &self.path.clone(), headers, body)?;
        let ends = (stream.peer_addr()?.port(), stream.local_addr()?.port());
        let must_be_json = self.json_only && method == "POST";
        let (ears, (begun, has_begun)) = (self.ears.clone(), mpsc::channel());
        thread::spawn(move || {
            if let Ok(response) = Response::read(stream) {
                ears.learn(&response);
                let _ = begun.send(());
                if must_be_json && response.is_stream() {
                    ears.say("a stream of a server that answers with JSON only".to_owned());
                }
                ears.hear(response);
            }
        });
        // A server that has to wait for the processor must not read two requests in another order.
        let until = Instant::now() + TIMEOUT;
        while has_begun.recv_timeout(RESPONSE_TIMEOUT) == Err(mpsc::RecvTimeoutError::Timeout)
            && is_unread(ends)
            && Instant::now() < until
        {}
        Ok(())
    }

    fn headers(&self, message: &Value) -> String {
        let mut headers =
            "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n".to_owned();
        let mut add = |name: &str, value: &str| headers.push_str(&format!("{name}: {value}\r\n"));
        let params = &message["params"];
        if let Some(version) = params["_meta"][crate::wire::VERSION].as_str() {
            add("MCP-Protocol-Version", version);
            add("Mcp-Method", message["method"].as_str().unwrap_or_default());
            let name = ["name", "uri", "taskId"].iter().find_map(|member| params[member].as_str());
            if let Some(name) = name {
                add("Mcp-Name", name);
            }
        } else {
            let learned = self.ears.learned.lock().unwrap();
            if let Some(version) = &learned.version {
                add("MCP-Protocol-Version", version);
            }
            if let Some(session) = &learned.session {
                add("Mcp-Session-Id", session);
            }
        }
        headers
    }

    fn ask(&mut self, method: &str, path: &str, headers: &str, body: &str) -> Result<TcpStream> {
        let mut stream = TcpStream::connect(&self.address)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        let (host, length) = (&self.address, body.len());
        let head =
            format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nContent-Length: {length}\r\n");
        stream.write_all(format!("{head}{headers}\r\n{body}").as_bytes())?;
        self.streams.push(stream.try_clone()?);
        Ok(stream)
    }
}

/// Returns whether the server's end of a connection has bytes that its process has not read, where
/// the system tells. The ends are the ports of the server and of the client.
fn is_unread((server, client): (u16, u16)) -> bool {
    let (from, to) = (format!(":{server:04X}"), format!(":{client:04X}"));
    ["/proc/net/tcp", "/proc/net/tcp6"].iter().filter_map(|table| std::fs::read_to_string(table).ok()).any(|table| {
        table.lines().any(|line| {
            let columns: Vec<_> = line.split_whitespace().take(5).collect();
            matches!(*columns, [_, local, remote, _, queues]
                if local.ends_with(&from) && remote.ends_with(&to) && !queues.ends_with(":00000000"))
        })
    })
}

/// Receives the contents of responses.
#[derive(Clone)]
struct Ears {
    found: mpsc::Sender<String>,
    learned: Arc<Mutex<Learned>>,
}

/// The response to `initialize`.
#[derive(Default)]
struct Learned {
    session: Option<String>,
    version: Option<String>,
}

impl Ears {
    fn learn(&self, response: &Response) {
        if let Some(session) = response.headers.get("mcp-session-id") {
            self.learned.lock().unwrap().session = Some(session.clone());
        }
    }

    /// Converts everything in a response to lines.
    fn hear(&self, response: Response) {
        let is_stream = response.is_stream();
        let Response { status, mut body, .. } = response;
        if is_stream {
            while let Some(line) = next_event(&mut body, "message") {
                self.say(line);
            }
            return;
        }
        let mut text = String::new();
        let _ = body.read_to_string(&mut text);
        if status != 202 || !text.is_empty() {
            self.say(if text.is_empty() { format!("HTTP {status} without a word") } else { text });
        }
    }

    fn say(&self, line: String) {
        let message: Value = serde_json::from_str(&line).unwrap_or_default();
        if let Some(negotiated) = message["result"]["protocolVersion"].as_str() {
            self.learned.lock().unwrap().version = Some(negotiated.to_owned());
        }
        let _ = self.found.send(line);
    }
}

impl Write for Http {
    /// One line is one message.
    fn write(&mut self, line: &[u8]) -> Result<usize> {
        self.post(std::str::from_utf8(line).map_err(Error::other)?.trim_end())?;
        Ok(line.len())
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

impl Drop for Http {
    fn drop(&mut self) {
        for stream in &self.streams {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

struct Response {
    status: u16,
    /// Names in lower case.
    headers: HashMap<String, String>,
    body: Box<dyn BufRead + Send>,
}

impl Response {
    fn read(stream: TcpStream) -> Result<Self> {
        let mut body = BufReader::new(stream);
        let mut line = String::new();
        body.read_line(&mut line)?;
        let status = line.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status = status.ok_or_else(|| Error::other(format!("no status: {line:?}")))?;
        let mut headers = HashMap::new();
        loop {
            line.clear();
            body.read_line(&mut line)?;
            let Some((name, value)) = line.trim_end().split_once(':') else { break };
            headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
        }
        let body: Box<dyn BufRead + Send> = match headers.get("content-length").and_then(|length| length.parse().ok()) {
            Some(length) => Box::new(body.take(length)),
            None if headers.contains_key("transfer-encoding") => Box::new(BufReader::new(Chunks { body, left: 0 })),
            None => Box::new(body),
        };
        Ok(Self { status, headers, body })
    }

    fn is_stream(&self) -> bool {
        self.headers.get("content-type").is_some_and(|kind| kind.starts_with("text/event-stream"))
    }
}

/// The body behind `Transfer-Encoding: chunked`.
struct Chunks {
    body: BufReader<TcpStream>,
    left: usize,
}

impl Read for Chunks {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        if self.left == 0 {
            let mut line = String::new();
            // The end of the previous chunk, if any, is an empty line.
            while line.trim().is_empty() {
                line.clear();
                if self.body.read_line(&mut line)? == 0 {
                    return Ok(0);
                }
            }
            self.left = usize::from_str_radix(line.trim(), 16).map_err(Error::other)?;
            if self.left == 0 {
                return Ok(0);
            }
        }
        let most = buffer.len().min(self.left);
        let read = self.body.read(&mut buffer[..most])?;
        self.left -= read;
        Ok(read)
    }
}

/// The data of the next event that has any.
fn next_event(body: &mut impl BufRead, kind: &str) -> Option<String> {
    let (mut event, mut data) = ("message".to_owned(), String::new());
    loop {
        let mut line = String::new();
        if body.read_line(&mut line).ok()? == 0 {
            return None;
        }
        match line.trim_end_matches(['\r', '\n']).split_once(':') {
            Some(("event", value)) => event = value.trim_start().to_owned(),
            Some(("data", value)) => data.push_str(value.strip_prefix(' ').unwrap_or(value)),
            None if line.trim().is_empty() => {
                if event == kind && !data.is_empty() {
                    return Some(data);
                }
                (event, data) = ("message".to_owned(), String::new());
            }
            _ => {}
        }
    }
}
