//! A server mounted in axum applications, with and without a slash at the end of its path.

use axum::{Router, body::Body, routing::get};
use http::{Request, StatusCode};
use http_body_util::BodyExt;
use serde_json::json;
use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::{
    net::TcpListener,
    time::{sleep, timeout},
};
use tower_service::Service;
use trunkline::{
    RevisionChoice,
    auth::{Authorization, AuthorizationOptions, Verification},
    client::{Client, ClientOptions, RequestOptions},
    protocol::{RawJson, model::SubscriptionFilter},
    server::{Context, Params, RemoteAddress, Server},
    transport::HttpOptions,
};

const REVISIONS: [&str; 6] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28", "auto"];

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Text {
    text: String,
}

/// Counts the calls that have begun, and those that were dropped before their end.
#[derive(Clone, Default)]
struct Dropped {
    begun: Arc<AtomicUsize>,
    dropped: Arc<AtomicUsize>,
}

impl Dropped {
    async fn until(counter: &AtomicUsize, what: &str) {
        let told = async {
            while counter.load(Ordering::SeqCst) == 0 {
                sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(Duration::from_secs(30), told).await.expect(what);
    }

    async fn begun(&self) {
        Self::until(&self.begun, "the handler begins").await;
    }

    async fn once(&self) {
        Self::until(&self.dropped, "the handler is dropped").await;
    }
}

struct Running(Dropped);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.dropped.fetch_add(1, Ordering::SeqCst);
    }
}

fn server() -> (Server, Dropped) {
    let dropped = Dropped::default();
    let seen = dropped.clone();
    let server = Server::builder("mounted", "1.0.0")
        .tool("echo", "Says it again.", |Params(it): Params<Text>| async move { it.text })
        .tool("steps", "Reports progress.", |ctx: Context| async move {
            ctx.progress(1.0, Some(2.0)).await;
            sleep(Duration::from_millis(10)).await;
            ctx.progress(2.0, Some(2.0)).await;
            "done"
        })
        .tool("endless", "Never ends.", move || {
            let running = Running(seen.clone());
            seen.begun.fetch_add(1, Ordering::SeqCst);
            async move {
                sleep(Duration::from_secs(600)).await;
                drop(running);
                "never"
            }
        })
        .build();
    (server, dropped)
}

/// Serves an application until the signal. Returns its address and the task that serves it.
async fn serve_until(
    application: Router,
    signal: impl Future<Output = ()> + Send + 'static,
) -> (String, tokio::task::JoinHandle<std::io::Result<()>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    (address, tokio::spawn(async move { axum::serve(listener, application).with_graceful_shutdown(signal).await }))
}

/// Serves an application and returns its address.
async fn serve(application: Router) -> String {
    let application = application.route("/", get(|| async { "an ordinary page" }));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, application).await });
    address
}

async fn connect(url: &str, revision: &str) -> Client {
    let options = ClientOptions::default().with_revision(RevisionChoice::parse(revision).unwrap());
    Client::connect_with(url, options, ()).await.unwrap()
}

fn initialize() -> serde_json::Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}})
}

#[tokio::test]
async fn every_revision_wherever_it_is_mounted() {
    let service = || server().0.into_service();
    for (how, application, place) in [
        ("nested", Router::new().nest_service("/mcp", service()), "/mcp"),
        ("twice", Router::new().nest("/api", Router::new().nest_service("/mcp", service())), "/api/mcp"),
        ("routed", Router::new().route_service("/mcp", service()).route_service("/mcp/", service()), "/mcp"),
        ("the rest", Router::new().fallback_service(service()), "/anywhere"),
    ] {
        let address = serve(application).await;
        for path in [place.to_owned(), format!("{place}/")] {
            for revision in REVISIONS {
                let client = connect(&format!("{address}{path}"), revision).await;
                let result = client.call_tool("echo", json!({"text": "hello"})).await.unwrap();
                assert_eq!(result.joined_text(), "hello", "{how} {path} {revision}");
                let heard = Arc::new(Mutex::new(Vec::new()));
                let noted = Arc::clone(&heard);
                let options = RequestOptions::default().with_on_progress(Some(Arc::new(move |params: &RawJson| {
                    noted.lock().unwrap().push(params.clone())
                })));
                client.call_tool_with("steps", json!({}), &options).await.unwrap();
                assert_eq!(heard.lock().unwrap().len(), 2, "{how} {path} {revision}");
                client.close().await;
            }
        }
    }
}

