//! Client authorization: obtaining an access token when a request is refused, and keeping it valid.
//!
//! Network, storage and the user's browser are behind traits ([`AuthNetwork`], [`TokenStore`],
//! [`AuthorizationHandler`]); `transport/oauth` has the default implementations.
//!
//! Sources: the specification's authorization pages and its extensions (ext-auth); OAuth 2.1, RFC
//! 7009, RFC 7523, RFC 7591, RFC 7636, RFC 8414, RFC 8628, RFC 8693, RFC 8707, RFC 9207, RFC 9449,
//! RFC 9728.

mod access_token;
mod auth_network;
mod authorization_handler;
mod client_identity;
mod code_flow;
mod credential_session;
mod device_code;
mod discovery;
mod exchange;
mod grants;
mod id_jag;
mod imported_login;
mod login_turn;
mod oauth;
mod oauth_options;
mod observer;
mod pkce;
mod proofs;
mod registration;
mod repeat;
mod request_headers;
mod requested_scopes;
mod settings;
mod signing;
mod stored_tokens;
mod token_endpoint;
mod token_refresh;
mod token_source;
mod token_store;
mod tokens;
mod turn;
mod www_authenticate;

pub use access_token::AccessToken;
pub use auth_network::{AuthNetwork, NetworkAccess};
pub use authorization_handler::{AuthorizationHandler, Authorizing, LoginPage, LoginStart, RedirectHandler, UrlOpener};
pub use oauth::OAuth;
pub use oauth_options::{CredentialStore, LoginHandler, OAuthGrant, OAuthOptions};
pub use observer::{AuthExchange, AuthObserver, AuthRepeat};
pub use request_headers::{HeadersRequest, RequestHeaders};
pub use token_source::{AssertionRequest, IdentityTokenRequest, TokenRequest, TokenSource};
pub use token_store::{MemoryStore, StoreLock, TokenStore};

use crate::printable::sanitized;

#[cfg(feature = "keychain")]
pub(crate) use tokens::is_secret;
pub(crate) use turn::{AuthTurn, TurnsByKey};
pub(crate) use www_authenticate::demanded;
