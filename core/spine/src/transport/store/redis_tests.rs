//! Tests with a real Redis server that is restarted, full, silent or cut off.

use super::{open_store, redis::RedisStore};
use crate::{
    runtime::Runtime,
    store::{Store, StoreError, StoreErrorKind, StoreGuard},
    tests::{driver_contract, free_port::free_port},
    transport::TokioRuntime,
};
use std::{
    process::{Child, Command, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{
        TcpListener, TcpStream,
        tcp::{ReadHalf, WriteHalf},
    },
    sync::watch,
    time::{sleep, timeout},
};

const MINUTE: Duration = Duration::from_secs(60);
/// Longer than a call takes on a busy machine.
const CALL_TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum time for a server to start, or for a store to recover.
const TEST_TIMEOUT: Duration = Duration::from_secs(30);

/// A redis-server process, stopped on drop.
struct RedisServer {
    port: u16,
    process: Child,
}

impl RedisServer {
    async fn start(options: &[&str]) -> Self {
        Self::start_at(free_port(), options).await
    }

    async fn start_at(port: u16, options: &[&str]) -> Self {
        let mut command = Command::new("redis-server");
        command.args(["--bind", "127.0.0.1", "--port", &port.to_string(), "--save", "", "--appendonly", "no"]);
        command.args(options).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let process = command.spawn().expect("redis-server is needed: `cargo xtask test` installs it on Debian");
        let server = Self { port, process };
        let begin = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).await.is_err() {
            assert!(begin.elapsed() < TEST_TIMEOUT, "redis-server does not listen");
            sleep(Duration::from_millis(20)).await;
        }
        server
    }

    /// Sets an option of the running server.
    async fn set(&self, option: &str, value: &str) {
        let mut connection = TcpStream::connect(("127.0.0.1", self.port)).await.unwrap();
        connection.write_all(format!("CONFIG SET {option} {value}\r\n").as_bytes()).await.unwrap();
        let mut answer = [0; 5];
        connection.read_exact(&mut answer).await.unwrap();
        assert_eq!(&answer, b"+OK\r\n");
    }

    fn store(&self) -> RedisStore {
        self.store_of("test")
    }

    fn store_of(&self, namespace: &str) -> RedisStore {
        RedisStore::new(&url(self.port), namespace, TokioRuntime::current(), CALL_TIMEOUT).unwrap()
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn url(port: u16) -> String {
    format!("redis://127.0.0.1:{port}")
}

fn guarded(port: u16) -> StoreGuard {
    open_store(&url(port), TokioRuntime::current(), CALL_TIMEOUT).unwrap()
}

/// A fault between a store and its server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    None,
    /// Connections are accepted, but no bytes pass.
    Silence,
    /// Each chunk is delayed by this time.
    Slow(Duration),
    /// Connections are closed, including new ones.
    Cut,
    /// The same without any notice.
    Reset,
}

/// Starts a proxy in front of a server; returns its port and its fault.
async fn proxy(to: u16) -> (u16, watch::Sender<Fault>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (fault, faults) = watch::channel(Fault::None);
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            tokio::spawn(forward(client, to, faults.clone()));
        }
    });
    (port, fault)
}

async fn forward(mut client: TcpStream, to: u16, faults: watch::Receiver<Fault>) {
    let mut server = TcpStream::connect(("127.0.0.1", to)).await.unwrap();
    let mut end = faults.clone();
    {
        let ((from_client, to_client), (from_server, to_server)) = (client.split(), server.split());
        tokio::select! {
            () = pass(from_client, to_server, faults.clone()) => {}
            () = pass(from_server, to_client, faults) => {}
            _ = end.wait_for(|fault| matches!(fault, Fault::Cut | Fault::Reset)) => {}
        }
    }
    if *end.borrow() == Fault::Reset {
        client.set_zero_linger().unwrap();
    }
}

