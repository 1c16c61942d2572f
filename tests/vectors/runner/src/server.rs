//! The servers to test with vectors.

use crate::{Transport, Wire, http::Http};
use std::{
    collections::HashMap,
    ffi::OsString,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{Mutex, PoisonError},
};

/// A server under test.
pub trait Server: Sync {
    /// A new connection; `None` if the server does not support this transport or page size.
    fn connect(&self, over: Transport, page_size: Option<usize>) -> Option<Wire>;
}

/// A server that is started as a new process for each vector and uses standard input and output.
pub struct CommandServer {
    command: Vec<OsString>,
}

impl CommandServer {
    /// The program and its arguments.
    pub fn new(command: Vec<OsString>) -> Self {
        Self { command }
    }
}

impl Server for CommandServer {
    fn connect(&self, over: Transport, page_size: Option<usize>) -> Option<Wire> {
        let (program, arguments) = self.command.split_first()?;
        if over != Transport::Stdio || page_size.is_some() {
            return None;
        }
        let mut command = Command::new(program);
        command.args(arguments);
        Some(Wire::run(command))
    }
}

/// A server that is already listening.
#[derive(Default)]
pub struct UrlServer {
    /// The endpoint of Streamable HTTP.
    pub http: Option<String>,
    /// The stream of HTTP+SSE.
    pub sse: Option<String>,
    /// `true` if the server keeps no sessions.
    pub stateless: bool,
    /// `true` if the server never responds with a stream.
    pub json: bool,
}

impl Server for UrlServer {
    fn connect(&self, over: Transport, page_size: Option<usize>) -> Option<Wire> {
        if page_size.is_some() {
            return None;
        }
        let http = self.http.as_deref();
        let http = match over {
            Transport::Http if !self.stateless && !self.json => Http::new(http?),
            Transport::Stateless if self.stateless => Http::new(http?),
            Transport::Json if self.json => Http::json_only(http?),
            Transport::Sse => Http::sse(self.sse.as_deref()?),
            _ => return None,
        };
        Some(Wire::over_http(http))
    }
}

/// A server with the command line of the fixture servers (tests/fixtures/README.md), which is
/// started as needed by the vectors.
pub struct Fixture {
    program: PathBuf,
    /// The processes that listen, by their options.
    listening: Mutex<HashMap<Vec<String>, Listening>>,
}

impl Fixture {
    /// The program that accepts the options.
    pub fn new(program: PathBuf) -> Self {
        Self { program, listening: Mutex::default() }
    }
}

impl Server for Fixture {
    fn connect(&self, over: Transport, page_size: Option<usize>) -> Option<Wire> {
        let mut options: Vec<String> =
            page_size.map(|size| ["--page-size".into(), size.to_string()]).into_iter().flatten().collect();
        if over == Transport::Stdio {
            let mut command = Command::new(&self.program);
            command.arg("--stdio").args(options);
            return Some(Wire::run(command));
        }
        options.extend(match over {
            Transport::Stateless => Some("--stateless".into()),
            Transport::Json => Some("--json".into()),
            _ => None,
        });
        let mut listening = self.listening.lock().unwrap_or_else(PoisonError::into_inner);
        // One process serves all vectors with the same options.
        let server = listening.entry(options).or_insert_with_key(|options| Listening::start(&self.program, options));
        Some(Wire::over_http(match over {
            Transport::Sse => Http::sse(&server.sse()),
            Transport::Json => Http::json_only(&server.url),
            _ => Http::new(&server.url),
        }))
    }
}

struct Listening {
    process: Child,
    url: String,
}

impl Listening {
    fn start(program: &Path, options: &[String]) -> Self {
        let mut command = Command::new(program);
        command.args(["--http", "0"]).args(options).stdout(Stdio::piped());
        let mut process =
            command.spawn().unwrap_or_else(|error| panic!("{} does not start: {error}", program.display()));
        let mut line = String::new();
        BufReader::new(process.stdout.take().expect("piped")).read_line(&mut line).expect("standard output is text");
        let Some(url) = line.trim().strip_prefix("listening ") else {
            let _ = process.kill();
            let _ = process.wait();
            panic!("{} printed {line:?} instead of `listening URL`", program.display());
        };
        let url = url.to_owned();
        Self { process, url }
    }

    /// The stream of HTTP+SSE, on the same address.
    fn sse(&self) -> String {
        let host = self.url.strip_prefix("http://").and_then(|rest| rest.split('/').next()).unwrap_or_default();
        format!("http://{host}/sse")
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
