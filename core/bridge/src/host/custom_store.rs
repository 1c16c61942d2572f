//! Custom stores: six host functions hold the state of a server.

use crate::{
    BridgeError, Lane, PortState,
    host::function::{FunctionError, Host, HostFunctions, functions, has},
    message::{Handlers, Request},
    requests::{
        replies::{answer_by_task, written},
        sent_request::sent,
    },
    state::entries::HostTarget,
};
use serde::{
    Deserialize, Serialize,
    de::{DeserializeOwned, IgnoredAny},
};
use serde_json::json;
use std::{sync::Arc, time::Duration};
use tokio::sync::Semaphore;
use trunkline::{
    bridge_support::{described, store_findings},
    protocol::error::code,
    runtime::BoxedTask,
    store::{LogEntry, Store, StoreError, StoreErrorKind},
};

/// The name of the store in errors.
const NAME: &str = "of the program";
/// Maximum number of concurrent calls to the host.
const MAX_CALLS: usize = 1024;
/// Positions in a log are less than this.
const POSITION_LIMIT: u64 = 1 << 53;
/// A century.
const MAX_TTL_MS: u128 = 100 * 365 * 24 * 3600 * 1000;

functions! {
    /// Returns the text of a key; nothing if there is none or it has expired.
    GET = "store_get"(StoreKey) -> FoundText;
    /// Sets the text of a key, and how long to keep it, replacing any existing one.
    PUT = "store_put"(PutText);
    /// Sets the text of a key, and how long to keep it, if its current text equals `expected`, or,
    /// if nothing is expected, if there is none. The result says whether the text was set. Atomic
    /// across all users of the store.
    PUT_IF = "store_put_if"(PutTextIf) -> PutOutcome;
    /// Removes the text or the log of a key, if there is one.
    REMOVE = "store_remove"(StoreKey);
    /// Appends an entry to a log, which is created on demand. The result is its position. The
    /// positions of a log increase, possibly with gaps, are at least 1 and less than 2^53, and are
    /// never reused, even after the log was removed. Beyond `maxEntries`, the oldest entries are
    /// removed. The whole log expires if nothing is appended for the given time.
    APPEND = "store_append"(AppendEntry) -> EntryPosition;
    /// Returns the oldest entries of a log after a position, at most `limit`. If there are none, it
    /// may wait for one, up to the given time. If it doesn't wait, it is called again: at once when
    /// this process appends an entry, otherwise every 100 ms.
    READ = "store_read"(ReadLog) -> FoundEntries;
}

described! {
    /// The key of a text or a log.
    #[derive(Serialize)]
    pub struct StoreKey {
        /// The key: printable ASCII of 1 to 512 bytes.
        required key: String = "key",
    }

    /// The text of a key.
    #[derive(Deserialize)]
    pub struct FoundText {
        /// Text, byte for byte as it was stored.
        optional text: Option<String> = "text",
    }

    /// A text to store.
    #[derive(Serialize)]
    pub struct PutText {
        /// The key.
        required key: String = "key",
        /// The text.
        required text: String = "text",
        /// How long to keep it, in milliseconds.
        required keep_for_ms: u64 = "keepForMs",
    }

    /// A text to store under a condition.
    #[derive(Serialize)]
    pub struct PutTextIf {
        /// The key.
        required key: String = "key",
        /// The text that must be there. If absent, there must be none.
        #[serde(skip_serializing_if = "Option::is_none")]
        optional expected: Option<String> = "expected",
        /// The text.
        required text: String = "text",
        /// How long to keep it, in milliseconds.
        required keep_for_ms: u64 = "keepForMs",
    }

    /// The outcome of a conditional store.
    #[derive(Deserialize)]
    pub struct PutOutcome {
        /// True if the text was stored.
        required done: bool = "done",
    }

    /// An entry for a log.
    #[derive(Serialize)]
    pub struct AppendEntry {
        /// The key of the log.
        required log: String = "log",
        /// The text of the entry.
        required entry: String = "entry",
        /// Maximum number of entries that the log keeps.
        required max_entries: u64 = "maxEntries",
        /// How long to keep the log, in milliseconds.
        required keep_for_ms: u64 = "keepForMs",
    }

    /// The position of an entry in its log.
    #[derive(Deserialize)]
    pub struct EntryPosition {
        /// The position.
        required position: u64 = "position",
    }

    /// A request for entries of a log.
    #[derive(Serialize)]
    pub struct ReadLog {
        /// The key of the log.
        required log: String = "log",
        /// Position after which the entries begin.
        required after: u64 = "after",
        /// Maximum number of entries.
        required limit: u64 = "limit",
        /// Maximum time to wait for an entry, in milliseconds.
        required wait_ms: u64 = "waitMs",
    }

    /// An entry of a store's log.
    #[derive(Deserialize)]
    pub struct StoredEntry {
        /// Position in the log.
        required position: u64 = "position",
        /// Text that was appended.
        required text: String = "text",
    }

    /// Entries of a log.
    #[derive(Deserialize)]
    pub struct FoundEntries {
        /// Entries, in the order of their positions.
        required entries: Vec<StoredEntry> = "entries",
    }
}

