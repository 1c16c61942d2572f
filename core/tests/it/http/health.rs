//! Probes of orchestrators and load balancers.

use super::{faulty_store::FaultyStore, support::*};
use serde_json::{Value, json};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};
use trunkline::{
    Client, ClientGroup, ClientOptions, ProxyDefinition, Revision, RevisionChoice,
    protocol::model::{ElicitParams, Field, FormSchema},
    server::{Context, ServerOptions, Tool, ToolError},
    store::{ProcessStore, Store, StoreChoice},
    transport::{HttpOptions, Target, TokioRuntime},
};

async fn probed(server_options: ServerOptions) -> Fixture {
    Fixture::with(HttpOptions::default().with_health(true), server_options).await
}

impl Fixture {
    async fn probe(&self, path: &str) -> (u16, String) {
        // The server closes the connection of a late probe; the others end themselves.
        let answer = self.ask("GET").path(path).send().await;
        (answer.status, answer.body)
    }
}

fn passed() -> (u16, String) {
    (200, "ok\n".into())
}

fn failed() -> (u16, String) {
    (503, "unavailable\n".into())
}

#[tokio::test]
async fn probes_are_answered_by_a_status_where_they_are_asked_for() {
    let fixture = Fixture::new().await;
    assert_eq!(fixture.probe("/healthz").await.0, 404);
    assert_eq!(fixture.probe("/readyz").await.0, 404);

    let fixture = probed(ServerOptions::default()).await;
    for path in ["/healthz", "/readyz", "/readyz/"] {
        // An orchestrator names the address of the process; a page of another origin learns
        // nothing.
        let ask =
            fixture.ask("GET").path(path).header("Host", "10.0.0.7:8000").header("Origin", "https://evil.example");
        let answer = ask.send().await;
        assert_eq!((answer.status, &*answer.body), (200, "ok\n"), "{path}");
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        assert_eq!(answer.header("access-control-allow-origin"), None);
        let answer = fixture.ask("HEAD").path(path).send().await;
        assert_eq!((answer.status, &*answer.body), (200, ""), "{path}");
        let answer = fixture.ask("POST").path(path).json(&initialize("2025-11-25")).send().await;
        assert_eq!((answer.status, answer.header("allow")), (405, Some("GET, HEAD")), "{path}");
    }
    fixture.session("2025-11-25").await;
}

#[tokio::test]
async fn more_paths_are_those_of_the_program() {
    let options = HttpOptions::default().with_health_paths(["/health".to_owned()]);
    let fixture = Fixture::with(options, ServerOptions::default()).await;
    assert_eq!((fixture.probe("/health").await, fixture.probe("/healthz").await.0), (passed(), 404));
}

#[tokio::test]
async fn a_server_that_closes_is_alive_and_not_ready_until_its_calls_have_ended() {
    let fixture = probed(ServerOptions::default()).await;
    let gate = Gate::add(&fixture.server);
    let id = fixture.session("2025-11-25").await;
    let mut running = fixture.ask("POST").json(&Gate::call(1, false, true)).header("Mcp-Session-Id", &id).start().await;
    running.until("progress").await;
    assert_eq!(fixture.probe("/readyz").await, passed());
    let closing = fixture.listener.close(TEST_TIMEOUT);
    let probing = async {
        eventually_async("it stays ready", async || fixture.probe("/readyz").await == failed()).await;
        assert_eq!(fixture.probe("/healthz").await, passed());
        // A client that keeps its connections is asked to open another one elsewhere.
        let late = fixture.ask("POST").json(&initialize("2025-11-25")).start().await.finish().await;
        assert_eq!((late.status, late.header("connection")), (503, Some("close")));
        assert!(late.header("retry-after").is_some());
        gate.open(1);
    };
    tokio::join!(closing, probing);
    assert!(running.finish().await.body.contains("let through"));
    eventually("the socket is still there", || std::net::TcpStream::connect(fixture.address).is_err()).await;
}

/// The status stays the same: the request that reconnects has to come.
#[tokio::test]
async fn probes_name_the_state_of_each_server_behind_a_proxy() {
    let fixture = probed(ServerOptions::default()).await;
    let far = Fixture::new().await;
    let url = format!("http://{}/mcp", far.address);
    for (prefix, revision) in [("new", Revision::LATEST), ("old", Revision::LATEST_LEGACY)] {
        let options = ClientOptions::default().with_revision(RevisionChoice::Pinned(revision)).with_lazy(true);
        let client = Client::connect_with(&*url, options, ()).await.unwrap();
        fixture.server.proxy(ProxyDefinition::new(&client).prefix(prefix)).unwrap();
    }
    let members = [("dead", "http://127.0.0.1:1/mcp"), ("far", &*url)].map(|(name, url)| (name, Target::from(url)));
    let group = ClientGroup::connect(members).await.unwrap();
    fixture.server.proxy(ProxyDefinition::from_group(&group).prefix("all")).unwrap();
    let are = async |state: &str, of_group: &str| {
        let own = format!("ok\nproxy new: {state}\nproxy old: {state}\n");
        let body = format!("{own}proxy all__dead: down\nproxy all__far: {of_group}\n");
        for path in ["/healthz", "/readyz"] {
            assert_eq!(fixture.probe(path).await, (200, body.clone()), "{path}");
        }
    };
    let call_each = async |works: bool| {
        for tool in ["new__echo", "old__echo", "all__far__echo"] {
            let answer = fixture.modern("tools/call", call(tool, json!({"text": "x"}))).send().await.json();
            assert_eq!(answer.get("error").is_none(), works, "{tool}: {answer}");
        }
    };
    are("idle", "connected").await;
    call_each(true).await;
    are("connected", "connected").await;
    far.listener.close(Duration::ZERO).await;
    call_each(false).await;
    are("down", "down").await;
}

