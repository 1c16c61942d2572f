//! Rounds that were resumed, in the store of the server: a state that comes to two workers is
//! served by one of them at a time, and the values that a handler kept at one are found at the
//! other, so that an effect does not happen twice (MRTR-08).

use super::{
    resumptions::{HeldState, IN_USE, LOOK, LOOKS},
    tasks::StoredTasks,
};
use crate::{
    engine::later,
    protocol::RpcError,
    store::{Store as _, StoreError, StoreErrorKind},
    sync::Mutex,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{collections::BTreeMap, sync::Arc, time::Duration};

/// Pause after a failure of the store.
const PAUSE: Duration = Duration::from_millis(500);
/// Time for which a record is kept that says nothing.
const EMPTY: Duration = Duration::from_secs(1);

/// The record of a state that was resumed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResumedState {
    /// The worker that serves a request with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    worker: Option<String>,
    #[serde(default)]
    kept: BTreeMap<String, Value>,
}

/// A state whose request this worker serves, until it is dropped.
pub(super) struct HeldResumption(Arc<HeldRecord>);

/// Its record, which one writer at a time brings up to date.
struct HeldRecord {
    stored: Arc<StoredTasks>,
    key: String,
    /// Since 1970.
    expires: Duration,
    latest: Mutex<LatestRecord>,
}

struct LatestRecord {
    record: ResumedState,
    /// The text that the store has, as far as is known.
    written: String,
    is_writing: bool,
}

impl HeldResumption {
    /// Begins to serve a request with the state of that id. Returns the values that were kept at
    /// any worker since the state was sealed, beside those that this one knows.
    ///
    /// # Errors
    /// Another request with the same state is being served, or the store is away: nobody can know.
    pub(super) async fn begin(
        stored: Arc<StoredTasks>,
        id: &str,
        expires: Duration,
        known: BTreeMap<String, Value>,
    ) -> Result<(Self, BTreeMap<String, Value>), RpcError> {
        let key = format!("resumed/{id}");
        for _ in 0..LOOKS {
            match Self::try_begin(&stored, &key, expires, &known).await {
                Ok(Some(begun)) => return Ok(begun),
                Ok(None) => stored.runtime().sleep_until(later(stored.runtime().now(), LOOK)).await,
                Err(error) => {
                    tracing::debug!(target: "trunkline::server::request", %error, "a requestState was not resumed");
                    return Err(RpcError::busy("the store of request states is not available"));
                }
            }
        }
        Err(RpcError::busy(IN_USE))
    }

    /// `None`: another worker serves a request with the state.
    async fn try_begin(
        stored: &Arc<StoredTasks>,
        key: &str,
        expires: Duration,
        known: &BTreeMap<String, Value>,
    ) -> Result<Option<(Self, BTreeMap<String, Value>)>, StoreError> {
        let store = stored.store();
        let found = store.get(key).await?;
        let before: ResumedState = match &found {
            None => ResumedState::default(),
            Some(text) => serde_json::from_str(text).map_err(|problem| {
                StoreError::new(StoreErrorKind::Corrupt, store.name(), format!("a resumed state: {problem}"))
            })?,
        };
        // Within this process one request at a time has it already.
        if let Some(worker) = &before.worker
            && worker != stored.worker()
            && stored.lives(worker).await?
        {
            return Ok(None);
        }
        stored.renew().await?;
        let mut kept = before.kept;
        kept.extend(known.clone());
        let record = ResumedState { worker: Some(stored.worker().to_owned()), kept: kept.clone() };
        let written = record.text();
        let left = expires.saturating_sub(stored.runtime().unix_time());
        if !store.put_if(key, found.as_deref(), &written, left).await? {
            return Ok(None);
        }
        let latest = Mutex::new(LatestRecord { record, written, is_writing: false });
        let held = HeldRecord { stored: Arc::clone(stored), key: key.to_owned(), expires, latest };
        Ok(Some((Self(Arc::new(held)), kept)))
    }
}

