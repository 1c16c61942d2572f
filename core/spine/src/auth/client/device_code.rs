//! The device authorization grant (RFC 8628): the user enters a code in a browser anywhere, and
//! nothing has to reach this machine.

use super::{
    AuthorizationHandler, LoginPage,
    auth_network::{NetworkContext, check},
    client_identity::ClientRegistration,
    discovery::Discovered,
    exchange::{Obtained, ask},
    observer::Clause,
    registration, sanitized,
    token_endpoint::{FormResponse, Parts, TokenContext, TokenError},
    tokens::seconds,
};
use crate::{client_auth::AuthError, engine::later};
use serde::Deserialize;
use std::{
    future::{Future as _, poll_fn},
    pin::pin,
    sync::atomic::Ordering,
    task::Poll,
    time::Duration,
};

const GRANT_TYPE: &str = "urn:ietf:params:oauth:grant-type:device_code";
/// Section 3.2: between two requests if the server names no other time; section 3.5: added when it
/// asks to slow down.
const INTERVAL: Duration = Duration::from_secs(5);
/// A server that allows less is not asked more often.
const MIN_INTERVAL: Duration = Duration::from_millis(200);
const MAX_INTERVAL: Duration = Duration::from_secs(60);

/// The response of the device authorization endpoint (section 3.2).
#[derive(Deserialize)]
struct DeviceAuthorization {
    device_code: String,
    user_code: String,
    #[serde(alias = "verification_url")]
    verification_uri: String,
    verification_uri_complete: Option<String>,
    #[serde(default, deserialize_with = "seconds")]
    expires_in: Option<f64>,
    #[serde(default, deserialize_with = "seconds")]
    interval: Option<f64>,
}

impl FormResponse for DeviceAuthorization {
    const CLAUSE: Clause = Clause::DEVICE;
    const NAME: &str = "device authorization response";
}

impl DeviceAuthorization {
    fn seconds(given: Option<f64>) -> Option<Duration> {
        given.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
    }

    /// The page for the user. The code is shown even if the page has it already, so that the user
    /// can compare them (section 3.3.1).
    fn page(&self, network: &NetworkContext) -> Result<LoginPage, AuthError> {
        let url = self.verification_uri_complete.as_ref().unwrap_or(&self.verification_uri);
        network.check_page(url)?;
        // The user types it, from a terminal.
        let is_code = !self.user_code.is_empty() && self.user_code.chars().all(|letter| letter.is_ascii_graphic());
        if !is_code {
            return Err(AuthError(format!("The user code {:?} cannot be typed", sanitized(&self.user_code))));
        }
        Ok(LoginPage { url: url.clone(), user_code: Some(self.user_code.clone()) })
    }
}

pub(super) async fn obtain(
    handler: &dyn AuthorizationHandler,
    parts: &Parts,
    found: &Discovered,
    scopes: &[String],
) -> Result<Obtained, TokenError> {
    let server = &found.server;
    let endpoint = server.device_authorization_endpoint.as_deref().ok_or_else(|| {
        let issuer = sanitized(&server.issuer);
        AuthError(format!("{issuer} does not support logins with a device code (no device_authorization_endpoint)"))
    })?;
    check(endpoint)?;
    let client = registration::client(parts, server, registration::NO_REDIRECT, scopes).await?;
    // Section 3.1.
    let (scope, resource) = (scopes.join(" "), parts.settings.resource_parameter(&found.resource));
    let form = [("scope", scope.as_str()), ("resource", resource)];
    let context = TokenContext { parts, url: endpoint, issuer: &server.issuer, client: Some(&client) };
    let authorization: DeviceAuthorization = match context.ask(&form).await {
        Ok(authorization) => authorization,
        Err(refused) => {
            if refused.code.as_deref() == Some("invalid_client") && client.is_dynamic() {
                // The server no longer knows the registration. The next attempt registers again.
                registration::forget(&parts.settings, &server.issuer, &client).await?;
            }
            return Err(refused);
        }
    };
    let page = authorization.page(&parts.network)?;
    parts.has_asked.store(true, Ordering::Relaxed);
    let mut showing = Some(handler.show_page(page));
    let mut polling = pin!(poll(parts, found, client, &authorization));
    // A function that shows the page may take as long as the user.
    poll_fn(|context| {
        if let Some(shown) = &mut showing
            && let Poll::Ready(outcome) = shown.as_mut().poll(context)
        {
            showing = None;
            if let Err(error) = outcome {
                return Poll::Ready(Err(error.into()));
            }
        }
        polling.as_mut().poll(context)
    })
    .await
}

/// Requests the token until the user has decided (sections 3.4 and 3.5).
async fn poll(
    parts: &Parts,
    found: &Discovered,
    client: ClientRegistration,
    authorization: &DeviceAuthorization,
) -> Result<Obtained, TokenError> {
    let (runtime, login_timeout) = (&*parts.network.runtime, parts.settings.options.login_timeout);
    let expiry = DeviceAuthorization::seconds(authorization.expires_in).unwrap_or(login_timeout).min(login_timeout);
    let end = later(runtime.now(), expiry);
    let mut interval = DeviceAuthorization::seconds(authorization.interval).unwrap_or(INTERVAL).max(MIN_INTERVAL);
    let form = [("grant_type", GRANT_TYPE), ("device_code", &*authorization.device_code)];
    loop {
        let next = later(runtime.now(), interval);
        if next > end {
            return Err(AuthError(format!("Nobody entered the code within {expiry:?}")).into());
        }
        runtime.sleep_until(next).await;
        match ask(parts, found, &form, Some(client.clone())).await {
            Ok(obtained) => return Ok(obtained),
            Err(refused) => interval = next_interval(interval, refused)?,
        }
    }
}

/// The time until the next request, or the final refusal (section 3.5).
fn next_interval(interval: Duration, refused: TokenError) -> Result<Duration, TokenError> {
    match refused.code.as_deref() {
        Some("authorization_pending") => Ok(interval),
        Some("slow_down") => Ok((interval + INTERVAL).min(MAX_INTERVAL)),
        // The request timed out, or a gateway is overloaded.
        None if !refused.is_final => Ok((interval * 2).min(MAX_INTERVAL)),
        _ => Err(refused),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rfc_8628_section_3_5_servers_decide_how_often_they_are_asked() {
        let after = |code: Option<&str>, is_final| {
            let refused =
                TokenError { code: code.map(str::to_owned), is_final, error: AuthError("refused".to_owned()) };
            next_interval(Duration::from_secs(5), refused).ok().map(|next| next.as_secs())
        };
        for (code, is_final, next) in [
            (Some("authorization_pending"), true, Some(5)),
            (Some("slow_down"), true, Some(10)),
            (None, false, Some(10)),
            (None, true, None),
            (Some("access_denied"), true, None),
            (Some("expired_token"), true, None),
            (Some("invalid_grant"), true, None),
        ] {
            assert_eq!(after(code, is_final), next, "{code:?}");
        }
    }
}
