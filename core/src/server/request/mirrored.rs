//! Parameters mirrored in HTTP headers. Intermediaries that route by a header must see what the
//! tool gets (H26-36, H26-37).

use super::active_request::ActiveRequest;
use crate::{
    engine::MirroredParameters,
    protocol::{
        RpcError,
        call_params::CallParams,
        method,
        schema::{HeaderParameter, HeaderType},
    },
    server::registry::RegisteredTool,
};
use serde_json::{Value, json};

/// Compares the headers of a request with its original body, before middleware can change it. Does
/// nothing if no headers are mirrored.
pub(in crate::server) fn check(context: &ActiveRequest) -> Result<(), RpcError> {
    let Some(headers) = &context.info.mirrored else { return Ok(()) };
    if context.method != method::TOOLS_CALL || !context.snapshot.may_mirror() {
        return Ok(());
    }
    // Invalid parameters are refused later, by the method.
    let Some(Ok(called)) = context.params.as_ref().map(CallParams::read) else { return Ok(()) };
    match context.snapshot.tool(&called.name).filter(|tool| !tool.mirrored.is_empty()) {
        Some(tool) => match called.arguments.map(|value| (value.as_bytes().len(), value.parse())) {
            Some((len, Ok(arguments))) => compare(&tool, headers, &arguments, len),
            Some((_, Err(_))) => Ok(()),
            None => compare(&tool, headers, &json!({}), 0),
        },
        None => Ok(()),
    }
}

/// The arguments are `text_len` bytes long.
fn compare(
    tool: &RegisteredTool,
    headers: &MirroredParameters,
    arguments: &Value,
    text_len: usize,
) -> Result<(), RpcError> {
    for parameter in &tool.mirrored {
        let argument = match parameter.text(arguments) {
            Ok(argument) => argument,
            // The schema reports invalid values. It may accept values that no header can carry,
            // such as a huge integer (H26-28).
            Err(_) if !tool.input.is_costly(text_len) && tool.input.validate(arguments).is_err() => continue,
            Err(problem) => return Err(RpcError::header_mismatch(format!("The argument {problem}"))),
        };
        let header = headers.get(&parameter.name.to_ascii_lowercase());
        let problem = match (argument, header) {
            (_, Some(Err(problem))) => problem.clone(),
            (Some(argument), Some(Ok(header))) if same(parameter, header, &argument) => continue,
            (Some(argument), Some(Ok(header))) => format!("is {header:?}, but the argument is {argument:?}"),
            (Some(argument), None) => format!("is missing; the argument is {argument:?}"),
            (None, Some(Ok(header))) => format!("is {header:?}, but there is no such argument"),
            (None, None) => continue,
        };
        return Err(RpcError::header_mismatch(format!("The header Mcp-Param-{} {problem}", parameter.name)));
    }
    Ok(())
}

/// Integers compare as numbers: `42.0` is `42` (H26-09).
fn same(parameter: &HeaderParameter, header: &str, argument: &str) -> bool {
    header == argument
        || (parameter.kind == HeaderType::Integer
            && header.parse::<f64>().is_ok_and(|header| argument.parse() == Ok(header)))
}
