//! Keys of client requests, which match answers to requests when a handler runs again.

use crate::{
    protocol::{RpcError, error::code},
    server::handlers::{ClientRequestError, InputKind},
    sync::Mutex,
};
use std::collections::{BTreeMap, BTreeSet};

/// Maximum client requests in one run of a handler, so that an endless loop cannot exhaust memory.
const MAX_REQUESTS: usize = 1000;

/// The keys of one run of a handler; allocated with the first request.
#[derive(Default)]
pub(super) struct RequestKeys(Mutex<Option<Box<UsedKeys>>>);

#[derive(Default)]
struct UsedKeys {
    /// Number of requests of a task without a key, by kind of input.
    of_task: BTreeMap<&'static str, u32>,
    /// The keys used in this run.
    keys: BTreeSet<String>,
}

impl RequestKeys {
    /// The key that the handler gives a request. A second request with the same key needs its own
    /// answer, so it gets a variant.
    pub(super) fn explicit(&self, key: &str) -> Result<String, ClientRequestError> {
        let mut used = self.0.lock();
        let used = used.get_or_insert_default();
        check_limit(used)?;
        Ok(unused_key(&mut used.keys, key))
    }

    /// The key of a request that the handler gives none. A question of an earlier run has the key
    /// that it had then, whatever the order of the questions; a different one has a new key, so
    /// that it never gets the answer to another. `middleware` is the position of the handler, if
    /// it is middleware. `choose` gets the prefix of the key, and the keys that this run has used.
    pub(super) fn automatic(
        &self,
        kind: InputKind,
        middleware: Option<usize>,
        choose: impl FnOnce(&str, &BTreeSet<String>) -> String,
    ) -> Result<String, ClientRequestError> {
        let word = kind.word();
        let prefix = middleware.map_or_else(|| format!("{word}-"), |position| format!("middleware-{position}-{word}-"));
        let mut used = self.0.lock();
        let used = used.get_or_insert_default();
        check_limit(used)?;
        let key = choose(&prefix, &used.keys);
        used.keys.insert(key.clone());
        Ok(key)
    }

    /// The key of a request of a task, whose handler runs only once.
    pub(super) fn of_task(&self, key: Option<&str>, kind: InputKind) -> String {
        if let Some(key) = key {
            return key.to_owned();
        }
        let mut used = self.0.lock();
        let count = used.get_or_insert_default().of_task.entry(kind.word()).or_default();
        *count += 1;
        format!("{}-{count}", kind.word())
    }
}

fn check_limit(used: &UsedKeys) -> Result<(), ClientRequestError> {
    if used.keys.len() < MAX_REQUESTS {
        return Ok(());
    }
    let text = format!("The handler sent {MAX_REQUESTS} client requests in one run; that is the limit");
    Err(ClientRequestError::Refused(RpcError::new(code::INTERNAL_ERROR, text)))
}

/// The key, or a variant that has not been used yet.
pub(super) fn unused_key(used: &mut BTreeSet<String>, key: &str) -> String {
    let mut candidate = key.to_owned();
    let mut count = 1;
    while !used.insert(candidate.clone()) {
        count += 1;
        candidate = format!("{key}-{count}");
    }
    candidate
}
