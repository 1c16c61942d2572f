//! Failures in words.

#[cfg(feature = "auth")]
use crate::auth::demanded;
use crate::{client::LinkFailure, printable::printable, protocol::model::AuthorizationDemand};
use http::{StatusCode, header};
use reqwest::Response;
use std::{error::Error, io};

/// Bytes of an error page that are repeated.
const EXCERPT: usize = 300;
/// Most challenges that are kept.
const MAX_CHALLENGES: usize = 8;

/// A request that got no response, or a response that broke off.
pub(super) fn of_reqwest(place: &str, error: reqwest::Error) -> LinkFailure {
    // reqwest's own words name the whole URL.
    let error = error.without_url();
    let cause = causes(&error);
    if !error.is_connect() {
        return LinkFailure::Broken(format!("The connection to {place} broke: {cause}"));
    }
    let text = format!("Cannot connect to {place}: {cause}");
    match below(&error) {
        Some(Below::Refused) => LinkFailure::Refused(text),
        Some(Below::Tls) => LinkFailure::Tls(text),
        None => LinkFailure::Unreachable(text),
    }
}

/// The layer that refused a connection.
enum Below {
    Refused,
    Tls,
}

fn below(error: &(dyn Error + 'static)) -> Option<Below> {
    let mut next = Some(error);
    while let Some(error) = next {
        if error.is::<rustls::Error>() {
            return Some(Below::Tls);
        }
        if let Some(error) = error.downcast_ref::<io::Error>() {
            // No such socket, for those of Unix.
            if matches!(error.kind(), io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound) {
                return Some(Below::Refused);
            }
            // The error in it is not its source, but stands for it.
            if let Some(found) = error.get_ref().and_then(|inner| below(inner)) {
                return Some(found);
            }
        }
        next = error.source();
    }
    None
}

/// A URL as errors and logs may show it: user, password, query and fragment can be secrets. The
/// fragment of ours that names a Unix socket stays.
pub(super) fn shown(url: &str) -> String {
    let (url, fragment) = url.split_once('#').unwrap_or((url, ""));
    let (url, query) = url.split_once('?').map_or((url, ""), |(url, _)| (url, "?…"));
    let (scheme, rest) = url.split_once("://").map_or(("", url), |(scheme, rest)| (scheme, rest));
    let (authority, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let colon = if scheme.is_empty() { "" } else { "://" };
    let (mark, socket) = if fragment.starts_with("unix:") { ("#", fragment) } else { ("", "") };
    [scheme, colon, host, path, query, mark, socket].concat()
}

/// The causes below reqwest's own message, which only repeats the URL.
fn causes(error: &reqwest::Error) -> String {
    let mut text = String::new();
    let mut cause = error.source();
    while let Some(error) = cause {
        let words = error.to_string();
        if !text.ends_with(&words) {
            if !text.is_empty() {
                text += ": ";
            }
            text += &words;
        }
        cause = error.source();
    }
    if text.is_empty() { error.to_string() } else { text }
}

/// An answer that is not one: its status and the start of its body.
pub(super) fn of_answer(answer: AnswerHead, body: &[u8]) -> LinkFailure {
    let text = printable(&String::from_utf8_lossy(body)).split_whitespace().collect::<Vec<_>>().join(" ");
    let text: String = text.chars().take(EXCERPT).collect();
    let AnswerHead { status, challenges } = answer;
    let status = status.as_u16();
    match demanded(status, &challenges) {
        Some(demand) => unauthorized(demand, text),
        None => LinkFailure::Status { status, text, challenges },
    }
}

/// The demand of a refusal, unread: challenges are read by the feature `auth`.
#[cfg(not(feature = "auth"))]
fn demanded(status: u16, challenges: &[String]) -> Option<AuthorizationDemand> {
    (status == StatusCode::UNAUTHORIZED.as_u16()).then(|| AuthorizationDemand {
        http_status: Some(status),
        challenges: Some(challenges.to_vec()).filter(|challenges| !challenges.is_empty()),
        ..AuthorizationDemand::default()
    })
}

fn unauthorized(demand: AuthorizationDemand, body: String) -> LinkFailure {
    let mut text = match demand.http_status {
        Some(403) => "The access token does not suffice (HTTP 403)".to_owned(),
        _ => "The server asks for authorization (HTTP 401)".to_owned(),
    };
    let reason = demand.error_description.clone().unwrap_or(body);
    if !reason.is_empty() {
        text = format!("{text}: {reason}");
    }
    if let Some(scopes) = &demand.scopes {
        text = format!("{text}; needed scopes: {}", scopes.join(" "));
    }
    LinkFailure::Unauthorized { text, demand: Box::new(demand) }
}

/// The head of an answer, as far as failures need it.
pub(super) struct AnswerHead {
    status: StatusCode,
    challenges: Vec<String>,
}

impl AnswerHead {
    pub(super) fn of(response: &Response) -> Self {
        let challenges = response.headers().get_all(header::WWW_AUTHENTICATE).iter();
        let challenges =
            challenges.take(MAX_CHALLENGES).map(|value| printable(&String::from_utf8_lossy(value.as_bytes())));
        Self { status: response.status(), challenges: challenges.collect() }
    }
}

/// An error for an answer in a content coding: none was accepted, and none is undone.
pub(super) fn check_encoding(place: &str, response: &Response) -> Result<(), LinkFailure> {
    match response.headers().get(header::CONTENT_ENCODING) {
        Some(coding) if !coding.as_bytes().eq_ignore_ascii_case(super::heads::IDENTITY.as_bytes()) => {
            let coding = printable(&String::from_utf8_lossy(coding.as_bytes()));
            Err(LinkFailure::Broken(format!(
                "The answer of {place} is encoded ({coding}), although the request accepts no encoding: turn compression \
                 off at the server or its proxy"
            )))
        }
        _ => Ok(()),
    }
}

/// The body of a response, of at most `max` bytes.
pub(super) async fn read(place: &str, mut response: Response, max: usize) -> Result<bytes::Bytes, LinkFailure> {
    let mut first = bytes::Bytes::new();
    let mut rest = bytes::BytesMut::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| of_reqwest(place, error))? {
        if first.len() + rest.len() + chunk.len() > max {
            return Err(LinkFailure::Broken(format!("The server's answer is larger than the limit of {max} bytes")));
        }
        // Most answers come in one piece, which is kept as it is.
        if first.is_empty() && rest.is_empty() {
            first = chunk;
        } else {
            rest.extend_from_slice(&std::mem::take(&mut first));
            rest.extend_from_slice(&chunk);
        }
    }
    Ok(if rest.is_empty() { first } else { rest.freeze() })
}

#[cfg(test)]
mod tests {
    use super::shown;

    #[test]
    fn secrets_in_urls_are_not_shown() {
        for (url, text) in [
            ("https://a.example/mcp", "https://a.example/mcp"),
            ("https://user:pass@a.example:8/mcp?key=secret#token", "https://a.example:8/mcp?…"),
            ("https://us@er@a.example", "https://a.example"),
            ("http://localhost/mcp#unix:/run/it.sock", "http://localhost/mcp#unix:/run/it.sock"),
            ("htp:/user:pass", "htp:/user:pass"),
            ("https://[::1]:9/a@b", "https://[::1]:9/a@b"),
            ("nonsense?secret", "nonsense?…"),
        ] {
            assert_eq!(shown(url), text);
        }
    }
}
