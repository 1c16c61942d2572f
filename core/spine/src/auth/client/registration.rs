//! The identity of a client at an authorization server: preregistered, a metadata document, or
//! dynamically registered (RFC 7591), in the order of the specification's page "Client
//! Registration" (AUC-14).

use super::{
    auth_network::check,
    client_identity::{AuthMethod, ClientRegistration},
    discovery::ServerMetadata,
    observer::Clause,
    sanitized,
    settings::Settings,
    token_endpoint::Parts,
    token_store,
    tokens::Tokens,
};
use crate::{auth::scopes::union, client_auth::AuthError};
use bytes::Bytes;
use http::{Request, StatusCode, header};
use serde_json::{Value, json};
use url::Url;

/// In place of a redirect URI: the client registers for device codes only.
pub(super) const NO_REDIRECT: &str = "";

/// The key in the store (AUC-23).
fn key(issuer: &str) -> String {
    format!("client {issuer}")
}

/// The client that obtained these tokens, for refreshing them. `None` if it is unknown, or its
/// secret has expired.
pub(super) async fn of_tokens(
    settings: &Settings,
    tokens: &Tokens,
    now: u64,
) -> Result<Option<ClientRegistration>, AuthError> {
    let options = &settings.options;
    let client = match (&options.client_id, &options.client_metadata_url) {
        (Some(id), _) => Some(ClientRegistration::new(id.clone(), options.client_secret.clone(), tokens.method)),
        (None, Some(url)) if tokens.client_id.as_ref() == Some(url) => {
            Some(ClientRegistration::new(url.clone(), None, tokens.method))
        }
        (None, _) if tokens.registration.is_some() => tokens.registration.clone(),
        // Earlier versions did not keep it with the tokens.
        (None, _) => token_store::read(&*settings.store, &key(&tokens.issuer)).await?,
    };
    Ok(client
        .filter(|client: &ClientRegistration| {
            tokens.client_id.as_ref() == Some(&client.client_id) && client.is_usable(now)
        })
        .map(|client| ClientRegistration { method: tokens.method, ..client }))
}

/// The client for a new authorization at this server.
pub(super) async fn client(
    parts: &Parts,
    server: &ServerMetadata,
    redirect_uri: &str,
    scopes: &[String],
) -> Result<ClientRegistration, AuthError> {
    if let Some(client) = unregistered(&parts.settings, server)? {
        return Ok(client);
    }
    // Logins at the same time that have the same redirect URI share a registration.
    let _lock = parts.settings.store.lock(&key(&server.issuer)).await?;
    let kept = kept(parts, server).await?;
    // Some servers don't let a client request more scopes than it registered.
    let fits = |kept: &ClientRegistration| {
        kept.redirect_uri.as_deref() == Some(redirect_uri) && scopes.iter().all(|scope| kept.scopes.contains(scope))
    };
    let earlier = match kept {
        Some(kept) if fits(&kept) => return Ok(kept),
        kept => kept.map(|kept| kept.scopes).unwrap_or_default(),
    };
    let scopes = union(earlier.iter().chain(scopes));
    let registration = register(parts, server, redirect_uri, scopes).await?;
    // If the store fails, the tokens still name the client, and the next attempt must not register
    // another one without asking the user.
    if let Err(error) = token_store::write(&*parts.settings.store, &key(&server.issuer), &registration).await {
        tracing::warn!(target: "trunkline::auth::client", %error, "could not store the registration of the client");
    }
    Ok(registration)
}

/// The stored dynamic registration at this server, if the client uses one there.
pub(super) async fn kept(parts: &Parts, server: &ServerMetadata) -> Result<Option<ClientRegistration>, AuthError> {
    if unregistered(&parts.settings, server)?.is_some() {
        return Ok(None);
    }
    let kept: Option<ClientRegistration> = token_store::read(&*parts.settings.store, &key(&server.issuer)).await?;
    Ok(kept.filter(|kept| kept.is_usable(parts.network.now())))
}

