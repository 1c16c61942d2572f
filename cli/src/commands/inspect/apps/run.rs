//! An app that is shown, and the state of that.

use crate::commands::inspect::state::Era;
use serde::Serialize;
use serde_json::{Map, Value};
use std::sync::Mutex;
use tokio::sync::Notify;
use trunkline::protocol::{RawJson, RequestId};

/// An app that is shown with a call of its tool.
pub(super) struct Run {
    pub(super) number: u64,
    pub(super) era: Era,
    pub(super) arguments: Map<String, Value>,
    /// The members of the answer to its `ui/initialize`.
    pub(super) welcome: Map<String, Value>,
    pub(super) state: Mutex<State>,
    pub(super) changed: Notify,
}

pub(super) struct State {
    pub(super) shown: Shown,
    /// Messages that the page has not passed on yet.
    pub(super) outgoing: Vec<String>,
    pub(super) version: u64,
    pub(super) is_trusted: bool,
}

/// The part that the page shows.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(rename = "AppShown"))]
pub(super) struct Shown {
    pub(super) state: Life,
    /// Why the app was removed.
    pub(super) why: Option<String>,
    pub(super) height: f64,
    pub(super) asked: Vec<Wish>,
    /// The call that the app shows, and those that it has made.
    pub(super) calls: Vec<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(rename = "AppLife"))]
#[serde(rename_all = "lowercase")]
pub(super) enum Life {
    Loading,
    Silent,
    Initializing,
    Ready,
    Closed,
}

/// A request that waits for the person.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(rename = "AppWish"))]
pub(super) struct Wish {
    /// Its number on the page: an app may use an id twice.
    pub(super) number: u64,
    #[serde(skip)]
    pub(super) id: RequestId,
    pub(super) method: String,
    #[cfg_attr(test, ts(type = "JsonObject | null"))]
    pub(super) params: Option<RawJson>,
}
