/* Spans and trace contexts. A part of suite.c. */

typedef struct {
  char name[60], kind[8], parent[60], error[40], ended_as[60], rounds[2][40];
  int number, entered, ended;
  bool inside, unsent;
} test_span;

static test_span test_spans[16];
static int span_count;
static test_span *current_span;
/* The trace context of the opening that a server has answered. */
static char opened_within[60];

static void text_at(trunkline_str json, const char *pointer, char *place, size_t size) {
  trunkline_text *text = NULL;
  if (trunkline_json_get_text(json, trunkline_str_of(pointer), &text) == TRUNKLINE_OK)
    snprintf(place, size, "%s", trunkline_text_str(text).data);
  trunkline_text_free(text);
}

static void traceparent_of(const test_span *span, char *place, size_t size) {
  snprintf(place, size, "00-0af7651916cd43dd8448eb211c80319c-%016x-01", (unsigned)span->number);
}

static void *begin_span(const trunkline_str *record, trunkline_trace_context *context, void *user_data) {
  test_span *span = &test_spans[span_count];
  CHECK(span_count < 16 && strcmp((const char *)user_data, "data") == 0);
  span->number = ++span_count;
  text_at(*record, "/name", span->name, sizeof span->name);
  text_at(*record, "/kind", span->kind, sizeof span->kind);
  text_at(*record, "/context/traceparent", span->parent, sizeof span->parent);
  CHECK((context != NULL) == (strcmp(span->kind, "client") == 0));
  if (context) {
    char traceparent[60];
    traceparent_of(span, traceparent, sizeof traceparent);
    CHECK(trunkline_trace_context_set(context, S("traceparent"), trunkline_str_of(traceparent)) == TRUNKLINE_OK);
    CHECK(trunkline_trace_context_set(context, S("other"), S("is left out")) == TRUNKLINE_OK);
  }
  return span;
}

static void scope_span(void *span, bool entered, void *user_data) {
  (void)user_data;
  if (entered) ((test_span *)span)->entered++;
  current_span = entered ? (test_span *)span : NULL;
}

static void end_span(void *pointer, const trunkline_str *record, void *user_data) {
  test_span *span = (test_span *)pointer;
  char metric[60] = "", tool[40] = "";
  (void)user_data;
  if (span && same(*record, "{}")) {
    span->ended++;
    span->unsent = true;
    return;
  }
  text_at(*record, "/metric/name", metric, sizeof metric);
  if (!span) {
    /* Requests that the library answers itself, and sessions. */
    char method[40] = "";
    CHECK(strstr(metric, ".duration") != NULL);
    text_at(*record, "/name", method, sizeof method);
    if (strcmp(method, "initialize") == 0 || strcmp(method, "server/discover") == 0)
      text_at(*record, "/context/traceparent", opened_within, sizeof opened_within);
    return;
  }
  span->ended++;
  text_at(*record, "/name", span->ended_as, sizeof span->ended_as);
  text_at(*record, "/requests/0/attributes/jsonrpc.request.id", span->rounds[0], sizeof span->rounds[0]);
  text_at(*record, "/requests/1/attributes/jsonrpc.request.id", span->rounds[1], sizeof span->rounds[1]);
  CHECK(strcmp(metric, strcmp(span->kind, "client") == 0 ? "mcp.client.operation.duration" : "mcp.server.operation.duration") == 0);
  text_at(*record, "/attributes/error.type", span->error, sizeof span->error);
  text_at(*record, "/metric/attributes/gen_ai.tool.name", tool, sizeof tool);
  if (strncmp(span->name, "tools/call ", 11) == 0) CHECK(strcmp(tool, span->name + 11) == 0);
}

static void traced(trunkline_call *call, void *user_data) {
  trunkline_text *traceparent = NULL;
  (void)user_data;
  if (current_span) current_span->inside = true;
  if (trunkline_call_fact(call, S("/meta/traceparent"), &traceparent) == TRUNKLINE_OK)
    CHECK(trunkline_call_return_text(call, trunkline_text_str(traceparent)) == TRUNKLINE_OK);
  else
    CHECK(trunkline_call_return_text(call, S("none")) == TRUNKLINE_OK);
  trunkline_text_free(traceparent);
}

static void fails_traced(trunkline_call *call, void *user_data) {
  (void)user_data;
  CHECK(trunkline_call_fail_tool(call, S("no")) == TRUNKLINE_OK);
}

/* The load of a server: sessions, running calls. */
static void check_load(trunkline_server *server, int64_t sessions, int64_t running) {
  trunkline_text *json = NULL;
  int64_t open = -1, runs = -1, waits = -1, errors = -1;
  OK(trunkline_port_measurements(trunkline_server_port(server), &json, &error));
  check_text(json, "/measurements/0/name", "trunkline.server.sessions");
  check_text(json, "/measurements/1/name", "trunkline.server.running_calls");
  check_text(json, "/measurements/1/unit", "{call}");
  CHECK(trunkline_json_get_int64(trunkline_text_str(json), S("/measurements/0/value"), &open) == TRUNKLINE_OK);
  CHECK(trunkline_json_get_int64(trunkline_text_str(json), S("/measurements/1/value"), &runs) == TRUNKLINE_OK);
  CHECK(trunkline_json_get_int64(trunkline_text_str(json), S("/measurements/2/value"), &waits) == TRUNKLINE_OK);
  CHECK(trunkline_json_get_int64(trunkline_text_str(json), S("/measurements/3/value"), &errors) == TRUNKLINE_OK);
  CHECK(open == sessions && runs == running && waits == 0 && errors == 0);
  trunkline_text_free(json);
}

