//! Keys of client requests, which match answers to requests when a handler runs again.

use crate::{
    protocol::{RpcError, error::code},
    server::handlers::{ClientRequestError, InputKind},
    sync::Mutex,
};
use std::collections::{BTreeMap, BTreeSet};

/// Maximum client requests in one run of a handler, so that an endless loop cannot exhaust memory.
const MAX_REQUESTS: usize = 1000;

/// The keys of one run of a handler.
#[derive(Default)]
pub(super) struct RequestKeys(Mutex<UsedKeys>);

#[derive(Default)]
struct UsedKeys {
    /// Number of requests without a key, by kind of input.
    unnamed: BTreeMap<&'static str, u32>,
    /// The keys used in this run.
    keys: BTreeSet<String>,
}

impl RequestKeys {
    /// The key of a client request. Without an explicit key, it is the same in each run if the
    /// handler makes its requests in the same order. `middleware` is the position of the handler,
    /// if it is middleware.
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

    /// Like [`Self::key`], but distinct from all keys used in this run, because a second request
    /// with the same key needs its own answer.
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
