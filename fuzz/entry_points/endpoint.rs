//! A server as a service over HTTP, without sockets.

use bytes::Bytes;
use http::{HeaderMap, Request, StatusCode, request};
use http_body_util::{BodyExt, Full};
use serde_json::{Map, Value, json};
use std::{sync::LazyLock, time::Duration};
use tokio::{
    runtime::{Builder, Runtime},
    time::timeout,
};
use tower_service::Service;
use trunkline::{
    HttpOptions, Server, ServerOptions,
    protocol::model::{ElicitParams, Field, FormSchema},
    server::{Context, Params},
    transport::HttpService,
};

/// Timeout of one response: far longer than any response takes, so that only a hang exceeds it.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(20);
pub const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;

/// Drives all endpoints.
static RUNTIME: LazyLock<Runtime> =
    LazyLock::new(|| Builder::new_current_thread().enable_all().build().expect("no runtime"));

pub struct Endpoint {
    pub service: HttpService,
}

pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
}

/// Runs work that must not hang.
pub fn finish<T>(work: impl Future<Output = T>) -> T {
    RUNTIME.block_on(async { timeout(RESPONSE_TIMEOUT, work).await.expect("it hangs") })
}

pub fn server() -> Server {
    Server::builder("fixture", "1.0.0")
        .options(ServerOptions::default().with_page_size(1))
        .tool("ask", "Asks for a name.", async |ctx: Context| {
            let form = FormSchema::new().required("name", Field::text());
            ctx.elicit_with_key("name", ElicitParams::form("Your name?", form)).await?;
            trunkline::Ok("thanks")
        })
        .tool("echo", "Says it again.", async |Params(arguments): Params<Map<String, Value>>| {
            Value::from(arguments).to_string()
        })
        .build()
}

impl Endpoint {
    pub fn new(options: HttpOptions) -> Self {
        let _inside = RUNTIME.enter();
        Self { service: server().into_service_with(options) }
    }

    pub fn send(&self, request: request::Builder, body: &[u8]) -> Answer {
        let request = request.header("host", "localhost").body(Full::new(Bytes::copy_from_slice(body)));
        let mut service = self.service.clone();
        finish(async {
            let response = service.call(request.expect("no request")).await.unwrap_or_else(|never| match never {});
            let (head, body) = response.into_parts();
            let body = body.collect().await.expect("the body is cut").to_bytes();
            Answer { status: head.status, headers: head.headers, body }
        })
    }

    /// The response to a modern request.
    pub fn ask(&self, method: &str, params: Value) -> Value {
        let (request, body) = modern(method, params);
        self.send(request, body.to_string().as_bytes()).json()
    }
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {:?}, status {}", self.body, self.status))
    }
}

pub fn post() -> request::Builder {
    Request::post("/mcp")
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
}

/// A request of 2026-07-28: its head and its body.
pub fn modern(method: &str, mut params: Value) -> (request::Builder, Value) {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
    });
    let mut head = post().header("mcp-protocol-version", "2026-07-28").header("mcp-method", method);
    if let Some(name) = params["name"].as_str() {
        head = head.header("mcp-name", name);
    }
    (head, json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))
}

/// Panics unless a refusal has the invalid params code.
pub fn assert_invalid_params(answer: &Value) {
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
}
