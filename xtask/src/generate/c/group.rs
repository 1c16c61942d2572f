//! Clients of configured servers: of one, and of many at once, with the operations of a group.

use super::{blocking, comment};
use crate::generate::surface::{Caller, GroupOperation, Operation, Surface};

/// The function that connects to what a configuration names.
struct Connect {
    name: &'static str,
    argument: &'static str,
    /// The type of the transport on the waist, and its member.
    transport: (&'static str, &'static str),
    doc: &'static str,
}

const CONNECTS: [Connect; 2] = [
    Connect {
        name: "config",
        argument: "server",
        transport: ("config", "server"),
        doc: "Connects to a server of a configuration. `server` is an entry of `mcpServers` or a configuration with one server \
              as JSON, or the path of its file. `${NAME}` and `${NAME:-default}` stand for variables of the environment. \
              Blocks until connected.",
    },
    Connect {
        name: "group",
        argument: "servers",
        transport: ("group", "servers"),
        doc: "Connects to many servers at once, behind one client. `servers` is a configuration with `mcpServers` as JSON or the \
              path of its file, or a JSON object with the place of each server by its name: a URL, an array with a command, or an \
              entry of `mcpServers`. Blocks until each is connected to or has failed. One that fails does not take the others \
              along: `trunkline_client_servers` has its error, and the next request to it tries again.\n\nAll functions of \
              clients work: each request goes to the server that it is for. Tools and prompts are named `server__name`, of the \
              signs and within the 64 that the interfaces of models take; resources are `server+uri`. Changes of one server \
              come as changes of the group. The options are those of each connection, and the params of a request of a server \
              have `serverName`.",
    },
];

pub(super) fn render(surface: &Surface) -> String {
    let connects: String = CONNECTS.iter().map(connect).collect();
    let functions: String = surface
        .group
        .iter()
        .map(|row| operation(surface, row))
        .map(|operation| format!("\n{}", blocking(&operation)))
        .collect();
    format!(
        "//! Clients of configured servers: of one, and of many at once, with the operations of a group.\n\n\
         use serde_json::Value;\n\n\
         use crate::client::{{connect, trunkline_client}};\n\
         use crate::edge::failure::{{Failure, trunkline_error, trunkline_result}};\n\
         use crate::edge::ffi::{{guard, handle, out, text}};\n\
         use crate::edge::options::settled;\n\
         use crate::edge::text::{{Text, trunkline_str, trunkline_text}};\n\
         use crate::json::{{ParamsBuilder, parsed}};\n\
         use crate::options::trunkline_client_options;\n\
         use crate::requests::trunkline_request_options;\n\
         {connects}\n\
         /// A configuration: JSON, or the path of its file.\n\
         fn configuration(argument: &str, text: &str) -> Result<Value, Failure> {{\n\
         if text.trim_start().starts_with('{{') {{\nparsed(argument, text)\n}} else {{\nOk(text.into())\n}}\n}}\n\
         {functions}"
    )
}

fn connect(Connect { name, argument, transport: (kind, member), doc }: &Connect) -> String {
    let doc = format!("{doc} `options` may be NULL. `client` is yours: `trunkline_client_free`.");
    format!(
        "\n{}#[unsafe(no_mangle)]\n\
         pub unsafe extern \"C\" fn trunkline_client_connect_{name}(\n\
         {argument}: trunkline_str,\n\
         options: *const trunkline_client_options,\n\
         client: *mut *mut trunkline_client,\n\
         error: *mut *mut trunkline_error,\n\
         ) -> trunkline_result {{\n\
         guard(error, || {{\n\
         let ({argument}, options, client) = (configuration(\"{argument}\", text!({argument}))?, settled!(options), out!(client));\n\
         connect(options, None, |options| options.defaults().with(\"type\", \"{kind}\").with(\"{member}\", {argument}), client)\n\
         }})\n}}\n",
        comment(&doc, ""),
    )
}

/// An operation of a group as one of a client.
fn operation(surface: &Surface, row: &GroupOperation) -> Operation {
    let members = row.result.as_ref().and_then(|_| surface.object("GroupServer")).map(|server| {
        let members = server.fields.iter().map(|field| format!("- `{}`: {}", field.json, field.doc));
        format!(
            " The result has an array `servers` of objects with these members:\n\n{}\n\n",
            members.collect::<Vec<_>>().join("\n")
        )
    });
    Operation {
        name: row.name.clone(),
        doc: format!("{} For clients of `trunkline_client_connect_group`.{}", row.doc, members.unwrap_or_default()),
        caller: Caller::Client,
        method: row.name.clone(),
        params: row.params.clone(),
        fixed: serde_json::Map::new(),
        result: row.result.clone(),
        list: None,
        item: None,
        since: None,
        until: None,
        progress: false,
        input: false,
        kept: false,
    }
}
