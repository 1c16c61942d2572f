//! Redirects to a port on this machine (RFC 8252 section 7.3).

use super::super::browser;
use crate::{
    auth::{
        AuthError, AuthTurn, AuthorizationHandler, Authorizing, LoginPage, LoginStart, TurnsByKey, UrlOpener, sha256,
    },
    http::guard::is_loopback,
    runtime::BoxedTask,
};
use once_cell::race::OnceBox;
use std::{
    collections::VecDeque,
    future::{poll_fn, ready},
    io::{self, IsTerminal as _, Write as _},
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    sync::Arc,
    task::Poll,
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::{AbortHandle, JoinSet},
};
use url::Url;

/// How long one request may take to arrive.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum number of connections read concurrently. The oldest makes room for another: a browser
/// sends its request at once, so a silent connection delays nobody.
const MAX_CONNECTIONS: usize = 64;
const MAX_REQUEST_BYTES: usize = 64 * 1024;
/// In the path: 12 bytes in base64.
const ISSUER_HASH_LENGTH: usize = 16;
/// A port that is free at one address may be in use at another.
const MAX_PORT_ATTEMPTS: usize = 16;
const HOST: &str = "127.0.0.1";
const CALLBACK_PATH: &str = "/callback";
/// Logins that must use the same port take turns.
static PORT_TURNS: OnceBox<TurnsByKey> = OnceBox::new();

const DONE_PAGE: &str =
    "<!doctype html><meta charset=utf-8><title>Done</title><p>You can close this page and return to the program.";

/// Opens the local browser and receives the redirect on a free port of 127.0.0.1. A client that
/// registers itself uses a separate path for each authorization server, and reuses the port of its
/// registration if it is free, because not every authorization server allows the port to vary as
/// RFC 8252 section 7.3 requires.
///
/// If no browser opens, the URL is printed to standard error if that is a terminal, and otherwise
/// logged as a warning.
#[derive(Clone, Default)]
pub struct LoopbackHandler {
    /// `None` for the browser.
    opener: Option<UrlOpener>,
    /// `None` if the program has not set the redirect URI.
    redirect: Option<RedirectParts>,
    /// `None` for the built-in page.
    success_url: Option<Url>,
}

/// The parts of the redirect URI.
#[derive(Clone)]
struct RedirectParts {
    host: String,
    /// 0 for any free port.
    port: u16,
    path: String,
}

impl LoopbackHandler {
    /// Uses another method to let the user visit a URL, such as printing it.
    pub fn with_opener(opener: UrlOpener) -> Self {
        Self { opener: Some(opener), ..Self::default() }
    }

    /// Receives the redirect at this URI, which the client was registered with:
    /// `http://127.0.0.1:8912/callback`, or with the host `[::1]` or `localhost`, which listens on
    /// both addresses. Without a port, a free one is used.
    ///
    /// # Errors
    /// If it is not such a URI.
    pub fn with_redirect_uri(self, uri: &str) -> Result<Self, AuthError> {
        let Some(redirect) = RedirectParts::read(uri) else {
            return Err(AuthError(format!(
                "{uri:?} cannot be received on this machine: it must look like http://127.0.0.1:8912/callback"
            )));
        };
        Ok(Self { redirect: Some(redirect), ..self })
    }

    /// Sends the browser to this page once the user has logged in.
    ///
    /// # Errors
    /// If it is not a URL.
    pub fn with_success_url(self, url: &str) -> Result<Self, AuthError> {
        let url = Url::parse(url).map_err(|error| AuthError(format!("{url:?} is not a URL: {error}")))?;
        Ok(Self { success_url: Some(url), ..self })
    }
}

impl UrlOpener {
    /// Opens the browser of this machine. By default, a login without one prints its URL and waits;
    /// with this, it fails.
    #[must_use]
    pub fn browser() -> Self {
        Self::new(|url| async move {
            let opened = match browser::open(&url) {
                // If the program does not report an error, the page is open.
                Ok(ended) => ended.await.unwrap_or(Ok(())),
                Err(error) => Err(error),
            };
            opened.map_err(|error| AuthError(format!("Could not open a browser: {error}")))
        })
    }
}