/// A store that calls the host, with the handle of its server.
#[derive(Clone)]
pub(crate) struct HostedStore {
    functions: HostFunctions,
    calls: Arc<Semaphore>,
    /// The host forgets the functions when nothing uses the store anymore.
    target: Arc<HostTarget>,
}

impl HostedStore {
    pub(crate) fn new(state: &Arc<PortState>, given: &Handlers) -> Result<Self, BridgeError> {
        if let Some(name) = given.keys().find(|name| !has(FUNCTIONS, name)) {
            return Err(BridgeError::invalid(format!("server: store: {name:?} is not a function of a store")));
        }
        let functions = HostFunctions::all(&Host::new(state), given, FUNCTIONS)
            .map_err(|name| BridgeError::invalid(format!("server: store: missing function {name}")))?;
        let target = HostTarget::new(&state.queue, Lane::default());
        Ok(Self { functions, calls: Arc::new(Semaphore::new(MAX_CALLS)), target })
    }

    /// Sets the handle of the server, once.
    pub(crate) fn set_server(&self, handle: u64) {
        self.functions.host.set_handle(handle);
        self.target.set_handle(handle);
    }

    /// Calls a function, and maps its result with `take`.
    fn ask<T: DeserializeOwned + Send + 'static, R: 'static>(
        &self,
        function: &'static str,
        params: &impl Serialize,
        take: impl FnOnce(T) -> Result<R, StoreError> + Send + 'static,
    ) -> BoxedTask<Result<R, StoreError>> {
        let permit = Arc::clone(&self.calls).acquire_owned();
        // The host knows the functions for as long as this lives.
        let (target, answer) = (Arc::clone(&self.target), self.functions.call(function, params));
        Box::pin(async move {
            // For as long as the deadline of the call allows: a burst of calls is not a failure.
            let _permit = permit.await;
            let answer = answer.await.map_err(failure);
            drop(target);
            answer.and_then(take)
        })
    }
}

fn unavailable(problem: &str) -> StoreError {
    StoreError::new(StoreErrorKind::Unavailable, NAME, problem)
}

fn nonsense(name: &str, problem: &str) -> StoreError {
    unavailable(&format!("invalid return value of {name}: {problem}"))
}

/// The failure of a function; `data.error` is the kind.
fn failure(error: FunctionError) -> StoreError {
    let error = match error {
        FunctionError::Failed { error, .. } => error,
        FunctionError::Unreadable { name, problem } => return nonsense(name, &problem),
    };
    let named = error.data.as_ref().and_then(|data| data["error"].as_str());
    let kind = match named {
        Some("full") => StoreErrorKind::Full,
        Some("corrupt") => StoreErrorKind::Corrupt,
        Some("invalid") => StoreErrorKind::Invalid,
        _ if error.code == code::INVALID_PARAMS => StoreErrorKind::Invalid,
        _ => StoreErrorKind::Unavailable,
    };
    StoreError::new(kind, NAME, error.message)
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis().min(MAX_TTL_MS)).unwrap_or(u64::MAX)
}

