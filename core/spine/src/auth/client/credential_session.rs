//! The credentials of one server. One task at a time obtains or refreshes them.

use super::{
    auth_network::{NetworkAccess, NetworkContext},
    discovery::{self, Discovered},
    grants,
    imported_login::ImportedLogin,
    login_turn::LoginTurn,
    proofs::Proofs,
    registration,
    requested_scopes::{OFFLINE_ACCESS, OPENID, Wanted},
    sanitized,
    settings::{Grant, Settings},
    stored_tokens,
    token_endpoint::{Parts, revoke},
    token_store,
    tokens::{LastIssuer, Tokens},
    turn::{AuthTurn, AuthTurns},
    www_authenticate::Demands,
};
use crate::{
    client_auth::{AuthError, CredentialsRefusal, OutgoingRequest},
    protocol::Revision,
    race::guarded,
    runtime::Promise,
    sync::Mutex,
};
use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

/// How often one request may obtain new credentials (AUC-43).
const MAX_ROUNDS: usize = 3;
/// How long scopes that a login did not grant are not requested again.
const DENIED_SCOPES_TTL: Duration = Duration::from_secs(5 * 60);

/// The credentials of one server.
pub(super) struct CredentialSession {
    settings: Arc<Settings>,
    /// Held while credentials are loaded, refreshed or obtained. Other requests wait and then use
    /// them (single flight).
    turns: AuthTurns,
    state: Mutex<CredentialState>,
}

#[derive(Default)]
struct CredentialState {
    /// True once the store has been read.
    is_loaded: bool,
    tokens: Option<Tokens>,
    /// Number of token changes.
    changes: u64,
    proofs: Option<Arc<Proofs>>,
    found: Option<Discovered>,
    /// True if the authorization server refused `offline_access`.
    offline_refused: bool,
    /// Scopes that the server still demanded after a login for them, and when: a Unix timestamp in
    /// seconds.
    in_vain: Vec<(Vec<String>, u64)>,
    /// Number of completed attempts to obtain credentials, and the failure of the last one.
    attempts: u64,
    failure: Option<AuthError>,
}

impl CredentialState {
    /// The failure of an attempt that has ended since the given one.
    fn failed_since(&self, attempts: u64) -> Option<AuthError> {
        self.failure.clone().filter(|_| self.attempts != attempts)
    }
}

impl CredentialSession {
    pub(super) fn new(settings: Arc<Settings>) -> Self {
        Self { settings, turns: AuthTurns::default(), state: Mutex::default() }
    }

    /// The headers of a request. None until the server has asked for credentials.
    pub(super) async fn headers(
        self: &Arc<Self>,
        request: &OutgoingRequest,
    ) -> Result<Vec<(String, String)>, AuthError> {
        // Asked again after each wait, which may be for a login.
        let now = || request.runtime.unix_time().as_secs();
        if self.needs_work(now()) {
            let attempts = self.state.lock().attempts;
            let turn = Arc::new(self.turns.take().await);
            if self.needs_work(now()) {
                self.load(request).await?;
                self.renew_early(&turn, request, now(), attempts).await?;
            }
        }
        let (tokens, proofs) = {
            let state = self.state.lock();
            (state.tokens.clone(), state.proofs.clone())
        };
        let Some(tokens) = tokens else { return Ok(Vec::new()) };
        let mut headers = vec![("authorization".to_owned(), tokens.authorization())];
        if tokens.dpop_key.is_some()
            && let Some(proofs) = proofs
        {
            let proof = proofs.proof(&request.method, &request.target, Some(&tokens.access_token), now())?;
            headers.push(("dpop".to_owned(), proof));
        }
        Ok(headers)
    }