async fn pass(mut from: ReadHalf<'_>, mut to: WriteHalf<'_>, mut faults: watch::Receiver<Fault>) {
    let mut piece = vec![0; 64 << 10];
    while let Ok(length @ 1..) = from.read(&mut piece).await {
        let passes = faults.wait_for(|fault| *fault != Fault::Silence).await.map(|fault| *fault);
        if let Ok(Fault::Slow(time)) = passes {
            sleep(time).await;
        }
        if to.write_all(&piece[..length]).await.is_err() {
            return;
        }
    }
}

/// The time until a call succeeds.
async fn in_use_again(store: &dyn Store) -> Duration {
    let begin = Instant::now();
    while let Err(error) = store.put("again", "1", MINUTE).await {
        assert!(begin.elapsed() < TEST_TIMEOUT, "{error}");
        sleep(Duration::from_millis(20)).await;
    }
    begin.elapsed()
}

/// A hundred calls that fail without waiting.
async fn all_fail_at_once(store: &dyn Store) -> StoreError {
    let begin = Instant::now();
    for _ in 0..100 {
        store.get("a").await.unwrap_err();
    }
    assert!(begin.elapsed() < CALL_TIMEOUT, "{:?}", begin.elapsed());
    store.get("a").await.unwrap_err()
}

#[tokio::test]
async fn redis_keeps_the_contract() {
    let server = RedisServer::start(&[]).await;
    driver_contract::check(Arc::new(server.store()), Arc::new(server.store())).await;
}

#[tokio::test]
async fn applications_share_a_database_by_namespaces() {
    let server = RedisServer::start(&[]).await;
    let (shop, bank) = (server.store_of("shop"), server.store_of("bank"));
    shop.put("a", "1", MINUTE).await.unwrap();
    shop.append("l", "1", 9, MINUTE).await.unwrap();
    assert_eq!(bank.get("a").await.unwrap(), None);
    assert_eq!(bank.read("l", 0, 9, Duration::ZERO).await.unwrap(), []);
}

#[tokio::test]
async fn what_is_too_large_in_redis_stays_there() {
    let server = RedisServer::start(&[]).await;
    // Loading takes time.
    let store = RedisStore::new(&url(server.port), "test", TokioRuntime::current(), TEST_TIMEOUT).unwrap();
    let text = |bytes: usize| "x".repeat(bytes);
    store.put("a", &text(66 << 20), MINUTE).await.unwrap();
    let error = store.get("a").await.unwrap_err();
    assert!(error.kind == StoreErrorKind::Corrupt && error.problem.contains("TOOLARGE"), "{error}");
    for bytes in [40 << 20, 40 << 20, 66 << 20] {
        store.append("l", &text(bytes), 9, MINUTE).await.unwrap();
    }
    let first = store.read("l", 0, 9, Duration::ZERO).await.unwrap();
    assert_eq!(first.len(), 1, "the next one would be too much");
    let second = store.read("l", first[0].position, 9, Duration::ZERO).await.unwrap();
    assert_eq!(second.len(), 1);
    let error = store.read("l", second[0].position, 9, Duration::ZERO).await.unwrap_err();
    assert_eq!(error.kind, StoreErrorKind::Corrupt, "{error}");
}

#[tokio::test]
async fn a_restarted_redis_is_in_use_again_and_positions_rise_though_all_is_lost() {
    let server = RedisServer::start(&[]).await;
    let (port, store) = (server.port, guarded(server.port));
    let before = store.append("l", "before", 9, MINUTE).await.unwrap();
    let waiting = store.clone();
    let waiting = tokio::spawn(async move {
        loop {
            // As a worker does: it retries the read.
            match waiting.read("l", before, 9, MINUTE).await {
                Ok(entries) if !entries.is_empty() => return entries,
                _ => sleep(Duration::from_millis(50)).await,
            }
        }
    });
    sleep(Duration::from_millis(200)).await;
    drop(server);
    let error = store.get("a").await.unwrap_err();
    assert_eq!((error.kind, &*error.store), (StoreErrorKind::Unavailable, &*url(port)));
    all_fail_at_once(&store).await;
    let _server = RedisServer::start_at(port, &[]).await;
    in_use_again(&store).await;
    let after = store.append("l", "after", 9, MINUTE).await.unwrap();
    assert!(after > before);
    let entries = timeout(TEST_TIMEOUT, waiting).await.unwrap().unwrap();
    assert_eq!((entries[0].position, &*entries[0].text), (after, "after"));
}

