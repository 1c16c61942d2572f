//! `trunkline bridge`, the real program, between servers and clients of the library and raw ones.

use crate::{
    program::trunkline,
    roles::{
        self, File, PROGRAM, Role, children_of, get, post, post_with, resident_bytes, runs, soon, until, waited,
        weather,
    },
};
use serde_json::{Value, json};
use std::{
    hash::{BuildHasher, RandomState},
    io::{BufRead, BufReader, Read, Write},
    net::TcpListener,
    process::{Child, ChildStdin, Command, Stdio},
    time::{Duration, Instant},
};
use trunkline::{
    ChildCommand, Client, ClientError, ClientOptions, Listener, Revision, RevisionChoice, Server, ServerOptions,
    server::Context,
    transport::{ChildStderr, Target},
};

/// Not a test by itself: this binary runs itself again with this test alone, as a server or a host.
#[test]
fn plays_a_role() {
    roles::play();
}

fn speaking(revision: Revision) -> ClientOptions {
    ClientOptions::default().with_revision(RevisionChoice::Pinned(revision))
}

pub(crate) async fn connect(target: impl Into<Target>, revision: Revision) -> Client {
    soon(Client::connect_with(target, speaking(revision), ())).await.unwrap()
}

/// The bridge as a command of a host.
pub(crate) fn bridge(arguments: impl IntoIterator<Item = String>) -> ChildCommand {
    let words = [PROGRAM, "bridge", "--auth", "none"].map(str::to_owned);
    ChildCommand::new(words.into_iter().chain(arguments)).with_stderr(ChildStderr::Keep)
}

/// A bridge that listens, and what it prints.
pub(crate) struct Listening {
    pub(crate) process: Child,
    pub(crate) url: String,
    pub(crate) notes: File,
}

impl Listening {
    pub(crate) fn start(flags: &[&str], server: impl IntoIterator<Item = String>) -> Self {
        let notes = File::new();
        let mut command = Command::new(PROGRAM);
        command.args(["bridge", "--auth", "none"]).args(flags);
        if !flags.contains(&"--listen") {
            command.args(["--listen", "127.0.0.1:0"]);
        }
        command.args(server);
        command.stdin(Stdio::null()).stderr(notes.create());
        let mut listening = Self { process: command.spawn().unwrap(), url: String::new(), notes };
        until(|| {
            let notes = listening.notes.text();
            let url = notes.split_whitespace().find(|word| word.starts_with("http://"));
            listening.url = url.unwrap_or_default().to_owned();
            url.is_some()
        });
        listening
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = Command::new("kill").arg(self.process.id().to_string()).status();
        let _ = self.process.wait();
    }
}

/// A host that speaks to the bridge line by line.
struct Host {
    process: Child,
    input: Option<ChildStdin>,
    output: BufReader<std::process::ChildStdout>,
}

impl Host {
    fn start(arguments: impl IntoIterator<Item = String>) -> Self {
        Self::start_with(arguments, Stdio::null())
    }

    fn start_with(arguments: impl IntoIterator<Item = String>, log: Stdio) -> Self {
        let mut command = Command::new(PROGRAM);
        command.args(["bridge", "--auth", "none"]).args(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log);
        let mut process = command.spawn().unwrap();
        let (input, output) = (process.stdin.take(), BufReader::new(process.stdout.take().unwrap()));
        Self { process, input, output }
    }

    fn ask(&mut self, message: &Value) -> Value {
        let mut input = self.input.as_ref().unwrap();
        writeln!(input, "{message}").unwrap();
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    /// Ends the input, and waits for the end of the bridge.
    fn end(mut self) {
        drop(self.input.take());
        let mut rest = String::new();
        self.output.read_to_string(&mut rest).unwrap();
        assert!(self.process.wait().unwrap().success() && rest.is_empty(), "{rest}");
    }
}

pub(crate) fn initialize() -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "host", "version": "1"},
    }})
}

