/* A server in a libuv loop.
 *
 * cc -std=c99 -o uv_server uv_server.c $(pkg-config --cflags --libs trunkline libuv) */
#include <uv.h>

#include "tick.h"

typedef struct {
  uv_poll_t watched;
  uv_timer_t timer;
  trunkline_port *port;
  trunkline_listener *listener;
} application;

/* The descriptor of the port is readable. */
static void dispatch(uv_poll_t *watched, int status, int events) {
  application *self = (application *)watched->data;
  (void)events;
  if (status < 0 || trunkline_dispatch(self->port, 0, NULL, NULL) || trunkline_listener_closed(self->listener)) {
    /* The loop ends when it has no active handles. */
    uv_close((uv_handle_t *)&self->watched, NULL);
    uv_close((uv_handle_t *)&self->timer, NULL);
  }
}

static void on_timer(uv_timer_t *timer) {
  (void)timer;
  tick();
}

int main(void) {
  trunkline_server *server = NULL;
  application self;
  trunkline_result result;
  self.listener = NULL;
  result = open_server(&server, &self.listener);
  if (!result) {
    uv_loop_t *loop = uv_default_loop();
    self.port = trunkline_server_port(server);
    self.watched.data = &self;
    uv_poll_init(loop, &self.watched, (int)trunkline_port_descriptor(self.port));
    uv_poll_start(&self.watched, UV_READABLE, dispatch);
    uv_timer_init(loop, &self.timer);
    uv_timer_start(&self.timer, on_timer, TICK_MS, TICK_MS);
    uv_run(loop, UV_RUN_DEFAULT);
    uv_loop_close(loop);
  }
  close_server(server, self.listener);
  return result != TRUNKLINE_OK;
}