    /// Called when the server has refused a request: obtains the credentials that it asks for.
    /// Returns `true` if the credentials have changed.
    pub(super) async fn refused(
        self: &Arc<Self>,
        request: &OutgoingRequest,
        refusal: &CredentialsRefusal,
    ) -> Result<bool, AuthError> {
        let demand = Demands::read(&refusal.challenges);
        // XAU-51, XAU-53: retry with the nonce, unless that has been done already.
        if demand.error.as_deref() == Some("use_dpop_nonce") {
            let proofs = self.state.lock().proofs.clone();
            let other = proofs
                .zip(header(refusal, "dpop"))
                .is_some_and(|(proofs, used)| proofs.has_other_nonce(&request.url, used));
            return if other {
                Ok(true)
            } else {
                Err(AuthError(format!("{} requires a DPoP nonce but did not send one", sanitized(&request.url))))
            };
        }
        let steps_up = refusal.status == 403;
        if steps_up && demand.error.as_deref() != Some("insufficient_scope") {
            return Ok(false);
        }
        let (attempts, used) = (self.state.lock().attempts, header(refusal, "authorization"));
        let turn = Arc::new(self.turns.take().await);
        {
            let state = self.state.lock();
            let current = state.tokens.as_ref().map(Tokens::authorization);
            if current.is_some() && current.as_deref() != used {
                // Another request has obtained them in the meantime.
                return Ok(true);
            }
            if let Some(failure) = state.failed_since(attempts) {
                return Err(failure);
            }
            if refusal.round >= MAX_ROUNDS {
                let why = demand.reason();
                let why = if why.is_empty() { why } else { format!(": {why}") };
                return Err(AuthError(format!("The server refused new credentials {MAX_ROUNDS} times{why}")));
            }
        }
        if self.adopt(request, refusal, &demand).await? {
            return Ok(true);
        }
        let outcome = self.obtain(&turn, request, refusal, &demand).await;
        // Counted when it has ended, so that requests refused during it share its failure.
        let mut state = self.state.lock();
        state.attempts += 1;
        state.failure = outcome.as_ref().err().cloned();
        outcome
    }

    /// Forgets the tokens of the server and its authorization server, in the store as well, and the
    /// registration there if the client registered itself. Then revokes the tokens.
    pub(super) async fn logout(self: &Arc<Self>, request: &OutgoingRequest) -> Result<(), AuthError> {
        let settings = &self.settings;
        let _turn = self.turns.take().await;
        let last: Option<LastIssuer> =
            token_store::read(&*settings.store, &LastIssuer::key(settings, &request.url)).await?;
        let (current, found) = {
            let state = self.state.lock();
            (state.tokens.clone(), state.found.clone())
        };
        let names = current.as_ref().map(|tokens| (tokens.issuer.clone(), tokens.resource.clone()));
        let names = names.or(last.map(|last| (last.issuer, last.resource)));
        let now = request.runtime.unix_time().as_secs();
        let mut held = Vec::new();
        if let Some((issuer, resource)) = &names {
            let key = stored_tokens::key(settings, issuer, resource);
            let _lock = settings.store.lock(&key).await?;
            let stored = stored_tokens::read(settings, issuer, resource).await?;
            let is_other = |stored: &Tokens| current.as_ref().is_none_or(|own| own.access_token != stored.access_token);
            for tokens in current.clone().into_iter().chain(stored.filter(is_other)) {
                held.push((registration::of_tokens(settings, &tokens, now).await?, tokens));
            }
            settings.store.remove(&key).await?;
        }
        settings.store.remove(&LastIssuer::key(settings, &request.url)).await?;
        let issuers = names.map(|(issuer, _)| issuer).or(found.map(|found| found.server.issuer));
        if let Some(issuer) = issuers.or(settings.options.issuer.clone()) {
            registration::forget_own(settings, &issuer).await?;
        }
        {
            let mut state = self.state.lock();
            let (changes, attempts) = (state.changes, state.attempts);
            *state = CredentialState { changes, attempts, is_loaded: true, ..CredentialState::default() };
        }
        self.set(None)?;
        for (client, tokens) in held {
            let Some(client) = client else { continue };
            let network = self.network(request, self.access_later(request, &tokens));
            let parts = Parts::new(settings, network, None);
            if let Err(error) = revoke(&parts, &tokens, &client).await {
                tracing::warn!(target: "trunkline::auth::client", %error, "logged out, but could not revoke the tokens");
            }
        }
        Ok(())
    }

    /// Number of token changes.
    pub(super) fn changes(&self) -> u64 {
        self.state.lock().changes
    }

