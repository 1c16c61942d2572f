//! Error messages for HTTP failures.

#[cfg(feature = "auth")]
use crate::auth::demanded;
use crate::{
    client::LinkFailure, log_text::with_causes, printable::printable, protocol::model::AuthorizationDemand,
    transport::redaction::KnownSecrets,
};
use bytes::{Bytes, BytesMut};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use reqwest::{Response, Url};
use rustls::{CertificateError, InvalidMessage};
use std::{error::Error, fmt, io, time::Duration};

/// How much of an error page is quoted, in bytes.
const MAX_EXCERPT: usize = 300;
/// Maximum number of challenges.
const MAX_CHALLENGES: usize = 8;
/// How long to wait for, and how much to read of, the body of a response without a message.
const UNWANTED_BODY_TIMEOUT: Duration = Duration::from_secs(5);
const MAX_UNWANTED_BODY_BYTES: usize = 1 << 20;

/// The URL of a server as shown in errors and logs, and the proxy in between.
pub(super) struct HttpTarget {
    url: String,
    pub(super) proxy: Option<String>,
    /// The path of the URL, and what is shown instead.
    secret_path: Option<(String, String)>,
}

impl HttpTarget {
    /// `shown` is what errors and logs show of the URL.
    pub(super) fn new(url: &Url, shown: &str, proxy: Option<String>) -> Self {
        let path = |url: &str| url.split_once("://").and_then(|(_, rest)| Some(rest[rest.find('/')?..].to_owned()));
        let paths = path(&redacted(url.as_str())).zip(path(shown));
        Self { url: shown.to_owned(), proxy, secret_path: paths.filter(|(path, shown)| path != shown && path != "/") }
    }

    /// Shows another URL of the server, which may have the same path.
    pub(super) fn shown(&self, url: &str) -> String {
        match &self.secret_path {
            Some((path, shown)) => redacted(url).replace(path, shown),
            None => redacted(url),
        }
    }
}

impl fmt::Display for HttpTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.url)
    }
}

/// A request without a response, or an interrupted response.
pub(super) fn of_reqwest(target: &HttpTarget, error: reqwest::Error) -> LinkFailure {
    // reqwest's own message contains the full URL.
    let error = error.without_url();
    let cause = match error.source() {
        Some(cause) => with_causes(cause),
        None => error.to_string(),
    };
    if !error.is_connect() {
        return LinkFailure::Broken(format!("The connection to {target} was lost: {cause}"));
    }
    let via = target.proxy.as_ref().map_or(String::new(), |proxy| format!(" through the proxy {proxy}"));
    let text = format!("Cannot connect to {target}{via}: {cause}");
    match below(&error) {
        Some(Below::Refused) => LinkFailure::Refused(text),
        Some(Below::Tls(hint)) => LinkFailure::Tls(text + hint),
        // hyper-util has no type for it.
        None if cause.contains("proxy authorization required") => LinkFailure::Unreachable(text + PROXY_CREDENTIALS),
        None => LinkFailure::Unreachable(text),
    }
}

const PROXY_CREDENTIALS: &str = "; put its user and password in its URL, as in http://user:password@proxy:3128";

/// Advice for a TLS error.
fn tls_hint(error: &rustls::Error) -> &'static str {
    match error {
        rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer) => {
            "; if you trust its authority, pass the authority's certificate in PEM as the option `ca`, or name a file \
             with it in NODE_EXTRA_CA_CERTS or SSL_CERT_FILE"
        }
        rustls::Error::InvalidMessage(InvalidMessage::InvalidContentType) => {
            "; the server does not speak TLS on this port: is its URL http://?"
        }
        _ => "",
    }
}

