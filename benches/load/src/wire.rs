//! Requests, response checking, and the two transports (stdio lines, HTTP/1.1 keep-alive).
use serde::Deserialize;
use serde_json::value::{RawValue, Value};
use std::{
    borrow::Cow,
    collections::BTreeMap,
    io::{Read, Write},
    net::TcpStream,
    os::fd::AsRawFd,
    process::{Child, ChildStdin, ChildStdout},
};

#[derive(Deserialize)]
struct S<'a>(#[serde(borrow)] Cow<'a, str>);
#[derive(Deserialize)]
struct Block<'a> {
    #[serde(borrow)]
    text: Option<S<'a>>,
}
#[derive(Deserialize)]
struct Res<'a> {
    #[serde(borrow)]
    content: Option<Vec<Block<'a>>>,
    tools: Option<Vec<serde::de::IgnoredAny>>,
    #[serde(rename = "isError")]
    is_error: Option<bool>,
    /// On 2026-07-28, questions by key.
    #[serde(borrow, rename = "inputRequests")]
    questions: Option<BTreeMap<&'a str, Question<'a>>>,
    #[serde(borrow, rename = "requestState")]
    state: Option<&'a RawValue>,
}
/// An `elicitation/create`.
#[derive(Deserialize)]
struct Question<'a> {
    #[serde(borrow)]
    params: Option<Elicited<'a>>,
}
#[derive(Deserialize)]
struct Elicited<'a> {
    #[serde(borrow)]
    message: Option<&'a RawValue>,
}
#[derive(Deserialize)]
struct Msg<'a> {
    /// A server chooses the ids of its requests, which may be strings.
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    method: Option<S<'a>>,
    #[serde(borrow)]
    params: Option<Elicited<'a>>,
    #[serde(borrow)]
    result: Option<Res<'a>>,
}

#[derive(Clone, Copy, PartialEq)]
pub enum Tool {
    Echo,
    Add,
    List,
    /// `echo`, with 20 progress reports before the result.
    Report,
    /// Asks the user its `message`, and returns the answer, which is the question.
    Ask,
    /// The sum of 100 integers.
    Wide,
}
impl Tool {
    pub fn named(name: &str) -> Tool {
        match name {
            "echo" => Tool::Echo,
            "add" => Tool::Add,
            "list" => Tool::List,
            "report" => Tool::Report,
            "ask" => Tool::Ask,
            "wide" => Tool::Wide,
            _ => panic!("tool {name}"),
        }
    }
    fn name(self) -> &'static str {
        match self {
            Tool::Echo => "echo",
            Tool::Add => "add",
            Tool::List => "",
            Tool::Report => "report",
            Tool::Ask => "ask",
            Tool::Wide => "wide",
        }
    }
    /// The method of its requests, and the headers that 2026-07-28 requires for them.
    pub fn headers(self) -> String {
        match self {
            Tool::List => "Mcp-Method: tools/list\r\n".into(),
            _ => format!("Mcp-Method: tools/call\r\nMcp-Name: {}\r\n", self.name()),
        }
    }
}

/// The meaning of a message for the calls in flight.
pub enum Seen {
    /// The result of the call with this id.
    Result(u64),
    /// A notification, such as a progress report.
    Notice,
    /// A request of the server, and the response to it.
    Question(Vec<u8>),
    /// A call needs input: the request to send next.
    Unfinished(Vec<u8>),
}

const WIDE_MEMBERS: usize = 100;
/// The `_meta` of requests of 2026-07-28, after a comma.
fn meta(capabilities: &str) -> String {
    format!(
        r#","_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{{"name":"mcpload","version":"0"}},"io.modelcontextprotocol/clientCapabilities":{{{capabilities}}}}}"#
    )
}

/// Added to the id of a call that is sent again with the answer: ids must be unique.
const RETRY_ID_OFFSET: u64 = 1 << 40;

