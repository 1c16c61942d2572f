//! Operations as data (../../../vectors/README.md, "Vectors for clients"), done by the client of
//! the SDK.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rmcp::model::*;
use rmcp::service::{NotificationContext, PeerRequestOptions, RequestContext, RunningService, ServiceError};
use rmcp::transport::{IntoTransport, StreamableHttpClientTransport, TokioChildProcess};
use rmcp::{ClientHandler, ClientLifecycleMode, ClientServiceExt, ErrorData, RoleClient};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::Fallible;

/// A user, a model and a folder. Keeps the latest progress, and the revision that the handshake
/// offers.
#[derive(Clone, Default)]
struct Host {
    progress: Arc<Mutex<Option<f64>>>,
    revision: ProtocolVersion,
}

impl Host {
    fn take_progress(&self) -> Option<f64> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

#[expect(deprecated, reason = "sampling and roots are features of all revisions")]
impl ClientHandler for Host {
    fn get_info(&self) -> ClientConfig {
        let info = Implementation::new("peer-rmcp", env!("CARGO_PKG_VERSION"));
        let capabilities = json!({"elicitation": {}, "sampling": {}, "roots": {}});
        let capabilities: ClientCapabilities = serde_json::from_value(capabilities).unwrap_or_default();
        ClientConfig::new(capabilities, info).with_protocol_version(self.revision.clone())
    }

    async fn create_elicitation(
        &self,
        _: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        Ok(ElicitResult::new(ElicitationAction::Accept).with_content(json!({})))
    }

    async fn create_message(
        &self,
        _: CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        let message = SamplingMessage::assistant_text("Fine.");
        Ok(CreateMessageResult::new(message, "fixture".to_owned()))
    }

    async fn list_roots(&self, _: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        Ok(ListRootsResult::new(vec![Root::new("file:///work")]))
    }

