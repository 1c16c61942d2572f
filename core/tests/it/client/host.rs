//! Requests of servers to a client, in both eras: the same handlers answer requests and rounds.

#![expect(deprecated, reason = "older revisions have it")]

use super::*;
use std::sync::OnceLock;
use trunkline::{
    RevisionChoice,
    client::{ClientBuilder, ElicitRequest, ElicitUrlRequest, HandlerError, RequestOptions, SampleRequest},
    protocol::model::{CreateMessageResult, ElicitResult, JsonObject, LoggingLevel, Root},
};

const LEGACY: Revision = Revision::V2025_11_25;
const MODERN: Revision = Revision::V2026_07_28;

/// A server that opens, and does nothing else by itself.
fn quiet() -> Arc<Fake> {
    Fake::process(|peer, message| {
        if message["method"] == "initialize" {
            peer.accept(message, message["params"]["protocolVersion"].as_str().unwrap());
        }
    })
}

async fn connected(fake: &Arc<Fake>, builder: ClientBuilder, revision: Revision) -> Client {
    let options = builder.into_options().with_revision(RevisionChoice::Pinned(revision));
    let client = fake.connect(options).await;
    settle().await;
    client
}

fn form() -> Value {
    let fields = json!({"city": {"type": "string"}, "days": {"type": "integer", "default": 3}});
    json!({"message": "Where?", "requestedSchema": {"type": "object", "properties": fields, "required": ["city"]}})
}

fn content(value: Value) -> ElicitResult {
    ElicitResult::accept(value.as_object().unwrap().clone())
}

