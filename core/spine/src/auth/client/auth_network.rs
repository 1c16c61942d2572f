//! Network access for authorization, and checks of the URLs that may be requested.

use super::{AuthExchange, AuthObserver, AuthRepeat, observer::Clause, repeat::spent};
use crate::{
    auth::{FetchError, resource_url::is_safe},
    client_auth::AuthError,
    race::within,
    runtime::{BoxedTask, Runtime},
};
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::{net::IpAddr, sync::Arc, time::Duration};
use url::Url;

/// Which networks a request may reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum NetworkAccess {
    /// Public addresses only: the URL is from a server, which must not direct us into our own
    /// network.
    Public,
    /// Private networks and this machine as well: the MCP server itself is there, or the program
    /// supplied the URL.
    Anywhere,
}

/// Sends the HTTP requests of authorization.
///
/// Implementations must limit the size of responses, must not follow redirects, and must check the
/// address they connect to, not only the host name. The option `request_timeout` limits the time.
pub trait AuthNetwork: Send + Sync + 'static {
    /// Sends a request.
    fn fetch(&self, request: Request<Bytes>, access: NetworkAccess) -> BoxedTask<Result<Response<Bytes>, FetchError>>;

    /// Which networks may be reached on behalf of the server at this URL: all of them if the server
    /// itself is in a private network. `peer` is the address that answered, unless a proxy is in
    /// between. A host name proves nothing, because its owner can change what it resolves to.
    fn access_of(&self, url: &str, peer: Option<IpAddr>) -> NetworkAccess;
}

/// How authorization reaches the network for one MCP server.
#[derive(Clone)]
pub(super) struct NetworkContext {
    pub(super) network: Arc<dyn AuthNetwork>,
    pub(super) access: NetworkAccess,
    /// The value of `MCP-Protocol-Version` (AUC-13).
    pub(super) revision: &'static str,
    pub(super) runtime: Arc<dyn Runtime>,
    /// Maximum time of one request.
    pub(super) timeout: Duration,
    pub(super) observer: Option<AuthObserver>,
}

impl NetworkContext {
    /// The current Unix timestamp in seconds. A user or the program may take minutes between two
    /// steps of a grant.
    pub(super) fn now(&self) -> u64 {
        self.runtime.unix_time().as_secs()
    }

    /// Fetches a JSON document. Returns `None` if there is none: some servers answer unknown paths
    /// with a page. A server that is only overloaded must not be mistaken for one without it. The
    /// inner error is about a document that cannot be used; another URL may have a better one.
    pub(super) async fn document<T: DeserializeOwned>(
        &self,
        url: &str,
        clause: Clause,
    ) -> Result<Option<Result<T, AuthError>>, AuthError> {
        check(url)?;
        let request = Request::get(url)
            .header("accept", "application/json")
            .header("mcp-protocol-version", self.revision)
            .body(Bytes::new())
            .map_err(|_| AuthError(format!("{} is not a URL", super::sanitized(url))))?;
        let response = self.fetch(request, clause).await?;
        let status = response.status();
        if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS {
            let (url, status) = (super::sanitized(url), status.as_u16());
            return Err(AuthError(format!("The metadata at {url} is not available (HTTP {status}); try again later")));
        }
        let document: Option<Value> =
            status.is_success().then(|| serde_json::from_slice(response.body()).ok()).flatten();
        let Some(document) = document.filter(Value::is_object) else { return Ok(None) };
        Ok(Some(serde_json::from_value(document).map_err(|error| {
            let (url, error) = (super::sanitized(url), super::sanitized(&error.to_string()));
            AuthError(format!("The metadata at {url} is malformed: {error}"))
        })))
    }

    /// Sends a request to an endpoint.
    pub(super) async fn send(&self, request: Request<Bytes>, clause: Clause) -> Result<Response<Bytes>, AuthError> {
        check(&request.uri().to_string())?;
        self.fetch(request, clause).await
    }

