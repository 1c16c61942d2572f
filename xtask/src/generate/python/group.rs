//! The client of many servers, in both colours, and the servers of a group.

use std::fmt::Write as _;

use super::{PROSE, docstring, given, to_sync};
use crate::generate::surface::{Field, GroupOperation, Presence, Surface, Type};
use crate::generate::text::wrapped;

/// The model of a server of a group.
const SERVER: &str = "GroupServer";

/// The types that both colours use.
pub(super) fn servers(surface: &Surface) -> String {
    let Some(server) = surface.object(SERVER) else { return String::new() };
    let mut text = String::from(
        "import os\nfrom collections.abc import Callable, Mapping, Sequence\nfrom typing import Any, NamedTuple, Protocol, TypeAlias, cast\n\nfrom \
         ..._generated.models import GroupServerState, Implementation\nfrom ...errors import TrunklineError, from_object\nfrom \
         ...schema.jsonable import jsonable\n\n\nclass ShareableClient(Protocol):\n    \"\"\"A connected client of any kind.\"\"\"\n\n    def _shared(self) -> dict[str, int]: ...\n\n\nServerTarget: TypeAlias = str | Sequence[str | \
         os.PathLike[str]] | Mapping[str, Any] | ShareableClient\n\"\"\"A URL, the command of a server to start, an entry of \
         `mcpServers`, or a connected client,\nwhich the group shares.\n\"\"\"\nGroupTarget: TypeAlias = str | os.PathLike[str] | \
         Mapping[str, Any]\n\"\"\"A configuration with `mcpServers`, its file, or targets by name.\"\"\"\n\
         \n\nclass ServersOf:\n    \"\"\"The servers that a group is opened with.\"\"\"\n\n    def __init__(self, servers: \
         GroupTarget) -> None:\n        self._servers: Any = servers if isinstance(servers, Mapping) else jsonable(servers)\n\n    def json(self) -> Any:\n        \"\"\"The \
         servers as the core takes them: clients by their connections.\"\"\"\n        servers = self._servers\n        if \
         isinstance(servers, Mapping):\n            return {name: place(server) for name, server in \
         cast(\"Mapping[str, Any]\", servers).items()}\n        return servers\n\n    def __repr__(self) -> \
         str:\n        # Entries hold secrets.\n        json: Any = self._servers\n        return \
         repr([*(json.get(\"mcpServers\") or json.get(\"servers\") or json)] if hasattr(json, \"get\") else json)\n\n\n\
         def place(server: ServerTarget) -> Any:\n    \"\"\"A server as the core takes it: a client by its \
         connection.\"\"\"\n    shared: Callable[[], Any] | None = getattr(server, \"_shared\", None)\n    return \
         jsonable(server) if shared is None else shared()\n",
    );
    let _ = write!(text, "\n\nclass {SERVER}(NamedTuple):\n{}", docstring("    ", &server.doc));
    for field in &server.fields {
        let (ty, _) = member(field);
        let _ = write!(text, "\n    {}: {ty}\n{}", field.name, docstring("    ", &field.doc));
    }
    text += "\n\ndef _error(json: Any) -> TrunklineError | None:\n    error = json and from_object(json)\n    return error \
             if isinstance(error, TrunklineError) else None\n";
    let read: Vec<_> = server.fields.iter().map(|field| format!("{}={}", field.name, member(field).1)).collect();
    let _ = write!(
        text,
        "\n\ndef server_from_json(json: Any) -> {SERVER}:\n    \"\"\"A server as the core describes it.\"\"\"\n    return {SERVER}({})\n",
        read.join(", ")
    );
    text
}

/// The type of a member, and the expression that reads it.
fn member(field: &Field) -> (String, String) {
    let json = &field.json;
    match (&field.ty, field.presence) {
        (Type::Json, _) => ("TrunklineError | None".into(), format!("_error(json.get(\"{json}\"))")),
        (Type::Model(name), Presence::Optional) if name == "Implementation" => {
            let given = format!("json.get(\"{json}\")");
            (format!("{name} | None"), format!("{given} and {name}.from_json({given})"))
        }
        (ty, Presence::Optional) => (format!("{} | None", given(ty)), format!("json.get(\"{json}\")")),
        (ty, _) => (given(ty), format!("json[\"{json}\"]")),
    }
}

const HEAD: &str = r#"
from typing import Any

import trunkline