    /// Stores a nonce for the next proof.
    pub(super) fn nonce(&self, url: &str, nonce: &str) {
        let proofs = self.state.lock().proofs.clone();
        if let Some(proofs) = proofs {
            proofs.keep_nonce(url, nonce);
        }
    }

    fn needs_work(&self, now: u64) -> bool {
        let state = self.state.lock();
        let ends = |tokens: &Tokens| tokens.refresh_token.is_some() && tokens.ends_soon(now);
        !state.is_loaded || state.tokens.as_ref().is_some_and(ends)
    }

    /// Loads the tokens of an earlier run.
    async fn load(&self, request: &OutgoingRequest) -> Result<(), AuthError> {
        if self.state.lock().is_loaded {
            return Ok(());
        }
        let tokens = stored_tokens::of_server(&self.settings, &request.url).await?;
        self.set(tokens)?;
        self.state.lock().is_loaded = true;
        Ok(())
    }

    /// Uses the tokens that a login in another process has obtained since, if they fit the demand.
    async fn adopt(
        &self,
        request: &OutgoingRequest,
        refusal: &CredentialsRefusal,
        demand: &Demands,
    ) -> Result<bool, AuthError> {
        let Some(stored) = stored_tokens::of_server(&self.settings, &request.url).await? else { return Ok(false) };
        let is_older = self.state.lock().tokens.as_ref().is_some_and(|tokens| tokens.have_replaced(&stored));
        let refused = header(refusal, "authorization") == Some(&*stored.authorization());
        let works = stored.refresh_token.is_some() || !stored.has_ended(request.runtime.unix_time().as_secs());
        let fits = refusal.status != 403 || demand.scopes.iter().all(|scope| stored.requested.contains(scope));
        if is_older || refused || !works || !fits {
            return Ok(false);
        }
        self.set(Some(stored))?;
        Ok(true)
    }

    fn set(&self, tokens: Option<Tokens>) -> Result<(), AuthError> {
        let key = tokens.as_ref().and_then(|tokens| tokens.dpop_key.as_deref());
        let mut state = self.state.lock();
        match key {
            Some(key) => state.proofs = Some(Proofs::of_key(key, state.proofs.as_ref())?),
            None if self.settings.options.dpop && state.proofs.is_none() => {
                state.proofs = Some(Arc::new(Proofs::new()?))
            }
            None => {}
        }
        state.tokens = tokens;
        state.changes += 1;
        Ok(())
    }

    async fn renew_early(
        self: &Arc<Self>,
        turn: &Arc<AuthTurn>,
        request: &OutgoingRequest,
        now: u64,
        attempts: u64,
    ) -> Result<(), AuthError> {
        let tokens = self.state.lock().tokens.clone();
        let Some(tokens) = tokens.filter(|tokens| tokens.refresh_token.is_some() && tokens.ends_soon(now)) else {
            return Ok(());
        };
        let access = self.access_later(request, &tokens);
        let has_ended = tokens.has_ended(now);
        let failed = self.state.lock().failed_since(attempts);
        let renewed = match failed {
            // The attempt that this one has waited for would only be repeated.
            Some(failure) => Err(failure),
            None => self.renew(turn, self.network(request, access), tokens).await,
        };
        if let Err(error) = &renewed {
            let mut state = self.state.lock();
            state.attempts += 1;
            state.failure = Some(error.clone());
        }
        match renewed {
            // The old tokens may still be accepted.
            Err(error) if !has_ended => {
                tracing::warn!(target: "trunkline::auth::client", %error, "could not renew the access token yet");
                Ok(())
            }
            renewed => renewed.map(drop),
        }
    }

    /// Refreshes the tokens. Returns `false` if they are void. A caller that stops waiting does not
    /// stop the renewal, because the server may have replaced the refresh token already.
    async fn renew(
        self: &Arc<Self>,
        turn: &Arc<AuthTurn>,
        network: NetworkContext,
        tokens: Tokens,
    ) -> Result<bool, AuthError> {
        let (session, turn, runtime) = (Arc::clone(self), Arc::clone(turn), Arc::clone(&network.runtime));
        let proofs = self.state.lock().proofs.clone();
        let parts = Parts::new(&self.settings, network, proofs);
        let renewed = Arc::new(Promise::default());
        let waiting = Arc::clone(&renewed);
        runtime.spawn(Box::pin(async move {
            let panicked = || Err(AuthError("The token store panicked".to_owned()));
            let outcome = guarded(parts.renew(tokens)).await.unwrap_or_else(panicked).and_then(|tokens| {
                let exist = tokens.is_some();
                session.set(tokens).map(|()| exist)
            });
            drop(turn);
            renewed.keep(outcome);
        }));
        waiting.kept().await
    }

