// The command line shared by the peers in Node.

import { readFileSync } from 'node:fs';

/** Serves HTTP and prints the address once it accepts connections. */
export function listen(server, port, path = '/mcp') {
  server.listen(Number(port), '127.0.0.1', () => console.log(`listening http://127.0.0.1:${server.address().port}${path}`));
}

/** The events of one transport, for clients that resume a stream. */
export class Events {
  #events = [];

  async storeEvent(streamId, message) {
    this.#events.push({ streamId, message });
    return String(this.#events.length);
  }

  async replayEventsAfter(lastEventId, { send }) {
    const start = Number(lastEventId);
    const { streamId } = this.#events[start - 1];
    for (let index = start; index < this.#events.length; ++index) {
      const event = this.#events[index];
      if (event.streamId === streamId) await send(String(index + 1), event.message);
    }
    return streamId;
  }
}

/** Verifies the access token of a file (../../matrix/authorization.json), as the SDKs do. */
export function verifier(file) {
  const { token: known, auth } = JSON.parse(readFileSync(file, 'utf8'));
  return {
    async verifyAccessToken(token) {
      if (token !== known) throw new Error('an unknown token');
      const resource = new URL(auth.resource);
      return { token, clientId: 'ada', scopes: auth.requiredScopes, expiresAt: 4_102_444_800, resource };
    },
  };
}

export function usage() {
  console.error('usage: server stdio | server http PORT | server sse PORT | client --play FILE URL | client --play FILE --stdio COMMAND...');
  process.exit(2);
}