from ...client._generated.group_servers import (
    GroupServer,
    GroupTarget,
    ServersOf,
    ServerTarget,
    place,
    server_from_json,
)
from ...client.client import Client
from ...options import Unpack
from ...requests import read_answer, request_json


class ClientGroup(Client):
    """Many servers behind one client: `async with ClientGroup("mcp.json") as group: ...`.

    It has all methods of `Client`, and each request goes to the server that it is for. Tools
    and prompts are named `server__name`, of the signs and within the 64 that the interfaces of
    models take: a name that does not fit is shortened, and ends with a hash of itself.
    Resources are `server+uri`. These names are the same in every run.

    The servers are connected to at once. One that fails does not take the others along: `servers`
    has its error, and the next request to it tries again. Changes of one server come as changes of
    the group, and handlers such as `@group.on_elicit` answer all servers: `request.server_name`
    says which one asks.

    Args:
        servers: A configuration with `mcpServers` (a dict) or its file; or servers by name: each a
            URL, the command of a server to start (a list), or an entry of `mcpServers`.
        options: See `ConnectOptions`. They are those of each connection.
    """

    def __init__(self, servers: GroupTarget, **options: Unpack[trunkline.ConnectOptions]) -> None:
        target: Any = ServersOf(servers)
        super().__init__(target, **options)

    def __repr__(self) -> str:
        return f"ClientGroup({self._connection.target!r})"
"#;

/// The `async` class; the blocking one follows from it.
pub(super) fn client(surface: &Surface) -> String {
    let mut text = HEAD.trim_start().to_owned();
    text += &surface.group.iter().map(method).collect::<String>();
    text
}

/// The blocking class from the `async` one.
pub(super) fn sync_client(client: &str) -> String {
    let text = to_sync(client, "").replace("from ...client.client import", "from ...client.sync_client import");
    text.replace("ClientGroup", "SyncClientGroup")
}

fn method(row: &GroupOperation) -> String {
    let GroupOperation { name, doc, params, result } = row;
    let parameters: String = params.iter().map(|field| format!("{}: {}, ", field.name, parameter(field))).collect();
    let members: Vec<_> = params
        .iter()
        .map(|field| match field.ty {
            Type::Json => format!("\"{}\": place({})", field.json, field.name),
            _ => format!("\"{}\": {}", field.json, field.name),
        })
        .collect();
    let json = match members.is_empty() {
        true => format!("request_json(\"{name}\", timeout=timeout)"),
        false => format!("request_json(\"{name}\", {{{}}}, timeout)", members.join(", ")),
    };
    let (returned, body) = match result {
        Some(_) => (
            "list[GroupServer]",
            format!(
                "_, answer = await self._ask(None, {json})\n        return read_answer(\"{name}\", lambda answer: \
                 [server_from_json(server) for server in answer[\"servers\"]], answer)"
            ),
        ),
        None => ("None", format!("await self._ask(None, {json})")),
    };
    let mut arguments: Vec<(String, String)> =
        params.iter().map(|field| (field.name.clone(), field.doc.clone())).collect();
    arguments.push(("timeout".into(), "Seconds for it (default: those of connecting and closing).".into()));
    let mut listed = String::new();
    for (argument, doc) in arguments {
        for (index, line) in wrapped(&format!("{argument}: {doc}"), PROSE - 10).into_iter().enumerate() {
            let _ = writeln!(listed, "            {}{line}", if index == 0 { "" } else { "    " });
        }
    }
    let text = docstring("        ", doc);
    let head = text.trim_end().trim_end_matches("\"\"\"").trim_end();
    let no_connection = "            TrunklineError: It cannot be connected to.\n";
    let raises = match name.as_str() {
        "servers" => String::new(),
        "add_server" => format!(
            "\n        Raises:\n            InvalidArgumentError: There is a server of that name, or the target makes no \
             sense.\n{no_connection}"
        ),
        _ => format!(
            "\n        Raises:\n            InvalidArgumentError: There is no such server.\n{}",
            if name == "reconnect_server" { no_connection } else { "" }
        ),
    };
    format!(
        "\n    async def {name}(self, {parameters}*, timeout: float | None = None) -> {returned}:\n{head}\n\n        \
         Args:\n{listed}{raises}        \"\"\"\n        {body}\n"
    )
}

fn parameter(field: &Field) -> String {
    match field.ty {
        Type::Json => "ServerTarget".into(),
        _ => given(&field.ty),
    }
}
