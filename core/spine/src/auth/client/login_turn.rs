//! The turn of a login: of all processes that share a store, one at a time asks the user.

use super::{StoreLock, TokenStore, settings::Settings, stored_tokens, token_store};
use crate::{client_auth::AuthError, random};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The failure of the last login, which those that waited for it share: the user has answered, and
/// must not find a second page, and a third.
#[derive(PartialEq, Serialize, Deserialize)]
struct FailedLogin {
    /// Tells it from other failures with the same message.
    id: String,
    error: String,
}

/// The turn, released on drop. If its process is killed, another one takes it.
pub(super) struct LoginTurn {
    store: Arc<dyn TokenStore>,
    key: String,
    has_failure: bool,
    _lock: StoreLock,
}

impl LoginTurn {
    /// Waits until no other process logs in for the same tokens.
    ///
    /// # Errors
    /// The failure of the login that this has waited for, or of the store.
    pub(super) async fn take(settings: &Settings, issuer: &str, resource: &str) -> Result<Self, AuthError> {
        let options = &settings.options;
        let key = format!("login {}", stored_tokens::key(settings, issuer, resource));
        let store = Arc::clone(&settings.store);
        let earlier: Option<FailedLogin> = token_store::read(&*store, &key).await?;
        // A registration and the exchange of the code come in addition to the user.
        let limit = options.login_timeout.saturating_add(options.request_timeout.saturating_mul(4));
        let lock = store.lock_for_login(&key, limit).await?;
        let failure: Option<FailedLogin> = token_store::read(&*store, &key).await?;
        let has_failure = failure.is_some();
        match failure {
            Some(failure) if Some(&failure) != earlier.as_ref() => Err(AuthError(failure.error)),
            _ => Ok(Self { store, key, has_failure, _lock: lock }),
        }
    }

    /// Leaves the failure of a user for those that wait. A store that fails here has failed before.
    pub(super) async fn end(self, failure: Option<&AuthError>) {
        let ended = match (failure, random::unguessable()) {
            (Some(error), Some(id)) => {
                token_store::write(&*self.store, &self.key, &FailedLogin { id, error: error.0.clone() }).await
            }
            _ if self.has_failure => self.store.remove(&self.key).await,
            _ => Ok(()),
        };
        if let Err(error) = ended {
            tracing::debug!(target: "trunkline::auth::client", %error, "could not store the outcome of a login");
        }
    }
}
