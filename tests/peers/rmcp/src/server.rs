//! The tools, resources and prompts of the peer server, and a completion.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rmcp::handler::server::router::{prompt::PromptRouter, tool::ToolRouter};
use rmcp::handler::server::wrapper::{Json, Parameters};
use rmcp::model::*;
use rmcp::service::{RequestContext, SubscriptionContext};
use rmcp::{
    ErrorData, Peer, RoleServer, ServerHandler, prompt, prompt_handler, prompt_router, tool, tool_handler, tool_router,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::time::sleep;

use crate::{asking, changing};

const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";
const WAV: &str = "UklGRiwAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQgAAAAAAAAAAAAAAA==";
const STATIC_TEXT: &str = "test://static-text";
const STATIC_BINARY: &str = "test://static-binary";
const COUNTED: &str = "test://counted-reads";

#[derive(Deserialize, JsonSchema)]
struct Echo {
    message: String,
}

#[derive(Deserialize, JsonSchema)]
struct AddNumbers {
    a: f64,
    b: f64,
}

#[derive(Deserialize, JsonSchema)]
struct Place {
    city: String,
}

#[derive(Serialize, JsonSchema)]
struct Weather {
    city: String,
    temperature: f64,
}

#[derive(Deserialize, JsonSchema)]
struct Slow {
    ms: u64,
}

#[derive(Deserialize, JsonSchema)]
struct TwoArguments {
    arg1: String,
    arg2: String,
}

#[derive(Clone)]
#[expect(deprecated, reason = "logging is a feature of all revisions")]
pub(crate) struct Features {
    log_level: Arc<Mutex<LoggingLevel>>,
    tool_router: ToolRouter<Self>,
    prompt_router: PromptRouter<Self>,
}

#[tool_router]
#[expect(deprecated, reason = "logging is a feature of all revisions")]
impl Features {
    pub(crate) fn new() -> Self {
        let mut tool_router = Self::tool_router();
        asking::add(&mut tool_router);
        changing::add(&mut tool_router);
        Self { log_level: Arc::new(Mutex::new(LoggingLevel::Debug)), tool_router, prompt_router: Self::prompt_router() }
    }

    /// The log level of a client of a legacy revision.
    pub(crate) fn log_level(&self) -> LoggingLevel {
        *self.log_level.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[tool(description = "Give the message back.")]
    async fn echo(&self, Parameters(echo): Parameters<Echo>) -> String {
        echo.message
    }

    #[tool(description = "Add two numbers.")]
    async fn add_numbers(&self, Parameters(numbers): Parameters<AddNumbers>) -> String {
        (numbers.a + numbers.b).to_string()
    }

    #[tool(description = "Return an image.")]
    async fn test_image_content(&self) -> CallToolResult {
        CallToolResult::success(vec![ContentBlock::image(PNG, "image/png")])
    }

    #[tool(description = "Return a sound.")]
    async fn test_audio_content(&self) -> CallToolResult {
        CallToolResult::success(vec![ContentBlock::audio(WAV, "audio/wav")])
    }

    #[tool(description = "Return a resource.")]
    async fn test_embedded_resource(&self) -> CallToolResult {
        let contents = ResourceContents::text("This is an embedded resource content.", "test://embedded-resource");
        CallToolResult::success(vec![ContentBlock::resource(contents.with_mime_type("text/plain"))])
    }

    #[tool(description = "Return a link to a resource.")]
    async fn test_resource_link(&self) -> CallToolResult {
        CallToolResult::success(vec![ContentBlock::resource_link(Resource::new(STATIC_TEXT, "static-text"))])
    }

    #[tool(description = "Return structured content.")]
    async fn structured(&self, Parameters(place): Parameters<Place>) -> Json<Weather> {
        Json(Weather { city: place.city, temperature: 21.5 })
    }

    #[tool(description = "Always fail.")]
    async fn test_error_handling(&self) -> Result<String, String> {
        Err("This tool intentionally returns an error for testing".to_owned())
    }

    #[tool(description = "Report progress three times.")]
    async fn test_tool_with_progress(
        &self,
        meta: RequestMetaObject,
        client: Peer<RoleServer>,
    ) -> Result<String, ErrorData> {
        for progress in [0, 50, 100] {
            if let Some(token) = meta.get_progress_token() {
                let message = format!("Completed step {progress} of 100");
                let params = ProgressNotificationParam::new(token, progress.into());
                let params = params.with_total(100.0).with_message(message);
                let sent = client.notify_progress(params).await;
                sent.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
            }
            sleep(Duration::from_millis(50)).await;
        }
        Ok("done".to_owned())
    }

    #[tool(description = "Take some time.")]
    async fn slow(&self, Parameters(slow): Parameters<Slow>) -> String {
        sleep(Duration::from_millis(slow.ms)).await;
        "done".to_owned()
    }
}

#[prompt_router]
impl Features {
    #[prompt(description = "A prompt without arguments.")]
    async fn test_simple_prompt(&self) -> Vec<PromptMessage> {
        vec![PromptMessage::new_text(Role::User, "This is a simple prompt for testing.".to_owned())]
    }

    #[prompt(description = "A prompt with two arguments.")]
    async fn test_prompt_with_arguments(&self, Parameters(it): Parameters<TwoArguments>) -> Vec<PromptMessage> {
        let text = format!("Prompt with arguments: arg1='{}', arg2='{}'", it.arg1, it.arg2);
        vec![PromptMessage::new_text(Role::User, text)]
    }
}

#[expect(deprecated, reason = "logging and subscriptions are features of all revisions")]
#[tool_handler(router = self.tool_router)]
#[prompt_handler(router = self.prompt_router)]
impl ServerHandler for Features {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_resources().enable_prompts();
        let capabilities = capabilities.enable_completions().enable_logging().enable_tool_list_changed();
        let capabilities = capabilities.enable_prompts_list_changed().enable_resources_list_changed();
        ServerConfig::new(capabilities.enable_resources_subscribe().enable_tasks().build())
    }

    async fn set_level(&self, request: SetLevelRequestParams, _: RequestContext<RoleServer>) -> Result<(), ErrorData> {
        *self.log_level.lock().unwrap_or_else(PoisonError::into_inner) = request.level;
        Ok(())
    }

    async fn subscribe(&self, _: SubscribeRequestParams, _: RequestContext<RoleServer>) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn unsubscribe(&self, _: UnsubscribeRequestParams, _: RequestContext<RoleServer>) -> Result<(), ErrorData> {
        Ok(())
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        changing::listen(context).await;
        Ok(())
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        Ok(GetTaskResult::new(changing::TASKS.get_task(&request.task_id)?))
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult::with_all_items(vec![
            Resource::new(STATIC_TEXT, "static-text").with_mime_type("text/plain"),
            Resource::new(STATIC_BINARY, "static-binary").with_mime_type("image/png"),
            Resource::new(changing::WATCHED, "watched-resource").with_mime_type("text/plain"),
            Resource::new(COUNTED, "counted-reads").with_mime_type("text/plain"),
        ]))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let template = ResourceTemplate::new("test://template/{id}/data", "template");
        Ok(ListResourceTemplatesResult::with_all_items(vec![template.with_mime_type("application/json")]))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let uri = request.uri;
        let id = uri.strip_prefix("test://template/").and_then(|rest| rest.strip_suffix("/data"));
        let contents = match (&*uri, id) {
            (STATIC_TEXT, _) => ResourceContents::text("This is the content of the static text resource.", &uri),
            (STATIC_BINARY, _) => ResourceContents::blob(PNG, &uri).with_mime_type("image/png"),
            (changing::WATCHED, _) => ResourceContents::text("Watched resource content", &uri),
            (COUNTED, _) => {
                static READS: AtomicU32 = AtomicU32::new(1);
                let read = ResourceContents::text(format!("read {}", READS.fetch_add(1, Ordering::Relaxed)), &uri);
                return Ok(ReadResourceResult::new(vec![read]).with_ttl_ms(60_000).into());
            }
            (_, Some(id)) => {
                let data = json!({"id": id, "templateTest": true, "data": format!("Data for ID: {id}")});
                ResourceContents::text(data.to_string(), &uri).with_mime_type("application/json")
            }
            _ => return Err(ErrorData::resource_not_found(format!("no resource {uri}"), None)),
        };
        Ok(ReadResourceResult::new(vec![contents]).into())
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let words = if request.argument.name == "arg1" { &["paris", "park", "party"][..] } else { &[] };
        let fitting = words.iter().filter(|word| word.starts_with(&request.argument.value));
        let completion = CompletionInfo::new(fitting.map(|&word| word.to_owned()).collect());
        completion.map(CompleteResult::new).map_err(|error| ErrorData::internal_error(error, None))
    }
}