    /// Refuses a page that the user's browser must not open for the server: one of a private
    /// network or this machine, unless the server is there, too.
    pub(super) fn check_page(&self, url: &str) -> Result<(), AuthError> {
        check(url)?;
        let is_private = self.network.access_of(url, None) == NetworkAccess::Anywhere;
        if self.access == NetworkAccess::Public && is_private {
            return Err(AuthError(format!(
                "{} was refused: it is in a private network, but the server that named it is not",
                super::sanitized(url)
            )));
        }
        Ok(())
    }

    /// Tells the observer of a step.
    pub(super) fn observe(&self, step: impl FnOnce() -> AuthExchange) {
        if let Some(observer) = &self.observer {
            observer.see(step());
        }
    }

    async fn fetch(&self, request: Request<Bytes>, clause: Clause) -> Result<Response<Bytes>, AuthError> {
        let seen = self.observer.is_some().then(|| request.clone());
        let response = self.exchange(request).await?;
        if let Some(request) = seen {
            self.observe(|| self.step(clause, &request, &response));
        }
        Ok(response)
    }

    fn step(&self, clause: Clause, request: &Request<Bytes>, response: &Response<Bytes>) -> AuthExchange {
        let repeat = match spent(request, response.status()) {
            Some(why) => AuthRepeat(Err(why)),
            None => self.repeat(clause, request.clone()),
        };
        clause.step(request, response, repeat)
    }

    fn repeat(&self, clause: Clause, request: Request<Bytes>) -> AuthRepeat {
        let network = self.clone();
        AuthRepeat(Ok(Arc::new(move || {
            let (network, request) = (network.clone(), request.clone());
            Box::pin(async move {
                let response = network.exchange(request.clone()).await?;
                Ok(network.step(clause, &request, &response))
            })
        })))
    }

    /// Sends a request that no observer sees.
    pub(super) async fn exchange(&self, request: Request<Bytes>) -> Result<Response<Bytes>, AuthError> {
        let url = request.uri().to_string();
        let fetched = within(&*self.runtime, self.timeout, self.network.fetch(request, self.access)).await;
        let fetched = fetched.unwrap_or_else(|| Err(FetchError::timed_out(&url, self.timeout)));
        fetched.map_err(|error| AuthError(super::sanitized(&error.0)))
    }
}

/// Refuses URLs that are neither https nor on this machine (SEC-12, SEC-15, SEC-17).
pub(super) fn check(url: &str) -> Result<(), AuthError> {
    let safe = Url::parse(url).is_ok_and(|url| is_safe(&url) && url.username().is_empty() && url.password().is_none());
    if safe && !url.chars().any(char::is_control) {
        return Ok(());
    }
    Err(AuthError(format!(
        "{:?} was refused: authorization URLs must use https or point to this machine",
        super::sanitized(url)
    )))
}

