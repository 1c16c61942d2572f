//! The login at a server, and whom it asks.

use crate::{
    failure::Failure,
    flags::{ConnectionFlags, read},
    login_flags::{Login, LoginFlags},
    mcp_remote, output, person,
    target::Server,
};
use std::{collections::BTreeMap, future::ready, path::Path, sync::Arc};
use trunkline::{
    auth::{
        AccessToken, AuthorizationHandler, Authorizing, CredentialStore, KeychainStore, LoginHandler, LoginPage,
        LoginStart, OAuth, OAuthGrant, OAuthOptions, UrlOpener,
    },
    client::ServerEntry,
    client_auth::{AuthError, ClientAuth},
    runtime::BoxedTask,
    serde_json::{self, Value},
    transport::Target,
};

/// The person to ask for a login.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
    /// The person at the terminal. A script must neither open a browser nor wait.
    AtTerminal,
    /// The person who runs `trunkline login`: with the browser, also without a terminal.
    ByLogin,
    /// The person whose host starts a bridge.
    ByHost,
    /// Nobody: the login exists.
    Nobody,
}

impl LoginFlags {
    /// The credentials for the server. `port` is that of the redirect, as mcp-remote takes it.
    pub(crate) fn auth(
        &self,
        connection: &ConnectionFlags,
        server: &Server,
        (asked, port): (Asked, Option<u16>),
    ) -> Result<Option<Arc<dyn ClientAuth>>, Failure> {
        let is_http = server.transport == "http";
        if !is_http
            && matches!(asked, Asked::AtTerminal | Asked::ByLogin)
            && (connection.bearer_env.is_some() || connection.auth == Some(Login::Oauth))
        {
            return Err(Failure::usage("--bearer-env and --auth are for servers with a URL").at(&server.label));
        }
        if !is_http {
            return Ok(None);
        }
        if let Some(name) = &connection.bearer_env {
            return Ok(Some(Arc::new(AccessToken::new(variable("--bearer-env", name)?))));
        }
        let has_credentials = matches!(&server.target, Target::Entry(entry) if entry.has_credentials());
        if connection.auth == Some(Login::None) || (connection.auth.is_none() && has_credentials) {
            return Ok(None);
        }
        let mut options = self.options(&server.label, (asked, port))?;
        if let (Target::Entry(ServerEntry::Url { url, .. }), true) = (&server.target, self.can_import(asked)) {
            options.imported_login = mcp_remote::login(url, connection).unwrap_or_default();
        }
        let auth = OAuth::new(options).map_err(|error| {
            let (flag, problem) = (flag_of(error.option()), in_flags(error.problem()));
            Failure::usage(format!("{flag} {problem}")).hint("`--auth none` connects without a login")
        })?;
        Ok(auth.into())
    }

    /// A bridge takes the place of mcp-remote in a configuration.
    fn can_import(&self, asked: Asked) -> bool {
        (self.imports || asked == Asked::ByHost) && !self.as_client
    }

    fn options(&self, server: &str, (asked, port): (Asked, Option<u16>)) -> Result<OAuthOptions, Failure> {
        let mut options = OAuthOptions::default()
            .with_store(self.store()?)
            .with_scopes(self.scopes.clone())
            .with_send_resource(self.resource.as_deref() != Some(NO_RESOURCE))
            .with_use_id_token(self.id_token);
        options.client_id.clone_from(&self.client_id);
        options.client_secret = match &self.client_secret_env {
            Some(name) => Some(variable("--client-secret-env", name)?),
            None => self.client_secret.clone(),
        };
        options.client_metadata_url.clone_from(&self.client_metadata_url);
        options.issuer.clone_from(&self.authorization_server);
        options.resource = self.resource.clone().filter(|resource| resource != NO_RESOURCE);
        options.token_endpoint.clone_from(&self.token_endpoint);
        options.observer.clone_from(&self.trace);
        if self.as_client {
            return Ok(options.with_grant(OAuthGrant::ClientCredentials));
        }
        options = options
            .with_client_name(self.client_name.as_deref().unwrap_or("trunkline"))
            .with_handler(self.handler(server, asked));
        if let Some(timeout) = self.login_timeout {
            options.login_timeout = timeout;
        }
        if self.device_code {
            return Ok(options.with_grant(OAuthGrant::DeviceCode));
        }
        options.authorization_parameters = self.parameters()?;
        let redirect_uri = self.redirect_uri(port);
        // Where nobody is asked, nothing is redirected.
        if !matches!(options.handler, LoginHandler::Custom(_)) {
            options.redirect_uri = redirect_uri;
            options.success_url.clone_from(&self.success_url);
        }
        Ok(options)
    }

