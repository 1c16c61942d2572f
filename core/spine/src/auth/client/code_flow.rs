//! The authorization code grant with PKCE (OAuth 2.1 section 4.1, RFC 7636, RFC 8707, RFC 9207).

use super::{
    AuthExchange, AuthRepeat, AuthorizationHandler, LoginStart,
    auth_network::check,
    client_identity::ClientRegistration,
    discovery::{Discovered, ServerMetadata},
    exchange::{Obtained, ask},
    observer::bare,
    pkce,
    proofs::Proofs,
    registration, sanitized,
    token_endpoint::{Parts, TokenError},
};
use crate::{client_auth::AuthError, race::within};
use std::{borrow::Cow, sync::atomic::Ordering};
use url::form_urlencoded;

pub(super) async fn obtain(
    handler: &dyn AuthorizationHandler,
    parts: &Parts,
    found: &Discovered,
    scopes: &[String],
) -> Result<Obtained, TokenError> {
    let server = &found.server;
    if !parts.settings.options.assume_pkce {
        check_pkce(server)?;
    }
    let endpoint = server.authorization_endpoint.as_deref().ok_or_else(|| {
        AuthError(format!("The metadata of {} has no authorization_endpoint", sanitized(&server.issuer)))
    })?;
    parts.network.check_page(endpoint)?;
    let registers = registration::unregistered(&parts.settings, server)?.is_none();
    let kept = registration::kept(parts, server).await?;
    let start = LoginStart {
        issuer: server.issuer.clone(),
        registers,
        registered: kept.as_ref().and_then(|client| client.redirect_uri.clone()),
    };
    let authorizing = handler.begin(start).await?;
    let redirect_uri = authorizing.redirect_uri();
    // AUC-35
    check(&redirect_uri)?;
    let client = registration::client(parts, server, &redirect_uri, scopes).await?;
    let login = Login { client, redirect_uri, state: pkce::random()?, verifier: pkce::random()? };
    let login_timeout = parts.settings.options.login_timeout;
    let page = with_query(endpoint, &login.query(parts, found, scopes));
    parts.network.observe(|| login.page(endpoint, parts, found, scopes));
    parts.has_asked.store(true, Ordering::Relaxed);
    let redirected = within(&*parts.network.runtime, login_timeout, authorizing.visit(page)).await;
    let code = redirected
        .unwrap_or_else(|| Err(AuthError(format!("Nobody logged in within {login_timeout:?}, the login timeout"))))
        .map_err(TokenError::from)
        .and_then(|redirected| {
            parts.network.observe(|| login.redirect(&redirected));
            code_of(&redirected, server, &login.state)
        });
    if let Err(failed) = &code
        && kept.is_some_and(|kept| kept.client_id == login.client.client_id)
        && may_be_unknown(failed)
    {
        // RFC 6749 section 4.1.2.1 forbids to redirect for an unknown client, so all that the user
        // sees is an error page. The next attempt registers again.
        registration::forget(&parts.settings, &server.issuer, &login.client).await?;
    }
    login.redeem(parts, found, &code?).await
}

/// One login of a user: the client, and the secrets that its redirect and its code belong to.
struct Login {
    client: ClientRegistration,
    redirect_uri: String,
    state: String,
    verifier: String,
}

