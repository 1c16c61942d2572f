//! Authorization. On the server, from the `Authorization` header to a verified identity; on the
//! client, obtaining access tokens ([`OAuth`], [`AccessToken`]).
//!
//! Nothing here does I/O or reads the clock: the time is an argument, documents are fetched through
//! [`Fetch`], and a [`TokenVerifier`] may complete later, from any thread. The HTTP server uses it
//! in `transport/http_server/access_control.rs`.
//!
//! Sources: the specification's authorization pages; RFC 6750 (bearer tokens), RFC 9728 (metadata
//! of protected resources), RFC 9068 (JWT access tokens), RFC 8707 (resource indicators), RFC 9449
//! (DPoP).

mod algorithm;
mod authorization;
mod authorization_options;
mod challenge;
mod claims;
mod client;
mod dpop;
mod fetch;
mod identity;
mod issuer_discovery;
mod jwk;
mod jws;
mod jwt;
mod key_cache;
mod metadata;
mod presented;
mod refusal;
mod resource_url;
mod scopes;
mod static_tokens;
mod verification;

#[cfg(test)]
mod tests;

pub use crate::client_auth::{AuthError, ClientAuth};
#[cfg(feature = "http-client")]
pub use crate::transport::HttpNetwork;
#[cfg(feature = "keychain")]
pub use crate::transport::KeychainStore;
#[cfg(feature = "login")]
pub use crate::transport::{FileStore, LoopbackHandler};
pub use algorithm::Algorithm;
pub use authorization::Authorization;
pub use authorization_options::{AuthOptionError, AuthorizationOptions, DpopNonce, DpopPolicy};
pub use client::{
    AccessToken, AssertionRequest, AuthExchange, AuthNetwork, AuthObserver, AuthRepeat, AuthorizationHandler,
    Authorizing, CredentialStore, HeadersRequest, IdentityTokenRequest, LoginHandler, LoginPage, LoginStart,
    MemoryStore, NetworkAccess, OAuth, OAuthGrant, OAuthOptions, RedirectHandler, RequestHeaders, StoreLock,
    TokenRequest, TokenSource, TokenStore, UrlOpener,
};
pub use fetch::{Fetch, FetchError};
pub use identity::Identity;
pub use jwt::{JwtOptions, JwtVerifier};
pub use presented::Scheme;
pub use refusal::Refusal;
pub use static_tokens::{NewStaticToken, StaticTokenOptions};
pub use verification::{TokenVerifier, Verification};

pub(crate) use authorization::AuthorizationRefused;
pub(crate) use claims::LEEWAY;
#[cfg(feature = "keychain")]
pub(crate) use client::is_secret;
pub(crate) use client::{AuthTurn, TurnsByKey, demanded};
pub(crate) use jwk::sha256;
pub(crate) use resource_url::is_safe;
pub(crate) use verification::{PresentingRequest, ask};