    async fn on_progress(&self, progress: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        *self.progress.lock().unwrap_or_else(PoisonError::into_inner) = Some(progress.progress);
    }
}

type Client = RunningService<RoleClient, Host>;

/// Prints a line for each connection and for each operation of a file.
pub(crate) async fn play(file: &str, target: &[String]) -> Fallible {
    let file: Value = serde_json::from_str(&std::fs::read_to_string(file)?)?;
    for part in file["plays"].as_array().ok_or("no plays")? {
        let start = Instant::now();
        let client = match open(target, part["revision"].as_str().unwrap_or_default()).await {
            Ok(client) => client,
            Err(error) => {
                print(start, json!({"error": "transport", "message": error.to_string()}));
                continue;
            }
        };
        let spoken = client.peer_info().map(|info| info.protocol_version.to_string());
        print(start, json!({"connected": spoken}));
        for operation in part["do"].as_array().into_iter().flatten() {
            let start = Instant::now();
            print(start, perform(&client, operation).await.unwrap_or_else(|error| failed(&error)));
        }
        client.cancel().await?;
    }
    Ok(())
}

fn print(start: Instant, mut line: Value) {
    line["ms"] = ((start.elapsed().as_secs_f64() * 10_000.0).round() / 10.0).into();
    println!("{line}");
}

fn failed(error: &ServiceError) -> Value {
    let kind = match error {
        ServiceError::McpError(_) => "protocol",
        ServiceError::Timeout { .. } => "timeout",
        ServiceError::Cancelled { .. } => "cancelled",
        _ => "transport",
    };
    json!({"error": kind, "message": error.to_string()})
}

async fn open(target: &[String], revision: &str) -> Fallible<Client> {
    match target {
        [option, command, arguments @ ..] if option == "--stdio" => {
            let mut command = tokio::process::Command::new(command);
            command.args(arguments);
            connect(TokioChildProcess::new(command)?, revision).await
        }
        [url] => connect(StreamableHttpClientTransport::from_uri(url.clone()), revision).await,
        _ => Err("neither a URL nor --stdio COMMAND".into()),
    }
}

async fn connect<T, E, A>(transport: T, revision: &str) -> Fallible<Client>
where
    T: IntoTransport<RoleClient, E, A>,
    E: std::error::Error + Send + Sync + 'static,
{
    let modern = vec![ProtocolVersion::V_2026_07_28];
    let mut host = Host::default();
    let lifecycle = match revision {
        "auto" => {
            let legacy_version = Some(ProtocolVersion::V_2025_11_25);
            ClientLifecycleMode::Auto { preferred_versions: modern, legacy_version }
        }
        "2026-07-28" => ClientLifecycleMode::Discover { preferred_versions: modern },
        legacy => {
            host.revision = serde_json::from_value(legacy.into())?;
            ClientLifecycleMode::Initialize
        }
    };
    Ok(host.serve_with_lifecycle(transport, lifecycle).await?)
}

async fn perform(client: &Client, operation: &Value) -> Result<Value, ServiceError> {
    let Some((name, details)) = operation.as_object().and_then(|members| members.iter().next()) else {
        return Ok(json!({"error": "invalidArgument", "message": "an operation without a name"}));
    };
    match name.as_str() {
        "ping" => {
            let ping = ClientRequest::PingRequest(PingRequest::default());
            client.send_request(ping).await.map(|_| json!({"ping": true}))
        }
        "callTool" => call_tool(client, details).await,
        "listTools" if details["page"] == true => {
            let page = client.list_tools(None).await?;
            let names: Vec<_> = page.tools.iter().map(|tool| &tool.name).collect();
            Ok(json!({"tools": names, "more": page.next_cursor.is_some()}))
        }
        "listTools" => Ok(parts("tools", &client.list_all_tools().await?, "name")),
        "listResources" => Ok(parts("resources", &client.list_all_resources().await?, "uri")),
        "listResourceTemplates" => {
            Ok(parts("resourceTemplates", &client.list_all_resource_templates().await?, "uriTemplate"))
        }
        "listPrompts" => Ok(parts("prompts", &client.list_all_prompts().await?, "name")),
        "readResource" => {
            let result = wire(&client.read_resource(params(details)?).await?);
            let part = |contents: &Value| contents.get("text").unwrap_or(&contents["blob"]).clone();
            Ok(json!({"contents": all(&result["contents"], part)}))
        }
        "getPrompt" => {
            let result = wire(&client.get_prompt(params(details)?).await?);
            Ok(json!({"messages": all(&result["messages"], |message| message["content"]["text"].clone())}))
        }
        "complete" => {
            let result = wire(&client.complete(params(details)?).await?);
            Ok(json!({"values": result["completion"]["values"]}))
        }
        other => Ok(json!({"error": "unsupported", "message": format!("this peer has no operation {other}")})),
    }
}

async fn call_tool(client: &Client, details: &Value) -> Result<Value, ServiceError> {
    let call = params::<CallToolRequestParams>(&json!({"name": details["name"], "arguments": details["arguments"]}))?;
    let milliseconds = |name: &str| details[name].as_u64().map(Duration::from_millis);
    client.service().take_progress();
    if let Some(limit) = milliseconds("timeoutMs") {
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(call));
        let options = PeerRequestOptions::with_timeout(limit);
        let handle = client.send_cancellable_request(request, options).await?;
        return handle.await_response().await.map(|_| json!({"text": null}));
    }
    let result = match milliseconds("cancelMs") {
        None => client.call_tool(call).await?,
        Some(patience) => match timeout(patience, client.call_tool(call)).await {
            Ok(result) => result?,
            Err(_) => return Ok(json!({"error": "cancelled"})),
        },
    };
    let progress = client.service().take_progress().filter(|_| details["progress"] == true);
    let result = wire(&result);
    Ok(json!({
        "text": result["content"][0]["text"], "isError": result["isError"] == true, "progress": progress,
        "content": result["content"], "structured": result["structuredContent"],
    }))
}

fn parts<T: Serialize>(name: &str, items: &[T], part: &str) -> Value {
    json!({name: items.iter().map(|item| wire(item)[part].clone()).collect::<Vec<_>>()})
}

fn all(items: &Value, part: impl Fn(&Value) -> Value) -> Vec<Value> {
    items.as_array().into_iter().flatten().map(part).collect()
}

/// The form on the wire.
fn wire(value: &impl Serialize) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}

fn params<T: DeserializeOwned>(details: &Value) -> Result<T, ServiceError> {
    let invalid = |error: serde_json::Error| rmcp::ErrorData::invalid_params(error.to_string(), None);
    serde_json::from_value(details.clone()).map_err(|error| ServiceError::McpError(invalid(error)))
}
