//! The DPoP proofs used with any worker, kept in the server's store: each proof is accepted once
//! (XAU-70).

use crate::{
    auth::Refusal,
    runtime::Runtime,
    server::Server,
    store::{Store, StoreError, StoreGuard},
};
use std::{sync::Arc, time::Duration};

/// The proofs of all workers. Without a store, each process remembers only its own.
pub(super) struct SharedProofs(Result<Option<StoreGuard>, StoreError>);

impl SharedProofs {
    pub(super) fn of(server: &Server, runtime: &Arc<dyn Runtime>) -> Self {
        Self(server.store(runtime))
    }

    /// Records the first use of a proof until the proof expires.
    ///
    /// # Errors
    /// If it was used before, or the store is unavailable.
    pub(super) async fn note(&self, digest: &str, keep_for: Duration) -> Result<(), Refusal> {
        let noted = match &self.0 {
            Ok(None) => return Ok(()),
            Ok(Some(store)) => store.put_if(&format!("dpop/{digest}"), None, "", keep_for).await,
            Err(error) => Err(error.clone()),
        };
        match noted {
            Ok(true) => Ok(()),
            Ok(false) => Err(Refusal::InvalidProof("The DPoP proof was used before".into())),
            Err(error) => Err(Refusal::Unavailable(error.to_string())),
        }
    }

    #[cfg(test)]
    pub(super) fn of_process() -> Self {
        Self(Ok(None))
    }
}
