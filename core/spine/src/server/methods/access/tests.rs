//! Lists, calls and reads of features that only some callers can see.

use crate::{
    Prompt, Resource, ResourceTemplate, Tool,
    protocol::{RawJson, Revision, RpcError},
    server::{
        CacheHints, CacheScope, Call, CompletionTarget, Context, Outcome, PromptDefinition, ResourceDefinition,
        ResourceTemplateDefinition, Server, ServerOptions, ToolDefinition,
        tests::{Peer, modern, server, text_of},
    },
    sync::Mutex,
    wire_log::Transport,
};
use serde_json::{Value, json};
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

fn value(value: Value) -> Outcome {
    Outcome::Value(RawJson::from_value(&value).unwrap())
}

/// Only the principal `admin` can see it.
fn admins(call: Call) {
    let auth: Value = call.info().request_info().auth.as_ref().map_or(Value::Null, |auth| auth.parse().unwrap());
    call.complete(value(json!(auth["principal"] == "admin")));
}

fn names(result: &Value, list: &str) -> Vec<String> {
    let name = |item: &Value| item["name"].as_str().unwrap().to_owned();
    result["result"][list].as_array().unwrap_or_else(|| panic!("{result}")).iter().map(name).collect()
}

const LISTS: [(&str, &str); 4] = [
    ("tools/list", "tools"),
    ("resources/list", "resources"),
    ("resources/templates/list", "resourceTemplates"),
    ("prompts/list", "prompts"),
];

/// A server with a feature `open` and a feature `closed` of each kind.
fn of_pairs(
    options: ServerOptions,
    tool: fn(ToolDefinition) -> ToolDefinition,
    resource: fn(ResourceDefinition) -> ResourceDefinition,
    template: fn(ResourceTemplateDefinition) -> ResourceTemplateDefinition,
    prompt: fn(PromptDefinition) -> PromptDefinition,
) -> Server {
    let server = server()
        .options(options)
        .tool("closed", "x", async || "x")
        .tool("open", "x", async || "x")
        .resource("a://closed", "closed", async || "x")
        .resource("a://open", "open", async || "x")
        .resource_template("b://closed/{v}", "closed", async || "x")
        .resource_template("b://{+v}", "open", async || "x")
        .add_prompt(PromptDefinition::new(json!({"name": "closed", "arguments": [{"name": "a"}]}), |call: Call| {
            call.complete(Outcome::Text("x".into()));
        }))
        .prompt("open", "x", async || "x")
        .completion(CompletionTarget::Prompt("closed".into()), "a", async || vec!["x".to_owned()])
        .build();
    server.find_tool("closed").unwrap().update(tool).unwrap();
    server.find_resource("a://closed").unwrap().update(resource).unwrap();
    server.find_resource_template("b://closed/{v}").unwrap().update(template).unwrap();
    server.find_prompt("closed").unwrap().update(prompt).unwrap();
    server
}