impl RedirectParts {
    fn uri(&self) -> String {
        let Self { host, port, path } = self;
        format!("http://{host}:{port}{path}")
    }

    fn read(uri: &str) -> Option<Self> {
        let url = Url::parse(uri).ok().filter(|url| {
            let plain = url.query().is_none() && url.fragment().is_none() && url.username().is_empty();
            url.scheme() == "http" && plain && matches!(url.host_str(), Some("127.0.0.1" | "localhost" | "[::1]"))
        })?;
        let host = url.host_str()?.to_owned();
        // `Url` drops an explicit default port, so look at the string.
        let given = if uri.starts_with(&format!("http://{host}:80")) { 80 } else { 0 };
        Some(Self { host, port: url.port().unwrap_or(given), path: url.path().to_owned() })
    }

    /// Instructions for when the browser runs on another machine.
    fn elsewhere(&self) -> String {
        let Self { host, port, .. } = self;
        let run = format!("ssh -L {port}:{host}:{port} HOST");
        format!(
            "If your browser runs on another machine, forward that port first: run `{run}` there, with this machine as HOST"
        )
    }

    /// Binds the configured port, or the port of the registration if it is free, or any free port.
    async fn listen(&self, registered: Option<Self>) -> io::Result<LoopbackListeners> {
        let alike = |other: &Self| (&other.host, &other.path) == (&self.host, &self.path);
        if self.port == 0
            && let Some(registered) = registered.filter(alike)
            && let Ok(listeners) = self.bind(registered.port).await
        {
            return Ok(listeners);
        }
        let mut bound = self.bind(self.port).await;
        for _ in 1..MAX_PORT_ATTEMPTS {
            if bound.is_ok() || self.port != 0 {
                break;
            }
            bound = self.bind(0).await;
        }
        bound
    }

    /// Binds a port of all addresses of the host.
    async fn bind(&self, port: u16) -> io::Result<LoopbackListeners> {
        let mut bound = LoopbackListeners { listeners: Vec::new(), port };
        let mut missing = None;
        for address in self.addresses() {
            match TcpListener::bind((*address, bound.port)).await {
                Ok(listener) => {
                    bound.port = listener.local_addr()?.port();
                    bound.listeners.push(listener);
                }
                // The browser may choose this address, and another program would get the code.
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => return Err(error),
                // Some machines have only one version of IP.
                Err(error) => missing = Some(error),
            }
        }
        missing.filter(|_| bound.listeners.is_empty()).map_or(Ok(bound), Err)
    }

    /// Browsers connect to either address of `localhost`, without asking the system for them.
    fn addresses(&self) -> &'static [IpAddr] {
        const LOCALHOST: [IpAddr; 2] = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
        match &*self.host {
            HOST => &LOCALHOST[..1],
            "[::1]" => &LOCALHOST[1..],
            _ => &LOCALHOST,
        }
    }
}

/// One port of all addresses of a host.
struct LoopbackListeners {
    listeners: Vec<TcpListener>,
    port: u16,
}

impl LoopbackListeners {
    async fn accept(&self) -> io::Result<TcpStream> {
        poll_fn(|context| {
            let accepted = self.listeners.iter().find_map(|listener| match listener.poll_accept(context) {
                Poll::Ready(accepted) => Some(accepted.map(|(stream, _)| stream)),
                Poll::Pending => None,
            });
            accepted.map_or(Poll::Pending, Poll::Ready)
        })
        .await
    }
}

impl AuthorizationHandler for LoopbackHandler {
    fn begin(&self, start: LoginStart) -> BoxedTask<Result<Box<dyn Authorizing>, AuthError>> {
        let (opener, success_url) = (self.opener.clone(), self.success_url.clone());
        let mut redirect = self.redirect.clone().unwrap_or_else(|| {
            let issuer = || format!("/{}", &sha256(start.issuer.as_bytes())[..ISSUER_HASH_LENGTH]);
            let path = CALLBACK_PATH.to_owned() + &start.registers.then(issuer).unwrap_or_default();
            RedirectParts { host: HOST.to_owned(), port: 0, path }
        });
        Box::pin(async move {
            let turn = match redirect.port {
                0 => None,
                port => Some(PORT_TURNS.get_or_init(Box::default).of(&port.to_string()).take().await),
            };
            let uri = redirect.uri();
            let no_port = |error: io::Error| AuthError(format!("Cannot listen for the redirect to {uri}: {error}"));
            let registered = start.registered.as_deref().and_then(RedirectParts::read);
            let listeners = redirect.listen(registered).await.map_err(no_port)?;
            redirect.port = listeners.port;
            let authorizing: Box<dyn Authorizing> =
                Box::new(RedirectReceiver { listeners, redirect, opener, success_url, turn });
            Ok(authorizing)
        })
    }

