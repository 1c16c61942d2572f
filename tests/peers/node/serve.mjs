// The command line that the peers in Node have in common.

/** Serves HTTP and prints the place, once connections are accepted. */
export function listen(server, port) {
  server.listen(Number(port), '127.0.0.1', () => console.log(`listening http://127.0.0.1:${server.address().port}/mcp`));
}

export function usage() {
  console.error('usage: server stdio | server http PORT | client --play FILE URL | client --play FILE --stdio COMMAND...');
  process.exit(2);
}
