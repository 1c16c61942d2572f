//! Serves the page and its commands, and its apps, to the person on this machine and nobody else.

use super::{
    commands::{self, Refused},
    inspector::Inspector,
    page::{self, File},
};
use crate::failure::{Failure, Problem};
use bytes::Bytes;
use http::{
    HeaderValue, Method, Request, Response, StatusCode,
    header::{self, HeaderMap, HeaderName},
    request::Parts,
};
use http_body::{Frame, SizeHint};
use http_body_util::{BodyExt, Full, Limited};
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
/// Maximum size of a command.
const MAX_COMMAND: usize = 64 << 20;
/// The pause after a failed accept, such as for lack of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Nothing inline, nothing from elsewhere, and no frame around the page.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; frame-src ";

/// The headers of every response.
const HEADERS: [(HeaderName, &str); 4] = [
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// The names of this machine.
pub(super) const NAMES: [&str; 3] = ["127.0.0.1", "localhost", "[::1]"];

const JSON: &str = "application/json";

/// The page of some servers.
pub(super) struct Site {
    /// Each with its name in requests; never empty.
    pub(super) inspectors: Vec<(String, Arc<Inspector>)>,
    /// The secret of the person.
    pub(super) token: String,
}

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
    status: StatusCode,
    problem: Problem,
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

impl Serve for Site {
    async fn respond(&self, request: Request<Incoming>) -> Response<Body> {
        let (head, body) = request.into_parts();
        // Apps have the name by which the page was reached, and another port.
        let apps = self.inspectors.first().map(|(_, inspector)| inspector.apps.port);
        let frames = match host_of(&head.headers).zip(apps) {
            Some((name, port)) => format!("http://{name}:{port}"),
            None => "'none'".to_owned(),
        };
        guarded(self.answer(&head, body).await, &format!("{POLICY}{frames}"))
    }
}

impl Site {
    async fn answer(&self, head: &Parts, body: Incoming) -> Result<Response<Body>, Refusal> {
        check_origin(&head.headers)?;
        let path = head.uri.path();
        let Some(command) = path.strip_prefix("/api/") else { return file(head) };
        self.check_token(&head.headers)?;
        let inspector = self.inspector(head.uri.query())?;
        if command == "events" {
            check_method(head, &Method::GET)?;
            let mut response = Response::new(Body::Lines(inspector.hub.open_tab()));
            let kind = HeaderValue::from_static("application/x-ndjson");
            response.headers_mut().insert(header::CONTENT_TYPE, kind);
            return Ok(response);
        }
        check_method(head, &Method::POST)?;
        let body = Limited::new(body, MAX_COMMAND).collect().await.map_err(|_| {
            let failure = Failure::usage(format!("The command has more than {} MB", MAX_COMMAND >> 20));
            Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, &failure)
        })?;
        match commands::run(inspector, command, &body.to_bytes()).await {
            Ok(answer) => Ok(whole(JSON, answer.into())),
            Err(Refused::Failed(problem)) => Err(Refusal { status: StatusCode::BAD_REQUEST, problem }),
            Err(Refused::Unknown) => {
                Err(Refusal::new(StatusCode::NOT_FOUND, &Failure::usage("There is no such command")))
            }
        }
    }

    /// The inspector of the server that a request names; the first one otherwise.
    fn inspector(&self, query: Option<&str>) -> Result<&Arc<Inspector>, Refusal> {
        let wanted = query.and_then(|query| query.strip_prefix("server="));
        let found = self.inspectors.iter().find(|(id, _)| wanted.is_none_or(|wanted| wanted == id));
        let missing = || Refusal::new(StatusCode::NOT_FOUND, &Failure::usage("There is no such server on this page"));
        found.map(|(_, inspector)| inspector).ok_or_else(missing)
    }

    fn check_token(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        let given = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        if given.and_then(|value| value.strip_prefix("Bearer ")).is_some_and(|given| is_same(given, &self.token)) {
            return Ok(());
        }
        let failure = Failure::usage("The token is missing or wrong").hint("open the URL that trunkline printed");
        Err(Refusal::new(StatusCode::UNAUTHORIZED, &failure))
    }
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
fn host_of(headers: &HeaderMap) -> Option<&str> {
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

/// A file of the page.
fn file(head: &Parts) -> Result<Response<Body>, Refusal> {
    if head.method != Method::HEAD {
        check_method(head, &Method::GET)?;
    }
    let missing = || Refusal::new(StatusCode::NOT_FOUND, &Failure::usage("There is no such file"));
    let accepted = head.headers.get_all(header::ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    let accepted: Vec<&str> = accepted.flat_map(|value| value.split(',')).collect();
    let accepts = |wanted: &str| {
        accepted.iter().any(|coding| {
            let mut parts = coding.split(';').map(str::trim);
            parts.next() == Some(wanted) && parts.all(|part| part != "q=0")
        })
    };
    let File { kind, is_for_ever, coding, content } = page::file(head.uri.path(), accepts).ok_or_else(missing)?;
    let mut response = whole(kind, content);
    let headers = response.headers_mut();
    headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    if let Some(coding) = coding {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static(coding));
    }
    if is_for_ever {
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("max-age=31536000, immutable"));
    }
    Ok(response)
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
