//! Transports of a program's own: the protocol class, and the functions for the core.

use std::fmt::Write as _;

use super::{docstring, given};
use crate::generate::surface::{ChannelFunction, Surface};

const DOC: &str = "A transport of a program's own: any object with these methods is a target of `Client`. Messages are texts of \
    JSON without line breaks. `send` and `receive` run at the same time, one call of each. A method that raises ends \
    the connection: its calls fail with `TransportError`, and the next call connects again.";

pub(super) fn render(surface: &Surface) -> String {
    let mut text = format!(
        "from collections.abc import Awaitable, Callable, Mapping\nfrom typing import Any, Protocol, runtime_checkable\n\n\
         from ...errors import InvalidArgumentError, ProtocolError\nfrom ..server_requests import ServerRequestHandler\n\nFunction = Callable[[Mapping[str, Any]], Awaitable[Mapping[str, Any]]]\n\n\n\
         @runtime_checkable\nclass Transport(Protocol):\n{}",
        docstring("    ", DOC)
    );
    for row in &surface.channel {
        let params: String = row.params.iter().map(|field| format!(", {}: {}", field.name, given(&field.ty))).collect();
        let result =
            row.result.first().map_or_else(|| "None".to_owned(), |field| format!("{} | None", given(&field.ty)));
        let doc = docstring("        ", &row.doc);
        _ = write!(text, "\n    async def {}(self{params}) -> {result}:\n{doc}        ...\n", row.method());
    }
    text += "\n\ndef transport_handlers(transport: Transport, *, blocking: bool) -> dict[str, ServerRequestHandler]:\n    \"\"\"The \
             functions of a transport, by the names of their calls.\n\n    Raises:\n        InvalidArgumentError: in a blocking \
             client, whose thread waits in its own calls.\n    \"\"\"\n    if blocking:\n        raise \
             InvalidArgumentError(\"the methods of a transport are asynchronous: use Client\")\n";
    text += &surface.channel.iter().map(function).collect::<String>();
    let named: String = surface.channel.iter().map(|row| format!("\"{}\": {}, ", row.name, row.method())).collect();
    _ = write!(
        text,
        "\n    functions = {{{}}}\n    return {{name: ServerRequestHandler(name, _with_reason(function), dict) for name, function in functions.items()}}\n",
        named.trim_end_matches(", ")
    );
    text += "\n\ndef _with_reason(function: Function) -> Function:\n    \"\"\"The function, whose error is that of the \
             connection.\"\"\"\n\n    async def call(given: Mapping[str, Any]) -> Mapping[str, Any]:\n        try:\n            \
             return await function(given)\n        except Exception as error:\n            raise \
             ProtocolError(f\"{type(error).__name__}: {error}\") from error\n\n    return call\n";
    text
}

fn function(row: &ChannelFunction) -> String {
    let method = row.method();
    let arguments: Vec<_> = row.params.iter().map(|field| format!("given[\"{}\"]", field.json)).collect();
    let call = format!("await transport.{method}({})", arguments.join(", "));
    let (given, body) = match row.result.first() {
        Some(field) => ("_", format!("        return {{\"{}\": {call}}}\n", field.json)),
        None => ("_", format!("        {call}\n        return {{}}\n")),
    };
    let given = if arguments.is_empty() { given } else { "given" };
    format!("\n    async def {method}({given}: Mapping[str, Any]) -> Mapping[str, Any]:\n{body}")
}
