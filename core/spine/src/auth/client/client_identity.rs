//! The identity of a client at an authorization server, and how it authenticates.

use super::{discovery::ServerMetadata, sanitized};
use crate::client_auth::AuthError;
use serde::{Deserialize, Serialize};

trunkline_proto::json_names! {
    /// How the client authenticates at the token endpoint (RFC 7591 section 2).
    pub enum AuthMethod, by default Basic, non_exhaustive {
        /// A public client.
        None = "none",
        /// The secret in the `Authorization` header.
        Basic = "client_secret_basic",
        /// The secret in the body.
        Post = "client_secret_post",
        /// A signed assertion (RFC 7523).
        PrivateKeyJwt = "private_key_jwt",
    }
}

impl AuthMethod {
    /// The first of these that the server supports. A server without a list supports
    /// `client_secret_basic` (RFC 8414 section 2).
    pub(super) fn choose(of: &[Self], server: &ServerMetadata) -> Option<Self> {
        match &server.token_endpoint_auth_methods_supported {
            Some(listed) => of.iter().copied().find(|method| listed.iter().any(|name| name == method.as_str())),
            None => of.iter().copied().find(|method| *method == Self::Basic).or(of.first().copied()),
        }
    }

    /// The other way to send a secret, if the server lists it.
    pub(super) fn alternative(self, server: &ServerMetadata) -> Option<Self> {
        let other = match self {
            Self::Basic => Self::Post,
            Self::Post => Self::Basic,
            Self::None | Self::PrivateKeyJwt => return None,
        };
        let listed = server.token_endpoint_auth_methods_supported.as_ref()?;
        listed.iter().any(|name| name == other.as_str()).then_some(other)
    }

    /// The method of a preregistered client (AUC-22).
    pub(super) fn of_given(has_key: bool, has_secret: bool, server: &ServerMetadata) -> Result<Self, AuthError> {
        let possible: &[Self] = match (has_key, has_secret) {
            // XAU-06: prefer an assertion to a secret.
            (true, true) => &[Self::PrivateKeyJwt, Self::Basic, Self::Post],
            (true, false) => &[Self::PrivateKeyJwt],
            (false, true) => &[Self::Basic, Self::Post],
            (false, false) => &[Self::None],
        };
        Self::choose(possible, server).or((!has_secret).then_some(possible[0])).ok_or_else(|| {
            let listed = server.token_endpoint_auth_methods_supported.clone().unwrap_or_default().join(", ");
            AuthError(format!("{} authenticates clients by {} only", sanitized(&server.issuer), sanitized(&listed)))
        })
    }
}

/// A client as registered at an authorization server.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct ClientRegistration {
    pub(super) client_id: String,
    pub(super) client_secret: Option<String>,
    pub(super) method: AuthMethod,
    /// Dynamic registrations are valid for this redirect URI only.
    pub(super) redirect_uri: Option<String>,
    /// Unix timestamp in seconds.
    pub(super) secret_expires_at: Option<u64>,
    /// Dynamic registrations are valid for these scopes only.
    #[serde(default)]
    pub(super) scopes: Vec<String>,
}

impl ClientRegistration {
    /// A client that was not registered dynamically.
    pub(super) fn new(client_id: String, client_secret: Option<String>, method: AuthMethod) -> Self {
        Self { client_id, client_secret, method, redirect_uri: None, secret_expires_at: None, scopes: Vec::new() }
    }

    /// Returns whether the client registered itself, so that it can do so again.
    pub(super) fn is_dynamic(&self) -> bool {
        self.redirect_uri.is_some()
    }

    /// Returns whether the secret, if any, is still valid.
    pub(super) fn is_usable(&self, now: u64) -> bool {
        self.secret_expires_at.is_none_or(|end| end > now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn xau_12_the_method_is_one_that_the_server_lists() {
        let server = |methods: Option<&[&str]>| ServerMetadata {
            token_endpoint_auth_methods_supported: methods
                .map(|names| names.iter().map(|&name| name.to_owned()).collect()),
            ..ServerMetadata::default()
        };
        let of = |has_secret: bool, has_key: bool, methods: Option<&[&str]>| {
            AuthMethod::of_given(has_key, has_secret, &server(methods)).ok()
        };
        assert_eq!(of(true, false, None), Some(AuthMethod::Basic));
        assert_eq!(of(true, false, Some(&["client_secret_post"])), Some(AuthMethod::Post));
        assert_eq!(of(true, false, Some(&["none"])), None);
        assert_eq!(of(true, true, Some(&["client_secret_basic", "private_key_jwt"])), Some(AuthMethod::PrivateKeyJwt));
        assert_eq!(of(false, true, None), Some(AuthMethod::PrivateKeyJwt));
        assert_eq!(of(false, false, Some(&["client_secret_basic"])), Some(AuthMethod::None));
    }
}
