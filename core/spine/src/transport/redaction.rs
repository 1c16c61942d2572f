//! Removes secrets from what observers see.

use crate::{
    sync::Mutex,
    wire_log::{HttpExchange, MessageInfo, WireLog},
};
use std::{borrow::Cow, collections::VecDeque};

/// In the place of a secret.
const REMOVED: &str = "(removed)";
/// Secrets that are remembered, to be found elsewhere; the newest.
const MAX_SECRETS: usize = 64;
/// Shorter values would be found where they mean something else.
const MIN_LENGTH: usize = 12;
/// Parts of the names of headers and parameters whose values are secret.
const NAMES: [&str; 10] =
    ["authorization", "cookie", "token", "secret", "password", "api-key", "apikey", "api_key", "assertion", "dpop"];
/// Further parameters of URLs.
const PARAMETERS: [&str; 3] = ["code", "code_verifier", "key"];

/// Passes on what it observes, without secrets.
pub(super) struct Redacting<O> {
    observer: O,
    secrets: Mutex<VecDeque<String>>,
}

impl<O: WireLog> Redacting<O> {
    pub(super) fn new(observer: O) -> Self {
        Self { observer, secrets: Mutex::default() }
    }

    /// Remembers a secret, which may also appear elsewhere.
    fn remember(&self, secret: &str) {
        let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte);
        if secret.len() < MIN_LENGTH || !secret.bytes().all(is_token) {
            return;
        }
        let mut secrets = self.secrets.lock();
        if secrets.iter().any(|known| known == secret) {
            return;
        }
        if secrets.len() >= MAX_SECRETS {
            secrets.pop_front();
        }
        secrets.push_back(secret.to_owned());
    }

    /// The text without the known secrets.
    fn without_known<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let secrets = self.secrets.lock();
        let mut text = Cow::Borrowed(text);
        for secret in secrets.iter() {
            if text.contains(&**secret) {
                text = Cow::Owned(text.replace(&**secret, REMOVED));
            }
        }
        text
    }

    /// The headers without the values of secret ones, which are remembered.
    fn headers(&self, headers: &[(String, String)]) -> Vec<(String, String)> {
        let shown = |(name, value): &(String, String)| {
            let shown = match is_secret(name) {
                // The scheme is no secret.
                true if name.ends_with("authorization") => match value.split_once(' ') {
                    Some((scheme, secret)) => {
                        self.remember(secret);
                        format!("{scheme} {REMOVED}")
                    }
                    None => REMOVED.to_owned(),
                },
                true => {
                    let parts = value.split([';', ' ']).filter_map(|part| part.split_once('=')).map(|(_, value)| value);
                    parts.chain([value.as_str()]).for_each(|part| self.remember(part));
                    REMOVED.to_owned()
                }
                false => self.url(value),
            };
            (name.clone(), shown)
        };
        headers.iter().map(shown).collect()
    }

    /// A URL, or a text that may be one, without its password and secret parameters.
    fn url(&self, url: &str) -> String {
        let mut shown = url.to_owned();
        if let Some((scheme, rest)) = url.split_once("://") {
            let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
            if let Some((_, host)) = authority.rsplit_once('@') {
                shown = format!("{scheme}://{REMOVED}@{host}{}", &rest[authority.len()..]);
            }
        }
        let Some((path, query)) = shown.split_once('?') else { return shown };
        let parameter = |pair: &str| match pair.split_once('=') {
            Some((name, value)) if is_secret(name) || PARAMETERS.contains(&name) => {
                self.remember(value);
                format!("{name}={REMOVED}")
            }
            _ => pair.to_owned(),
        };
        let query: Vec<_> = query.split('&').map(parameter).collect();
        format!("{path}?{}", query.join("&"))
    }
}

fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    NAMES.iter().any(|part| name.contains(part)) && name != "www-authenticate"
}

impl<O: WireLog> WireLog for Redacting<O> {
    fn text(&self, exchange: &MessageInfo<'_>, text: &[u8]) {
        match std::str::from_utf8(text).map(|text| self.without_known(text)) {
            Ok(shown) => self.observer.text(exchange, shown.as_bytes()),
            Err(_) => self.observer.text(exchange, text),
        }
    }

