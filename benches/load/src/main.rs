//! mcpload: drives ONE MCP server process and prints ONE JSON line per measurement. See
//! ../README.md.
mod lanes;
mod proc;
mod wire;
use lanes::{lanes, Lane};
use proc::*;
use serde_json::{json, Value};
use std::{
    fs::File,
    io::{BufRead, BufReader, Write},
    os::fd::AsRawFd,
    process::{Child, Command, Stdio as Io},
    time::{Duration, Instant},
};
use wire::*;

struct Opt {
    work: String,
    name: String,
    calls: u64,
    warmup: u64,
    inflight: usize,
    conns: usize,
    size: usize,
    tool: Tool,
    modern: bool,
    fixed: bool,
    list_len: usize,
    sessions: usize,
    streams: bool,
    /// Worker processes of one server.
    workers: usize,
    /// Each request of a session goes to the next worker.
    anywhere: bool,
    /// Number of open sessions, of which only some are used.
    open: Option<usize>,
    /// Number of open streams of `subscriptions/listen` (2026-07-28).
    listen: usize,
    /// Number of generated tools, ten of which are called.
    among: usize,
    /// The process of the store.
    store: Option<u32>,
    path: String,
    /// The header of requests with an access token.
    authorization: String,
    cmd: Vec<String>,
}

fn opts() -> Opt {
    let mut a = std::env::args().skip(1);
    let mut o = Opt {
        work: a
            .next()
            .expect("usage: mcpload calls|cold|sessions|check|client|client-http [options] -- server command"),
        name: "?".into(),
        calls: 5000,
        warmup: 500,
        inflight: 1,
        conns: 32,
        size: 24,
        tool: Tool::Echo,
        modern: false,
        fixed: false,
        list_len: 2,
        sessions: 1000,
        streams: false,
        workers: 1,
        anywhere: false,
        open: None,
        listen: 0,
        among: 0,
        store: None,
        path: "/mcp".into(),
        authorization: String::new(),
        cmd: vec![],
    };
    while let Some(k) = a.next() {
        let mut v = || a.next().expect("value");
        match k.as_str() {
            "--name" => o.name = v(),
            "--calls" => o.calls = v().parse().unwrap(),
            "--warmup" => o.warmup = v().parse().unwrap(),
            "--inflight" => o.inflight = v().parse().unwrap(),
            "--conns" => o.conns = v().parse().unwrap(),
            "--size" => o.size = v().parse().unwrap(),
            "--sessions" => o.sessions = v().parse().unwrap(),
            "--list-len" => o.list_len = v().parse().unwrap(),
            "--workers" => o.workers = v().parse().unwrap(),
            "--anywhere" => o.anywhere = true,
            "--open" => o.open = Some(v().parse().unwrap()),
            "--listen" => o.listen = v().parse().unwrap(),
            "--among" => o.among = v().parse().unwrap(),
            "--store-pid" => o.store = Some(v().parse().unwrap()),
            "--path" => o.path = v(),
            "--tool" => o.tool = Tool::named(&v()),
            "--without" => leave_out(v()),
            "--bearer" => o.authorization = format!("Authorization: Bearer {}\r\n", v()),
            "--proto" => {
                o.modern = match v().as_str() {
                    "2026-07-28" => true,
                    "2025-11-25" => false,
                    p => panic!("protocol {p}"),
                }
            }
            "--fixed" => o.fixed = true,
            "--streams" => o.streams = true,
            "--" => {
                o.cmd = a.collect();
                break;
            }
            _ => panic!("unknown option {k}"),
        }
    }
    o
}

