//! The options of a client and of a request, with their defaults.

use crate::{
    engine::{Limits, RevisionChoice},
    protocol::{RawJson, model::Implementation},
};
use std::{sync::Arc, time::Duration};

/// Limits and habits of a client.
#[derive(Debug, Clone)]
pub struct ClientOptions {
    /// Who the client is: an Implementation object. Default: this library.
    pub info: RawJson,
    /// What it can do for servers: a ClientCapabilities object. Default `{}`.
    pub capabilities: RawJson,
    /// Which revision to speak. Default: negotiate.
    pub revision: RevisionChoice,
    /// How long a request may take; progress starts it anew. Default 60 s.
    pub timeout: Duration,
    /// How long a request may take however much it progresses. Default 10 min.
    pub max_timeout: Duration,
    /// How long opening the conversation may take in all. Default 30 s.
    pub connect_timeout: Duration,
    /// How long a server on a pipe may be silent before it is taken for one of the handshake era. Default 5 s.
    pub probe_timeout: Duration,
    /// How long a child process may take to go by itself when the client closes. Default 2 s.
    pub close_patience: Duration,
    /// Requests in flight at once. Default 16,384; further ones are refused as busy.
    pub max_in_flight: usize,
    /// Ask a server of the modern era to tell when its tools change (a legacy server tells anyway). Default `false`.
    pub listen: bool,
    /// The bounds of messages.
    pub limits: Limits,
}

impl Default for ClientOptions {
    fn default() -> Self {
        let info = Implementation::new("trunkline", env!("CARGO_PKG_VERSION"));
        Self {
            info: RawJson::from_value(&info).unwrap_or_else(|_| RawJson::empty_object()),
            capabilities: RawJson::empty_object(),
            revision: RevisionChoice::Auto,
            timeout: Duration::from_secs(60),
            max_timeout: Duration::from_secs(600),
            connect_timeout: Duration::from_secs(30),
            probe_timeout: Duration::from_secs(5),
            close_patience: Duration::from_secs(2),
            max_in_flight: 16_384,
            listen: false,
            limits: Limits::default(),
        }
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