fn asking(id: &str, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

fn call(client: &Client, options: RequestOptions) -> JoinHandle<Result<RawJson, ClientError>> {
    let client = client.clone();
    let params = RawJson::from_value(&json!({"name": "plan", "arguments": {"a": 1}})).unwrap();
    tokio::spawn(async move { client.request("tools/call", Some(&params), &options).await })
}

/// The calls of tools that the server saw.
fn calls(fake: &Fake) -> usize {
    fake.seen().iter().filter(|(_, method)| method == "tools/call").count()
}

fn elicits() -> ClientBuilder {
    Client::builder().on_elicit(async |request: ElicitRequest| {
        assert_eq!(request.message, "Where?");
        Ok::<_, HandlerError>(content(json!({"city": "Oslo"})))
    })
}

#[tokio::test]
async fn eli_01_eli_10_one_handler_answers_both_eras_with_defaults_applied() {
    let answer = json!({"action": "accept", "content": {"city": "Oslo", "days": 3}});

    let fake = quiet();
    let _client = connected(&fake, elicits(), LEGACY).await;
    assert_eq!(fake.first()["params"]["capabilities"]["elicitation"], json!({"form": {}}), "ELI-01");
    fake.peer().say(asking("q", "elicitation/create", form()));
    settle().await;
    assert_eq!((&fake.last()["id"], &fake.last()["result"]), (&json!("q"), &answer));

    let fake = quiet();
    let client = connected(&fake, elicits(), MODERN).await;
    let result = call(&client, RequestOptions::default());
    settle().await;
    let first = fake.last();
    let state = "s\u{7f}\u{e9}\\\"";
    fake.peer().result(
        &first,
        json!({"resultType": "input_required", "requestState": state,
        "inputRequests": {"k": {"method": "elicitation/create", "params": form()}}}),
    );
    settle().await;
    let second = fake.last();
    assert_ne!(first["id"], second["id"], "MRTR-17");
    assert_eq!(second["params"]["requestState"], state, "MRTR-15");
    assert_eq!(second["params"]["inputResponses"], json!({"k": answer}), "MRTR-13");
    assert_eq!((&second["params"]["name"], &second["params"]["arguments"]), (&json!("plan"), &json!({"a": 1})));
    let capabilities = &second["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"];
    assert_eq!(capabilities, &json!({"elicitation": {"form": {}}}), "ELI-02");
    // A call in parallel.
    let other = call(&client, RequestOptions::default());
    settle().await;
    let sent = fake.last();
    assert_ne!(sent["id"], second["id"]);
    let params = &sent["params"];
    assert!(params.get("requestState").is_none() && params.get("inputResponses").is_none(), "MRTR-18");
    for (request, call) in [(second, result), (sent, other)] {
        fake.peer().result(&request, json!({"resultType": "complete", "content": []}));
        call.await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn a_handler_that_closes_its_client_and_fails_ends_the_call_as_closed() {
    let own = Arc::new(OnceLock::<Client>::new());
    let closes = Arc::clone(&own);
    let builder = Client::builder().on_elicit(move |_: ElicitRequest| {
        let client = closes.get().unwrap().clone();
        async move {
            client.close().await;
            Err::<ElicitResult, _>(HandlerError::rejected("the window is closed"))
        }
    });
    let fake = quiet();
    let client = connected(&fake, builder, MODERN).await;
    assert!(own.set(client.clone()).is_ok());
    let result = call(&client, RequestOptions::default());
    settle().await;
    let requests = json!({"k": {"method": "elicitation/create", "params": form()}});
    fake.peer().result(&fake.last(), json!({"resultType": "input_required", "inputRequests": requests}));
    assert_eq!(result.await.unwrap().unwrap_err(), ClientError::Closed);
}

#[tokio::test]
async fn mrtr_14_mrtr_15_mrtr_16_rounds_without_requests_or_without_state() {
    let fake = quiet();
    let client = connected(&fake, elicits(), MODERN).await;
    let result = call(&client, RequestOptions::default());
    settle().await;
    fake.peer().result(&fake.last(), json!({"resultType": "input_required", "requestState": "only"}));
    settle().await;
    assert_eq!(fake.last()["params"]["requestState"], "only");
    assert_eq!(fake.last()["params"].get("inputResponses"), None);
    let requests = json!({"k": {"method": "elicitation/create", "params": form()}});
    fake.peer().result(&fake.last(), json!({"resultType": "input_required", "inputRequests": requests}));
    settle().await;
    assert_eq!(fake.last()["params"].get("requestState"), None, "the state of another round is not sent again");
    assert_eq!(fake.last()["params"]["inputResponses"]["k"]["action"], "accept");
    fake.peer().result(&fake.last(), json!({"resultType": "complete", "content": []}));
    result.await.unwrap().unwrap();
}

#[tokio::test]
async fn mrtr_15_a_state_among_the_parameters_of_the_program_is_that_of_one_round() {
    let fake = quiet();
    let client = connected(&fake, elicits(), MODERN).await;
    let answers = json!({"old": {"action": "decline"}});
    let params = json!({"name": "plan", "requestState": "old", "inputResponses": answers});
    let params = RawJson::from_value(&params).unwrap();
    let result =
        tokio::spawn(async move { client.request("tools/call", Some(&params), &RequestOptions::default()).await });
    settle().await;
    assert_eq!(fake.last()["params"]["requestState"], "old");
    let requests = json!({"k": {"method": "elicitation/create", "params": form()}});
    fake.peer().result(&fake.last(), json!({"resultType": "input_required", "inputRequests": requests}));
    settle().await;
    assert_eq!(fake.last()["params"].get("requestState"), None);
    fake.peer().result(&fake.last(), json!({"resultType": "input_required", "requestState": "new"}));
    settle().await;
    let params = &fake.last()["params"];
    assert_eq!((&params["requestState"], params.get("inputResponses")), (&json!("new"), None));
    fake.peer().result(&fake.last(), json!({"resultType": "complete", "content": []}));
    result.await.unwrap().unwrap();
}

#[tokio::test]
async fn mrtr_19_rounds_are_bounded() {
    let fake = Fake::process(|peer, message| {
        peer.result(message, json!({"resultType": "input_required", "requestState": "again"}));
    });
    let options = ClientOptions::default().with_max_input_rounds(3);
    let client = connected(&fake, Client::builder().options(options), MODERN).await;
    let error = call(&client, RequestOptions::default()).await.unwrap().unwrap_err();
    assert_eq!(error, ClientError::TooManyRounds(3));
    assert_eq!(calls(&fake), 4);
}

#[tokio::test]
async fn what_a_server_may_not_ask_for_fails_the_call() {
    let sampling = json!({"messages": [], "maxTokens": 1});
    for (asked, text) in [
        (json!({"resultType": "input_required"}), "neither"),
        (json!({"resultType": "input_required", "requestState": 5}), "must be a string"),
        (json!({"resultType": "input_required", "inputRequests": {"k": {"method": "tools/list"}}}), "tools/list"),
        (
            json!({"resultType": "input_required",
            "inputRequests": {"k": {"method": "sampling/createMessage", "params": sampling}}}),
            "did not declare",
        ),
        (json!({"resultType": "input_required", "inputRequests": {"k": {"method": "elicitation/create"}}}), "message"),
    ] {
        let fake = quiet();
        let client = connected(&fake, elicits(), MODERN).await;
        let result = call(&client, RequestOptions::default());
        settle().await;
        fake.peer().result(&fake.last(), asked);
        let error = result.await.unwrap().unwrap_err();
        assert!(matches!(&error, ClientError::InvalidResponse(problem) if problem.contains(text)), "{text}: {error}");
    }
}

#[tokio::test]
async fn the_caller_drives_rounds_itself_if_it_wants() {
    let fake = quiet();
    let client = connected(&fake, elicits(), MODERN).await;
    let manual = RequestOptions::default().with_manual_input(true);
    let result = call(&client, manual.clone());
    settle().await;
    let requests = json!({"k": {"method": "elicitation/create", "params": form()}});
    let required = json!({"resultType": "input_required", "inputRequests": requests, "requestState": "s"});
    fake.peer().result(&fake.last(), required);
    let ClientError::InputRequired(required) = result.await.unwrap().unwrap_err() else { panic!() };
    let keys_and_methods: Vec<_> = required.requests().map(|(key, request)| (key, &*request.method)).collect();
    assert_eq!(keys_and_methods, [("k", "elicitation/create")]);
    let answer = RawJson::from_value(&json!({"action": "decline"})).unwrap();
    let result = call(&client, manual.with_input_responses(required.answer([("k", answer)])));
    settle().await;
    assert_eq!(fake.last()["params"]["requestState"], "s");
    assert_eq!(fake.last()["params"]["inputResponses"], json!({"k": {"action": "decline"}}));
    fake.peer().result(&fake.last(), json!({"resultType": "complete", "content": []}));
    result.await.unwrap().unwrap();
}

#[tokio::test]
async fn eli_11_content_that_does_not_match_the_form_is_not_sent() {
    let wrong =
        || Client::builder().on_elicit(async |_: ElicitRequest| Ok::<_, HandlerError>(content(json!({"city": 5}))));
    let fake = quiet();
    let _client = connected(&fake, wrong(), LEGACY).await;
    fake.peer().say(asking("q", "elicitation/create", form()));
    settle().await;
    assert_eq!(fake.last()["error"]["code"], -32603);

    let fake = quiet();
    let client = connected(&fake, wrong(), MODERN).await;
    let result = call(&client, RequestOptions::default());
    settle().await;
    let requests = json!({"k": {"method": "elicitation/create", "params": form()}});
    fake.peer().result(&fake.last(), json!({"resultType": "input_required", "inputRequests": requests}));
    let error = result.await.unwrap().unwrap_err();
    assert!(matches!(&error, ClientError::NoInput(text) if text.contains("/city")), "{error}");
    assert_eq!(calls(&fake), 1, "no second round");
}

#[tokio::test]
async fn eli_05_urls_are_only_passed_to_handlers_for_urls() {
    let url = json!({"mode": "url", "message": "m", "url": "https://a.b/", "elicitationId": "e"});
    let fake = quiet();
    let _client = connected(&fake, elicits(), LEGACY).await;
    fake.peer().say(asking("q", "elicitation/create", url.clone()));
    settle().await;
    assert_eq!(fake.last()["error"]["code"], -32602);

    let fake = quiet();
    let builder = Client::builder().on_elicit_url(async |request: ElicitUrlRequest| {
        assert_eq!(request.server.as_ref().map(|server| server.name.as_str()), Some("fake"), "ELI-22");
        assert_eq!(request.url, "https://a.b/");
        Ok::<_, HandlerError>(ElicitResult::accept(JsonObject::new()))
    });
    let _client = connected(&fake, builder, LEGACY).await;
    fake.peer().say(asking("q", "elicitation/create", url));
    settle().await;
    assert_eq!(fake.last()["result"], json!({"action": "accept"}));
}

#[tokio::test]
async fn smp_01_smp_05_smp_09_sampling_is_answered_or_refused() {
    let params = json!({"messages": [{"role": "user", "content": {"type": "text", "text": "t"}}], "maxTokens": 9});
    let fake = quiet();
    let builder = Client::builder().on_sample(async |request: SampleRequest| {
        if request.max_tokens > 9 {
            return Err(HandlerError::rejected("User rejected sampling request"));
        }
        Ok(CreateMessageResult { model: "m".to_owned(), content: "sunny".into(), ..CreateMessageResult::default() })
    });
    let _client = connected(&fake, builder, LEGACY).await;
    assert_eq!(fake.first()["params"]["capabilities"]["sampling"], json!({}), "SMP-01");
    fake.peer().say(asking("a", "sampling/createMessage", params.clone()));
    settle().await;
    assert_eq!(fake.last()["result"]["content"], json!({"type": "text", "text": "sunny"}));
    let mut more = params.clone();
    more["maxTokens"] = json!(10);
    fake.peer().say(asking("b", "sampling/createMessage", more));
    settle().await;
    assert_eq!(fake.last()["error"], json!({"code": -1, "message": "User rejected sampling request"}), "SMP-09");
    let mut tools = params;
    tools["tools"] = json!([]);
    fake.peer().say(asking("c", "sampling/createMessage", tools));
    settle().await;
    assert_eq!(fake.last()["error"]["code"], -32602, "SMP-05");
}

#[tokio::test]
async fn smp_17_metadata_of_tool_blocks_stays_with_them() {
    let meta = json!({"example.com/cache": "k"});
    let tool_use = json!({"type": "tool_use", "id": "1", "name": "n", "input": {}, "_meta": meta});
    let result = json!({"type": "tool_result", "toolUseId": "1", "content": [], "_meta": meta});
    let params = json!({"maxTokens": 9, "tools": [], "messages": [
        {"role": "assistant", "content": tool_use}, {"role": "user", "content": result}]});
    let fake = quiet();
    let seen = Arc::new(Mutex::new(Value::Null));
    let given = Arc::clone(&seen);
    let again = tool_use.clone();
    let builder = Client::builder().on_sample_with_tools(move |request: SampleRequest| {
        *given.lock().unwrap() = serde_json::to_value(&request.params.messages).unwrap();
        let answer = json!({"role": "assistant", "model": "m", "content": [again, {"type": "text", "text": "t"}]});
        async { Ok::<_, HandlerError>(serde_json::from_value::<CreateMessageResult>(answer).unwrap()) }
    });
    let _client = connected(&fake, builder, LEGACY).await;
    fake.peer().say(asking("q", "sampling/createMessage", params.clone()));
    settle().await;
    assert_eq!(*seen.lock().unwrap(), params["messages"]);
    assert_eq!(fake.last()["result"]["content"][0], tool_use);
}

#[tokio::test]
async fn mrtr_21_requests_that_belong_to_nothing_are_refused_where_the_program_wants_it() {
    for (related_only, accepted) in [(false, true), (true, false)] {
        let fake = quiet();
        let options = ClientOptions::default().with_related_requests_only(related_only);
        let options = options.with_handlers(elicits().into_options().handlers);
        let client = fake.connect(options.with_revision(RevisionChoice::Pinned(LEGACY))).await;
        settle().await;
        fake.peer().say(asking("alone", "elicitation/create", form()));
        settle().await;
        assert_eq!(fake.last()["result"]["action"] == "accept", accepted);
        if !accepted {
            assert_eq!(fake.last()["error"]["code"], -32602);
        }
        let result = call(&client, RequestOptions::default());
        settle().await;
        let called = fake.last();
        fake.peer().say(asking("related", "elicitation/create", form()));
        settle().await;
        assert_eq!(fake.last()["result"]["action"], "accept");
        fake.peer().result(&called, json!({"content": []}));
        result.await.unwrap().unwrap();
    }
}

/// RPC-10: the server waits for an answer, whatever is wrong with its request.
#[tokio::test]
async fn an_invalid_request_of_the_server_is_answered() {
    for params in [json!([]), json!("x")] {
        let fake = quiet();
        let _client = connected(&fake, Client::builder(), LEGACY).await;
        fake.peer().say(json!({"jsonrpc": "2.0", "id": 7, "method": "ping", "params": params}));
        settle().await;
        let answer = fake.last();
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(7), &json!(-32600)), "{answer}");
    }
    let fake = quiet();
    let _client = connected(&fake, Client::builder(), LEGACY).await;
    fake.peer().say(json!({"jsonrpc": "2.0", "id": 8, "method": "ping", "params": null}));
    settle().await;
    assert_eq!(fake.last()["result"], json!({}));
}

#[tokio::test]
async fn root_01_to_root_03_roots_are_data_that_can_change() {
    let roots = |uri: &str| [Root::new(uri)];
    let fake = quiet();
    let client = connected(&fake, Client::builder().roots(roots("file:///a")), LEGACY).await;
    assert_eq!(fake.first()["params"]["capabilities"], json!({"roots": {"listChanged": true}}), "ROOT-01");
    client.set_roots(roots("file:///b")).unwrap();
    settle().await;
    assert_eq!(fake.last()["method"], "notifications/roots/list_changed", "ROOT-03");
    fake.peer().say(json!({"jsonrpc": "2.0", "id": 1, "method": "roots/list"}));
    settle().await;
    assert_eq!(fake.last()["result"], json!({"roots": [{"uri": "file:///b"}]}));
    assert!(client.set_roots(roots("https://a.b/")).is_err(), "ROOT-05");
    let handlers = client.handlers().on_elicit(async |_| Ok::<_, HandlerError>(ElicitResult::cancel()));
    let error = client.set_handlers(handlers).unwrap_err();
    assert!(error.to_string().contains("elicitation"), "{error}");

    let fake = quiet();
    let client = connected(&fake, Client::builder(), MODERN).await;
    client.set_roots(roots("file:///c")).unwrap();
    let result = call(&client, RequestOptions::default());
    settle().await;
    let capabilities = &fake.last()["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"];
    assert!(capabilities["roots"].is_object(), "ROOT-02: {capabilities}");
    let requests = json!({"r": {"method": "roots/list"}});
    fake.peer().result(&fake.last(), json!({"resultType": "input_required", "inputRequests": requests}));
    settle().await;
    assert_eq!(fake.last()["params"]["inputResponses"], json!({"r": {"roots": [{"uri": "file:///c"}]}}));
    fake.peer().result(&fake.last(), json!({"resultType": "complete", "content": []}));
    result.await.unwrap().unwrap();
}

#[tokio::test]
async fn the_time_of_a_call_stands_still_while_the_user_is_asked() {
    let slow = |fake: &Arc<Fake>| {
        let clock = TestRuntime(Arc::clone(&fake.clock));
        Client::builder().on_elicit(move |_: ElicitRequest| {
            let clock = clock.clone();
            async move {
                clock.sleep_until(clock.now() + ms(300_000)).await;
                Ok::<_, HandlerError>(ElicitResult::decline())
            }
        })
    };
    let within = || RequestOptions::default().with_timeout(ms(1_000)).with_max_timeout(ms(2_000));

    let fake = quiet();
    let client = connected(&fake, slow(&fake), LEGACY).await;
    let result = call(&client, within());
    settle().await;
    let called = fake.last();
    fake.peer().say(asking("q", "elicitation/create", form()));
    fake.clock.advance(ms(299_000)).await;
    assert!(!result.is_finished());
    fake.clock.advance(ms(1_000)).await;
    assert_eq!(fake.last()["result"], json!({"action": "decline"}));
    fake.clock.advance(ms(999)).await;
    assert!(!result.is_finished());
    fake.peer().result(&called, json!({"content": []}));
    result.await.unwrap().unwrap();

    let fake = quiet();
    let client = connected(&fake, slow(&fake), MODERN).await;
    let result = call(&client, within());
    settle().await;
    let requests = json!({"k": {"method": "elicitation/create", "params": form()}});
    fake.peer().result(&fake.last(), json!({"resultType": "input_required", "inputRequests": requests}));
    fake.clock.advance(ms(300_000)).await;
    assert_eq!(fake.last()["params"]["inputResponses"]["k"], json!({"action": "decline"}));
    fake.peer().result(&fake.last(), json!({"resultType": "complete", "content": []}));
    result.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_handler_that_times_out_is_stopped() {
    let never = || Client::builder().on_elicit(async |_: ElicitRequest| std::future::pending::<Never>().await);
    let fake = quiet();
    let _client = connected(&fake, never(), LEGACY).await;
    fake.peer().say(asking("q", "elicitation/create", form()));
    fake.clock.advance(ms(600_000)).await;
    assert_eq!(fake.last()["error"]["code"], -32603);

    let fake = quiet();
    let client = connected(&fake, never(), MODERN).await;
    let result = call(&client, RequestOptions::default());
    settle().await;
    let requests = json!({"k": {"method": "elicitation/create", "params": form()}});
    fake.peer().result(&fake.last(), json!({"resultType": "input_required", "inputRequests": requests}));
    fake.clock.advance(ms(600_000)).await;
    assert!(matches!(result.await.unwrap().unwrap_err(), ClientError::Timeout(_)));
}

type Never = Result<ElicitResult, HandlerError>;

#[tokio::test]
async fn can_05_the_handler_of_a_withdrawn_request_or_cancelled_call_stops() {
    struct Dropped(Arc<AtomicUsize>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let watched = |stopped: &Arc<AtomicUsize>| {
        let stopped = Arc::clone(stopped);
        Client::builder().on_elicit(move |_: ElicitRequest| {
            let dropped = Dropped(Arc::clone(&stopped));
            async move {
                let _dropped = dropped;
                std::future::pending::<Never>().await
            }
        })
    };
    let (fake, stopped) = (quiet(), Arc::default());
    let client = connected(&fake, watched(&stopped), LEGACY).await;
    fake.peer().say(asking("q", "elicitation/create", form()));
    settle().await;
    let cancelled = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "q"}});
    let before = fake.seen().len();
    fake.peer().say(cancelled.clone());
    settle().await;
    assert_eq!((stopped.load(Ordering::Relaxed), fake.seen().len()), (1, before), "no answer is sent");
    fake.peer().say(asking("q", "elicitation/create", form()));
    settle().await;
    fake.peer().inbox.session_renewed();
    fake.peer().say(asking("q", "elicitation/create", form()));
    settle().await;
    assert_eq!((stopped.load(Ordering::Relaxed), fake.seen().len()), (2, before), "another session may use its ids");
    fake.peer().say(cancelled);
    settle().await;
    assert_eq!(stopped.load(Ordering::Relaxed), 3);
    fake.peer().say(asking("p", "elicitation/create", form()));
    settle().await;
    client.close().await;
    settle().await;
    assert_eq!(stopped.load(Ordering::Relaxed), 4, "closing stops handlers");

    let (fake, stopped) = (quiet(), Arc::default());
    let client = connected(&fake, watched(&stopped), MODERN).await;
    let result = call(&client, RequestOptions::default());
    settle().await;
    let requests = json!({"k": {"method": "elicitation/create", "params": form()}});
    fake.peer().result(&fake.last(), json!({"resultType": "input_required", "inputRequests": requests}));
    settle().await;
    result.abort();
    settle().await;
    assert_eq!((stopped.load(Ordering::Relaxed), calls(&fake)), (1, 1), "the call is not made again");
}

