//! The login that another program has kept.

use super::{
    NetworkAccess, OAuthOptions,
    client_identity::{AuthMethod, ClientRegistration},
    discovery::{Discovered, is_same_issuer},
    tokens::Tokens,
};
use crate::{auth::sha256, client_auth::AuthError};
use serde::Deserialize;
use serde_json::Value;

/// A registration (RFC 7591 section 3.2.1) and a token response (RFC 6749 section 5.1) in one.
#[derive(Clone, Deserialize)]
pub(super) struct ImportedLogin {
    client_id: String,
    client_secret: Option<String>,
    token_endpoint_auth_method: Option<AuthMethod>,
    #[serde(default)]
    redirect_uris: Vec<String>,
    access_token: String,
    refresh_token: Option<String>,
    /// Unix timestamp in seconds.
    expires_at: Option<u64>,
    scope: Option<String>,
    /// Some programs do not keep it.
    issuer: Option<String>,
}

impl ImportedLogin {
    /// The login of the options, if it is for this authorization server and for the same client.
    pub(super) fn of(options: &OAuthOptions, found: &Discovered) -> Option<Self> {
        let login: Self = serde_json::from_value(Value::Object(options.imported_login.clone())).ok()?;
        let is_here = login.issuer.as_ref().is_none_or(|issuer| is_same_issuer(issuer, &found.server.issuer));
        let is_client = options.client_id.as_ref().is_none_or(|id| *id == login.client_id);
        // Their access tokens are not ID tokens, and are bound to no key.
        (is_here && is_client && !options.use_id_token && !options.dpop).then_some(login)
    }

    /// The key in the store under which it is noted that it was taken over.
    pub(super) fn key(&self) -> String {
        let Self { client_id, access_token, refresh_token, .. } = self;
        let refresh_token = refresh_token.as_deref().unwrap_or_default();
        format!("imported {}", sha256(format!("{client_id} {access_token} {refresh_token}").as_bytes()))
    }

    pub(super) fn tokens(self, found: &Discovered, access: NetworkAccess) -> Result<Tokens, AuthError> {
        if self.access_token.is_empty() || !self.access_token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(AuthError("The access token of the imported login cannot be sent in a header".to_owned()));
        }
        let missing = || AuthError(format!("{} has no token endpoint", super::sanitized(&found.server.issuer)));
        let token_endpoint = found.server.token_endpoint.clone().ok_or_else(missing)?;
        let by_secret = if self.client_secret.is_some() { AuthMethod::Post } else { AuthMethod::None };
        let method = self.token_endpoint_auth_method.unwrap_or(by_secret);
        let scopes: Vec<String> = self.scope.iter().flat_map(|scope| scope.split(' ')).map(str::to_owned).collect();
        let client = ClientRegistration::new(self.client_id.clone(), self.client_secret, method);
        let redirect_uri = self.redirect_uris.into_iter().next();
        Ok(Tokens {
            issuer: found.server.issuer.clone(),
            resource: found.resource.clone(),
            client_id: Some(self.client_id),
            method,
            registration: Some(ClientRegistration { redirect_uri, scopes: scopes.clone(), ..client }),
            token_endpoint,
            access_token: self.access_token,
            refresh_token: self.refresh_token,
            expires_at: self.expires_at,
            requested: scopes,
            dpop_key: None,
            private_network: access == NetworkAccess::Anywhere,
            is_new: false,
            renewed_at: None,
            replaced: None,
        })
    }
}
