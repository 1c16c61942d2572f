// The client of many servers.
import type { ConnectOptions } from "../client.js";
import { GroupOperations } from "./generated/group-operations.js";
import { ServersOf } from "./servers-of.js";
import type { GroupTarget } from "./targets.js";

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
export class ClientGroup extends GroupOperations {
  /**
   * Connects to all servers. The options are those of each connection.
   *
   * @throws {@link InvalidArgumentError} for a configuration or an option that is invalid. A server
   *   that cannot be connected to is in {@link ClientGroup.servers}.
   */
  static connect(servers: GroupTarget, options: ConnectOptions = {}): Promise<ClientGroup> {
    return ClientGroup.open((connection, handlers) => new ClientGroup(connection, handlers, options), new ServersOf(servers), options);
  }
}
