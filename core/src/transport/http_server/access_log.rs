//! The log of an endpoint: each access for those who look for faults, and the first refusal of each
//! kind for everyone.

use crate::{http::rejection::Rejection, server::HttpRequest};
use http::{Method, StatusCode};
use serde_json::Value;
use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Instant,
};

/// A request while it is being answered, if accesses are logged.
pub(super) struct AccessRecord(Option<Begun>);

struct Begun {
    method: Method,
    path: String,
    peer: String,
    at: Instant,
}

impl AccessRecord {
    /// A request has come.
    pub(super) fn begin(request: &HttpRequest) -> Self {
        let is_logged = tracing::event_enabled!(target: "trunkline::access", tracing::Level::DEBUG);
        Self(is_logged.then(|| Begun {
            method: request.method().clone(),
            path: request.uri().path().to_owned(),
            peer: request.remote_address().map_or_else(|| "-".to_owned(), |address| address.to_string()),
            at: Instant::now(),
        }))
    }

    /// The head of its response is there.
    pub(super) fn end(self, status: StatusCode) {
        if let Some(Begun { method, path, peer, at }) = self.0 {
            let milliseconds = at.elapsed().as_secs_f64() * 1e3;
            tracing::debug!(
                target: "trunkline::access",
                peer,
                %method,
                path,
                status = status.as_u16(),
                milliseconds,
                "access"
            );
        }
    }
}

/// The first refusal of a kind at an endpoint is a warning, for it may be a fault of the options;
/// anybody can cause the others, which are debug records.
#[derive(Default)]
pub(super) struct RefusalLog(AtomicBool);

impl RefusalLog {
    /// A request was refused: `of` names the part of it.
    pub(super) fn note(&self, of: &str, text: &str) {
        if self.0.swap(true, Ordering::Relaxed) {
            tracing::debug!(target: "trunkline::access", part = of, error = text, "a request was refused");
        } else {
            tracing::warn!(
                target: "trunkline::access",
                part = of,
                error = text,
                "a request was refused (from now on, this is a debug record)"
            );
        }
    }

    /// A request was refused for its `Host` or `Origin`.
    pub(super) fn by_guard(&self, refusal: &Rejection) {
        let answer: Value = serde_json::from_slice(&refusal.body).unwrap_or_default();
        self.note("origin", answer["error"]["message"].as_str().unwrap_or_default());
    }
}
