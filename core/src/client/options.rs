//! The options of a client and of a request, with their defaults.

use crate::{
    engine::{Limits, RevisionChoice},
    protocol::{
        RawJson,
        describe::{Described, Type},
        model::Implementation,
        options::{Bytes, Form, Millis},
    },
};
use serde::{Deserialize, Deserializer, de::Error};
use serde_json::Value;
use std::{sync::Arc, time::Duration};

trunkline_proto::options! {
    /// Limits and habits of a client.
    #[derive(Debug, Clone)]
    pub struct ClientOptions {
        /// The name and version of the client, which servers see. This library by default.
        info: RawJson => "info" as Info = this_library(),
        /// The capabilities of the client: a ClientCapabilities object.
        capabilities: RawJson = RawJson::empty_object(),
        /// The revision to speak: negotiated (`auto`), the newest of one era without a fallback (`legacy`, `modern`), or one
        /// revision without a probe.
        revision: RevisionChoice => "revision" = RevisionChoice::Auto,
        /// Receive changes of lists on every revision: servers of the legacy era send them anyway, others are asked by a
        /// subscription.
        listen: bool => "listen" = false,
        /// Longest time of a request; each progress notification starts it anew.
        timeout: Duration => "timeoutMs" as Millis = Duration::from_secs(60),
        /// Longest time of a request however much it progresses, and of a list with all its pages. Never less than the other.
        max_timeout: Duration => "maxTimeoutMs" as Millis = Duration::from_secs(600),
        /// Longest time of opening the conversation, all attempts together.
        connect_timeout: Duration => "connectTimeoutMs" as Millis = Duration::from_secs(30),
        /// Longest silence of a server on a pipe before it is taken for one of the legacy era.
        probe_timeout: Duration => "probeTimeoutMs" as Millis = Duration::from_secs(5),
        /// How long a child process may take to go by itself when the client closes.
        close_patience: Duration = Duration::from_secs(2),
        /// Requests in flight at once; further ones are refused as busy.
        max_in_flight: usize = 16_384,
        /// Largest message, sent or received.
        max_message_bytes: usize => "maxMessageBytes" as Bytes = 64 << 20,
        /// Deepest nesting of arrays and objects in a message; at most 128.
        max_nesting: usize = 128,
    }
}

impl ClientOptions {
    /// The bounds of the conversation.
    #[doc(hidden)]
    pub fn limits(&self) -> Limits {
        Limits { max_message_bytes: self.max_message_bytes, max_nesting: self.max_nesting, ..Limits::default() }
    }
}

fn this_library() -> RawJson {
    let info = Implementation::new("trunkline", env!("CARGO_PKG_VERSION"));
    RawJson::from_value(&info).unwrap_or_else(|_| RawJson::empty_object())
}

/// The JSON of an Implementation object, as it was given.
pub struct Info;

impl Form<RawJson> for Info {
    const TYPE: Type = Implementation::TYPE;

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<RawJson, D::Error> {
        let info = Value::deserialize(deserializer)?;
        if !info["name"].is_string() || !info["version"].is_string() {
            return Err(D::Error::custom("needs the strings name and version"));
        }
        RawJson::from_value(&info).map_err(D::Error::custom)
    }

    fn write(info: &RawJson) -> Value {
        info.parse().unwrap_or_default()
    }
}

/// Takes the parameters of progress notifications.
pub type ProgressHook = Arc<dyn Fn(&RawJson) + Send + Sync>;

/// The options of one request.
#[derive(Clone, Default)]
pub struct RequestOptions {
    /// Overrides [`ClientOptions::timeout`].
    pub timeout: Option<Duration>,
    /// Overrides [`ClientOptions::max_timeout`].
    pub max_timeout: Option<Duration>,
    /// Asks for progress, and takes it.
    pub on_progress: Option<ProgressHook>,
}