/// One request for each `closed` feature.
fn closed() -> [(&'static str, Value); 4] {
    let completed = json!({"ref": {"type": "ref/prompt", "name": "closed"}, "argument": {"name": "a", "value": ""}});
    [
        ("tools/call", json!({"name": "closed"})),
        ("resources/read", json!({"uri": "a://closed"})),
        ("prompts/get", json!({"name": "closed"})),
        ("completion/complete", completed),
    ]
}

#[tokio::test(start_paused = true)]
async fn aus_10_cch_13_res_13_lists_omit_features_without_their_scopes() {
    let scoped = |options: ServerOptions| {
        of_pairs(
            options.with_cache(CacheHints::default().with_ttl(Duration::from_secs(5)).with_scope(CacheScope::Public)),
            |tool| tool.scopes(["secret"]),
            |resource| resource.scopes(["secret"]).cache(CacheHints::default().with_scope(CacheScope::Public)),
            |template| template.scopes(["secret"]),
            |prompt| prompt.scopes(["secret"]),
        )
    };
    let server = scoped(ServerOptions::default());
    let peer = Peer::of(&server);
    for (method, list) in LISTS {
        let listed = peer.ask(method, modern(json!({}), json!({}))).await;
        assert_eq!(names(&listed, list), ["open"]);
        assert_eq!((&listed["result"]["cacheScope"], &listed["result"]["ttlMs"]), (&json!("private"), &json!(5000)));
    }
    for (method, params) in closed() {
        let error = peer.ask(method, modern(params, json!({}))).await["error"].take();
        assert_eq!(error["data"]["error"], "insufficient_scope", "{method}: {error}");
    }
    let error = peer.ask("resources/read", modern(json!({"uri": "b://closed/1"}), json!({}))).await["error"].take();
    assert_eq!(error["data"]["error"], "insufficient_scope", "{error}");
    let all = scoped(ServerOptions::default().with_list_out_of_scope(true));
    let peer = Peer::of(&all);
    for (method, list) in LISTS {
        let listed = peer.ask(method, modern(json!({}), json!({}))).await;
        assert_eq!(names(&listed, list), ["closed", "open"]);
        assert_eq!(listed["result"]["cacheScope"], "private");
    }
    let granted = Tool::new("a", "a", async || "a").scopes(["granted"]);
    let public = CacheHints::default().with_scope(CacheScope::Public);
    let server = crate::server::tests::server()
        .options(ServerOptions::default().with_cache(public))
        .add_tool(granted)
        .resource("a://a", "a", async || "a")
        .build();
    let peer = Peer::of(&server);
    assert_eq!(names(&peer.ask("tools/list", modern(json!({}), json!({}))).await, "tools"), ["a"]);
    let shared = peer.ask("resources/list", modern(json!({}), json!({}))).await;
    assert_eq!(shared["result"]["cacheScope"], "public", "nothing in it is personal");
}

#[tokio::test(start_paused = true)]
async fn res_13_a_hook_decides_for_each_caller_what_is_there() {
    let server = of_pairs(
        ServerOptions::default(),
        |tool| tool.visible(admins),
        |resource| resource.visible(admins),
        |template| template.visible(admins),
        |prompt| prompt.visible(admins),
    );
    for (principal, seen) in [("admin", vec!["closed", "open"]), ("guest", vec!["open"])] {
        let peer = Peer::with(&server, Transport::Stdio, Some(principal));
        let peer = peer.in_session(Revision::V2025_11_25, json!({})).await;
        for (method, list) in LISTS {
            assert_eq!(names(&peer.ask(method, json!({})).await, list), seen, "{principal}: {method}");
        }
        for (method, params) in closed() {
            let answer = peer.ask(method, params).await;
            assert_eq!(answer["result"].is_object(), principal == "admin", "{principal}: {answer}");
        }
        let subscribed = peer.ask("resources/subscribe", json!({"uri": "a://closed"})).await;
        assert_eq!(subscribed["result"].is_object(), principal == "admin", "{subscribed}");
        // The next matching template serves it.
        for method in ["resources/read", "resources/subscribe"] {
            assert!(peer.ask(method, json!({"uri": "b://closed/1"})).await["result"].is_object(), "{method}");
        }
    }
    let peer = Peer::with(&server, Transport::Stdio, Some("guest"));
    let peer = peer.in_session(Revision::V2025_11_25, json!({})).await;
    let unknown = peer.ask("tools/call", json!({"name": "nothing"})).await["error"].to_string();
    let hidden = peer.ask("tools/call", json!({"name": "closed"})).await["error"].to_string();
    assert_eq!(hidden, unknown.replace("nothing", "closed"), "both look the same");
}

/// A stream has the resources that `resources/subscribe` would accept for its client.
#[tokio::test(start_paused = true)]
async fn sub_02_a_stream_has_no_changes_of_resources_that_its_client_does_not_see() {
    let hooked =
        of_pairs(ServerOptions::default(), |tool| tool, |resource| resource.visible(admins), |it| it, |prompt| prompt);
    let scoped = of_pairs(
        ServerOptions::default(),
        |tool| tool,
        |resource| resource.scopes(["secret"]),
        |template| template,
        |prompt| prompt,
    );
    let all = ["a://closed", "a://open"];
    for (server, principal, seen) in
        [(&hooked, "admin", &all[..]), (&hooked, "guest", &all[1..]), (&scoped, "admin", &all[1..])]
    {
        let peer = Peer::with(server, Transport::Stdio, Some(principal));
        let uris = ["a://closed", "a://open", "c://unknown"];
        let filter = json!({"notifications": {"resourceSubscriptions": uris}});
        peer.request("subscriptions/listen", modern(filter, json!({})));
        let acknowledged = peer.received("notifications/subscriptions/acknowledged").await;
        assert_eq!(acknowledged["params"]["notifications"]["resourceSubscriptions"], json!(seen), "{principal}");
        uris.iter().for_each(|uri| server.resource_updated(uri));
        let told: Vec<_> = peer.rest().await.iter().map(|told| told["params"]["uri"].clone()).collect();
        assert_eq!(json!(told), json!(seen), "{principal}");
    }
}

/// Otherwise one request could run a hook 10,000 times.
#[tokio::test(start_paused = true)]
async fn sub_02_the_hook_of_a_template_decides_once_about_all_its_resources_of_a_stream() {
    let asked = Arc::<Mutex<Vec<String>>>::default();
    let hook = |is_visible: bool| {
        let asked = Arc::clone(&asked);
        move |call: Call| {
            asked.lock().push(call.input().as_str().to_owned());
            call.complete(value(json!(is_visible)));
        }
    };
    let template = |template: &str, is_visible| {
        let descriptor = json!({"uriTemplate": template, "name": template});
        ResourceTemplateDefinition::new(descriptor, drop::<Call>).visible(hook(is_visible))
    };
    let server = server()
        .add_resource_template(template("a://x/{v}", false))
        .add_resource_template(template("a://{+v}", true))
        .add_resource_template(template("b://{v}", false))
        .build();
    let peer = Peer::of(&server);
    let uris: Vec<_> = ["a://x/", "a://", "b://"]
        .into_iter()
        .flat_map(|prefix| (1000..1100).map(move |number| format!("{prefix}{number}")))
        .collect();
    let filter = json!({"notifications": {"resourceSubscriptions": uris}});
    peer.request("subscriptions/listen", modern(filter, json!({})));
    let acknowledged = peer.received("notifications/subscriptions/acknowledged").await;
    let mut allowed = uris[..200].to_vec();
    allowed.sort();
    assert_eq!(acknowledged["params"]["notifications"]["resourceSubscriptions"], json!(allowed));
    let mut asked = asked.lock().clone();
    asked.sort();
    assert_eq!(asked, [r#"{"name":"a://x/{v}"}"#, r#"{"name":"a://{+v}"}"#, r#"{"name":"b://{v}"}"#]);
}

/// CAN-05: nothing is sent for a stream that was cancelled before a hook has decided.
#[tokio::test(start_paused = true)]
async fn can_05_a_stream_that_is_cancelled_while_a_hook_decides_is_not_acknowledged() {
    let slow = || async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        true
    };
    let resource = Resource::new("a://slow", "r", async || "text").visible(slow);
    let peer = Peer::of(&server().add_resource(resource).build());
    let filter = json!({"notifications": {"resourceSubscriptions": ["a://slow"]}});
    let id = peer.request("subscriptions/listen", modern(filter, json!({})));
    peer.send(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}));
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(peer.rest().await, [] as [Value; 0]);
}