/* Looks at the load while it runs. */
static void measures(trunkline_call *call, void *user_data) {
  trunkline_text *revision = NULL;
  CHECK(trunkline_call_fact(call, S("/revision"), &revision) == TRUNKLINE_OK);
  check_load((trunkline_server *)user_data, same(trunkline_text_str(revision), "\"2025-11-25\""), 1);
  trunkline_text_free(revision);
  CHECK(trunkline_call_return_text(call, S("measured")) == TRUNKLINE_OK);
}

static test_span *span_named(const char *name, const char *kind) {
  int index;
  for (index = 0; index < span_count; ++index)
    if (strcmp(test_spans[index].name, name) == 0 && strcmp(test_spans[index].kind, kind) == 0) return &test_spans[index];
  fprintf(stderr, "there is no span %s of the kind %s\n", name, kind);
  exit(1);
}

/* Runs callbacks until a span has ended. */
static void until_ended(trunkline_server *server, const test_span *span) {
  int looks;
  for (looks = 0; looks < 1000 && !span->ended; ++looks)
    OK(trunkline_dispatch(trunkline_server_port(server), 20, NULL, &error));
  CHECK(span->ended == 1);
}

/* RPC-38: the opening of a connection and a notification have spans, and their messages carry the
   trace contexts of these. */
static void observed_opening(trunkline_server *server, trunkline_client *client, const char *method) {
  test_span *opening = &test_spans[0], *noted;
  char traceparent[60];
  int looks;
  until_ended(server, opening);
  CHECK(strcmp(opening->kind, "client") == 0 && strcmp(opening->ended_as, method) == 0 && !*opening->error);
  traceparent_of(opening, traceparent, sizeof traceparent);
  for (looks = 0; looks < 1000 && !*opened_within; ++looks)
    OK(trunkline_dispatch(trunkline_server_port(server), 20, NULL, &error));
  CHECK(strcmp(opened_within, traceparent) == 0);
  OK(trunkline_client_notify(client, S("com.acme/changed"), S("{\"to\": 7}"), &error));
  noted = span_named("com.acme/changed", "client");
  until_ended(server, noted);
  CHECK(strcmp(noted->ended_as, "com.acme/changed") == 0 && !*noted->error && !*noted->rounds[0]);
  FAILS(TRUNKLINE_INVALID_ARGUMENT, "has no such method",
        trunkline_client_notify(client, S("notifications/message"), NOTHING, &error));
  noted = span_named("notifications/message", "client");
  until_ended(server, noted);
  CHECK(*noted->error);
}

/* Each round of a call is in the record of its end. */
static void observed_rounds(trunkline_server *server) {
  trunkline_client_options *options = NULL;
  trunkline_client *client = NULL;
  trunkline_text *result = NULL;
  test_span *call;
  OK(trunkline_server_add_tool(server, S(TRUNKLINE_JSON({"name": "greet"})), needs_input, elicit_form, NULL, &error));
  OK(trunkline_client_options_new(&options, &error));
  CHECK(trunkline_client_options_set_revision(options, S("2026-07-28")) == TRUNKLINE_OK);
  CHECK(trunkline_client_options_on_elicit(options, answer_with, (void *)(uintptr_t) "Ann", NULL) == TRUNKLINE_OK);
  OK(trunkline_client_connect_memory(server, options, &client, &error));
  OK(trunkline_client_call_tool(client, S("greet"), NOTHING, NULL, &result, &error));
  call = span_named("tools/call greet", "client");
  CHECK(call->ended == 1 && *call->rounds[0] && *call->rounds[1] && strcmp(call->rounds[0], call->rounds[1]) != 0);
  trunkline_text_free(result);
  trunkline_client_free(client);
  trunkline_client_options_free(options);
}

/* RPC-38: the context of the sender's span is the parent of the receiver's, and the handler runs
   within it. */