#[tokio::test]
async fn changes_and_complete_elicitations_reach_their_handlers() {
    let (fake, seen) = (quiet(), Arc::new(Mutex::new(Vec::new())));
    let note = |name: &'static str| {
        let seen = Arc::clone(&seen);
        move || seen.lock().unwrap().push(name.to_owned())
    };
    let complete = Arc::clone(&seen);
    let builder = Client::builder()
        .on_tools_changed(note("tools"))
        .on_prompts_changed(note("prompts"))
        .on_resources_changed(note("resources"))
        .on_elicitation_complete(move |page| complete.lock().unwrap().push(page.elicitation_id));
    let _client = connected(&fake, builder, LEGACY).await;
    for list in ["tools", "prompts", "resources"] {
        fake.peer().say(json!({"jsonrpc": "2.0", "method": format!("notifications/{list}/list_changed")}));
    }
    let page =
        |params: Value| json!({"jsonrpc": "2.0", "method": "notifications/elicitation/complete", "params": params});
    // ELI-29: the host knows its ids; one without an id is dropped.
    fake.peer().say(page(json!({"elicitationId": "page-1"})));
    fake.peer().say(page(json!({})));
    assert_eq!(*seen.lock().unwrap(), ["tools", "prompts", "resources", "page-1"]);
}

