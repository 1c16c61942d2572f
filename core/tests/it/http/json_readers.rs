//! JSON that two readers may take differently: `tests/json-readers.json`. What the core has
//! validated is what handlers, middleware and clients see, or the message is refused.

use super::support::Ask;
use bytes::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value, json};
use std::{
    collections::BTreeMap,
    sync::{Arc, LazyLock, Mutex},
};
use tokio::sync::{Mutex as AsyncMutex, mpsc};
use trunkline::{
    Client, ClientOptions, Context, RevisionChoice, Server,
    client::LinkFailure,
    protocol::{Revision, integers},
    server::{MiddlewareDefinition, Next, Params, Tool},
    transport::{Channel, ChannelConnector, HttpOptions, Target},
};

#[derive(Deserialize)]
struct Table {
    schema: Value,
    cases: Vec<Case>,
    refused: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Case {
    name: String,
    sent: String,
    #[serde(default)]
    seen: String,
    may_refuse: Option<String>,
}

static TABLE: LazyLock<Table> =
    LazyLock::new(|| serde_json::from_str(include_str!("../../../../tests/json-readers.json")).unwrap());

#[derive(Serialize, Deserialize, JsonSchema)]
struct Transfer {
    #[serde(skip_serializing_if = "Option::is_none")]
    amount: Option<Number>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
}

/// The arguments that the schema of the table describes.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Payment {
    #[serde(skip_serializing_if = "Option::is_none")]
    amount: Option<Number>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    huge: Option<Number>,
    #[serde(skip_serializing_if = "Option::is_none")]
    transfer: Option<Transfer>,
    #[serde(skip_serializing_if = "Option::is_none")]
    items: Option<Vec<Transfer>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    named: Option<BTreeMap<String, Transfer>>,
}

/// The members that the schema has, with integers as integers.
fn known(value: &Value, schema: &Value) -> Value {
    let schema = match schema["$ref"].as_str() {
        Some(reference) => TABLE.schema.pointer(&reference[1..]).unwrap(),
        None => schema,
    };
    match value {
        Value::Array(items) => items.iter().map(|item| known(item, &schema["items"])).collect(),
        Value::Object(members) => {
            let more = &schema["additionalProperties"];
            let read = |(name, member): (&String, &Value)| {
                let of = if more.is_object() { Some(more) } else { schema["properties"].get(name) };
                Some((name.clone(), known(member, of?)))
            };
            members.iter().filter_map(read).collect::<Map<_, _>>().into()
        }
        other => integers::without_fractions(other.clone()),
    }
}

/// Compares what was seen, or the error instead of it, with what may be.
fn check(case: &Case, who: &str, seen: Option<&Value>, refusal: Option<&str>) {
    let name = &case.name;
    match refusal {
        Some(refusal) => {
            let may = case.may_refuse.as_ref().is_some_and(|word| refusal.contains(word));
            assert!(may, "{name}: {who} is refused: {refusal}");
        }
        None => {
            let wanted: Value = serde_json::from_str(&case.seen).unwrap();
            let seen = known(seen.unwrap_or_else(|| panic!("{name}: {who} saw nothing")), &TABLE.schema);
            assert_eq!(seen, known(&wanted, &TABLE.schema), "{name}: {who}");
        }
    }
}

#[derive(Clone, Default)]
struct SeenValues {
    handler: Arc<Mutex<Option<Value>>>,
    middleware: Arc<Mutex<Option<Value>>>,
}

fn server(seen: &SeenValues) -> Server {
    let (one, two, judged) = (Arc::clone(&seen.handler), Arc::clone(&seen.handler), Arc::clone(&seen.middleware));
    let judge = MiddlewareDefinition::from_fn(move |_: Context, next: Next| {
        *judged.lock().unwrap() = next.params().map(|params| params["arguments"].clone());
        async move { Ok(next.run().await?) }
    });
    let typed = Tool::new("struct", "", move |Params(payment): Params<Payment>| {
        *one.lock().unwrap() = serde_json::to_value(payment).ok();
        async {}
    });
    let value = Tool::new("value", "", move |Params(payment): Params<Value>| {
        *two.lock().unwrap() = Some(payment);
        async {}
    });
    Server::builder("readers", "1")
        .add_middleware(judge.methods(["tools/call"]))
        .add_tool(typed.input_schema(TABLE.schema.clone()))
        .add_tool(value.input_schema(TABLE.schema.clone()))
        .build()
}