impl Login {
    /// The parameters of the page where the user logs in.
    fn query<'a>(&self, parts: &'a Parts, found: &Discovered, scopes: &[String]) -> Vec<(&'a str, String)> {
        let options = &parts.settings.options;
        let mut query = vec![
            ("response_type", "code".to_owned()),
            ("client_id", self.client.client_id.clone()),
            ("redirect_uri", self.redirect_uri.clone()),
            ("state", self.state.clone()),
            ("code_challenge", pkce::challenge(&self.verifier)),
            ("code_challenge_method", "S256".to_owned()),
        ];
        if options.send_resource {
            query.push(("resource", found.resource.clone()));
        }
        if !scopes.is_empty() {
            query.push(("scope", scopes.join(" ")));
        }
        if scopes.iter().any(|scope| scope == "offline_access")
            && !options.authorization_parameters.contains_key("prompt")
        {
            // OpenID Connect Core section 11: offline access requires consent.
            query.push(("prompt", "consent".to_owned()));
        }
        if let Some(thumbprint) = parts.proofs.as_deref().and_then(Proofs::thumbprint) {
            query.push(("dpop_jkt", thumbprint));
        }
        query.extend(options.authorization_parameters.iter().map(|(name, value)| (name.as_str(), value.clone())));
        query
    }

    /// The step in which the browser visits the page.
    fn page(&self, endpoint: &str, parts: &Parts, found: &Discovered, scopes: &[String]) -> AuthExchange {
        const SHOWN: [&str; 5] = ["client_id", "redirect_uri", "code_challenge_method", "resource", "scope"];
        let query = self.query(parts, found, scopes);
        let shown = query.into_iter().filter(|(name, _)| SHOWN.contains(name));
        AuthExchange {
            method: "GET".to_owned(),
            url: bare(endpoint),
            status: None,
            members: shown.map(|(name, value)| format!("{name} = {}", sanitized(&value))).collect(),
            clause: "RFC 7636 section 4.3, RFC 8707 section 2",
            repeat: AuthRepeat::IN_BROWSER,
        }
    }

    /// The step in which the browser returns.
    fn redirect(&self, redirected: &str) -> AuthExchange {
        let query = redirected.split_once('?').map_or(redirected, |(_, query)| query);
        let shown = |(name, value): (Cow<'_, str>, Cow<'_, str>)| match &*name {
            "state" if value == self.state => Some("state = as sent".to_owned()),
            "state" => Some("state = another one".to_owned()),
            "code" => Some("code".to_owned()),
            "iss" | "error" | "error_description" => Some(format!("{name} = {}", sanitized(&value))),
            _ => None,
        };
        AuthExchange {
            method: "GET".to_owned(),
            url: bare(&self.redirect_uri),
            status: None,
            members: form_urlencoded::parse(query.as_bytes()).filter_map(shown).collect(),
            clause: "RFC 6749 section 4.1.2, RFC 9207 section 2",
            repeat: AuthRepeat::IN_BROWSER,
        }
    }

    /// Exchanges the code for a token.
    async fn redeem(&self, parts: &Parts, found: &Discovered, code: &str) -> Result<Obtained, TokenError> {
        let Self { client, redirect_uri, verifier, .. } = self;
        let form = [
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", redirect_uri),
            ("code_verifier", verifier),
            ("resource", parts.settings.resource_parameter(&found.resource)),
        ];
        let obtained = ask(parts, found, &form, Some(client.clone())).await;
        if let Err(refused) = &obtained
            && refused.code.as_deref() == Some("invalid_client")
            && client.is_dynamic()
        {
            // The server no longer knows the registration. The next attempt registers again.
            registration::forget(&parts.settings, &found.server.issuer, client).await?;
        }
        obtained
    }
}

/// Returns whether a login may have failed because the server no longer knows the client: there was
/// no redirect, or its error is about the client. Other errors come from servers that know it.
fn may_be_unknown(failed: &TokenError) -> bool {
    matches!(failed.code.as_deref(), None | Some("unauthorized_client" | "invalid_client" | "invalid_request"))
}

/// AUC-29, AUC-30.
fn check_pkce(server: &ServerMetadata) -> Result<(), AuthError> {
    if server.has_pkce() {
        return Ok(());
    }
    Err(AuthError(format!(
        "{} does not advertise PKCE with S256, without which codes can be stolen: if it is known to support PKCE, set assume_pkce (assumePkce), its issuer, and a client id",
        sanitized(&server.issuer)
    )))
}

/// Adds parameters to a URL.
fn with_query(url: &str, parameters: &[(&str, String)]) -> String {
    let url = url.split('#').next().unwrap_or(url);
    let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(parameters).finish();
    match url.split_once('?') {
        None => format!("{url}?{query}"),
        Some((_, "")) => format!("{url}{query}"),
        Some(_) => format!("{url}&{query}"),
    }
}

