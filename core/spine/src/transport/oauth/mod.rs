//! Default implementations for a client's authorization: the network, a store on disk, and the
//! user's browser.

mod file_store;
mod http_network;
#[cfg(feature = "keychain")]
mod keychain;
mod loopback;
mod stored_credentials;

pub use file_store::FileStore;
pub use http_network::HttpNetwork;
#[cfg(feature = "keychain")]
pub use keychain::KeychainStore;
pub use loopback::LoopbackHandler;

use super::TokioRuntime;
use crate::{
    auth::{AuthError, AuthOptionError, CredentialStore, LoginHandler, OAuth, OAuthGrant, OAuthOptions},
    store::StoreUrl,
};
use std::{fmt::Display, sync::Arc, time::Duration};
use stored_credentials::StoredCredentials;

/// Margin between the end of a renewal and the expiry of its lock.
const LOCK_MARGIN: Duration = Duration::from_secs(10);

impl OAuth {
    /// Uses the network, the store on disk that the options name, and the local browser unless the
    /// options have a handler for logins.
    ///
    /// # Errors
    /// As [`OAuthOptions::check`]; or if a redirect URI needs a handler, a private key cannot be
    /// read, or the user has no configuration directory.
    pub fn new(options: OAuthOptions) -> Result<Self, AuthOptionError> {
        Self::prepared(options, Arc::new(HttpNetwork::default()), prepare)
    }

    /// Logs out of the MCP server at this URL, without a connection to it: see
    /// [`Client::logout`](crate::Client::logout).
    ///
    /// Requires a tokio runtime.
    ///
    /// # Errors
    /// If the store of credentials fails.
    pub async fn logout(&self, url: &str) -> Result<(), AuthError> {
        self.logout_of(url, TokioRuntime::current()).await
    }
}

/// Creates the store and the handler that the options describe.
fn prepare(options: OAuthOptions) -> Result<OAuthOptions, AuthOptionError> {
    let options = with_browser(options)?;
    // Renewing a token takes one request, and a second one for the nonce of a DPoP proof.
    let locked_for = options.request_timeout.saturating_mul(2).saturating_add(LOCK_MARGIN);
    let wrong = |error: &dyn Display| AuthOptionError::new("store", format!("cannot be used: {error}"));
    let store = match options.store {
        CredentialStore::File | CredentialStore::Folder(_) if cfg!(not(feature = "login")) => {
            return Err(lacks("login", "store"));
        }
        CredentialStore::File => {
            FileStore::for_current_user().map_err(|error| wrong(&error))?.locked_for(locked_for).into()
        }
        CredentialStore::Folder(folder) => FileStore::new(folder).locked_for(locked_for).into(),
        #[cfg(feature = "keychain")]
        CredentialStore::Keychain => {
            KeychainStore::for_current_user().map_err(|error| wrong(&error))?.locked_for(locked_for).into()
        }
        #[cfg(not(feature = "keychain"))]
        CredentialStore::Keychain => return Err(lacks("keychain", "store")),
        CredentialStore::Url(url) => {
            StoreUrl::parse(&url).map_err(|error| wrong(&error))?;
            StoredCredentials::new(&url, locked_for).into()
        }
        store => store,
    };
    Ok(OAuthOptions { store, ..options })
}

fn with_browser(options: OAuthOptions) -> Result<OAuthOptions, AuthOptionError> {
    let has_user = matches!(options.grant, OAuthGrant::AuthorizationCode | OAuthGrant::DeviceCode);
    let logs_in = options.token.is_none() && has_user;
    if !logs_in || matches!(options.handler, LoginHandler::Custom(_)) {
        return Ok(options);
    }
    if cfg!(not(feature = "login")) {
        return Err(lacks("login", "handler"));
    }
    let handler = match &options.handler {
        LoginHandler::Opener(opener) => LoopbackHandler::with_opener(opener.clone()),
        _ => LoopbackHandler::default(),
    };
    let handler = match &options.redirect_uri {
        Some(uri) => handler.with_redirect_uri(uri).map_err(|error| {
            let advice = "or set a function that receives the redirect";
            AuthOptionError::new("redirectUri", format!("cannot be used: {error}, {advice}"))
        })?,
        None => handler,
    };
    let handler = match &options.success_url {
        Some(url) => handler.with_success_url(url).map_err(|error| AuthOptionError::new("successUrl", error.0))?,
        None => handler,
    };
    Ok(OAuthOptions { redirect_uri: None, success_url: None, ..options }.with_handler(handler))
}

fn lacks(feature: &str, option: &'static str) -> AuthOptionError {
    let problem = format!("is missing: enable the feature `{feature}` of the crate trunkline, or set it");
    AuthOptionError::new(option, problem)
}
