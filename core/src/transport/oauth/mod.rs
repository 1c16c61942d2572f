//! The ready-made parts of a client's authorization: the network, a store on disk, and the user's
//! browser.

mod file_store;
mod loopback;
mod network;
mod stored_credentials;

pub use file_store::FileStore;
pub use loopback::LoopbackHandler;
pub use network::HttpNetwork;

use crate::{
    auth::{AuthError, AuthOptionError, CredentialStore, LoginHandler, OAuth, OAuthGrant, OAuthOptions},
    store::StoreUrl,
};
use stored_credentials::StoredCredentials;

impl OAuth {
    /// Over the network, with a store on disk where the options name one, and with the browser of
    /// this machine where no handler of theirs lets the user log in.
    ///
    /// # Errors
    /// As [`OAuthOptions::check`]; a redirect URI that needs a handler; a private key that cannot
    /// be read; no folder of this user.
    pub fn new(options: OAuthOptions) -> Result<Self, AuthOptionError> {
        options.check()?;
        let options = with_browser(options)?;
        let store = match options.store {
            CredentialStore::File => FileStore::of_user().map(Into::into).map_err(wrong("store"))?,
            CredentialStore::Folder(folder) => FileStore::new(folder).into(),
            CredentialStore::Url(url) => {
                StoreUrl::parse(&url)
                    .map_err(|error| AuthOptionError::new("store", format!("cannot be used: {error}")))?;
                StoredCredentials::new(&url).into()
            }
            store => store,
        };
        Self::with_network(OAuthOptions { store, ..options }, HttpNetwork::default())
    }
}

fn with_browser(options: OAuthOptions) -> Result<OAuthOptions, AuthOptionError> {
    let logs_in = options.token.is_none() && options.grant == OAuthGrant::AuthorizationCode;
    if !logs_in || matches!(options.handler, LoginHandler::Own(_)) {
        return Ok(options);
    }
    let handler = match &options.redirect_uri {
        Some(uri) => LoopbackHandler::default().with_redirect_uri(uri).map_err(|error| {
            let advice = "or a function of the program must receive the redirect";
            AuthOptionError::new("redirectUri", format!("cannot be used: {error}, {advice}"))
        })?,
        None => LoopbackHandler::default(),
    };
    Ok(OAuthOptions { redirect_uri: None, ..options }.with_handler(handler))
}

fn wrong(option: &'static str) -> impl Fn(AuthError) -> AuthOptionError {
    move |error| AuthOptionError::new(option, format!("cannot be used: {error}"))
}
