//! The operations that rows declare, from the client's side: against a server of this process, and
//! against one that answers badly.

use super::*;
use schemars::JsonSchema;
use serde::Deserialize;
use trunkline::{
    RequestOptions, RevisionChoice,
    client::ErrorKind,
    protocol::model::{
        CompleteArgument, CompleteParams, CompletionReference, ContentBlock, JsonObject, ResourceContents,
    },
    server::{CompletionTarget, Params, Server, ServerOptions},
};

#[derive(Deserialize, JsonSchema)]
struct Item {
    id: String,
}

#[derive(Deserialize, JsonSchema)]
struct Greeting {
    name: String,
}

fn server() -> Server {
    Server::builder("operations", "1.0.0")
        .options(ServerOptions::default().with_page_size(2))
        .tool("echo", "Says it again", || async { "echo" })
        .resource("test://a", "a", || async { "A" })
        .resource("test://b", "b", || async { "B" })
        .resource("test://c", "c", || async { "C" })
        .resource_template("test://item/{id}", "item", |Params(item): Params<Item>| async move { item.id })
        .prompt("greet", "Greets", |Params(it): Params<Greeting>| async move { format!("Greet {}", it.name) })
        .completion(CompletionTarget::Prompt("greet".into()), "name", async |asked: CompleteParams| {
            let names = ["Ada", "Alan"].into_iter();
            names.filter(|name| name.starts_with(&asked.argument.value)).collect::<Vec<_>>()
        })
        .build()
}

async fn connect(revision: Revision) -> Client {
    let options = ClientOptions::default().with_revision(RevisionChoice::Pinned(revision));
    Client::connect_with(&server(), options, ()).await.unwrap()
}

/// The oldest and the newest of each era.
const REVISIONS: [Revision; 4] =
    [Revision::V2024_11_05, Revision::V2025_03_26, Revision::LATEST_LEGACY, Revision::LATEST];

#[tokio::test]
async fn resources_and_templates_are_listed_and_read() {
    for revision in REVISIONS {
        let client = connect(revision).await;
        let resources = client.list_resources().await.unwrap();
        let uris: Vec<_> = resources.iter().map(|resource| &*resource.uri).collect();
        assert_eq!(uris, ["test://a", "test://b", "test://c"], "{revision}");
        let page = client.list_resources_page(None).await.unwrap();
        assert_eq!(page.resources.len(), 2);
        let rest = client.list_resources_page(page.next_cursor.as_deref()).await.unwrap();
        assert_eq!((rest.resources.len(), rest.next_cursor), (1, None));
        let templates = client.list_resource_templates().await.unwrap();
        assert_eq!(templates[0].uri_template, "test://item/{id}");
        let read = client.read_resource("test://item/7").await.unwrap();
        let [ResourceContents::Text(text)] = &*read.contents else { panic!("{read:?}") };
        assert_eq!((&*text.uri, &*text.text), ("test://item/7", "7"));
        let error = client.read_resource("test://none").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Protocol, "{error}");
        client.close().await;
    }
}

#[tokio::test]
async fn prompts_are_listed_and_filled_in() {
    for revision in REVISIONS {
        let client = connect(revision).await;
        let prompts = client.list_prompts().await.unwrap();
        assert_eq!((&*prompts[0].name, prompts.len()), ("greet", 1), "{revision}");
        let prompt = client.get_prompt("greet", json!({"name": "Ada", "greeting": null})).await.unwrap();
        assert_eq!(prompt.messages[0].content.as_text(), Some("Greet Ada"));
        let error = client.get_prompt("greet", ()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Protocol, "{error}");
        client.close().await;
    }
}

#[tokio::test]
async fn arguments_are_completed() {
    for revision in REVISIONS {
        let client = connect(revision).await;
        let argument = CompleteArgument { name: "name".into(), value: "A".into(), ..CompleteArgument::default() };
        let result = client.complete(&CompletionReference::prompt("greet"), &argument, None).await.unwrap();
        assert_eq!(result.completion.values, ["Ada", "Alan"], "{revision}");
        assert_eq!(client.complete_prompt("greet", "name", "Al").await.unwrap().values, ["Alan"], "{revision}");
        client.ping().await.unwrap();
        client.close().await;
    }
}

#[tokio::test]
async fn tools_are_listed_and_called_by_the_same_rows() {
    let client = connect(Revision::LATEST).await;
    assert_eq!(client.list_tools_page(None).await.unwrap().tools[0].name, "echo");
    let result = client.call_tool("echo", JsonObject::new()).await.unwrap();
    assert_eq!(result.content, [ContentBlock::text("echo")]);
}

#[tokio::test]
async fn lists_and_pings_take_the_options_of_a_request() {
    let fake = Fake::process(|peer, message| {
        if message["method"] == "initialize" {
            peer.accept(message, "2025-11-25");
        }
    });
    let client = fake.connect(ClientOptions::default().with_revision(RevisionChoice::Legacy)).await;
    let options = RequestOptions::default().with_timeout(ms(20));
    let outcomes = async {
        tokio::join!(
            client.list_tools_with(&options),
            client.list_tools_page_with(None, &options),
            client.ping_with(&options)
        )
    };
    let ((list, page, ping), ()) = tokio::join!(outcomes, fake.clock.advance(ms(20)));
    for error in [list.unwrap_err(), page.unwrap_err(), ping.unwrap_err()] {
        assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
    }
}

#[tokio::test]
async fn a_result_without_its_list_is_no_result() {
    for (method, result, problem) in [
        ("resources/list", json!({"resource": []}), "resources"),
        ("prompts/get", json!({"description": "x"}), "messages"),
        ("resources/read", json!({"contents": 5}), "contents"),
        ("resources/read", json!({}), "contents"),
    ] {
        let fake = Fake::process(move |peer, message| match message["method"].as_str() {
            Some("initialize") => peer.accept(message, "2025-11-25"),
            Some(asked) if asked == method => peer.result(message, result.clone()),
            _ => {}
        });
        let options = ClientOptions::default().with_revision(RevisionChoice::Legacy);
        let client = fake.connect(options).await;
        let error = match method {
            "resources/list" => {
                let page = client.list_resources_page(None).await.unwrap_err();
                assert_eq!(page.kind(), ErrorKind::Transport, "{page}");
                client.list_resources().await.unwrap_err()
            }
            "prompts/get" => client.get_prompt("x", ()).await.unwrap_err(),
            _ => client.read_resource("x:y").await.unwrap_err(),
        };
        assert_eq!(error.kind(), ErrorKind::Transport, "{error}");
        assert!(error.to_string().contains(problem), "{error}");
    }
}