/// A number that every language can represent.
fn count(number: usize) -> u64 {
    (number as u64).min(POSITION_LIMIT - 1)
}

impl Store for HostedStore {
    fn get(&self, key: &str) -> BoxedTask<Result<Option<String>, StoreError>> {
        self.ask(GET, &StoreKey { key: key.to_owned() }, |found: FoundText| Ok(found.text))
    }

    fn put(&self, key: &str, text: &str, keep_for: Duration) -> BoxedTask<Result<(), StoreError>> {
        let put = PutText { key: key.to_owned(), text: text.to_owned(), keep_for_ms: milliseconds(keep_for) };
        self.ask(PUT, &put, |_: IgnoredAny| Ok(()))
    }

    fn put_if(
        &self,
        key: &str,
        expected: Option<&str>,
        text: &str,
        keep_for: Duration,
    ) -> BoxedTask<Result<bool, StoreError>> {
        let (key, text, expected) = (key.to_owned(), text.to_owned(), expected.map(str::to_owned));
        let put = PutTextIf { key, expected, text, keep_for_ms: milliseconds(keep_for) };
        self.ask(PUT_IF, &put, |outcome: PutOutcome| Ok(outcome.done))
    }

    fn remove(&self, key: &str) -> BoxedTask<Result<(), StoreError>> {
        self.ask(REMOVE, &StoreKey { key: key.to_owned() }, |_: IgnoredAny| Ok(()))
    }

    fn append(
        &self,
        log: &str,
        entry: &str,
        max_entries: usize,
        keep_for: Duration,
    ) -> BoxedTask<Result<u64, StoreError>> {
        let (log, entry) = (log.to_owned(), entry.to_owned());
        let entry = AppendEntry { log, entry, max_entries: count(max_entries), keep_for_ms: milliseconds(keep_for) };
        self.ask(APPEND, &entry, |EntryPosition { position }| {
            if (1..POSITION_LIMIT).contains(&position) {
                Ok(position)
            } else {
                Err(nonsense(APPEND, &format!("the position {position} is not at least 1 and less than 2^53")))
            }
        })
    }

    fn read(
        &self,
        log: &str,
        after: u64,
        limit: usize,
        wait: Duration,
    ) -> BoxedTask<Result<Vec<LogEntry>, StoreError>> {
        let wanted = ReadLog { log: log.to_owned(), after, limit: count(limit), wait_ms: milliseconds(wait) };
        self.ask(READ, &wanted, move |FoundEntries { entries }| {
            let mut last = after;
            for StoredEntry { position, .. } in &entries {
                if *position <= last {
                    return Err(nonsense(READ, &format!("the position {position} does not come after {last}")));
                }
                last = *position;
            }
            let entry = |StoredEntry { position, text }| LogEntry { position, text };
            Ok(entries.into_iter().take(limit).map(entry).collect())
        })
    }
}

/// A server's request to check its store; the reply has the `findings`.
const CHECK: &str = "checkStore";

/// Handles a request to check the store of a server.
pub(crate) fn check(state: &Arc<PortState>, handle: u64, given: &Request) -> Result<u64, BridgeError> {
    if given.method != CHECK {
        let text = format!("request: a server takes the method {CHECK}, not {:?}", given.method);
        return Err(BridgeError::invalid(text));
    }
    let (server, runtime) = (state.server(handle)?, state.runtime()?);
    let findings = store_findings(&server, &runtime).map_err(|error| BridgeError::invalid(error.to_string()))?;
    let ticket = state.tables.lock().insert_request(given, handle)?;
    let answer = async move { written(&json!({"findings": findings.await})) };
    sent(state, ticket, answer_by_task(state, ticket, given, answer))
}