    fn store(&self) -> Result<CredentialStore, Failure> {
        let wrong = |error: AuthError| Failure::usage(format!("--store: {error}"));
        Ok(match self.store.as_deref() {
            None | Some("keychain") => KeychainStore::for_current_user().map_err(wrong)?.on_notice(output::note).into(),
            Some("file") => CredentialStore::File,
            Some("") => return Err(Failure::usage("--store: give keychain, file or a folder")),
            Some(folder) => CredentialStore::Folder(folder.into()),
        })
    }

    /// How the person gets to the page of the login.
    fn handler(&self, server: &str, asked: Asked) -> LoginHandler {
        if let Some(opener) = &self.opener {
            return opener.0.clone().into();
        }
        let is_asked = asked != Asked::AtTerminal || person::is_present();
        if asked != Asked::Nobody && (self.no_browser || (self.device_code && is_asked)) {
            let shown = |page: LoginPage| {
                show(&page);
                ready(Ok(()))
            };
            return UrlOpener::of_pages(shown).into();
        }
        match asked {
            Asked::AtTerminal if !is_asked => Nobody.into(),
            Asked::Nobody => Nobody.into(),
            Asked::ByHost => browser_of_host(server).into(),
            // Without a terminal, nobody would see the page if no browser opens.
            Asked::ByLogin if !person::is_present() => UrlOpener::browser().into(),
            _ => LoginHandler::Browser,
        }
    }

    pub(crate) fn parameters(&self) -> Result<BTreeMap<String, String>, Failure> {
        let pair = |word: &String| {
            let pair = word.split_once('=').filter(|(name, _)| !name.is_empty());
            pair.map(|(name, value)| (name.to_owned(), value.to_owned())).ok_or_else(|| {
                Failure::usage("--authorize-param: a parameter is NAME=VALUE").hint("--authorize-param prompt=consent")
            })
        };
        self.authorize_params.iter().map(pair).collect()
    }

    /// The redirect, if the person has chosen it. With the port as a word, it is that of
    /// mcp-remote, with which a client may be registered.
    fn redirect_uri(&self, port: Option<u16>) -> Option<String> {
        let is_named = self.callback_host.is_some() || self.callback_path.is_some();
        let number = self.callback_port.or(port);
        if number.is_none() && !is_named {
            return None;
        }
        let (host, path) = match (self.callback_port, port) {
            (None, Some(_)) => ("localhost", "/oauth/callback"),
            _ => ("127.0.0.1", "/callback"),
        };
        let host = self.callback_host.as_deref().unwrap_or(host);
        let path = self.callback_path.as_deref().unwrap_or(path).trim_start_matches('/');
        // Without a port, a free one is used.
        let port = number.map(|number| format!(":{number}")).unwrap_or_default();
        Some(format!("http://{host}{port}/{path}"))
    }
}

/// The value of `--resource` that leaves the parameter out.
pub(crate) const NO_RESOURCE: &str = "none";

