//! For testing servers: an in-memory client whose user and model answer from a script, and a check
//! for custom stores, [`check_store`].
//!
//! ```
//! use serde_json::json;
//! use trunkline::{
//!     prelude::*,
//!     protocol::model::{ElicitParams, ElicitResult, Field, FormSchema},
//!     testing::Script,
//! };
//!
//! async fn book(ctx: Context) -> Result<String, CallError> {
//!     let form = FormSchema::new().required("people", Field::integer());
//!     let answer = ctx.elicit(ElicitParams::form("A table for how many?", form)).await?;
//!     let people = answer.content.and_then(|content| content.get("people")?.as_u64());
//!     Ok(people.map_or("Nothing was booked.".into(), |people| format!("A table for {people}.")))
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let server = Server::builder("restaurant", "1.0.0").tool("book", "Book a table.", book).build();
//! let four = ElicitResult::accept(serde_json::from_value(json!({"people": 4}))?);
//! let client = Script::new().on_elicit(four).on_elicit(ElicitResult::decline()).connect(&server).await?;
//!
//! assert_eq!(client.call_tool("book", json!({})).await?.joined_text(), "A table for 4.");
//! assert_eq!(client.call_tool("book", json!({})).await?.joined_text(), "Nothing was booked.");
//! client.finish().await?;
//! # Ok(())
//! # }
//! ```

#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod answers;
mod contract;
mod script;
mod test_client;

pub use answers::AnsweredRequest;
pub use script::Script;
pub use test_client::{TestClient, UnfinishedTest};
pub use trunkline_core::server::HandlerFailure;

use std::sync::Arc;
use trunkline_core::{
    runtime::{BoxedTask, Runtime},
    server::Server,
    store::{Store, StoreError, StoreErrorKind},
    transport::TokioRuntime,
};

/// Checks that a store conforms to the contract of [`Store`], and returns the violations.
///
/// `one` and `other` are two connections to it, as two processes would have, or the same one twice.
/// The check uses keys below `check/`, removes them afterwards, and takes a few seconds; each call
/// has a timeout of ten seconds. It runs on the caller's tokio runtime.
///
/// ```
/// use std::sync::Arc;
/// use trunkline::{store::ProcessStore, testing::check_store, transport::TokioRuntime};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let store = Arc::new(ProcessStore::new(TokioRuntime::current()));
/// assert_eq!(check_store(store.clone(), store).await, Vec::<String>::new());
/// # }
/// ```
pub async fn check_store(one: Arc<dyn Store>, other: Arc<dyn Store>) -> Vec<String> {
    contract::findings(TokioRuntime::current(), one, other).await
}

/// Checks the store of a server, for bindings.
///
/// # Errors
/// If the server has no store, or it cannot be opened.
#[doc(hidden)]
pub fn findings_of(server: &Server, runtime: &Arc<dyn Runtime>) -> Result<BoxedTask<Vec<String>>, StoreError> {
    let Some(choice) = &server.options().store else {
        return Err(StoreError::new(
            StoreErrorKind::Invalid,
            "of the server",
            "there is none: give it the option `store`",
        ));
    };
    let store = choice.open_unguarded(runtime, server.options().store_deadline)?;
    let runtime = Arc::clone(runtime);
    Ok(Box::pin(async move { contract::findings(runtime, Arc::clone(&store), store).await }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{collections::BTreeSet, sync::Mutex, time::Duration};
    use tokio::task::JoinSet;
    use trunkline_core::store::{LogEntry, ProcessStore, StoreTask};

    /// Common mistakes in store implementations.
    #[derive(Clone, Copy, PartialEq, Eq)]
    enum Slip {
        None,
        Blank,
        Unconditional,
        Everlasting,
        Restarted,
        Unbounded,
    }

    /// A store with such a mistake, and the keys that were written and not removed.
    struct Slipping(ProcessStore, Slip, Mutex<BTreeSet<String>>);

    impl Slipping {
        fn note(&self, key: &str) {
            self.2.lock().unwrap().insert(key.to_owned());
        }
    }

    impl Store for Slipping {
        fn get(&self, key: &str) -> StoreTask<Option<String>> {
            let (got, trims) = (self.0.get(key), self.1 == Slip::Blank);
            Box::pin(async move { Ok(got.await?.map(|text| if trims { text.trim().to_owned() } else { text })) })
        }
        fn put(&self, key: &str, text: &str, keep_for: Duration) -> StoreTask {
            self.note(key);
            self.0.put(key, text, if self.1 == Slip::Everlasting { Duration::MAX } else { keep_for })
        }
        fn put_if(&self, key: &str, expected: Option<&str>, text: &str, keep_for: Duration) -> StoreTask<bool> {
            self.note(key);
            if self.1 == Slip::Unconditional {
                let put = self.0.put(key, text, keep_for);
                return Box::pin(async move { put.await.map(|()| true) });
            }
            self.0.put_if(key, expected, text, keep_for)
        }
        fn remove(&self, key: &str) -> StoreTask {
            self.2.lock().unwrap().remove(key);
            self.0.remove(key)
        }
        fn append(&self, log: &str, entry: &str, max_entries: usize, keep_for: Duration) -> StoreTask<u64> {
            self.note(log);
            let max_entries = if self.1 == Slip::Unbounded { usize::MAX } else { max_entries };
            let appended = self.0.append(log, entry, max_entries, keep_for);
            let (read, restarts_numbering) = (self.0.read(log, 0, 99, Duration::ZERO), self.1 == Slip::Restarted);
            Box::pin(async move { if restarts_numbering { Ok(read.await?.len() as u64) } else { appended.await } })
        }
        fn read(&self, log: &str, after: u64, limit: usize, _: Duration) -> StoreTask<Vec<LogEntry>> {
            // Doesn't wait; the library polls.
            self.0.read(log, after, limit, Duration::ZERO)
        }
    }

    /// Each mistake is found, and a store that doesn't wait conforms.
    #[tokio::test]
    async fn the_faults_of_stores_are_found() {
        let mut checks = JoinSet::new();
        for (slip, parts) in [
            (Slip::None, &[][..]),
            (Slip::Blank, &["entries: get of what was put: Some(\"a\"), not Some("]),
            (Slip::Unconditional, &["conditions: put_if with an empty text", "atomicity: calls of put_if"]),
            (Slip::Everlasting, &["times: get of \"put\" after its lifetime of 300ms: Some(\"1\"), not None"]),
            (Slip::Unbounded, &["bounds of logs: a log of 5 entries at most"]),
            (Slip::Restarted, &["logs: read of three entries"]),
        ] {
            checks.spawn(async move {
                let store = Arc::new(Slipping(ProcessStore::new(TokioRuntime::current()), slip, Mutex::default()));
                let findings = check_store(store.clone(), store.clone()).await;
                assert_eq!(findings.is_empty(), slip == Slip::None, "{findings:#?}");
                for part in parts {
                    assert!(findings.iter().any(|finding| finding.starts_with(part)), "{part}: {findings:#?}");
                }
                assert_eq!(*store.2.lock().unwrap(), BTreeSet::new(), "the check removes its keys");
            });
        }
        checks.join_all().await;
    }
}
