//! Parameters mirrored in HTTP headers. Intermediaries that route by a header must see what the
//! tool gets (H26-36, H26-37).

use super::active_request::ActiveRequest;
use crate::{
    engine::MirroredParameters,
    protocol::{
        RpcError,
        call_params::CallParams,
        members::MemberValue,
        method,
        schema::{HeaderParameter, HeaderType},
    },
    server::registry::{Category, ListedSchema, RegisteredTool},
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
    let name = &*called.name;
    if let Some(RegisteredTool { mirrored, input, .. }) = context.snapshot.tool(name).as_deref() {
        return compare(mirrored, headers, called.arguments, |arguments, len| {
            !input.is_costly(len) && input.validate(arguments).is_err()
        });
    }
    // A tool of a provider, unless the call goes to a mounted server.
    if context.snapshot.mount_of_name(Category::Tools, name).is_some() {
        return Ok(());
    }
    let Some(listed) = context.snapshot.listed_tool(&context.info.principal(), name) else { return Ok(()) };
    compare_listed(&listed, headers, &called)
}

/// Does the same for a tool of a remote server, which is only known once the server has listed it.
pub(super) fn check_remote(context: &ActiveRequest, listed: &ListedSchema) -> Result<(), RpcError> {
    match (&context.info.mirrored, context.request_params().map(CallParams::read)) {
        (Some(headers), Some(Ok(called))) => compare_listed(listed, headers, &called),
        _ => Ok(()),
    }
}

fn compare_listed(
    listed: &ListedSchema,
    headers: &MirroredParameters,
    called: &CallParams<'_>,
) -> Result<(), RpcError> {
    compare(listed.mirrored(), headers, called.arguments, |arguments, len| {
        !listed.is_costly(&called.name, len) && listed.problem(&called.name, arguments).is_some()
    })
}

/// `refuses` returns whether the schema refuses arguments of that many bytes, unless that takes
/// long to find out.
fn compare(
    mirrored: &[HeaderParameter],
    headers: &MirroredParameters,
    arguments: Option<MemberValue<'_>>,
    refuses: impl Fn(&Value, usize) -> bool,
) -> Result<(), RpcError> {
    if mirrored.is_empty() {
        return Ok(());
    }
    let len = arguments.map_or(0, |arguments| arguments.as_bytes().len());
    let Ok(arguments) = arguments.map_or_else(|| Ok(json!({})), MemberValue::parse) else { return Ok(()) };
    for parameter in mirrored {
        let argument = match parameter.text(&arguments) {
            Ok(argument) => argument,
            // The schema reports invalid values. It may accept values that no header can carry,
            // such as a huge integer (H26-28).
            Err(_) if refuses(&arguments, len) => continue,
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