#[tokio::test]
async fn a_silent_redis_fails_within_the_deadline_then_at_once() {
    let server = RedisServer::start(&[]).await;
    let (port, fault) = proxy(server.port).await;
    let store = guarded(port);
    store.put("a", "1", MINUTE).await.unwrap();
    fault.send(Fault::Silence).unwrap();
    let begin = Instant::now();
    let calls = (0..10).map(|_| {
        let store = store.clone();
        tokio::spawn(async move { store.get("a").await.unwrap_err() })
    });
    for call in calls.collect::<Vec<_>>() {
        assert_eq!(call.await.unwrap().kind, StoreErrorKind::Unavailable);
    }
    assert!(begin.elapsed() < CALL_TIMEOUT * 3, "{:?}", begin.elapsed());
    all_fail_at_once(&store).await;
    fault.send(Fault::None).unwrap();
    let again = in_use_again(&store).await;
    assert!(again < CALL_TIMEOUT * 3, "{again:?}");
    assert_eq!(store.get("a").await.unwrap().as_deref(), Some("1"));
}

#[tokio::test]
async fn a_cut_connection_is_made_again() {
    let server = RedisServer::start(&[]).await;
    let (port, fault) = proxy(server.port).await;
    let store = guarded(port);
    store.put("a", "1", MINUTE).await.unwrap();
    for _ in 0..3 {
        fault.send(Fault::Cut).unwrap();
        sleep(Duration::from_millis(50)).await;
        store.get("a").await.unwrap_err();
        fault.send(Fault::None).unwrap();
        in_use_again(&store).await;
        assert_eq!(store.get("a").await.unwrap().as_deref(), Some("1"));
    }
}

#[tokio::test]
async fn a_slow_redis_is_used_and_one_beyond_the_deadline_fails_without_mixing_answers_up() {
    let server = RedisServer::start(&[]).await;
    let (port, fault) = proxy(server.port).await;
    let store = guarded(port);
    for key in ["a", "b"] {
        store.put(key, key, MINUTE).await.unwrap();
    }
    fault.send(Fault::Slow(CALL_TIMEOUT / 10)).unwrap();
    for key in ["a", "b", "a"] {
        assert_eq!(store.get(key).await.unwrap().as_deref(), Some(key));
    }
    fault.send(Fault::Slow(CALL_TIMEOUT * 2)).unwrap();
    let begin = Instant::now();
    assert_eq!(store.get("a").await.unwrap_err().kind, StoreErrorKind::Unavailable);
    assert!(begin.elapsed() >= CALL_TIMEOUT);
    all_fail_at_once(&store).await;
    // The late response to the abandoned call must be ignored.
    fault.send(Fault::None).unwrap();
    in_use_again(&store).await;
    for key in ["b", "a", "b"] {
        assert_eq!(store.get(key).await.unwrap().as_deref(), Some(key));
    }
}

#[tokio::test]
async fn calls_under_way_fail_at_once_when_their_connection_is_reset() {
    let server = RedisServer::start(&[]).await;
    let (port, fault) = proxy(server.port).await;
    let patience = MINUTE;
    let store = open_store(&url(port), TokioRuntime::current(), patience).unwrap();
    for broken in [Fault::Reset, Fault::Cut, Fault::Reset] {
        in_use_again(&store).await;
        fault.send(Fault::Silence).unwrap();
        let calls: Vec<_> = (0..10)
            .map(|_| {
                let store = store.clone();
                tokio::spawn(async move { store.get("a").await })
            })
            .collect();
        // They are sent and wait for their responses.
        sleep(CALL_TIMEOUT / 10).await;
        let begin = Instant::now();
        fault.send(broken).unwrap();
        for call in calls {
            assert_eq!(call.await.unwrap().unwrap_err().kind, StoreErrorKind::Unavailable, "{broken:?}");
        }
        assert!(begin.elapsed() < patience / 3, "{:?}", begin.elapsed());
        fault.send(Fault::None).unwrap();
    }
    in_use_again(&store).await;
}

