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
    server::registry::{Category, ListedSchema, RegisteredTool},
};
use serde_json::{Value, json};
use std::sync::Arc;

/// Compares the headers of a request with its original body, before middleware can change it. Does
/// nothing if no headers are mirrored.
pub(in crate::server) fn check(context: &ActiveRequest) -> Result<(), RpcError> {
    let Some(headers) = &context.info.mirrored else { return Ok(()) };
    if context.method != method::TOOLS_CALL || !context.snapshot.may_mirror() {
        return Ok(());
    }
    // Invalid parameters are refused later, by the method.
    let Some(Ok(called)) = context.params.as_ref().map(CallParams::read) else { return Ok(()) };
    let name = &*called.name;
    let registered = context.snapshot.tool(name).map(CalledTool::Registered);
    let tool = registered.or_else(|| CalledTool::provided(context, name));
    let Some(tool) = tool.filter(|tool| !tool.mirrored().is_empty()) else { return Ok(()) };
    match called.arguments.map(|value| (value.as_bytes().len(), value.parse())) {
        Some((len, Ok(arguments))) => compare(&tool, name, headers, &arguments, len),
        Some((_, Err(_))) => Ok(()),
        None => compare(&tool, name, headers, &json!({}), 0),
    }
}

/// The tool that a request names, if its schema is known here.
enum CalledTool {
    Registered(Arc<RegisteredTool>),
    Provided(Arc<ListedSchema>),
}

impl CalledTool {
    /// A tool of a provider, unless the call goes to a mounted server.
    fn provided(context: &ActiveRequest, name: &str) -> Option<Self> {
        if context.snapshot.mount_of_name(Category::Tools, name).is_some() {
            return None;
        }
        context.snapshot.listed_tool(&context.info.principal(), name).map(Self::Provided)
    }

    fn mirrored(&self) -> &[HeaderParameter] {
        match self {
            Self::Registered(tool) => &tool.mirrored,
            Self::Provided(listed) => listed.mirrored(),
        }
    }

    /// Returns whether the schema refuses the arguments, unless that takes long to find out.
    fn refuses(&self, name: &str, arguments: &Value, text_len: usize) -> bool {
        match self {
            Self::Registered(tool) => !tool.input.is_costly(text_len) && tool.input.validate(arguments).is_err(),
            Self::Provided(listed) => !listed.is_costly(name, text_len) && listed.problem(name, arguments).is_some(),
        }
    }
}

/// The arguments are `text_len` bytes long.
fn compare(
    tool: &CalledTool,
    name: &str,
    headers: &MirroredParameters,
    arguments: &Value,
    text_len: usize,
) -> Result<(), RpcError> {
    for parameter in tool.mirrored() {
        let argument = match parameter.text(arguments) {
            Ok(argument) => argument,
            // The schema reports invalid values. It may accept values that no header can carry,
            // such as a huge integer (H26-28).
            Err(_) if tool.refuses(name, arguments, text_len) => continue,
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
