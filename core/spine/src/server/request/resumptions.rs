//! Resumed rounds: only one request at a time may use a sealed state, and values that its handler
//! kept are found when the state is sent again, so that side effects don't happen twice (MRTR-08).
//!
//! A client whose connection broke before the result arrived sends the same retry again. The sealed
//! state only contains what was kept before that round; the record here has the rest. Records are
//! in the server's store, for all of its workers, or else in memory. When the memory budget is
//! exhausted, the oldest record of the principal with the most is evicted.

use super::{request_state::digest, stored_record::StoredRecord, tasks::StoredTasks};
use crate::{
    engine::later,
    on_drop::BoxedOnDrop,
    protocol::RpcError,
    race,
    runtime::Runtime,
    server::handlers::Cancellation,
    store::{ProcessStore, Store, StoreError, StoreErrorKind},
    sync::Mutex,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{
    collections::{BTreeMap, HashSet},
    pin::pin,
    sync::{Arc, OnceLock},
    task::{Context, Waker},
    time::Duration,
};

/// Budget of the records in memory. Kept values are small, such as the number of a payment.
const MAX_BYTES: usize = 16 << 20;
/// A state that another request holds is retried, because that request may be about to end.
const MAX_ATTEMPTS: usize = 20;
const RETRY_INTERVAL: Duration = Duration::from_millis(100);
/// The wait after a store error.
const STORE_RETRY_DELAY: Duration = Duration::from_millis(500);
/// How long a record without values is kept.
const EMPTY_RECORD_TTL: Duration = Duration::from_secs(1);
/// The error if another request holds the state.
const IN_USE: &str = "another request with this requestState is in progress; send it again after that";

/// The resumed states of a server.
#[derive(Default)]
pub(super) struct Resumptions {
    /// The keys of states held by this process.
    held: Mutex<HashSet<String>>,
    memory: OnceLock<ProcessStore>,
}

/// A sealed state that a request resumes.
pub(super) struct ResumedState {
    pub(super) principal: String,
    pub(super) id: String,
    /// Since the Unix epoch.
    pub(super) expires: Duration,
}

/// The record of a resumed state.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResumptionRecord {
    /// The worker that holds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    worker: Option<String>,
    #[serde(default)]
    kept: BTreeMap<String, Value>,
}

/// A state held by a request, until it is dropped.
pub(super) struct Resumption(Arc<HeldRecord>);

/// The record of a held state. One task at a time writes it to the store.
struct HeldRecord {
    /// Keeps other requests of this process from the state.
    _held: BoxedOnDrop,
    backend: Backend,
    expires: Duration,
    record: Mutex<ResumptionRecord>,
    stored: StoredRecord,
}

/// Where records are stored.
#[derive(Clone)]
struct Backend {
    store: Arc<dyn Store>,
    /// `None` in memory, which is not shared with other workers.
    workers: Option<Arc<StoredTasks>>,
    runtime: Arc<dyn Runtime>,
}

impl Resumptions {
    /// Holds a state for a request. Returns the values that were kept since the state was sealed.
    ///
    /// # Errors
    /// If another request holds the state, or may hold it because the store is unavailable.
    pub(super) async fn hold(
        self: &Arc<Self>,
        stored: Option<&Arc<StoredTasks>>,
        runtime: &Arc<dyn Runtime>,
        state: &ResumedState,
        cancellation: &Cancellation,
    ) -> Result<(Resumption, BTreeMap<String, Value>), RpcError> {
        let backend = self.backend(stored, runtime);
        let key = format!("resumed/{}/{}", digest(&state.principal), state.id);
        for _ in 0..MAX_ATTEMPTS {
            match self.try_hold(&backend, &key, state.expires).await {
                Ok(Some(held)) => return Ok(held),
                Ok(None) => {}
                Err(error) => {
                    tracing::debug!(target: "trunkline::server::request", %error, "could not resume a requestState");
                    return Err(RpcError::busy("the store of request states is not available"));
                }
            }
            let pause = runtime.sleep_until(later(runtime.now(), RETRY_INTERVAL));
            if race::unless(cancellation.cancelled(), pause).await.is_none() {
                break;
            }
        }
        Err(RpcError::busy(IN_USE))
    }

