//! Health probes of orchestrators and load balancers. Anyone can send them, so responses contain
//! only a status and the states of the servers behind a proxy, and the store is checked at most a
//! few times per second.

use super::{reply, response_body::HttpBody};
use crate::{
    connection_state::ConnectionState,
    http::routes::HealthProbe,
    runtime::Runtime,
    server::Server,
    store::{Store, StoreError, StoreGuard},
};
use bytes::Bytes;
use http::{HeaderValue, Method, Response, StatusCode, header};
use std::{sync::Arc, time::Duration};
use tokio::{
    sync::Mutex,
    time::{Instant, timeout},
};

/// By default, Kubernetes waits one second for a probe.
const STORE_TIMEOUT: Duration = Duration::from_millis(500);
/// How long the outcome of a store call is used.
const CACHE_TTL: Duration = Duration::from_millis(500);
/// A key that no record has.
const PROBE_KEY: &str = "v1/probe";

/// Readiness of an endpoint.
pub(super) struct Readiness {
    /// The store of the server, if it has one.
    store: Result<Option<StoreGuard>, StoreError>,
    /// When the store was last called, and whether that succeeded. Locked during the call, so that
    /// concurrent probes share it.
    latest: Mutex<Option<(Instant, bool)>>,
}

impl Readiness {
    pub(super) fn of(server: &Server, runtime: &Arc<dyn Runtime>) -> Self {
        let store = server.store(runtime);
        if let Err(error) = &store {
            tracing::error!(target: "trunkline::server::http", %error, "the server will not be ready");
        }
        Self { store, latest: Mutex::default() }
    }

    async fn is_ready(&self) -> bool {
        let Ok(store) = &self.store else { return false };
        let Some(store) = store else { return true };
        let mut latest = self.latest.lock().await;
        match *latest {
            Some((at, outcome)) if at.elapsed() < CACHE_TTL => outcome,
            _ => {
                let outcome = matches!(timeout(STORE_TIMEOUT, store.get(PROBE_KEY)).await, Ok(Ok(_)));
                *latest = Some((Instant::now(), outcome));
                outcome
            }
        }
    }

    /// Responds to a probe. Servers behind a proxy do not change the status: the next request
    /// reconnects to them, so it must come.
    pub(super) async fn answer(
        &self,
        server: &Server,
        probe: HealthProbe,
        method: &Method,
        is_closing: bool,
    ) -> Response<HttpBody> {
        if !matches!(*method, Method::GET | Method::HEAD) {
            return reply::not_allowed("Send probes with GET", "GET, HEAD");
        }
        let passes = probe == HealthProbe::Liveness || (!is_closing && self.is_ready().await);
        let (status, text) = match passes {
            true => (StatusCode::OK, "ok\n"),
            false => (StatusCode::SERVICE_UNAVAILABLE, "unavailable\n"),
        };
        let states = server.remote_states();
        let body = match states.is_empty() {
            true => Bytes::from_static(text.as_bytes()),
            false => states.iter().fold(text.to_owned(), |text, proxied| text + &line_of(proxied)).into(),
        };
        let mut response = reply::message(status, body);
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain"));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        response
    }
}

/// The line of a server behind a proxy.
fn line_of((prefix, state): &(String, ConnectionState)) -> String {
    let space = if prefix.is_empty() { "" } else { " " };
    format!("proxy{space}{prefix}: {}\n", state.name())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        faulty_store::{FaultyStore, StoreFault},
        store::{ProcessStore, StoreChoice},
        transport::TokioRuntime,
    };

    #[tokio::test(start_paused = true)]
    async fn probes_share_one_call_of_the_store_which_is_bounded() {
        let runtime = TokioRuntime::current();
        let store = FaultyStore::new(Arc::new(ProcessStore::new(Arc::clone(&runtime))));
        store.set(Some(StoreFault::Silent));
        let options = crate::ServerOptions::default().with_store(StoreChoice::custom(Arc::clone(&store) as _));
        let server = Server::builder("probed", "1.0.0").options(options).build();
        let readiness = Arc::new(Readiness::of(&server, &runtime));
        let begin = Instant::now();
        let probes = (0..100).map(|_| {
            let readiness = Arc::clone(&readiness);
            tokio::spawn(async move { readiness.is_ready().await })
        });
        for probe in probes.collect::<Vec<_>>() {
            assert!(!probe.await.unwrap());
        }
        assert_eq!(store.calls(), 1);
        assert!(begin.elapsed() < 2 * STORE_TIMEOUT);
        store.set(None);
        tokio::time::sleep(CACHE_TTL).await;
        assert!(readiness.is_ready().await && readiness.is_ready().await);
        assert_eq!(store.calls(), 2);
    }
}
