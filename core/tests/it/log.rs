//! The log of a server.

use crate::{
    offer,
    process::{DEADLINE, File},
    wire::Wire,
};
use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    fmt::{Debug, Write},
    path::PathBuf,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::sync::Semaphore;
use tower_service::Service;
use tracing::{
    Event, Instrument, Metadata, Subscriber,
    field::{Field, Visit},
    info_span, span,
};
use tracing_core::span::Current;
use trunkline::{
    CallError, Client, ClientOptions, Context, HttpOptions, Limits, Revision, RevisionChoice, Server, ServerOptions,
    auth::{Authorization, AuthorizationOptions, Identity, Verification},
    server::{MiddlewareDefinition, Next},
    transport::HttpEndpoint,
};

/// A server that writes its log to standard error, as a role of this binary.
pub(crate) const ROLE: &str = "server with a log";

pub(crate) fn serve(file: PathBuf) {
    tracing::subscriber::set_global_default(ToStandardError).unwrap();
    offer::serve("server", file);
}

struct ToStandardError;

impl Subscriber for ToStandardError {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("trunkline")
    }

    fn event(&self, event: &Event<'_>) {
        struct Message<'a>(&'a Metadata<'a>);
        impl Visit for Message<'_> {
            fn record_debug(&mut self, _: &Field, value: &dyn Debug) {
                eprintln!("{} {value:?}", self.0.level());
            }
        }
        event.record(&mut Message(event.metadata()));
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}
}

#[test]
fn can_09_why_a_client_cancels_is_logged_on_one_line() {
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let mut wire = Wire::start(ROLE, &File::new());
        wire.open(revision);
        wire.request(1, "tools/call", json!({"name": "gate", "arguments": {}}));
        wire.rest();
        wire.tell("notifications/cancelled", json!({"requestId": 1, "reason": "changed my mind\nERROR forged"}));
        wire.rest();
        let (_, _, log) = wire.close();
        let line = log.lines().find(|line| line.contains("changed my mind"));
        let line = line.unwrap_or_else(|| panic!("{revision}: {log}"));
        assert!(line.starts_with("DEBUG ") && line.contains("\\nERROR forged"), "{line}");
    }
}

/// Keeps the spans around each event whose message is `inside`, the innermost first.
#[derive(Clone, Default)]
struct Spans(Arc<Mutex<SpanTable>>);

#[derive(Default)]
struct SpanTable {
    spans: Vec<SpanRecord>,
    entered: Vec<u64>,
    around: Vec<Vec<String>>,
}

struct SpanRecord {
    metadata: &'static Metadata<'static>,
    parent: Option<u64>,
    text: Text,
}

#[derive(Default)]
struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        write!(self.0, " {field}={value:?}").unwrap();
    }
}

impl Subscriber for Spans {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &span::Attributes<'_>) -> span::Id {
        let mut table = self.0.lock().unwrap();
        let entered = || table.entered.last().copied().filter(|_| span.is_contextual());
        let parent = span.parent().map(span::Id::into_u64).or_else(entered);
        let mut text = Text(span.metadata().name().to_owned());
        span.record(&mut text);
        table.spans.push(SpanRecord { metadata: span.metadata(), parent, text });
        span::Id::from_u64(table.spans.len() as u64)
    }

    fn record(&self, span: &span::Id, values: &span::Record<'_>) {
        let mut table = self.0.lock().unwrap();
        values.record(&mut table.spans[span.into_u64() as usize - 1].text);
    }

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut text = Text::default();
        event.record(&mut text);
        if text.0 != " message=inside" {
            return;
        }
        let mut table = self.0.lock().unwrap();
        let mut next = table.entered.last().copied();
        let mut around = Vec::new();
        while let Some(id) = next {
            let SpanRecord { parent, text, .. } = &table.spans[id as usize - 1];
            around.push(text.0.clone());
            next = *parent;
        }
        table.around.push(around);
    }

    fn enter(&self, span: &span::Id) {
        self.0.lock().unwrap().entered.push(span.into_u64());
    }

    fn exit(&self, span: &span::Id) {
        let mut table = self.0.lock().unwrap();
        let at = table.entered.iter().rposition(|id| *id == span.into_u64()).unwrap();
        table.entered.remove(at);
    }

    fn current_span(&self) -> Current {
        let table = self.0.lock().unwrap();
        match table.entered.last() {
            Some(id) => Current::new(span::Id::from_u64(*id), table.spans[*id as usize - 1].metadata),
            None => Current::none(),
        }
    }
}

/// With only one subscriber, `tracing` lets whichever thread comes first decide for its place in
/// the code, such as that of another test.
pub(crate) fn another_subscriber() -> tracing::Dispatch {
    tracing::Dispatch::new(Spans::default())
}

