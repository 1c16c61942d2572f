//! The page and its commands.

use super::{
    answer::Refused,
    apps::Apps,
    commands,
    http::{Body, JSON, Refusal, Serve, check_method, check_origin, guarded, host_of, is_same, whole},
    inspector::Inspector,
    page::{self, File},
};
use crate::failure::Failure;
use http::{
    HeaderValue, Method, Request, Response, StatusCode,
    header::{self, HeaderMap},
    request::Parts,
};
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use std::sync::Arc;

/// Maximum size of a command.
const MAX_COMMAND: usize = 64 << 20;
/// Nothing inline, nothing from elsewhere, and no frame around the page.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; frame-src ";

/// The page of some servers.
pub(super) struct Site {
    /// Each with its name in requests; never empty.
    pub(super) inspectors: Vec<(String, Arc<Inspector>)>,
    pub(super) apps: Arc<Apps>,
    /// The secret of the person.
    pub(super) token: String,
}

impl Serve for Site {
    async fn respond(&self, request: Request<Incoming>) -> Response<Body> {
        let (head, body) = request.into_parts();
        // Apps have the name by which the page was reached, and another port.
        let frames = match host_of(&head.headers) {
            Some(name) => format!("http://{name}:{}", self.apps.port),
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
        match commands::run(inspector, &self.apps, command, &body.to_bytes()).await {
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

/// A file of the page.
fn file(head: &Parts) -> Result<Response<Body>, Refusal> {
    if head.method != Method::HEAD {
        check_method(head, &Method::GET)?;
    }
    let missing = || Refusal::new(StatusCode::NOT_FOUND, &Failure::usage("There is no such file"));
    let accepted = head.headers.get_all(header::ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    let reads_gzip = accepted.flat_map(|value| value.split(',')).any(|coding| {
        let mut parts = coding.split(';').map(str::trim);
        parts.next() == Some("gzip") && parts.all(|part| part != "q=0")
    });
    let File { kind, is_for_ever, is_gzip, content } = page::file(head.uri.path(), reads_gzip).ok_or_else(missing)?;
    let mut response = whole(kind, content);
    let headers = response.headers_mut();
    headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    if is_gzip {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    if is_for_ever {
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("max-age=31536000, immutable"));
    }
    Ok(response)
}
