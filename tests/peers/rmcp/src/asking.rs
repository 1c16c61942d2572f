//! Tools that ask the client: with requests, and on 2026-07-28 with an `input_required` result.

use std::sync::Arc;

use rmcp::ErrorData;
use rmcp::handler::server::router::tool::{ToolRoute, ToolRouter};
use rmcp::handler::server::tool::ToolCallContext;
use rmcp::model::*;
use serde_json::{Value, json};

use crate::server::Features;

/// The key of the only request in a result.
const ASKED: &str = "user_name";

/// Adds the tools to the server.
pub(crate) fn add(router: &mut ToolRouter<Features>) {
    let properties = json!({"name": {"type": "string", "default": "John Doe"}});
    let form = json!({"type": "object", "properties": properties});
    let params = json!({"mode": "form", "message": "Please review the defaults", "requestedSchema": form});
    let elicit = json!({"method": "elicitation/create", "params": params});
    let elicited = |answer: &Value| format!("action: {}", text(&answer["action"]));
    add_tool(router, "test_elicitation_sep1034_defaults", elicit, elicited);

    let properties = json!({"name": {"type": "string"}});
    let form = json!({"type": "object", "properties": properties, "required": ["name"]});
    let params = json!({"mode": "form", "message": "What is your name?", "requestedSchema": form});
    let elicit = json!({"method": "elicitation/create", "params": params});
    let greeted = |answer: &Value| format!("Hello, {}!", text(&answer["content"]["name"]));
    add_tool(router, "test_input_required_result_elicitation", elicit, greeted);

    let message = json!({"role": "user", "content": {"type": "text", "text": "How are you?"}});
    let sample = json!({"method": "sampling/createMessage", "params": {"messages": [message], "maxTokens": 100}});
    let sampled = |answer: &Value| format!("LLM response: {}", text(&answer["content"]["text"]));
    add_tool(router, "test_sampling", sample, sampled);

    let listed = |answer: &Value| format!("roots: {}", text(&answer["roots"][0]["uri"]));
    add_tool(router, "test_roots", json!({"method": "roots/list"}), listed);
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn add_tool(router: &mut ToolRouter<Features>, name: &'static str, request: Value, shown: fn(&Value) -> String) {
    let schema = json!({"type": "object"}).as_object().cloned().unwrap_or_default();
    let tool = Tool::new(name, "Ask the client.", Arc::new(schema));
    router.add_route(ToolRoute::new_dyn(tool, move |call| {
        let request = request.clone();
        Box::pin(async move {
            Ok(match ask(call, request).await? {
                Ok(answer) => CallToolResult::success(vec![ContentBlock::text(shown(&answer))]).into(),
                Err(question) => question.into(),
            })
        })
    }));
}

/// The client's answer, or the result that asks for it.
async fn ask(
    call: ToolCallContext<'_, Features>,
    request: Value,
) -> Result<Result<Value, InputRequiredResult>, ErrorData> {
    let failed = |error: &dyn std::error::Error| ErrorData::internal_error(error.to_string(), None);
    if let Some(answer) = call.input_responses.as_ref().and_then(|responses| responses.get(ASKED)) {
        return Ok(Ok(answer.clone()));
    }
    let request: InputRequest = serde_json::from_value(request).map_err(|error| failed(&error))?;
    if call.request_context.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28) {
        return Ok(Err(InputRequiredResult::from_input_requests([(ASKED.to_owned(), request)].into())));
    }
    let request = match request {
        InputRequest::CreateMessage(request) => ServerRequest::CreateMessageRequest(request),
        InputRequest::Elicitation(request) => ServerRequest::ElicitRequest(request),
        InputRequest::ListRoots(request) => ServerRequest::ListRootsRequest(request),
        _ => return Err(ErrorData::internal_error("a request of another kind", None)),
    };
    let answer = call.request_context.peer.send_request(request).await.map_err(|error| failed(&error))?;
    serde_json::to_value(answer).map(Ok).map_err(|error| failed(&error))
}
