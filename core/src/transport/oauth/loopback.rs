//! Redirects to a port of this machine (RFC 8252 section 7.3).

use super::super::browser;
use crate::{
    auth::{AuthError, AuthorizationHandler, Authorizing},
    runtime::BoxedTask,
};
use std::{io, sync::Arc, time::Duration};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};
use url::Url;

/// Time of one request to arrive.
const REQUEST_WITHIN: Duration = Duration::from_secs(5);
/// The longest request.
const MAX_REQUEST: usize = 64 * 1024;
const HOST: &str = "127.0.0.1";
const PATH: &str = "/callback";
const PAGE: &str =
    "<!doctype html><meta charset=utf-8><title>Done</title><p>You can close this page and return to the program.";

type OpenBrowser = Arc<dyn Fn(&str) -> io::Result<()> + Send + Sync>;

/// Opens the browser of this machine and receives the redirect at a free port of 127.0.0.1. A
/// client that registered itself takes the port of its registration again, where it is free: not
/// every authorization server lets the port vary, as RFC 8252 section 7.3 has it.
#[derive(Clone)]
pub struct LoopbackHandler {
    open: OpenBrowser,
    redirect: RedirectParts,
}

/// The parts of the redirect URI.
#[derive(Clone)]
struct RedirectParts {
    host: String,
    /// 0: one that is free.
    port: u16,
    path: String,
}

impl Default for LoopbackHandler {
    fn default() -> Self {
        Self::with_opener(browser::open)
    }
}

impl LoopbackHandler {
    /// With another way to let the user visit a URL, for example by printing it.
    pub fn with_opener(open: impl Fn(&str) -> io::Result<()> + Send + Sync + 'static) -> Self {
        let redirect = RedirectParts { host: HOST.to_owned(), port: 0, path: PATH.to_owned() };
        Self { open: Arc::new(open), redirect }
    }

    /// Receives the redirect at this URI, which the client was registered with:
    /// `http://127.0.0.1:8912/callback`, or with the host `localhost` or `[::1]`. Without a port, a
    /// free one is taken.
    ///
    /// # Errors
    /// If it is not such a URI.
    pub fn with_redirect_uri(self, uri: &str) -> Result<Self, AuthError> {
        let Some(redirect) = RedirectParts::read(uri) else {
            return Err(AuthError(format!(
                "{uri:?} cannot be received on this machine: it must be like http://127.0.0.1:8912/callback"
            )));
        };
        Ok(Self { redirect, ..self })
    }
}

impl RedirectParts {
    fn read(uri: &str) -> Option<Self> {
        let url = Url::parse(uri).ok().filter(|url| {
            let plain = url.query().is_none() && url.fragment().is_none() && url.username().is_empty();
            url.scheme() == "http" && plain && matches!(url.host_str(), Some("127.0.0.1" | "localhost" | "[::1]"))
        })?;
        let host = url.host_str()?.to_owned();
        Some(Self { host, port: url.port().unwrap_or(0), path: url.path().to_owned() })
    }

    /// Takes the port, or one that is free: that of the registration, if it is.
    async fn listen(&self, registered: Option<Self>) -> io::Result<TcpListener> {
        let host = self.host.trim_matches(['[', ']']);
        let alike = |other: &Self| (&other.host, &other.path) == (&self.host, &self.path);
        if self.port == 0
            && let Some(registered) = registered.filter(alike)
            && let Ok(listener) = TcpListener::bind((host, registered.port)).await
        {
            return Ok(listener);
        }
        TcpListener::bind((host, self.port)).await
    }
}

impl AuthorizationHandler for LoopbackHandler {
    fn begin(&self, registered: Option<String>) -> BoxedTask<Result<Box<dyn Authorizing>, AuthError>> {
        let (open, mut redirect) = (Arc::clone(&self.open), self.redirect.clone());
        Box::pin(async move {
            let no_port = |error: io::Error| AuthError(format!("No port for the redirect: {error}"));
            let registered = registered.as_deref().and_then(RedirectParts::read);
            let listener = redirect.listen(registered).await.map_err(no_port)?;
            redirect.port = listener.local_addr().map_err(no_port)?.port();
            let authorizing: Box<dyn Authorizing> = Box::new(RedirectReceiver { listener, redirect, open });
            Ok(authorizing)
        })
    }
}

struct RedirectReceiver {
    listener: TcpListener,
    redirect: RedirectParts,
    open: OpenBrowser,
}

impl Authorizing for RedirectReceiver {
    fn redirect_uri(&self) -> String {
        let RedirectParts { host, port, path } = &self.redirect;
        format!("http://{host}:{port}{path}")
    }

