//! The server's end of a conversation with a client: standard input and output, or HTTP.

use crate::wire::VERSION;
use serde_json::Value;
use std::{
    collections::HashMap,
    io::{BufRead, BufReader, Read, Result as IoResult, Write, stdin, stdout},
    net::{TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

pub(crate) enum Received {
    Message(Value),
    /// Nothing arrived in time.
    Nothing,
    /// The client has disconnected.
    End,
    /// Bytes that are not a message, or a message with invalid headers.
    Wrong(String),
}

pub(crate) trait Side: Send {
    /// `grace`: how long a message may still arrive after the client has left.
    fn receive(&mut self, timeout: Duration, grace: Duration) -> Received;
    /// `status`: of a response over HTTP.
    fn send(&mut self, message: &Value, status: Option<u16>) -> Result<(), String>;
}

pub(crate) struct StdioSide {
    lines: mpsc::Receiver<String>,
}

impl StdioSide {
    pub(crate) fn start() -> Self {
        let (found, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in stdin().lock().lines().map_while(Result::ok) {
                if found.send(line).is_err() {
                    return;
                }
            }
        });
        Self { lines }
    }
}

impl Side for StdioSide {
    fn receive(&mut self, timeout: Duration, _: Duration) -> Received {
        match self.lines.recv_timeout(timeout) {
            Ok(line) => serde_json::from_str(&line)
                .map_or_else(|error| Received::Wrong(format!("not JSON ({error}): {line}")), Received::Message),
            Err(mpsc::RecvTimeoutError::Timeout) => Received::Nothing,
            Err(mpsc::RecvTimeoutError::Disconnected) => Received::End,
        }
    }

    fn send(&mut self, message: &Value, _: Option<u16>) -> Result<(), String> {
        let mut out = stdout().lock();
        writeln!(out, "{message}")
            .and_then(|()| out.flush())
            .map_err(|error| format!("the client has disconnected: {error}"))
    }
}

/// Streamable HTTP: a POST of a request stays open until the script answers it.
pub(crate) struct HttpSide {
    url: String,
    posts: mpsc::Receiver<Post>,
    /// The requests without a response, by their ids as strings.
    open: HashMap<String, Open>,
    /// The id of the latest one, on whose stream notifications are sent.
    latest: Option<String>,
    /// `true` if the client process has exited.
    ended: Arc<AtomicBool>,
}

struct Post {
    message: Result<Value, String>,
    stream: TcpStream,
}

struct Open {
    stream: TcpStream,
    is_event_stream: bool,
    opens_session: bool,
}

impl HttpSide {
    pub(crate) fn listen() -> IoResult<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let url = format!("http://{}/mcp", listener.local_addr()?);
        let (found, posts) = mpsc::channel();
        let ended = Arc::new(AtomicBool::new(false));
        // The thread ends with the first connection after the run, or with the process.
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let found = found.clone();
                thread::spawn(move || {
                    let _ = take(stream, &found);
                });
            }
        });
        Ok(Self { url, posts, open: HashMap::new(), latest: None, ended })
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Set this when the client process has exited.
    pub(crate) fn ended(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.ended)
    }
}

/// Reads one HTTP request. Everything but a POST is answered here.
fn take(stream: TcpStream, found: &mpsc::Sender<Post>) -> IoResult<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let method = line.split(' ').next().unwrap_or_default().to_owned();
    let mut headers = HashMap::new();
    loop {
        line.clear();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    match &*method {
        "POST" => {
            let message = serde_json::from_slice(&body).map_err(|error| format!("a POST without JSON: {error}"));
            let message = message.and_then(|message| check_headers(&message, &headers).map(|()| message));
            let _ = found.send(Post { message, stream });
            Ok(())
        }
        "DELETE" => answer(&stream, 204, "", ""),
        _ => answer(&stream, 405, "Allow: POST, DELETE\r\n", ""),
    }
}