static void telemetry(void) {
  static const char *const revisions[] = {"2025-11-25", "2026-07-28"};
  static const char *const other_method[] = {"subscriptions/listen", "resources/subscribe"};
  static char data[] = "data";
  size_t index;
  for (index = 0; index < 2; ++index) {
    trunkline_server *server = new_server(), *off = NULL;
    trunkline_server_options *options = NULL;
    trunkline_client *client = NULL;
    trunkline_text *result = NULL;
    test_span *sent, *served;
    char traceparent[60], quoted[64];
    int freed = 0;
    trunkline_text *none = NULL;
    span_count = 0;
    memset(test_spans, 0, sizeof test_spans);
    CHECK(trunkline_port_measurements(trunkline_server_port(server), &none, NULL) == TRUNKLINE_NOT_FOUND);
    OK(trunkline_server_add_tool(server, S(TRUNKLINE_JSON({"name": "measures"})), measures, server, NULL, &error));
    OK(trunkline_server_add_tool(server, S(TRUNKLINE_JSON({"name": "traced"})), traced, NULL, NULL, &error));
    OK(trunkline_server_add_tool(server, S(TRUNKLINE_JSON({"name": "failing"})), fails_traced, NULL, NULL, &error));
    CHECK(trunkline_port_on_telemetry(trunkline_server_port(server), NULL, scope_span, end_span, &freed, count_up) == TRUNKLINE_NULL);
    CHECK(freed == 1);
    CHECK(trunkline_port_on_telemetry(trunkline_server_port(server), begin_span, scope_span, end_span, data, NULL) == TRUNKLINE_OK);
    CHECK(trunkline_port_on_telemetry(trunkline_server_port(server), begin_span, scope_span, end_span, &freed, count_up) ==
          TRUNKLINE_INVALID_ARGUMENT);
    CHECK(freed == 2);
    *opened_within = '\0';
    client = in_memory_speaking(server, revisions[index]);
    observed_opening(server, client, index ? "server/discover" : "initialize");
    OK(trunkline_client_call_tool(client, S("traced"), NOTHING, NULL, &result, &error));
    OK(trunkline_dispatch(trunkline_server_port(server), 0, NULL, &error));
    sent = span_named("tools/call traced", "client");
    served = span_named("tools/call traced", "server");
    traceparent_of(sent, traceparent, sizeof traceparent);
    snprintf(quoted, sizeof quoted, "\"%s\"", traceparent);
    check_text(result, "/content/0/text", quoted);
    CHECK(strcmp(served->parent, traceparent) == 0);
    CHECK(served->entered == 1 && served->inside && !current_span);
    CHECK(sent->ended == 1 && served->ended == 1 && !*sent->error && !*served->error);
    trunkline_text_free(result), result = NULL;

    OK(trunkline_client_call_tool(client, S("failing"), NOTHING, NULL, &result, &error));
    OK(trunkline_dispatch(trunkline_server_port(server), 0, NULL, &error));
    CHECK(strcmp(span_named("tools/call failing", "client")->error, "tool_error") == 0);
    CHECK(strcmp(span_named("tools/call failing", "server")->error, "tool_error") == 0);
    trunkline_text_free(result), result = NULL;

    /* A method of the other era. */
    FAILS(TRUNKLINE_INVALID_ARGUMENT, "has no such method",
          trunkline_client_request(client, trunkline_str_of(other_method[index]), NOTHING, NULL, &result, &error));
    CHECK(span_named(other_method[index], "client")->unsent && span_named(other_method[index], "client")->ended == 1);
    memset(span_named(other_method[index], "client"), 0, sizeof *test_spans);
    FAILS(TRUNKLINE_INVALID_ARGUMENT, "has no such method",
          trunkline_client_start(client, trunkline_str_of(other_method[index]), NOTHING, NULL, NULL, NULL, NULL, NULL, &error));
    CHECK(span_named(other_method[index], "client")->unsent && span_named(other_method[index], "client")->ended == 1);

    OK(trunkline_client_call_tool(client, S("measures"), NOTHING, NULL, &result, &error));
    check_text(result, "/content/0/text", "measured");
    trunkline_text_free(result), result = NULL;
    check_load(server, index == 0, 0);
    OK(trunkline_client_start(client, S(TRUNKLINE_METHOD_PING), NOTHING, NULL, NULL, NULL, NULL, NULL, &error));
    trunkline_client_free(client);
    CHECK(span_named("ping", "client")->unsent && span_named("ping", "client")->ended == 1);
    OK(trunkline_dispatch(trunkline_server_port(server), 0, NULL, &error));
    span_count = 0;
    memset(test_spans, 0, sizeof test_spans);
    if (index) observed_rounds(server);
    OK(trunkline_dispatch(trunkline_server_port(server), 0, NULL, &error));

    /* A server on the same port that wants none. */
    span_count = 0;
    memset(test_spans, 0, sizeof test_spans);
    OK(trunkline_server_options_new(&options, &error));
    CHECK(trunkline_server_options_set_port(options, trunkline_server_port(server)) == TRUNKLINE_OK);
    CHECK(trunkline_server_options_set_telemetry(options, false) == TRUNKLINE_OK);
    OK(trunkline_server_new_with(S("off"), S("1"), options, &off, &error));
    OK(trunkline_server_add_tool(off, S(TRUNKLINE_JSON({"name": "traced"})), traced, NULL, NULL, &error));
    client = in_memory_speaking(off, revisions[index]);
    OK(trunkline_client_call_tool(client, S("traced"), NOTHING, NULL, &result, &error));
    /* The opening and the call. */
    CHECK(span_count == 2 && strcmp(test_spans[0].kind, "client") == 0 && strcmp(test_spans[1].kind, "client") == 0);
    trunkline_text_free(result);
    trunkline_client_free(client);
    trunkline_server_options_free(options);
    trunkline_server_free(off);
    trunkline_server_free(server);
  }
}