/// AUS-02: a client finds the metadata at the URL in the challenge (RFC 9728 section 5.1).
#[tokio::test]
async fn the_metadata_that_a_challenge_names_is_there_wherever_the_server_is_mounted() {
    let service = |path: &str| {
        let options = AuthorizationOptions::new(format!("https://notes.example{path}"));
        let options = options.with_authorization_servers(["https://auth.example"]);
        let verifier = |verification: Verification| drop(verification);
        let auth = Authorization::new(options, Arc::new(verifier)).unwrap();
        server().0.into_service_with(HttpOptions::default().with_auth(Some(auth)))
    };
    for (application, path) in [
        (Router::new().nest_service("/mcp", service("/mcp")), "/mcp"),
        (Router::new().nest("/api", Router::new().nest_service("/mcp", service("/api/mcp"))), "/api/mcp"),
        (Router::new().fallback_service(service("/mcp")), "/mcp"),
    ] {
        let mut application = application;
        let mut ask = async |method: &str, path: &str| {
            let request = Request::builder().method(method).uri(path).header("host", "localhost");
            let request = request.header("content-type", "application/json").body(Body::from("{}")).unwrap();
            application.call(request).await.unwrap()
        };
        let refused = ask("POST", path).await;
        assert_eq!(refused.status(), StatusCode::UNAUTHORIZED);
        let challenge = refused.headers()["www-authenticate"].to_str().unwrap().to_owned();
        let url =
            challenge.split("resource_metadata=\"https://notes.example").nth(1).unwrap().split('"').next().unwrap();
        let found = ask("GET", url).await;
        assert_eq!(found.status(), StatusCode::OK, "{url}");
        let document = found.into_body().collect().await.unwrap().to_bytes();
        assert!(String::from_utf8_lossy(&document).contains(&format!("https://notes.example{path}\"")), "{url}");
    }
}

#[tokio::test]
async fn http_24_a_modern_client_that_goes_away_cancels_its_call() {
    let (server, dropped) = server();
    let address = serve(Router::new().nest_service("/mcp", server.clone().into_service())).await;
    let client = connect(&format!("{address}/mcp"), "modern").await;
    tokio::select! {
        answer = client.call_tool("endless", json!({})) => panic!("it has ended: {answer:?}"),
        () = dropped.begun() => {}
    }
    dropped.once().await;
    client.close().await;
}

#[tokio::test]
async fn a_framework_shuts_down_when_the_service_is_closed_though_clients_hold_their_streams() {
    for revision in ["2024-11-05", "2025-11-25", "2026-07-28"] {
        let (server, dropped) = server();
        let service = server.into_service();
        let application = Router::new().nest_service("/mcp", service.clone());
        let (signal, signalled) = tokio::sync::oneshot::channel::<()>();
        let (address, serving) = serve_until(application, async move {
            let _ = signalled.await;
            service.close(Duration::from_millis(500)).await;
        })
        .await;
        let client = connect(&format!("{address}/mcp"), revision).await;
        let subscription = client.subscribe(SubscriptionFilter::default().with_tools(true)).await.unwrap();
        let (quick, slow) = (client.clone(), client.clone());
        let slow = tokio::spawn(async move { slow.call_tool("endless", json!({})).await });
        dropped.begun().await;
        let begun = Arc::new(tokio::sync::Notify::new());
        let heard = Arc::clone(&begun);
        let options = RequestOptions::default().with_on_progress(Some(Arc::new(move |_| heard.notify_one())));
        let quick = tokio::spawn(async move { quick.call_tool_with("steps", json!({}), &options).await });
        begun.notified().await;
        signal.send(()).unwrap();
        assert_eq!(quick.await.unwrap().unwrap().joined_text(), "done", "{revision}: it may end until the deadline");
        timeout(Duration::from_secs(30), serving).await.expect(revision).unwrap().unwrap();
        dropped.once().await;
        assert!(slow.await.unwrap().is_err(), "{revision}");
        drop(subscription);
        client.close().await;
    }
}

