//! The state that all tabs see, and the stream of its changes to each of them.

use super::{
    state::{
        Call, CallState, CodeForm, Connection, Era, Exchange, Increment, LogMessage, ResourceSubscription, Round, Row,
        ServerChoice, Target, now,
    },
    wire::Wire,
};
use bytes::Bytes;
use serde::Serialize;
use serde_json::{Map, Value};
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::sync::{
    broadcast::{self, error::RecvError},
    mpsc, oneshot, watch,
};
use trunkline::{
    auth::AuthRepeat,
    protocol::{RawJson, model::Root},
    wire_log::Observed,
};

/// Changes that wait for a slow tab; with more, it gets a new snapshot.
const MAX_WAITING: usize = 1_024;
/// Streams at once, of all servers. Browsers allow six connections to a host, and commands need
/// the others.
const MAX_STREAMS: usize = 4;
/// How long more may be open: a tab that is reloaded closes its old one.
const RELOAD: Duration = Duration::from_millis(500);
/// How often a quiet stream says that it is alive.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// Calls that have ended and are kept.
const MAX_ENDED_CALLS: usize = 20;
/// The size of all whole results that are kept, except for the last one.
const MAX_RESULT_BYTES: usize = 128 << 20;
const MAX_LOGS: usize = 200;
const MAX_EXCHANGES: usize = 200;

/// The state, and its streams.
pub(super) struct Hub {
    state: Mutex<State>,
    lines: broadcast::Sender<Bytes>,
    pub(super) shared: Arc<Shared>,
}

/// Shared by the servers of a page.
#[derive(Default)]
pub(super) struct Shared {
    pub(super) servers: Vec<ServerChoice>,
    pub(super) linger: Duration,
    /// The number of open tabs, of all servers.
    pub(super) tabs: watch::Sender<usize>,
    /// Ends the streams of the tabs, oldest first.
    pub(super) streams: Mutex<VecDeque<oneshot::Sender<()>>>,
}

impl Shared {
    fn streams(&self) -> MutexGuard<'_, VecDeque<oneshot::Sender<()>>> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the oldest streams if there are too many.
    fn limit_streams(&self) {
        let streams = &mut *self.streams();
        streams.retain(|stream| !stream.is_closed());
        let excess = streams.len().saturating_sub(MAX_STREAMS);
        for oldest in streams.drain(..excess) {
            // Its tab may just have been closed.
            let _ = oldest.send(());
        }
    }
}

/// All that a page shows.
pub(super) struct State {
    sequence: u64,
    pub(super) target: Target,
    pub(super) connections: [Connection; 2],
    pub(super) wire: Wire,
    pub(super) calls: VecDeque<KeptCall>,
    pub(super) rounds: Vec<Round>,
    logs: VecDeque<LogMessage>,
    pub(super) roots: Vec<Root>,
    pub(super) subscriptions: Vec<ResourceSubscription>,
    exchanges: VecDeque<Exchange>,
    code_forms: Vec<CodeForm>,
    shared: Arc<Shared>,
    /// The last call of a tool, for the line that repeats it.
    pub(super) last_call: Option<(Era, String, Map<String, Value>)>,
    /// Numbers calls, rounds and exchanges.
    next: u64,
    /// The program ends: the tabs hear no more.
    has_ended: bool,
}

/// A call, and the whole of its result if that is large.
pub(super) struct KeptCall {
    pub(super) call: Call,
    pub(super) whole: Option<RawJson>,
}

impl KeptCall {
    /// The whole result, if it is still kept.
    pub(super) fn result(&self) -> Option<RawJson> {
        self.whole.clone().or_else(|| self.call.result.as_ref()?.json.clone())
    }
}

