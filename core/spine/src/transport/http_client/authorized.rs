//! HTTP requests with credentials, which are renewed if the server refuses them.

use super::{
    http_failure::{self, SentSecrets},
    http_link::LinkContext,
    redirects::{MAX_REDIRECTS, followed},
};
use crate::{
    client::{LinkFailure, LinkMessage},
    client_auth::{AuthError, CredentialsRefusal, OutgoingRequest},
    on_drop::OnDrop,
    protocol::{RequestId, Revision},
    race::guarded,
    transport::{TokioRuntime, observed_exchange::ObservedExchange},
    wire_log::Side,
};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use reqwest::{Response, Url};
use serde::Deserialize;
use std::{
    future::Future,
    time::{Duration, SystemTime},
};

/// Maximum attempts of one request: 401, a nonce, and three scope step-ups.
const MAX_ATTEMPTS: usize = 6;
/// Maximum time to obtain credentials, including the longest login.
const CREDENTIALS_TIMEOUT: Duration = Duration::from_secs(20 * 60);
/// The header with the nonce for the next proof (RFC 9449 section 8).
const DPOP_NONCE: HeaderName = HeaderName::from_static("dpop-nonce");

/// A request to the server; by default, a GET.
#[derive(Default)]
pub(super) struct EndpointRequest<'a> {
    pub(super) method: Method,
    /// The URL, if it is not that of the endpoint.
    pub(super) target: Option<&'a Url>,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    /// The JSON-RPC request whose response a caller is waiting for.
    pub(super) id: Option<&'a RequestId>,
    /// True if the user is not asked to log in for it.
    pub(super) unattended: bool,
}

impl<'a> EndpointRequest<'a> {
    pub(super) fn post(headers: HeaderMap, message: &'a LinkMessage) -> Self {
        let request = message.request.as_ref();
        let (id, unattended) = (request.map(|request| &request.id), request.is_some_and(|request| request.unattended));
        Self { method: Method::POST, headers, body: message.bytes.clone(), id, unattended, target: None }
    }
}

impl LinkContext {
    /// Sends a request with the client's credentials, if any (AUC-31), and retries it when new ones
    /// were obtained.
    pub(super) async fn send(&self, outgoing: EndpointRequest<'_>) -> Result<Response, LinkFailure> {
        let Some(auth) = &self.route.auth else { return self.send_with(&outgoing, &[]).await };
        let mut request = OutgoingRequest::new(
            outgoing.method.as_str(),
            self.route.url.as_str(),
            TokioRuntime::from_handle(self.runtime.clone()),
        );
        if let Some(target) = outgoing.target {
            request.target = target.as_str().to_owned();
        }
        // AUC-13: during the handshake, the revision that it offers.
        let revision = self.state.lock().revision.or_else(|| offered(&outgoing.body));
        request.revision = revision.map(Revision::as_str);
        let mut round = 0;
        loop {
            let credentials = self.paused(&outgoing, async { auth.headers(&request).await }).await?;
            let response = self.send_with(&outgoing, &credentials).await?;
            if let Some(nonce) = response.headers().get(&DPOP_NONCE).and_then(|nonce| nonce.to_str().ok()) {
                auth.nonce(&request, nonce);
            }
            let refused = matches!(response.status(), StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
            if !refused || round + 1 == MAX_ATTEMPTS {
                return Ok(response);
            }
            let challenges = response.headers().get_all(header::WWW_AUTHENTICATE).iter();
            let refusal = CredentialsRefusal {
                status: response.status().as_u16(),
                challenges: challenges.filter_map(|value| value.to_str().ok().map(str::to_owned)).collect(),
                headers: credentials,
                round,
                interactive: outgoing.id.is_some() && !outgoing.unattended,
                peer: response.remote_addr().filter(|_| self.route.target.proxy.is_none()).map(|address| address.ip()),
            };
            if !self.paused(&outgoing, async { auth.refused(&request, refusal).await }).await? {
                return Ok(response);
            }
            round += 1;
        }
    }

    /// Sends a request with credentials and cookies, and follows redirects.
    async fn send_with(
        &self,
        outgoing: &EndpointRequest<'_>,
        credentials: &[(String, String)],
    ) -> Result<Response, LinkFailure> {
        let mut url = outgoing.target.unwrap_or(&self.route.url).clone();
        let mut redirects = 0;
        loop {
            let mut headers = with_credentials(&outgoing.headers, credentials)?;
            self.cookies.add_to(&mut headers, &url, SystemTime::now());
            let secrets = SentSecrets::of(&headers);
            let observed = ObservedExchange::begin(Side::Client, &outgoing.method, &url, &headers)
                .map(|observed| observed.of_client(self.inbox.connection()));
            let mut request = self.route.client.request(outgoing.method.clone(), url).headers(headers);
            if outgoing.method == Method::POST {
                request = request.body(outgoing.body.clone());
            }
            let sent = request.send().await.map_err(|error| http_failure::of_reqwest(&self.route.target, error));
            let mut response = match sent {
                Ok(response) => response,
                Err(failure) => {
                    ObservedExchange::failed(observed, &failure.to_string());
                    return Err(failure);
                }
            };
            ObservedExchange::answered(observed, response.status(), response.headers());
            self.cookies.keep(response.headers(), response.url(), SystemTime::now());
            match followed(&response).filter(|_| redirects < MAX_REDIRECTS) {
                Some(target) => url = target,
                None => {
                    http_failure::check_encoding(&self.route.target, &response)?;
                    secrets.attach(&mut response);
                    return Ok(response);
                }
            }
            redirects += 1;
        }
    }

    /// Waits for credentials. A login does not count towards the timeouts of the request.
    async fn paused<T>(
        &self,
        outgoing: &EndpointRequest<'_>,
        credentials: impl Future<Output = Result<T, AuthError>>,
    ) -> Result<T, LinkFailure> {
        let _paused = outgoing.id.map(|id| {
            self.inbox.pause(id);
            OnDrop::new(|| self.inbox.resume(id))
        });
        let target = &self.route.target;
        // A panic would end the task without a word to the caller.
        let why = match tokio::time::timeout(CREDENTIALS_TIMEOUT, guarded(credentials)).await {
            Ok(Some(Ok(value))) => return Ok(value),
            Ok(Some(Err(error))) => error.to_string(),
            Ok(None) => "the code that supplies them panicked".to_owned(),
            Err(_) => format!("none were supplied within {CREDENTIALS_TIMEOUT:?}"),
        };
        Err(without_credentials(format!("No credentials for {target}: {why}")))
    }
}

/// The revision that an `initialize` offers.
pub(super) fn offered(initialize: &[u8]) -> Option<Revision> {
    #[derive(Deserialize)]
    struct Initialize {
        params: Params,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Params {
        protocol_version: String,
    }
    let initialize: Initialize = serde_json::from_slice(initialize).ok()?;
    Revision::parse(&initialize.params.protocol_version)
}

/// No request was sent, because there are no credentials.
fn without_credentials(text: String) -> LinkFailure {
    LinkFailure::Unauthorized { text, demand: Box::default() }
}

fn with_credentials(headers: &HeaderMap, credentials: &[(String, String)]) -> Result<HeaderMap, LinkFailure> {
    let mut all = headers.clone();
    for (name, value) in credentials {
        let malformed =
            || without_credentials(format!("The header {name:?} cannot be sent: its name or value is malformed"));
        let name = HeaderName::try_from(name).map_err(|_| malformed())?;
        let mut value = HeaderValue::try_from(value).map_err(|_| malformed())?;
        value.set_sensitive(true);
        all.insert(name, value);
    }
    Ok(all)
}