/// The layer that refused a connection.
enum Below {
    Refused,
    /// With advice.
    Tls(&'static str),
}

fn below(error: &(dyn Error + 'static)) -> Option<Below> {
    for error in std::iter::successors(Some(error), |&error| error.source()) {
        if let Some(error) = error.downcast_ref() {
            return Some(Below::Tls(tls_hint(error)));
        }
        if let Some(error) = error.downcast_ref::<io::Error>() {
            // `NotFound` is the error of a missing Unix socket.
            if matches!(error.kind(), io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound) {
                return Some(Below::Refused);
            }
            // An `io::Error` wraps its inner error instead of returning it as the source.
            if let Some(found) = error.get_ref().and_then(|inner| below(inner)) {
                return Some(found);
            }
        }
    }
    None
}

/// A URL without user, password, query and fragment, which may be secret, for errors and logs.
/// Keeps our own fragment that names a Unix socket.
pub(super) fn redacted(url: &str) -> String {
    let (url, fragment) = url.split_once('#').unwrap_or((url, ""));
    let (url, query) = url.split_once('?').map_or((url, ""), |(url, _)| (url, "?…"));
    let (scheme, rest) = url.split_once("://").map_or(("", url), |(scheme, rest)| (scheme, rest));
    let (authority, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let colon = if scheme.is_empty() { "" } else { "://" };
    let (mark, socket) = if fragment.starts_with("unix:") { ("#", fragment) } else { ("", "") };
    [scheme, colon, host, path, query, mark, socket].concat()
}

/// A response without a valid message: its status, the start of its body, and advice.
pub(super) fn of_answer(target: &HttpTarget, answer: AnswerHead, body: &[u8]) -> LinkFailure {
    let said = answer.sent.without(body);
    let code = answer.status.as_u16();
    if let Some(mut demand) = demanded(code, &answer.challenges) {
        demand.error_description = demand.error_description.map(|text| answer.sent.without(text.as_bytes()));
        return unauthorized(demand, said);
    }
    let (what, advice) = match answer.status {
        StatusCode::FORBIDDEN if said.is_empty() => (
            "The server denied access (HTTP 403)".to_owned(),
            "; check the credentials, and the hosts and origins that the server allows",
        ),
        StatusCode::FORBIDDEN => ("The server denied access (HTTP 403)".to_owned(), ""),
        StatusCode::PROXY_AUTHENTICATION_REQUIRED => {
            let proxy = target.proxy.as_ref().map_or("A proxy".to_owned(), |proxy| format!("The proxy {proxy}"));
            (format!("{proxy} requires credentials (HTTP 407)"), PROXY_CREDENTIALS)
        }
        status if status.is_success() && !body.is_empty() => {
            let kind = answer.content_type.as_deref().unwrap_or("without a content type");
            (
                format!("The server answered HTTP {code} with a body that is not MCP ({kind})"),
                "; check the URL, and whether a login page or a proxy answers there",
            )
        }
        status if status.is_success() => (format!("The server answered HTTP {code} without a message"), ""),
        _ => (format!("The server answered HTTP {code}"), ""),
    };
    let colon = if said.is_empty() { "" } else { ": " };
    let retry = match answer.retry_after {
        Some(value) if value.bytes().all(|byte| byte.is_ascii_digit()) => format!("; retry after {value} s"),
        Some(value) => format!("; retry after {value}"),
        None => String::new(),
    };
    LinkFailure::Status {
        status: code,
        text: [&what, colon, &said, &retry, advice].concat(),
        challenges: answer.challenges,
    }
}

/// A successful response that does not contain what it must.
pub(super) fn no_response(status: StatusCode, text: String) -> LinkFailure {
    LinkFailure::Status { status: status.as_u16(), text, challenges: Vec::new() }
}

/// A session refused by the server.
pub(super) fn session_lost(answer: &AnswerHead, body: &[u8]) -> LinkFailure {
    let said = answer.sent.without(body);
    let colon = if said.is_empty() { "" } else { ": " };
    LinkFailure::SessionLost(format!(
        "The server does not know the session (HTTP {}{colon}{said}); if several processes serve this URL, they must \
         share their sessions",
        answer.status.as_u16()
    ))
}

/// Returns whether an error message says that the server does not know the session, in the words of
/// known servers, such as "Bad Request: No valid session ID provided" or "Server not initialized".
/// Other errors may mention some session, too, and what ran must not be sent again.
pub(super) fn is_about_session(body: &[u8]) -> bool {
    const WORDS: [&str; 9] = [
        "session id",
        "session-id",
        "sessionid",
        "session not found",
        "no session",
        "unknown session",
        "invalid session",
        "no valid session",
        "not initialized",
    ];
    let said = excerpt(body).to_ascii_lowercase();
    let said = said.strip_prefix("bad request: ").unwrap_or(&said);
    said.starts_with("session expired") || WORDS.iter().any(|words| said.contains(words))
}

/// The start of a body, on one line.
fn excerpt(body: &[u8]) -> String {
    SentSecrets::default().without(body)
}

/// The values of the headers of a request that are never logged. Pages for debugging repeat them.
#[derive(Clone, Default)]
pub(super) struct SentSecrets(Vec<HeaderValue>);

impl SentSecrets {
    pub(super) fn of(headers: &HeaderMap) -> Self {
        Self(headers.values().filter(|value| value.is_sensitive()).cloned().collect())
    }

    /// Lets errors about the response see them.
    pub(super) fn attach(self, response: &mut Response) {
        if !self.0.is_empty() {
            response.extensions_mut().insert(self);
        }
    }

    /// The start of a body, on one line and without them.
    fn without(&self, body: &[u8]) -> String {
        // In the worst case, removing whitespace and escapes leaves few characters.
        let start = &body[..body.len().min(16 * MAX_EXCERPT)];
        let text = printable(&String::from_utf8_lossy(start)).split_whitespace().collect::<Vec<_>>().join(" ");
        self.known().removed_from(&text).chars().take(MAX_EXCERPT).collect()
    }

    /// Also the parts of credentials and cookies.
    fn known(&self) -> KnownSecrets {
        let words = self.0.iter().filter_map(|value| value.to_str().ok()).flat_map(|text| text.split([';', ' ']));
        let values = words.flat_map(|word| [Some(word), word.split_once('=').map(|(_, value)| value)]).flatten();
        values.fold(KnownSecrets::default(), |known, value| known.with(value).unwrap_or(known))
    }
}

/// Without the feature `auth`, challenges are not parsed.
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
        Some(403) => "The access token is insufficient (HTTP 403)".to_owned(),
        _ => "The server requires authorization (HTTP 401)".to_owned(),
    };
    let reason = demand.error_description.clone().unwrap_or(body);
    if !reason.is_empty() {
        text = format!("{text}: {reason}");
    }
    if let Some(scopes) = &demand.scopes {
        text = format!("{text}; required scopes: {}", scopes.join(" "));
    }
    LinkFailure::Unauthorized { text, demand: Box::new(demand) }
}

/// The parts of a response head that errors need.
pub(super) struct AnswerHead {
    pub(super) status: StatusCode,
    challenges: Vec<String>,
    content_type: Option<String>,
    retry_after: Option<String>,
    sent: SentSecrets,
}

impl AnswerHead {
    /// For a response whose headers don't matter.
    pub(super) fn bare(status: StatusCode) -> Self {
        Self { status, challenges: Vec::new(), content_type: None, retry_after: None, sent: SentSecrets::default() }
    }