impl HeldState for HeldResumption {
    fn keep(&self, name: &str, value: &Value) {
        self.0.change(|record| drop(record.kept.insert(name.to_owned(), value.clone())));
    }
}

impl Drop for HeldResumption {
    fn drop(&mut self) {
        self.0.change(|record| record.worker = None);
    }
}

impl HeldRecord {
    fn change(self: &Arc<Self>, change: impl FnOnce(&mut ResumedState)) {
        let mut latest = self.latest.lock();
        change(&mut latest.record);
        if !std::mem::replace(&mut latest.is_writing, true) {
            let this = Arc::clone(self);
            self.stored.runtime().spawn(Box::pin(async move { this.bring_up_to_date().await }));
        }
    }

    async fn bring_up_to_date(&self) {
        let runtime = self.stored.runtime();
        while let Some((expected, text, keep_for)) = self.next_write() {
            match self.write(&expected, &text, keep_for).await {
                Ok(true) => self.latest.lock().written = text,
                // Another worker took this one for gone, and the state over.
                Ok(false) => return,
                Err(_) if runtime.unix_time() < self.expires => {
                    runtime.sleep_until(later(runtime.now(), PAUSE)).await;
                }
                Err(_) => return,
            }
        }
    }

    /// The text that the store should have, the one that it has, and the time to keep it. `None`:
    /// they are the same, and nobody writes any more.
    fn next_write(&self) -> Option<(String, String, Duration)> {
        let mut latest = self.latest.lock();
        let text = latest.record.text();
        latest.is_writing = text != latest.written;
        if !latest.is_writing {
            return None;
        }
        let left = self.expires.saturating_sub(self.stored.runtime().unix_time());
        let keep_for = if latest.record == ResumedState::default() { EMPTY.min(left) } else { left };
        Some((latest.written.clone(), text, keep_for))
    }

    async fn write(&self, expected: &str, text: &str, keep_for: Duration) -> Result<bool, StoreError> {
        let store = self.stored.store();
        // A write whose answer was lost may have taken effect.
        Ok(store.put_if(&self.key, Some(expected), text, keep_for).await?
            || store.get(&self.key).await?.as_deref() == Some(text))
    }
}

impl ResumedState {
    fn text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

#[cfg(all(test, feature = "tokio", feature = "request-state"))]
mod tests {
    use super::*;
    use crate::{
        protocol::model::{ElicitParams, Field, FormSchema},
        server::{
            Context, Server, ServerOptions, StateKey, Tool,
            request::tasks::stored_tests::Shared,
            tests::{Peer, accept, modern, server, text_of},
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
            let options = ServerOptions::default().with_store(StoreChoice::own(Arc::clone(&store.store) as _));
            let options = options.with_state_keys(vec![StateKey::new([7; 32])]);
            (server().options(options).add_tool(Tool::new("pay", "Pays", pay)).build(), gate)
        }

        async fn reach(&self, count: usize) {
            for _ in 0..1000 {
                if self.0.load(Ordering::Relaxed) == count {
                    return;
                }
                tokio::time::sleep(LOOK).await;
            }
            panic!("{} payments", self.0.load(Ordering::Relaxed));
        }
    }

    fn client(server: &Server) -> Peer {
        Peer::with(server, Transport::Http, Some("alice"))
    }

    /// The parameters of the second round.
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

    /// The key and the record of the only state that was resumed.
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
        // Its connection breaks: the client sends the same again, to the other worker.
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
    async fn mrtr_08_the_state_of_a_worker_that_is_gone_is_served_by_another() {
        let (store, payments) = (Shared::new(), Payments::default());
        let ((one, _), (other, gate)) = (payments.worker(&store), payments.worker(&store));
        gate.add_permits(1);
        let alice = client(&one);
        let retry = retry(&alice).await;
        alice.request("tools/call", retry.clone());
        payments.reach(1).await;
        // As a worker leaves it that was killed.
        tokio::time::sleep(LOOK).await;
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
}
