//! Servers and hosts for the tests of the program, played by the test binary itself, and a client
//! of raw HTTP.

use serde_json::Value;
use std::{
    env, fs,
    future::Future,
    io::{Read, Write},
    net::TcpStream,
    path::PathBuf,
    process::{Command, Stdio},
    sync::atomic::{AtomicU32, Ordering},
    thread,
    time::{Duration, Instant},
};
use trunkline::Server;

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_trunkline");
pub(crate) const ROLE: &str = "TRUNKLINE_TEST_ROLE";
pub(crate) const FILE: &str = "TRUNKLINE_TEST_FILE";

/// Maximum wait of a test: anything that takes longer, on any machine, is a hang.
const DEADLINE: Duration = Duration::from_secs(60);

/// A part that this binary plays.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Role {
    Server,
    /// A server that ends because a variable is missing.
    NoKey,
    /// A server as a file in its folder describes it.
    Edited,
    /// A host that starts a bridge to a stubborn server.
    Host,
    /// A server to inspect.
    Inspected,
    /// A server with an app and a skill.
    Apps,
    /// A server of 2024-11-05 only.
    Old,
    /// A server of 2026-07-28 only.
    New,
    /// A server whose tools have faults, and whose list has another order each time.
    Faulty,
    /// A server whose skill has other files than its entry says.
    Liar,
    /// A server whose list changes while it is being read.
    Changing,
    /// A server with too many questions.
    Crowd,
    /// A server whose messages are broken.
    Garbling,
    /// A server that has prompts only when it is started for the first time.
    Forgetful,
}

impl Role {
    fn name(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::NoKey => "no key",
            Self::Edited => "edited",
            Self::Host => "host",
            Self::Inspected => "inspected",
            Self::Apps => "apps",
            Self::Old => "old",
            Self::New => "new",
            Self::Faulty => "faulty",
            Self::Liar => "liar",
            Self::Changing => "changing",
            Self::Crowd => "crowd",
            Self::Garbling => "garbling",
            Self::Forgetful => "forgetful",
        }
    }

    /// The words after the flags of a bridge that starts this role; the host starts by itself.
    pub(crate) fn command(self) -> Vec<String> {
        let program = env::current_exe().unwrap().to_str().unwrap().to_owned();
        let plays =
            [&*program, "bridge::plays_a_role", "--exact", "--nocapture", "--test-threads=1"].map(str::to_owned);
        match self {
            Self::Host => plays.to_vec(),
            _ => {
                let before = ["--env".to_owned(), format!("{ROLE}={}", self.name()), "--".to_owned()];
                before.into_iter().chain(plays).collect()
            }
        }
    }
}

/// Plays the role that the environment names, if it names one, and then does not return.
pub(crate) fn play() {
    let Ok(role) = env::var(ROLE) else { return };
    // Ends the line that the test harness has begun.
    println!();
    match &*role {
        "server" => serve(),
        "no key" => {
            let _ = std::io::stdin().read_line(&mut String::new());
            eprintln!("API_KEY is not set");
            std::process::exit(3);
        }
        "edited" => crate::dev::edited(),
        "inspected" => crate::inspected::serve(),
        "apps" => crate::inspect_apps::serve(),
        "old" => crate::inspected::speak(false),
        "new" => crate::inspected::speak(true),
        "faulty" => crate::inspected::faulty(),
        "liar" => crate::inspected::lie(),
        "changing" => crate::inspected::change(),
        "crowd" => crate::inspected::crowd(),
        "garbling" => crate::inspected::garble(),
        "forgetful" => crate::inspected::forget(),
        "stubborn" => {
            serve();
            // Its input has ended, but it stays.
            thread::sleep(DEADLINE);
        }
        "host" => host(),
        "browser" => crate::login_server::visit(&env::var("TRUNKLINE_TEST_PAGE").unwrap()),
        role => panic!("no role {role:?}"),
    }
    std::process::exit(0);
}

pub(crate) fn weather() -> Server {
    Server::builder("weather", "1.4.0")
        .instructions("Ask for one city at a time.")
        .tool("forecast", "Forecast.", async || "sun")
        .tool("pid", "The process.", async || std::process::id().to_string())
        .tool("die", "End the process.", async || -> &'static str {
            eprintln!("the database is locked");
            std::process::exit(3)
        })
        .build()
}

fn serve() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { weather().serve_stdio().await.unwrap() });
}

