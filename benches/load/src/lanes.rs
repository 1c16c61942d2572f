//! HTTP conversations with one server process, or with several workers of one server.
use crate::{wire::*, Opt};

/// A conversation that waits for each reply before its next call, with a connection to each worker
/// that it calls.
pub struct Lane {
    conns: Vec<Http>,
    turn: usize,
    /// The connection for responses to the server's questions.
    answers: Option<Http>,
    /// Open streams of its session and others, which nobody reads.
    streams: Vec<Http>,
}

impl Lane {
    fn new(conns: Vec<Http>) -> Lane {
        Lane { conns, turn: 0, answers: None, streams: vec![] }
    }
    /// The connection of the latest call.
    pub fn current(&mut self) -> &mut Http {
        &mut self.conns[self.turn]
    }
    /// The connection of the next call.
    pub fn next(&mut self) -> &mut Http {
        self.turn = (self.turn + 1) % self.conns.len();
        self.current()
    }
    /// Answers a question of the server, whose stream stays open.
    pub fn answer(&mut self, body: &[u8]) {
        let current = &self.conns[self.turn];
        let answers = self.answers.get_or_insert_with(|| {
            let mut conn = Http::connect(current.s.peer_addr().unwrap().port()).unwrap();
            conn.head = current.head.clone();
            conn
        });
        answers.post(|b| b.extend_from_slice(body));
        while answers.poll_reply().is_none() {}
    }
}

/// `--conns` lanes for each port, in separate sessions unless `--open` says otherwise.
pub fn lanes(o: &Opt, ports: &[u16]) -> Vec<Lane> {
    let homes: Vec<u16> = (0..o.conns).flat_map(|_| ports.iter().copied()).collect();
    if o.modern || o.fixed {
        let mut lanes: Vec<_> = homes.iter().map(|&port| Lane::new(vec![modern(o, port)])).collect();
        lanes[0].streams = (0..o.listen).map(|_| connect(o, ports[0]).subscribe(ports[0], &o.path)).collect();
        return lanes;
    }
    if let Some(number) = o.open {
        assert!(ports.len() == 1 && number > 0, "--open N is for one process, and 1 or more");
        return in_sessions(o, ports[0], number);
    }
    homes.iter().map(|&home| in_session(o, home, ports)).collect()
}

fn connect(o: &Opt, port: u16) -> Http {
    let mut conn = Http::connect(port).unwrap_or_else(|e| panic!("port {port}: {e}"));
    conn.authorization = o.authorization.clone();
    conn
}

fn modern(o: &Opt, port: u16) -> Http {
    assert!(o.among == 0, "--among is for 2025-11-25, whose requests do not repeat the name in a header");
    let mut conn = connect(o, port);
    conn.set_head(port, &o.path, &format!("MCP-Protocol-Version: 2026-07-28\r\n{}", o.tool.headers()));
    conn
}

/// A session opened at one port that, with `--anywhere`, visits each port in turn.
fn in_session(o: &Opt, home: u16, ports: &[u16]) -> Lane {
    let mut first = connect(o, home);
    let session = first.handshake(home, &o.path).session;
    let mut conns = vec![first];
    if o.anywhere {
        let session = session.expect("--anywhere needs a server with sessions");
        conns.extend(ports.iter().filter(|&&port| port != home).map(|&port| joined(o, port, &session)));
    }
    Lane::new(conns)
}

fn joined(o: &Opt, port: u16, session: &str) -> Http {
    let mut conn = connect(o, port);
    conn.join(port, &o.path, Some(session));
    conn
}

/// Opens that many sessions, with `--streams` a GET stream in each, and calls in the first ones:
/// one per lane, or one for all.
fn in_sessions(o: &Opt, port: u16, number: usize) -> Vec<Lane> {
    let mut opener = connect(o, port);
    let (mut called, mut streams) = (vec![], vec![]);
    for _ in 0..number {
        let session = opener.handshake(port, &o.path).session.expect("no session id");
        if o.streams {
            streams.push(Http::stream(port, &opener.head));
        }
        if called.len() < o.conns {
            called.push(session);
        }
    }
    let mut lanes: Vec<_> = (0..o.conns).map(|i| Lane::new(vec![joined(o, port, &called[i % called.len()])])).collect();
    lanes[0].streams = streams;
    lanes
}