    pub(super) fn of(response: &Response) -> Self {
        let headers = response.headers();
        let challenges = headers.get_all(header::WWW_AUTHENTICATE).iter().take(MAX_CHALLENGES);
        Self {
            status: response.status(),
            challenges: challenges.map(|value| printable(&String::from_utf8_lossy(value.as_bytes()))).collect(),
            content_type: header_excerpt(headers, &header::CONTENT_TYPE),
            retry_after: header_excerpt(headers, &header::RETRY_AFTER),
            sent: response.extensions().get::<SentSecrets>().cloned().unwrap_or_default(),
        }
    }
}

fn header_excerpt(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    headers.get(name).map(|value| excerpt(value.as_bytes()))
}

/// Refuses a response with a content coding, because none was accepted.
pub(super) fn check_encoding(target: &HttpTarget, response: &Response) -> Result<(), LinkFailure> {
    match response.headers().get(header::CONTENT_ENCODING) {
        Some(coding) if !coding.as_bytes().eq_ignore_ascii_case(super::heads::IDENTITY.as_bytes()) => {
            let coding = printable(&String::from_utf8_lossy(coding.as_bytes()));
            Err(LinkFailure::Broken(format!(
                "The response from {target} is encoded ({coding}), but the request accepts no encoding: turn off compression at the server or its proxy"
            )))
        }
        _ => Ok(()),
    }
}

/// Reads the body of a response, up to `max` bytes.
pub(super) async fn read(target: &HttpTarget, mut response: Response, max: usize) -> Result<Bytes, LinkFailure> {
    let mut first = Bytes::new();
    let mut rest = BytesMut::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| of_reqwest(target, error))? {
        if first.len() + rest.len() + chunk.len() > max {
            return Err(LinkFailure::Broken(format!("The server's response is larger than the limit of {max} bytes")));
        }
        // Most bodies arrive in one piece, which is used without copying.
        if first.is_empty() && rest.is_empty() {
            first = chunk;
        } else {
            rest.extend_from_slice(&std::mem::take(&mut first));
            rest.extend_from_slice(&chunk);
        }
    }
    Ok(if rest.is_empty() { first } else { rest.freeze() })
}

/// Reads the start of a body that should contain no message, for an error message, within the
/// limits.
pub(super) async fn read_unwanted(mut response: Response, max: usize) -> Bytes {
    let max = max.min(MAX_UNWANTED_BODY_BYTES);
    let mut body = BytesMut::new();
    let reading = async {
        while let Ok(Some(chunk)) = response.chunk().await
            && body.len() < max
        {
            body.extend_from_slice(&chunk[..chunk.len().min(max - body.len())]);
        }
    };
    let _ = tokio::time::timeout(UNWANTED_BODY_TIMEOUT, reading).await;
    body.freeze()
}

#[cfg(test)]
mod tests {
    use super::{is_about_session, redacted};

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
            assert_eq!(redacted(url), text);
        }
    }
    #[test]
    fn http_48_only_errors_of_unknown_sessions_are_about_the_session() {
        for words in [
            "Bad Request: No valid session ID provided",
            "Bad Request: Server not initialized",
            "Bad Request: Mcp-Session-Id header is required",
            "Invalid or missing session ID",
            "Invalid or expired session ID",
            "Session not found: 7",
            "Session expired",
            r#"{"error":"unknown session"}"#,
        ] {
            assert!(is_about_session(words.as_bytes()), "{words}");
        }
        for words in ["database session expired after the transfer", "Session limit reached", ""] {
            assert!(!is_about_session(words.as_bytes()), "{words}");
        }
    }
}