/// Keeps the registration of another program's client, unless this client has one.
pub(super) async fn keep_imported(settings: &Settings, tokens: &Tokens) -> Result<(), AuthError> {
    let (Some(client), None) = (&tokens.registration, &settings.options.client_id) else { return Ok(()) };
    match settings.store.get(&key(&tokens.issuer)).await? {
        Some(_) => Ok(()),
        None => token_store::write(&*settings.store, &key(&tokens.issuer), client).await,
    }
}

/// Removes a dynamic registration that the server may no longer know, unless a new one has replaced
/// it.
pub(super) async fn forget(settings: &Settings, issuer: &str, client: &ClientRegistration) -> Result<(), AuthError> {
    let kept: Option<ClientRegistration> = token_store::read(&*settings.store, &key(issuer)).await?;
    if kept.is_some_and(|kept| kept.client_id == client.client_id) {
        settings.store.remove(&key(issuer)).await?;
    }
    Ok(())
}

/// Removes the dynamic registration, unless the options name the client: other programs may share
/// the store.
pub(super) async fn forget_own(settings: &Settings, issuer: &str) -> Result<(), AuthError> {
    match settings.options.client_id {
        Some(_) => Ok(()),
        None => settings.store.remove(&key(issuer)).await,
    }
}

/// A client that needs no dynamic registration: preregistered, or identified by its metadata
/// document if the server supports that (AUC-17).
pub(super) fn unregistered(
    settings: &Settings,
    server: &ServerMetadata,
) -> Result<Option<ClientRegistration>, AuthError> {
    let (options, has_key) = (&settings.options, settings.key.is_some());
    if let Some(id) = &options.client_id {
        let method = AuthMethod::of_given(has_key, options.client_secret.is_some(), server)?;
        return Ok(Some(ClientRegistration::new(id.clone(), options.client_secret.clone(), method)));
    }
    let url = options.client_metadata_url.clone().filter(|_| server.client_id_metadata_document_supported);
    let method = if has_key { AuthMethod::PrivateKeyJwt } else { AuthMethod::None };
    Ok(url.map(|url| ClientRegistration::new(url, None, method)))
}

/// The preregistered client, or its metadata document. Grants without a user never register a
/// client (XAU-08, XAU-23).
pub(super) fn given_or_document(parts: &Parts, server: &ServerMetadata) -> Result<ClientRegistration, AuthError> {
    let missing = || AuthError(format!("{} requires a pre-registered client id", sanitized(&server.issuer)));
    let client = unregistered(&parts.settings, server)?.ok_or_else(missing)?;
    if client.method == AuthMethod::PrivateKeyJwt {
        check_algorithm(&parts.settings, server)?;
    }
    Ok(client)
}

/// XAU-11: the server must support the algorithm of the key, if it lists algorithms.
fn check_algorithm(settings: &Settings, server: &ServerMetadata) -> Result<(), AuthError> {
    let (Some(key), Some(listed)) = (&settings.key, &server.token_endpoint_auth_signing_alg_values_supported) else {
        return Ok(());
    };
    let algorithm = key.algorithm().as_str();
    if listed.iter().any(|name| name == algorithm) {
        return Ok(());
    }
    let (issuer, listed) = (sanitized(&server.issuer), sanitized(&listed.join(", ")));
    Err(AuthError(format!("{issuer} accepts assertions signed with {listed}, but the key uses {algorithm}")))
}

