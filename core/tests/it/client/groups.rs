//! Many servers behind one client.

#![expect(deprecated, reason = "older revisions have it")]

use super::{Fake, Shared, TestRuntime, ms, targets::entry};
use crate::process::{DEADLINE, File};
use serde::Deserialize;
use serde_json::{Value, json};
use std::{
    future::Future,
    sync::{
        Arc, Mutex, OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::time::timeout;
use trunkline::{
    Client, ClientEvents, ClientOptions, Context, Params, RequestOptions, Revision, RevisionChoice, Server,
    ServerOptions, Tool,
    auth::{AccessToken, OAuth, OAuthGrant, OAuthOptions},
    client::{
        ClientError, ClientGroup, ClientHandlers, Connector, ElicitRequest, ErrorKind, GroupServerState, GroupTarget,
        HandlerError, Inbox, Link, LinkFailure, NamedServer, ServerDefaults, ServersConfig,
    },
    protocol::{
        RawJson, method,
        model::{
            ChangeKind, CompleteArgument, CompletionReference, ElicitParams, ElicitResult, FailureReason, Field,
            FormSchema, LoggingLevel, Root, SubscriptionFilter, TaskStatus,
        },
    },
    runtime::{BoxedTask, Runtime},
    schemars::JsonSchema,
    server::{Next, TaskSupport},
    transport::{Target, TokioRuntime},
};

async fn soon<T>(future: impl Future<Output = T>) -> T {
    timeout(DEADLINE, future).await.expect("it does not end")
}

#[derive(Deserialize, JsonSchema)]
struct Steps {
    steps: u32,
}

/// A server that answers with its name.
fn server(name: &'static str) -> Server {
    Server::builder(name, "1.0.0")
        .tool("whoami", "Tell the name of the server.", move || async move { name })
        .tool("get.name", "A name that the interfaces of models do not take.", move || async move { name })
        .tool("count", "Count with progress.", move |Params(given): Params<Steps>, ctx: Context| async move {
            for step in 1..=given.steps {
                ctx.progress(f64::from(step), Some(f64::from(given.steps))).await;
            }
            name
        })
        .resource("notes://today", "today", move || async move { name })
        .prompt("greet", "Greet.", move || async move { name })
        .build()
}

fn connector(server: &Server) -> Arc<dyn Connector> {
    Target::from(server).connector(&ClientOptions::default(), &TokioRuntime::current()).unwrap()
}

/// A server that refuses some connections, and is slow.
struct Hesitant {
    server: Arc<dyn Connector>,
    refusals: AtomicUsize,
    pause: Duration,
}

impl Connector for Hesitant {
    fn connect(&self, inbox: Arc<dyn Inbox>) -> BoxedTask<Result<Arc<dyn Link>, LinkFailure>> {
        let refuse =
            self.refusals.fetch_update(Ordering::AcqRel, Ordering::Acquire, |left| left.checked_sub(1)).is_ok();
        let (pause, connecting) = (self.pause, self.server.connect(inbox));
        Box::pin(async move {
            tokio::time::sleep(pause).await;
            if refuse { Err(LinkFailure::Unreachable("not yet".to_owned())) } else { connecting.await }
        })
    }

    fn is_pipe(&self) -> bool {
        self.server.is_pipe()
    }
}

fn two() -> [(&'static str, Target); 2] {
    [("a", (&server("first")).into()), ("b", (&server("second")).into())]
}

async fn text(group: &Client, tool: &str) -> String {
    soon(group.call_tool(tool, json!({}))).await.unwrap().joined_text()
}

/// Counts the notifications of each kind.
#[derive(Clone, Default)]
struct Changes(Arc<Mutex<Vec<String>>>);

impl ClientEvents for Changes {
    fn notification(&self, method: &str, _: Option<&RawJson>) {
        self.0.lock().unwrap().push(method.to_owned());
    }
}

impl Changes {
    fn number(&self, method: &str) -> usize {
        self.0.lock().unwrap().iter().filter(|heard| *heard == method).count()
    }

    async fn until(&self, method: &str, number: usize) {
        soon(async {
            while self.number(method) < number {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        })
        .await;
    }
}

/// TOOL-11: the names that the program gave make them differ.
#[tokio::test]
async fn everything_of_all_servers_is_there_under_unambiguous_names() {
    let group = soon(ClientGroup::connect(two())).await.unwrap();
    let tools: Vec<_> = group.list_tools().await.unwrap().into_iter().map(|tool| tool.name).collect();
    assert_eq!(tools.len(), 6);
    assert_eq!((tools[0].as_str(), tools[3].as_str()), ("a__whoami", "b__whoami"));
    assert_eq!((text(&group, "a__whoami").await, text(&group, "b__whoami").await), ("first".into(), "second".into()));
    let odd = tools.iter().find(|name| name.starts_with("b__get-name_")).unwrap();
    assert_eq!(text(&group, odd).await, "second");

    let prompts: Vec<_> = group.list_prompts().await.unwrap().into_iter().map(|prompt| prompt.name).collect();
    assert_eq!(prompts, ["a__greet", "b__greet"]);
    let prompt = group.get_prompt("b__greet", ()).await.unwrap();
    assert_eq!(prompt.messages[0].content.as_text(), Some("second"));

    let resources: Vec<_> = group.list_resources().await.unwrap().into_iter().map(|resource| resource.uri).collect();
    assert_eq!(resources, ["a+notes://today", "b+notes://today"]);
    let read = group.read_resource("a+notes://today").await.unwrap();
    assert!(format!("{:?}", read.contents).contains("first"));
    assert_eq!(serde_json::to_value(&read).unwrap()["contents"][0]["uri"], "a+notes://today");
    soon(group.close()).await;
    assert_eq!(group.call_tool("a__whoami", ()).await.unwrap_err().kind(), ErrorKind::Closed);
}

#[tokio::test]
async fn a_shortened_name_is_known_to_a_group_that_has_listed_nothing() {
    let name = {
        let group = soon(ClientGroup::connect(two())).await.unwrap();
        group.list_tools().await.unwrap().into_iter().find(|tool| tool.name.contains("get-name")).unwrap().name
    };
    let later = soon(ClientGroup::connect(two())).await.unwrap();
    assert_eq!(text(&later, &name).await, "first");
}

#[tokio::test]
async fn names_that_lead_nowhere_are_refused_with_the_servers_that_are_there() {
    let group = soon(ClientGroup::connect(two())).await.unwrap();
    let argument = serde_json::from_value::<CompleteArgument>(json!({"name": "who", "value": ""})).unwrap();
    for (error, expected) in [
        (group.call_tool("c__whoami", ()).await.unwrap_err(), "nothing named \"c__whoami\". Its servers: a, b"),
        (group.call_tool("whoami", ()).await.unwrap_err(), "nothing named \"whoami\""),
        (group.call_tool("a__x_0123abcd", ()).await.unwrap_err(), "The server \"a\" has nothing named"),
        (group.call_tool("a__nothing", ()).await.unwrap_err(), "Unknown tool: a__nothing"),
        (group.get_prompt("b__nothing", ()).await.unwrap_err(), "Unknown prompt: b__nothing"),
        (group.read_resource("notes://today").await.unwrap_err(), "begin with the prefix of the server"),
        (group.complete(&CompletionReference::prompt("x"), &argument, None).await.unwrap_err(), "nothing named"),
    ] {
        assert_eq!(error.kind(), ErrorKind::Protocol);
        assert!(error.to_string().contains(expected), "{error}");
    }
    let spaced = soon(ClientGroup::connect([("memory 2", two()[0].1.clone())])).await.unwrap();
    let error = spaced.call_tool("memory__x", ()).await.unwrap_err().to_string();
    let prefix = &spaced.servers()[0].prefix;
    assert!(error.contains(&format!("Its servers: memory 2 (its names begin with {prefix}__)")), "{error}");
    assert!(matches!(group.reconnect_server("c").await, Err(ClientError::Invalid(_))));
    assert!(matches!(group.add_server("a", &server("again")).await, Err(ClientError::Invalid(_))));
}

#[tokio::test]
async fn one_failing_server_does_not_affect_the_others() {
    let diary = File::new();
    let config = json!({"mcpServers": {
        "good": entry("script fragile", &diary),
        "gone": {"command": "/no/such/program"},
        "wrong": {"command": 5},
    }});
    let group = soon(ClientGroup::connect(ServersConfig::from_value(&config).unwrap())).await.unwrap();
    let servers = group.servers();
    let states: Vec<_> = servers.iter().map(|server| (server.name.as_str(), server.revision)).collect();
    assert_eq!(states, [("good", Some(Revision::V2025_06_18)), ("gone", None), ("wrong", None)]);
    assert_eq!(servers[0].server_info.as_ref().unwrap().name, "fragile");
    let states: Vec<_> = servers.iter().map(|server| server.state).collect();
    assert_eq!(states, [GroupServerState::Connected, GroupServerState::Disconnected, GroupServerState::Disconnected]);
    assert!(servers[1].error.as_ref().unwrap().to_string().contains("/no/such/program"));
    assert!(servers[2].error.as_ref().unwrap().to_string().contains("/mcpServers/wrong/command: must be a string"));
    let error = soon(group.call_tool("gone__x", ())).await.unwrap_err();
    assert!(error.kind() == ErrorKind::Transport && error.to_string().contains("/no/such/program"), "{error}");
    assert_eq!(group.list_tools().await.unwrap(), [], "the server of the script has no tools");
    soon(group.close()).await;
}

#[tokio::test]
async fn credentials_for_one_server_are_not_sent_to_all() {
    let secret = OAuthOptions::default().with_client_id("a").with_client_secret("b");
    let workload = OAuthOptions::default().with_grant(OAuthGrant::WorkloadIdentity).with_assertion("a");
    let headers = ServerDefaults::default().with_headers([("authorization".to_owned(), "Bearer a".to_owned())]);
    let oauth =
        |given: Value| ClientOptions::default().with_auth(OAuth::new(serde_json::from_value(given).unwrap()).unwrap());
    let issuer = "https://a.example";
    for (options, problem) in [
        (ClientOptions::default().with_auth(AccessToken::new("a")), "auth.token is for one server"),
        (ClientOptions::default().with_auth(OAuth::new(secret).unwrap()), "auth.issuer is missing"),
        (ClientOptions::default().with_auth(OAuth::new(workload).unwrap()), "auth.issuer is missing"),
        (ClientOptions::default().with_server_defaults(headers), "headers: Authorization is for one server"),
        (
            oauth(json!({"importedLogin": {"client_id": "a", "access_token": "b"}})),
            "auth.importedLogin is for one server",
        ),
        (oauth(json!({"resource": issuer})), "auth.resource is for one server"),
        (
            oauth(
                json!({"grant": "client_credentials", "clientId": "a", "clientSecret": "b", "issuer": issuer, "resource": issuer}),
            ),
            "auth.resource is for one server",
        ),
        (oauth(json!({"sendResource": false, "issuer": issuer})), "auth.sendResource is for one server"),
        (oauth(json!({"useIdToken": true})), "auth.useIdToken is for one server"),
    ] {
        let error = ClientGroup::connect_with(two(), options, ()).await.err().unwrap();
        assert!(error.kind() == ErrorKind::InvalidArgument && error.to_string().starts_with(problem), "{error}");
    }
    let asked = AccessToken::from_fn(async |request| Ok(request.url));
    ClientGroup::connect_with(two(), ClientOptions::default().with_auth(asked), ()).await.unwrap();
    // Tokens are for authorization servers at the origin of their server.
    ClientGroup::connect_with(two(), oauth(json!({"sendResource": false})), ()).await.unwrap();
}

#[tokio::test]
async fn a_server_that_failed_is_tried_again_when_it_is_needed() {
    let group = soon(ClientGroup::connect(two())).await.unwrap();
    let flaky = Arc::new(Hesitant {
        server: connector(&server("third")),
        refusals: AtomicUsize::new(2),
        pause: Duration::ZERO,
    });
    let added = group.add_target("c", flaky).await;
    assert!(matches!(added, Err(ClientError::Negotiation(_) | ClientError::Link(_))), "{added:?}");
    assert!(group.servers()[2].error.is_some());
    assert!(group.call_tool("c__whoami", ()).await.is_err(), "the second time it refuses");
    assert_eq!(text(&group, "c__whoami").await, "third");
    assert!(group.servers()[2].error.is_none());
}

#[tokio::test]
async fn servers_are_added_and_removed_while_the_group_is_open() {
    let changes = Changes::default();
    let group = soon(ClientGroup::connect_with(two(), ClientOptions::default().with_listen(true), changes.clone()))
        .await
        .unwrap();
    assert_eq!(changes.number(method::TOOLS_LIST_CHANGED), 0);
    let third = server("third");
    group.add_server("c", &third).await.unwrap();
    changes.until(method::TOOLS_LIST_CHANGED, 1).await;
    assert_eq!(text(&group, "c__whoami").await, "third");
    third.add_tool(trunkline::Tool::new("late", "A tool that comes late.", async || "late")).unwrap();
    changes.until(method::TOOLS_LIST_CHANGED, 2).await;
    assert_eq!(text(&group, "c__late").await, "late");
    group.remove_server("a").await.unwrap();
    changes.until(method::RESOURCES_LIST_CHANGED, 2).await;
    assert_eq!(group.servers().iter().map(|server| server.name.clone()).collect::<Vec<_>>(), ["b", "c"]);
    assert!(group.call_tool("a__whoami", ()).await.is_err());
    assert!(group.remove_server("a").await.is_err());
}

#[tokio::test]
async fn progress_timeouts_and_cancellation_reach_the_server_of_the_call() {
    let group = soon(ClientGroup::connect(two())).await.unwrap();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&heard);
    let options = RequestOptions::default().with_progress(move |progress, _, _| seen.lock().unwrap().push(progress));
    soon(group.call_tool_with("a__count", json!({"steps": 3}), &options)).await.unwrap();
    assert_eq!(heard.lock().unwrap().last(), Some(&3.0));

    let (heard, mut calls) = tokio::sync::mpsc::unbounded_channel();
    let waiting = Server::builder("waiting", "1.0.0")
        .tool("wait", "Wait until the client does not want the answer any more.", move |ctx: Context| {
            let heard = heard.clone();
            async move {
                let _ = heard.send("begun");
                ctx.cancelled().await;
                let _ = heard.send("cancelled");
            }
        })
        .build();
    group.add_server("w", &waiting).await.unwrap();
    let quick = RequestOptions::default().with_timeout(Duration::from_millis(500));
    let error = soon(group.call_tool_with("w__wait", (), &quick)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
    assert_eq!([soon(calls.recv()).await.unwrap(), soon(calls.recv()).await.unwrap()], ["begun", "cancelled"]);
    tokio::select! {
        answer = group.call_tool("w__wait", ()) => panic!("it has ended: {answer:?}"),
        begun = calls.recv() => assert_eq!(begun, Some("begun")),
    }
    assert_eq!(soon(calls.recv()).await, Some("cancelled"));
}

#[tokio::test]
async fn servers_of_every_revision_are_in_one_group() {
    for revision in Revision::ALL {
        let options = ClientOptions::default().with_revision(RevisionChoice::Pinned(revision));
        let group = soon(ClientGroup::connect_with(two(), options, ())).await.unwrap();
        assert_eq!(group.servers()[1].revision, Some(revision));
        assert_eq!(text(&group, "b__whoami").await, "second", "{revision:?}");
        assert_eq!(group.list_resources().await.unwrap().len(), 2);
    }
}

#[tokio::test(start_paused = true)]
async fn many_servers_are_connected_to_at_once() {
    let slow = |number: usize| {
        let (server, refusals) = (connector(&server("slow")), AtomicUsize::new(0));
        let slow: Arc<dyn Connector> = Arc::new(Hesitant { server, refusals, pause: Duration::from_millis(100) });
        (format!("server{number}"), Target::from(slow))
    };
    let start = tokio::time::Instant::now();
    let group = soon(ClientGroup::connect((0..32).map(slow))).await.unwrap();
    assert!(group.servers().iter().all(|server| server.error.is_none()));
    assert!(start.elapsed() < Duration::from_millis(32 * 100), "one after the other would take longer");
    assert_eq!(group.list_tools().await.unwrap().len(), 96);
}

/// A server that asks the user of its client for a word, and for the roots.
fn curious() -> Server {
    Server::builder("curious", "1.0.0")
        .tool("ask", "Ask the user for a word.", async |ctx: Context| {
            let form = FormSchema::new().required("word", Field::text());
            let answer = ctx.elicit(ElicitParams::form("A word?", form)).await?;
            trunkline::Ok(answer.content.unwrap_or_default()["word"].to_string())
        })
        .tool("where", "List the roots.", async |ctx: Context| {
            let roots: Vec<_> = ctx.list_roots().await?.into_iter().map(|root| root.uri).collect();
            trunkline::Ok(roots.join(" "))
        })
        .build()
}

/// Handlers that answer with the name of the server that asks, after a while.
fn answering(pause: Duration) -> ClientHandlers {
    ClientHandlers::default().on_elicit(move |request: ElicitRequest| async move {
        tokio::time::sleep(pause).await;
        let word = request.server_name.clone().unwrap_or_default();
        Ok::<_, HandlerError>(ElicitResult::accept(json!({"word": word}).as_object().unwrap().clone()))
    })
}

fn pinned(revision: Revision) -> ClientOptions {
    ClientOptions::default().with_revision(RevisionChoice::Pinned(revision))
}

#[tokio::test]
async fn eli_22_one_handler_answers_all_servers_and_knows_which_one_asks() {
    let servers = [curious(), curious()];
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        // The user takes longer than the call may.
        let options = pinned(revision)
            .with_timeout(Duration::from_millis(800))
            .with_max_timeout(Duration::from_millis(800))
            .with_handlers(answering(Duration::from_millis(1300)));
        let places = [("home", &servers[0]), ("work", &servers[1])];
        let group = soon(ClientGroup::connect_with(places, options, ())).await.unwrap();
        assert_eq!(text(&group, "work__ask").await, "\"work\"", "{revision:?}");
        assert_eq!(text(&group, "home__ask").await, "\"home\"", "{revision:?}");
        group.add_server("late", &servers[0]).await.unwrap();
        assert_eq!(text(&group, "late__ask").await, "\"late\"", "{revision:?}");
    }
}

/// Two forms of one server are open at once, each for longer than a call may take.
#[tokio::test(start_paused = true)]
async fn eli_22_a_call_waits_for_its_form_whatever_other_calls_wait_for() {
    let server = curious();
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let asked = AtomicUsize::new(0);
        let handlers = ClientHandlers::default().on_elicit(move |_: ElicitRequest| {
            let (word, pause) = [("first", 900), ("second", 2500)][asked.fetch_add(1, Ordering::Relaxed)];
            async move {
                tokio::time::sleep(Duration::from_millis(pause)).await;
                Ok::<_, HandlerError>(ElicitResult::accept(json!({"word": word}).as_object().unwrap().clone()))
            }
        });
        let limit = Duration::from_millis(800);
        let options = pinned(revision).with_timeout(limit).with_max_timeout(limit).with_handlers(handlers);
        let group = ClientGroup::connect_with([("home", &server)], options, ()).await.unwrap();
        let second = async {
            tokio::time::sleep(Duration::from_millis(100)).await;
            text(&group, "home__ask").await
        };
        let answers = tokio::join!(text(&group, "home__ask"), second);
        assert_eq!(answers, ("\"first\"".to_owned(), "\"second\"".to_owned()), "{revision:?}");
    }
}

#[tokio::test]
async fn root_03_roots_and_handlers_change_for_all_servers() {
    let servers = [curious(), curious()];
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let handlers = ClientHandlers::default()
            .on_elicit(async |_: ElicitRequest| Ok::<_, HandlerError>(ElicitResult::decline()));
        let options = pinned(revision).with_roots(vec![Root::new("file:///a")]).with_handlers(handlers);
        let places = [("home", &servers[0]), ("work", &servers[1])];
        let group = soon(ClientGroup::connect_with(places, options, ())).await.unwrap();
        assert_eq!(text(&group, "home__where").await, "file:///a");
        group.set_roots([Root::new("file:///b"), Root::new("file:///c")]).unwrap();
        group.set_handlers(answering(Duration::ZERO)).unwrap();
        group.add_server("late", &servers[0]).await.unwrap();
        for name in ["home", "work", "late"] {
            assert_eq!(text(&group, &format!("{name}__where")).await, "file:///b file:///c", "{revision:?}");
            assert_eq!(text(&group, &format!("{name}__ask")).await, format!("\"{name}\""), "{revision:?}");
        }
        let error = group.set_roots([Root::new("https://a.b/")]).unwrap_err();
        assert!(error.to_string().contains("file://"), "{error}");
    }
}

#[tokio::test]
async fn changes_of_all_servers_arrive_through_the_subscriptions_of_the_group() {
    for revision in [Revision::V2024_11_05, Revision::V2025_11_25, Revision::V2026_07_28] {
        let (first, second) = (server("first"), server("second"));
        let changes = Changes::default();
        let places = [("a", &first), ("b", &second)];
        let group = soon(ClientGroup::connect_with(places, pinned(revision), changes.clone())).await.unwrap();
        let mut today = soon(group.subscribe(["a+notes://today", "b+notes://today"])).await.unwrap();
        let mut tools = soon(group.subscribe(SubscriptionFilter::default().with_tools(true))).await.unwrap();
        second.resource_updated("notes://today");
        let change = soon(today.next()).await.unwrap().unwrap();
        assert_eq!(change.uri.as_deref(), Some("b+notes://today"), "{revision:?}");
        first.resource_updated("notes://today");
        let change = soon(today.next()).await.unwrap().unwrap();
        assert_eq!(change.uri.as_deref(), Some("a+notes://today"), "{revision:?}");
        assert_eq!(changes.number(method::RESOURCES_UPDATED), 2, "each once");
        second.add_tool(trunkline::Tool::new("late", "A tool that comes late.", async || "late")).unwrap();
        assert_eq!(soon(tools.next()).await.unwrap().unwrap().kind, ChangeKind::Tools, "{revision:?}");
        let error = soon(group.subscribe("c+notes://today")).await.unwrap_err();
        assert!(error.to_string().contains("Its servers: a, b"), "{error}");
        today.close();
        first.resource_updated("notes://today");
        first.add_tool(trunkline::Tool::new("later", "Another one.", async || "later")).unwrap();
        soon(tools.next()).await.unwrap().unwrap();
        assert_eq!(changes.number(method::RESOURCES_UPDATED), 2, "nobody is subscribed any more: {revision:?}");
        soon(group.close()).await;
        assert!(soon(tools.next()).await.is_none());
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_hangs_keeps_neither_lists_nor_the_end_waiting() {
    let silent = Server::builder("silent", "1.0.0")
        .tool("none", "Not listed.", async || "none")
        .middleware(|_: Context, next: Next| async move {
            if next.method() == method::TOOLS_LIST {
                std::future::pending::<()>().await;
            }
            next.run().await.map_err(Into::into)
        })
        .build();
    let options = ClientOptions::default().with_timeout(Duration::from_millis(400));
    let group = soon(ClientGroup::connect_with([("a", &server("first")), ("s", &silent)], options, ())).await.unwrap();
    let tools: Vec<_> = soon(group.list_tools()).await.unwrap().into_iter().map(|tool| tool.name).collect();
    assert!(tools.iter().all(|name| name.starts_with("a__")) && tools.len() == 3, "{tools:?}");

    let hanging =
        Arc::new(Hesitant { server: connector(&server("late")), refusals: AtomicUsize::new(0), pause: DEADLINE * 10 });
    let adding = tokio::spawn({
        let group = group.clone();
        async move { group.add_target("h", hanging).await }
    });
    soon(async {
        while group.servers().len() < 3 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await;
    let states: Vec<_> = group.servers().iter().map(|server| server.state).collect();
    assert_eq!(states, [GroupServerState::Connected, GroupServerState::Connected, GroupServerState::Connecting]);
    soon(group.close_within(Duration::from_millis(100))).await;
    assert_eq!(soon(adding).await.unwrap().unwrap_err().kind(), ErrorKind::Closed);
    let error = soon(group.add_server("after", &server("late"))).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Closed, "a closed group connects to nothing more: {error}");
    assert_eq!(soon(group.remove_server("a")).await.unwrap_err().kind(), ErrorKind::Closed);
}

#[tokio::test]
async fn a_group_without_timeouts_lists_what_its_servers_have() {
    let options = ClientOptions::default().with_timeout(Duration::MAX).with_max_timeout(Duration::MAX);
    let group = soon(ClientGroup::connect_with([("a", &server("first"))], options, ())).await.unwrap();
    assert_eq!(soon(group.list_tools()).await.unwrap().len(), 3);
}

#[tokio::test]
async fn a_server_with_a_huge_list_does_not_hide_the_others() {
    let lists = |count: usize| {
        Fake::process(move |peer, message| match message["method"].as_str() {
            Some("initialize") => {
                let (capabilities, info) = (json!({"tools": {}}), json!({"name": "fake", "version": "1"}));
                let version = "2025-11-25";
                let opened = json!({"protocolVersion": version, "capabilities": capabilities, "serverInfo": info});
                peer.result(message, opened);
            }
            Some("tools/list") => {
                let tool = |number| json!({"name": format!("t{number}"), "inputSchema": {"type": "object"}});
                peer.result(message, json!({"tools": (0..count).map(tool).collect::<Vec<_>>()}));
            }
            _ => {}
        })
    };
    let (huge, small) = (lists(10_000), lists(2));
    let runtime = Arc::new(TestRuntime(Arc::clone(&small.clock)));
    let members: [NamedServer; 2] = [("huge", huge), ("small", small)]
        .map(|(name, fake)| (name.to_owned(), Ok(GroupTarget::Connector(Arc::new(Shared(fake))))));
    let group = ClientGroup::open(runtime, members, pinned(Revision::V2025_11_25), Arc::new(())).await.unwrap();
    let tools: Vec<_> = group.list_tools().await.unwrap().into_iter().map(|tool| tool.name).collect();
    assert_eq!(tools, ["small__t0", "small__t1"]);
}

#[tokio::test]
async fn a_shortened_name_is_known_for_as_long_as_it_is_listed() {
    let first = server("first");
    let long = "x".repeat(80);
    first.add_tool(trunkline::Tool::new(&long, "A tool with a long name.", async || "long")).unwrap();
    let group = soon(ClientGroup::connect([("a", &first)])).await.unwrap();
    let tools = soon(group.list_tools()).await.unwrap();
    let short = &tools.iter().find(|tool| tool.name.contains("xxx")).unwrap().name;
    assert_eq!(text(&group, short).await, "long");
    assert!(first.remove_tool(&long));
    soon(group.list_tools()).await.unwrap();
    let error = soon(group.call_tool(short, ())).await.unwrap_err();
    assert!(error.to_string().contains("The server \"a\" has nothing named"), "{error}");
}

#[tokio::test]
async fn the_log_level_applies_to_all_servers_including_those_added_later() {
    let noisy = || {
        Server::builder("noisy", "1.0.0")
            .tool("work", "Log a debug message.", async |ctx: Context| {
                ctx.log(LoggingLevel::Debug, "working");
                "done"
            })
            .build()
    };
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let (servers, logged) = ([noisy(), noisy(), noisy()], Changes::default());
        let places = [("a", &servers[0]), ("b", &servers[1])];
        let options = pinned(revision).with_log_level(LoggingLevel::Error);
        let group = soon(ClientGroup::connect_with(places, options, logged.clone())).await.unwrap();
        text(&group, "a__work").await;
        assert_eq!(logged.number(method::LOG_MESSAGE), 0, "{revision:?}");
        soon(group.set_log_level(LoggingLevel::Debug)).await.unwrap();
        group.add_server("c", &servers[2]).await.unwrap();
        for name in ["a", "b", "c"] {
            text(&group, &format!("{name}__work")).await;
        }
        logged.until(method::LOG_MESSAGE, 3).await;
    }
}

/// A server with every kind of task tool.
fn tasks() -> Server {
    Server::builder("tasks", "1.0.0")
        .options(ServerOptions::default().with_task_poll_interval(Duration::from_millis(20)))
        .tool("plain", "Is never a task.", async || "plain")
        .add_tool(
            Tool::new("ask", "Asks for a word.", async |ctx: Context| {
                let form = FormSchema::new().required("word", Field::text());
                let answer = ctx.elicit_with_key("word", ElicitParams::form("A word?", form)).await?;
                trunkline::Ok(answer.content.unwrap_or_default()["word"].to_string())
            })
            .task(TaskSupport::Optional),
        )
        .add_tool(
            Tool::new("wait", "Waits for its end.", async |ctx: Context| {
                ctx.cancelled().await;
                "never"
            })
            .task(TaskSupport::Optional),
        )
        .build()
}

#[tokio::test]
async fn tsk_06_tsk_30_tkx_03_tasks_of_all_servers_have_ids_of_the_group() {
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let servers = [tasks(), tasks()];
        let statuses = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&statuses);
        let handlers = answering(Duration::ZERO).on_task_status(move |task| seen.lock().unwrap().push(task));
        let places = [("home", &servers[0]), ("work", &servers[1])];
        let options = pinned(revision).with_handlers(handlers);
        let group = soon(ClientGroup::connect_with(places, options, ())).await.unwrap();

        let mut task = soon(group.start_task("work__ask", ())).await.unwrap();
        let id = task.id().unwrap();
        assert!(id.starts_with("work__"), "{revision:?}: {id}");
        while let Some(state) = soon(task.next()).await {
            assert_eq!(state.unwrap().task_id, id);
        }
        assert_eq!(soon(task.result()).await.unwrap().joined_text(), "\"work\"", "{revision:?}");
        assert_eq!(soon(group.get_task(&id)).await.unwrap().status, TaskStatus::Completed);
        let again = soon(group.resume_task(&id)).await.unwrap();
        assert_eq!(soon(again.result()).await.unwrap().joined_text(), "\"work\"", "{revision:?}");
        assert!(statuses.lock().unwrap().iter().any(|status| status.task_id == id), "{revision:?}");

        let plain = soon(group.start_task("home__plain", ())).await.unwrap();
        assert_eq!((plain.id(), soon(plain.result()).await.unwrap().joined_text()), (None, "plain".to_owned()));

        let waiting = soon(group.start_task("home__wait", ())).await.unwrap();
        let listed: Vec<_> = soon(group.list_tasks()).await.unwrap().into_iter().map(|task| task.task_id).collect();
        if revision == Revision::V2025_11_25 {
            assert_eq!(listed, [waiting.id().unwrap(), id], "those of the first server come first");
        }
        soon(waiting.cancel()).await.unwrap();
        let error = soon(waiting.result()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Cancelled, "{revision:?}: {error}");
        for unknown in ["work__nothing", "nowhere__x", "x"] {
            let error = soon(group.get_task(unknown)).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Protocol, "{unknown}: {error}");
        }
        soon(group.close()).await;
    }
}

