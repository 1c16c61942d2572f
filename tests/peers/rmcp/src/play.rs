//! Operations as data (../../../vectors/README.md, "Vectors for clients"), done by the client of
//! the SDK.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rmcp::model::*;
use rmcp::service::{NotificationContext, PeerRequestOptions, RequestContext, RunningService, ServiceError};
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{IntoTransport, StreamableHttpClientTransport, TokioChildProcess};
use rmcp::{ClientHandler, ClientLifecycleMode, ClientServiceExt, ErrorData, RoleClient};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::time::timeout;

use crate::Fallible;

/// A notification may take this long.
const TIMEOUT: Duration = Duration::from_secs(5);

/// A user, a model and a folder. Records the latest progress, the revision offered in the
/// handshake, and the server's notifications.
#[derive(Clone, Default)]
struct Host {
    progress: Arc<Mutex<Option<f64>>>,
    revision: ProtocolVersion,
    inbox: Arc<Inbox>,
}

/// Changes and log messages, queued until one is requested.
#[derive(Default)]
struct Inbox {
    kept: Mutex<Vec<Value>>,
    changed: Notify,
}

impl Inbox {
    fn put(&self, announced: Value) {
        self.kept().push(announced);
        self.changed.notify_one();
    }

    fn kept(&self) -> MutexGuard<'_, Vec<Value>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next match.
    async fn take(&self, fits: impl Fn(&Value) -> bool) -> Result<Value, ServiceError> {
        let taken = async {
            loop {
                let changed = self.changed.notified();
                let place = self.kept().iter().position(&fits);
                if let Some(place) = place {
                    return self.kept().remove(place);
                }
                changed.await;
            }
        };
        timeout(TIMEOUT, taken).await.map_err(|_| ServiceError::Timeout { timeout: TIMEOUT })
    }
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
        let mut capabilities: ClientCapabilities = serde_json::from_value(capabilities).unwrap_or_default();
        if self.revision >= ProtocolVersion::V_2026_07_28 {
            capabilities.extensions = ClientCapabilities::builder().enable_tasks().build().extensions;
        }
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

    async fn on_logging_message(&self, message: LoggingMessageNotificationParam, _: NotificationContext<RoleClient>) {
        self.inbox.put(json!({"level": message.level, "data": message.data}));
    }

    async fn on_resource_updated(&self, it: ResourceUpdatedNotificationParam, _: NotificationContext<RoleClient>) {
        self.inbox.put(json!({"change": "resource", "uri": it.uri}));
    }

    async fn on_resource_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.inbox.put(json!({"change": "resourceList"}));
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.inbox.put(json!({"change": "tools"}));
    }

    async fn on_prompt_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.inbox.put(json!({"change": "prompts"}));
    }
}

type Client = RunningService<RoleClient, Host>;