#[tokio::test]
async fn a_call_has_a_span_within_those_of_its_caller_and_of_middleware() {
    let spans = Spans::default();
    let _other = another_subscriber();
    let _here = tracing::subscriber::set_default(spans.clone());
    let middleware = MiddlewareDefinition::from_fn(|_: Context, next: Next| {
        async move { Ok(next.run().await?) }.instrument(info_span!("middleware"))
    });
    let server = Server::builder("spans", "1")
        .add_middleware(middleware.methods(["tools/call"]))
        .tool("who", "Logs.", async || {
            tokio::task::yield_now().await;
            async { tracing::info!("inside") }.instrument(info_span!("query")).await;
            "done"
        })
        .resource("who://am/i", "who", async || {
            tokio::task::yield_now().await;
            tracing::info!("inside");
            "done"
        })
        .build();
    let client = Client::connect(&server).await.unwrap();
    let ask = |user: &'static str| {
        let client = &client;
        async move {
            client.call_tool("who", json!({})).await.unwrap();
            client.read_resource("who://am/i").await.unwrap();
        }
        .instrument(info_span!("caller", user))
    };
    tokio::join!(ask("ada"), ask("bob"));
    let around = std::mem::take(&mut spans.0.lock().unwrap().around);
    let call = |method: &str, user: &str| {
        let found = around.iter().find(|around| {
            around.iter().any(|text| text.starts_with("mcp.call") && text.contains(method))
                && around.last().is_some_and(|last| *last == format!("caller user={user:?}"))
        });
        found.unwrap_or_else(|| panic!("no {method} of {user}: {around:#?}"))
    };
    for user in ["ada", "bob"] {
        let [query, middleware, request, _] = &call("tools/call", user)[..] else { panic!("{around:#?}") };
        assert_eq!((&**query, &**middleware), ("query", "middleware"));
        for field in [r#"method="tools/call""#, r#"revision="2026-07-28""#, "request_id=", r#"name="who""#] {
            assert!(request.contains(field), "{field}: {request}");
        }
        let [request, _] = &call("resources/read", user)[..] else { panic!("{around:#?}") };
        assert!(request.contains(r#"name="who://am/i""#), "{request}");
    }
    assert_eq!(around.len(), 4);
}

/// Two users at once, each with their own token and session.
#[tokio::test]
async fn the_span_of_a_call_over_http_has_its_session_and_principal() {
    let spans = Spans::default();
    let _other = another_subscriber();
    let _here = tracing::subscriber::set_default(spans.clone());
    let verifier = |verification: Verification| {
        let user = verification.token().to_owned();
        verification.complete(Ok(Identity::default().with_subject(user)));
    };
    let authorization = AuthorizationOptions::new("https://spans.example/mcp");
    let authorization = authorization.with_authorization_servers(["https://login.example"]);
    let authorization = Authorization::new(authorization, Arc::new(verifier)).unwrap();
    let server = Server::builder("spans", "1")
        .tool("who", "Tells who calls.", async |ctx: Context| {
            tokio::task::yield_now().await;
            tracing::info!("inside");
            let principal = ctx.auth().map(|identity| identity.principal).unwrap_or_default();
            format!("{} {principal}", ctx.session_id().unwrap_or_default())
        })
        .build();
    let options = HttpOptions::default().with_auth(Some(authorization));
    let listener = server.listen_with(options.with_port(0)).await.unwrap();
    let url = listener.url().unwrap();
    let ask = |user: &'static str| {
        let target = HttpEndpoint::new(&url).with_header("Authorization", format!("Bearer {user}"));
        async move {
            let revision = RevisionChoice::Pinned(Revision::V2025_11_25);
            let options = ClientOptions::default().with_revision(revision);
            let client = Client::connect_with(target, options, ()).await.unwrap();
            client.call_tool("who", json!({})).await.unwrap().joined_text()
        }
    };
    let (ada, bob) = tokio::join!(ask("ada"), ask("bob"));
    let around = std::mem::take(&mut spans.0.lock().unwrap().around);
    assert_eq!(around.len(), 2, "{around:#?}");
    for (user, answer) in [("ada", ada), ("bob", bob)] {
        let (session, principal) = answer.split_once(' ').unwrap();
        assert!(!session.is_empty() && principal.contains(user), "{answer}");
        let fields = [format!("session={session:?}"), format!("principal={principal:?}")];
        let of_user = |text: &&String| fields.iter().all(|field| text.contains(&**field));
        assert_eq!(around.iter().flatten().filter(of_user).count(), 1, "{fields:?} in {around:#?}");
    }
}