/// The server; killed by pid when dropped. With MCPLOAD_GENTLE, it has 5 s to exit before.
struct Server(Child);
impl Drop for Server {
    fn drop(&mut self) {
        let all: Vec<_> = tree(self.0.id()).into_iter().rev().collect();
        let signal = |number| all.iter().for_each(|&p| drop(unsafe { libc::kill(p as i32, number) }));
        // Instrumented programs write what they have counted when they exit: clients when their
        // stdin ends, servers over HTTP at SIGTERM.
        if std::env::var_os("MCPLOAD_GENTLE").is_some() {
            drop(self.0.stdin.take());
            for attempt in 0..500 {
                if matches!(self.0.try_wait(), Ok(Some(_))) {
                    return;
                }
                if attempt == 100 {
                    signal(libc::SIGTERM);
                }
                std::thread::sleep(Duration::from_millis(10));
            }
        }
        signal(libc::SIGKILL);
        let _ = self.0.wait();
    }
}
fn spawn(cmd: &[String], piped: bool) -> Child {
    let err = std::env::var("MCPLOAD_STDERR")
        .ok()
        .map_or(Io::null(), |p| File::options().create(true).append(true).open(p).unwrap().into());
    let mut c = Command::new(&cmd[0]);
    c.args(&cmd[1..]).stderr(err);
    if piped {
        c.stdin(Io::piped()).stdout(Io::piped());
    } else {
        c.stdin(Io::null()).stdout(Io::null());
    }
    c.spawn().unwrap_or_else(|e| panic!("{}: {e}", cmd[0]))
}
/// Free ports, all different.
fn free_ports(n: usize) -> Vec<u16> {
    let held: Vec<_> = (0..n).map(|_| std::net::TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    held.iter().map(|l| l.local_addr().unwrap().port()).collect()
}
fn at_port(cmd: &[String], port: u16) -> Vec<String> {
    cmd.iter().map(|x| x.replace("{port}", &port.to_string())).collect()
}
fn is_http(o: &Opt) -> bool {
    o.cmd.iter().any(|x| x.contains("{port}"))
}
fn http(o: &Opt) -> Option<(Vec<String>, u16)> {
    is_http(o).then(|| {
        let p = free_ports(1)[0];
        (at_port(&o.cmd, p), p)
    })
}
fn connect_wait(srv: &mut Server, port: u16) -> Http {
    let t = Instant::now();
    loop {
        if let Ok(h) = Http::connect(port) {
            return h;
        }
        if let Ok(Some(s)) = srv.0.try_wait() {
            panic!("server exited: {s}")
        }
        assert!(t.elapsed() < Duration::from_secs(120), "server never listened");
        std::thread::sleep(Duration::from_micros(500));
    }
}

#[derive(Default)]
struct Stats {
    lat: Vec<u64>,
    errors: u64,
    first_error: String,
    resp_bytes: u64,
    notices: u64,
}
impl Stats {
    fn err(&mut self, e: String) {
        self.errors += 1;
        if self.first_error.is_empty() {
            self.first_error = e
        }
    }
}

fn run_stdio(s: &mut Stdio, g: &Gen, id0: u64, n: u64, inflight: usize) -> Stats {
    let mut st = Stats::default();
    let mut t0 = vec![None; n as usize];
    let (mut sent, mut done, mut out) = (0, 0, Vec::new());
    while done < n {
        out.clear();
        while sent < n && ((sent - done) as usize) < inflight {
            g.body(id0 + sent, &mut out);
            out.push(b'\n');
            t0[sent as usize] = Some(Instant::now());
            sent += 1;
        }
        if !out.is_empty() {
            s.send(&out)
        }
        // Take every response that one read returns, then refill the window with one write.
        let mut l = s.line();
        loop {
            st.resp_bytes += l.len() as u64 + 1;
            match g.check(&l) {
                Ok(Seen::Result(id)) => match t0.get_mut((id.wrapping_sub(id0)) as usize).and_then(|t| t.take()) {
                    Some(t) => {
                        st.lat.push(t.elapsed().as_nanos() as u64);
                        done += 1
                    }
                    // Counted as an answer (an error unless --fixed), so that a wrong id cannot
                    // hang the run.
                    None => {
                        st.err(format!("unexpected id {id}"));
                        done = (done + 1).min(sent)
                    }
                },
                Ok(Seen::Notice) => st.notices += 1,
                Ok(Seen::Question(mut next) | Seen::Unfinished(mut next)) => {
                    next.push(b'\n');
                    s.send(&next)
                }
                Err(e) => {
                    st.err(e);
                    done += 1
                }
            }
            match s.buffered() {
                Some(x) => l = x,
                None => break,
            }
        }
    }
    if g.fixed {
        st.errors = 0;
    }
    st
}

fn run_http(lanes: &mut [Lane], g: &Gen, id0: u64, n: u64) -> Stats {
    let mut st = Stats::default();
    let mut cur: Vec<Option<(u64, Instant)>> = vec![None; lanes.len()];
    let mut fds: Vec<libc::pollfd> = lanes
        .iter_mut()
        .map(|l| libc::pollfd { fd: l.current().s.as_raw_fd(), events: libc::POLLIN, revents: 0 })
        .collect();
    let (mut sent, mut done) = (0, 0);
    while done < n {
        for ((l, q), fd) in lanes.iter_mut().zip(cur.iter_mut()).zip(fds.iter_mut()) {
            if q.is_none() && sent < n {
                *q = Some((id0 + sent, Instant::now()));
                let c = l.next();
                fd.fd = c.s.as_raw_fd();
                c.post(|b| g.body(id0 + sent, b));
                sent += 1;
            }
        }
        let r = unsafe { libc::poll(fds.as_mut_ptr(), fds.len() as _, STALL_MS) };
        assert!(r > 0, "no response in 60 s");
        for i in 0..lanes.len() {
            if fds[i].revents == 0 {
                continue;
            }
            let Some(r) = lanes[i].current().poll_reply() else {
                if g.tool == Tool::Ask {
                    for m in lanes[i].current().new_messages() {
                        if let Ok(Seen::Question(answer)) = g.check(&m) {
                            lanes[i].answer(&answer)
                        }
                    }
                }
                continue;
            };
            st.resp_bytes += r.wire as u64;
            let (id, t) = cur[i].expect("unasked response");
            let (found, next) = seen_in(g, id, &r, &mut st);
            if let Some(body) = next {
                lanes[i].current().post(|b| b.extend_from_slice(&body));
                continue;
            }
            cur[i] = None;
            st.lat.push(t.elapsed().as_nanos() as u64);
            done += 1;
            if let Err(e) = found {
                st.err(e)
            } else if r.status != 200 {
                st.err(format!("HTTP {}", r.status))
            }
        }
    }
    st
}

/// Checks a response to the call `id`, and returns the body of its next request, if it has one.
fn seen_in(g: &Gen, id: u64, r: &Reply, st: &mut Stats) -> (Result<(), String>, Option<Vec<u8>>) {
    let mut found = Err(format!("HTTP {}: {}", r.status, String::from_utf8_lossy(&r.body[..r.body.len().min(300)])));
    let mut next = None;
    for m in r.messages() {
        match g.check(m) {
            Ok(Seen::Result(x)) if x == id || g.fixed => {
                found = Ok(());
                break;
            }
            Ok(Seen::Result(x)) => found = Err(format!("asked {id}, got {x}")),
            Ok(Seen::Notice) => st.notices += 1,
            Ok(Seen::Question(_)) => {}
            Ok(Seen::Unfinished(body)) => next = Some(body),
            Err(e) => found = Err(e),
        }
    }
    (found, next)
}

fn measure(o: &Opt, pids: &[u32], mut f: impl FnMut(u64, u64) -> Stats) -> Value {
    let of_store = || o.store.map_or(Cpu::default(), cpu);
    let rss0 = rss_of(pids);
    if o.warmup > 0 {
        f(1, o.warmup);
    }
    let (c0, s0, g0, t0) = (cpu_of(pids), of_store(), own_cpu_ns(), Instant::now());
    let mut st = f(1_000_000, o.calls);
    let (dt, c, gc, s) = (t0.elapsed(), cpu_of(pids) - c0, own_cpu_ns() - g0, of_store() - s0);
    let (n, rss1) = (o.calls as f64, rss_of(pids));
    st.lat.sort_unstable();
    let q = |p: f64| st.lat.get((st.lat.len() as f64 * p) as usize).map_or(0.0, |&x| x as f64 / 1e3);
    json!({"calls": o.calls, "errors": st.errors, "first_error": st.first_error,
        "cpu_us_call": c.clock_ns as f64 / n / 1e3, "cpu_stat_us_call": (c.user_us + c.sys_us) as f64 / n,
        "user_us_call": c.user_us as f64 / n, "sys_us_call": c.sys_us as f64 / n,
        "calls_s": n / dt.as_secs_f64(), "p50_us": q(0.5), "p99_us": q(0.99), "wall_s": dt.as_secs_f64(),
        "server_cores": c.clock_ns as f64 / 1e9 / dt.as_secs_f64(), "gen_cpu_us_call": gc as f64 / n / 1e3, "gen_cores": gc as f64 / 1e9 / dt.as_secs_f64(),
        "resp_bytes": st.resp_bytes as f64 / n, "mb_s": if o.size > 1000 { n * o.size as f64 / 1e6 / dt.as_secs_f64() } else { 0.0 },
        "rss_init_kb": rss0.0, "rss_end_kb": rss1.0, "anon_init_kb": rss0.1, "anon_end_kb": rss1.1,
        "notices_call": st.notices as f64 / n, "store_cpu_us_call": s.clock_ns as f64 / n / 1e3})
}

fn calls(o: &Opt) -> Value {
    let g = Gen::new(o.tool, o.size, o.modern, o.fixed, o.list_len, o.among);
    if is_http(o) {
        let ports = free_ports(o.workers);
        let mut servers: Vec<_> = ports.iter().map(|&port| Server(spawn(&at_port(&o.cmd, port), false))).collect();
        for (server, &port) in servers.iter_mut().zip(&ports) {
            drop(connect_wait(server, port));
        }
        let mut lanes = lanes(o, &ports);
        let pids: Vec<u32> = servers.iter().map(|s| s.0.id()).collect();
        measure(o, &pids, |id, n| run_http(&mut lanes, &g, id, n))
    } else {
        let mut s = Stdio::new(spawn(&o.cmd, true));
        if !o.modern && !o.fixed {
            s.handshake();
        } // `fixed` would answer the notification too
        let pid = s.child.id();
        let v = measure(o, &[pid], |id, n| run_stdio(&mut s, &g, id, n, o.inflight));
        drop(Server(s.child));
        v
    }
}

/// Spawn -> initialize response (2026-07-28 keeps the same wall: first answered tools/list is not
/// measured here).
fn cold(o: &Opt) -> Value {
    let t = Instant::now();
    let (ms, pid, srv, keep);
    if let Some((cmd, port)) = http(o) {
        let mut s = Server(spawn(&cmd, false));
        let mut c = connect_wait(&mut s, port);
        c.set_head(port, &o.path, "");
        assert_eq!(c.roundtrip(INIT).status, 200);
        ms = t.elapsed();
        (pid, srv, keep) = (s.0.id(), s, None);
    } else {
        let mut s = Stdio::new(spawn(&o.cmd, true));
        s.send(format!("{INIT}\n").as_bytes());
        s.line();
        ms = t.elapsed();
        pid = s.child.id();
        // Keep the pipes open until the numbers are read.
        let (c, r) = s.split();
        (srv, keep) = (Server(c), Some(r));
    }
    let c = cpu(pid);
    let r = rss(pid);
    drop(srv);
    drop(keep);
    json!({"cold_ms": ms.as_secs_f64() * 1e3, "cold_cpu_ms": c.clock_ns as f64 / 1e6, "rss_init_kb": r.0, "anon_init_kb": r.1, "errors": 0})
}

fn sessions(o: &Opt) -> Value {
    let (cmd, port) = http(o).expect("sessions needs an HTTP server ({port})");
    let mut srv = Server(spawn(&cmd, false));
    drop(connect_wait(&mut srv, port));
    let pid = srv.0.id();
    // Ten throwaway sessions first, so that lazy imports and JIT are not counted per session.
    let mut c = Http::connect(port).unwrap();
    for _ in 0..10 {
        c.handshake(port, &o.path);
    }
    let (r0, c0) = (rss(pid), cpu(pid));
    let mut heads = vec![];
    for _ in 0..o.sessions {
        assert!(c.handshake(port, &o.path).session.is_some(), "no session id");
        heads.push(c.head.clone());
    }
    std::thread::sleep(Duration::from_millis(500));
    let (r1, c1) = (rss(pid), cpu(pid));
    let mut open = vec![];
    if o.streams {
        for h in &heads {
            open.push(Http::stream(port, h));
        }
        std::thread::sleep(Duration::from_millis(500));
    }
    let (r2, i0) = (rss(pid), cpu(pid));
    std::thread::sleep(Duration::from_secs(2));
    let idle = cpu(pid) - i0;
    let n = o.sessions as f64;
    json!({"sessions": o.sessions, "errors": 0, "rss_base_kb": r0.0, "rss_sessions_kb": r1.0, "kb_per_session": (r1.0 as f64 - r0.0 as f64) / n,
        "session_cpu_us": (c1 - c0).clock_ns as f64 / 1e3 / n, "rss_streams_kb": if o.streams { json!(r2.0) } else { Value::Null },
        "kb_per_stream": if o.streams { json!((r2.0 as f64 - r1.0 as f64) / n) } else { Value::Null }, "idle_cpu_ms_per_s": idle.clock_ns as f64 / 2e6})
}

/// Does it do what the benchmark assumes, and does it validate arguments?
fn check(o: &Opt) -> Value {
    let mut out = json!({"errors": 0});
    let mut go = |ask: &mut dyn FnMut(&str, &str, &str) -> Value| {
        let l = ask("tools/list", "", "{}");
        let empty = vec![];
        let tools = pick(&l, "/result/tools").as_array().unwrap_or(&empty);
        let t = |n: &str| tools.iter().find(|t| t["name"] == n).cloned().unwrap_or(Value::Null);
        let e = ask("tools/call", "echo", r#"{"name":"echo","arguments":{"message":"h\u00e9llo"}}"#);
        let s = ask("tools/call", "add", r#"{"name":"add","arguments":{"a":2,"b":3}}"#);
        let bad = ask("tools/call", "add", r#"{"name":"add","arguments":{"a":"x","b":3}}"#);
        let miss = ask("tools/call", "add", r#"{"name":"add","arguments":{"a":2}}"#);
        let verdict = |v: &Value| {
            if v.get("error").is_some() {
                format!("error {}", pick(v, "/error/code"))
            } else if pick(v, "/result/isError") == true {
                "isError".into()
            } else {
                "ACCEPTED".into()
            }
        };
        let ok = pick(&e, "/result/content/0/text") == "h\u{e9}llo"
            && pick(&s, "/result/content/0/text") == "5"
            && tools.len() >= 2;
        out = json!({"errors": u8::from(!ok), "ok": ok, "tools": tools.len(), "result_type": pick(&e, "/result/resultType"), "echo": e, "add_schema": t("add")["inputSchema"], "output_schema": !t("echo")["outputSchema"].is_null(), "bad_type": verdict(&bad), "missing": verdict(&miss)});
    };
    let meta = |p: &str| {
        let mut v: Value = serde_json::from_str(p).unwrap();
        if o.modern {
            v["_meta"] = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientInfo": {"name": "mcpload", "version": "0"}, "io.modelcontextprotocol/clientCapabilities": {}})
        }
        v
    };
    let body = |m: &str, p: &str| format!(r#"{{"jsonrpc":"2.0","id":9,"method":"{m}","params":{}}}"#, meta(p));
    if let Some((cmd, port)) = http(o) {
        let mut srv = Server(spawn(&cmd, false));
        let mut c = connect_wait(&mut srv, port);
        if !o.modern {
            c.handshake(port, &o.path);
        }
        go(&mut |m, n, p| {
            if o.modern {
                c.set_head(
                    port,
                    &o.path,
                    &format!(
                        "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: {m}\r\n{}",
                        if n.is_empty() { String::new() } else { format!("Mcp-Name: {n}\r\n") }
                    ),
                )
            }
            let r = c.roundtrip(&body(m, p));
            r.messages().iter().rev().find_map(|b| serde_json::from_slice(b).ok()).unwrap_or(json!({"http": r.status}))
        });
    } else {
        let mut s = Stdio::new(spawn(&o.cmd, true));
        if !o.modern {
            s.handshake();
        }
        go(&mut |m, _, p| {
            s.send((body(m, p) + "\n").as_bytes());
            serde_json::from_slice(&s.line()).unwrap_or(Value::Null)
        });
        drop(Server(s.child));
    }
    out
}

/// An SDK's client over HTTP: `server command with {port} -- client command with {url}`.
fn client_http(o: &Opt) -> Value {
    let (cmd, port) = http(o).expect("client-http needs an HTTP server ({port})");
    let at = cmd.iter().position(|x| x == "--").expect("client-http: server command -- client command");
    let mut srv = Server(spawn(&cmd[..at], false));
    drop(connect_wait(&mut srv, port));
    let url = format!("http://127.0.0.1:{port}{}", o.path);
    let words: Vec<String> = cmd[at + 1..].iter().map(|x| x.replace("{url}", &url)).collect();
    client(o, &words, Some(srv.0.id()))
}

/// An SDK's client: prints READY, waits for a line, makes its calls, prints DONE. `server`: if it
/// is not the client's child.
fn client(o: &Opt, cmd: &[String], server: Option<u32>) -> Value {
    let mut ch = spawn(cmd, true);
    let (mut w, mut r) = (ch.stdin.take().unwrap(), BufReader::new(ch.stdout.take().unwrap()));
    let pid = ch.id();
    let _srv = Server(ch);
    let mut wait = |what: &str| {
        let mut l = String::new();
        while l.trim() != what {
            l.clear();
            assert!(r.read_line(&mut l).unwrap() > 0, "client exited before {what}")
        }
    };
    wait("READY");
    let elsewhere = || server.map_or(Cpu::default(), cpu);
    let kb0 = reset_peak(pid);
    let (c0, all0, s0, t0) = (cpu_one(pid), cpu(pid), elsewhere(), Instant::now());
    w.write_all(b"GO\n").unwrap();
    wait("DONE");
    let (dt, c, all, s) = (t0.elapsed().as_secs_f64(), cpu_one(pid) - c0, cpu(pid) - all0, elsewhere() - s0);
    let n = o.calls as f64;
    json!({"calls": o.calls, "errors": 0, "cpu_us_call": c.clock_ns as f64 / n / 1e3, "cpu_stat_us_call": (c.user_us + c.sys_us) as f64 / n,
        "server_cpu_us_call": (all.clock_ns - c.clock_ns + s.clock_ns) as f64 / n / 1e3, "calls_s": n / dt,
        "rss_init_kb": kb0, "peak_kb": peak(pid).saturating_sub(kb0)})
}

fn main() {
    let mut lim = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    unsafe {
        libc::getrlimit(libc::RLIMIT_NOFILE, &mut lim);
        lim.rlim_cur = lim.rlim_max;
        libc::setrlimit(libc::RLIMIT_NOFILE, &lim);
    }
    let o = opts();
    let load0 = loadavg();
    let mut v = match o.work.as_str() {
        "calls" => calls(&o),
        "cold" => cold(&o),
        "sessions" => sessions(&o),
        "check" => check(&o),
        "client" => client(&o, &o.cmd, None),
        "client-http" => client_http(&o),
        w => panic!("unknown workload {w}"),
    };
    let m = v.as_object_mut().unwrap();
    m.insert("server".into(), json!(o.name));
    m.insert("work".into(), json!(o.work));
    m.insert("loadavg".into(), json!([load0, loadavg()]));
    for (_, x) in m.iter_mut() {
        if let Some(f) = x.as_f64().filter(|_| x.is_f64()) {
            *x = json!((f * 100.0).round() / 100.0)
        }
    }
    println!("{v}");
}