#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub(super) struct Snapshot<'a> {
    #[cfg_attr(test, ts(type = "\"snapshot\""))]
    event: &'static str,
    /// The number of the last increment in this snapshot.
    sequence: u64,
    program: Program,
    target: &'a Target,
    /// Always both eras, legacy first.
    connections: &'a [Connection],
    /// The last rows, at most 500. `wire` fetches older ones that are kept.
    wire: Vec<&'a Row>,
    /// The running calls, and the last 20 that ended, oldest first.
    calls: Vec<&'a Call>,
    /// The questions of the server that wait for an answer, oldest first.
    rounds: &'a [Round],
    /// The last log messages of the server, at most 200.
    #[cfg_attr(test, ts(as = "Vec<LogMessage>"))]
    logs: &'a VecDeque<LogMessage>,
    /// The roots that servers get; `roots` changes them.
    #[cfg_attr(test, ts(type = "Root[]"))]
    roots: &'a [Root],
    /// The open subscriptions.
    subscriptions: &'a [ResourceSubscription],
    /// The ladder of the last login, first step first; at most 200.
    #[cfg_attr(test, ts(as = "Vec<Exchange>"))]
    exchanges: &'a VecDeque<Exchange>,
    /// The forms that `code` writes, in the order to show.
    code_forms: &'a [CodeForm],
    /// The servers of the page, this one included.
    servers: &'a [ServerChoice],
    /// How long sessions stay open after the last tab is closed, in seconds.
    linger_seconds: u64,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct Program {
    version: &'static str,
}

impl State {
    pub(super) fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    pub(super) fn connection(&mut self, era: Era) -> &mut Connection {
        &mut self.connections[era.index()]
    }

    pub(super) fn call(&mut self, id: u64) -> Option<&mut KeptCall> {
        self.calls.iter_mut().find(|kept| kept.call.id == id)
    }

    /// The calls of an era that have not ended.
    pub(super) fn running(&self, era: Option<Era>) -> impl Iterator<Item = &Call> {
        let is_running = move |call: &&Call| call.state == CallState::Running && era.is_none_or(|era| era == call.era);
        self.calls.iter().map(|kept| &kept.call).filter(is_running)
    }

    /// Drops old calls and results.
    fn trim(&mut self) {
        let mut ended = self.calls.iter().filter(|kept| kept.call.state != CallState::Running).count();
        self.calls.retain(|kept| {
            let is_old = kept.call.state != CallState::Running && ended > MAX_ENDED_CALLS;
            ended -= usize::from(is_old);
            !is_old
        });
        let mut bytes = 0;
        for (index, kept) in self.calls.iter_mut().rev().enumerate() {
            bytes += kept.whole.as_ref().map_or(0, |whole| whole.as_bytes().len());
            if index > 0 && bytes > MAX_RESULT_BYTES {
                kept.whole = None;
            }
        }
    }

    fn snapshot(&self) -> Bytes {
        let snapshot = Snapshot {
            event: "snapshot",
            sequence: self.sequence,
            program: Program { version: env!("CARGO_PKG_VERSION") },
            target: &self.target,
            connections: &self.connections,
            wire: self.wire.last(u64::MAX).collect(),
            calls: self.calls.iter().map(|kept| &kept.call).collect(),
            rounds: &self.rounds,
            logs: &self.logs,
            roots: &self.roots,
            subscriptions: &self.subscriptions,
            exchanges: &self.exchanges,
            code_forms: &self.code_forms,
            servers: &self.shared.servers,
            linger_seconds: self.shared.linger.as_secs(),
        };
        (serde_json::to_string(&snapshot).unwrap_or_default() + "\n").into()
    }
}