    fn show_page(&self, page: LoginPage) -> BoxedTask<Result<(), AuthError>> {
        if let Some(opener) = &self.opener {
            return opener.show(page);
        }
        let LoginPage { url, user_code } = page;
        let user_code = user_code.unwrap_or_default();
        if io::stderr().is_terminal() || !tracing::dispatcher::has_been_set() {
            tell(&format!(
                "To log in, visit this page on any device, and enter or compare the code {user_code}:\n\n  {url}\n"
            ));
        } else {
            tracing::warn!(target: "trunkline::auth::client", %url, %user_code, "to log in, visit the page on any device, and enter or compare the code");
        }
        Box::pin(ready(Ok(())))
    }
}

struct RedirectReceiver {
    listeners: LoopbackListeners,
    redirect: RedirectParts,
    opener: Option<UrlOpener>,
    success_url: Option<Url>,
    /// Dropped after the listeners.
    turn: Option<AuthTurn>,
}

impl Authorizing for RedirectReceiver {
    fn redirect_uri(&self) -> String {
        self.redirect.uri()
    }

    fn visit(self: Box<Self>, url: String) -> BoxedTask<Result<String, AuthError>> {
        Box::pin(async move {
            let Self { turn: _turn, listeners, redirect, opener, success_url } = *self;
            let state = Url::parse(&url).ok().and_then(|url| value_of("state", url.query()?));
            let expected = Arc::new(ExpectedRequest { path: redirect.path.clone(), state, success_url });
            let mut opening = match opener {
                Some(opener) => opener.open(url),
                None => Box::pin(open_browser(url, redirect)),
            };
            let (mut is_open, mut answering, mut latest) = (false, JoinSet::new(), VecDeque::new());
            loop {
                tokio::select! {
                    outcome = &mut opening, if !is_open => {
                        outcome?;
                        is_open = true;
                    }
                    accepted = listeners.accept() => {
                        let stream = accepted.map_err(|error| AuthError(format!("Could not receive the redirect: {error}")))?;
                        let answered = answer(stream, Arc::clone(&expected));
                        latest.push_back(answering.spawn(tokio::time::timeout(REQUEST_TIMEOUT, answered)));
                        if latest.len() > MAX_CONNECTIONS {
                            latest.pop_front().iter().for_each(AbortHandle::abort);
                        }
                    }
                    // Browsers open speculative connections and request icons, and other pages may
                    // guess the port.
                    Some(answered) = answering.join_next() => if let Ok(Ok(Some(query))) = answered {
                        return Ok(query);
                    }
                }
            }
        })
    }
}

async fn open_browser(url: String, redirect: RedirectParts) -> Result<(), AuthError> {
    let problem = match browser::open(&url) {
        // If the opener does not report an error, the page is open.
        Ok(ended) => ended.await.unwrap_or(Ok(())).err(),
        Err(error) => Some(error),
    };
    if let Some(error) = problem {
        let (redirect_uri, elsewhere) = (redirect.uri(), redirect.elsewhere());
        if io::stderr().is_terminal() || !tracing::dispatcher::has_been_set() {
            tell(&format!(
                "Could not open a browser ({error}). To log in, visit this page:\n\n  {url}\n\nIt redirects to {redirect_uri}. {elsewhere}."
            ));
        } else {
            tracing::warn!(target: "trunkline::auth::client", %url, %redirect_uri, %error, "could not open a browser: visit the page yourself. It redirects to the redirect URI, on this machine. {elsewhere}");
        }
    }
    Ok(())
}

