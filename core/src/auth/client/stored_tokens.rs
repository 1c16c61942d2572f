//! The tokens in the store, which other processes and connections may change at any time.

use super::{settings::Settings, token_store, tokens::Tokens};
use crate::client_auth::AuthError;

/// The stored tokens, if they belong to this client.
pub(super) async fn read(settings: &Settings, issuer: &str, resource: &str) -> Result<Option<Tokens>, AuthError> {
    let tokens: Option<Tokens> = token_store::read(&*settings.store, &Tokens::key(issuer, resource)).await?;
    let ours = |tokens: &Tokens| {
        tokens.dpop_key.is_some() == settings.options.dpop
            && settings.client.as_ref().is_none_or(|client| tokens.client_id.as_ref() == Some(&client.id))
    };
    Ok(tokens.filter(ours))
}

/// Removes void tokens. If others have replaced them in the meantime, they stay and are returned.
pub(super) async fn remove(settings: &Settings, void: &Tokens) -> Result<Option<Tokens>, AuthError> {
    let key = Tokens::key(&void.issuer, &void.resource);
    let stored: Option<Tokens> = token_store::read(&*settings.store, &key).await?;
    if stored.is_some_and(|stored| stored.refresh_token != void.refresh_token) {
        return read(settings, &void.issuer, &void.resource).await;
    }
    settings.store.remove(&key).await?;
    Ok(None)
}
