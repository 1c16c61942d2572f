/* The server of the loop examples: its tool is answered by the next tick of the loop's timer. */
#ifndef TICK_H
#define TICK_H

#include <stdio.h>

#include <trunkline.h>

#define TICK_MS 20
#define MAX_WAITING 16

static trunkline_call *waiting_calls[MAX_WAITING];
static size_t waiting_count;

static void wait_for_tick(trunkline_call *call, void *user_data) {
  (void)user_data;
  if (waiting_count == MAX_WAITING)
    trunkline_call_fail_tool(call, TRUNKLINE_STR("Too many calls wait for a tick already."));
  else
    waiting_calls[waiting_count++] = trunkline_call_retain(call);
}

/* The timer of the loop. */
static void tick(void) {
  while (waiting_count > 0) {
    trunkline_call *call = waiting_calls[--waiting_count];
    trunkline_call_return_text(call, TRUNKLINE_STR("tick"));
    trunkline_call_free(call);
  }
}

/* A server on stdin and stdout, which runs on the thread that dispatches its port. */
static trunkline_result open_server(trunkline_server **server, trunkline_listener **listener) {
  trunkline_error *error = NULL;
  trunkline_result result = trunkline_server_new(TRUNKLINE_STR("ticks"), TRUNKLINE_STR("1.0.0"), server, &error);
  if (!result)
    result = trunkline_server_add_tool(
        *server, TRUNKLINE_JSON_STR({"name": "tick", "description": "Wait for the next tick."}), wait_for_tick, NULL, NULL,
        &error);
  if (!result) result = trunkline_server_listen_stdio(*server, listener, &error);
  if (result) fprintf(stderr, "%s\n", trunkline_error_message(error));
  trunkline_error_free(error);
  return result;
}

static void close_server(trunkline_server *server, trunkline_listener *listener) {
  while (waiting_count > 0) trunkline_call_free(waiting_calls[--waiting_count]);
  trunkline_listener_free(listener);
  trunkline_server_free(server);
}

#endif