/// Starts a bridge, asks for the process of the server, writes both to the file, and waits to be
/// killed.
fn host() {
    let file = PathBuf::from(env::var_os(FILE).unwrap());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut words = vec![PROGRAM.to_owned(), "bridge".to_owned()];
        words.extend(Role::Server.command().into_iter().map(|word| match word.strip_prefix(ROLE) {
            Some(_) => format!("{ROLE}=stubborn"),
            None => word,
        }));
        // Not through the library's own client: it would end the bridge in its own way.
        let mut bridge = Command::new(&words[0]);
        bridge.args(&words[1..]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut bridge = bridge.spawn().unwrap();
        let mut input = bridge.stdin.take().unwrap();
        let messages = [
            r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"host","version":"1"}}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"pid","arguments":{}}}"#,
        ];
        let mut output = std::io::BufReader::new(bridge.stdout.take().unwrap());
        let mut pid = String::new();
        for message in messages {
            writeln!(input, "{message}").unwrap();
            if message.contains("\"id\"") {
                pid.clear();
                std::io::BufRead::read_line(&mut output, &mut pid).unwrap();
            }
        }
        let answer: Value = serde_json::from_str(&pid).unwrap();
        let pid = answer["result"]["content"][0]["text"].as_str().unwrap().to_owned();
        fs::write(&file, format!("{} {pid}.\n", bridge.id())).unwrap();
        thread::sleep(DEADLINE);
        drop(input);
        bridge.wait().unwrap();
    });
}

/// The path of a file of one test, removed with it; it does not exist at first.
pub(crate) struct File(PathBuf);

impl File {
    pub(crate) fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = env::temp_dir().join(format!("trunkline-cli-file-{}-{number}", std::process::id()));
        let _ = fs::remove_file(&path);
        Self(path)
    }

    pub(crate) fn create(&self) -> fs::File {
        fs::File::create(&self.0).unwrap()
    }

    pub(crate) fn text(&self) -> String {
        fs::read_to_string(&self.0).unwrap_or_default()
    }

    pub(crate) fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

pub(crate) async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(DEADLINE, future).await.expect("it does not end")
}

/// Waits until something is true.
pub(crate) fn until(mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < DEADLINE, "it does not come");
        thread::sleep(Duration::from_millis(10));
    }
}

/// The same for a task.
pub(crate) async fn waited(mut holds: impl FnMut() -> bool) {
    soon(async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}

/// A factor for times on a machine that does other work.
pub(crate) fn slowness() -> u32 {
    10
}

/// Returns whether a process is running; a zombie is not.
pub(crate) fn runs(id: &str) -> bool {
    let state = Command::new("ps").args(["-o", "stat=", "-p", id]).output().unwrap().stdout;
    !state.is_empty() && !state.starts_with(b"Z")
}

/// The servers that a process has started: not the shells that watch them.
pub(crate) fn children_of(id: u32) -> usize {
    let all = Command::new("ps").args(["-eo", "ppid=,stat=,args="]).output().unwrap().stdout;
    let all = String::from_utf8_lossy(&all);
    let is_server = |line: &&str| {
        let mut words = line.split_whitespace();
        words.next() == Some(&id.to_string())
            && words.next().is_some_and(|state| !state.starts_with('Z'))
            && line.contains("plays_a_role")
    };
    all.lines().filter(is_server).count()
}

/// The memory of a process.
pub(crate) fn resident_bytes(id: u32) -> u64 {
    let size = Command::new("ps").args(["-o", "rss=", "-p", &id.to_string()]).output().unwrap().stdout;
    String::from_utf8_lossy(&size).trim().parse::<u64>().unwrap() * 1024
}

/// Posts a message and vanishes: the id of the session, and the response with its head.
pub(crate) fn post(url: &str, session: Option<&str>, message: &Value) -> (Option<String>, String) {
    let session = session.map(|id| format!("Mcp-Session-Id: {id}"));
    let headers: Vec<&str> = session.iter().map(String::as_str).collect();
    post_with(url, &headers, message)
}

/// The whole response.
pub(crate) fn get(url: &str) -> String {
    let (host, path) = url.trim_start_matches("http://").split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    write!(stream, "GET /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

pub(crate) fn post_with(url: &str, headers: &[&str], message: &Value) -> (Option<String>, String) {
    let (host, path) = url.trim_start_matches("http://").split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    let body = message.to_string();
    let has_host = headers.iter().any(|header| header.starts_with("Host:"));
    let mut head = format!(
        "POST /{path} HTTP/1.1\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
         Content-Length: {}\r\nConnection: close\r\n",
        body.len()
    );
    if !has_host {
        head += &format!("Host: {host}\r\n");
    }
    headers.iter().for_each(|header| head += &format!("{header}\r\n"));
    write!(stream, "{head}\r\n{body}").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let session = answer.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("mcp-session-id").then(|| value.trim().to_owned())
    });
    (session, answer)
}