    fn visit(self: Box<Self>, url: String) -> BoxedTask<Result<String, AuthError>> {
        Box::pin(async move {
            if let Err(error) = (self.open)(&url) {
                tracing::warn!(target: "trunkline::auth::client", %url, %error, "no browser could be opened: visit the page yourself");
            }
            loop {
                let accepted = self.listener.accept().await;
                let (stream, _) = accepted.map_err(|error| AuthError(format!("No redirect was received: {error}")))?;
                // Browsers connect ahead, and ask for icons.
                if let Ok(Some(query)) = tokio::time::timeout(REQUEST_WITHIN, answer(stream, &self.redirect.path)).await
                {
                    return Ok(query);
                }
            }
        })
    }
}

/// Answers one request; gives the query of the redirect.
async fn answer(mut stream: TcpStream, expected: &str) -> Option<String> {
    let mut head = Vec::new();
    while !head.windows(4).any(|window| window == b"\r\n\r\n") {
        if head.len() > MAX_REQUEST || stream.read_buf(&mut head).await.ok()? == 0 {
            return None;
        }
    }
    let line = String::from_utf8_lossy(head.split(|byte| *byte == b'\r').next()?).into_owned();
    let query = line.strip_prefix("GET ").and_then(|rest| rest.split(' ').next()).and_then(|target| {
        let (path, query) = target.split_once('?')?;
        (path == expected).then(|| query.to_owned())
    });
    let (status, page) = if query.is_some() { ("200 OK", PAGE) } else { ("404 Not Found", "") };
    let text = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: {}\r\nCache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nConnection: close\r\n\r\n{page}",
        page.len()
    );
    // The redirect counts, even if the browser is gone.
    let _ = stream.write_all(text.as_bytes()).await;
    let _ = stream.shutdown().await;
    query
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_redirect_is_received_and_nothing_else() {
        let handler = LoopbackHandler::with_opener(|url| {
            let url = url.to_owned();
            tokio::spawn(async move {
                for target in ["/favicon.ico", "/callback", "/callback?code=a%20b&state=s"] {
                    let mut stream = TcpStream::connect(&url).await.unwrap();
                    stream.write_all(format!("GET {target} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes()).await.unwrap();
                    let mut text = String::new();
                    stream.read_to_string(&mut text).await.unwrap();
                    assert_eq!(text.starts_with("HTTP/1.1 200"), target.contains('?'), "{target}: {text}");
                }
            });
            Err(io::Error::other("no browser"))
        });
        let authorizing = handler.begin(None).await.unwrap();
        let uri = authorizing.redirect_uri();
        let address = uri.strip_prefix("http://").unwrap().strip_suffix(PATH).unwrap().to_owned();
        assert_eq!(authorizing.visit(address).await.unwrap(), "code=a%20b&state=s");
    }

    #[tokio::test]
    async fn auc_35_the_redirect_uri_is_that_of_the_registration() {
        let given = |uri| LoopbackHandler::default().with_redirect_uri(uri);
        let free = TcpListener::bind((HOST, 0)).await.unwrap().local_addr().unwrap().port();
        let fixed = format!("http://localhost:{free}/oauth/callback");
        // A port is given back when an authorization ends, and taken again by the next.
        for _ in 0..2 {
            assert_eq!(given(&fixed).unwrap().begin(None).await.unwrap().redirect_uri(), fixed);
        }
        let held = given(&fixed).unwrap().begin(None).await.unwrap();
        let error = given(&fixed).unwrap().begin(None).await.err().unwrap();
        assert!(error.0.starts_with("No port for the redirect"), "{error}");
        drop(held);
        // Without a port of its own: that of the registration, or another one while it is taken.
        let open = given("http://localhost/oauth/callback").unwrap();
        let first = open.begin(Some(fixed.clone())).await.unwrap();
        assert_eq!(first.redirect_uri(), fixed);
        assert_ne!(open.begin(Some(fixed.clone())).await.unwrap().redirect_uri(), fixed);
        drop(first);
        let elsewhere = LoopbackHandler::default().begin(Some(fixed.clone())).await.unwrap().redirect_uri();
        assert!(elsewhere.ends_with(PATH) && elsewhere.starts_with("http://127.0.0.1:"), "{elsewhere}");
        let any = given("http://127.0.0.1/done").unwrap().begin(None).await.unwrap().redirect_uri();
        assert!(any.ends_with("/done") && any != "http://127.0.0.1:0/done", "{any}");
        for wrong in ["https://127.0.0.1/", "http://example.com/callback", "http://127.0.0.1/?a=b", "callback"] {
            assert!(given(wrong).err().unwrap().0.contains("http://127.0.0.1:8912/callback"), "{wrong}");
        }
    }
}