/// Splits an absolute URL into origin and path, without normalization.
pub(super) fn split(url: &str) -> Option<(&str, &str)> {
    let start = url.find("://")? + 3;
    let end = url[start..].find(['?', '#']).map_or(url.len(), |at| start + at);
    let path = url[start..end].find('/').map_or(end, |at| start + at);
    (path > start).then(|| (&url[..path], &url[path..end]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    /// A network that refuses the first request, and grants the others.
    struct Network(Mutex<Vec<Request<Bytes>>>);

    impl AuthNetwork for Network {
        fn fetch(&self, request: Request<Bytes>, _: NetworkAccess) -> BoxedTask<Result<Response<Bytes>, FetchError>> {
            let mut requests = self.0.lock().unwrap();
            requests.push(request);
            let (status, body) =
                if requests.len() == 1 { (400, r#"{"error":"x"}"#) } else { (200, r#"{"token_type":"Bearer"}"#) };
            let response = Response::builder().status(status).body(Bytes::from_static(body.as_bytes())).unwrap();
            Box::pin(std::future::ready(Ok(response)))
        }

        fn access_of(&self, _: &str, _: Option<IpAddr>) -> NetworkAccess {
            NetworkAccess::Anywhere
        }
    }

    #[tokio::test]
    async fn a_step_is_repeated_until_its_code_is_used() {
        let (network, seen) = (Arc::new(Network(Mutex::default())), Arc::new(Mutex::new(Vec::new())));
        let observed = Arc::clone(&seen);
        let context = NetworkContext {
            network: Arc::<Network>::clone(&network),
            access: NetworkAccess::Anywhere,
            revision: "",
            runtime: crate::transport::TokioRuntime::current(),
            timeout: Duration::from_secs(60),
            observer: Some(AuthObserver::new(move |step| observed.lock().unwrap().push(step))),
        };
        let form = Bytes::from_static(b"grant_type=authorization_code&code=secret");
        let request = Request::post("https://a.example/token").header("accept", "application/json").body(form).unwrap();
        context.send(request, Clause::TOKEN).await.unwrap();
        let refused = seen.lock().unwrap()[0].clone();
        assert_eq!((refused.status, &*refused.members), (Some(400), &["error = x".to_owned()][..]));
        let repeated = refused.repeat.send().await.unwrap();
        assert_eq!((repeated.status, &*repeated.members), (Some(200), &["token_type = Bearer".to_owned()][..]));
        let error = repeated.repeat.send().await.unwrap_err();
        assert!(error.0.contains("used its code"), "{error}");
        let sent = network.0.lock().unwrap();
        assert_eq!((sent.len(), sent[0].body(), sent[0].headers()), (2, sent[1].body(), sent[1].headers()));
        assert_eq!(seen.lock().unwrap().len(), 1, "the observer sees the login only");
        assert!(!format!("{refused:?}").contains("secret"));
    }

    #[test]
    fn urls_are_split_as_they_are() {
        assert_eq!(split("HTTPS://A.example:443/a%2fb/?q#f"), Some(("HTTPS://A.example:443", "/a%2fb/")));
        assert_eq!(split("https://a?x/y"), Some(("https://a", "")));
        assert_eq!(split("mailto:a"), None);
        assert_eq!(split("https:///x"), None);
    }

    #[tokio::test]
    async fn sec_13_a_public_server_opens_no_page_of_a_private_network() {
        struct Names;

        impl AuthNetwork for Names {
            fn fetch(&self, _: Request<Bytes>, _: NetworkAccess) -> BoxedTask<Result<Response<Bytes>, FetchError>> {
                Box::pin(std::future::pending())
            }

            fn access_of(&self, url: &str, _: Option<IpAddr>) -> NetworkAccess {
                if url.contains("127.0.0.1") { NetworkAccess::Anywhere } else { NetworkAccess::Public }
            }
        }

        let runtime = crate::transport::TokioRuntime::current();
        let (network, timeout) = (Arc::new(Names), Duration::ZERO);
        let access = NetworkAccess::Public;
        let public = NetworkContext { network, access, revision: "", runtime, timeout, observer: None };
        assert_eq!(public.check_page("https://auth.example/authorize"), Ok(()));
        let error = public.check_page("http://127.0.0.1:8080/shutdown").unwrap_err();
        assert!(error.0.contains("is in a private network"), "{error}");
        let private = NetworkContext { access: NetworkAccess::Anywhere, ..public };
        assert_eq!(private.check_page("http://127.0.0.1:8080/authorize"), Ok(()));
    }

    #[test]
    fn sec_12_and_sec_15_and_sec_17_dangerous_urls_are_refused() {
        for url in ["https://a.example/x", "http://localhost:1/x", "http://127.0.0.1/x"] {
            assert_eq!(check(url), Ok(()), "{url}");
        }
        for url in [
            "http://a.example",
            "javascript:alert(1)",
            "file:///etc/passwd",
            "data:x",
            "https://u:p@a.example",
            "https://a\n.example",
            "",
            "/x",
        ] {
            assert!(check(url).is_err(), "{url}");
        }
    }
}
