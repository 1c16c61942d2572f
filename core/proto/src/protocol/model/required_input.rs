//! The input that a server needs before it can return a result, which errors carry in every
//! language.

use serde_json::Value;
use std::collections::BTreeMap;

json_object! {
    /// The input that a server needs before it can return a result (2026-07-28).
    pub struct RequiredInput {
        /// Requests, `{"method", "params"}`, by the keys of their responses. If absent, repeat the
        /// call unchanged.
        optional input_requests: BTreeMap<String, Value> = "inputRequests",
        /// State of the server, to be returned in the next round.
        optional request_state: String = "requestState",
    }
}