/// A server with a resource whose hook takes a second, and the number of hooks that were cancelled.
fn with_slow_hook() -> (Server, Arc<AtomicUsize>) {
    struct Counted(Arc<AtomicUsize>);
    impl Drop for Counted {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let cancelled = Arc::<AtomicUsize>::default();
    let counted = Arc::clone(&cancelled);
    let slow = move || {
        let guard = Counted(Arc::clone(&counted));
        async move {
            tokio::time::sleep(Duration::from_secs(1)).await;
            std::mem::forget(guard);
            true
        }
    };
    let resource = Resource::new("a://slow", "r", async || "text").visible(slow);
    (server().add_resource(resource).build(), cancelled)
}

#[tokio::test(start_paused = true)]
async fn can_05_the_hooks_of_a_stream_end_with_its_client() {
    let filter = || modern(json!({"notifications": {"resourceSubscriptions": ["a://slow"]}}), json!({}));
    for interrupts in [false, true] {
        let (server, cancelled) = with_slow_hook();
        let peer = Peer::of(&server);
        let id = peer.request("subscriptions/listen", filter());
        tokio::time::sleep(Duration::from_millis(500)).await;
        if interrupts {
            peer.connection.interrupt()
        } else {
            peer.connection.close()
        }
        let told = peer.rest().await;
        assert_eq!(cancelled.load(Ordering::Relaxed), 1);
        assert_eq!(told.len(), usize::from(interrupts), "{told:?}");
        assert!(told.iter().all(|answer| answer["id"] == id && answer["error"].is_object()), "{told:?}");
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert_eq!(peer.rest().await, [] as [Value; 0], "nothing follows");
    }
}

#[tokio::test(start_paused = true)]
async fn sub_06_a_stream_that_a_hook_decides_about_ends_at_a_shutdown() {
    let (server, cancelled) = with_slow_hook();
    let peer = Peer::of(&server);
    let filter = json!({"notifications": {"resourceSubscriptions": ["a://slow"]}});
    let id = peer.request("subscriptions/listen", modern(filter, json!({})));
    tokio::time::sleep(Duration::from_millis(500)).await;
    peer.connection.end_subscriptions();
    peer.received("notifications/subscriptions/acknowledged").await;
    assert!(peer.answer(id).await["result"].is_object());
    assert_eq!(cancelled.load(Ordering::Relaxed), 0, "the hook decided");
}

#[tokio::test(start_paused = true)]
async fn pag_05_pages_of_what_a_caller_sees_are_full_and_end() {
    let server = server().options(ServerOptions::default().with_page_size(3)).build();
    let counts = [(); 3].map(|()| Arc::new(AtomicUsize::new(0)));
    for number in 0..40 {
        let tool = Tool::new(format!("t{number}"), "x", async || "x");
        let counts = counts.clone();
        let even = tool.visible(move || {
            let [asked, running, most] = counts.clone();
            asked.fetch_add(1, Ordering::Relaxed);
            async move {
                most.fetch_max(running.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
                tokio::time::sleep(Duration::from_millis(10)).await;
                running.fetch_sub(1, Ordering::Relaxed);
                number % 2 == 0
            }
        });
        server.add_tool(even).unwrap();
    }
    let peer = Peer::of(&server).in_session(Revision::V2025_11_25, json!({})).await;
    let (mut seen, mut cursor) = (Vec::new(), None);
    loop {
        let params = cursor.map_or_else(|| json!({}), |cursor: Value| json!({"cursor": cursor}));
        let page = peer.ask("tools/list", params).await;
        let names = names(&page, "tools");
        cursor = page["result"].get("nextCursor").cloned();
        assert_eq!(names.len(), if cursor.is_some() { 3 } else { 2 });
        seen.extend(names);
        if cursor.is_none() {
            break;
        }
    }
    let even: Vec<_> = (0..20).map(|number| format!("t{}", number * 2)).collect();
    assert_eq!(seen, even);
    let [asked, _, most] = counts.map(|count| count.load(Ordering::Relaxed));
    assert!(asked < 7 * 20, "a page does not ask for the whole list: {asked}");
    assert_eq!(most, 16, "they run together, and not all at once");
}

#[tokio::test(start_paused = true)]
async fn a_hook_that_fails_hides_and_cannot_ask_the_client() {
    async fn asks(ctx: Context) -> Result<bool, crate::CallError> {
        ctx.elicit(crate::protocol::model::ElicitParams::form("?", crate::protocol::model::FormSchema::new())).await?;
        Ok(true)
    }
    let server = server()
        .add_tool(Tool::new("fails", "x", async || "x").visible(async || Err::<bool, _>(RpcError::internal())))
        .add_tool(Tool::new("panics", "x", async || "x").visible(async || -> bool { panic!("as it should") }))
        .add_tool(Tool::new("asks", "x", async || "x").visible(asks))
        .add_tool(ToolDefinition::new(json!({"name": "drops"}), drop::<Call>).visible(drop::<Call>))
        .add_tool(ToolDefinition::new(json!({"name": "odd"}), drop::<Call>).visible(|call: Call| {
            call.complete(value(json!("true")));
        }))
        .tool("works", "x", async || "x")
        .build();
    let peer = Peer::of(&server);
    let listed = peer.ask("tools/list", modern(json!({}), json!({"elicitation": {}}))).await;
    assert_eq!(names(&listed, "tools"), ["works"]);
    let called = peer.ask("tools/call", modern(json!({"name": "asks"}), json!({"elicitation": {}}))).await;
    assert_eq!(called["error"]["code"], -32602, "{called}");
}

#[tokio::test(start_paused = true)]
async fn a_handler_out_of_time_fails_and_is_cancelled() {
    struct Dropped(Arc<AtomicUsize>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let dropped = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&dropped);
    let sleeps = move || {
        let guard = Dropped(Arc::clone(&count));
        async move {
            tokio::time::sleep(Duration::from_secs(3600)).await;
            drop(guard);
            "late"
        }
    };
    let limit = Duration::from_millis(50);
    let server = server()
        .add_tool(Tool::new("slow", "x", sleeps.clone()).timeout(limit))
        .add_tool(Tool::new("quick", "x", async || "in time").timeout(limit))
        .add_resource(Resource::new("a://slow", "slow", sleeps.clone()).timeout(limit))
        .add_resource_template(ResourceTemplate::new("b://{v}", "slow", sleeps.clone()).timeout(limit))
        .add_prompt(Prompt::new("slow", "x", sleeps).timeout(limit))
        .build();
    let peer = Peer::of(&server).in_session(Revision::V2025_11_25, json!({})).await;
    let slow = peer.ask("tools/call", json!({"name": "slow"})).await;
    assert_eq!((text_of(&slow), &slow["result"]["isError"]), ("slow timed out after 50ms", &json!(true)));
    assert_eq!(text_of(&peer.ask("tools/call", json!({"name": "quick"})).await), "in time");
    for (method, params) in [
        ("resources/read", json!({"uri": "a://slow"})),
        ("resources/read", json!({"uri": "b://1"})),
        ("prompts/get", json!({"name": "slow"})),
    ] {
        let error = peer.ask(method, params).await["error"].take();
        assert!(error["message"].as_str().unwrap().contains("timed out after 50ms"), "{error}");
    }
    assert_eq!(dropped.load(Ordering::Relaxed), 4, "their futures are gone");
    let id = peer.request("tools/call", json!({"name": "slow"}));
    peer.send(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}));
    assert_eq!(peer.rest().await, [Value::Null; 0]);
    assert_eq!(dropped.load(Ordering::Relaxed), 5, "a cancelled request cancels it, too");
    let zero = server.add_tool(Tool::new("zero", "x", async || "x").timeout(Duration::ZERO));
    assert!(zero.unwrap_err().to_string().contains("timeout"));
}
