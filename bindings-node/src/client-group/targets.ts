// The servers of a group.
import type { ConnectedClient } from "../client.js";
import type { ChildProcess, RemoteServer } from "../connection.js";

/**
 * A server of a group: a URL, a program (an array with its arguments), an entry of `mcpServers`, or
 * a connected client. The group shares the client's connection; the client keeps its own handlers
 * and options, and stays open when the group closes.
 */
export type ServerTarget = string | URL | readonly string[] | ChildProcess | RemoteServer | ConnectedClient;

/**
 * The servers of a group: a configuration with `mcpServers`, the path of its file, or servers by
 * name.
 */
export type GroupTarget = string | { mcpServers: Readonly<Record<string, object>> } | Readonly<Record<string, ServerTarget>>;