/// The request to send and the expected reply.
#[derive(Clone)]
pub struct Gen {
    pub tool: Tool,
    pub modern: bool,
    pub fixed: bool,
    pub list_len: usize,
    /// Number of generated tools, of which ten are called, evenly spread; 0: `add`.
    among: usize,
    filler_json: String,
    filler: String,
}

impl Gen {
    pub fn new(tool: Tool, size: usize, modern: bool, fixed: bool, list_len: usize, among: usize) -> Gen {
        assert!(among.is_multiple_of(10), "--among needs a multiple of ten");
        // Text with newlines every 80 bytes: escaping work, but ordinary.
        let filler: String = (0..size.saturating_sub(24))
            .map(|i| if i % 80 == 79 { '\n' } else { (b'a' + (i % 26) as u8) as char })
            .collect();
        Gen { tool, modern, fixed, list_len, among, filler_json: filler.replace('\n', "\\n"), filler }
    }
    pub fn body(&self, id: u64, out: &mut Vec<u8>) {
        self.request(id, id, "", out);
    }
    /// `more`: members of the parameters, each after a comma.
    fn request(&self, id: u64, number: u64, more: &str, out: &mut Vec<u8>) {
        let asks = if self.tool == Tool::Ask { r#""elicitation":{"form":{}}"# } else { "" };
        let meta = if self.modern {
            meta(asks)
        } else if self.tool == Tool::Report {
            format!(r#","_meta":{{"progressToken":{id}}}"#)
        } else {
            String::new()
        };
        let mut call = |name: &str, arguments: &dyn std::fmt::Display| {
            write!(
                out,
                r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{name}","arguments":{{{arguments}}}{more}{meta}}}}}"#
            )
        };
        match self.tool {
            Tool::Echo | Tool::Report | Tool::Ask => {
                call(self.tool.name(), &format_args!(r#""message":"message {number:016}{}""#, self.filler_json))
            }
            Tool::Add if self.among > 0 => {
                let name = format!("tool_{:03}", id as usize % 10 * (self.among / 10));
                call(&name, &format_args!(r#""a":{number},"b":7"#))
            }
            Tool::Add => call("add", &format_args!(r#""a":{number},"b":7"#)),
            Tool::Wide => {
                let others: String = (1..WIDE_MEMBERS).map(|i| format!(r#","f{i:02}":{i}"#)).collect();
                call("wide", &format_args!(r#""f00":{number}{others}"#))
            }
            Tool::List => write!(
                out,
                r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/list","params":{{{}}}}}"#,
                meta.trim_start_matches(',')
            ),
        }
        .unwrap();
    }
    /// Err when `b` is a wrong response.
    pub fn check(&self, b: &[u8]) -> Result<Seen, String> {
        let bad = |w: &str| Err(format!("{w}: {}", String::from_utf8_lossy(&b[..b.len().min(300)])));
        let Ok(m) = serde_json::from_slice::<Msg>(b) else {
            return bad("not a JSON-RPC message");
        };
        let Some(id) = m.id else { return Ok(Seen::Notice) };
        if let Some(method) = m.method {
            let Some(message) = m.params.and_then(|p| p.message).filter(|_| method.0 == "elicitation/create") else {
                return bad("unexpected request");
            };
            let answer = answer(message);
            return Ok(Seen::Question(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{answer}}}"#).into()));
        }
        let Ok(id) = id.get().parse::<u64>() else {
            return bad("not our id");
        };
        if self.fixed {
            return Ok(Seen::Result(id));
        }
        let Some(r) = m.result else {
            return bad("no result");
        };
        if r.is_error == Some(true) {
            return bad("isError");
        }
        if let Some(questions) = r.questions {
            let state = r.state.map_or(String::new(), |s| format!(r#","requestState":{s}"#));
            let answers: Vec<String> = questions
                .iter()
                .filter_map(|(key, q)| Some(format!(r#""{key}":{}"#, answer(q.params.as_ref()?.message?))))
                .collect();
            let mut again = vec![];
            let more = format!(r#","inputResponses":{{{}}}{state}"#, answers.join(","));
            self.request(id + RETRY_ID_OFFSET, id, &more, &mut again);
            return if state.is_empty() { bad("no requestState") } else { Ok(Seen::Unfinished(again)) };
        }
        let id = id % RETRY_ID_OFFSET;
        if self.tool == Tool::List {
            return if r.tools.map_or(0, |t| t.len()) == self.list_len {
                Ok(Seen::Result(id))
            } else {
                bad("wrong tool count")
            };
        }
        let Some(text) = r.content.as_ref().and_then(|c| c.first()).and_then(|c| c.text.as_ref()) else {
            return bad("no text");
        };
        let ok = match self.tool {
            Tool::Add => text.0 == (id + 7).to_string(),
            Tool::Wide => text.0 == (id + (1..WIDE_MEMBERS as u64).sum::<u64>()).to_string(),
            _ => {
                text.0.len() == 24 + self.filler.len()
                    && text.0[..24] == format!("message {id:016}")
                    && text.0[24..] == self.filler
            }
        };
        if ok {
            Ok(Seen::Result(id))
        } else {
            bad("wrong text")
        }
    }
}

/// The user's answer to a question: the question itself.
fn answer(message: &RawValue) -> String {
    format!(r#"{{"action":"accept","content":{{"value":{message}}}}}"#)
}

pub const INIT: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"mcpload","version":"0"}}}"#;
pub const INITED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

/// How long a response may take, in milliseconds.
pub const STALL_MS: i32 = 60_000;

fn is_readable(fd: i32, timeout_ms: i32) -> bool {
    let mut fds = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    unsafe { libc::poll(&mut fds, 1, timeout_ms) == 1 }
}

pub struct Stdio {
    pub child: Child,
    w: ChildStdin,
    r: ChildStdout,
    buf: Vec<u8>,
    pos: usize,
}
impl Stdio {
    pub fn new(mut child: Child) -> Stdio {
        let (w, r) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Stdio { child, w, r, buf: Vec::new(), pos: 0 }
    }
    pub fn send(&mut self, b: &[u8]) {
        self.w.write_all(b).expect("server closed stdin")
    }
    /// A complete line already buffered, or None.
    pub fn buffered(&mut self) -> Option<Vec<u8>> {
        let i = self.buf[self.pos..].iter().position(|&c| c == b'\n')?;
        let l = self.buf[self.pos..self.pos + i].to_vec();
        self.pos += i + 1;
        Some(l)
    }
    pub fn fill(&mut self) {
        self.buf.drain(..self.pos);
        self.pos = 0;
        // Scan only new bytes for the newline, so a large line costs one pass.
        loop {
            let old = self.buf.len();
            self.buf.resize(old + 262_144, 0);
            // As over HTTP: a server that hangs must not hold up the others for longer.
            assert!(is_readable(self.r.as_raw_fd(), STALL_MS), "no response for {} s", STALL_MS / 1000);
            let n = self.r.read(&mut self.buf[old..]).expect("read");
            self.buf.truncate(old + n);
            assert!(n > 0, "server closed stdout");
            if self.buf[old..].contains(&b'\n') {
                return;
            }
        }
    }
    pub fn line(&mut self) -> Vec<u8> {
        loop {
            if let Some(l) = self.buffered() {
                if !l.is_empty() {
                    return l;
                }
            } else {
                self.fill()
            }
        }
    }
    pub fn split(self) -> (Child, (ChildStdin, ChildStdout)) {
        (self.child, (self.w, self.r))
    }
    pub fn handshake(&mut self) -> Vec<u8> {
        self.send(format!("{INIT}\n").as_bytes());
        let l = self.line();
        self.send(format!("{INITED}\n").as_bytes());
        l
    }
}

pub struct Reply {
    pub status: u16,
    pub body: Vec<u8>,
    pub sse: bool,
    pub session: Option<String>,
    pub wire: usize,
}
impl Reply {
    /// The JSON-RPC messages in the reply.
    pub fn messages(&self) -> Vec<&[u8]> {
        if !self.sse {
            return if self.body.is_empty() { vec![] } else { vec![&self.body] };
        }
        self.body
            .split(|&c| c == b'\n')
            .filter_map(|l| l.strip_prefix(b"data:"))
            .map(|d| d.trim_ascii())
            .filter(|d| !d.is_empty())
            .collect()
    }
}

pub struct Http {
    pub s: TcpStream,
    inb: Vec<u8>,
    out: Vec<u8>,
    scratch: Vec<u8>,
    pub head: String,
    /// Its `Authorization` header, if any.
    pub authorization: String,
    /// Number of messages of the current reply that `new_messages` has returned.
    seen: usize,
}
impl Http {
    pub fn connect(port: u16) -> std::io::Result<Http> {
        let s = TcpStream::connect(("127.0.0.1", port))?;
        s.set_nodelay(true)?;
        Ok(Http {
            s,
            inb: vec![],
            out: vec![],
            scratch: vec![],
            head: String::new(),
            authorization: String::new(),
            seen: 0,
        })
    }
    /// Headers for every following request.
    pub fn set_head(&mut self, port: u16, path: &str, extra: &str) {
        self.head = format!(
            "POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n{}{extra}",
            self.authorization
        );
    }
    pub fn post(&mut self, fill: impl FnOnce(&mut Vec<u8>)) {
        self.scratch.clear();
        fill(&mut self.scratch);
        self.out.clear();
        write!(self.out, "{}Content-Length: {}\r\n\r\n", self.head, self.scratch.len()).unwrap();
        self.out.extend_from_slice(&self.scratch);
        self.s.write_all(&self.out).expect("server closed the connection");
    }
    /// One read(); Some when a whole response has arrived.
    pub fn poll_reply(&mut self) -> Option<Reply> {
        let old = self.inb.len();
        self.inb.resize(old + 262_144, 0);
        let n = self.s.read(&mut self.inb[old..]).unwrap_or(0);
        self.inb.truncate(old + n);
        assert!(
            n > 0,
            "server closed the connection; got {:?}",
            String::from_utf8_lossy(&self.inb[..self.inb.len().min(300)])
        );
        let r = parse(&self.inb, false)?;
        self.inb.drain(..r.wire);
        self.seen = 0;
        Some(r)
    }
    /// The messages of an incomplete reply that have arrived since the last call.
    pub fn new_messages(&mut self) -> Vec<Vec<u8>> {
        let Some(mut r) = parse(&self.inb, true).filter(|r| r.sse) else {
            return vec![];
        };
        r.body.truncate(r.body.iter().rposition(|&c| c == b'\n').map_or(0, |at| at + 1));
        let all = r.messages();
        let new = all[self.seen..].iter().map(|m| m.to_vec()).collect();
        self.seen = all.len();
        new
    }
    pub fn roundtrip(&mut self, body: &str) -> Reply {
        self.post(|o| o.extend_from_slice(body.as_bytes()));
        loop {
            if let Some(r) = self.poll_reply() {
                return r;
            }
        }
    }
    /// Sets the headers for requests of an open session.
    pub fn join(&mut self, port: u16, path: &str, session: Option<&str>) {
        let mut extra = "MCP-Protocol-Version: 2025-11-25\r\n".to_string();
        if let Some(s) = session {
            extra += &format!("Mcp-Session-Id: {s}\r\n")
        }
        self.set_head(port, path, &extra);
    }
    /// Opens a GET stream, on a connection of its own. `head`: of the requests of its session.
    pub fn stream(port: u16, head: &str) -> Http {
        let head = head.replacen("POST", "GET", 1).replace("application/json, text/event-stream", "text/event-stream");
        let mut stream = Http::connect(port).unwrap();
        stream.s.write_all(format!("{head}\r\n").as_bytes()).unwrap();
        stream.begun("GET")
    }
    /// Opens a stream of list changes (2026-07-28) on this connection.
    pub fn subscribe(mut self, port: u16, path: &str) -> Http {
        self.set_head(port, path, "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: subscriptions/listen\r\n");
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":"listen","method":"subscriptions/listen","params":{{"notifications":{{"toolsListChanged":true}}{}}}}}"#,
            meta("")
        );
        self.post(|out| out.extend_from_slice(body.as_bytes()));
        self.begun("subscriptions/listen")
    }
    /// Waits for the beginning of a stream.
    fn begun(mut self, what: &str) -> Http {
        let mut beginning = [0; 16];
        self.s.read_exact(&mut beginning).unwrap();
        assert!(beginning.starts_with(b"HTTP/1.1 200"), "{what}: {}", String::from_utf8_lossy(&beginning));
        self
    }
    /// initialize + initialized; sets the session headers for later requests.
    pub fn handshake(&mut self, port: u16, path: &str) -> Reply {
        self.set_head(port, path, "");
        let r = self.roundtrip(INIT);
        assert!(r.status == 200, "initialize: HTTP {} {}", r.status, String::from_utf8_lossy(&r.body));
        self.join(port, path, r.session.as_deref());
        let n = self.roundtrip(INITED);
        assert!(n.status / 100 == 2, "initialized: HTTP {}", n.status);
        r
    }
}

fn find(h: &[u8], n: &[u8]) -> Option<usize> {
    h.windows(n.len()).position(|w| w == n)
}

/// `partial`: as much as has arrived, of a body in chunks.
fn parse(b: &[u8], partial: bool) -> Option<Reply> {
    let he = find(&b[..b.len().min(65_536)], b"\r\n\r\n")?;
    let head = std::str::from_utf8(&b[..he]).expect("header bytes");
    let mut lines = head.split("\r\n");
    let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
    let (mut len, mut chunked, mut sse, mut session) = (None, false, false, None);
    for l in lines {
        let (k, v) = l.split_once(':').unwrap_or((l, ""));
        let v = v.trim();
        if k.eq_ignore_ascii_case("content-length") {
            len = v.parse::<usize>().ok()
        } else if k.eq_ignore_ascii_case("transfer-encoding") {
            chunked = v.eq_ignore_ascii_case("chunked")
        } else if k.eq_ignore_ascii_case("content-type") {
            sse = v.starts_with("text/event-stream")
        } else if k.eq_ignore_ascii_case("mcp-session-id") {
            session = Some(v.to_string())
        }
    }
    let mut p = he + 4;
    let mut body = Vec::new();
    if chunked {
        loop {
            let chunk = find(&b[p..b.len().min(p + 64)], b"\r\n").and_then(|at| {
                let n = usize::from_str_radix(std::str::from_utf8(&b[p..p + at]).ok()?.split(';').next()?.trim(), 16);
                n.ok().map(|n| (p + at, n)).filter(|(e, n)| b.len() >= e + 2 + n + 2)
            });
            let Some((e, n)) = chunk else {
                if partial {
                    break;
                }
                return None;
            };
            body.extend_from_slice(&b[e + 2..e + 2 + n]);
            p = e + 2 + n + 2;
            if n == 0 {
                break;
            }
        }
    } else {
        let n = len.unwrap_or(0);
        if b.len() < p + n {
            return None;
        }
        body.extend_from_slice(&b[p..p + n]);
        p += n;
    }
    Some(Reply { status, body, sse, session, wire: p })
}

pub fn pick<'a>(v: &'a Value, path: &str) -> &'a Value {
    v.pointer(path).unwrap_or(&Value::Null)
}
