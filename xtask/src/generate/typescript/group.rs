//! The client of many servers, and the servers of a group.

use std::fmt::Write as _;

use super::{comment, literals, tagged, type_of};
use crate::generate::surface::{Field, GroupOperation, Presence, Surface, Type};
use crate::generate::text::camel;

/// The model of a server of a group.
const SERVER: &str = "GroupServer";

/// The servers that a group is opened with.
pub(super) fn servers() -> String {
    "
/** The servers that a group is opened with. */
export class ServersOf {
  readonly servers: unknown;

  constructor(servers: unknown) {
    this.servers = servers;
  }
}
"
    .into()
}

const HEAD: &str = r#"import { ConnectedClient, type ConnectOptions } from "../../client.js";
import type { ChildProcess, RemoteServer } from "../../connection.js";
import { errorOf } from "../../errors.js";
import type { RequestOptions } from "../../requests.js";
import type { TrunklineError } from "../../generated/errors.js";
import { ServersOf } from "../../generated/group-servers.js";
import type { GroupServerState, Implementation } from "../../generated/model.js";

/**
 * A server of a group: a URL, a program (an array with its arguments), an entry of `mcpServers`, or
 * a connected client. The group shares the client, which keeps its own handlers and options and is
 * not closed with it.
 */
export type ServerTarget = string | URL | readonly string[] | ChildProcess | RemoteServer | ConnectedClient;

/**
 * The servers of a group: a configuration with `mcpServers`, the path of its file, or servers by
 * name.
 */
export type GroupTarget = string | { mcpServers: Readonly<Record<string, object>> } | Readonly<Record<string, ServerTarget>>;
"#;

const CLASS: &str = r#"
/**
 * Many servers behind one client. It has all methods of {@link Client}, and each request goes to
 * the server that it is for.
 *
 * Tools and prompts are named `server__name`, of the signs and within the 64 that the interfaces of
 * models take: a name that does not fit is shortened, and ends with a hash of itself. Resources are
 * `server+uri`. These names are the same in every run.
 *
 * The servers are connected to at once. One that fails does not take the others along:
 * {@link ClientGroup.servers} has its error, and the next request to it tries again. Changes of one
 * server come as changes of the group, and handlers such as `onElicit` answer all servers: the
 * `serverName` of a request says which one asks.
 */
export class ClientGroup extends ConnectedClient {
  /**
   * Connects to all servers. The options are those of each connection.
   *
   * @throws {@link InvalidArgumentError} for a configuration or an option that is invalid. A server
   *   that cannot be connected to is in {@link ClientGroup.servers}.
   */
  static connect(servers: GroupTarget, options: ConnectOptions = {}): Promise<ClientGroup> {
    return ClientGroup.open((connection, handlers) => new ClientGroup(connection, handlers, options), new ServersOf(servers), options);
  }
"#;

/// The class of a group.
pub(super) fn client(surface: &Surface) -> String {
    let mut text = HEAD.to_owned();
    if let Some(server) = surface.object(SERVER) {
        text += &format!("\n{}export interface {SERVER} {{\n", comment("", &server.doc));
        for field in &server.fields {
            let mark = if field.presence == Presence::Optional { "?" } else { "" };
            text += &comment("  ", &field.doc);
            _ = writeln!(text, "  {}{mark}: {};", field.json, member(field));
        }
        text += "}\n";
    }
    text += CLASS;
    text += &surface.group.iter().map(method).collect::<String>();
    text += "}\n";
    text + "
/** A server with its error as the core gives it. */
type GivenServer = Omit<GroupServer, \"error\"> & { error?: object };

function serverOf({ error, ...server }: GivenServer): GroupServer {
  return error ? { ...server, error: errorOf(JSON.stringify(error)) } : server;
}
"
}

fn member(field: &Field) -> String {
    match &field.ty {
        Type::Json => "TrunklineError".into(),
        Type::Model(name) => name.clone(),
        Type::Values(values) => literals(values),
        ty => type_of(ty),
    }
}

fn method(GroupOperation { name, doc, params, result }: &GroupOperation) -> String {
    let mut docs = vec![doc.clone()];
    let (mut parameters, mut members) = (String::new(), Vec::new());
    for field in params {
        docs.push(format!("@param {} {}", field.json, field.doc));
        let ty = if field.ty == Type::Json { "ServerTarget".into() } else { type_of(&field.ty) };
        _ = write!(parameters, "{}: {ty}, ", field.json);
        members.push(field.json.clone());
    }
    docs.push(super::FAILURE.to_owned());
    let params = if members.is_empty() { "undefined".to_owned() } else { format!("{{ {} }}", members.join(", ")) };
    let request = format!("await this.request(\"{name}\", {params}, options)");
    let (returned, body) = match result {
        Some(_) => (
            "GroupServer[]",
            format!(
                "const {{ servers }} = ({request}) as {{ servers: GivenServer[] }};\n    return servers.map(serverOf);"
            ),
        ),
        None => ("void", format!("{request};")),
    };
    format!(
        "\n{}  async {}({parameters}options: RequestOptions = {{}}): Promise<{returned}> {{\n    {body}\n  }}\n",
        tagged("  ", &docs),
        camel(name)
    )
}