#[tokio::test]
async fn a_full_redis_refuses_writes_and_answers_reads_until_there_is_space() {
    let server = RedisServer::start(&["--maxmemory-policy", "noeviction"]).await;
    let store = guarded(server.port);
    store.put("a", "1", MINUTE).await.unwrap();
    server.set("maxmemory", "1").await;
    for error in [
        store.put("b", "1", MINUTE).await.unwrap_err(),
        store.put_if("b", None, "1", MINUTE).await.unwrap_err(),
        store.put_if("a", Some("1"), "2", MINUTE).await.unwrap_err(),
        store.append("l", "1", 9, MINUTE).await.unwrap_err(),
    ] {
        assert_eq!(error.kind, StoreErrorKind::Full, "{error}");
    }
    assert_eq!(store.get("a").await.unwrap().as_deref(), Some("1"));
    assert_eq!(store.failure(), None);
    store.remove("a").await.unwrap();
    server.set("maxmemory", "0").await;
    store.append("l", "1", 9, MINUTE).await.unwrap();
}

#[tokio::test]
async fn entries_reach_waiting_reads_when_nobody_tells_of_them() {
    let server = RedisServer::start(&[]).await;
    let (port, fault) = proxy(server.port).await;
    let (near, far) = (guarded(server.port), guarded(port));
    let waiting = {
        let far = far.clone();
        tokio::spawn(async move { far.read("l", 0, 9, MINUTE).await })
    };
    sleep(Duration::from_millis(300)).await;
    // Both connections are cut, and an entry is added meanwhile.
    fault.send(Fault::Cut).unwrap();
    sleep(Duration::from_millis(50)).await;
    fault.send(Fault::None).unwrap();
    near.append("l", "1", 9, MINUTE).await.unwrap();
    let entries = match timeout(TEST_TIMEOUT, waiting).await.unwrap().unwrap() {
        Ok(entries) => entries,
        Err(_) => {
            in_use_again(&far).await;
            far.read("l", 0, 9, MINUTE).await.unwrap()
        }
    };
    assert_eq!(entries.len(), 1);
}

#[tokio::test]
async fn errors_about_wrong_passwords_and_unknown_hosts_omit_the_password() {
    let server = RedisServer::start(&["--requirepass", "right"]).await;
    let runtime: Arc<dyn Runtime> = TokioRuntime::current();
    for (user, is_right) in [("", false), (":wrong@", false), (":right@", true)] {
        let url = format!("redis://{user}127.0.0.1:{}", server.port);
        let store = open_store(&url, Arc::clone(&runtime), CALL_TIMEOUT).unwrap();
        match store.put("a", "1", MINUTE).await {
            Ok(()) => assert!(is_right),
            Err(error) => assert!(!is_right && !error.to_string().contains("wrong@"), "{error}"),
        }
    }
    let nowhere = open_store("redis://nowhere.invalid", Arc::clone(&runtime), CALL_TIMEOUT).unwrap();
    let error = nowhere.get("a").await.unwrap_err();
    assert_eq!(error.kind, StoreErrorKind::Unavailable, "{error}");
    for url in ["redis://", "redis://h:port", "redis://h/x"] {
        let error = open_store(url, Arc::clone(&runtime), CALL_TIMEOUT).err().unwrap();
        assert_eq!(error.kind, StoreErrorKind::Invalid, "{error}");
    }
    let server = RedisServer::start(&[]).await;
    let tls = open_store(&format!("rediss://127.0.0.1:{}", server.port), runtime, CALL_TIMEOUT).unwrap();
    assert_eq!(tls.get("a").await.unwrap_err().kind, StoreErrorKind::Unavailable);
}