#[tokio::test]
async fn handlers_and_middleware_see_the_arguments_that_were_validated() {
    let seen = SeenValues::default();
    let server = server(&seen);
    let listener = server.listen_with(HttpOptions::default().with_port(0).with_stateless(true)).await.unwrap();
    let url = listener.url().unwrap();
    let address = url.trim_start_matches("http://").trim_end_matches("/mcp").parse().unwrap();
    let refusal = async |tool: &str, sent: &str| {
        *seen.handler.lock().unwrap() = None;
        *seen.middleware.lock().unwrap() = None;
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{tool}","arguments":{sent}}}}}"#
        );
        let ask = Ask::new(address, "POST").json(&Value::Null).header("MCP-Protocol-Version", "2025-11-25");
        let answer = ask.text(&body).send().await.json();
        let text = |value: &Value| value.as_str().map(str::to_owned);
        text(&answer["error"]["message"]).or_else(|| {
            answer["result"]["isError"].as_bool().filter(|is_error| *is_error)?;
            text(&answer["result"]["content"][0]["text"])
        })
    };
    for tool in ["struct", "value"] {
        for case in &TABLE.cases {
            let refused = refusal(tool, &case.sent).await;
            check(case, tool, seen.handler.lock().unwrap().as_ref(), refused.as_deref());
            if let Some(judged) = &*seen.middleware.lock().unwrap() {
                check(case, &format!("middleware before {tool}"), Some(judged), refused.as_deref());
            }
        }
        for case in &TABLE.refused {
            assert!(refusal(tool, &case.sent).await.is_some(), "{}", case.name);
            assert_eq!(*seen.handler.lock().unwrap(), None, "{}", case.name);
        }
    }
}

/// A server with one tool, whose structured content is a text.
struct Scripted {
    content: String,
    to_client: mpsc::UnboundedSender<Bytes>,
    from_server: AsyncMutex<mpsc::UnboundedReceiver<Bytes>>,
}

impl Channel for Scripted {
    async fn send(&self, message: Bytes) -> Result<(), LinkFailure> {
        let message: Value = serde_json::from_slice(&message).unwrap();
        let Some(id) = message.get("id") else { return Ok(()) };
        let tool = json!({"name": "pay", "inputSchema": {"type": "object"}, "outputSchema": TABLE.schema});
        let info = json!({"name": "readers", "version": "1"});
        let result = match message["method"].as_str().unwrap() {
            "initialize" => {
                json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}).to_string()
            }
            "tools/list" => json!({"tools": [tool]}).to_string(),
            _ => format!(r#"{{"content":[],"structuredContent":{}}}"#, self.content),
        };
        let answer = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#);
        self.to_client.send(answer.into()).map_err(|_| LinkFailure::Closed)
    }

    async fn receive(&self) -> Result<Option<Bytes>, LinkFailure> {
        Ok(self.from_server.lock().await.recv().await)
    }

    async fn close(&self) {}
}

/// The structured content that a client sees, or the error instead: as a value and as a struct.
async fn received(content: &str) -> [Result<Value, String>; 2] {
    let content = content.to_owned();
    let target = Target::from(ChannelConnector::new(move || {
        let content = content.clone();
        async move {
            let (to_client, from_server) = mpsc::unbounded_channel();
            Ok(Scripted { content, to_client, from_server: AsyncMutex::new(from_server) })
        }
    }));
    let options =
        ClientOptions::default().with_revision(RevisionChoice::Pinned(Revision::V2025_11_25)).with_reconnect(false);
    let client = Client::connect_with(target, options, ()).await.unwrap();
    // Results are validated against the schemas that are known.
    assert_eq!(client.list_tools().await.unwrap().len(), 1);
    let result = client.call_tool("pay", json!({})).await.map_err(|error| error.to_string());
    let typed = result.clone().and_then(|result| {
        let payment: Payment = result.structured_as().map_err(|error| error.to_string())?;
        serde_json::to_value(payment).map_err(|error| error.to_string())
    });
    [result.and_then(|result| result.structured_content.ok_or_else(|| "there is none".to_owned())), typed]
}

#[tokio::test]
async fn clients_see_the_content_that_was_validated() {
    for case in &TABLE.cases {
        for (who, outcome) in ["the value", "the struct"].into_iter().zip(received(&case.sent).await) {
            check(case, who, outcome.as_ref().ok(), outcome.as_ref().err().map(String::as_str));
        }
    }
    for case in &TABLE.refused {
        let [value, _] = received(&case.sent).await;
        assert!(value.is_err(), "{}: {value:?}", case.name);
    }
}