/// Otherwise a call that waits for its user would run into the deadline.
#[tokio::test]
async fn answers_and_cancellations_are_taken_while_the_server_closes() {
    let fixture = probed(ServerOptions::default()).await;
    let ask = async |ctx: Context| {
        let question = ElicitParams::form("Which word?", FormSchema::new().required("word", Field::text()));
        Ok::<_, ToolError>(json!(ctx.elicit(question).await?.content).to_string())
    };
    fixture.server.add_tool(Tool::new("ask", "Asks.", ask)).unwrap();
    let mut open = initialize("2025-06-18");
    open["params"]["capabilities"] = json!({"elicitation": {}});
    let id = fixture.post(&[], &open).await.header("mcp-session-id").unwrap().to_owned();
    let post = async |body: &Value| fixture.post(&[("Mcp-Session-Id", &id)], body).await.status;
    assert_eq!(post(&notification("notifications/initialized")).await, 202);
    let start = |number: i64, tool: &str, arguments: Value| {
        let mut body = request("tools/call", call(tool, arguments));
        body["id"] = json!(number);
        fixture.ask("POST").json(&body).header("Mcp-Session-Id", &id).header("Connection", "close").start()
    };
    let mut asking = start(1, "ask", json!({})).await;
    asking.until("elicitation/create").await;
    let question: Value =
        asking.text().lines().find_map(|line| serde_json::from_str(line.strip_prefix("data: ")?).ok()).unwrap();
    let _waiting = start(2, "wait", json!({"milliseconds": 60_000})).await;
    fixture.until_begun(1).await;
    let closing = fixture.listener.close(TEST_TIMEOUT);
    let answering = async {
        eventually_async("it stays ready", async || fixture.probe("/readyz").await == failed()).await;
        assert_eq!(post(&request("tools/list", json!({}))).await, 503);
        let result = json!({"action": "accept", "content": {"word": "yes"}});
        assert_eq!(post(&json!({"jsonrpc": "2.0", "id": question["id"], "result": result})).await, 202);
        let params = json!({"requestId": 2});
        let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params});
        assert_eq!(post(&cancel).await, 202);
    };
    let began = Instant::now();
    tokio::join!(closing, answering);
    assert!(began.elapsed() < TEST_TIMEOUT / 2);
    assert!(asking.finish().await.body.contains("yes"));
}

/// No client can connect to answer.
#[tokio::test]
async fn a_call_that_waits_for_its_user_fails_at_once_if_the_server_no_longer_listens() {
    for revision in ["2025-03-26", "2025-11-25"] {
        let fixture = Fixture::new().await;
        let ask = async |ctx: Context| Ok::<_, ToolError>(ctx.ping().await.map(|()| "alive")?);
        fixture.server.add_tool(Tool::new("ask", "Asks.", ask)).unwrap();
        let id = fixture.session(revision).await;
        let ask =
            fixture.ask("POST").json(&request("tools/call", call("ask", json!({})))).header("Mcp-Session-Id", &id);
        let mut asking = ask.start().await;
        asking.until("\"ping\"").await;
        let began = Instant::now();
        fixture.listener.close(TEST_TIMEOUT).await;
        assert!(began.elapsed() < TEST_TIMEOUT / 10, "{revision}: {:?}", began.elapsed());
        let answer = asking.finish().await;
        assert!(answer.body.contains("\"reason\":\"interrupted\""), "{revision}: {}", answer.body);
    }
}

#[tokio::test]
async fn a_server_is_ready_while_its_store_answers() {
    for stateless in [false, true] {
        let store = FaultyStore::new(Arc::new(ProcessStore::new(TokioRuntime::current())));
        let choice = StoreChoice::custom(Arc::clone(&store) as Arc<dyn Store>);
        let options = HttpOptions::default().with_health(true).with_stateless(stateless);
        let fixture = Fixture::with(options, ServerOptions::default().with_store(choice)).await;
        assert_eq!(fixture.probe("/readyz").await, passed());
        store.set_away(true);
        eventually_async("it stays ready", async || fixture.probe("/readyz").await == failed()).await;
        assert_eq!(fixture.probe("/healthz").await, passed());
        // The requests that need no store are served all the same.
        let answer = fixture.modern("tools/call", call("echo", json!({"text": "x"}))).send().await;
        assert_eq!(answer.json()["result"]["content"][0]["text"], "x");
        store.set_away(false);
        eventually_async("it is not ready again", async || fixture.probe("/readyz").await == passed()).await;
    }
}
