//! Information about the request that is being served.

use crate::protocol::{RawJson, Revision, meta::ProgressToken, model::LoggingLevel};
use serde_json::Value;
use std::{collections::BTreeMap, sync::Arc};

/// The values of `Mcp-Param-*` headers by the rest of their name in lower case, decoded as
/// `Mcp-Name` is.
pub type MirroredParameters = BTreeMap<String, Result<String, String>>;

/// The origin of a request: its revision, and the declarations of its sender. Era-neutral; never
/// carried over from one modern request to the next.
#[derive(Debug, Clone)]
pub struct RequestInfo {
    /// The revision that governs the request.
    pub revision: Revision,
    /// The client's Implementation object, if it gave one.
    pub client_info: Option<RawJson>,
    /// The client's capabilities object.
    pub client_capabilities: RawJson,
    /// The request's `_meta` object as it came.
    pub meta: Option<RawJson>,
    /// Where progress may be reported, if the sender asked for it.
    pub progress_token: Option<ProgressToken>,
    /// The least severe log messages that the request wants, on 2026-07-28; `None`: none at all.
    pub log_level: Option<LoggingLevel>,
    /// The parameters that HTTP headers repeat, for the comparison with the arguments; `None` where
    /// headers repeat nothing.
    pub mirrored: Option<Arc<MirroredParameters>>,
    /// The verified identity of the sender: an object with at least `principal`. `None` where
    /// nothing is verified.
    pub auth: Option<RawJson>,
}

impl RequestInfo {
    /// The principal of the verified identity; empty where nothing is verified.
    pub fn principal(&self) -> String {
        let auth: Option<Value> = self.auth.as_ref().and_then(|auth| auth.parse().ok());
        auth.and_then(|auth| auth["principal"].as_str().map(str::to_owned)).unwrap_or_default()
    }
}