/// Extracts the code of a redirect, which must match its authorization (AUC-36). Nothing from a
/// redirect of another server or an attacker is used or shown (AUC-34, AUC-37 to AUC-39).
fn code_of(redirected: &str, server: &ServerMetadata, state: &str) -> Result<String, TokenError> {
    let query = redirected.split_once('?').map_or(redirected, |(_, query)| query);
    let query = query.split('#').next().unwrap_or(query);
    let value = |name: &str| -> Result<Option<Cow<'_, str>>, AuthError> {
        let mut values =
            form_urlencoded::parse(query.as_bytes()).filter(|(key, _)| key == name).map(|(_, value)| value);
        let first = values.next();
        // RFC 6749 section 3.1: parameters must not repeat.
        if values.next().is_some() {
            return Err(AuthError(format!("The redirect has the parameter {name} twice")));
        }
        Ok(first)
    };
    let returned = value("state")?;
    if returned.as_deref() != Some(state) {
        let why = match returned {
            Some(_) => "its state differs",
            None => "it has no state. A program that receives redirects itself returns the whole URL",
        };
        return Err(AuthError(format!("The redirect does not belong to this authorization: {why}")).into());
    }
    match value("iss")? {
        Some(iss) if iss != server.issuer => {
            let text = format!("The redirect is from another authorization server than {}", sanitized(&server.issuer));
            return Err(AuthError(text).into());
        }
        None if server.authorization_response_iss_parameter_supported => {
            let text = format!("The redirect from {} has no parameter iss", sanitized(&server.issuer));
            return Err(AuthError(text).into());
        }
        _ => {}
    }
    if let Some(error) = value("error")? {
        let why = value("error_description")?.map(|text| format!(": {text}")).unwrap_or_default();
        let text = format!("The authorization was refused ({})", sanitized(&format!("{error}{why}")));
        return Err(TokenError { code: Some(error.into_owned()), is_final: true, error: AuthError(text) });
    }
    let code = value("code")?.filter(|code| !code.is_empty());
    code.map(Cow::into_owned).ok_or_else(|| AuthError("The redirect has no code".to_owned()).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn auc_34_and_auc_37_to_39_only_the_redirect_that_was_asked_for_counts() {
        let code = |redirected: &str, iss_required| {
            let server = ServerMetadata {
                issuer: "https://a.example".to_owned(),
                authorization_response_iss_parameter_supported: iss_required,
                ..ServerMetadata::default()
            };
            code_of(redirected, &server, "s")
        };
        let iss = "iss=https%3A%2F%2Fa.example";
        for (redirected, required) in [
            ("http://127.0.0.1:1/?code=c&state=s".to_owned(), false),
            (format!("code=c&state=s&{iss}"), false),
            (format!("?{iss}&state=s&code=c#x"), true),
        ] {
            assert_eq!(code(&redirected, required).unwrap(), "c", "{redirected}");
        }
        for (redirected, required, why) in [
            ("code=c&state=x", false, "state"),
            ("code=c", false, "no state"),
            ("c", false, "the whole URL"),
            ("code=c&state=s&state=s", false, "twice"),
            ("code=c&state=s", true, "no parameter iss"),
            ("code=c&state=s&iss=https://a.example/", false, "another"),
            ("code=c&state=s&iss=HTTPS://a.example", true, "another"),
            ("error=secret&state=s&iss=https://b.example", false, "another"),
            ("error=access_denied&error_description=no%1b&state=s", false, "access_denied: no"),
            ("state=s", false, "no code"),
            ("", false, "state"),
        ] {
            let error = code(redirected, required).unwrap_err().error.0;
            assert!(
                error.contains(why) && !error.contains("secret") && !error.contains('\u{1b}'),
                "{redirected}: {error}"
            );
        }
    }

    #[test]
    fn queries_of_endpoints_are_kept() {
        let parameters = [("a", "b c".to_owned())];
        assert_eq!(with_query("https://x/y", &parameters), "https://x/y?a=b+c");
        assert_eq!(with_query("https://x/y?T=%2f#z", &parameters), "https://x/y?T=%2f&a=b+c");
        assert_eq!(with_query("https://x/y?", &parameters), "https://x/y?a=b+c");
    }

    #[test]
    fn auc_30_without_pkce_nothing_is_sent() {
        let server = |methods: Option<&[&str]>| ServerMetadata {
            code_challenge_methods_supported: methods.map(|names| names.iter().map(|&name| name.to_owned()).collect()),
            ..ServerMetadata::default()
        };
        assert!(check_pkce(&server(Some(&["plain", "S256"]))).is_ok());
        for methods in [None, Some(&[][..]), Some(&["plain"][..])] {
            assert!(check_pkce(&server(methods)).is_err());
        }
    }
}
