//! Tests of the whole process, in a separate process.

use super::*;
use crate::{
    process::{File, command, eventually, has_ended},
    wire::{Wire, modern, text_of},
};

/// Roles of the bridge.
pub(crate) fn play(role: &str) -> bool {
    match role {
        "ports share a runtime" => ports_share_a_runtime(),
        "dropped port" => dropped_port(),
        "log" => log(),
        "bridge server" => bridge_server(),
        #[cfg(unix)]
        "reading server" => handoff::reading_server(),
        _ => return false,
    }
    true
}

fn succeeds(role: &str) {
    let output = command(role, &File::new()).output().unwrap();
    assert!(
        output.status.success(),
        "{}\n{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn the_runtime_is_shared_and_ends_with_the_last_port() {
    succeeds("ports share a runtime");
}

fn ports_share_a_runtime() {
    let idle = Host::new();
    idle.tool(idle.server(), "t");
    assert!(matches!(runtime_threads(), None | Some(0)), "construction and registration start nothing");
    for _ in 0..2 {
        let (mut one, mut other) = (Host::new(), Host::new());
        for host in [&one, &other] {
            let server = host.server();
            host.echo(server);
            assert_eq!(text(&host.result(host.connection(server), "echo", json!({"message": "x"}))), "x");
        }
        assert!(matches!(runtime_threads(), None | Some(1)));
        one.stop(0);
        assert!(matches!(runtime_threads(), None | Some(1)), "the other port still needs it");
        other.stop(0);
        eventually("the runtime has ended", || matches!(runtime_threads(), None | Some(0)));
    }
}

/// The threads of the bridge's runtime, if the system reports them.
fn runtime_threads() -> Option<usize> {
    let tasks = std::fs::read_dir("/proc/self/task").ok()?;
    let name = |task: std::fs::DirEntry| std::fs::read_to_string(task.path().join("comm")).unwrap_or_default();
    Some(tasks.flatten().map(name).filter(|name| name.trim() == "trunkline").count())
}

#[test]
fn a_port_that_is_dropped_ends_its_processes_and_leaves_its_host_alone() {
    succeeds("dropped port");
}

fn dropped_port() {
    let (alarm, file) = (Alarm::default(), File::new());
    let port = Port::new(alarm.clone());
    let open = json!({"client": {}, "transport": opening::process("script mortal", &file), "wait": true});
    let connection = port.open(open.to_string().as_bytes()).unwrap();
    assert!(port.wait(connection, 60_000).unwrap().unwrap().is_ok());
    port.request(connection, br#"{"method":"tools/list"}"#).unwrap();
    eventually("the request has arrived", || file.text().contains("tools/list"));
    while !port.drain(Lane::Queue, 99, 0).unwrap().is_empty() {}
    let rings = alarm.rings();
    drop(port);
    eventually("the process has ended", || has_ended(&file));
    assert_eq!(alarm.rings(), rings, "nothing of the host is touched");
}

#[test]
fn what_is_logged_reaches_the_host() {
    succeeds("log");
}

fn log() {
    let host = Host::new();
    let server = host.server();
    host.tool_with(server, json!({"name": "t"}), |port, event| {
        port.fail(event.ticket, br#"{"kind":"internal","message":"the secret detail"}"#).unwrap();
    });
    let result = host.result(host.connection(server), "t", json!({}));
    assert!(!text(&result).contains("secret"));
    let event = host.event("a log", |event| event.kind == EventKind::Log);
    let records = body(&event);
    assert_eq!(records[0]["level"], "error");
    assert!(records[0]["message"].as_str().unwrap().contains("the secret detail"), "{records}");
}

/// A server whose tools a host serves, on standard input and output.
fn bridge_server() {
    let mut host = Host::new();
    let server = host.server();
    host.echo(server);
    host.tool(server, "stuck");
    let (listener, facts) = host.opened(json!({"server": server, "transport": {"type": "stdio"}}));
    assert_eq!(facts, json!({}));
    if cfg!(unix) {
        println!("a stray print of the host");
    }
    let again = host.failure(host.open(json!({"server": server, "transport": {"type": "stdio"}})));
    assert!(again["kind"] == "transport" && again["message"].as_str().unwrap().contains("already"), "{again}");
    let closed = host.event("the end of the input", |event| event.kind == EventKind::Closed);
    assert_eq!((closed.handle, closed.ok()), (listener, true));
    host.stop(0);
    if host.kinds().contains(&EventKind::Cancel) {
        eprintln!("a call was cancelled");
    }
}

#[test]
fn a_host_that_serves_standard_input_and_output() {
    let mut wire = Wire::start("bridge server", &File::new());
    wire.open("2025-06-18");
    assert_eq!(wire.call(1, "echo", json!({"message": "old"})), "old");
    let answer = wire.ask(2, "tools/call", modern(json!({"name": "echo", "arguments": {"message": "new"}})));
    assert_eq!(text_of(&answer), "new");
    let wrong = wire.ask(3, "tools/call", json!({"name": "echo", "arguments": {}}));
    assert_eq!(wrong["error"]["code"], -32602, "the core answers what breaks the schema");
    wire.request(4, "tools/call", json!({"name": "stuck"}));
    let (last, status, stderr) = wire.close();
    assert!(last.len() == 1 && status.success(), "{last:?} {stderr}");
    assert_eq!((&last[0]["id"], &last[0]["error"]["data"]["reason"]), (&json!(4), &json!("interrupted")));
    assert!(stderr.contains("a call was cancelled"), "{stderr}");
    assert!(cfg!(windows) || stderr.contains("a stray print of the host"), "{stderr}");
}
