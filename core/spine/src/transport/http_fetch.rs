//! Fetches documents that the core itself needs: keys and metadata of authorization servers.

use super::{
    http_defaults::{AGENT, trusting},
    observed_exchange::ObservedExchange,
};
use crate::{
    auth::{AuthOptionError, Authorization, AuthorizationOptions, Fetch, FetchError, JwtOptions, JwtVerifier, is_safe},
    http::guard::is_loopback,
    protocol::envelope::without_mark,
    runtime::BoxedTask,
    wire_log::Side,
};
use bytes::{Bytes, BytesMut};
use http::{Request, Response};
use reqwest::{Client, ClientBuilder, Url, redirect};
use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

/// How long one document may take.
const FETCH_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum size of a document.
const MAX_BYTES: usize = 512 * 1024;

/// Fetches documents over https, or plain HTTP from this machine; without redirects, within five
/// seconds, and at most half a megabyte.
#[derive(Clone, Default)]
pub struct HttpFetch {
    clients: Arc<FetchClients>,
}

#[derive(Default)]
pub(super) struct FetchClients {
    far: FetchClient,
    /// For this machine, which is never behind a proxy.
    near: FetchClient,
}

/// A client that follows no redirects, created by its first use.
#[derive(Default)]
pub(super) struct FetchClient(OnceLock<Result<Client, String>>);

impl FetchClient {
    pub(super) fn with(&self, options: impl FnOnce(ClientBuilder) -> ClientBuilder) -> Result<Client, FetchError> {
        let client = self.0.get_or_init(|| {
            let builder = Client::builder().user_agent(AGENT).redirect(redirect::Policy::none());
            trusting(options(builder), &[])
                .build()
                .map_err(|error| format!("The HTTP client cannot be set up: {error}"))
        });
        client.clone().map_err(FetchError)
    }
}

impl FetchClients {
    pub(super) fn of(&self, is_near: bool) -> Result<Client, FetchError> {
        if is_near { self.near.with(ClientBuilder::no_proxy) } else { self.far.with(|builder| builder) }
    }
}

impl Fetch for HttpFetch {
    fn fetch(&self, request: Request<Bytes>) -> BoxedTask<Result<Response<Bytes>, FetchError>> {
        let fetch = self.clone();
        Box::pin(async move {
            let uri = request.uri().to_string();
            let failed = |text: &str| FetchError(format!("{uri} {text}"));
            let url = Url::parse(&uri).ok().filter(is_safe).ok_or_else(|| failed("is not https"))?;
            let request = request.try_into().map_err(|_| failed("is not a valid request URL"))?;
            let client = fetch.clients.of(url.host_str().is_some_and(is_loopback))?;
            let fetched = tokio::time::timeout(FETCH_TIMEOUT, bounded(client, request, &uri)).await;
            fetched.unwrap_or_else(|_| Err(FetchError::timed_out(&uri, FETCH_TIMEOUT)))
        })
    }
}

/// Sends a request and reads its response, up to the maximum size; `uri` names it in errors.
pub(super) async fn bounded(
    client: Client,
    request: reqwest::Request,
    uri: &str,
) -> Result<Response<Bytes>, FetchError> {
    // reqwest's own message repeats the URL; the cause is more helpful.
    let unreachable = |error: reqwest::Error| FetchError(format!("Could not fetch {uri}: {}", cause(&error)));
    let url = request.url().as_str();
    let observed = ObservedExchange::begin(Side::Client, request.method(), &url, request.headers());
    let executed = client.execute(request).await.map_err(unreachable);
    let mut response = match executed {
        Ok(response) => response,
        Err(error) => {
            ObservedExchange::failed(observed, &error.0);
            return Err(error);
        }
    };
    ObservedExchange::answered(observed, response.status(), response.headers());
    let mut body = BytesMut::new();
    while let Some(piece) = response.chunk().await.map_err(unreachable)? {
        if body.len() + piece.len() > MAX_BYTES {
            return Err(FetchError(format!("{uri} is too large")));
        }
        body.extend_from_slice(&piece);
    }
    let body = body.freeze();
    let mut answer = Response::new(body.slice_ref(without_mark(&body)));
    *answer.status_mut() = response.status();
    *answer.headers_mut() = std::mem::take(response.headers_mut());
    Ok(answer)
}

fn cause(error: &dyn std::error::Error) -> String {
    let innermost = std::iter::successors(error.source(), |&error| error.source()).last();
    innermost.map_or_else(|| error.to_string(), ToString::to_string)
}

impl Authorization {
    /// The usual case: JWT access tokens, with keys fetched from their issuers. If only one of
    /// issuers and authorization servers is set, it is used for both.
    ///
    /// # Errors
    /// If an option is invalid; the message names it.
    pub fn jwt(options: AuthorizationOptions, jwt: JwtOptions) -> Result<Self, AuthOptionError> {
        options.resource_url()?;
        let or = |given: Vec<String>, other: &[String]| if given.is_empty() { other.to_vec() } else { given };
        let issuer = or(jwt.issuer, &options.authorization_servers);
        let authorization_servers = or(options.authorization_servers, &issuer);
        let verifier = JwtVerifier::new(JwtOptions { issuer, ..jwt }, Arc::new(HttpFetch::default()))?;
        Self::new(AuthorizationOptions { authorization_servers, ..options }, Arc::new(verifier))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::TcpListener,
    };

    async fn fetch(url: &str) -> Result<Response<Bytes>, FetchError> {
        HttpFetch::default().fetch(Request::get(url).body(Bytes::new()).unwrap()).await
    }

    /// Answers one request with this text.
    async fn serving(text: Vec<u8>) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/keys", listener.local_addr().unwrap());
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut buffer = [0; 4096];
            let _ = stream.read(&mut buffer).await;
            // The client may close the connection early.
            let _ = stream.write_all(&text).await;
        });
        url
    }

    #[tokio::test]
    async fn documents_are_fetched_whole() {
        let url = serving(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}".to_vec()).await;
        assert_eq!(fetch(&url).await.unwrap().body(), "{}");
    }

    #[tokio::test]
    async fn redirects_are_not_followed() {
        let text = "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/secret\r\nContent-Length: 0\r\n\r\n";
        let url = serving(text.as_bytes().to_vec()).await;
        assert_eq!(fetch(&url).await.unwrap().status(), 302);
    }

    #[tokio::test]
    async fn large_documents_are_refused() {
        let mut text = b"HTTP/1.1 200 OK\r\n\r\n".to_vec();
        text.resize(MAX_BYTES + 1000, b' ');
        let url = serving(text).await;
        assert!(fetch(&url).await.unwrap_err().0.contains("too large"));
    }

    #[tokio::test]
    async fn plain_http_elsewhere_and_other_schemes_are_refused() {
        for url in ["http://192.0.2.1/keys", "http://auth.example/keys", "ftp://localhost/keys"] {
            assert!(fetch(url).await.unwrap_err().0.contains("not https"), "{url}");
        }
    }
}
