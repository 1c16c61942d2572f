//! The keys of client requests: they match answers to requests when a handler runs again.

use crate::{
    protocol::{RpcError, error::code},
    server::handlers::{ClientRequestError, InputKind},
    sync::Mutex,
};
use std::collections::{BTreeMap, BTreeSet};

/// The most client requests in one run of a handler. One that asks on and on must not fill the
/// memory.
const MAX_REQUESTS: usize = 1000;

/// The keys of one run of a handler.
#[derive(Default)]
pub(super) struct RequestKeys(Mutex<UsedKeys>);

#[derive(Default)]
struct UsedKeys {
    /// Number of requests of each kind of input without a key.
    unnamed: BTreeMap<&'static str, u32>,
    /// The keys of this run.
    keys: BTreeSet<String>,
}

impl RequestKeys {
    /// The key of a client request. Without one of the handler's, it is the same at each run of a
    /// handler that asks in the same order. `middleware`: the position of the handler, if it is
    /// middleware.
    pub(super) fn key(&self, key: Option<&str>, kind: InputKind, middleware: Option<usize>) -> String {
        if let Some(key) = key {
            return key.to_owned();
        }
        let (word, mut used) = (kind.word(), self.0.lock());
        let count = used.unnamed.entry(word).or_default();
        *count += 1;
        match middleware {
            Some(position) => format!("middleware-{position}-{word}-{count}"),
            None => format!("{word}-{count}"),
        }
    }

    /// The same, made different from the keys that this run has used: a second request under one
    /// key wants another answer.
    pub(super) fn own_key(
        &self,
        key: Option<&str>,
        kind: InputKind,
        middleware: Option<usize>,
    ) -> Result<String, ClientRequestError> {
        let key = self.key(key, kind, middleware);
        let mut used = self.0.lock();
        if used.keys.len() >= MAX_REQUESTS {
            let text = format!("The handler sent {MAX_REQUESTS} client requests in one run; that is the limit");
            return Err(ClientRequestError::Refused(RpcError::new(code::INTERNAL_ERROR, text)));
        }
        Ok(unused_key(&mut used.keys, &key))
    }
}

/// The key, or one like it that was not used yet.
pub(super) fn unused_key(used: &mut BTreeSet<String>, key: &str) -> String {
    let mut candidate = key.to_owned();
    let mut count = 1;
    while !used.insert(candidate.clone()) {
        count += 1;
        candidate = format!("{key}-{count}");
    }
    candidate
}
