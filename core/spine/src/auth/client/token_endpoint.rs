//! Token requests (RFC 6749 section 3.2) with client authentication, and revocation (RFC 7009).

use super::{
    auth_network::NetworkContext,
    client_identity::{AuthMethod, ClientRegistration},
    discovery::{self, Needed},
    observer::Clause,
    pkce,
    proofs::Proofs,
    sanitized,
    settings::Settings,
    tokens::Tokens,
};
use crate::client_auth::AuthError;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use http::{Request, Response, StatusCode, header};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::json;
use std::sync::{Arc, atomic::AtomicBool};
use url::form_urlencoded;

/// In seconds; each assertion is used only once.
const ASSERTION_LIFETIME: u64 = 60;

/// The context of every grant and every renewal.
#[derive(Clone)]
pub(super) struct Parts {
    pub(super) settings: Arc<Settings>,
    pub(super) network: NetworkContext,
    /// The DPoP proofs in use, with the nonces so far.
    pub(super) proofs: Option<Arc<Proofs>>,
    /// True once the user has been sent to a page.
    pub(super) has_asked: Arc<AtomicBool>,
}

impl Parts {
    pub(super) fn new(settings: &Arc<Settings>, network: NetworkContext, proofs: Option<Arc<Proofs>>) -> Self {
        Self { settings: Arc::clone(settings), network, proofs, has_asked: Arc::default() }
    }
}

/// The common context of all token requests to one server.
pub(super) struct TokenContext<'a> {
    pub(super) parts: &'a Parts,
    pub(super) url: &'a str,
    /// The issuer of the authorization server, which is the audience of assertions.
    pub(super) issuer: &'a str,
    /// The client that authenticates, if one does.
    pub(super) client: Option<&'a ClientRegistration>,
}

/// The JSON that answers a form.
pub(super) trait FormResponse: DeserializeOwned {
    /// The text that it follows.
    const CLAUSE: Clause;
    /// Its name in messages.
    const NAME: &str;
}

/// Why an authorization server issued no token.
#[derive(Debug)]
pub(super) struct TokenError {
    /// The error code (RFC 6749 section 4.1.2.1 or 5.2), if there is one.
    pub(super) code: Option<String>,
    /// True if the server has decided about the grant. Any other error may be temporary.
    pub(super) is_final: bool,
    pub(super) error: AuthError,
}

impl TokenError {
    /// Returns whether a scope was refused: the error code says so, or the message mentions it.
    pub(super) fn is_about(&self, scope: &str) -> bool {
        let word = scope.split('_').next().unwrap_or(scope);
        self.code.is_some()
            && (self.code.as_deref() == Some("invalid_scope") || self.error.0.to_lowercase().contains(word))
    }

    /// Names the option to set if the server has refused the parameter `resource`. Not all servers
    /// do so with the code of RFC 8707 section 2.
    pub(super) fn advised(self, settings: &Settings) -> Self {
        let is_about_resource = match self.code.as_deref() {
            Some("invalid_target") => true,
            Some(_) => self.error.0.contains("'resource'"),
            None => false,
        };
        if !is_about_resource || !settings.options.send_resource {
            return self;
        }
        let text = format!(
            "{}: if the server does not support the resource parameter, set send_resource (sendResource) to false",
            self.error
        );
        Self { error: AuthError(text), ..self }
    }
}

impl From<AuthError> for TokenError {
    fn from(error: AuthError) -> Self {
        Self { code: None, is_final: false, error }
    }
}

impl From<TokenError> for AuthError {
    fn from(error: TokenError) -> Self {
        error.error
    }
}

