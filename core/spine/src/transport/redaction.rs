//! Removes secrets from what observers see.

use crate::{
    sync::Mutex,
    wire_log::{HttpExchange, MessageInfo, WireLog},
};
use std::{borrow::Cow, collections::VecDeque, sync::Arc};

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
    secrets: Mutex<Arc<KnownSecrets>>,
}

impl<O: WireLog> Redacting<O> {
    pub(super) fn new(observer: O) -> Self {
        Self { observer, secrets: Mutex::default() }
    }

    /// Remembers a secret, which may also appear elsewhere.
    fn remember(&self, secret: &str) {
        let mut secrets = self.secrets.lock();
        if let Some(all) = secrets.with(secret) {
            *secrets = Arc::new(all);
        }
    }

    /// The text without the known secrets.
    fn without_known<'t>(&self, text: &'t str) -> Cow<'t, str> {
        // Every message of the process passes here, so the lock is not held while one is searched.
        let secrets = Arc::clone(&self.secrets.lock());
        secrets.removed_from(text)
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

/// The values that are searched for.
#[derive(Clone)]
pub(super) struct KnownSecrets {
    values: VecDeque<String>,
    /// A bit for each pair of bytes with which a value begins. Few places of a text have one, so
    /// that a text is read once, however many values there are.
    beginnings: Box<[u64]>,
}

impl Default for KnownSecrets {
    fn default() -> Self {
        Self { values: VecDeque::new(), beginnings: vec![0; (1 << 16) / 64].into() }
    }
}

impl KnownSecrets {
    /// These and one more, unless it is known or may also be found where it means something else;
    /// the oldest is forgotten if there are too many.
    pub(super) fn with(&self, secret: &str) -> Option<Self> {
        let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte);
        if secret.len() < MIN_LENGTH || !secret.bytes().all(is_token) || self.values.iter().any(|known| known == secret)
        {
            return None;
        }
        let newest = self.values.iter().skip((self.values.len() + 1).saturating_sub(MAX_SECRETS));
        let mut secrets = Self::default();
        for value in newest.map(String::as_str).chain([secret]) {
            if let [first, second, ..] = *value.as_bytes() {
                let (word, bit) = position(first, second);
                secrets.beginnings[word] |= bit;
            }
            secrets.values.push_back(value.to_owned());
        }
        Some(secrets)
    }

    pub(super) fn removed_from<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let (mut shown, mut rest, mut at) = (String::new(), text, 0);
        while !self.values.is_empty() {
            let pairs = rest.as_bytes()[at..].windows(2);
            let Some(offset) =
                pairs.map(|pair| position(pair[0], pair[1])).position(|(word, bit)| self.beginnings[word] & bit != 0)
            else {
                break;
            };
            at += offset;
            let found = self.values.iter().filter(|value| rest.as_bytes()[at..].starts_with(value.as_bytes()));
            match found.map(String::len).max() {
                Some(length) => {
                    // A secret is ASCII, so both ends are between letters.
                    shown.push_str(&rest[..at]);
                    shown.push_str(REMOVED);
                    (rest, at) = (&rest[at + length..], 0);
                }
                None => at += 1,
            }
        }
        if rest.len() == text.len() {
            return Cow::Borrowed(text);
        }
        Cow::Owned(shown + rest)
    }
}

/// The place of a pair of bytes among the beginnings: a word and its bit.
fn position(first: u8, second: u8) -> (usize, u64) {
    let pair = usize::from(first) << 8 | usize::from(second);
    (pair / 64, 1 << (pair % 64))
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
    use std::time::Duration;

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
        assert_eq!(observer.secrets.lock().values.len(), MAX_SECRETS);
        assert_eq!(observer.without_known("a-long-secret-1!"), "(removed)!");
        assert_eq!(observer.without_known("a-long-secret-0!"), "a-long-secret-0!");
    }

    #[test]
    fn all_occurrences_are_removed_and_the_longest_value_counts() {
        let observer = Redacting::new(|_: Observed<'_>| {});
        ["a-long-secret-", "a-long-secret-and-longer", "b-long-secret-"]
            .into_iter()
            .for_each(|secret| observer.remember(secret));
        for (text, shown) in [
            ("a-long-secret-and-longer", REMOVED.to_owned()),
            ("aa-long-secret-a-long-secret-\u{e9}a-", format!("a{REMOVED}{REMOVED}\u{e9}a-")),
            ("\u{e9}b-long-secret-and-longer b-long", format!("\u{e9}{REMOVED}and-longer b-long")),
            ("a-", "a-".to_owned()),
            ("a", "a".to_owned()),
            ("", String::new()),
        ] {
            assert_eq!(observer.without_known(text), shown, "{text}");
        }
    }
}