    /// Obtains the credentials that the server demands. Returns `true` if they have changed.
    async fn obtain(
        self: &Arc<Self>,
        turn: &Arc<AuthTurn>,
        request: &OutgoingRequest,
        refusal: &CredentialsRefusal,
        demand: &Demands,
    ) -> Result<bool, AuthError> {
        let (settings, steps_up) = (&self.settings, refusal.status == 403);
        if demand.dpop && !demand.bearer && !settings.options.dpop {
            // XAU-56
            let url = sanitized(&request.url);
            return Err(AuthError(format!("{url} accepts only tokens bound to a key: enable DPoP")));
        }
        let access = settings.network.access_of(&request.url, refusal.peer);
        check_confidential(request, refusal, access)?;
        let network = self.network(request, access);
        network.observe(|| demand.step(&request.url, refusal.status));
        let known = self.state.lock().found.clone().filter(|_| steps_up);
        let found = match known {
            Some(found) => found,
            None => {
                let (metadata_url, issuer) = (demand.resource_metadata.as_deref(), self.known_issuer(request).await?);
                let found =
                    discovery::discover(&network, &request.url, metadata_url, issuer.as_deref(), settings.needed());
                settings.named(found.await?)
            }
        };
        self.state.lock().found = Some(found.clone());
        let now = request.runtime.unix_time().as_secs();
        let tokens = self.state.lock().tokens.clone();
        let mut tokens =
            tokens.filter(|tokens| tokens.issuer == found.server.issuer && tokens.resource == found.resource);
        if tokens.is_none() && !steps_up {
            tokens = self.import(request, &found, access).await?;
            if tokens.as_ref().is_some_and(|tokens| !tokens.ends_soon(now)) {
                return Ok(true);
            }
        }
        if steps_up {
            self.check_step_up(refusal.round, &demand.scopes, tokens.as_ref(), now)?;
        }
        if let Some(tokens) = &tokens
            && !steps_up
        {
            if tokens.is_new && refusal.round > 0 {
                let why = demand.reason();
                return Err(AuthError(format!("The server rejects a token that was just issued for it: {why}")));
            }
            // If the server also refuses what this request has just renewed, only a login may help.
            let renewable = tokens.refresh_token.is_some() && !(refusal.round > 0 && tokens.are_just_renewed(now));
            if renewable && self.renew(turn, network.clone(), tokens.clone()).await? {
                return Ok(true);
            }
        }
        if settings.grant.has_user() && !refusal.interactive {
            return Ok(false);
        }
        self.check_issuer(request, &found).await?;
        let earlier = tokens.map(|tokens| tokens.requested).unwrap_or_default();
        let proofs = self.state.lock().proofs.clone().filter(|_| settings.options.dpop);
        let parts = Parts::new(settings, network, proofs);
        self.login_in_turn(request, refusal, demand, (&parts, &found, &earlier)).await?;
        if !steps_up {
            self.state.lock().in_vain.clear();
        }
        Ok(true)
    }

    /// Takes over the login of another program, unless that was done before.
    async fn import(
        &self,
        request: &OutgoingRequest,
        found: &Discovered,
        access: NetworkAccess,
    ) -> Result<Option<Tokens>, AuthError> {
        let settings = &self.settings;
        let Some(login) = ImportedLogin::of(&settings.options, found) else { return Ok(None) };
        let key = login.key();
        // Of several processes, one takes it over, and the others find its tokens.
        let _lock = settings.store.lock(&key).await?;
        if settings.store.get(&key).await?.is_none() {
            let tokens = login.tokens(found, access)?;
            registration::keep_imported(settings, &tokens).await?;
            stored_tokens::write_of_server(settings, &request.url, &tokens).await?;
            settings.store.set(&key, "true").await?;
        }
        let tokens = stored_tokens::read(settings, &found.server.issuer, &found.resource).await?;
        if tokens.is_some() {
            self.set(tokens.clone())?;
        }
        Ok(tokens)
    }