fn check_headers(message: &Value, headers: &HashMap<String, String>) -> Result<(), String> {
    let is = |name: &str, wanted: &Value| match headers.get(name).map(String::as_str) {
        found if found == wanted.as_str() => Ok(()),
        found => Err(format!("the header {name} is {found:?} with {message}")),
    };
    is("content-type", &"application/json".into())?;
    let version = &message["params"]["_meta"][VERSION];
    if version.is_string() {
        is("mcp-protocol-version", version)?;
        is("mcp-method", &message["method"])?;
        // H26-03; the names and URIs of vectors need no encoding.
        match message["method"].as_str() {
            Some("tools/call" | "prompts/get") => is("mcp-name", &message["params"]["name"])?,
            Some("resources/read") => is("mcp-name", &message["params"]["uri"])?,
            _ => is("mcp-name", &Value::Null)?,
        }
    } else if message["method"] == "initialize" {
        is("mcp-session-id", &Value::Null)?;
    } else {
        is("mcp-session-id", &"session".into())?;
    }
    Ok(())
}

fn answer(mut stream: &TcpStream, status: u16, headers: &str, body: &str) -> IoResult<()> {
    let length = body.len();
    let head = format!("HTTP/1.1 {status} Scripted\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}\r\n");
    stream.write_all(format!("{head}{body}").as_bytes())
}

impl Side for HttpSide {
    fn receive(&mut self, timeout: Duration, grace: Duration) -> Received {
        let start = Instant::now();
        let mut ended = None;
        let post = loop {
            // Messages from before the end are read first.
            if self.ended.load(Ordering::SeqCst) {
                ended.get_or_insert_with(Instant::now);
            }
            match self.posts.recv_timeout(Duration::from_millis(20)) {
                Ok(post) => break post,
                Err(mpsc::RecvTimeoutError::Disconnected) => return Received::End,
                Err(mpsc::RecvTimeoutError::Timeout) if ended.is_some_and(|ended| ended.elapsed() >= grace) => {
                    return Received::End;
                }
                Err(mpsc::RecvTimeoutError::Timeout) if start.elapsed() > timeout => return Received::Nothing,
                Err(mpsc::RecvTimeoutError::Timeout) => {}
            }
        };
        let message = match post.message {
            Ok(message) => message,
            Err(problem) => return Received::Wrong(problem),
        };
        if message.get("id").is_some() && message.get("method").is_some() {
            let id = message["id"].to_string();
            let opens_session = message["method"] == "initialize";
            self.open.insert(id.clone(), Open { stream: post.stream, is_event_stream: false, opens_session });
            self.latest = Some(id);
        } else {
            let _ = answer(&post.stream, 202, "", "");
        }
        Received::Message(message)
    }

    fn send(&mut self, message: &Value, status: Option<u16>) -> Result<(), String> {
        let gone = |error: std::io::Error| format!("the client has disconnected: {error}");
        if message.get("method").is_some() {
            let open = self.latest.as_ref().and_then(|id| self.open.get_mut(id));
            let open = open.ok_or_else(|| format!("no request is open whose stream could carry {message}"))?;
            return open.event(message).map_err(gone);
        }
        let open = self.open.remove(&message["id"].to_string());
        let mut open = open.ok_or_else(|| format!("no request is open that {message} answers"))?;
        if open.is_event_stream {
            return open.event(message).map_err(gone);
        }
        let session = if open.opens_session && status.is_none() { "Mcp-Session-Id: session\r\n" } else { "" };
        let headers = format!("Content-Type: application/json\r\n{session}");
        answer(&open.stream, status.unwrap_or(200), &headers, &message.to_string()).map_err(gone)
    }
}

impl Open {
    fn event(&mut self, message: &Value) -> IoResult<()> {
        if !self.is_event_stream {
            let head = "HTTP/1.1 200 Scripted\r\nConnection: close\r\nContent-Type: text/event-stream\r\n\r\n";
            self.stream.write_all(head.as_bytes())?;
            self.is_event_stream = true;
        }
        self.stream.write_all(format!("event: message\ndata: {message}\n\n").as_bytes())
    }
}