#[tokio::test]
async fn metadata_of_requests_reaches_the_server() {
    let reads = Server::builder("reads", "1.0.0")
        .tool("meta", "Tells what metadata came.", async |ctx: Context| {
            let meta = ctx.meta().map(|meta| meta.parse::<Value>().unwrap()).unwrap_or_default();
            meta["example.com/trace"].to_string()
        })
        .build();
    let group = soon(ClientGroup::connect([("m", &reads)])).await.unwrap();
    let params = RawJson::from_value(&json!({"name": "m__meta", "_meta": {"example.com/trace": "t"}})).unwrap();
    let options = RequestOptions::default().with_progress(|_, _, _| {});
    let result = soon(group.request(method::TOOLS_CALL, Some(&params), &options)).await.unwrap();
    let result: Value = result.parse().unwrap();
    assert_eq!(result["content"][0]["text"], "\"t\"");
}

/// Looks at the servers of its group when the lists change.
#[derive(Clone, Default)]
struct Looks(Arc<OnceLock<ClientGroup>>, Arc<Mutex<Vec<Vec<GroupServerState>>>>);

impl ClientEvents for Looks {
    fn notification(&self, method: &str, _: Option<&RawJson>) {
        if let (method::TOOLS_LIST_CHANGED, Some(group)) = (method, self.0.get()) {
            self.1.lock().unwrap().push(group.servers().into_iter().map(|server| server.state).collect());
        }
    }
}

