//! Information about the request being served.

use crate::protocol::{RawJson, Revision, meta::ProgressToken, model::LoggingLevel};
use serde_json::Value;
use std::{collections::BTreeMap, sync::Arc};

/// The values of `Mcp-Param-*` headers by the lower-case rest of their name, decoded like
/// `Mcp-Name`.
pub type MirroredParameters = BTreeMap<String, Result<String, String>>;

/// The origin of a request: its revision and its sender's declarations. Independent of the era;
/// never carried over from one modern request to the next.
#[derive(Debug, Clone)]
pub struct RequestInfo {
    /// The revision of the request.
    pub revision: Revision,
    /// The client's Implementation object, if sent.
    pub client_info: Option<RawJson>,
    /// The client's capabilities object.
    pub client_capabilities: RawJson,
    /// The request's `_meta` object as received.
    pub meta: Option<RawJson>,
    /// The token for progress notifications, if requested.
    pub progress_token: Option<ProgressToken>,
    /// The minimum log level that the request asks for, on 2026-07-28; `None` for no messages.
    pub log_level: Option<LoggingLevel>,
    /// The parameters mirrored in HTTP headers, to be compared with the arguments; `None` if
    /// nothing is mirrored.
    pub mirrored: Option<Arc<MirroredParameters>>,
    /// The verified identity of the sender: an object with at least `principal`. `None` without
    /// authorization.
    pub auth: Option<RawJson>,
}

impl RequestInfo {
    /// The principal of the verified identity; empty without authorization.
    pub fn principal(&self) -> String {
        let auth: Option<Value> = self.auth.as_ref().and_then(|auth| auth.parse().ok());
        auth.and_then(|auth| auth["principal"].as_str().map(str::to_owned)).unwrap_or_default()
    }
}