#[tokio::test]
async fn log_messages_are_asked_for_as_the_revision_does_and_handed_to_the_handler() {
    let (fake, heard) = (
        Fake::process(|peer, message| match message["method"].as_str() {
            Some("initialize") => {
                let info = json!({"name": "fake", "version": "1"});
                let capabilities = json!({"logging": {}});
                let revision = &message["params"]["protocolVersion"];
                peer.result(
                    message,
                    json!({"protocolVersion": revision, "capabilities": capabilities, "serverInfo": info}),
                );
            }
            Some("logging/setLevel") => peer.result(message, json!({})),
            _ => {}
        }),
        Arc::new(Mutex::new(Vec::new())),
    );
    let noted = Arc::clone(&heard);
    let builder = Client::builder()
        .options(ClientOptions::default().with_log_level(LoggingLevel::Warning))
        .on_log(move |message| noted.lock().unwrap().push((message.level, message.data)));
    let client = connected(&fake, builder, LEGACY).await;
    assert_eq!(fake.last()["params"], json!({"level": "warning"}));
    let log = json!({"level": "error", "data": "hot"});
    fake.peer().say(json!({"jsonrpc": "2.0", "method": "notifications/message", "params": log}));
    assert_eq!(*heard.lock().unwrap(), [(LoggingLevel::Error, json!("hot"))]);
    client.set_log_level(LoggingLevel::Debug).await.unwrap();
    assert_eq!(fake.last()["params"], json!({"level": "debug"}));
    fake.peer().exit();
    let _next = call(&client, RequestOptions::default());
    settle().await;
    let of_second = |(number, _): &&(usize, Value)| *number == 2;
    let sent: Vec<_> = fake.seen.lock().unwrap().iter().filter(of_second).cloned().collect();
    let methods: Vec<_> = sent.iter().filter_map(|(_, message)| message["method"].as_str()).collect();
    assert_eq!(methods, ["initialize", "notifications/initialized", "logging/setLevel", "tools/call"]);
    assert_eq!(sent[2].1["params"], json!({"level": "debug"}), "the next connection is asked again");
    let first = fake.peer().inbox.session_renewed().expect("and so is the next session of a connection");
    let first: Value = serde_json::from_slice(&first.bytes).unwrap();
    assert_eq!((&first["method"], &first["params"]), (&json!("logging/setLevel"), &json!({"level": "debug"})));

    let fake = quiet();
    let options = ClientOptions::default().with_log_level(LoggingLevel::Warning);
    let client = connected(&fake, Client::builder().options(options), MODERN).await;
    let level = |fake: &Fake| fake.last()["params"]["_meta"]["io.modelcontextprotocol/logLevel"].clone();
    let first = call(&client, RequestOptions::default());
    settle().await;
    assert_eq!(level(&fake), "warning");
    client.set_log_level(LoggingLevel::Debug).await.unwrap();
    let second = call(&client, RequestOptions::default());
    settle().await;
    assert_eq!(level(&fake), "debug");
    first.abort();
    second.abort();
}

