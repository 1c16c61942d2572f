//! Repeating one step of a login.

use super::{AuthExchange, auth_network::NetworkContext, observer::Clause};
use crate::client_auth::AuthError;
use bytes::Bytes;
use http::{Request, StatusCode};
use std::{fmt, sync::Arc};
use url::form_urlencoded;

/// Repeats a step of a login with what the steps before it have given. Its request may contain
/// secrets, which it does not show.
#[derive(Clone)]
pub struct AuthRepeat(Result<Arc<Kept>, &'static str>);

struct Kept {
    network: NetworkContext,
    request: Request<Bytes>,
    clause: Clause,
}

impl AuthRepeat {
    /// The step of a browser.
    pub(super) const IN_BROWSER: Self = Self(Err("This request is one of your browser: log in again to make it"));
    /// The refusal with which a login begins.
    pub(super) const BY_SERVER: Self = Self(Err("The next request to the server repeats this: log in again"));

    /// The step of a request that got this status.
    pub(super) fn new(network: &NetworkContext, request: &Request<Bytes>, clause: Clause, status: StatusCode) -> Self {
        let kept = || Arc::new(Kept { network: network.clone(), request: request.clone(), clause });
        Self(spent(request, status).map_or_else(|| Ok(kept()), Err))
    }

    /// Sends the request again, as it was. The login does not continue from there, and the observer
    /// is not told.
    ///
    /// # Errors
    /// If there is no response, or the request cannot be repeated: a browser made it, or it contains
    /// a code that is valid once.
    pub async fn send(&self) -> Result<AuthExchange, AuthError> {
        let kept = self.0.as_ref().map_err(|why| AuthError((*why).to_owned()))?;
        let response = kept.network.exchange(kept.request.clone()).await?;
        Ok(kept.clause.step(&kept.network, &kept.request, &response))
    }
}

impl fmt::Debug for AuthRepeat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AuthRepeat")
    }
}

/// Repeating it adds nothing to what a step says.
impl PartialEq for AuthRepeat {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for AuthRepeat {}

/// Why a request that got this status cannot be sent a second time.
fn spent(request: &Request<Bytes>, status: StatusCode) -> Option<&'static str> {
    if request.headers().contains_key("dpop") {
        return Some("The proof of this request is valid once (RFC 9449 section 11.1): log in again");
    }
    let (_, grant) = form_urlencoded::parse(request.body()).find(|(name, _)| name == "grant_type")?;
    if !status.is_success() || grant == "client_credentials" {
        return None;
    }
    Some(match &*grant {
        "authorization_code" => {
            "This request has used its code, which is valid once (RFC 6749 section 4.1.2): log in again"
        }
        "refresh_token" => "This request may have replaced its refresh token (RFC 6749 section 6): log in again",
        _ => "This request has used its grant, which is valid once: log in again",
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        auth::{AuthNetwork, AuthObserver, FetchError, NetworkAccess},
        runtime::BoxedTask,
    };
    use http::Response;
    use std::{net::IpAddr, sync::Mutex, time::Duration};

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
    fn what_is_valid_once_is_not_repeated() {
        let of = |form: &str, status: StatusCode, proof: bool| {
            let mut request =
                Request::post("https://a.example/").body(Bytes::copy_from_slice(form.as_bytes())).unwrap();
            if proof {
                request.headers_mut().insert("dpop", "x".parse().unwrap());
            }
            spent(&request, status)
        };
        for grant in ["authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:device_code"] {
            let form = format!("grant_type={}", grant.replace(':', "%3A"));
            assert!(of(&form, StatusCode::OK, false).is_some(), "{grant}");
            assert_eq!(of(&form, StatusCode::BAD_REQUEST, false), None, "{grant}");
        }
        assert_eq!(of("grant_type=client_credentials", StatusCode::OK, false), None);
        assert_eq!(of("{}", StatusCode::CREATED, false), None);
        assert!(of("", StatusCode::BAD_REQUEST, true).is_some());
    }
}
