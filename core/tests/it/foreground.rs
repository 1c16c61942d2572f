//! Servers in the foreground of a program: signals, the end of the input, and handlers that block.

use crate::{
    process::{DEADLINE, File, command, eventually, runs},
    wire::{Wire, text_of},
};
use serde_json::{Value, json};
use std::{
    fs::OpenOptions,
    io::{Read, Write},
    net::TcpStream,
    path::PathBuf,
    process::{Child, Command, ExitStatus, Stdio},
    sync::mpsc,
    time::{Duration, Instant},
};
use trunkline::{Params, Server, ServerOptions};

/// Over standard input and output, over HTTP, and mounted in an application.
pub(crate) const ROLES: [&str; 3] = ["stdio in the foreground", "HTTP in the foreground", "HTTP in an application"];

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Wait {
    ms: u64,
}

/// The file gets the URL of a server over HTTP, and a line for each call that begins.
pub(crate) fn serve(role: &str, file: PathBuf) {
    let calls = file.clone();
    let note = move || {
        let mut calls = OpenOptions::new().append(true).create(true).open(&calls).unwrap();
        calls.write_all(b"\nbegun").unwrap();
    };
    let (note_slow, note_block) = (note.clone(), note);
    let server = Server::builder("foreground", "1.0.0")
        .options(ServerOptions::default().with_drain_deadline(Duration::from_secs(2)))
        .tool("slow", "Waits.", move |Params(wait): Params<Wait>| {
            note_slow();
            async move {
                tokio::time::sleep(Duration::from_millis(wait.ms)).await;
                "done"
            }
        })
        .tool("block", "Blocks its thread.", move |Params(wait): Params<Wait>| {
            note_block();
            async move {
                std::thread::sleep(Duration::from_millis(wait.ms));
                "done"
            }
        })
        .build();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        if role == ROLES[0] {
            return server.serve_stdio().await.unwrap();
        }
        if role == ROLES[2] {
            return serve_mounted(server, file).await;
        }
        let listener = server.listen("127.0.0.1:0").await.unwrap();
        std::fs::write(file, listener.url().unwrap()).unwrap();
        listener.run().await.unwrap();
    });
    // As a program that returns from `main`.
    drop(runtime);
}

async fn serve_mounted(server: Server, file: PathBuf) {
    let service = server.into_service();
    let signal = service.close_on_signal().unwrap();
    let application = axum::Router::new().nest_service("/mcp", service.clone());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    std::fs::write(file, format!("http://{}/mcp", listener.local_addr().unwrap())).unwrap();
    axum::serve(listener, application).with_graceful_shutdown(signal).await.unwrap();
    service.closed().await;
}

pub(crate) fn signal(process: u32, name: &str) {
    assert!(Command::new("kill").args([name, &process.to_string()]).status().unwrap().success());
}

/// Waits until so many calls have begun.
fn until_begun(file: &File, calls: usize) {
    eventually("the calls begin", || file.text().matches("begun").count() >= calls);
}

/// Signals a process that drains once more, and again: the system merges two signals of which the
/// process has not seen the first.
fn signal_until_ended(process: u32, name: &str) {
    while runs(&process.to_string()) {
        std::thread::sleep(Duration::from_millis(200));
        signal(process, name);
    }
}

fn call(id: u64, tool: &str, ms: u64) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": {"ms": ms}}})
}

#[test]
fn a_signal_lets_calls_complete_over_stdio() {
    for name in ["-TERM", "-INT"] {
        let mut wire = Wire::start(ROLES[0], &File::new());
        wire.open("2025-11-25");
        wire.send(call(1, "slow", 300));
        wire.rest();
        signal(wire.id(), name);
        assert_eq!(text_of(&wire.answer(1)), "done", "{name}");
        assert!(wire.ended().success(), "{name}: the program goes on to its end");
    }
}

#[test]
fn a_call_that_does_not_end_in_time_fails_before_the_connection_ends() {
    let interrupted = |answer: &Value| answer["error"]["data"]["reason"] == "interrupted";
    let mut wire = Wire::start(ROLES[0], &File::new());
    wire.open("2025-11-25");
    wire.send(call(1, "slow", 600_000));
    wire.rest();
    signal(wire.id(), "-TERM");
    let answer = wire.answer(1);
    assert!(interrupted(&answer), "{answer}");
    assert!(wire.ended().success());

    let file = File::new();
    let (mut process, address) = HttpProcess::start(ROLES[1], &file);
    let (send, responses) = mpsc::channel();
    std::thread::spawn(move || send.send(post(&address, &call(1, "slow", 600_000))));
    until_begun(&file, 1);
    signal(process.0.id(), "-TERM");
    let response = responses.recv_timeout(DEADLINE).unwrap().unwrap();
    let (head, body) = response.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200") && body.contains("\"reason\":\"interrupted\""), "{response}");
    assert!(process.ended().success());
}

#[test]
fn a_second_signal_ends_the_process_at_once() {
    let mut wire = Wire::start(ROLES[0], &File::new());
    wire.open("2025-11-25");
    wire.send(call(1, "slow", 600_000));
    wire.rest();
    signal(wire.id(), "-TERM");
    signal_until_ended(wire.id(), "-TERM");
    // After the drain, it would be another one.
    assert_eq!(wire.ended().code(), Some(143));
}