#[tokio::test]
async fn the_handler_of_a_lost_connection_does_not_answer_the_next_one() {
    let (release, gate) = tokio::sync::watch::channel(0);
    let asked = Arc::new(AtomicUsize::new(0));
    let builder = Client::builder().on_elicit(move |_: ElicitRequest| {
        let (mut gate, number) = (gate.clone(), asked.fetch_add(1, Ordering::Relaxed));
        async move {
            let _ = gate.wait_for(|released| *released > number).await;
            Ok::<_, HandlerError>(content(json!({"city": format!("{number}")})))
        }
    });
    let fake = quiet();
    let client = connected(&fake, builder, LEGACY).await;
    fake.peer().say(asking("q", "elicitation/create", form()));
    settle().await;
    fake.peer().exit();
    let _next = call(&client, RequestOptions::default());
    settle().await;
    fake.peer().say(asking("q", "elicitation/create", form()));
    settle().await;
    for released in 1..=2 {
        let _ = release.send(released);
        settle().await;
    }
    let seen = fake.seen.lock().unwrap();
    let answers: Vec<_> = seen.iter().filter(|(_, message)| message["id"] == "q").collect();
    assert_eq!(answers.len(), 1, "{answers:?}");
    assert_eq!(answers[0].1["result"]["content"]["city"], "1");
}
