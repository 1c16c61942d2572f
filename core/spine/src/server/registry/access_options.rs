//! Access to a feature, and the time limit of its handler.

use crate::protocol::{options::Millis, scope::is_scope};
use crate::server::handlers::Handler;
use std::{sync::Arc, time::Duration};

trunkline_proto::options! {
    /// Access to a feature, and the time limit of its handler.
    #[derive(Debug, Clone)]
    pub struct AccessOptions {
        /// Scopes that the caller's access token must grant, in addition to those of the endpoint.
        /// Calls without them are refused, over HTTP with 403 and the required scopes. Lists omit
        /// the feature for callers without them, unless the server lists what is out of scope. If
        /// no tokens are verified, none are needed.
        @each(String) scopes: Vec<String> => "scopes" = Vec::new(),
        /// Maximum time for one run of the handler, including the time it waits for its client.
        /// Then the call fails and the handler is cancelled.
        @some(std::time::Duration) timeout: Option<Duration> => "timeoutMs" as Millis = None,
        /// Decides per request who can see and call the feature.
        visible: Option<Arc<dyn Handler>> = None,
    }
    setters access_setters
}

impl AccessOptions {
    /// Returns whether different callers may get different results from the feature.
    pub(in crate::server) fn is_personal(&self) -> bool {
        !self.scopes.is_empty() || self.visible.is_some()
    }

    /// Returns an error for an invalid scope, or for a time limit that is out of range.
    pub(in crate::server) fn check(&self) -> Result<(), String> {
        if let Some(scope) = self.scopes.iter().find(|scope| !is_scope(scope)) {
            return Err(format!("scopes: {scope:?} is not a scope (RFC 6749 section 3.3)"));
        }
        // AUS-13: a challenge must not name this scope.
        if self.scopes.iter().any(|scope| scope == "offline_access") {
            return Err(
                "scopes: offline_access is not allowed: clients request it from their authorization server".into()
            );
        }
        if self.timeout.is_some_and(|timeout| timeout.is_zero()) {
            return Err("timeout: must be more than 0; omit it for no timeout".into());
        }
        Ok(())
    }
}

/// The `visible` setter of the definitions of tools, resources, resource templates, prompts and
/// request handlers.
macro_rules! visible_setter {
    ($this:ident, $place:expr) => {
        /// Decides per request who can see and call the feature. To other callers the feature does
        /// not exist. The hook receives `{"name"}`, the name or URI of the feature, and completes
        /// with the value `true` or `false`; a failure counts as `false`. Lists call it for each
        /// feature that has one.
        pub fn visible(mut $this, hook: impl $crate::server::handlers::Handler) -> Self {
            $place.visible = Some(::std::sync::Arc::new(hook));
            $this
        }
    };
}

/// The setters shared by the definitions of tools, resources, resource templates and prompts,
/// including those for access.
macro_rules! definition_setters {
    ($this:ident, $options:ty, $access:expr) => {
        /// Sets all options at once.
        pub fn options(mut $this, options: $options) -> Self {
            $this.options = options;
            $this
        }

        /// Sets a member of the descriptor, such as `title`, replacing an existing one.
        pub fn with(mut $this, member: &str, value: ::serde_json::Value) -> Self {
            $this.descriptor[member] = value;
            $this
        }

        $crate::server::registry::access_options::access_setters!($this, $access);
        $crate::server::registry::access_options::visible_setter!($this, $access);
    };
}

pub(super) use {definition_setters, visible_setter};
