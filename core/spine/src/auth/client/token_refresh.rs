//! Refreshes the tokens of one server (OAuth 2.1 section 4.3).

use super::{
    discovery::{self, Needed},
    proofs::Proofs,
    registration, stored_tokens,
    token_endpoint::{Parts, TokenContext, TokenError},
    tokens::{TokenAnswer, Tokens},
    turn,
};
use crate::client_auth::AuthError;
use std::future::Future;

impl TokenContext<'_> {
    /// Posts a form, and once more if its endpoint is gone and there is another one, which is
    /// returned as well.
    async fn ask_where_it_is(
        self,
        form: &[(&str, &str)],
        moved: impl Future<Output = Option<String>>,
    ) -> (Result<TokenAnswer, TokenError>, Option<String>) {
        match self.ask(form).await {
            Err(refused) if refused.code.is_none() => match moved.await {
                Some(url) => (TokenContext { url: &url, ..self }.ask(form).await, Some(url)),
                None => (Err(refused), None),
            },
            answer => (answer, None),
        }
    }
}

impl Parts {
    /// Refreshes the tokens unless others have done so. Returns `None` if they are void.
    pub(super) async fn renew(&self, mut tokens: Tokens) -> Result<Option<Tokens>, AuthError> {
        let settings = &*self.settings;
        loop {
            let _turn = turn::of_refresh_token(tokens.refresh_token.as_deref().unwrap_or_default()).await;
            let _lock = settings.store.lock(&stored_tokens::key(settings, &tokens.issuer, &tokens.resource)).await?;
            let stored = stored_tokens::read(settings, &tokens.issuer, &tokens.resource).await?;
            match stored.filter(|stored| stored.access_token != tokens.access_token && !tokens.have_replaced(stored)) {
                Some(newer) if !newer.ends_soon(self.network.now()) => return Ok(Some(newer)),
                Some(newer) if newer.refresh_token.is_none() => return self.refresh(tokens).await,
                Some(newer) if newer.refresh_token == tokens.refresh_token => return self.refresh(newer).await,
                // Their refresh token has replaced ours; using the old one would revoke both (OAuth
                // 2.1 section 4.3.1).
                Some(newer) => tokens = newer,
                None => return self.refresh(tokens).await,
            }
        }
    }

    async fn refresh(&self, tokens: Tokens) -> Result<Option<Tokens>, AuthError> {
        // Others may have held the locks for a while.
        let (settings, now) = (&*self.settings, self.network.now());
        let client = registration::of_tokens(settings, &tokens, now).await?;
        let (Some(client), Some(refresh_token)) = (client, tokens.refresh_token.as_deref()) else {
            return stored_tokens::remove(settings, &tokens).await;
        };
        let key = tokens.dpop_key.as_deref();
        let proofs = key.map(|key| Proofs::of_key(key, self.proofs.as_ref())).transpose()?;
        let parts = &Self { proofs, ..self.clone() };
        let (url, issuer) = (&*tokens.token_endpoint, &*tokens.issuer);
        let endpoint = TokenContext { parts, url, issuer, client: Some(&client) };
        let resource = settings.resource_parameter(&tokens.resource);
        let form = [("grant_type", "refresh_token"), ("refresh_token", refresh_token), ("resource", resource)];
        let (answer, moved) = endpoint.ask_where_it_is(&form, self.moved_endpoint(&tokens)).await;
        let answer = match answer {
            // Not every server renews it (OpenID Connect Core section 12.2).
            Ok(answer) if settings.options.use_id_token && answer.id_token.is_none() => {
                return stored_tokens::remove(settings, &tokens).await;
            }
            Ok(answer) => answer.accepted(parts, url)?,
            Err(refused) => {
                match refused.code.as_deref() {
                    // The server no longer knows the client that registered itself. A login
                    // registers it again.
                    Some("invalid_client") if client.is_dynamic() => {
                        registration::forget(settings, &tokens.issuer, &client).await?;
                    }
                    // The refresh token is void, or the endpoint is gone. Credentials that the
                    // program has given would be refused at a login as well.
                    code if refused.is_final && code != Some("invalid_client") => {}
                    // Any other error may be temporary.
                    _ => return Err(refused.error),
                }
                return stored_tokens::remove(settings, &tokens).await;
            }
        };
        let renewed = Tokens {
            replaced: tokens.replaced.or(Some(tokens.access_token)),
            expires_at: answer.expires_at(now),
            token_endpoint: moved.unwrap_or(tokens.token_endpoint),
            access_token: answer.access_token,
            refresh_token: answer.refresh_token.or_else(|| tokens.refresh_token.clone()),
            is_new: false,
            renewed_at: Some(now),
            ..tokens
        };
        Ok(Some(self.stored(renewed).await))
    }

    /// Stores renewed tokens, unless a login has stored others meanwhile, which are returned. Only
    /// a store with locks keeps a login waiting.
    async fn stored(&self, mut renewed: Tokens) -> Tokens {
        let settings = &*self.settings;
        let stored = stored_tokens::read(settings, &renewed.issuer, &renewed.resource).await;
        if let Ok(Some(newer)) = stored
            && !renewed.have_replaced(&newer)
            && !newer.ends_soon(self.network.now())
        {
            return newer;
        }
        match stored_tokens::write(settings, &renewed).await {
            Ok(()) => renewed.replaced = None,
            // The old refresh token may be void already, so without these, the user would have to
            // log in again.
            Err(error) => {
                tracing::warn!(target: "trunkline::auth::client", %error, "could not store the renewed tokens: they last until this program ends");
            }
        }
        renewed
    }

    /// The token endpoint that the authorization server names now, if it is another one.
    async fn moved_endpoint(&self, tokens: &Tokens) -> Option<String> {
        if self.settings.options.token_endpoint.is_some() {
            return None;
        }
        let server = discovery::server_metadata(&self.network, &tokens.issuer, Needed::TOKENS).await.ok()?;
        server.token_endpoint.filter(|url| *url != tokens.token_endpoint)
    }
}
