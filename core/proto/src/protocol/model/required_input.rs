//! The input that a server needs before it has a result, which the errors of every language carry.

use serde_json::Value;
use std::collections::BTreeMap;

json_object! {
    /// The input that a server needs before it has a result (2026-07-28).
    pub struct RequiredInput {
        /// The requests, `{"method", "params"}`, by the keys of their answers. None: the call is
        /// made again as it is.
        optional input_requests: BTreeMap<String, Value> = "inputRequests",
        /// The state of the server, which the next round gives back.
        optional request_state: String = "requestState",
    }
}