/// Prints to standard error, if anything reads it.
fn tell(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

fn value_of(name: &str, query: &str) -> Option<String> {
    url::form_urlencoded::parse(query.as_bytes()).find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
}

/// The request that completes a login.
struct ExpectedRequest {
    path: String,
    state: Option<String>,
    success_url: Option<Url>,
}

impl ExpectedRequest {
    /// Returns the query of the redirect if the request belongs to this login, and does not come
    /// from a page whose host name resolves to this address (DNS rebinding).
    fn query(&self, head: &str) -> Option<String> {
        let mut lines = head.split("\r\n");
        let (path, query) = lines.next()?.strip_prefix("GET ")?.split(' ').next()?.split_once('?')?;
        let host = lines.find_map(|line| {
            line.split_once(':').filter(|(name, _)| name.eq_ignore_ascii_case("host")).map(|(_, host)| host.trim())
        })?;
        let is_here = Url::parse(&format!("http://{host}/")).is_ok_and(|url| url.host_str().is_some_and(is_loopback));
        let is_ours = path == self.path && (self.state.is_none() || value_of("state", query) == self.state);
        (is_here && is_ours).then(|| query.to_owned())
    }

    /// The status line with the headers of the page, and the page.
    fn page(&self, query: Option<&str>) -> (String, &'static str) {
        match (query, &self.success_url) {
            (None, _) => ("404 Not Found".to_owned(), ""),
            // Nothing of the query is passed on.
            (Some(query), Some(url)) if value_of("code", query).is_some() => {
                (format!("303 See Other\r\nLocation: {url}"), "")
            }
            (Some(_), _) => ("200 OK".to_owned(), DONE_PAGE),
        }
    }
}

/// Responds to one request and returns the query if it is the redirect.
async fn answer(mut stream: TcpStream, expected: Arc<ExpectedRequest>) -> Option<String> {
    let mut head = Vec::new();
    while !head.windows(4).any(|window| window == b"\r\n\r\n") {
        if head.len() > MAX_REQUEST_BYTES || stream.read_buf(&mut head).await.ok()? == 0 {
            return None;
        }
    }
    let query = expected.query(&String::from_utf8_lossy(&head));
    let (status, page) = expected.page(query.as_deref());
    let text = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: {}\r\nCache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nConnection: close\r\n\r\n{page}",
        page.len()
    );
    // The redirect counts even if the browser has disconnected.
    let _ = stream.write_all(text.as_bytes()).await;
    let _ = stream.shutdown().await;
    query
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::free_port::free_port;

    fn start() -> LoginStart {
        LoginStart { issuer: "https://a.example".into(), registers: true, registered: None }
    }

    /// The URL of a page with a `state`.
    const PAGE_URL: &str = "https://a.example/authorize?state=s";

    fn address_of(uri: &str) -> String {
        Url::parse(uri).unwrap().socket_addrs(|| None).unwrap()[0].to_string()
    }

    async fn ask(address: &str, target: &str, host: &str) -> String {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(format!("GET {target} HTTP/1.1\r\nhost: {host}\r\n\r\n").as_bytes()).await.unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).await.unwrap();
        text
    }

    #[tokio::test]
    async fn the_redirect_is_received_and_nothing_else() {
        let handler = LoopbackHandler::with_opener(UrlOpener::new(|_| std::future::ready(Ok(()))));
        let authorizing = handler.begin(start()).await.unwrap();
        let (uri, own) = (authorizing.redirect_uri(), Url::parse(&authorizing.redirect_uri()).unwrap());
        let (address, path) = (address_of(&uri), own.path().to_owned());
        let visit = tokio::spawn(authorizing.visit(PAGE_URL.to_owned()));
        // Connections without a request must not delay others.
        let mut silent = Vec::new();
        for _ in 0..3 * MAX_CONNECTIONS {
            silent.push(TcpStream::connect(&address).await.unwrap());
        }
        let begun = std::time::Instant::now();
        for (target, host) in [
            ("/favicon.ico".to_owned(), address.as_str()),
            (path.clone(), &address),
            (format!("{path}?x"), &address),
            (format!("{path}?code=c&state=other"), &address),
            (format!("{path}?code=c&state=s"), "evil.example"),
            ("/callback?code=c&state=s".to_owned(), &address),
        ] {
            let text = ask(&address, &target, host).await;
            assert!(text.starts_with("HTTP/1.1 404"), "{target} at {host}: {text}");
        }
        assert!(!visit.is_finished());
        assert!(ask(&address, &format!("{path}?code=a%20b&state=s"), &address).await.starts_with("HTTP/1.1 200"));
        assert_eq!(visit.await.unwrap().unwrap(), "code=a%20b&state=s");
        assert!(begun.elapsed() < REQUEST_TIMEOUT, "{:?}", begun.elapsed());
    }

    #[tokio::test]
    async fn the_redirect_arrives_at_every_address_of_the_host() {
        for (host, reached) in
            [("127.0.0.1", &["127.0.0.1"][..]), ("[::1]", &["[::1]"]), ("localhost", &["127.0.0.1", "[::1]"])]
        {
            for address in reached {
                let handler = LoopbackHandler::with_opener(UrlOpener::new(|_| std::future::ready(Ok(()))));
                let handler = handler.with_redirect_uri(&format!("http://{host}/done")).unwrap();
                let authorizing = handler.begin(start()).await.unwrap();
                let uri = Url::parse(&authorizing.redirect_uri()).unwrap();
                let (at, own) = (uri.port().unwrap(), format!("{host}:{}", uri.port().unwrap()));
                let visit = tokio::spawn(authorizing.visit(PAGE_URL.to_owned()));
                let text = ask(&format!("{address}:{at}"), "/done?code=c&state=s", &own).await;
                assert!(text.starts_with("HTTP/1.1 200"), "{host} at {address}: {text}");
                assert_eq!(visit.await.unwrap().unwrap(), "code=c&state=s");
            }
        }
    }

    #[tokio::test]
    async fn a_browser_goes_to_the_page_of_the_program_unless_the_user_refused() {
        for (outcome, status, location) in [
            ("code=c", "HTTP/1.1 303", "\r\nLocation: https://app.example/done\r\n"),
            ("error=access_denied", "HTTP/1.1 200", "\r\n\r\n<!doctype html>"),
        ] {
            let handler = LoopbackHandler::with_opener(UrlOpener::new(|_| std::future::ready(Ok(()))));
            let authorizing =
                handler.with_success_url("https://app.example/done").unwrap().begin(start()).await.unwrap();
            let uri = Url::parse(&authorizing.redirect_uri()).unwrap();
            let (address, target) = (address_of(uri.as_str()), format!("{}?{outcome}&state=s", uri.path()));
            let visit = tokio::spawn(authorizing.visit(PAGE_URL.to_owned()));
            let text = ask(&address, &target, &address).await;
            assert!(text.starts_with(status) && text.contains(location), "{text}");
            assert_eq!(visit.await.unwrap().unwrap(), format!("{outcome}&state=s"));
        }
    }

    #[tokio::test]
    async fn a_port_in_use_at_one_address_is_not_used_at_the_other() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let held = TcpListener::bind(address).await.unwrap();
            let fixed = format!("http://localhost:{}/done", held.local_addr().unwrap().port());
            let given = |uri: &str| LoopbackHandler::default().with_redirect_uri(uri).unwrap();
            let error = given(&fixed).begin(start()).await.err().unwrap();
            assert!(error.0.contains(&fixed), "{error}");
            let registered = LoginStart { registered: Some(fixed.clone()), ..start() };
            let other = given("http://localhost/done").begin(registered).await.unwrap().redirect_uri();
            assert!(other != fixed && other.starts_with("http://localhost:"), "{other}");
        }
    }

    #[tokio::test]
    async fn an_opener_gets_the_url_and_its_error_ends_the_login() {
        let failing = UrlOpener::new(|url| async move { Err(AuthError(format!("not {url}"))) });
        let authorizing = LoopbackHandler::with_opener(failing).begin(start()).await.unwrap();
        assert_eq!(authorizing.visit(PAGE_URL.to_owned()).await.unwrap_err().0, format!("not {PAGE_URL}"));
    }

    #[tokio::test]
    async fn each_issuer_has_a_path_unless_the_redirect_uri_is_given() {
        let path = async |handler: &LoopbackHandler, issuer: &str, registers: bool| {
            let start = LoginStart { issuer: issuer.to_owned(), registers, registered: None };
            let uri = handler.begin(start).await.unwrap().redirect_uri();
            Url::parse(&uri).unwrap().path().to_owned()
        };
        let own = LoopbackHandler::default();
        let honest = path(&own, "https://a.example", true).await;
        assert!(honest.starts_with("/callback/") && honest.len() > 20, "{honest}");
        assert_eq!(path(&own, "https://a.example", true).await, honest);
        assert_ne!(path(&own, "https://evil.example", true).await, honest);
        // The URI of a preregistered client is fixed except for its port.
        assert_eq!(path(&own, "https://a.example", false).await, "/callback");
        let fixed = LoopbackHandler::default().with_redirect_uri("http://127.0.0.1/done").unwrap();
        assert_eq!(path(&fixed, "https://a.example", true).await, "/done");
    }

    #[test]
    fn a_person_at_another_machine_gets_the_command_that_forwards_the_port() {
        for (uri, run) in [
            ("http://127.0.0.1:8912/callback", "`ssh -L 8912:127.0.0.1:8912 HOST`"),
            ("http://[::1]:8080/", "`ssh -L 8080:[::1]:8080 HOST`"),
        ] {
            let told = RedirectParts::read(uri).unwrap().elsewhere();
            assert!(told.contains(run), "{told}");
        }
    }

    #[test]
    fn a_port_that_is_given_is_used() {
        for (uri, port) in [
            ("http://localhost/callback", 0),
            ("http://localhost:80/callback", 80),
            ("http://[::1]:80", 80),
            ("http://127.0.0.1:8080/", 8080),
        ] {
            assert_eq!(RedirectParts::read(uri).unwrap().port, port, "{uri}");
        }
    }

    #[tokio::test]
    async fn auc_35_the_redirect_uri_is_that_of_the_registration() {
        let given = |uri| LoopbackHandler::default().with_redirect_uri(uri);
        let free = free_port();
        let fixed = format!("http://localhost:{free}/oauth/callback");
        // A port is released when an authorization ends, and reused by the next one.
        for _ in 0..2 {
            assert_eq!(given(&fixed).unwrap().begin(start()).await.unwrap().redirect_uri(), fixed);
        }
        let held = given(&fixed).unwrap().begin(start()).await.unwrap();
        let mut next = given(&fixed).unwrap().begin(start());
        assert!(tokio::time::timeout(Duration::from_millis(200), &mut next).await.is_err(), "it waits for its turn");
        drop(held);
        drop(next.await.unwrap());
        // A port of another program.
        let held = TcpListener::bind(("localhost", free)).await.unwrap();
        let error = given(&fixed).unwrap().begin(start()).await.err().unwrap();
        assert!(error.0.starts_with(&format!("Cannot listen for the redirect to {fixed}: ")), "{error}");
        drop(held);
        // Without a configured port: that of the registration, or another one while it is in use.
        let open = given("http://localhost/oauth/callback").unwrap();
        let first = open.begin(LoginStart { registered: Some(fixed.clone()), ..start() }).await.unwrap();
        assert_eq!(first.redirect_uri(), fixed);
        assert_ne!(
            open.begin(LoginStart { registered: Some(fixed.clone()), ..start() }).await.unwrap().redirect_uri(),
            fixed
        );
        drop(first);
        let elsewhere = LoopbackHandler::default()
            .begin(LoginStart { registered: Some(fixed.clone()), ..start() })
            .await
            .unwrap()
            .redirect_uri();
        assert!(elsewhere.contains("/callback/") && elsewhere.starts_with("http://127.0.0.1:"), "{elsewhere}");
        let any = given("http://127.0.0.1/done").unwrap().begin(start()).await.unwrap().redirect_uri();
        assert!(any.ends_with("/done") && any != "http://127.0.0.1:0/done", "{any}");
        for wrong in ["https://127.0.0.1/", "http://example.com/callback", "http://127.0.0.1/?a=b", "callback"] {
            assert!(given(wrong).err().unwrap().0.contains("http://127.0.0.1:8912/callback"), "{wrong}");
        }
    }
}