    /// Obtains tokens, unless another process that shares the store has asked the user meanwhile.
    async fn login_in_turn(
        &self,
        request: &OutgoingRequest,
        refusal: &CredentialsRefusal,
        demand: &Demands,
        (parts, found, earlier): (&Parts, &Discovered, &[String]),
    ) -> Result<(), AuthError> {
        if !self.settings.grant.has_user() {
            return self.login(request, (parts, found), demand, earlier).await;
        }
        let turn = LoginTurn::take(&self.settings, &found.server.issuer, &found.resource).await?;
        if self.adopt(request, refusal, demand).await? {
            return Ok(());
        }
        let outcome = self.login(request, (parts, found), demand, earlier).await;
        let has_asked = parts.has_asked.load(Ordering::Relaxed);
        turn.end(outcome.as_ref().err().filter(|_| has_asked)).await;
        outcome
    }

    /// Obtains tokens, and stores them.
    async fn login(
        &self,
        request: &OutgoingRequest,
        (parts, found): (&Parts, &Discovered),
        demand: &Demands,
        earlier: &[String],
    ) -> Result<(), AuthError> {
        let settings = &self.settings;
        let tokens = self.granted(parts, found, demand, earlier).await?;
        // If the store fails, the user need not log in again for the next request.
        self.set(Some(tokens.clone()))?;
        stored_tokens::write_of_server(settings, &request.url, &tokens).await
    }

    /// AUC-45: scopes that were just requested and did not help are not requested again.
    fn check_step_up(
        &self,
        round: usize,
        scopes: &[String],
        tokens: Option<&Tokens>,
        now: u64,
    ) -> Result<(), AuthError> {
        let is_known = |scope: &String| tokens.is_some_and(|tokens| tokens.requested.contains(scope));
        let mut state = self.state.lock();
        state.in_vain.retain(|(_, at)| now.saturating_sub(*at) < DENIED_SCOPES_TTL.as_secs());
        if round > 0 && scopes.iter().all(is_known) {
            state.in_vain.retain(|(earlier, _)| earlier != scopes);
            state.in_vain.push((scopes.to_vec(), now));
        }
        if state.in_vain.iter().all(|(earlier, _)| earlier != scopes) {
            return Ok(());
        }
        let scopes = sanitized(&scopes.join(" "));
        Err(AuthError(format!("The server still needs the scopes {scopes:?}, which were just requested")))
    }

    /// Requests tokens with the scopes that the server demands and those of earlier tokens.
    async fn granted(
        &self,
        parts: &Parts,
        found: &Discovered,
        demand: &Demands,
        earlier: &[String],
    ) -> Result<Tokens, AuthError> {
        let settings = &self.settings;
        let is_login = settings.grant.has_user();
        let wanted = Wanted {
            challenged: &demand.scopes,
            supported: if settings.options.scopes.is_empty() {
                &found.scopes_supported
            } else {
                &settings.options.scopes
            },
            earlier,
            listed: &found.server.scopes_supported,
            offline: is_login && !self.state.lock().offline_refused && settings.options.wants_offline_access(),
        };
        let (mut scopes, added) = wanted.scopes();
        if settings.options.use_id_token && !scopes.iter().any(|scope| scope == OPENID) {
            scopes.push(OPENID.to_owned());
        }
        let obtained = match grants::obtain(parts, found, scopes.clone()).await {
            // Some users may not have it, which only the response reveals.
            Err(refused) if added && refused.is_about(OFFLINE_ACCESS) => {
                tracing::info!(target: "trunkline::auth::client", error = %refused.error, "logging in again without offline_access");
                self.state.lock().offline_refused = true;
                grants::obtain(parts, found, scopes.into_iter().filter(|scope| scope != OFFLINE_ACCESS).collect()).await
            }
            obtained => obtained,
        };
        Ok(obtained?)
    }

