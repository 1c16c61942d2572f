//! Middleware and providers as async code in Rust.

use serde_json::{Value, json};
use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::{sync::Notify, time::timeout};
use trunkline::{
    Client, ClientOptions, Context, RequestOptions, RevisionChoice, Server, ToolError,
    protocol::{RawJson, Revision, RpcError, model::Tool},
    server::{CallError, Category, MiddlewareDefinition, Next, Page, Provider, ToolRequest},
};

async fn connect(server: &Server, revision: Revision) -> Client {
    let options = ClientOptions::default().with_revision(RevisionChoice::Pinned(revision));
    Client::connect_with(server, options, Silent).await.unwrap()
}

struct Silent;

impl trunkline::ClientEvents for Silent {
    fn notification(&self, _: &str, _: Option<&RawJson>) {}
    fn closed(&self, _: Option<&trunkline::ClientError>) {}
}

/// Rows of a database, more than one page of them.
struct Rows;

impl Provider for Rows {
    type Item = Tool;
    type Output = String;
    type Error = CallError;

    async fn list(&self, _: Context, cursor: Option<String>) -> Result<Page<Tool>, CallError> {
        let start: usize = cursor.map_or(Ok(0), |cursor| cursor.parse())?;
        let tool = |number: usize| Tool::new(format!("row_{number}"), "A row.", json!({"type": "object"}));
        let (next, tools) = (start + 2, (start..(start + 2).min(5)).map(tool));
        Ok(if next < 5 { Page::with_next_cursor(tools, next.to_string()) } else { Page::last(tools) })
    }

    async fn get(&self, _: Context, request: ToolRequest) -> Result<Option<String>, CallError> {
        Ok(request.name.strip_prefix("row_").map(|row| format!("row {row}")))
    }
}

#[tokio::test]
async fn pag_05_a_provider_lists_and_serves_what_is_not_registered() {
    let server =
        Server::builder("rows", "1").tool("registered", "Is always there.", || async { "here" }).provider(Rows).build();
    for revision in Revision::ALL {
        let client = connect(&server, revision).await;
        let names: Vec<_> = client.list_tools().await.unwrap().into_iter().map(|tool| tool.name).collect();
        assert_eq!(names, ["registered", "row_0", "row_1", "row_2", "row_3", "row_4"], "{revision}");
        let text = |result: trunkline::protocol::model::CallToolResult| result.content[0].as_text().unwrap().to_owned();
        assert_eq!(text(client.call_tool("registered", json!({})).await.unwrap()), "here");
        assert_eq!(text(client.call_tool("row_3", json!({})).await.unwrap()), "row 3");
        assert_eq!(client.call_tool("column_3", json!({})).await.unwrap_err().rpc().unwrap().code, -32602);
    }
}

/// Tools of tenants, whose schemas it lists.
struct Typed {
    number_is: Arc<AtomicUsize>,
}

impl Provider for Typed {
    type Item = Tool;
    type Output = String;
    type Error = CallError;

    async fn list(&self, _: Context, _: Option<String>) -> Result<Page<Tool>, CallError> {
        let ty = ["integer", "string"][self.number_is.load(Ordering::SeqCst)];
        let schema = json!({"type": "object", "properties": {"number": {"type": ty}}, "required": ["number"]});
        let broken = json!({"type": "object", "properties": {"a": {"type": "nonsense"}}});
        Ok(Page::last([Tool::new("typed", "Has a schema.", schema), Tool::new("broken", "Has a wrong one.", broken)]))
    }

    async fn get(&self, _: Context, request: ToolRequest) -> Result<Option<String>, CallError> {
        Ok(Some(json!(request.arguments).to_string()))
    }
}

#[tokio::test]
async fn tool_22_arguments_of_provided_tools_fit_the_schema_that_was_listed() {
    let number_is = Arc::new(AtomicUsize::new(0));
    let server = Server::builder("typed", "1").provider(Typed { number_is: Arc::clone(&number_is) }).build();
    for revision in [Revision::V2025_06_18, Revision::LATEST] {
        number_is.store(0, Ordering::SeqCst);
        server.list_changed(Category::Tools);
        let client = connect(&server, revision).await;
        let call = |arguments: Value| client.call_tool("typed", arguments);
        let refusal = async |arguments: Value| match call(arguments).await {
            Ok(result) => {
                assert!(result.is_error);
                result.joined_text()
            }
            Err(error) => error.to_string(),
        };
        // No schema has been listed yet.
        assert!(!call(json!({"number": "x"})).await.unwrap().is_error);
        client.list_tools().await.unwrap();
        assert!(!call(json!({"number": 1})).await.unwrap().is_error);
        let text = refusal(json!({"number": "x"})).await;
        assert!(text.contains("tool typed") && text.contains("/number"), "{text}");
        assert!(refusal(json!({})).await.contains("number"));
        // A schema that is not one checks nothing.
        assert!(!client.call_tool("broken", json!({"a": 1})).await.unwrap().is_error);
        // The latest list counts, and none after a change.
        number_is.store(1, Ordering::SeqCst);
        client.list_tools().await.unwrap();
        assert!(!call(json!({"number": "x"})).await.unwrap().is_error);
        assert!(refusal(json!({"number": 1})).await.contains("/number"));
        server.list_changed(Category::Tools);
        assert!(!call(json!({"number": 1})).await.unwrap().is_error);
    }
}

