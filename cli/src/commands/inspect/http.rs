//! HTTP for the person on this machine, and nobody else.

use crate::failure::{Failure, Problem};
use bytes::Bytes;
use http::{
    HeaderValue, Method, Request, Response, StatusCode,
    header::{self, HeaderMap, HeaderName},
    request::Parts,
};
use http_body::{Frame, SizeHint};
use http_body_util::Full;
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use serde::Serialize;
use std::{
    convert::Infallible,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{Semaphore, mpsc},
};

/// Maximum connections of browsers.
const MAX_CONNECTIONS: usize = 256;
/// Maximum time for the head of a request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);
/// The pause after a failed accept, such as for lack of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// The headers of every response.
const HEADERS: [(HeaderName, &str); 4] = [
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// The names of this machine.
pub(super) const NAMES: [&str; 3] = ["127.0.0.1", "localhost", "[::1]"];

pub(super) const JSON: &str = "application/json";

/// Answers the requests of one port.
pub(super) trait Serve: Send + Sync + 'static {
    fn respond(&self, request: Request<Incoming>) -> impl Future<Output = Response<Body>> + Send;
}

/// The body of a response: complete, or lines as they come.
pub(super) enum Body {
    Whole(Full<Bytes>),
    Lines(mpsc::Receiver<Bytes>),
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut *self {
            Self::Whole(whole) => Pin::new(whole).poll_frame(context),
            Self::Lines(lines) => lines.poll_recv(context).map(|line| line.map(|line| Ok(Frame::data(line)))),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(whole) => whole.size_hint(),
            Self::Lines(_) => SizeHint::default(),
        }
    }
}

/// Why a request is not served.
pub(super) struct Refusal {
    pub(super) status: StatusCode,
    pub(super) problem: Problem,
}

impl Refusal {
    pub(super) fn new(status: StatusCode, failure: &Failure) -> Self {
        Self { status, problem: failure.into() }
    }

    fn response(self) -> Response<Body> {
        #[derive(Serialize)]
        struct Error {
            error: Problem,
        }
        let text = serde_json::to_string(&Error { error: self.problem }).unwrap_or_default();
        let mut response = whole(JSON, text.into());
        *response.status_mut() = self.status;
        if self.status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

/// Serves until dropped.
pub(super) async fn serve(listener: TcpListener, site: Arc<impl Serve>) {
    let connections = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let Ok(permit) = Arc::clone(&connections).acquire_owned().await else { return };
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let site = Arc::clone(&site);
        tokio::spawn(async move {
            connection(stream, site).await;
            drop(permit);
        });
    }
}

async fn connection(stream: TcpStream, site: Arc<impl Serve>) {
    // Each event is a small write.
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request| {
        let site = Arc::clone(&site);
        async move { Ok::<_, Infallible>(site.respond(request).await) }
    });
    let mut server = http1::Builder::new();
    server.timer(TokioTimer::new()).header_read_timeout(HEAD_TIMEOUT);
    // A broken connection is the browser's business.
    let _ = server.serve_connection(TokioIo::new(stream), service).await;
}

/// The response with the headers of all, under a policy.
pub(super) fn guarded(answer: Result<Response<Body>, Refusal>, policy: &str) -> Response<Body> {
    let mut response = answer.unwrap_or_else(Refusal::response);
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    let policy = HeaderValue::from_str(policy).unwrap_or(HeaderValue::from_static("default-src 'none'"));
    headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

/// Compares in a time that says nothing about the secret.
pub(super) fn is_same(given: &str, secret: &str) -> bool {
    let differences = given.bytes().zip(secret.bytes()).fold(0, |all, (one, other)| all | (one ^ other));
    given.len() == secret.len() && differences == 0
}

/// Refuses what another site, or another name for this machine, has sent. The port may be one that
/// `ssh -L` forwards.
pub(super) fn check_origin(headers: &HeaderMap) -> Result<(), Refusal> {
    if host_of(headers).is_none() {
        let failure =
            Failure::usage("The header Host does not name this machine").hint("open the URL that trunkline printed");
        return Err(Refusal::new(StatusCode::FORBIDDEN, &failure));
    }
    let origin = text_in(headers, &header::ORIGIN);
    if origin.is_some_and(|origin| origin.strip_prefix("http://") != text_in(headers, &header::HOST)) {
        return Err(Refusal::new(StatusCode::FORBIDDEN, &Failure::usage("The request is from another site")));
    }
    Ok(())
}

/// The name of this machine that the request uses.
pub(super) fn host_of(headers: &HeaderMap) -> Option<&str> {
    let host = text_in(headers, &header::HOST)?;
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|digit| digit.is_ascii_digit()) => name,
        _ => host,
    };
    NAMES.contains(&name).then_some(name)
}

fn text_in<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name).map(|value| value.to_str().unwrap_or_default())
}

pub(super) fn check_method(head: &Parts, method: &Method) -> Result<(), Refusal> {
    if head.method == method {
        return Ok(());
    }
    Err(Refusal::new(StatusCode::METHOD_NOT_ALLOWED, &Failure::usage(format!("Only {method} is allowed here"))))
}

pub(super) fn whole(kind: &'static str, body: Bytes) -> Response<Body> {
    let mut response = Response::new(Body::Whole(Full::new(body)));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_this_machine_and_its_own_pages_are_served() {
        let status = |host: &str, origin: Option<&str>| {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, host.parse().unwrap());
            origin.map(|origin| headers.insert(header::ORIGIN, origin.parse().unwrap()));
            check_origin(&headers).err().map(|refusal| refusal.status)
        };
        for (host, origin, is_served) in [
            ("127.0.0.1:80", None, true),
            ("localhost:1", Some("http://localhost:1"), true),
            ("[::1]:1", Some("http://[::1]:1"), true),
            ("[::1]", None, true),
            ("evil.example:80", None, false),
            ("127.0.0.1.evil.example", None, false),
            ("", None, false),
            ("127.0.0.1:80", Some("http://127.0.0.1:81"), false),
            ("127.0.0.1:80", Some("https://127.0.0.1:80"), false),
            ("127.0.0.1:80", Some("null"), false),
            ("127.0.0.1:80", Some("http://evil.example"), false),
        ] {
            assert_eq!(status(host, origin).is_none(), is_served, "{host} {origin:?}");
        }
    }

    #[test]
    fn a_token_is_the_same_only_as_a_whole() {
        assert!(is_same("abc", "abc"));
        assert!(!is_same("ab", "abc") && !is_same("abcd", "abc") && !is_same("abd", "abc") && !is_same("", "abc"));
    }
}