    /// AUC-25: never present a client that is registered with one authorization server to another,
    /// nor a workload's assertion, which the other server could redeem.
    async fn check_issuer(&self, request: &OutgoingRequest, found: &Discovered) -> Result<(), AuthError> {
        let settings = &self.settings;
        if !settings.options.send_resource && settings.options.issuer.is_none() {
            check_origin(request, found)?;
        }
        let (what, advice) = match (&settings.options.client_id, &settings.grant) {
            (Some(id), _) => (format!("client {id} is registered with"), "register the client there"),
            (None, Grant::Workload(_)) => ("assertion is for".to_owned(), "get an assertion for it"),
            (None, _) if settings.options.issuer.is_some() => {
                ("login is for".to_owned(), "check that its logins are for this server")
            }
            (None, _) => return Ok(()),
        };
        // A function gets the issuer, and can refuse it.
        let is_asked = matches!(&settings.grant, Grant::Workload(assertion) if !assertion.is_fixed());
        let expected = match is_asked {
            true => settings.options.issuer.clone(),
            false => self.known_issuer(request).await?,
        };
        match expected {
            Some(expected) if !discovery::is_same_issuer(&expected, &found.server.issuer) => Err(AuthError(format!(
                "The {what} {}, but the server now names {}: {advice}, and set that issuer",
                sanitized(&expected),
                sanitized(&found.server.issuer)
            ))),
            _ => Ok(()),
        }
    }

    /// The authorization server that knows this client: the given one, or else the last one.
    async fn known_issuer(&self, request: &OutgoingRequest) -> Result<Option<String>, AuthError> {
        let settings = &self.settings;
        if settings.options.issuer.is_some() {
            return Ok(settings.options.issuer.clone());
        }
        let last: Option<LastIssuer> =
            token_store::read(&*settings.store, &LastIssuer::key(settings, &request.url)).await?;
        Ok(last.map(|last| last.issuer))
    }

    /// The networks that may be reached for earlier tokens. Without a connection, nothing tells
    /// where the server is, so this is what was known at the login.
    fn access_later(&self, request: &OutgoingRequest, tokens: &Tokens) -> NetworkAccess {
        match tokens.private_network {
            true => NetworkAccess::Anywhere,
            false => self.settings.network.access_of(&request.url, None),
        }
    }

    fn network(&self, request: &OutgoingRequest, access: NetworkAccess) -> NetworkContext {
        NetworkContext {
            network: Arc::clone(&self.settings.network),
            access,
            revision: request.revision.unwrap_or(Revision::LATEST.as_str()),
            runtime: Arc::clone(&request.runtime),
            timeout: self.settings.options.request_timeout,
            observer: self.settings.options.observer.clone(),
        }
    }
}

/// Without the parameter `resource`, a server could name any authorization server, and get a token
/// that other resources accept. One at its own origin belongs to its operator.
fn check_origin(request: &OutgoingRequest, found: &Discovered) -> Result<(), AuthError> {
    let origin = |url: &str| url::Url::parse(url).map(|url| url.origin()).ok();
    let issuer = &found.server.issuer;
    if origin(issuer) == origin(&request.url) {
        return Ok(());
    }
    let (issuer, url) = (sanitized(issuer), sanitized(&request.url));
    Err(AuthError(format!(
        "{issuer} issues tokens for {url} and for others, and without the parameter resource nothing tells them apart: if its logins are for this server, set issuer to {issuer}"
    )))
}

/// OAuth 2.1 section 1.5: tokens are not sent over the internet as plain text.
fn check_confidential(
    request: &OutgoingRequest,
    refusal: &CredentialsRefusal,
    access: NetworkAccess,
) -> Result<(), AuthError> {
    let is_plain = request.url.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("http:"));
    if access != NetworkAccess::Public || !is_plain {
        return Ok(());
    }
    let what = match refusal.peer {
        Some(_) => "is on the internet without https",
        None => "has no https and, because its address behind the proxy is unknown, counts as on the internet",
    };
    let url = sanitized(&request.url);
    Err(AuthError(format!("{url} {what}: tokens for it would be readable on the way")))
}

/// A header of the refused request.
fn header<'a>(refusal: &'a CredentialsRefusal, name: &str) -> Option<&'a str> {
    refusal.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
}