impl TokenContext<'_> {
    /// Posts a form, such as one with a grant, and reads the response. Retries once if the server
    /// requires a nonce in the proof (XAU-50), and never for any other reason.
    pub(super) async fn ask<T: FormResponse>(&self, form: &[(&str, &str)]) -> Result<T, TokenError> {
        let mut response = self.parts.network.send(self.request(form)?, T::CLAUSE).await?;
        if let Some(proofs) = &self.parts.proofs
            && self.keep_nonce(proofs, &response)
            && refusal(&response).error.as_deref() == Some("use_dpop_nonce")
        {
            response = self.parts.network.send(self.request(form)?, T::CLAUSE).await?;
            self.keep_nonce(proofs, &response);
        }
        if !response.status().is_success() {
            return Err(self.refused(&response));
        }
        serde_json::from_slice(response.body()).map_err(|_| {
            if refusal(&response).error.is_some() {
                return self.refused(&response);
            }
            AuthError(format!("{} returned an invalid {}", sanitized(self.url), T::NAME)).into()
        })
    }

    /// Revokes a token (RFC 7009 section 2.1). The server confirms that for a void one as well.
    pub(super) async fn revoke(&self, token: &str, kind: &str) -> Result<(), AuthError> {
        let request = self.request(&[("token", token), ("token_type_hint", kind)])?;
        let response = self.parts.network.send(request, Clause::REVOCATION).await?;
        let status = response.status();
        if status.is_success() {
            return Ok(());
        }
        let TokenErrorBody { error, .. } = refusal(&response);
        let what = error.map_or_else(|| format!("HTTP {}", status.as_u16()), |code| sanitized(&code));
        Err(AuthError(format!("{} did not revoke a token ({what})", sanitized(self.url))))
    }

    fn keep_nonce(&self, proofs: &Proofs, response: &Response<Bytes>) -> bool {
        let nonce = response.headers().get("dpop-nonce").and_then(|nonce| nonce.to_str().ok());
        if let Some(nonce) = nonce {
            proofs.keep_nonce(self.url, nonce);
        }
        nonce.is_some()
    }

    fn request(&self, form: &[(&str, &str)]) -> Result<Request<Bytes>, AuthError> {
        let mut body = form_urlencoded::Serializer::new(String::new());
        // A parameter without a value counts as omitted (RFC 6749 section 3.2).
        body.extend_pairs(form.iter().filter(|(_, value)| !value.is_empty()));
        let mut request = Request::post(self.url)
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
            .header(header::ACCEPT, "application/json");
        if let Some(proofs) = &self.parts.proofs {
            request = request.header("dpop", proofs.proof("POST", self.url, None, self.parts.network.now())?);
        }
        if let Some(ClientRegistration { client_id, client_secret, method, .. }) = self.client {
            let secret = client_secret.as_deref().unwrap_or_default();
            match method {
                AuthMethod::None => drop(body.append_pair("client_id", client_id)),
                AuthMethod::Post => {
                    body.append_pair("client_id", client_id).append_pair("client_secret", secret);
                }
                AuthMethod::Basic => {
                    // Some servers look up the client by the body before they read the header.
                    body.append_pair("client_id", client_id);
                    request = request.header(header::AUTHORIZATION, basic(client_id, secret));
                }
                AuthMethod::PrivateKeyJwt => {
                    body.append_pair("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer");
                    body.append_pair("client_assertion", &self.assertion(client_id)?);
                }
            }
        }
        request
            .body(Bytes::from(body.finish()))
            .map_err(|_| AuthError(format!("{} is not a valid request URL", sanitized(self.url))))
    }

    /// XAU-09, XAU-10: the audience is the issuer of the authorization server.
    fn assertion(&self, client_id: &str) -> Result<String, AuthError> {
        let now = self.parts.network.now();
        let missing = || AuthError("private_key_jwt needs a signing key".to_owned());
        let key = self.parts.settings.key.as_ref().ok_or_else(missing)?;
        let claims = json!({
            "iss": client_id,
            "sub": client_id,
            "aud": self.issuer,
            "iat": now,
            "exp": now + ASSERTION_LIFETIME,
            "jti": pkce::random()?,
        });
        key.sign(json!({"typ": "JWT"}), &claims)
    }

    fn refused(&self, response: &Response<Bytes>) -> TokenError {
        let TokenErrorBody { error, error_description } = refusal(response);
        let what = match (&error, error_description) {
            (Some(code), Some(text)) => format!("{}: {}", sanitized(code), sanitized(&text)),
            (Some(code), None) => sanitized(code),
            (None, _) => format!("HTTP {}", response.status().as_u16()),
        };
        TokenError {
            is_final: is_final(response.status(), error.as_deref()),
            code: error,
            error: AuthError(format!("{} refused to issue a token ({what})", sanitized(self.url))),
        }
    }
}

/// Not every server uses the codes of RFC 6749 section 5.2: for a void refresh token, some return
/// `invalid_request`, or a code or a body of their own.
fn is_final(status: StatusCode, code: Option<&str>) -> bool {
    const TEMPORARY_ERRORS: [&str; 4] =
        ["temporarily_unavailable", "server_error", "use_dpop_nonce", "invalid_dpop_proof"];
    let is_busy = matches!(status, StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS);
    let decided = match code {
        Some(code) => !TEMPORARY_ERRORS.contains(&code),
        // A gateway in between uses other statuses.
        None => matches!(status, StatusCode::BAD_REQUEST | StatusCode::NOT_FOUND | StatusCode::GONE),
    };
    decided && !is_busy && !status.is_server_error()
}

/// XAU-12: both values are form-encoded first (RFC 6749 section 2.3.1).
fn basic(id: &str, secret: &str) -> String {
    let encode = |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
    format!("Basic {}", STANDARD.encode(format!("{}:{}", encode(id), encode(secret))))
}

#[derive(Default, Deserialize)]
struct TokenErrorBody {
    error: Option<String>,
    error_description: Option<String>,
}

/// Some servers, such as GitHub, refuse with the status 200.
fn refusal(response: &Response<Bytes>) -> TokenErrorBody {
    serde_json::from_slice(response.body()).unwrap_or_default()
}

/// Revokes tokens if their authorization server has an endpoint for that. `client` obtained them.
pub(super) async fn revoke(parts: &Parts, tokens: &Tokens, client: &ClientRegistration) -> Result<(), AuthError> {
    let server = discovery::server_metadata(&parts.network, &tokens.issuer, Needed::TOKENS).await?;
    let Some(url) = &server.revocation_endpoint else { return Ok(()) };
    let endpoint = TokenContext { parts, url, issuer: &tokens.issuer, client: Some(client) };
    // Servers need not revoke the access tokens of a refresh token (section 2.1).
    let refreshed = match &tokens.refresh_token {
        Some(token) => endpoint.revoke(token, "refresh_token").await,
        None => Ok(()),
    };
    if tokens.has_ended(parts.network.now()) {
        return refreshed;
    }
    endpoint.revoke(&tokens.access_token, "access_token").await.and(refreshed)
}

#[cfg(test)]
mod tests {
    #[test]
    fn xau_12_basic_credentials_are_encoded_first() {
        // RFC 6749 section 2.3.1: "a b:c" and "ü&" after form encoding.
        assert_eq!(super::basic("a b:c", "ü&"), "Basic YStiJTNBYzolQzMlQkMlMjY=");
    }
}