#[tokio::test]
async fn a_server_is_there_before_its_lists_are_announced() {
    let looks = Looks::default();
    let group = soon(ClientGroup::connect_with(two(), ClientOptions::default(), looks.clone())).await.unwrap();
    let _ = looks.0.set(group.clone());
    let late = Hesitant {
        server: connector(&server("third")),
        refusals: AtomicUsize::new(0),
        pause: Duration::from_millis(20),
    };
    soon(group.add_target("c", Arc::new(late))).await.unwrap();
    soon(async {
        while looks.1.lock().unwrap().is_empty() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await;
    assert_eq!(looks.1.lock().unwrap()[0], [GroupServerState::Connected; 3]);
}

/// A group of one scripted server whose user takes five minutes to answer, while a call may take a
/// second.
#[tokio::test]
async fn a_connection_that_is_lost_while_its_user_is_asked_leaves_no_clock_behind() {
    let fake = Fake::process(|peer, message| match message["method"].as_str() {
        Some("initialize") => peer.accept(message, "2025-11-25"),
        Some("tools/call") => {
            let form = json!({"message": "Where?", "requestedSchema": {"type": "object", "properties": {}}});
            peer.say(json!({"jsonrpc": "2.0", "id": "q", "method": "elicitation/create", "params": form}));
        }
        _ => {}
    });
    let clock = TestRuntime(Arc::clone(&fake.clock));
    let thinks = ClientHandlers::default().on_elicit(move |_: ElicitRequest| {
        let clock = clock.clone();
        async move {
            clock.sleep_until(clock.now() + ms(300_000)).await;
            Ok::<_, HandlerError>(ElicitResult::decline())
        }
    });
    let options = pinned(Revision::V2025_11_25).with_handlers(thinks).with_reconnect(false);
    let options = options.with_timeout(ms(1_000)).with_max_timeout(ms(1_000));
    let member: NamedServer = ("m".to_owned(), Ok(GroupTarget::Connector(Arc::new(Shared(Arc::clone(&fake))))));
    let runtime = Arc::new(TestRuntime(Arc::clone(&fake.clock)));
    let group = ClientGroup::open(runtime, [member], options, Arc::new(())).await.unwrap();
    let call = |group: &ClientGroup| {
        let group = group.clone();
        tokio::spawn(async move { group.call_tool("m__x", ()).await })
    };

    let lost = call(&group);
    fake.clock.advance(ms(5_000)).await;
    assert!(!lost.is_finished(), "the user thinks");
    fake.peer().exit();
    assert_eq!(lost.await.unwrap().unwrap_err().kind(), ErrorKind::Transport);

    let second = call(&group);
    fake.clock.advance(ms(299_000)).await;
    assert!(!second.is_finished(), "the user thinks again, on another connection");
    fake.clock.advance(ms(1_000)).await;
    fake.clock.advance(ms(1_000)).await;
    assert!(second.is_finished(), "the clocks run again when the user has answered");
    assert_eq!(second.await.unwrap().unwrap_err().kind(), ErrorKind::Timeout);
}

/// By the client of the group, under the name that the caller knows, and by it alone.
#[tokio::test]
async fn tool_14_results_of_servers_are_checked_for_the_group() {
    let fake = Fake::process(|peer, message| match message["method"].as_str() {
        Some("initialize") => {
            let info = json!({"name": "fake", "version": "1"});
            let capabilities = json!({"tools": {}});
            let version = "2025-11-25";
            peer.result(message, json!({"protocolVersion": version, "capabilities": capabilities, "serverInfo": info}));
        }
        Some("tools/list") => {
            let output = json!({"type": "object", "required": ["high"]});
            let tool = json!({"name": "x", "inputSchema": {"type": "object"}, "outputSchema": output});
            peer.result(message, json!({"tools": [tool]}));
        }
        Some("tools/call") => peer.result(message, json!({"content": [], "structuredContent": {"low": 1}})),
        _ => {}
    });
    let member: NamedServer = ("m".to_owned(), Ok(GroupTarget::Connector(Arc::new(Shared(Arc::clone(&fake))))));
    let runtime = Arc::new(TestRuntime(Arc::clone(&fake.clock)));
    let group = ClientGroup::open(runtime, [member], pinned(Revision::V2025_11_25), Arc::new(())).await.unwrap();
    assert!(soon(group.call_tool("m__x", ())).await.is_ok(), "nothing is listed yet");
    soon(group.list_tools()).await.unwrap();
    let error = soon(group.call_tool("m__x", ())).await.unwrap_err().to_string();
    assert!(error.contains("\"m__x\"") && error.contains("high"), "{error}");
}

#[tokio::test]
async fn an_invalid_response_of_a_server_is_one_of_the_group() {
    let fake = Fake::process(|peer, message| match message["method"].as_str() {
        Some("initialize") => {
            let info = json!({"name": "fake", "version": "1"});
            let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info});
            peer.result(message, hello);
        }
        Some("tools/call") => peer.result(message, json!(7)),
        _ => {}
    });
    let member: NamedServer = ("m".to_owned(), Ok(GroupTarget::Connector(Arc::new(Shared(Arc::clone(&fake))))));
    let runtime = Arc::new(TestRuntime(Arc::clone(&fake.clock)));
    let group = ClientGroup::open(runtime, [member], pinned(Revision::V2025_11_25), Arc::new(())).await.unwrap();
    let error = soon(group.call_tool("m__x", ())).await.unwrap_err();
    assert_eq!(error.connection().unwrap().reason, Some(FailureReason::InvalidResponse), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_opening_makes_no_further_connections() {
    let refusals = || Arc::new(AtomicUsize::new(usize::MAX));
    let counted = [refusals(), refusals()];
    struct Slow(Arc<AtomicUsize>, Duration);
    impl Connector for Slow {
        fn connect(&self, _: Arc<dyn Inbox>) -> BoxedTask<Result<Arc<dyn Link>, LinkFailure>> {
            self.0.fetch_sub(1, Ordering::AcqRel);
            let pause = self.1;
            Box::pin(async move {
                tokio::time::sleep(pause).await;
                Err(LinkFailure::Unreachable("not yet".to_owned()))
            })
        }

        fn is_pipe(&self) -> bool {
            false
        }
    }
    // More than are connected to at once.
    let place = |number: usize| {
        let connector: Arc<dyn Connector> = Arc::new(Slow(Arc::clone(&counted[number / 16]), DEADLINE * 10));
        (format!("server{number}"), Target::from(connector))
    };
    let opening = ClientGroup::connect((0..32).map(place));
    assert!(timeout(Duration::from_millis(200), opening).await.is_err(), "it waits for all servers");
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(usize::MAX - counted[0].load(Ordering::Acquire), 16);
    assert_eq!(usize::MAX - counted[1].load(Ordering::Acquire), 0, "the others are not tried");
}

#[tokio::test]
async fn a_client_of_the_program_is_shared_and_stays_open() {
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let changes = Changes::default();
        let options = ClientOptions::default().with_listen(true);
        let group = soon(ClientGroup::connect_with(two(), options, changes.clone())).await.unwrap();
        let own = server("own");
        let options = ClientOptions::default().with_revision(RevisionChoice::Pinned(revision));
        let client = soon(Client::connect_with(&own, options, ())).await.unwrap();
        soon(group.add_server("own", &client)).await.unwrap();
        assert_eq!(text(&group, "own__whoami").await, "own");
        let state = group.servers().pop().unwrap();
        assert_eq!((&*state.name, state.state, state.revision), ("own", GroupServerState::Connected, Some(revision)));

        let before = changes.number(method::TOOLS_LIST_CHANGED);
        own.add_tool(trunkline::Tool::new("late", "A tool that comes late.", async || "late")).unwrap();
        changes.until(method::TOOLS_LIST_CHANGED, before + 1).await;
        assert_eq!(text(&group, "own__late").await, "late");

        soon(group.remove_server("own")).await.unwrap();
        assert_eq!(soon(client.call_tool("whoami", ())).await.unwrap().joined_text(), "own");
        soon(group.add_server("again", &client)).await.unwrap();
        soon(group.close()).await;
        assert_eq!(soon(client.call_tool("whoami", ())).await.unwrap().joined_text(), "own");
    }
}

#[tokio::test]
async fn a_shared_client_that_ends_fails_its_own_calls_only() {
    let group = soon(ClientGroup::connect(two())).await.unwrap();
    let client = soon(Client::connect(&server("own"))).await.unwrap();
    soon(group.add_server("own", &client)).await.unwrap();
    soon(client.close()).await;
    let error = soon(group.call_tool("own__whoami", ())).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Closed, "{error}");
    let own = group.servers().pop().unwrap();
    assert_eq!(own.state, GroupServerState::Disconnected);
    assert_eq!(text(&group, "a__whoami").await, "first");
    assert_eq!(soon(group.list_tools()).await.unwrap().len(), 6);
}

