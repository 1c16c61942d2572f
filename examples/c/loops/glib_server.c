/* A server in a GLib main loop.
 *
 * cc -std=c99 -o glib_server glib_server.c $(pkg-config --cflags --libs trunkline glib-2.0) */
#include <glib-unix.h>
#include <glib.h>

#include "tick.h"

typedef struct {
  GMainLoop *loop;
  trunkline_port *port;
  trunkline_listener *listener;
} application;

/* The descriptor of the port is readable. */
static gboolean dispatch(gint descriptor, GIOCondition condition, gpointer user_data) {
  application *self = (application *)user_data;
  (void)descriptor, (void)condition;
  if (trunkline_dispatch(self->port, 0, NULL, NULL) || trunkline_listener_closed(self->listener)) g_main_loop_quit(self->loop);
  return G_SOURCE_CONTINUE;
}

static gboolean on_timer(gpointer user_data) {
  (void)user_data;
  tick();
  return G_SOURCE_CONTINUE;
}

int main(void) {
  trunkline_server *server = NULL;
  trunkline_listener *listener = NULL;
  trunkline_result result = open_server(&server, &listener);
  if (!result) {
    application self = {g_main_loop_new(NULL, FALSE), trunkline_server_port(server), listener};
    guint port = g_unix_fd_add((gint)trunkline_port_descriptor(self.port), G_IO_IN, dispatch, &self);
    guint timer = g_timeout_add(TICK_MS, on_timer, NULL);
    g_main_loop_run(self.loop);
    /* Before freeing the server, which owns this descriptor. */
    g_source_remove(port);
    g_source_remove(timer);
    g_main_loop_unref(self.loop);
  }
  close_server(server, listener);
  return result != TRUNKLINE_OK;
}
