//! The callers of a feature, and the time of its handler.

use crate::{http::scope::is_scope, server::handlers::Handler};
use std::{sync::Arc, time::Duration};

/// The conditions under which a feature is seen and called, and the time that its handler has.
#[derive(Clone, Default)]
pub(in crate::server) struct Access {
    /// The scopes that the caller's access token must grant.
    pub(in crate::server) scopes: Vec<String>,
    /// Decides who sees and calls the feature.
    pub(in crate::server) visible: Option<Arc<dyn Handler>>,
    /// The longest time of one run of the handler.
    pub(in crate::server) timeout: Option<Duration>,
}

impl Access {
    /// Returns whether callers may see different things of it.
    pub(in crate::server) fn is_personal(&self) -> bool {
        !self.scopes.is_empty() || self.visible.is_some()
    }

    /// Names the scope that cannot be one, and the time that no handler can keep.
    pub(in crate::server) fn check(&self) -> Result<(), String> {
        if let Some(scope) = self.scopes.iter().find(|scope| !is_scope(scope)) {
            return Err(format!("scopes: {scope:?} is not a scope (RFC 6749 section 3.3)"));
        }
        // AUS-13: a challenge would ask for it.
        if self.scopes.iter().any(|scope| scope == "offline_access") {
            return Err("scopes: offline_access is a matter between a client and its authorization server".into());
        }
        if self.timeout.is_some_and(|timeout| timeout.is_zero()) {
            return Err("timeout: no handler is done in no time; leave it out for none".into());
        }
        Ok(())
    }
}

/// The setters that the definitions of tools, resources, resource templates and prompts have.
macro_rules! access_setters {
    () => {
        /// Scopes that the access token of a call must grant, beside those that the endpoint needs.
        /// Calls without them are refused (over HTTP with 403), and told all that is needed; lists
        /// leave out what the caller lacks scopes for, unless
        /// [`crate::ServerOptions::list_out_of_scope`] says otherwise. Where a transport verifies
        /// no tokens, nothing is needed.
        pub fn scopes(mut self, scopes: impl IntoIterator<Item = impl Into<String>>) -> Self {
            self.access.scopes.extend(scopes.into_iter().map(Into::into));
            self
        }

        /// Decides for each request who sees and calls the feature: for others it is not there.
        /// Calls of the hook get `{"name"}`, the name or URI of the feature, and are answered with
        /// the value `true` or `false`; a failure counts as `false`. Lists ask it for each feature
        /// that has one.
        pub fn visible(mut self, hook: impl $crate::server::handlers::Handler) -> Self {
            self.access.visible = Some(::std::sync::Arc::new(hook));
            self
        }

        /// The longest time of one run of the handler, the time in which it waits for its client
        /// included. Then the call fails and the handler is cancelled.
        pub fn timeout(mut self, timeout: ::std::time::Duration) -> Self {
            self.access.timeout = Some(timeout);
            self
        }
    };
}

pub(super) use access_setters;
