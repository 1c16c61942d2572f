//! Host-driven reads: the handoff of a pipe, and every case in which it ends.

use super::{opening::process, *};
use crate::{
    offer::BIG,
    process::{File, eventually},
    wire::{Wire, text_of},
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::{
    collections::HashSet,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    thread,
    time::Duration,
};

/// A host with threads that read the pipes that are handed over, as an event loop does.
struct Reader {
    host: Host,
    state: Arc<Progress>,
}

#[derive(Default)]
struct Progress {
    /// True while the loop of the host is busy.
    blocked: AtomicBool,
    reads: AtomicUsize,
    given_back: AtomicUsize,
    /// The pipes that are watched. A handoff may lapse and be offered again without a read in
    /// between.
    watched: Mutex<HashSet<u64>>,
    over: AtomicBool,
}

impl Reader {
    fn new() -> Self {
        let host = Host::new();
        let state = Arc::<Progress>::default();
        let (port, heard, now, alarm) =
            (host.port.clone(), Arc::clone(&host.heard), Arc::clone(&state), host.alarm.clone());
        thread::spawn(move || {
            let mut seen = 0;
            while !now.over.load(Ordering::Relaxed) {
                let offered =
                    heard.0.lock().unwrap().iter().skip(seen).position(|event| event.kind == EventKind::Handoff);
                let Some(offered) = offered else {
                    thread::sleep(Duration::from_millis(1));
                    continue;
                };
                let handle = heard.0.lock().unwrap()[seen + offered].handle;
                seen += offered + 1;
                if now.blocked.load(Ordering::Relaxed) || !now.watched.lock().unwrap().insert(handle) {
                    continue;
                }
                let (port, now, alarm) = (port.clone(), Arc::clone(&now), alarm.clone());
                thread::spawn(move || {
                    if let Ok(Some(descriptor)) = port.watch(handle) {
                        while !now.over.load(Ordering::Relaxed) && now.read(&port, handle, &descriptor, &alarm) {
                            std::hint::spin_loop();
                        }
                        now.given_back.fetch_add(1, Ordering::Relaxed);
                    }
                    now.watched.lock().unwrap().remove(&handle);
                });
            }
        });
        Self { host, state }
    }

    fn open(&self, mut what: Value) -> u64 {
        what["hostDrivenReads"] = true.into();
        self.host.opened(what).0
    }

    /// A connection to a server process whose pipe is handed over.
    fn handed_over(&self, role: &str, file: &File) -> u64 {
        let client = json!({"revision": "2025-06-18", "reconnect": false});
        let connection = self.open(json!({"client": client, "transport": process(role, file)}));
        let reads = self.reads();
        eventually("the host reads", || {
            assert_eq!(text(&self.host.result(connection, "echo", json!({"message": "x"}))), "x");
            self.reads() > reads
        });
        connection
    }

    fn reads(&self) -> usize {
        self.state.reads.load(Ordering::Relaxed)
    }

    fn given_back(&self) -> usize {
        self.state.given_back.load(Ordering::Relaxed)
    }

    fn block(&self, blocked: bool) {
        self.state.blocked.store(blocked, Ordering::Relaxed);
    }
}

impl Progress {
    /// One turn of the loop; whether the host still has the pipe.
    fn read(&self, port: &Port, handle: u64, descriptor: &std::fs::File, alarm: &Alarm) -> bool {
        let turn = Timespec { tv_sec: 0, tv_nsec: 5_000_000 };
        let ready = poll(&mut [PollFd::new(descriptor, PollFlags::IN)], Some(&turn)).unwrap();
        if ready == 0 {
            return true;
        }
        if self.blocked.load(Ordering::Relaxed) {
            thread::sleep(Duration::from_millis(1));
            return true;
        }
        let goes_on = port.read_ready(handle).unwrap();
        self.reads.fetch_add(1, Ordering::Relaxed);
        // The bell was not rung for it.
        alarm.ring();
        goes_on
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.state.over.store(true, Ordering::Relaxed);
    }
}

#[test]
fn while_messages_arrive_one_by_one_the_host_reads_them() {
    let (mut reader, file) = (Reader::new(), File::new());
    let connection = reader.handed_over("server", &file);
    let (reads, rings) = (reader.reads(), reader.host.alarm.rings());
    for number in 0..50 {
        let message = number.to_string();
        assert_eq!(text(&reader.host.result(connection, "echo", json!({"message": message}))), message);
    }
    // A machine that is busy may let a handoff lapse, and then there are rings of the core too.
    let (read, rung) = (reader.reads() - reads, reader.host.alarm.rings() - rings);
    assert!(read >= 30, "{read} of 50 answers were read by the host");
    assert!(rung <= read + 25, "{rung} rings for {read} reads: the core must not ring for what the host reads");
    reader.host.stop(0);
}

#[test]
fn many_messages_are_read_by_the_thread_and_few_are_handed_over_again() {
    let (mut reader, file) = (Reader::new(), File::new());
    let connection = reader.handed_over("server", &file);
    let given_back = reader.given_back();
    eventually("the pipe is given back", || {
        // Fewer than may run and wait in the session, however slow the server is.
        let calls: Vec<_> =
            (0..1_000).map(|n| (n, reader.host.call(connection, "echo", json!({"message": n.to_string()})))).collect();
        for (number, call) in calls {
            assert_eq!(text(&body(&reader.host.reply(call))), number.to_string());
        }
        reader.given_back() > given_back
    });
    let reads = reader.reads();
    eventually("the host reads again", || {
        reader.host.result(connection, "echo", json!({"message": "x"}));
        reader.reads() > reads
    });
    reader.host.stop(0);
}

#[test]
fn a_host_that_is_busy_or_takes_no_handoff_stops_nothing() {
    let (mut reader, file) = (Reader::new(), File::new());
    let connection = reader.handed_over("server", &file);
    reader.block(true);
    let reads = reader.reads();
    // The host's answers to what the server asks are the core's own: they must not wait for the
    // host's loop.
    for _ in 0..10 {
        assert_eq!(text(&reader.host.result(connection, "ask", json!({}))), "alive");
    }
    assert!(reader.reads() <= reads + 1, "it read although it is busy");
    reader.block(false);
    eventually("the host reads again", || {
        reader.host.result(connection, "echo", json!({"message": "x"}));
        reader.reads() > reads + 1
    });
    reader.host.stop(0);
}

#[test]
fn a_host_that_cannot_watch_is_offered_less_and_less() {
    let (mut host, file) = (Host::new(), File::new());
    let open =
        json!({"hostDrivenReads": true, "client": {"revision": "2025-06-18"}, "transport": process("server", &file)});
    let connection = host.opened(open).0;
    for _ in 0..150 {
        host.result(connection, "echo", json!({"message": "x"}));
    }
    // After 8, 16, 32 and 64 turns at the earliest.
    let offers = host.kinds().into_iter().filter(|kind| *kind == EventKind::Handoff).count();
    assert!((2..=4).contains(&offers), "{offers}");
    host.stop(0);
}

#[test]
fn a_message_in_many_pieces_is_one_however_it_is_read() {
    let (mut reader, file) = (Reader::new(), File::new());
    let connection = reader.handed_over("server", &file);
    for _ in 0..10 {
        let big = reader.host.result(connection, "big", json!({}));
        assert_eq!(text(&big).len(), BIG);
        let echoed = "e".repeat(1 << 20);
        assert_eq!(text(&reader.host.result(connection, "echo", json!({"message": echoed}))), echoed);
    }
    reader.host.stop(0);
}

#[test]
fn a_server_that_dies_while_the_host_reads_fails_its_calls() {
    let (mut reader, file) = (Reader::new(), File::new());
    let connection = reader.handed_over("server", &file);
    let call = reader.host.call(connection, "exit", json!({}));
    let failure = reader.host.failure(call);
    assert!(failure["kind"] == "transport" && failure["message"].as_str().unwrap().contains("last words"), "{failure}");
    let closed = reader.host.event("the end", |event| event.kind == EventKind::Closed);
    assert_eq!((closed.handle, closed.ok()), (connection, false));
    eventually("the handoff is over", || !reader.host.port.read_ready(connection).unwrap());
    assert!(reader.host.port.watch(connection).unwrap().is_none());
    reader.host.stop(0);
}

#[test]
fn a_connection_and_a_port_are_closed_while_the_host_reads_or_does_not() {
    for blocked in [false, true] {
        let (mut reader, file) = (Reader::new(), File::new());
        let (one, other) = (reader.handed_over("server", &file), reader.handed_over("server", &file));
        let waiting = [one, other].map(|connection| reader.host.call(connection, "gate", json!({})));
        reader.block(blocked);
        reader.host.port.close(one, 100).unwrap();
        reader.host.event("the end", |event| event.kind == EventKind::Closed && event.handle == one);
        reader.host.stop(0);
        for call in waiting {
            assert_eq!(reader.host.failure(call)["kind"], "closed");
        }
        assert!(!reader.host.port.read_ready(other).unwrap());
    }
}

#[test]
fn only_pipes_are_handed_over_and_only_to_hosts_that_ask() {
    let (mut host, file) = (Host::new(), File::new());
    let (connection, _) = host.opened(json!({"client": {}, "transport": process("server", &file)}));
    let memory =
        json!({"client": {}, "hostDrivenReads": true, "transport": {"type": "memory", "server": host.server()}});
    let (memory, _) = host.opened(memory);
    for _ in 0..30 {
        host.result(connection, "echo", json!({"message": "x"}));
        host.reply(host.request(memory, json!({"method": "ping"})));
    }
    assert!(!host.kinds().contains(&EventKind::Handoff));
    for handle in [connection, memory, 12345] {
        assert!(!host.port.read_ready(handle).unwrap());
        assert!(host.port.watch(handle).unwrap().is_none());
    }
    host.stop(0);
}

pub(super) fn reading_server() {
    let mut reader = Reader::new();
    let server = reader.host.server();
    reader.host.echo(server);
    reader.host.tool(server, "stuck");
    let state = Arc::clone(&reader.state);
    reader.host.tool_with(server, json!({"name": "reads"}), move |port, event| {
        let reads = state.reads.load(Ordering::Relaxed).to_string();
        port.complete(event.ticket, Shape::Text, reads.into()).unwrap();
    });
    let state = Arc::clone(&reader.state);
    reader.host.tool_with(server, json!({"name": "block"}), move |port, event| {
        state.blocked.store(true, Ordering::Relaxed);
        port.complete(event.ticket, Shape::Text, "blocked".into()).unwrap();
    });
    let listener = reader.open(json!({"server": server, "transport": {"type": "stdio"}}));
    let closed = reader.host.event("the end of the input", |event| event.kind == EventKind::Closed);
    assert_eq!((closed.handle, closed.ok()), (listener, true));
    reader.host.stop(0);
    eprintln!("ended well");
}

/// A server whose host reads standard input.
fn served(file: &File) -> Wire {
    let mut wire = Wire::start("reading server", file);
    wire.open("2025-06-18");
    let mut id = 0;
    eventually("the host reads", || {
        id += 1;
        wire.call(id, "reads", json!({})) != "0"
    });
    wire
}

#[test]
fn a_server_whose_host_reads_answers_everything_and_ends_with_its_input() {
    let file = File::new();
    for blocked in [false, true] {
        let mut wire = served(&file);
        let huge = "h".repeat(3 << 20);
        assert_eq!(wire.call("huge", "echo", json!({"message": huge})), huge);
        for number in 0..20 {
            let message = number.to_string();
            assert_eq!(wire.call(number + 1_000, "echo", json!({"message": message})), message);
        }
        for number in 0..500 {
            wire.request(number + 2_000, "tools/call", json!({"name": "echo", "arguments": {"message": "m"}}));
        }
        for number in 0..500 {
            assert_eq!(text_of(&wire.answer(number + 2_000)), "m");
        }
        if blocked {
            wire.call("block", "block", json!({}));
            for number in 0..5 {
                wire.ask(number + 3_000, "ping", json!({}));
            }
        }
        wire.request("stuck", "tools/call", json!({"name": "stuck"}));
        let (last, status, stderr) = wire.close();
        assert!(last.len() == 1 && status.success() && stderr.contains("ended well"), "{last:?} {status} {stderr}");
        assert_eq!((&last[0]["id"], &last[0]["error"]["data"]["reason"]), (&json!("stuck"), &json!("interrupted")));
    }
}

#[test]
fn a_client_that_floods_and_does_not_read_stops_a_reading_host_no_more_than_a_thread() {
    let file = File::new();
    let mut wire = Wire::start_unread("reading server", &file);
    let message = "f".repeat(10_000);
    let call = json!({"name": "echo", "arguments": {"message": message}});
    let initialize =
        json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "f", "version": "1"}});
    wire.request("open", "initialize", initialize);
    wire.tell("notifications/initialized", json!({}));
    // 20 MB in, and as much out, which is not read yet.
    for number in 0..2_000 {
        wire.request(number, "tools/call", call.clone());
    }
    wire.read();
    let mut answered = 0;
    for number in 0..2_000 {
        let answer = wire.answer(number);
        // Beyond its limits, a server responds busy and keeps running.
        if answer.get("error").is_none() {
            assert_eq!(text_of(&answer), message);
            answered += 1;
        }
    }
    assert!(answered >= 64, "{answered}");
    assert_eq!(wire.call("after", "echo", json!({"message": "after"})), "after");
    let (_, status, stderr) = wire.close();
    assert!(status.success(), "{stderr}");
}