#[tokio::test]
async fn http_22_a_disconnecting_legacy_client_cancels_nothing_without_a_notification() {
    let (server, dropped) = server();
    let mut application = Router::new().nest_service("/mcp", server.clone().into_service());
    let mut post = |message: serde_json::Value, session: Option<&str>| {
        let mut request = Request::post("/mcp")
            .header("host", "localhost")
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream");
        if let Some(id) = session {
            request = request.header("mcp-session-id", id).header("mcp-protocol-version", "2025-11-25");
        }
        application.call(request.body(Body::from(message.to_string())).unwrap())
    };
    let opened = post(initialize(), None).await.unwrap();
    let id = opened.headers()["mcp-session-id"].to_str().unwrap().to_owned();
    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "endless"}});
    tokio::select! {
        answer = post(call, Some(&id)) => panic!("it has ended: {answer:?}"),
        () = dropped.begun() => {}
    }
    sleep(Duration::from_millis(100)).await;
    assert_eq!(dropped.dropped.load(Ordering::SeqCst), 0);
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}});
    assert_eq!(post(cancel, Some(&id)).await.unwrap().status(), StatusCode::ACCEPTED);
    dropped.once().await;
}

#[tokio::test]
async fn http_03_other_hosts_are_refused_unless_they_are_allowed_and_other_pages_are_left_alone() {
    let options = HttpOptions::default().with_allowed_hosts(vec!["mcp.example".into()]);
    let mut application = Router::new()
        .nest_service("/closed", server().0.into_service())
        .nest_service("/open", server().0.into_service_with(options))
        .route("/", get(|| async { "an ordinary page" }));
    let message = initialize();
    let mut ask = async |path: &str, method: &str| {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", "mcp.example")
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream")
            .body(Body::from(message.to_string()));
        let response = application.call(request.unwrap()).await.unwrap();
        let (status, body) = (response.status(), response.into_body().collect().await.unwrap().to_bytes());
        (status, String::from_utf8(body.to_vec()).unwrap())
    };
    let (status, text) = ask("/closed", "POST").await;
    assert!(status == StatusCode::FORBIDDEN && text.contains("allowed hosts"), "{status} {text}");
    assert_eq!(ask("/open", "POST").await.0, StatusCode::OK);
    assert_eq!(ask("/", "GET").await.1, "an ordinary page");
}

#[derive(Clone)]
struct User(String);

#[tokio::test]
async fn handlers_see_the_http_request_of_two_users_at_once() {
    let server = Server::builder("facts", "1")
        .tool("facts", "Tells who asks.", async |ctx: Context| {
            sleep(Duration::from_millis(2)).await;
            let request = ctx.http().expect("it came over HTTP");
            let user = request.extensions().get().map_or("nobody", |User(name)| name);
            let header = request.headers().get("x-user").and_then(|value| value.to_str().ok()).unwrap_or_default();
            let session = if ctx.session_id().is_some() { "session" } else { "none" };
            format!(
                "{user} {header} {} {:?} {session}",
                request.uri(),
                request.remote_address().map(|ip| ip.to_string())
            )
        })
        .build();
    let identify = |mut request: Request<Body>, next: axum::middleware::Next| async move {
        let user = request.headers().get("x-user").and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
        request.extensions_mut().insert(User(user));
        request.extensions_mut().insert(RemoteAddress([192, 0, 2, 7].into()));
        next.run(request).await
    };
    let app =
        Router::new().nest_service("/mcp", server.clone().into_service()).layer(axum::middleware::from_fn(identify));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = &format!("http://{}/mcp", listener.local_addr().unwrap());
    let task = tokio::spawn(async move { axum::serve(listener, app).await });
    let listening = server.listen("127.0.0.1:0").await.unwrap();
    let own = &listening.url().unwrap();
    for revision in REVISIONS {
        let ask = |url: &str, user: &'static str, expected: String| {
            let target = trunkline::transport::HttpEndpoint::new(url).with_header("X-User", user);
            async move {
                let options = ClientOptions::default().with_revision(RevisionChoice::parse(revision).unwrap());
                let client = Client::connect_with(target, options, ()).await.unwrap();
                for _ in 0..3 {
                    let text = client.call_tool("facts", json!({})).await.unwrap().joined_text();
                    assert_eq!(text, expected, "{revision}");
                }
                client.close().await;
            }
        };
        let session = if revision.starts_with("2026") || revision == "auto" { "none" } else { "session" };
        let mounted = |user: &str| format!("{user} {user} / Some(\"192.0.2.7\") {session}");
        let listened = |user: &str| format!("nobody {user} /mcp Some(\"127.0.0.1\") {session}");
        tokio::join!(
            ask(url, "ada", mounted("ada")),
            ask(url, "bob", mounted("bob")),
            ask(own, "ada", listened("ada")),
            ask(own, "bob", listened("bob")),
        );
    }
    task.abort();
}
