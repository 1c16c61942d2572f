//! The tokens in the store, which other processes and connections may change at any time.

use super::{
    settings::Settings,
    token_store,
    tokens::{LastIssuer, Tokens},
};
use crate::client_auth::AuthError;

/// The key in the store (AUC-23). Programs with other clients may share the store.
pub(super) fn key(settings: &Settings, issuer: &str, resource: &str) -> String {
    let options = &settings.options;
    let kind = if options.use_id_token { "id-tokens" } else { "tokens" };
    match options.client_id.as_ref().or(options.client_metadata_url.as_ref()) {
        Some(client) => format!("{kind} {issuer} {resource} {client}"),
        None => format!("{kind} {issuer} {resource}"),
    }
}

/// The stored tokens, if they belong to this client.
pub(super) async fn read(settings: &Settings, issuer: &str, resource: &str) -> Result<Option<Tokens>, AuthError> {
    let tokens: Option<Tokens> = token_store::read(&*settings.store, &key(settings, issuer, resource)).await?;
    let ours = |tokens: &Tokens| {
        tokens.issuer == issuer
            && tokens.resource == resource
            && tokens.dpop_key.is_some() == settings.options.dpop
            && (settings.options.client_id.is_none() || settings.options.client_id == tokens.client_id)
    };
    Ok(tokens.filter(ours))
}

/// The stored tokens for the MCP server at this URL.
pub(super) async fn of_server(settings: &Settings, url: &str) -> Result<Option<Tokens>, AuthError> {
    let last: Option<LastIssuer> = token_store::read(&*settings.store, &LastIssuer::key(settings, url)).await?;
    match last {
        Some(last) => read(settings, &last.issuer, &last.resource).await,
        None => Ok(None),
    }
}

pub(super) async fn write(settings: &Settings, tokens: &Tokens) -> Result<(), AuthError> {
    token_store::write(&*settings.store, &key(settings, &tokens.issuer, &tokens.resource), tokens).await
}

/// Removes void tokens. If others have replaced them in the meantime, they stay and are returned.
pub(super) async fn remove(settings: &Settings, void: &Tokens) -> Result<Option<Tokens>, AuthError> {
    let key = key(settings, &void.issuer, &void.resource);
    let stored: Option<Tokens> = token_store::read(&*settings.store, &key).await?;
    let is_newer = |stored: &Tokens| stored.refresh_token != void.refresh_token && !void.have_replaced(stored);
    if stored.is_some_and(|stored| is_newer(&stored)) {
        return read(settings, &void.issuer, &void.resource).await;
    }
    settings.store.remove(&key).await?;
    Ok(None)
}

/// Writes the tokens of a login for the MCP server at this URL. Waits for a renewal of earlier
/// ones, which would overwrite them.
pub(super) async fn write_of_server(settings: &Settings, url: &str, tokens: &Tokens) -> Result<(), AuthError> {
    let _lock = settings.store.lock(&key(settings, &tokens.issuer, &tokens.resource)).await?;
    write(settings, tokens).await?;
    let last = LastIssuer { issuer: tokens.issuer.clone(), resource: tokens.resource.clone() };
    token_store::write(&*settings.store, &LastIssuer::key(settings, url), &last).await
}
