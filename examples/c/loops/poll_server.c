/* A server in a poll loop.
 *
 * cc -std=c99 -o poll_server poll_server.c $(pkg-config --cflags --libs trunkline) */
#include <errno.h>
#include <poll.h>

#include "tick.h"

int main(void) {
  trunkline_server *server = NULL;
  trunkline_listener *listener = NULL;
  trunkline_result result = open_server(&server, &listener);
  if (!result) {
    trunkline_port *port = trunkline_server_port(server);
    /* The program's other descriptors go into the same array. */
    struct pollfd watched[1] = {{(int)trunkline_port_descriptor(port), POLLIN, 0}};
    while (!result && !trunkline_listener_closed(listener)) {
      int ready = poll(watched, 1, TICK_MS);
      if (ready < 0 && errno != EINTR) break;
      if (ready == 0) tick();
      if (ready > 0 && watched[0].revents) result = trunkline_dispatch(port, 0, NULL, NULL);
    }
  }
  close_server(server, listener);
  return result != TRUNKLINE_OK;
}
