//! Transports of a program's own: the interface, and the functions for the core.

use std::fmt::Write as _;

use super::comment;
use crate::generate::surface::Surface;

const DOC: &str = "A transport of a program's own: any object with these methods is a target of `Client.connect`. Messages are \
    texts of JSON without line breaks. `send` and `receive` run at the same time, one call of each. A method that \
    throws ends the connection: its calls fail with `TransportError`, and the next call connects again.";

pub(super) fn render(surface: &Surface) -> String {
    let mut text = String::from("import { ProtocolError } from \"./errors.js\";\n\n");
    text += &comment("", DOC);
    text += "export interface Transport {\n";
    let mut calls = String::new();
    for row in &surface.channel {
        let method = row.method();
        let params: Vec<_> = row.params.iter().map(|field| format!("{}: string", field.json)).collect();
        let result = if row.result.is_empty() { "void" } else { "string | null | undefined" };
        text += &comment("  ", &row.doc);
        _ = writeln!(text, "  {method}({}): {result} | Promise<{result}>;", params.join(", "));
        let arguments: Vec<_> = row.params.iter().map(|field| format!("given.{}", field.json)).collect();
        let call = format!("await transport.{method}({})", arguments.join(", "));
        let given = if arguments.is_empty() { "" } else { "given" };
        _ = match row.result.first() {
            Some(field) => {
                writeln!(calls, "    {}: withReason(async ({given}) => ({{ {}: {call} }})),", row.name, field.json)
            }
            None => writeln!(calls, "    {}: withReason(async ({given}) => {{\n      {call};\n    }}),", row.name),
        };
    }
    let names: Vec<_> = surface.channel.iter().map(|row| format!("\"{}\"", row.method())).collect();
    _ = write!(
        text,
        "}}\n\n/** True for a transport of a program's own. */\nexport function isTransport(target: unknown): target is \
         Transport {{\n  return [{}].every((method) => typeof (target as Record<string, unknown> | \
         null)?.[method] === \"function\");\n}}\n\ntype TransportFunction = (given: {{ message: string }}) => Promise<unknown>;\n\n/** The functions of a \
         transport, by the names of their calls. */\nexport function transportFunctions(transport: Transport): \
         Record<string, TransportFunction> {{\n  return {{\n{calls}  }};\n}}\n\n/** The function, whose error is that of the connection. */\nfunction withReason(call: \
         TransportFunction): TransportFunction {{\n  return async (given) => {{\n    try {{\n      return await \
         call(given);\n    }} catch (error) {{\n      throw new ProtocolError(String(error), {{ cause: error }});\n    }}\n  }};\n}}\n",
        names.join(", ")
    );
    text
}