/// The client with the handler asks the user, and the timeouts of the group are paused.
#[tokio::test]
async fn a_shared_client_keeps_its_handlers() {
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let options = pinned(revision).with_handlers(answering(ms(600)));
        let client = soon(Client::connect_with(&curious(), options, ())).await.unwrap();
        let group = soon(ClientGroup::connect([("own", &client)])).await.unwrap();
        let options = RequestOptions::default().with_timeout(ms(400)).with_max_timeout(ms(400));
        let answer = soon(group.call_tool_with("own__ask", (), &options)).await.unwrap();
        assert_eq!(answer.joined_text(), "\"\"", "{revision}: the client is in no group for its handler");
    }
}

#[tokio::test]
async fn a_group_is_no_server_of_itself() {
    let (outer, inner) = (soon(ClientGroup::connect(two())).await.unwrap(), ClientGroup::connect(two()));
    let inner = soon(inner).await.unwrap();
    let own: &Client = &outer;
    let error = soon(outer.add_server("own", own)).await.unwrap_err();
    assert!(error.to_string().contains("this group itself"), "{error}");
    let other: &Client = &inner;
    soon(outer.add_server("inner", other)).await.unwrap();
    assert_eq!(text(&outer, "inner__a__whoami").await, "first");
    let error = soon(inner.add_server("outer", own)).await.unwrap_err();
    assert!(error.to_string().contains("or contains it"), "{error}");
}