/// Registers the client (RFC 7591 section 3).
async fn register(
    parts: &Parts,
    server: &ServerMetadata,
    redirect_uri: &str,
    scopes: Vec<String>,
) -> Result<ClientRegistration, AuthError> {
    let issuer = sanitized(&server.issuer);
    let endpoint = server.registration_endpoint.as_deref().ok_or_else(|| {
        AuthError(format!(
            "{issuer} does not support client registration: register a client there, and set its client id (and secret, if it has one)"
        ))
    })?;
    check(endpoint)?;
    // Some servers, such as those of the Python SDK, look for the client in the body only.
    let method = AuthMethod::choose(&[AuthMethod::None, AuthMethod::Post, AuthMethod::Basic], server)
        .ok_or_else(|| AuthError(format!("{issuer} offers no supported client authentication method")))?;
    let request = Request::post(endpoint)
        .header(header::CONTENT_TYPE, "application/json")
        .header(header::ACCEPT, "application/json")
        .body(Bytes::from(metadata(&parts.settings, method, redirect_uri, &scopes).to_string()))
        .map_err(|_| AuthError(format!("{} is not a valid request URL", sanitized(endpoint))))?;
    let response = parts.network.send(request, Clause::REGISTRATION).await?;
    let answer: Value = serde_json::from_slice(response.body()).unwrap_or_default();
    let text = |name: &str| answer[name].as_str().map(str::to_owned);
    if !response.status().is_success() {
        // AUC-21
        let code = text("error").unwrap_or_else(|| format!("HTTP {}", response.status().as_u16()));
        let why = text("error_description").map(|text| format!(": {text}")).unwrap_or_default();
        let what = sanitized(&format!("{code}{why}"));
        // Some servers list the endpoint, but only their administrators may use it.
        let is_closed = matches!(response.status(), StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
        let advice = if is_closed { ": register a client there, and set its client id" } else { "" };
        let redirect = match redirect_uri {
            NO_REDIRECT => String::new(),
            uri => format!(" with the redirect URI {uri}"),
        };
        return Err(AuthError(format!("{issuer} refused to register this client{redirect} ({what}){advice}")));
    }
    let client_id =
        text("client_id").ok_or_else(|| AuthError(format!("{issuer} registered a client without an id")))?;
    let client_secret = text("client_secret");
    let answered = serde_json::from_value(answer["token_endpoint_auth_method"].clone()).ok();
    let method = match (answered, &client_secret) {
        (Some(method), _) => method,
        (None, None) => AuthMethod::None,
        (None, Some(_)) => {
            AuthMethod::choose(&[AuthMethod::Post, AuthMethod::Basic, AuthMethod::None], server).unwrap_or(method)
        }
    };
    if method == AuthMethod::PrivateKeyJwt {
        // A login would fail: the server knows no key of this client.
        return Err(AuthError(format!(
            "{issuer} registered this client for private_key_jwt, which it did not ask for"
        )));
    }
    let secret_expires_at = answer["client_secret_expires_at"].as_u64().filter(|end| *end > 0);
    let redirect_uri = Some(redirect_uri.to_owned());
    let client = ClientRegistration::new(client_id, client_secret, method);
    Ok(ClientRegistration { redirect_uri, secret_expires_at, scopes, ..client })
}

/// The metadata of the client to register (RFC 7591 section 2).
fn metadata(settings: &Settings, method: AuthMethod, redirect_uri: &str, scopes: &[String]) -> Value {
    let mut wanted = json!({
        "client_name": settings.options.client_name,
        "redirect_uris": [redirect_uri],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": method.as_str(),
        "application_type": application_type(redirect_uri),
    });
    if redirect_uri == NO_REDIRECT {
        // RFC 8628 section 4.
        wanted["redirect_uris"] = json!([]);
        wanted["grant_types"] = json!(["urn:ietf:params:oauth:grant-type:device_code", "refresh_token"]);
        wanted["response_types"] = json!([]);
    }
    if !scopes.is_empty() {
        wanted["scope"] = scopes.join(" ").into();
    }
    if settings.options.dpop {
        wanted["dpop_bound_access_tokens"] = true.into();
    }
    wanted
}

/// AUC-20: a native application or a web site.
fn application_type(redirect_uri: &str) -> &'static str {
    let web = Url::parse(redirect_uri)
        .is_ok_and(|url| url.scheme() == "https" && !url.host_str().is_some_and(crate::http::guard::is_loopback));
    if web { "web" } else { "native" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn auc_20_local_programs_are_native() {
        for uri in ["http://127.0.0.1:1/callback", "http://localhost/x", "https://localhost/x", "app:/x"] {
            assert_eq!(application_type(uri), "native");
        }
        assert_eq!(application_type("https://host.example/x"), "web");
    }
}
