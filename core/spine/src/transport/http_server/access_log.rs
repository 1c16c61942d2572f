//! The log of an endpoint: every access at debug level, and the first refusal of each kind as a
//! warning.

use crate::{http::rejection::Rejection, server::HttpRequest};
use http::{Method, StatusCode};
use serde_json::Value;
use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Instant,
};

/// A request in progress.
pub(super) struct AccessRecord {
    method: Method,
    path: String,
    peer: String,
    at: Instant,
}

impl AccessRecord {
    /// Called when a request arrives. Returns `None` if access logging is off.
    pub(super) fn begin(request: &HttpRequest) -> Option<Self> {
        let is_logged = tracing::event_enabled!(target: "trunkline::access", tracing::Level::DEBUG);
        is_logged.then(|| Self {
            method: request.method().clone(),
            path: request.uri().path().to_owned(),
            peer: request.remote_address().map_or_else(|| "-".to_owned(), |address| address.to_string()),
            at: Instant::now(),
        })
    }

    /// Called when the response head is known.
    pub(super) fn end(record: Option<Self>, status: StatusCode) {
        let Some(Self { method, path, peer, at }) = record else { return };
        let milliseconds = at.elapsed().as_secs_f64() * 1e3;
        let status = status.as_u16();
        tracing::debug!(target: "trunkline::access", peer, %method, path, status, milliseconds, "access");
    }
}

/// Logs the first refusal of a kind at an endpoint as a warning, because it may be caused by wrong
/// options. Later ones are debug records, because anyone can cause them.
#[derive(Default)]
pub(super) struct RefusalLog(AtomicBool);

impl RefusalLog {
    /// Logs a refused request; `of` names the offending part.
    pub(super) fn note(&self, of: &str, text: &str) {
        if self.0.swap(true, Ordering::Relaxed) {
            tracing::debug!(target: "trunkline::access", part = of, error = text, "a request was refused");
        } else {
            tracing::warn!(
                target: "trunkline::access",
                part = of,
                error = text,
                "a request was refused (further refusals are logged at level debug)"
            );
        }
    }

    /// Logs a request refused because of its `Host` or `Origin`.
    pub(super) fn by_guard(&self, refusal: &Rejection) {
        let answer: Value = serde_json::from_slice(&refusal.body).unwrap_or_default();
        self.note("origin", answer["error"]["message"].as_str().unwrap_or_default());
    }
}

#[cfg(all(test, feature = "full"))]
mod tests {
    use crate::{
        auth::{Authorization, AuthorizationOptions, Refusal, Verification},
        server::Server,
        tests::kept_log::KeptLog,
        transport::{HttpOptions, HttpService, TokioRuntime},
    };
    use bytes::Bytes;
    use http::{Request, header};
    use http_body_util::Full;
    use std::{
        net::{IpAddr, Ipv4Addr},
        sync::Arc,
    };

    const PEER: Option<IpAddr> = Some(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 7)));

    fn service() -> HttpService {
        let verifier = |verification: Verification| {
            verification.complete(Err(Refusal::InvalidToken("it is not ours".into())));
        };
        let options = AuthorizationOptions::new("https://mcp.example/mcp");
        let options = options.with_authorization_servers(["https://auth.example"]);
        let authorization = Authorization::new(options, Arc::new(verifier)).unwrap();
        let options = HttpOptions::default().with_auth(Some(authorization));
        HttpService::new(Server::builder("logged", "1.0.0").build(), &options, TokioRuntime::current())
    }

    async fn status(service: &HttpService, host: &str, token: Option<&str>) -> u16 {
        let request = Request::post("/mcp?key=secret").header(header::HOST, host);
        let request = match token {
            Some(token) => request.header(header::AUTHORIZATION, format!("Bearer {token}")),
            None => request,
        };
        service.respond(request.body(Full::new(Bytes::new())).unwrap(), PEER).await.status().as_u16()
    }

    #[tokio::test]
    async fn each_access_is_a_record_and_the_first_refusal_of_each_kind_a_warning() {
        let log = KeptLog::default();
        // With a single subscriber, other threads decide the interest of callsites.
        let _other = tracing::Dispatch::new(KeptLog::default());
        let _here = tracing::subscriber::set_default(log.clone());
        for _ in 0..2 {
            // Each endpoint has its own warnings.
            let service = service();
            log.take();
            for is_first in [true, false] {
                for (host, token, expected, part, says) in [
                    ("evil.example", None, 403, "origin", "evil.example"),
                    ("localhost", Some("x"), 401, "access token", "it is not ours"),
                ] {
                    assert_eq!(status(&service, host, token).await, expected);
                    let [refused, access] = &log.take()[..] else { panic!("two records: {host}, {token:?}") };
                    for text in ["a request was refused", part, says] {
                        assert!(refused.contains(text), "{text}: {refused}");
                    }
                    assert_eq!(refused.contains("(further refusals are logged at level debug)"), is_first, "{refused}");
                    let line =
                        format!("access (peer=192.0.2.7, method=POST, path=/mcp, status={expected}, milliseconds=");
                    assert!(access.starts_with(&line), "{access}");
                }
            }
            assert_eq!(status(&service, "localhost", None).await, 401);
            let records = log.take();
            assert!(
                records.len() == 1 && records[0].starts_with("access ("),
                "clients ask without a token at first, as they should: {records:?}"
            );
        }
    }
}
