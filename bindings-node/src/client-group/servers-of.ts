// The target of a connection to many servers.

/** The servers that a group is opened with. */
export class ServersOf {
  readonly servers: unknown;

  constructor(servers: unknown) {
    this.servers = servers;
  }
}