    fn http(&self, exchange: &HttpExchange<'_>) {
        let url = self.url(exchange.url);
        let [request, response] = [&exchange.request_headers, &exchange.response_headers].map(|all| self.headers(all));
        let known = |headers: Vec<(String, String)>| -> Vec<(String, String)> {
            let shown = |(name, value): (String, String)| (name, self.without_known(&value).into_owned());
            headers.into_iter().map(shown).collect()
        };
        let (url, error) = (self.without_known(&url), exchange.error.map(|error| self.without_known(error)));
        self.observer.http(&HttpExchange {
            url: &url,
            request_headers: known(request),
            response_headers: known(response),
            error: error.as_deref(),
            ..exchange.clone()
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire_log::{Direction, Observed, Side, Transport};
    use std::{sync::Arc, time::Duration};

    const SECRET: &str = "sec-ret.value~1/2+3=";

    fn message() -> MessageInfo<'static> {
        MessageInfo {
            side: Side::Client,
            direction: Direction::Sent,
            connection: None,
            transport: Transport::Http,
            revision: None,
            client_capabilities: None,
            method: None,
            refused: false,
        }
    }

    #[test]
    fn secrets_are_removed_by_name_and_by_value() {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&seen);
        let observer = Redacting::new(move |observed: Observed<'_>| {
            let text = match observed {
                Observed::Message(_, text) => String::from_utf8_lossy(text).into_owned(),
                Observed::Http(exchange) => format!(
                    "{} {:?} {:?} {:?}",
                    exchange.url, exchange.request_headers, exchange.response_headers, exchange.error
                ),
            };
            kept.lock().push(text);
        });
        let headers =
            |all: &[(&str, &str)]| all.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let plain = [("accept", "application/json"), ("mcp-session-id", "a session id")];
        for (url, request, response, shown) in [
            ("https://a/mcp", vec![("authorization", "Bearer sec-ret.value~1/2+3=")], vec![], "Bearer (removed)"),
            ("https://a/mcp", vec![("x-api-key", SECRET)], vec![("x", SECRET)], "\"x\", \"(removed)\""),
            ("https://a/mcp", vec![("cookie", "a=b; c=sec-ret.value~1/2+3=")], vec![], "\"cookie\", \"(removed)\""),
            (
                "https://a/mcp",
                vec![],
                vec![("set-cookie", "c=sec-ret.value~1/2+3=; Secure")],
                "\"set-cookie\", \"(removed)\"",
            ),
            ("https://u:sec-ret.value~1@a/mcp", vec![], vec![], "https://(removed)@a/mcp"),
            ("/callback?code=sec-ret.value~1/2+3=&state=x", vec![], vec![], "/callback?code=(removed)&state=x"),
            (
                "https://a/mcp",
                vec![],
                vec![("location", "https://b/?x=1&access_token=sec-ret.value~1")],
                "https://b/?x=1&access_token=(removed)",
            ),
        ] {
            let request = headers(&[&request[..], &plain].concat());
            observer.http(&HttpExchange {
                side: Side::Client,
                connection: None,
                method: "POST",
                url,
                request_headers: request,
                status: Some(200),
                response_headers: headers(&response),
                error: Some("sec-ret.value~1/2+3= was refused"),
                duration: Duration::ZERO,
            });
            let text = seen.lock().pop().unwrap();
            assert!(text.contains(shown) && text.contains("a session id"), "{text}");
            assert!(!text.contains("sec-ret"), "{text}");
        }
        observer.text(&message(), format!("{{\"token\":\"{SECRET}\",\"n\":1}}").as_bytes());
        assert_eq!(seen.lock().pop().unwrap(), r#"{"token":"(removed)","n":1}"#);
    }

    #[test]
    fn short_and_old_values_are_not_searched_for() {
        let observer = Redacting::new(|_: Observed<'_>| {});
        observer.remember("short");
        observer.remember("no token, but words");
        assert_eq!(observer.without_known("short no token, but words"), "short no token, but words");
        (0..=MAX_SECRETS).for_each(|number| observer.remember(&format!("a-long-secret-{number}")));
        assert_eq!(observer.secrets.lock().len(), MAX_SECRETS);
        assert_eq!(observer.without_known("a-long-secret-1!"), "(removed)!");
    }
}