#[tokio::test]
async fn tool_22_middleware_sees_changes_and_refuses() {
    let guard = MiddlewareDefinition::from_fn(|_: Context, next: Next| async move {
        let name = next.params().and_then(|params| params["name"].as_str()).unwrap_or_default().to_owned();
        if name == "secret" {
            return Err(RpcError::new(-32000, "not for you").into());
        }
        if name == "broken" {
            return Err(ToolError::new("refused politely").into());
        }
        next.run().await.map_err(Into::into)
    });
    let rename = MiddlewareDefinition::from_fn(|_: Context, next: Next| async move {
        let mut params = next.params().cloned().unwrap_or_default();
        if params["name"] == "alias" {
            params["name"] = "say".into();
        }
        let mut result = next.run_with(params).await?;
        result["_meta"]["example.com/seen"] = true.into();
        Ok(result)
    });
    let server = Server::builder("guarded", "1")
        .add_middleware(guard.methods(["tools/call"]))
        .add_middleware(rename.methods(["tools/call"]))
        .tool("say", "Says something.", || async { "said" })
        .tool("secret", "Is not for everyone.", || async { "secret" })
        .build();
    for revision in [Revision::V2025_11_25, Revision::LATEST] {
        let client = connect(&server, revision).await;
        let params = RawJson::from_value(&json!({"name": "alias"})).unwrap();
        let result = client.request("tools/call", Some(&params), &RequestOptions::default()).await.unwrap();
        let result: Value = result.parse().unwrap();
        assert_eq!(
            (&result["content"][0]["text"], &result["_meta"]["example.com/seen"]),
            (&json!("said"), &json!(true))
        );
        assert_eq!(client.call_tool("secret", json!({})).await.unwrap_err().rpc().unwrap().code, -32000);
        assert!(client.call_tool("broken", json!({})).await.unwrap().is_error);
        // Methods that it does not wrap continue.
        assert_eq!(client.list_tools().await.unwrap().len(), 2);
    }
    wrong_methods_are_refused();
}

#[tokio::test]
async fn res_13_permission_is_checked_before_anything_is_read() {
    let reads = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&reads);
    let guard = MiddlewareDefinition::from_fn(|_: Context, next: Next| async move {
        let uri = next.params().and_then(|params| params["uri"].as_str()).unwrap_or_default().to_owned();
        if uri.starts_with("private:") {
            return Err(RpcError::new(-32000, "not for you").into());
        }
        next.run().await.map_err(Into::into)
    });
    let read = move || {
        count.fetch_add(1, Ordering::Relaxed);
        async { "contents" }
    };
    let server = Server::builder("guarded", "1")
        .add_middleware(guard.methods(["resources/read"]))
        .resource("private:note", "note", read.clone())
        .resource("public:note", "note", read)
        .build();
    for revision in [Revision::V2025_11_25, Revision::LATEST] {
        let client = connect(&server, revision).await;
        let read = async |uri: &str| {
            let params = RawJson::from_value(&json!({"uri": uri})).unwrap();
            client.request("resources/read", Some(&params), &RequestOptions::default()).await
        };
        assert_eq!(read("private:note").await.unwrap_err().rpc().unwrap().code, -32000);
        assert_eq!(reads.swap(0, Ordering::Relaxed), 0, "{revision}");
        let contents: Value = read("public:note").await.unwrap().parse().unwrap();
        assert_eq!((&contents["contents"][0]["text"], reads.swap(0, Ordering::Relaxed)), (&json!("contents"), 1));
    }
}

fn wrong_methods_are_refused() {
    let wrong = Server::builder("wrong", "1").add_middleware(
        MiddlewareDefinition::from_fn(|_, next: Next| async move { next.run().await.map_err(Into::into) })
            .methods(["ping"]),
    );
    assert!(wrong.try_build().err().unwrap().to_string().contains("ping"));
}