    fn backend(&self, stored: Option<&Arc<StoredTasks>>, runtime: &Arc<dyn Runtime>) -> Backend {
        let runtime = Arc::clone(runtime);
        match stored {
            Some(stored) => {
                Backend { store: Arc::new(stored.store.clone()), workers: Some(Arc::clone(stored)), runtime }
            }
            None => {
                let memory = self.memory.get_or_init(|| ProcessStore::evicting(Arc::clone(&runtime), MAX_BYTES));
                Backend { store: Arc::new(memory.clone()), workers: None, runtime }
            }
        }
    }

    /// Returns `None` if another request holds the state.
    async fn try_hold(
        self: &Arc<Self>,
        backend: &Backend,
        key: &str,
        expires: Duration,
    ) -> Result<Option<(Resumption, BTreeMap<String, Value>)>, StoreError> {
        if !self.held.lock().insert(key.to_owned()) {
            return Ok(None);
        }
        let (resumptions, own) = (Arc::clone(self), key.to_owned());
        let held = BoxedOnDrop::new(Box::new(move || {
            resumptions.held.lock().remove(&own);
        }));
        let found = backend.store.get(key).await?;
        let before: ResumptionRecord = match &found {
            None => ResumptionRecord::default(),
            Some(text) => serde_json::from_str(text).map_err(|problem| {
                StoreError::new(StoreErrorKind::Corrupt, backend.name(), format!("a resumed state: {problem}"))
            })?,
        };
        if backend.is_held_elsewhere(before.worker.as_deref()).await? {
            return Ok(None);
        }
        let kept = before.kept;
        let record = ResumptionRecord { worker: backend.worker(), kept: kept.clone() };
        let (written, keep_for) = (record.text(), backend.lifetime(&record, expires));
        let stored = StoredRecord::new(Arc::clone(&backend.store), key.to_owned(), found);
        let held = HeldRecord { _held: held, backend: backend.clone(), expires, record: Mutex::new(record), stored };
        match held.write(&written, keep_for).await {
            Ok(true) => Ok(Some((Resumption(Arc::new(held)), kept))),
            Ok(false) => Ok(None),
            Err(error) => {
                // The store may hold it nevertheless, so it is released.
                drop(Resumption(Arc::new(held)));
                Err(error)
            }
        }
    }
}

impl Backend {
    fn worker(&self) -> Option<String> {
        self.workers.as_ref().map(|workers| workers.worker.clone())
    }

    fn name(&self) -> &str {
        self.workers.as_ref().map_or("memory:", |workers| workers.store.name())
    }

    /// Returns whether another live worker holds the state. If not, this worker itself must be
    /// alive.
    async fn is_held_elsewhere(&self, worker: Option<&str>) -> Result<bool, StoreError> {
        let Some(workers) = &self.workers else { return Ok(false) };
        if let Some(worker) = worker.filter(|worker| *worker != workers.worker)
            && workers.lives(worker).await?
        {
            return Ok(true);
        }
        workers.renew().await.map(|()| false)
    }

    /// How long the store keeps a record.
    fn lifetime(&self, record: &ResumptionRecord, expires: Duration) -> Duration {
        let left = expires.saturating_sub(self.runtime.unix_time());
        if *record == ResumptionRecord::default() { EMPTY_RECORD_TTL.min(left) } else { left }
    }
}

impl Resumption {
    /// Keeps a value for later requests with this state, on any worker.
    pub(super) fn keep(&self, name: &str, value: &Value) {
        self.0.change(|record| drop(record.kept.insert(name.to_owned(), value.clone())));
    }
}

impl Drop for Resumption {
    fn drop(&mut self) {
        self.0.change(|record| record.worker = None);
    }
}

impl HeldRecord {
    fn change(self: &Arc<Self>, change: impl FnOnce(&mut ResumptionRecord)) {
        change(&mut self.record.lock());
        if !self.stored.begin_writing() {
            return;
        }
        let this = Arc::clone(self);
        let writing = async move { this.bring_up_to_date().await };
        if self.backend.workers.is_some() {
            return self.backend.runtime.spawn(Box::pin(writing));
        }
        // In memory, this completes immediately, so the next request finds the current record.
        let _ = pin!(writing).poll(&mut Context::from_waker(Waker::noop()));
    }