fn discover() -> Value {
    json!({"jsonrpc": "2.0", "id": 2, "method": "server/discover", "params": {"_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "host", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }}})
}

/// A port where nothing listens, yet: the system gives none of these to another socket meanwhile.
pub(crate) fn free_port() -> u16 {
    loop {
        let port = 20_000 + (RandomState::new().hash_one(0) % 12_000) as u16;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

pub(crate) async fn weather_at(port: u16) -> Listener {
    weather().listen(("127.0.0.1", port)).await.unwrap()
}

pub(crate) async fn text(client: &Client, tool: &str) -> String {
    soon(client.call_tool(tool, json!({}))).await.unwrap().joined_text()
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_see_the_server_itself_in_both_directions_and_all_revisions() {
    let listener = weather_at(0).await;
    let there = Listening::start(&[], Role::Server.command());
    for revision in Revision::ALL {
        let as_command = bridge([listener.url().unwrap()]);
        let of_pipe = bridge(Role::Server.command());
        for target in [Target::from(as_command), Target::from(of_pipe), Target::from(there.url.as_str())] {
            let client = connect(target, revision).await;
            assert_eq!(text(&client, "forecast").await, "sun", "{revision}");
            waited(|| client.server_info().is_some()).await;
            let server = client.server_info().unwrap();
            assert_eq!((&*server.name, &*server.version), ("weather", "1.4.0"), "{revision}");
            assert_eq!(client.instructions(), Some("Ask for one city at a time."), "{revision}");
            let declared = client.server_capabilities();
            assert!(declared.tools.is_some() && declared.prompts.is_none(), "{revision}: {declared:?}");
            client.close().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn r3_a_server_that_cannot_be_reached_fails_the_handshake_and_is_tried_again() {
    let port = free_port();
    let mut host = Host::start([format!("http://127.0.0.1:{port}/mcp")]);
    for message in [initialize(), discover()] {
        let answer = host.ask(&message);
        let said = answer["error"]["message"].as_str().unwrap_or_default();
        assert!(said.contains("Cannot connect to") && said.contains("check whether the server runs"), "{answer}");
    }
    let _listener = weather_at(port).await;
    let answer = host.ask(&initialize());
    assert_eq!(answer["result"]["serverInfo"]["name"], "weather", "{answer}");
    host.end();
}

#[test]
fn r3_a_command_that_cannot_be_started_fails_the_handshake_with_what_to_check() {
    for (server, what) in [
        (vec!["--".to_owned(), "no-such-program-here".to_owned()], "check the spelling"),
        (Role::NoKey.command(), "API_KEY is not set"),
    ] {
        let mut host = Host::start(server);
        let answer = host.ask(&initialize());
        assert!(answer["error"]["message"].as_str().unwrap_or_default().contains(what), "{answer}");
        host.end();
    }
}

/// The error of a call that ends its server, and how long it took.
async fn died(client: &Client) -> (ClientError, Duration) {
    let began = Instant::now();
    let error = soon(client.call_tool("die", json!({}))).await.unwrap_err();
    (error, began.elapsed())
}

/// The most that it may take.
const AT_ONCE: Duration = Duration::from_millis(100);

#[tokio::test(flavor = "multi_thread")]
async fn r4_and_r10_the_end_of_a_process_is_told_at_once_and_the_next_call_starts_it_again() {
    let there = Listening::start(&[], Role::Server.command());
    for (target, is_here) in [(bridge(Role::Server.command()).into(), true), (Target::from(there.url.as_str()), false)]
    {
        for revision in [Revision::V2025_06_18, Revision::LATEST] {
            let client = connect(target.clone(), revision).await;
            // Other work on the machine delays some ends, and a fault delays all of them.
            let mut fastest = Duration::MAX;
            for _ in 0..5 {
                let before = text(&client, "pid").await;
                let (error, took) = died(&client).await;
                let said = error.to_string();
                assert!(said.contains("exited with status 3"), "{revision}: {said}");
                assert_eq!(said.contains("the database is locked"), is_here, "{revision}: {said}");
                assert_ne!(text(&client, "pid").await, before, "{revision}");
                fastest = fastest.min(took);
                if fastest < AT_ONCE {
                    break;
                }
            }
            assert!(fastest < AT_ONCE, "{fastest:?}");
            client.close().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn r10_probes_show_the_state_of_a_process_that_has_ended_and_nothing_secret() {
    let there = Listening::start(&["--health"], Role::Server.command());
    let are = |there: &Listening, state: &str| {
        until(|| {
            let answer = get(&there.url.replace("/mcp", "/healthz"));
            assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
            answer.ends_with(&format!("\r\n\r\nok\nproxy: {state}\n"))
        });
    };
    are(&there, "connected");
    let client = connect(there.url.as_str(), Revision::LATEST).await;
    let (error, _) = died(&client).await;
    assert!(error.to_string().contains("exited with status 3"), "{error}");
    are(&there, "down");
    assert_eq!(text(&client, "forecast").await, "sun");
    are(&there, "connected");
    client.close().await;

    let never = Listening::start(&["--health"], ["--", "no-such-program-here", "secret"].map(str::to_owned));
    are(&never, "down");
}

#[test]
fn r10_a_process_that_keeps_ending_is_started_after_growing_pauses() {
    let starts = File::new();
    let script = format!("echo started >> {}; exit 3", starts.path());
    let mut host = Host::start(["--", "sh", "-c", &script].map(str::to_owned));
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(2) {
        let answer = host.ask(&initialize());
        assert!(answer["error"]["message"].as_str().unwrap_or_default().contains("exited with status 3"), "{answer}");
    }
    // Each attempt may ask twice, by two revisions. Without pauses, there would be hundreds.
    let count = starts.text().lines().count();
    assert!((2..=24).contains(&count), "{count} starts in {:?}", began.elapsed());
    host.end();
}

#[test]
fn r6_nothing_is_left_3_s_after_the_host_was_killed() {
    let pids = File::new();
    let [program, arguments @ ..] = &Role::Host.command()[..] else { panic!("no command") };
    let mut command = Command::new(program);
    command.args(arguments).env(roles::ROLE, "host").env(roles::FILE, pids.path());
    let mut host = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    until(|| pids.text().ends_with(".\n"));
    let text = pids.text();
    let pids: Vec<&str> = text.trim_end_matches(".\n").split_whitespace().collect();
    assert!(pids.len() == 2 && pids.iter().all(|pid| runs(pid)), "{pids:?}");
    host.kill().unwrap();
    host.wait().unwrap();
    let killed = Instant::now();
    until(|| !pids.iter().any(|pid| runs(pid)));
    assert!(killed.elapsed() < Duration::from_secs(3), "{:?}", killed.elapsed());
}

#[test]
fn r8_clients_that_vanish_leave_few_processes_and_little_memory() {
    let (clients, max) = if std::env::var_os("TRUNKLINE_LONG").is_some() { (1_000, 8) } else { (100, 4) };
    let there = Listening::start(&["--max-children", &max.to_string()], Role::Server.command());
    let vanish = || {
        let (session, answer) = post(&there.url, None, &initialize());
        assert!(answer.contains("weather"), "{answer}");
        let call =
            json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "forecast", "arguments": {}}});
        let (_, answer) = post(&there.url, session.as_deref(), &call);
        assert!(answer.contains("sun"), "{answer}");
    };
    (0..2 * max).for_each(|_| vanish());
    let before = resident_bytes(there.process.id());
    let mut most = 0;
    for _ in 0..clients {
        vanish();
        most = most.max(children_of(there.process.id()));
    }
    until(|| children_of(there.process.id()) <= max);
    let grown = resident_bytes(there.process.id()).saturating_sub(before);
    assert!(grown < 5_000_000, "{grown} bytes");
    // Processes that were evicted for others may still be exiting.
    assert!(most <= 3 * max, "{most} of {max}");
}

#[tokio::test(flavor = "multi_thread")]
async fn r9_a_lost_session_is_opened_again_and_its_call_repeated() {
    let port = free_port();
    let options = ServerOptions::default().with_session_idle(Duration::from_millis(200));
    let start = || async {
        let server = Server::builder("weather", "1.4.0").options(options.clone());
        server.tool("forecast", "Forecast.", async || "sun").build().listen(("127.0.0.1", port)).await.unwrap()
    };
    let first = start().await;
    let flags = ["--era", "legacy"].map(str::to_owned).into_iter().chain([format!("http://127.0.0.1:{port}/mcp")]);
    let client = connect(bridge(flags), Revision::V2025_11_25).await;
    assert_eq!(text(&client, "forecast").await, "sun");
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(text(&client, "forecast").await, "sun", "after the idle time");
    first.close(Duration::ZERO).await;
    let _second = start().await;
    // A call that was written to the old connection may have run, so it is not repeated.
    let call = async || soon(client.call_tool("forecast", json!({}))).await;
    let after = match call().await {
        Err(error) if error.to_string().contains("was lost") => call().await,
        other => other,
    };
    assert_eq!(after.unwrap().joined_text(), "sun", "after a restart");
    client.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pings_keep_an_idle_session() {
    let session = async |context: Context| context.session_id().unwrap_or_default().to_owned();
    // Longer than a busy machine delays a ping.
    let options = ServerOptions::default().with_session_idle(Duration::from_secs(2));
    let server = Server::builder("weather", "1.4.0").options(options).tool("session", "The session.", session).build();
    let listener = server.listen("127.0.0.1:0").await.unwrap();
    let flags = ["--era", "legacy", "--ping-interval", "0.2"].map(str::to_owned);
    let client = connect(bridge(flags.into_iter().chain([listener.url().unwrap()])), Revision::V2025_11_25).await;
    let before = text(&client, "session").await;
    tokio::time::sleep(Duration::from_millis(3_500)).await;
    assert!(!before.is_empty());
    assert_eq!(text(&client, "session").await, before);
    client.close().await;
}

#[test]
fn probes_are_answered_at_the_paths_of_other_bridges() {
    let flags = ["--healthEndpoint", "/up", "--healthEndpoint", "/healthz"];
    let there = Listening::start(&flags, Role::Server.command());
    let origin = there.url.trim_end_matches("/mcp");
    for (path, status) in [("up", 200), ("healthz", 200), ("readyz", 404)] {
        let head = crate::login_server::get(&format!("{origin}/{path}"));
        assert!(head.starts_with(&format!("HTTP/1.1 {status}")), "{path}: {head}");
    }
}

#[test]
fn r11_what_a_server_prints_is_shown_and_the_connection_goes_on() {
    let there = Listening::start(&[], Role::Server.command());
    let (_, answer) = post(&there.url, None, &initialize());
    assert!(answer.contains("weather"), "{answer}");
    // This test binary prints before it plays the server.
    for said in ["running 1 test", "let it log to its standard error"] {
        until(|| there.notes.text().contains(said));
    }
}

#[test]
fn r11_where_nobody_reads_standard_error_only_the_log_is_lost() {
    // A host that closes the pipe, and a file on a full disk.
    let logs: [fn() -> Stdio; 2] = [Stdio::piped, || match cfg!(target_os = "linux") {
        true => std::fs::File::options().write(true).open("/dev/full").unwrap().into(),
        false => Stdio::piped(),
    }];
    for log in logs {
        let flags = ["--timeout", "20s"].map(str::to_owned);
        let mut host = Host::start_with(flags.into_iter().chain(Role::Server.command()), log());
        drop(host.process.stderr.take());
        assert_eq!(host.ask(&initialize())["result"]["serverInfo"]["name"], "weather");
        writeln!(host.input.as_ref().unwrap(), r#"{{"jsonrpc":"2.0","method":"notifications/initialized"}}"#).unwrap();
        let call = |id: u32, tool: &str| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": {}}});
        assert_eq!(host.ask(&call(2, "forecast"))["result"]["content"][0]["text"], "sun");
        // The server prints to both streams, and ends.
        let died = host.ask(&call(3, "die")).to_string();
        assert!(died.contains("exited with status 3"), "{died}");
        host.end();
    }
}

#[test]
fn r25_web_pages_and_other_hosts_are_refused() {
    let there = Listening::start(&[], Role::Server.command());
    let (_, served) = post(&there.url, None, &initialize());
    assert!(served.starts_with("HTTP/1.1 200") && served.contains("weather"), "{served}");
    for header in ["Host: evil.example", "Origin: https://evil.example"] {
        let (_, refused) = post_with(&there.url, &[header], &initialize());
        assert!(refused.starts_with("HTTP/1.1 403"), "{header}: {refused}");
    }
}

#[test]
fn r25_no_request_names_a_command() {
    let there = Listening::start(&[], Role::Server.command());
    let file = File::new();
    let mut named = initialize();
    for (name, value) in [("command", json!("touch")), ("args", json!([file.path()])), ("env", json!({"A": "b"}))] {
        named["params"][name] = value.clone();
        named[name] = value;
    }
    let origin = there.url.trim_end_matches("/mcp");
    for path in ["/mcp", "/sse", "/messages", "/message", "/servers", "/"] {
        let url = format!("{origin}{path}?transportType=stdio&command=touch&args={}", file.path());
        let (_, answer) = post(&url, None, &named);
        assert!(answer.starts_with("HTTP/1.1 "), "{path}: {answer}");
    }
    // One for each session, and the one with which the bridge has begun.
    assert!(children_of(there.process.id()) <= 2);
    assert!(!std::path::Path::new(file.path()).exists());
}

#[test]
fn unsafe_and_meaningless_lines_are_refused_with_what_to_write() {
    for (line, problem, hint) in [
        ("--listen 0.0.0.0:0 -- server", "everyone on the network", "--tokens FILE"),
        ("--listen [::]:0 http://127.0.0.1:1/", "everyone on the network", "--no-auth"),
        ("http://mcp.example.com/mcp", "not encrypted", "--allow-http"),
        ("mcp.example.com/mcp", "", "https://mcp.example.com/mcp"),
        ("", "no server is given", "after `--`"),
        ("--listen nowhere -- server", "is no address", ":8000"),
        ("http://127.0.0.1:1/ port", "no port", "after `--`"),
        ("http://127.0.0.1:1/ 1 2", "one word too many", ""),
        ("--stdio 'a | b'", "no shell", "-- sh -c 'a | b'"),
        ("http://127.0.0.1:1/ --auth-success-url x", "--auth-success-url cannot be used", ""),
        (
            "http://127.0.0.1:1/ --token-endpoint http://127.0.0.1:1/t",
            "--token-endpoint needs --authorization-server",
            "--auth none",
        ),
        ("--named-server a b --listen :0", "a bridge has one server", "start one for each"),
        ("http://127.0.0.1:1/ --listn :1", "--listn", "--listen"),
    ] {
        let words: Vec<_> = shlex::split(line).unwrap();
        let words: Vec<_> = ["bridge"].into_iter().chain(words.iter().map(String::as_str)).collect();
        let ran = trunkline(&words);
        let said = &ran.stderr;
        assert!(ran.code == Some(2) && ran.stdout.is_empty(), "{line}: {ran:?}");
        assert!(said.contains(problem) && said.contains(hint), "{line}: {said}");
    }
}