/// Two requests at once in a session that runs one call at a time: the second one starts at the end
/// of the first, outside the span that the middleware of a web framework has started for it.
#[tokio::test]
async fn the_span_of_a_call_over_http_is_within_that_of_its_web_framework() {
    let spans = Spans::default();
    let _other = another_subscriber();
    let _here = tracing::subscriber::set_default(spans.clone());
    let gate = Arc::new(Semaphore::new(0));
    let server = gated(Arc::clone(&gate));
    let load = server.load();
    let service = server.into_service();
    let post = |session: Option<&str>, body: Value| {
        let mut service = service.clone();
        let request = Request::post("/")
            .header("Host", "localhost")
            .header("Content-Type", "application/json")
            .header("Accept", "application/json, text/event-stream");
        let request = session.into_iter().fold(request, |request, id| request.header("Mcp-Session-Id", id));
        let request = request.body(Full::<Bytes>::from(body.to_string())).unwrap();
        async move {
            let (head, body) = service.call(request).await.unwrap().into_parts();
            (head, String::from_utf8(body.collect().await.unwrap().to_bytes().into()).unwrap())
        }
    };
    let params =
        json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let (head, _) = post(None, json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})).await;
    let session = head.headers["mcp-session-id"].to_str().unwrap();
    let ask = |id: u32, user: &'static str| {
        let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "who"}});
        let answer = post(Some(session), call);
        async move {
            let (_, text) = answer.await;
            assert!(text.contains("done"), "{text}");
        }
        .instrument(info_span!("http", user))
    };
    let open = async {
        while load.waiting_calls() != 1 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        gate.add_permits(2);
    };
    let answered = tokio::time::timeout(DEADLINE, async { tokio::join!(ask(1, "ada"), ask(2, "bob"), open) }).await;
    answered.expect("both are answered");
    let around = std::mem::take(&mut spans.0.lock().unwrap().around);
    for user in ["ada", "bob"] {
        let http = format!("http user={user:?}");
        let found = around.iter().find(|around| around.last() == Some(&http));
        let found = found.unwrap_or_else(|| panic!("no call of {user}: {around:#?}"));
        let [call, _] = &found[..] else { panic!("{around:#?}") };
        assert!(call.starts_with("mcp.call") && call.contains(r#"name="who""#), "{call}");
    }
    assert_eq!(around.len(), 2);
}

/// A server whose only tool logs once it has passed the gate.
fn gated(gate: Arc<Semaphore>) -> Server {
    Server::builder("spans", "1")
        .options(ServerOptions::default().with_limits(Limits::default().with_max_running(1)))
        .tool("who", "Logs.", move || {
            let gate = Arc::clone(&gate);
            async move {
                gate.acquire().await.unwrap().forget();
                tracing::info!("inside");
                "done"
            }
        })
        .build()
}

/// Keeps each record of `trunkline` as its target and its fields.
#[derive(Clone, Default)]
pub(crate) struct Records(pub(crate) Arc<Mutex<Vec<Record>>>);

pub(crate) type Record = (String, BTreeMap<&'static str, String>);

impl Subscriber for Records {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("trunkline::")
    }

    fn event(&self, event: &Event<'_>) {
        struct Fields(BTreeMap<&'static str, String>);
        impl Visit for Fields {
            fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
                self.0.insert(field.name(), format!("{value:?}"));
            }
        }
        let mut fields = Fields(BTreeMap::new());
        event.record(&mut fields);
        self.0.lock().unwrap().push((event.metadata().target().to_owned(), fields.0));
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}
}

#[tokio::test]
async fn records_have_fields_and_each_request_has_one_on_each_side() {
    let records = Records::default();
    let _other = another_subscriber();
    let _here = tracing::subscriber::set_default(records.clone());
    let server = Server::builder("logged", "1")
        .tool("fail", "Fails.", async || -> Result<String, CallError> { Err(std::io::Error::other("disk full"))? })
        .prompt("some", "A prompt.", async || "text".to_owned())
        .build();
    let client = Client::connect(&server).await.unwrap();
    client.call_tool("fail", json!({})).await.unwrap();
    client.get_prompt("none", ()).await.unwrap_err();
    let records = std::mem::take(&mut *records.0.lock().unwrap());
    let of = |target: &str, method: &str| -> Vec<_> {
        let of = |(at, fields): &&Record| at == target && fields.get("method").is_some_and(|of| of == method);
        records.iter().filter(of).map(|(_, fields)| fields.clone()).collect()
    };

    let (_, failed) = records.iter().find(|(target, _)| target == "trunkline::server::handlers").unwrap();
    let text = |name: &str| failed[name].as_str();
    assert_eq!((text("message"), text("tool"), text("error")), ("a tool failed", "\"fail\"", "\"disk full\""));

    for (method, error) in [("\"tools/call\"", None), ("\"prompts/get\"", Some("-32602"))] {
        let [served] = &of("trunkline::server::request", method)[..] else { panic!("{records:#?}") };
        assert_eq!((served["message"].as_str(), served.get("code").map(String::as_str)), ("request served", error));
        assert!(served.contains_key("request_id") && served.contains_key("milliseconds"), "{served:?}");
        let [answered] = &of("trunkline::client::request", method)[..] else { panic!("{records:#?}") };
        assert_eq!(
            (answered["message"].as_str(), answered.contains_key("error")),
            ("request answered", error.is_some())
        );
    }
}