/// The flag of an option of the library.
fn flag_of(option: &str) -> String {
    let named = match option {
        "issuer" => "authorization-server",
        "sendResource" => "resource none",
        "scopes" => "scope",
        "authorizationParameters" => "authorize-param",
        "redirectUri" => "callback-port, --callback-host and --callback-path:",
        "useIdToken" => "id-token",
        "clientSecret" => "client-secret-env",
        "successUrl" => "auth-success-url",
        "loginTimeoutMs" => "auth-timeout",
        _ => "",
    };
    if !named.is_empty() {
        return format!("--{named}");
    }
    let kebab = |letter: char| match letter.is_ascii_uppercase() {
        true => format!("-{}", letter.to_ascii_lowercase()),
        false => letter.to_string(),
    };
    format!("--{}", option.chars().map(kebab).collect::<String>())
}

/// A message of the library with the names of flags, which are between backticks.
fn in_flags(problem: &str) -> String {
    let parts = problem.split('`').enumerate();
    parts.map(|(index, part)| if index % 2 == 1 { flag_of(part) } else { part.to_owned() }).collect()
}

/// The browser, without which the host gets an error that it shows: what a bridge prints is only in
/// a log.
fn browser_of_host(server: &str) -> UrlOpener {
    let (browser, command) = (UrlOpener::browser(), format!("trunkline login {server}"));
    UrlOpener::of_pages(move |page| {
        let (opened, command) = (browser.show(page), command.clone());
        async move { opened.await.map_err(|error| AuthError(format!("{error}; run `{command}` in a terminal"))) }
    })
}

/// Prints the page of a login.
fn show(page: &LoginPage) {
    let code = page.user_code.as_deref().map(|code| format!(", and enter or compare the code {code}"));
    output::tell(&format!("log in at {}{}", page.url, code.unwrap_or_default()));
}

/// Asks nobody: no browser opens, and no client is registered.
struct Nobody;

impl Nobody {
    fn error() -> AuthError {
        AuthError("a person has to log in, and there is no terminal".to_owned())
    }
}

impl AuthorizationHandler for Nobody {
    fn begin(&self, _start: LoginStart) -> BoxedTask<Result<Box<dyn Authorizing>, AuthError>> {
        Box::pin(ready(Err(Self::error())))
    }

    fn show_page(&self, _page: LoginPage) -> BoxedTask<Result<(), AuthError>> {
        Box::pin(ready(Err(Self::error())))
    }
}

fn variable(flag: &str, name: &str) -> Result<String, Failure> {
    let value = std::env::var(name).ok().filter(|value| !value.is_empty());
    value.ok_or_else(|| Failure::usage(format!("{flag}: the variable {name} is not set")))
}

/// A JSON object of a flag: itself, or `@` and the file that has it.
pub(crate) fn object(flag: &str, given: &str) -> Result<Value, Failure> {
    let text = match given.strip_prefix('@') {
        Some(path) => read(Path::new(path), flag)?,
        None => given.to_owned(),
    };
    let value: Value =
        serde_json::from_str(&text).map_err(|error| Failure::usage(format!("{flag}: this is no JSON: {error}")))?;
    if value.is_object() { Ok(value) } else { Err(Failure::usage(format!("{flag}: this is no JSON object"))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_about_options_name_flags() {
        assert_eq!(flag_of("clientMetadataUrl"), "--client-metadata-url");
        assert_eq!(in_flags("needs `issuer` or `clientId`"), "needs --authorization-server or --client-id");
    }

    #[test]
    fn a_redirect_is_chosen_by_its_port() {
        let flags = |port, path: Option<&str>| LoginFlags {
            callback_port: port,
            callback_path: path.map(str::to_owned),
            ..LoginFlags::default()
        };
        for (flags, word, redirect) in [
            (flags(None, None), None, None),
            (flags(None, None), Some(9696), Some("http://localhost:9696/oauth/callback")),
            (flags(Some(80), None), Some(9696), Some("http://127.0.0.1:80/callback")),
            (flags(None, Some("a/b")), Some(1), Some("http://localhost:1/a/b")),
            (flags(None, Some("/a")), None, Some("http://127.0.0.1/a")),
        ] {
            assert_eq!(flags.redirect_uri(word).as_deref(), redirect);
        }
    }
}
