//! Parameters and outcomes of forwarded requests.

use super::failures::rpc_error;
use serde_json::{Value, json, value::RawValue};
use trunkline_core::{
    client::{ClientError, InputRequired as RequiredOfServer},
    extension::composition::rewriting::{self, ObjectMembers},
    protocol::{Era, RawJson, RpcError, meta},
    server::{InputRequest, InputRequired, Outcome},
};

/// The member of the proxy's state that holds the state of the remote server.
const STATE: &str = "requestState";

/// The parameters to forward, without what belongs to the caller's conversation.
pub(super) fn passed_params(input: &RawJson) -> Result<RawJson, RpcError> {
    const CONVERSATION_MEMBERS: [&str; 3] = ["inputResponses", "requestState", "task"];
    const META_KEYS: [&str; 6] = [
        meta::PROTOCOL_VERSION,
        meta::CLIENT_INFO,
        meta::CLIENT_CAPABILITIES,
        meta::LOG_LEVEL,
        meta::PROGRESS_TOKEN,
        meta::BAGGAGE,
    ];
    let passed = || -> Option<RawJson> {
        let mut params: ObjectMembers = input.parse().ok()?;
        for member in CONVERSATION_MEMBERS {
            params.shift_remove(member);
        }
        // Other metadata is passed on, and refused by the server if it is not an object.
        let _ = rewriting::change_meta(&mut params, |given| given.retain(|name, _| !META_KEYS.contains(&&**name)));
        RawJson::from_value(&params).ok()
    };
    passed().ok_or_else(|| RpcError::invalid_params("The params must be an object"))
}

/// The outcome of a forwarded request. `server` is the name of the server in the log; `details`
/// tells whether its caller may see details of a failure.
pub(super) fn outcome_of(server: Option<&str>, outcome: Result<RawJson, ClientError>, details: bool) -> Outcome {
    match outcome {
        Ok(result) => Outcome::Result(result),
        Err(ClientError::InputRequired(required)) => match required_of_caller(&required) {
            Ok(required) => Outcome::InputRequired(required),
            Err(error) => Outcome::Protocol(error),
        },
        Err(error) => Outcome::Protocol(rpc_error(server, &error, details)),
    }
}

/// Replaces the task support in a list of tools by that of this server, whose tasks wait for the
/// remote calls. A tool that requires tasks there can also be called normally here. `era` is that
/// of a remote server that supports tasks: a legacy one lists the tools that do, and a modern one
/// decides for each call.
pub(super) fn with_own_tasks(result: RawJson, era: Option<Era>) -> RawJson {
    const MEMBER: &str = "execution";
    let is_named = result.may_mention(MEMBER);
    if !is_named && era != Some(Era::Modern) {
        return result;
    }
    let support = |execution: Box<RawValue>| {
        let execution: Value = serde_json::from_str(execution.get()).unwrap_or_default();
        matches!(execution.get("taskSupport").and_then(Value::as_str), Some("optional" | "required"))
    };
    let changed = || -> Option<RawJson> {
        let mut list: ObjectMembers = result.parse().ok()?;
        rewriting::in_member(&mut list, "tools", |tools: &mut Vec<ObjectMembers>| {
            for tool in tools {
                let listed = tool.shift_remove(MEMBER).is_some_and(support);
                if era.is_some_and(|era| era == Era::Modern || listed) {
                    rewriting::may_be_task(tool);
                }
            }
            Some(())
        })?;
        RawJson::from_value(&list).ok()
    };
    changed().unwrap_or(result)
}

/// Returns the server's requests for the caller, with the server's state inside the proxy's.
fn required_of_caller(required: &RequiredOfServer) -> Result<InputRequired, RpcError> {
    let mut input = InputRequired::new().with_state(json!({STATE: required.request_state()}));
    for (key, request) in required.requests() {
        let params: Value = request.params.parse().map_err(|_| RpcError::internal())?;
        input = input.ask(key, InputRequest::new(&request.method, params)?);
    }
    Ok(input)
}

/// Extracts the state of the remote server from the proxy's.
pub(super) fn state_of_server(state: &Value) -> Option<&str> {
    state.get(STATE)?.as_str()
}
