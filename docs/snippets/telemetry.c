/* The spans of a call. With opentelemetry-cpp, `begin` starts a span, `scope` makes it the active
   one and `end` ends it; here they note its name. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <trunkline.h>

#define GREET TRUNKLINE_JSON_STR({"name": "greet", "description": "Greet someone.", "inputSchema": {"type": "object"}})

typedef struct {
  char lines[8][80];
  int count;
} span_names;

/* The span of a request, and the trace context of an outgoing one. */
static void *begin(const trunkline_str *record, trunkline_trace_context *context, void *user_data) {
  (void)record;
  if (context)
    trunkline_trace_context_set(context, TRUNKLINE_STR("traceparent"),
                                TRUNKLINE_STR("00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01"));
  return user_data;
}

/* Runs around the handler, on its thread. */
static void scope(void *span, bool entered, void *user_data) { (void)span, (void)entered, (void)user_data; }

static void end(void *span, const trunkline_str *record, void *user_data) {
  span_names *names = (span_names *)user_data;
  trunkline_text *kind = NULL, *name = NULL;
  (void)span;
  if (names->count < 8 && trunkline_json_get_text(*record, TRUNKLINE_STR("/kind"), &kind) == TRUNKLINE_OK &&
      trunkline_json_get_text(*record, TRUNKLINE_STR("/name"), &name) == TRUNKLINE_OK)
    snprintf(names->lines[names->count++], sizeof names->lines[0], "%s %s", trunkline_text_str(kind).data,
             trunkline_text_str(name).data);
  trunkline_text_free(kind);
  trunkline_text_free(name);
}

static int compare(const void *one, const void *other) { return strcmp((const char *)one, (const char *)other); }

static void greet(trunkline_call *call, void *user_data) {
  (void)user_data;
  trunkline_call_return_text(call, TRUNKLINE_STR("Hello!"));
}

int main(void) {
  static span_names names;
  trunkline_server *server = NULL;
  trunkline_client *client = NULL;
  trunkline_text *result = NULL;
  trunkline_error *error = NULL;
  int index;
  int failed = trunkline_server_new(TRUNKLINE_STR("greeter"), TRUNKLINE_STR("1.0.0"), &server, &error);
  if (!failed) failed = trunkline_port_on_telemetry(trunkline_server_port(server), begin, scope, end, &names, NULL);
  if (!failed) failed = trunkline_server_add_tool(server, GREET, greet, NULL, NULL, &error);
  if (!failed) failed = trunkline_client_connect_memory(server, NULL, &client, &error);
  if (!failed) failed = trunkline_client_call_tool(client, TRUNKLINE_STR("greet"), TRUNKLINE_STR("{}"), NULL, &result,
                                                   &error);
  /* The end of a served request arrives as an event. */
  while (!failed && names.count < 4) failed = trunkline_dispatch(trunkline_server_port(server), 1000, NULL, &error);
  if (failed) fprintf(stderr, "%s\n", error ? trunkline_error_message(error) : "telemetry is set already");
  qsort(names.lines, (size_t)names.count, sizeof names.lines[0], compare);
  for (index = 0; index < names.count; ++index) printf("%s\n", names.lines[index]);
  trunkline_error_free(error);
  trunkline_text_free(result);
  trunkline_client_free(client);
  trunkline_server_free(server);
  return failed != 0;
}