impl Hub {
    pub(super) fn new(target: Target, code_forms: Vec<CodeForm>, shared: Arc<Shared>) -> Arc<Self> {
        let state = State {
            sequence: 0,
            target,
            connections: Era::ALL.map(Connection::new),
            wire: Wire::default(),
            calls: VecDeque::new(),
            rounds: Vec::new(),
            logs: VecDeque::new(),
            roots: Vec::new(),
            subscriptions: Vec::new(),
            exchanges: VecDeque::new(),
            code_forms,
            shared: Arc::clone(&shared),
            last_call: None,
            next: 0,
            has_ended: false,
        };
        let (lines, _) = broadcast::channel(MAX_WAITING);
        Arc::new(Self { state: Mutex::new(state), lines, shared })
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells all tabs of a change; `text` is that of [`text_of`].
    pub(super) fn tell(&self, state: &mut State, text: &str) {
        if state.has_ended {
            return;
        }
        state.sequence += 1;
        // The members of an increment follow its number.
        let line = format!("{{\"sequence\":{},{}\n", state.sequence, text.get(1..).unwrap_or("}"));
        // Nobody may listen.
        let _ = self.lines.send(line.into());
    }

    /// Changes a connection.
    pub(super) fn connection(&self, era: Era, change: impl FnOnce(&mut Connection)) {
        let state = &mut *self.state();
        change(state.connection(era));
        let text = text_of(&Increment::Connection { connection: state.connection(era) });
        self.tell(state, &text);
    }

    /// Changes a call.
    pub(super) fn call(&self, id: u64, change: impl FnOnce(&mut KeptCall)) {
        let state = &mut *self.state();
        let Some(kept) = state.call(id) else { return };
        change(kept);
        let text = text_of(&Increment::Call { call: &kept.call });
        state.trim();
        self.tell(state, &text);
    }

    /// Returns whether a client connects to this server.
    pub(super) fn owns(&self, client: Option<u64>) -> bool {
        client.is_some_and(|client| self.state().wire.knows(client))
    }

    pub(super) fn observed(&self, observed: &Observed<'_>) {
        let state = &mut *self.state();
        if let Some(row) = state.wire.add(observed) {
            let text = text_of(&Increment::Wire { row });
            self.tell(state, &text);
        }
    }

    /// Adds a message between an app and the page.
    pub(super) fn app_message(&self, (era, app): (Era, u64), is_from_app: bool, text: String) {
        let state = &mut *self.state();
        if let Some(row) = state.wire.add_of_app((era, app), is_from_app, text.into()) {
            let text = text_of(&Increment::Wire { row });
            self.tell(state, &text);
        }
    }

    pub(super) fn log(&self, log: LogMessage) {
        let state = &mut *self.state();
        let text = text_of(&Increment::Log { log: &log });
        push(&mut state.logs, log, MAX_LOGS);
        self.tell(state, &text);
    }

    /// Adds a rung of the login ladder.
    pub(super) fn exchange(&self, mut exchange: Exchange) {
        let state = &mut *self.state();
        (exchange.id, exchange.at) = (state.number(), now());
        let text = text_of(&Increment::Exchange { exchange: &exchange });
        push(&mut state.exchanges, exchange, MAX_EXCHANGES);
        self.tell(state, &text);
    }

    /// The step of a rung.
    pub(super) fn rung(&self, id: u64) -> Option<AuthRepeat> {
        let state = self.state();
        state.exchanges.iter().find(|rung| rung.id == id).map(|rung| rung.repeat.clone())
    }

    /// Replaces a rung that was repeated.
    pub(super) fn repeated(&self, id: u64, exchange: Exchange) {
        let state = &mut *self.state();
        let Some(rung) = state.exchanges.iter_mut().find(|rung| rung.id == id) else { return };
        *rung = Exchange { id, at: now(), ..exchange };
        let text = text_of(&Increment::Exchange { exchange: rung });
        self.tell(state, &text);
    }

    pub(super) fn clear_ladder(&self) {
        let state = &mut *self.state();
        state.exchanges.clear();
        self.tell(state, &text_of(&Increment::Ladder));
    }

    pub(super) fn end(&self, command: &str) {
        let state = &mut *self.state();
        self.tell(state, &text_of(&Increment::End { command }));
        state.has_ended = true;
    }

    /// Waits until something is true of the state.
    pub(super) async fn until(&self, holds: impl Fn(&mut State) -> bool) {
        let mut changes = self.lines.subscribe();
        while !holds(&mut self.state()) {
            // A missed change is as good.
            let _ = changes.recv().await;
        }
    }

    /// The lines for one more tab. If there are too many, the oldest one falls asleep.
    pub(super) fn open_tab(self: &Arc<Self>) -> mpsc::Receiver<Bytes> {
        // The socket is the buffer of a slow tab.
        let (sender, receiver) = mpsc::channel(1);
        let (ends, ended) = oneshot::channel();
        self.shared.tabs.send_modify(|tabs| *tabs += 1);
        self.shared.streams().push_back(ends);
        let (hub, shared) = (Arc::clone(self), Arc::clone(&self.shared));
        tokio::spawn(async move {
            tokio::select! {
                () = hub.stream(&sender) => {}
                () = sender.closed() => {}
                _ = ended => {
                    // A tab that reads nothing is not told.
                    let asleep = Bytes::from_static(b"{\"event\":\"asleep\"}\n");
                    let _ = sender.send_timeout(asleep, RELOAD).await;
                }
            }
            hub.shared.tabs.send_modify(|tabs| *tabs -= 1);
        });
        tokio::spawn(async move {
            tokio::time::sleep(RELOAD).await;
            shared.limit_streams();
        });
        receiver
    }

    async fn stream(&self, tab: &mpsc::Sender<Bytes>) {
        loop {
            let (mut lines, snapshot) = {
                let state = self.state();
                (self.lines.subscribe(), state.snapshot())
            };
            if tab.send(snapshot).await.is_err() {
                return;
            }
            loop {
                let line = match tokio::time::timeout(KEEP_ALIVE, lines.recv()).await {
                    Ok(Ok(line)) => line,
                    Ok(Err(RecvError::Lagged(_))) => break,
                    Ok(Err(RecvError::Closed)) => return,
                    Err(_) => Bytes::from_static(b"\n"),
                };
                if tab.send(line).await.is_err() {
                    return;
                }
            }
            if tab.send(Bytes::from_static(b"{\"event\":\"gap\"}\n")).await.is_err() {
                return;
            }
        }
    }
}

/// The text of an increment.
pub(super) fn text_of(increment: &Increment<'_>) -> String {
    serde_json::to_string(increment).unwrap_or_else(|_| "{}".to_owned())
}

fn push<T>(items: &mut VecDeque<T>, item: T, max: usize) {
    if items.len() == max {
        items.pop_front();
    }
    items.push_back(item);
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::BytesMut;
    use std::thread;

    fn hub() -> Arc<Hub> {
        let target = Target { label: "a".to_owned(), transport: "stdio", command: String::new() };
        Hub::new(target, Vec::new(), Arc::default())
    }

    fn call(id: u64, whole: Option<RawJson>) -> KeptCall {
        let call = Call {
            id,
            era: Era::Modern,
            method: String::new(),
            about: None,
            params: None,
            at: 0.0,
            state: CallState::Done,
            progress: None,
            result: None,
            problem: None,
            ms: None,
            task: None,
        };
        KeptCall { call, whole }
    }

    fn log(hub: &Hub, number: usize) {
        hub.log(LogMessage { at: 0.0, era: Era::Legacy, level: "info", logger: None, text: number.to_string() });
    }

    #[test]
    fn old_whole_results_are_dropped() {
        let hub = hub();
        let whole = |bytes: usize| Some(RawJson::trusted(BytesMut::zeroed(bytes).freeze()));
        let (half, more) = (whole(MAX_RESULT_BYTES / 2), whole(MAX_RESULT_BYTES + 1));
        let kept = |wholes: &[&Option<RawJson>]| {
            let state = &mut *hub.state();
            state.calls = (0..).zip(wholes).map(|(id, whole)| call(id, (*whole).clone())).collect();
            state.trim();
            state.calls.iter().map(|kept| kept.whole.is_some()).collect::<Vec<_>>()
        };
        assert_eq!(kept(&[&half, &half, &half]), [false, true, true]);
        // The last one stays, however large.
        assert_eq!(kept(&[&half, &more]), [false, true]);
    }

    #[test]
    fn old_log_messages_are_dropped() {
        let hub = hub();
        (0..MAX_LOGS + 5).for_each(|number| log(&hub, number));
        let state = hub.state();
        assert_eq!((state.logs.len(), &*state.logs[0].text), (MAX_LOGS, "5"));
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn no_change_falls_between_a_snapshot_and_its_stream() {
        const CHANGES: usize = 5_000;
        let hub = hub();
        let changing = {
            let hub = Arc::clone(&hub);
            thread::spawn(move || (0..CHANGES).for_each(|number| log(&hub, number)))
        };
        let sequence = |line: Bytes| serde_json::from_slice::<Value>(&line).unwrap()["sequence"].as_u64();
        while !changing.is_finished() {
            let mut tab = hub.open_tab();
            let snapshot = sequence(tab.recv().await.unwrap()).unwrap();
            if snapshot == CHANGES as u64 {
                break;
            }
            // A tab that was too slow has a gap, which has no number.
            if let Some(next) = sequence(tab.recv().await.unwrap()) {
                assert_eq!(next, snapshot + 1);
            }
        }
        changing.join().unwrap();
    }
}