    async fn write(&self, text: &str, keep_for: Duration) -> Result<bool, StoreError> {
        let worker = self.backend.worker();
        let is_held = |record: ResumptionRecord| record.worker == worker;
        self.stored.write(text, keep_for, |current| serde_json::from_str(current).is_ok_and(is_held)).await
    }

    async fn bring_up_to_date(&self) {
        let runtime = &self.backend.runtime;
        loop {
            let (text, keep_for) = {
                let record = self.record.lock();
                (record.text(), self.backend.lifetime(&record, self.expires))
            };
            match self.write(&text, keep_for).await {
                Ok(true) if self.stored.continues_writing() => {}
                Err(StoreError { kind: StoreErrorKind::Unavailable | StoreErrorKind::Full, .. })
                    if runtime.unix_time() < self.expires =>
                {
                    runtime.sleep_until(later(runtime.now(), STORE_RETRY_DELAY)).await;
                }
                // Up to date, or another worker presumed this one dead and took over the state.
                Ok(_) | Err(_) => return,
            }
        }
    }
}

impl ResumptionRecord {
    fn text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

#[cfg(all(test, feature = "tokio", feature = "request-state"))]
mod tests {
    use super::*;
    use crate::{
        faulty_store::{FaultyStore, StoreFault},
        protocol::{
            extension::TASKS,
            model::{ElicitParams, Field, FormSchema},
        },
        server::{
            Context, Server, ServerOptions, StateKey, TaskSupport, Tool,
            request::tasks::stored_tests::{Shared, Unconfirmed},
            tests::{Peer, TestRuntime, accept, modern, server, text_of},
        },
        store::StoreChoice,
        wire_log::Transport,
    };
    use serde_json::json;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use tokio::sync::Semaphore;

    const MINUTE: Duration = Duration::from_secs(60);

    /// The payments of all workers.
    #[derive(Clone, Default)]
    struct Payments(Arc<AtomicUsize>);

    impl Payments {
        /// A worker whose tool pays once the user has said so, and then waits for the gate.
        fn worker(&self, store: &Shared) -> (Server, Arc<Semaphore>) {
            let gate = Arc::new(Semaphore::new(0));
            let (payments, open) = (Arc::clone(&self.0), Arc::clone(&gate));
            let pay = move |ctx: Context| {
                let (payments, open) = (Arc::clone(&payments), Arc::clone(&open));
                async move {
                    let form = FormSchema::new().required("name", Field::text());
                    ctx.elicit_with_key("name", ElicitParams::form("Who?", form)).await?;
                    let paid = || async move { crate::Ok(payments.fetch_add(1, Ordering::Relaxed) + 1) };
                    let number = ctx.once("payment", paid).await?;
                    let _permit = open.acquire().await?;
                    crate::Ok(format!("payment {number}"))
                }
            };
            let options = ServerOptions::default().with_store(StoreChoice::custom(Arc::clone(&store.store) as _));
            let options = options.with_state_keys(vec![StateKey::new([7; 32])]);
            (server().options(options).add_tool(Tool::new("pay", "Pays", pay)).build(), gate)
        }

        async fn reach(&self, count: usize) {
            for _ in 0..1000 {
                if self.0.load(Ordering::Relaxed) == count {
                    return;
                }
                tokio::time::sleep(RETRY_INTERVAL).await;
            }
            panic!("{} payments", self.0.load(Ordering::Relaxed));
        }
    }

    fn client(server: &Server) -> Peer {
        Peer::with(server, Transport::Http, Some("alice"))
    }

    /// Runs the first round and returns the parameters of the second.
    async fn retry(peer: &Peer) -> Value {
        let params = |more: Value| {
            let mut params = json!({"name": "pay", "arguments": {}});
            params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            modern(params, json!({"elicitation": {}}))
        };
        let asked = peer.ask("tools/call", params(json!({}))).await;
        let state = &asked["result"]["requestState"];
        assert!(state.is_string(), "{asked}");
        params(json!({"requestState": state, "inputResponses": {"name": accept(json!({"name": "Ada"}))}}))
    }

