// The target of a connection to many servers.

/** The servers of a group. */
export class ServersOf {
  readonly servers: unknown;

  constructor(servers: unknown) {
    this.servers = servers;
  }
}