/// Prints a line for each connection and for each operation of a file.
pub(crate) async fn play(file: &str, target: &[String]) -> Fallible {
    let file: Value = serde_json::from_str(&std::fs::read_to_string(file)?)?;
    for part in file["plays"].as_array().ok_or("no plays")? {
        let start = Instant::now();
        let client = match open(&target_of(part).unwrap_or_else(|| target.to_vec()), part).await {
            Ok(client) => client,
            Err(error) => {
                print(start, json!({"error": "transport", "message": error.to_string()}));
                continue;
            }
        };
        let level = serde_json::from_value(part["logLevel"].clone())?;
        set_log_level(&client, level).await?;
        let spoken = client.peer_info().map(|info| info.protocol_version.to_string());
        print(start, json!({"connected": spoken}));
        for operation in part["do"].as_array().into_iter().flatten() {
            let start = Instant::now();
            print(start, perform(&client, level, operation).await.unwrap_or_else(|error| failed(&error)));
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

fn target_of(part: &Value) -> Option<Vec<String>> {
    Some(part["target"].as_array()?.iter().filter_map(|word| word.as_str().map(str::to_owned)).collect())
}

async fn open(target: &[String], part: &Value) -> Fallible<Client> {
    let revision = part["revision"].as_str().unwrap_or_default();
    match target {
        [option, command, arguments @ ..] if option == "--stdio" => {
            let mut command = tokio::process::Command::new(command);
            command.args(arguments);
            connect(TokioChildProcess::new(command)?, revision).await
        }
        [url] => {
            let mut config = StreamableHttpClientTransportConfig::with_uri(url.as_str());
            if let Some(token) = part["token"].as_str() {
                config = config.auth_header(token);
            }
            connect(StreamableHttpClientTransport::from_config(config), revision).await
        }
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
        "2026-07-28" => {
            host.revision = ProtocolVersion::V_2026_07_28;
            ClientLifecycleMode::Discover { preferred_versions: modern }
        }
        legacy => {
            host.revision = serde_json::from_value(legacy.into())?;
            ClientLifecycleMode::Initialize
        }
    };
    Ok(host.serve_with_lifecycle(transport, lifecycle).await?)
}

#[expect(deprecated, reason = "logging is a feature of all revisions")]
async fn set_log_level(client: &Client, level: LoggingLevel) -> Result<(), ServiceError> {
    match client.peer_info() {
        Some(server) if !is_modern(client) && server.capabilities.logging.is_some() => {
            client.set_level(SetLevelRequestParams::new(level)).await
        }
        _ => Ok(()),
    }
}

fn is_modern(client: &Client) -> bool {
    client.peer_info().is_some_and(|server| server.protocol_version >= ProtocolVersion::V_2026_07_28)
}

#[expect(deprecated, reason = "logging is a feature of all revisions")]
async fn perform(client: &Client, level: LoggingLevel, operation: &Value) -> Result<Value, ServiceError> {
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
        "request" => {
            let method = details["method"].as_str().unwrap_or_default();
            let request = CustomRequest::new(method, Some(details["params"].clone()));
            let result = client.send_request(ClientRequest::CustomRequest(request)).await?;
            Ok(json!({"result": wire(&result)}))
        }
        "notify" => {
            let method = details["method"].as_str().unwrap_or_default();
            let notification = CustomNotification::new(method, Some(details["params"].clone()));
            client.send_notification(ClientNotification::CustomNotification(notification)).await?;
            Ok(json!({"notified": true}))
        }
        "subscribe" => subscribe(client, details).await,
        "log" => log(client, level, details).await,
        "callInRounds" => call_in_rounds(client, details).await,
        "callAsTask" => call_as_task(client, details).await,
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

/// Calls a tool that changes something, and returns the first change.
async fn subscribe(client: &Client, details: &Value) -> Result<Value, ServiceError> {
    let (to, change) = (&details["to"], json!({"name": details["call"], "arguments": {}}));
    if is_modern(client) {
        let filter = json!({
            "toolsListChanged": to.get("tools"), "promptsListChanged": to.get("prompts"),
            "resourcesListChanged": to.get("resourceList"), "resourceSubscriptions": to.get("resources"),
        });
        let mut subscription = client.listen(params(&filter)?).await?;
        client.call_tool(params(&change)?).await?;
        let next = timeout(TIMEOUT, subscription.next()).await;
        let changed = next.map_err(|_| ServiceError::Timeout { timeout: TIMEOUT })??;
        return Ok(match changed {
            Some(ServerNotification::ResourceUpdatedNotification(it)) => {
                json!({"change": "resource", "uri": it.params.uri})
            }
            Some(ServerNotification::ToolListChangedNotification(_)) => json!({"change": "tools"}),
            Some(ServerNotification::PromptListChangedNotification(_)) => json!({"change": "prompts"}),
            Some(ServerNotification::ResourceListChangedNotification(_)) => json!({"change": "resourceList"}),
            other => json!({"error": "protocol", "message": format!("{other:?}")}),
        });
    }
    let inbox = &client.service().inbox;
    inbox.kept().clear();
    let uris: Vec<String> = params(to.get("resources").unwrap_or(&json!([])))?;
    for uri in &uris {
        #[expect(deprecated, reason = "the subscription of the legacy revisions")]
        client.subscribe(SubscribeRequestParams::new(uri)).await?;
    }
    client.call_tool(params(&change)?).await?;
    let changed = inbox
        .take(|it| {
            it["change"] == "resource" && !uris.is_empty()
                || it["change"].as_str().is_some_and(|kind| to.get(kind).is_some())
        })
        .await?;
    for uri in &uris {
        #[expect(deprecated, reason = "the subscription of the legacy revisions")]
        client.unsubscribe(UnsubscribeRequestParams::new(uri)).await?;
    }
    Ok(changed)
}

/// Calls a tool that logs, and returns the messages up to an error.
#[expect(deprecated, reason = "logging is a feature of all revisions")]
async fn log(client: &Client, level: LoggingLevel, details: &Value) -> Result<Value, ServiceError> {
    let inbox = &client.service().inbox;
    inbox.kept().clear();
    let mut call: CallToolRequestParams = params(&json!({"name": details["call"], "arguments": {}}))?;
    if is_modern(client) {
        call.meta.get_or_insert_default().set_log_level(level);
    }
    client.call_tool(call).await?;
    let mut logged = Vec::new();
    loop {
        let message = inbox.take(|it| it.get("level").is_some()).await?;
        logged.push(message["data"].clone());
        if message["level"] == "error" {
            return Ok(json!({"logged": logged}));
        }
    }
}

/// Calls a tool and answers its requests for input by key.
async fn call_in_rounds(client: &Client, details: &Value) -> Result<Value, ServiceError> {
    let mut asked: Vec<Value> = Vec::new();
    let mut call = json!({"name": details["name"], "arguments": details["arguments"]});
    loop {
        let required = match client.call_tool_once(params(&call)?).await? {
            CallToolResponse::InputRequired(required) => wire(&required),
            CallToolResponse::Complete(result) => {
                return Ok(json!({"asked": asked, "text": wire(&result)["content"][0]["text"]}));
            }
            other => return Ok(json!({"error": "protocol", "message": format!("{other:?}")})),
        };
        for answer in details["answers"].as_array().into_iter().flatten() {
            let key = answer["key"].as_str().unwrap_or_default();
            if required["inputRequests"].get(key).is_some() {
                call["inputResponses"][key] = answer["response"].clone();
                asked.push(key.into());
            }
        }
        if let Some(state) = required.get("requestState") {
            call["requestState"] = state.clone();
        }
    }
}

/// The task that a server creates for a call.
async fn call_as_task(client: &Client, details: &Value) -> Result<Value, ServiceError> {
    let created = match client.call_tool_once(params(details)?).await? {
        CallToolResponse::Task(created) => wire(&created),
        CallToolResponse::Complete(result) => {
            return Ok(json!({"isTask": false, "text": wire(&result)["content"][0]["text"]}));
        }
        other => return Ok(json!({"error": "protocol", "message": format!("{other:?}")})),
    };
    let until = Instant::now() + TIMEOUT;
    while Instant::now() < until {
        let task = wire(&client.get_task(params(&json!({"taskId": created["taskId"]}))?).await?);
        if task["status"] == "completed" {
            return Ok(json!({"isTask": true, "text": task["result"]["content"][0]["text"]}));
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Err(ServiceError::Timeout { timeout: TIMEOUT })
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