#[test]
fn a_blocked_handler_does_not_outlive_the_input_or_a_signal() {
    let ends: [fn(&mut Wire); 2] = [|wire| wire.end_input(), |wire| signal(wire.id(), "-TERM")];
    std::thread::scope(|scope| {
        for end in ends {
            scope.spawn(move || {
                let mut wire = Wire::start(ROLES[0], &File::new());
                wire.open("2025-11-25");
                wire.send(call(1, "block", 600_000));
                wire.rest();
                let ended = Instant::now();
                end(&mut wire);
                assert_eq!(wire.ended().code(), Some(1));
                assert!(ended.elapsed() < Duration::from_secs(10), "{:?}", ended.elapsed());
            });
        }
    });
}

#[test]
fn handlers_that_block_every_thread_do_not_hide_signals() {
    // As many as the runtime has threads begin.
    let threads = std::thread::available_parallelism().unwrap().get();
    let file = File::new();
    let mut wire = Wire::start(ROLES[0], &file);
    wire.open("2025-11-25");
    for id in 1..=4 * threads as u64 {
        wire.send(call(id, "block", 600_000));
    }
    until_begun(&file, threads);
    let signalled = Instant::now();
    signal(wire.id(), "-TERM");
    assert_eq!(wire.ended().code(), Some(1));
    assert!(signalled.elapsed() < Duration::from_secs(10), "{:?}", signalled.elapsed());

    let file = File::new();
    let mut wire = Wire::start(ROLES[0], &file);
    wire.open("2025-11-25");
    for id in 1..=4 * threads as u64 {
        wire.send(call(id, "block", 600_000));
    }
    until_begun(&file, threads);
    signal(wire.id(), "-TERM");
    signal_until_ended(wire.id(), "-TERM");
    assert_eq!(wire.ended().code(), Some(143), "a second one ends it at once");
}

/// A server over HTTP, killed with the test.
struct HttpProcess(Child);

impl HttpProcess {
    fn start(role: &str, url: &File) -> (Self, String) {
        let mut process = command(role, url);
        let process = Self(process.stdout(Stdio::null()).stdin(Stdio::null()).spawn().unwrap());
        eventually("the server listens", || url.text().starts_with("http"));
        let address = url.text().split('/').nth(2).unwrap().to_owned();
        (process, address)
    }

    fn ended(&mut self) -> ExitStatus {
        self.0.wait().unwrap()
    }
}

impl Drop for HttpProcess {
    fn drop(&mut self) {
        let _ = self.0.kill();
    }
}

/// The response to a separate call on 2026-07-28.
fn post(address: &str, message: &Value) -> std::io::Result<String> {
    let mut message = message.clone();
    message["params"]["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let tool = message["params"]["name"].as_str().unwrap().to_owned();
    let body = message.to_string();
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(DEADLINE))?;
    write!(
        stream,
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nAccept: application/json, \
         text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: {tool}\r\n\
         Connection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )?;
    let mut response = String::new();
    stream.read_to_string(&mut response)?;
    Ok(response)
}

#[test]
fn a_signal_lets_calls_complete_over_http_and_a_blocked_one_does_not_keep_the_process() {
    let (file, blocked_file) = (File::new(), File::new());
    let (mut process, address) = HttpProcess::start(ROLES[1], &file);
    let (send, responses) = mpsc::channel();
    let waiting = address.clone();
    std::thread::spawn(move || send.send(post(&waiting, &call(1, "slow", 1_000))));
    until_begun(&file, 1);
    signal(process.0.id(), "-TERM");
    let response = responses.recv_timeout(DEADLINE).unwrap().unwrap();
    assert!(response.starts_with("HTTP/1.1 200") && response.contains("done"), "{response}");
    assert!(process.ended().success());

    let (mut process, address) = HttpProcess::start(ROLES[1], &blocked_file);
    std::thread::spawn(move || post(&address, &call(1, "block", 600_000)));
    until_begun(&blocked_file, 1);
    let signalled = Instant::now();
    signal(process.0.id(), "-TERM");
    assert_eq!(process.ended().code(), Some(1), "T2");
    assert!(signalled.elapsed() < Duration::from_secs(10), "{:?}", signalled.elapsed());
}

#[test]
fn a_signal_closes_a_mounted_service_and_its_calls_complete_before_the_application_ends() {
    let file = File::new();
    let (mut process, address) = HttpProcess::start(ROLES[2], &file);
    let (send, responses) = mpsc::channel();
    let waiting = address.clone();
    std::thread::spawn(move || send.send(post(&waiting, &call(1, "slow", 1_000))));
    until_begun(&file, 1);
    signal(process.0.id(), "-TERM");
    eventually("nothing listens any more", || TcpStream::connect(&address).is_err());
    assert!(responses.try_recv().is_err(), "the call runs");
    let response = responses.recv_timeout(DEADLINE).unwrap().unwrap();
    assert!(response.starts_with("HTTP/1.1 200") && response.contains("done"), "{response}");
    assert!(process.ended().success());
}