#[tokio::test]
async fn waiting_middleware_is_notified_of_the_cancellation() {
    let (started, ended) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (begin, end) = (Arc::clone(&started), Arc::clone(&ended));
    struct OnDrop(Arc<Notify>);
    impl Drop for OnDrop {
        fn drop(&mut self) {
            self.0.notify_one();
        }
    }
    let server = Server::builder("slow", "1")
        .middleware(move |_: Context, next: Next| {
            let guard = OnDrop(Arc::clone(&end));
            async move {
                let result = next.run().await;
                drop(guard);
                result.map_err(Into::into)
            }
        })
        .tool("forever", "Never ends.", move || {
            let begin = Arc::clone(&begin);
            async move {
                begin.notify_one();
                std::future::pending::<()>().await;
                "never"
            }
        })
        .build();
    let client = connect(&server, Revision::LATEST).await;
    let call = tokio::spawn(async move { client.call_tool("forever", json!({})).await });
    timeout(Duration::from_secs(10), started.notified()).await.unwrap();
    call.abort();
    timeout(Duration::from_secs(10), ended.notified()).await.expect("the middleware is not left behind");
}

#[derive(Clone)]
struct Tenant(String);

#[tokio::test]
async fn middleware_extractors_and_handlers_share_the_values_and_the_meta_of_a_request() {
    let find_tenant = MiddlewareDefinition::from_fn(|ctx: Context, next: Next| async move {
        let mut params = next.params().cloned().unwrap_or_default();
        let name = params["arguments"]["name"].take();
        params["arguments"] = json!({});
        ctx.vars().insert(Tenant(name.as_str().unwrap_or_default().into()));
        params["_meta"]["example.com/from"] = "middleware".into();
        let mut result = next.run_with(params).await?;
        // The handler has taken it away: it is one request.
        result["_meta"]["example.com/left"] = ctx.vars().get::<Tenant>().is_some().into();
        result["_meta"]["example.com/number"] = ctx.vars().remove::<usize>().into();
        Ok(result)
    });
    let keeps_all = MiddlewareDefinition::from_fn(|_: Context, next: Next| async move { Ok(next.run().await?) });
    let server = Server::builder("shared", "1")
        .add_middleware(find_tenant.methods(["tools/call"]))
        .add_middleware(keeps_all)
        .tool("tenant", "Tell who calls.", async |ctx: Context| {
            tokio::task::yield_now().await;
            ctx.vars().insert(7_usize);
            let from =
                ctx.meta().and_then(|meta| meta.parse::<Value>().ok()).map(|meta| meta["example.com/from"].clone());
            let Tenant(name) = ctx.vars().remove::<Tenant>().unwrap();
            format!("{name} {}", from.unwrap_or_default())
        })
        .build();
    for revision in Revision::ALL {
        let client = &connect(&server, revision).await;
        let call = |name: &'static str| async move {
            let params =
                json!({"name": "tenant", "arguments": {"name": name}, "_meta": {"example.com/from": "client"}});
            let params = RawJson::from_value(&params).unwrap();
            let result = client.request("tools/call", Some(&params), &RequestOptions::default()).await.unwrap();
            let result: Value = result.parse().unwrap();
            assert_eq!(result["content"][0]["text"], format!("{name} \"middleware\""), "{revision}");
            let meta = &result["_meta"];
            assert_eq!((&meta["example.com/left"], &meta["example.com/number"]), (&json!(false), &json!(7)));
        };
        tokio::join!(call("ada"), call("bob"), call("eve"));
    }
}

#[tokio::test]
async fn middleware_sees_the_name_of_what_is_called() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let names = |seen: &Arc<Mutex<Vec<String>>>| {
        let seen = Arc::clone(seen);
        MiddlewareDefinition::from_fn(move |ctx: Context, next: Next| {
            seen.lock().unwrap().push(ctx.name().to_owned());
            async move { Ok(next.run().await?) }
        })
    };
    let inner = Server::builder("inner", "1").add_middleware(names(&seen)).tool("add", "Adds.", async || "").build();
    let server = Server::builder("outer", "1")
        .add_middleware(names(&seen))
        .prompt("ask", "Asks.", async || "")
        .resource("notes://today", "today", async || "")
        .mount("in", &inner)
        .build();
    for revision in Revision::ALL {
        let client = connect(&server, revision).await;
        client.call_tool("in__add", json!({})).await.unwrap();
        client.get_prompt("ask", ()).await.unwrap();
        client.read_resource("notes://today").await.unwrap();
        client.list_tools().await.unwrap();
        let seen: Vec<_> = seen.lock().unwrap().drain(..).filter(|name| name != "initialize").collect();
        assert_eq!(seen[..5], ["in__add", "add", "ask", "notes://today", "tools/list"], "{revision}");
    }
}

#[tokio::test]
async fn a_call_in_memory_has_an_id_and_neither_a_session_nor_an_http_request() {
    let server = Server::builder("memory", "1")
        .tool("facts", "Tells facts.", async |ctx: Context| {
            assert!(ctx.session_id().is_none() && ctx.http().is_none());
            ctx.request_id().to_string()
        })
        .build();
    let client = connect(&server, Revision::LATEST).await;
    assert!(!client.call_tool("facts", json!({})).await.unwrap().joined_text().is_empty());
}