    /// The key and record of the only resumed state.
    async fn only_record(store: &Shared, state: &Value) -> (String, Value) {
        let keys = store.kept.keys();
        let mut resumed = keys.into_iter().filter(|key| key.starts_with("resumed/"));
        let (Some(key), None) = (resumed.next(), resumed.next()) else { panic!("not one record for {state}") };
        let record = store.kept.get(&key).await.unwrap().unwrap();
        (key, serde_json::from_str(&record).unwrap())
    }

    #[tokio::test(start_paused = true)]
    async fn mrtr_08_a_state_is_served_by_one_worker_at_a_time_and_its_effect_happens_once() {
        let (store, payments) = (Shared::new(), Payments::default());
        let ((one, _), (other, gate)) = (payments.worker(&store), payments.worker(&store));
        let (alice, elsewhere) = (client(&one), client(&other));
        let retry = retry(&alice).await;
        alice.request("tools/call", retry.clone());
        payments.reach(1).await;
        let refused = elsewhere.ask("tools/call", retry.clone()).await;
        assert_eq!(refused["error"], json!(RpcError::busy(IN_USE)), "{refused}");
        // The connection breaks, and the client sends the same request to the other worker.
        alice.connection.close();
        gate.add_permits(1);
        assert_eq!(text_of(&elsewhere.ask("tools/call", retry.clone()).await), "payment 1");
        assert_eq!(text_of(&elsewhere.ask("tools/call", retry.clone()).await), "payment 1");
        let (third, gate) = payments.worker(&store);
        gate.add_permits(1);
        assert_eq!(text_of(&client(&third).ask("tools/call", retry).await), "payment 1");
        assert_eq!(payments.0.load(Ordering::Relaxed), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn mrtr_08_a_second_request_with_a_state_waits_as_long_at_the_same_worker_as_at_another() {
        let (store, payments) = (Shared::new(), Payments::default());
        let ((one, gate), (other, _)) = (payments.worker(&store), payments.worker(&store));
        let alice = client(&one);
        let retry = retry(&alice).await;
        alice.request("tools/call", retry.clone());
        payments.reach(1).await;
        let mut waits = Vec::new();
        for again in [client(&one), client(&other)] {
            let begun = tokio::time::Instant::now();
            let refused = again.ask("tools/call", retry.clone()).await;
            assert_eq!(refused["error"], json!(RpcError::busy(IN_USE)), "{refused}");
            waits.push(begun.elapsed());
        }
        // Sleeps of the paused clock are rounded up to milliseconds.
        for wait in &waits {
            assert!(wait.abs_diff(RETRY_INTERVAL * MAX_ATTEMPTS as u32) <= 2 * RETRY_INTERVAL, "{waits:?}");
        }
        let again = client(&one);
        let id = again.request("tools/call", retry);
        tokio::time::sleep(RETRY_INTERVAL).await;
        gate.add_permits(2);
        assert_eq!(text_of(&again.answer(id).await), "payment 1");
    }

    #[tokio::test(start_paused = true)]
    async fn mrtr_08_the_state_of_a_dead_worker_is_served_by_another() {
        let (store, payments) = (Shared::new(), Payments::default());
        let ((one, _), (other, gate)) = (payments.worker(&store), payments.worker(&store));
        gate.add_permits(1);
        let alice = client(&one);
        let retry = retry(&alice).await;
        alice.request("tools/call", retry.clone());
        payments.reach(1).await;
        // As left by a killed worker.
        tokio::time::sleep(RETRY_INTERVAL).await;
        let (key, mut record) = only_record(&store, &retry["requestState"]).await;
        record["worker"] = "killed".into();
        store.kept.put(&key, &record.to_string(), MINUTE).await.unwrap();
        store.kept.put("worker/killed/lease", "", MINUTE / 6).await.unwrap();
        let elsewhere = client(&other);
        let refused = elsewhere.ask("tools/call", retry.clone()).await;
        assert_eq!(refused["error"]["data"]["reason"], "busy", "its lease counts: {refused}");
        tokio::time::sleep(MINUTE / 6).await;
        assert_eq!(text_of(&elsewhere.ask("tools/call", retry).await), "payment 1");
    }

    #[tokio::test(start_paused = true)]
    async fn mrtr_08_without_its_store_a_server_resumes_nothing() {
        let (store, payments) = (Shared::new(), Payments::default());
        let (one, gate) = payments.worker(&store);
        gate.add_permits(1);
        let alice = client(&one);
        let retry = retry(&alice).await;
        store.store.set_away(true);
        let refused = alice.ask("tools/call", retry.clone()).await;
        assert_eq!(refused["error"]["data"]["reason"], "busy", "{refused}");
        assert_eq!(payments.0.load(Ordering::Relaxed), 0);
        store.store.set_away(false);
        tokio::time::sleep(MINUTE / 6).await;
        assert_eq!(text_of(&alice.ask("tools/call", retry).await), "payment 1");
    }

    #[tokio::test(start_paused = true)]
    async fn mrtr_08_a_state_does_not_stay_in_use_because_the_store_was_full() {
        let (store, payments) = (Shared::new(), Payments::default());
        let ((one, gate), (other, open)) = (payments.worker(&store), payments.worker(&store));
        let alice = client(&one);
        let retry = retry(&alice).await;
        let id = alice.request("tools/call", retry.clone());
        payments.reach(1).await;
        tokio::time::sleep(RETRY_INTERVAL).await;
        store.store.set(Some(StoreFault::Failing(StoreErrorKind::Full)));
        gate.add_permits(1);
        assert_eq!(text_of(&alice.answer(id).await), "payment 1");
        tokio::time::sleep(RETRY_INTERVAL).await;
        store.store.set(None);
        tokio::time::sleep(2 * STORE_RETRY_DELAY).await;
        open.add_permits(1);
        assert_eq!(text_of(&client(&other).ask("tools/call", retry).await), "payment 1");
        assert_eq!(payments.0.load(Ordering::Relaxed), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn mrtr_08_a_state_does_not_stay_in_use_because_the_store_was_too_slow() {
        let kept = ProcessStore::new(Arc::new(TestRuntime));
        let unconfirmed = Unconfirmed::new(kept.clone());
        let store = Shared { kept, store: FaultyStore::new(unconfirmed.clone()) };
        let payments = Payments::default();
        let ((one, _), (other, open)) = (payments.worker(&store), payments.worker(&store));
        let alice = client(&one);
        let retry = retry(&alice).await;
        unconfirmed.set(true);
        let refused = alice.ask("tools/call", retry.clone()).await;
        assert_eq!(refused["error"]["data"]["reason"], "busy", "{refused}");
        let (_, record) = only_record(&store, &retry["requestState"]).await;
        assert!(record["worker"].is_string(), "it was stored: {record}");
        unconfirmed.set(false);
        tokio::time::sleep(MINUTE / 6).await;
        open.add_permits(1);
        assert_eq!(text_of(&client(&other).ask("tools/call", retry).await), "payment 1");
    }

    #[tokio::test(start_paused = true)]
    async fn mrtr_08_a_task_holds_the_state_of_its_request_until_it_ends() {
        let (gate, payments) = (Arc::new(Semaphore::new(0)), Arc::<AtomicUsize>::default());
        let (open, paid) = (Arc::clone(&gate), Arc::clone(&payments));
        let pay = move |ctx: Context| {
            let (open, paid) = (Arc::clone(&open), Arc::clone(&paid));
            async move {
                let form = FormSchema::new().required("name", Field::text());
                ctx.elicit_with_key("name", ElicitParams::form("Who?", form)).await?;
                ctx.start_task();
                let _permit = open.acquire().await?;
                let pay = || async move { crate::Ok(paid.fetch_add(1, Ordering::Relaxed) + 1) };
                let number = ctx.once("payment", pay).await?;
                crate::Ok(format!("payment {number}"))
            }
        };
        let pay = Tool::new("pay", "Pays", pay).task(TaskSupport::Optional).defer_task(true);
        let server = server().add_tool(pay).build();
        let alice = client(&server);
        let declaring = |params: Value| modern(params, json!({"elicitation": {}, "extensions": {TASKS.id: {}}}));
        let asked = alice.ask("tools/call", declaring(json!({"name": "pay", "arguments": {}}))).await;
        let answers = json!({"name": accept(json!({"name": "Ada"}))});
        let state = &asked["result"]["requestState"];
        let retry = json!({"name": "pay", "arguments": {}, "requestState": state, "inputResponses": answers});
        let retry = declaring(retry);
        let created = alice.ask("tools/call", retry.clone()).await;
        assert_eq!(created["result"]["resultType"], "task", "{created}");
        // The response got lost.
        let refused = client(&server).ask("tools/call", retry.clone()).await;
        assert_eq!(refused["error"], json!(RpcError::busy(IN_USE)), "{refused}");
        gate.add_permits(1);
        tokio::time::sleep(RETRY_INTERVAL).await;
        let again = client(&server).ask("tools/call", retry).await["result"]["taskId"].take();
        tokio::time::sleep(RETRY_INTERVAL).await;
        let done = alice.ask("tasks/get", declaring(json!({"taskId": again}))).await;
        assert_eq!(done["result"]["result"]["content"][0]["text"], "payment 1", "{done}");
        assert_eq!(payments.load(Ordering::Relaxed), 1);
    }

    const HOUR: Duration = Duration::from_secs(3600);

    async fn hold(
        resumptions: &Arc<Resumptions>,
        principal: &str,
        id: &str,
    ) -> Result<(Resumption, BTreeMap<String, Value>), RpcError> {
        let runtime: Arc<dyn Runtime> = Arc::new(TestRuntime);
        let state = ResumedState { principal: principal.into(), id: id.into(), expires: runtime.unix_time() + HOUR };
        resumptions.hold(None, &runtime, &state, &Cancellation::default()).await
    }

    /// A request that keeps a value of this size and ends.
    async fn resume(resumptions: &Arc<Resumptions>, principal: &str, id: &str, bytes: usize) {
        let (resumption, _) = hold(resumptions, principal, id).await.unwrap();
        resumption.keep("value", &"x".repeat(bytes).into());
    }

    async fn kept(resumptions: &Arc<Resumptions>, principal: &str, id: &str) -> usize {
        hold(resumptions, principal, id).await.unwrap().1.len()
    }

    #[tokio::test(start_paused = true)]
    async fn mrtr_08_the_values_kept_by_one_request_are_found_by_the_next_with_the_same_state() {
        let resumptions = Arc::<Resumptions>::default();
        let (first, kept) = hold(&resumptions, "me", "a").await.unwrap();
        assert!(kept.is_empty());
        first.keep("payment", &json!(7));
        assert!(hold(&resumptions, "me", "a").await.is_err(), "in use");
        assert!(hold(&resumptions, "me", "b").await.is_ok(), "another state");
        drop(first);
        let (_, kept) = hold(&resumptions, "me", "a").await.unwrap();
        assert_eq!(kept, BTreeMap::from([("payment".to_owned(), json!(7))]));
        assert!(resumptions.held.lock().is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn records_end_with_their_states_and_soon_without_values() {
        let resumptions = Arc::<Resumptions>::default();
        drop(hold(&resumptions, "me", "empty").await.unwrap());
        resume(&resumptions, "me", "a", 1).await;
        let keys = || resumptions.memory.get().unwrap().keys().len();
        assert_eq!(keys(), 2);
        for (time, left) in [(EMPTY_RECORD_TTL, 1), (HOUR, 0)] {
            tokio::time::sleep(time).await;
            resumptions.memory.get().unwrap().get("resumed/").await.unwrap();
            assert_eq!(keys(), left);
        }
    }

    // With the clock running, because records are evicted by their expiry, which also depends on
    // the system clock.
    #[tokio::test]
    async fn mrtr_08_a_caller_with_many_records_loses_its_own_oldest_and_no_other_its_own() {
        let resumptions = Arc::<Resumptions>::default();
        let (running, _) = hold(&resumptions, "greedy", "running").await.unwrap();
        resume(&resumptions, "modest", "payment", 1 << 10).await;
        for number in 0..40 {
            resume(&resumptions, "greedy", &number.to_string(), 1 << 20).await;
        }
        running.keep("value", &json!(1));
        drop(running);
        for (principal, id, count) in
            [("greedy", "39", 1), ("greedy", "0", 0), ("greedy", "running", 1), ("modest", "payment", 1)]
        {
            assert_eq!(kept(&resumptions, principal, id).await, count, "{principal} {id}");
        }
    }
}
