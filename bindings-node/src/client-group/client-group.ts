// The client of many servers.
import type { ConnectOptions } from "../client.js";
import { ServersOf } from "../connection.js";
import { GroupOperations } from "./generated/group-operations.js";
import type { GroupTarget } from "./targets.js";

/**
 * Many servers behind one client. A group has all methods of {@link Client}, and routes each
 * request to the right server.
 *
 * Tools and prompts are named `server__name`. These names meet the limits of model APIs (their
 * characters, and a length of 64): a name that doesn't fit is shortened and ends with a hash of the
 * full name. Resources are `server+uri`. All names are the same in every run.
 *
 * The group connects to all servers concurrently. If a connection fails, the other servers stay
 * usable: {@link ClientGroup.servers} reports the error, and the next request to the failed server
 * reconnects. Changes of a server arrive as changes of the group. Handlers such as `onElicit`
 * answer the requests of all servers; the `serverName` of a request names the server that asks.
 */
export class ClientGroup extends GroupOperations {
  /**
   * Connects to all servers. The options apply to each connection.
   *
   * @throws {@link InvalidArgumentError} if the configuration or an option is invalid. A server
   *   that cannot be reached is reported in {@link ClientGroup.servers}.
   */
  static connect(servers: GroupTarget, options: ConnectOptions = {}): Promise<ClientGroup> {
    return ClientGroup.open((connection) => new ClientGroup(connection, options), new ServersOf(servers), options);
  }
}
