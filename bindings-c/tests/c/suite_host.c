/* The host's side of a client: requests of its server, roots, subscriptions, tasks. A part of
   suite.c. */

#define FORM                                                                                                    \
  TRUNKLINE_JSON({"message": "Your name?",                                                                      \
                  "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}})

/* Asks its client for input and returns the answer. `user_data`: the method and the params. */
static void needs_input(trunkline_call *call, void *user_data) {
  const char *const *request = (const char *const *)user_data;
  trunkline_text *answer = NULL;
  char json[400];
  if (trunkline_call_fact(call, S("/inputResponses/it"), &answer) == TRUNKLINE_OK) {
    CHECK(trunkline_call_return_text(call, trunkline_text_str(answer)) == TRUNKLINE_OK);
    trunkline_text_free(answer);
    return;
  }
  snprintf(json, sizeof json, "{\"inputRequests\": {\"it\": {\"method\": \"%s\", \"params\": %s}}}", request[0], request[1]);
  OK(trunkline_call_require_input(call, trunkline_str_of(json), &error));
}

typedef struct {
  int calls, freed;
  const char *answer;
  bool fails;
} host_seen;

static void answer_server(trunkline_call *call, void *user_data) {
  trunkline_str params = trunkline_call_arguments(call);
  host_seen *seen = (host_seen *)user_data;
  ++seen->calls;
  CHECK(params.len > 0 && params.data[0] == '{');
  if (seen->fails)
    OK(trunkline_call_fail_protocol(call, -1, S("the user refused"), NOTHING, &error));
  else
    OK(trunkline_call_return_result(call, trunkline_str_of(seen->answer), &error));
}

static void free_host_seen(void *user_data) { ++((host_seen *)user_data)->freed; }

static const char *elicit_form[] = {"elicitation/create", FORM};
static const char *list_roots[] = {"roots/list", "{}"};

static trunkline_server *asking_server(void) {
  trunkline_server *server = NULL;
  OK(trunkline_server_new(S("asking"), S("1"), &server, &error));
  OK(trunkline_server_add_tool(server, S(TRUNKLINE_JSON({"name": "greet"})), needs_input, elicit_form, NULL, &error));
  OK(trunkline_server_add_tool(server, S(TRUNKLINE_JSON({"name": "where"})), needs_input, list_roots, NULL, &error));
  return server;
}

/* A call of that tool, whose text must have this part. */
static void host_gives(trunkline_client *client, trunkline_str tool, const char *part) {
  trunkline_text *result = NULL;
  trunkline_str text;
  OK(trunkline_client_call_tool(client, tool, NOTHING, NULL, &result, &error));
  text = trunkline_text_str(result);
  if (!strstr(text.data, part)) {
    fprintf(stderr, "\"%s\" is not in %s\n", part, text.data);
    exit(1);
  }
  trunkline_text_free(result);
}

/* ELI-01, ROOT-03 */
static void host_requests(void) {
  static const char *const revisions[] = {"2025-06-18", "2025-11-25", "2026-07-28"};
  size_t index;
  for (index = 0; index < sizeof revisions / sizeof *revisions; ++index) {
    bool is_modern = strcmp(revisions[index], "2026-07-28") == 0;
    host_seen seen = {0, 0, "{\"action\": \"accept\", \"content\": {\"name\": \"Ann\"}}", false};
    trunkline_server *server = asking_server();
    trunkline_client_options *options = NULL;
    trunkline_client *client = NULL;
    trunkline_text *result = NULL;
    OK(trunkline_client_options_new(&options, &error));
    CHECK(trunkline_client_options_set_revision(options, trunkline_str_of(revisions[index])) == TRUNKLINE_OK);
    CHECK(trunkline_client_options_on_elicit(options, answer_server, &seen, free_host_seen) == TRUNKLINE_OK);
    CHECK(trunkline_client_options_set_roots(options, S("[{\"uri\": \"file:///a\"}]")) == TRUNKLINE_OK);
    OK(trunkline_client_connect_memory(server, options, &client, &error));
    trunkline_client_options_free(options);
    host_gives(client, S("greet"), "Ann");
    CHECK(seen.calls == 1);
    host_gives(client, S("where"), "file:///a");
    OK(trunkline_client_set_roots(client, S("[{\"uri\": \"file:///b\"}]"), &error));
    host_gives(client, S("where"), "file:///b");
    FAILS(TRUNKLINE_INVALID_ARGUMENT, "file://", trunkline_client_set_roots(client, S("[{\"uri\": \"/c\"}]"), &error));
    seen.fails = true;
    CHECK(trunkline_client_call_tool(client, S("greet"), NOTHING, NULL, &result, NULL) != TRUNKLINE_OK ||
          strstr(trunkline_text_str(result).data, "the user refused"));
    trunkline_text_free(result);
    {
      host_seen other = {0, 0, "{\"action\": \"decline\"}", false};
      OK(trunkline_client_on_elicit(client, answer_server, &other, free_host_seen, &error));
      CHECK(seen.freed == 1);
      host_gives(client, S("greet"), "decline");
      CHECK(other.calls == 1);
      if (is_modern)
        OK(trunkline_client_on_sample(client, answer_server, &other, NULL, &error));
      else
        FAILS(TRUNKLINE_INVALID_ARGUMENT, "before connecting",
              trunkline_client_on_sample(client, answer_server, &other, NULL, &error));
      trunkline_client_free(client);
      CHECK(other.freed == 1);
    }
    trunkline_server_free(server);
  }
}

/* MRTR-15, MRTR-16: a caller that drives the rounds itself. */
static void manual_input(void) {
  trunkline_server *server = asking_server();
  trunkline_client_options *options = NULL;
  trunkline_request_options *round = NULL;
  trunkline_client *client = NULL;
  trunkline_error *needed = NULL;
  trunkline_text *result = NULL, *message = NULL, *state = NULL;
  trunkline_str json = NOTHING;
  OK(trunkline_client_options_new(&options, &error));
  /* No handler is needed: the option declares what the caller can answer. */
  CHECK(trunkline_client_options_set_capabilities(options, S("{\"elicitation\": {}}")) == TRUNKLINE_OK);
  OK(trunkline_client_connect_memory(server, options, &client, &error));
  trunkline_client_options_free(options);
  OK(trunkline_request_options_new(&round, &error));
  CHECK(trunkline_request_options_set_manual_input(round, true) == TRUNKLINE_OK);
  CHECK(trunkline_client_call_tool(client, S("greet"), NOTHING, round, &result, &needed) == TRUNKLINE_INPUT_REQUIRED);
  CHECK(trunkline_error_json(needed, &json) == TRUNKLINE_OK);
  CHECK(trunkline_json_get_text(json, S("/data/inputRequests/it/params/message"), &message) == TRUNKLINE_OK);
  CHECK(same(trunkline_text_str(message), "Your name?"));
  trunkline_text_free(message);
  if (trunkline_json_get_text(json, S("/data/requestState"), &state) == TRUNKLINE_OK)
    CHECK(trunkline_request_options_set_request_state(round, trunkline_text_str(state)) == TRUNKLINE_OK);
  CHECK(trunkline_request_options_set_input_responses(round, S("[]")) == TRUNKLINE_INVALID_ARGUMENT);
  trunkline_request_options_free(round);
  OK(trunkline_request_options_new(&round, &error));
  CHECK(trunkline_request_options_set_input_responses(
            round, S("{\"it\": {\"action\": \"accept\", \"content\": {\"name\": \"Ann\"}}}")) == TRUNKLINE_OK);
  if (state) CHECK(trunkline_request_options_set_request_state(round, trunkline_text_str(state)) == TRUNKLINE_OK);
  OK(trunkline_client_call_tool(client, S("greet"), NOTHING, round, &result, &error));
  CHECK(contains(trunkline_text_str(result), "Ann"));
  trunkline_request_options_free(round);
  trunkline_error_free(needed);
  trunkline_text_free(state);
  trunkline_text_free(result);
  trunkline_client_free(client);
  trunkline_server_free(server);
}

/* SUB-01 */
static void subscriptions(void) {
  static const char *const revisions[] = {"2024-11-05", "2025-11-25", "2026-07-28"};
  size_t index;
  for (index = 0; index < sizeof revisions / sizeof *revisions; ++index) {
    trunkline_server *server = library();
    trunkline_client_options *options = NULL;
    trunkline_client *client = NULL;
    trunkline_text *change = NULL;
    outcome seen;
    uint64_t subscription = 0;
    memset(&seen, 0, sizeof seen);
    OK(trunkline_client_options_new(&options, &error));
    CHECK(trunkline_client_options_set_revision(options, trunkline_str_of(revisions[index])) == TRUNKLINE_OK);
    OK(trunkline_client_connect_memory(server, options, &client, &error));
    trunkline_client_options_free(options);
    OK(trunkline_client_subscribe(client, S("{\"resources\": [\"notes://one\"], \"tools\": true}"), NULL, &subscription,
                                  &error));
    OK(trunkline_server_resource_updated(server, S("notes://one"), &error));
    OK(trunkline_client_next_change(client, subscription, NULL, &change, &error));
    check_text(change, "/kind", "resource");
    takes(change, "/uri", "notes://one");
    OK(trunkline_client_start_next_change(client, subscription, NULL, see_outcome, &seen, free_outcome, NULL, &error));
    OK(trunkline_server_remove_tool(server, S("echo"), &error));
    answers(client, &seen, "tools");
    OK(trunkline_client_unsubscribe(client, subscription, &error));
    CHECK(trunkline_client_next_change(client, subscription, NULL, &change, NULL) != TRUNKLINE_OK ||
          same(trunkline_text_str(change), "null"));
    FAILS(TRUNKLINE_INVALID_ARGUMENT, "", trunkline_client_subscribe(client, S("{}"), NULL, &subscription, &error));
    trunkline_client_free(client);
    trunkline_server_free(server);
  }
}

/* Completes the call of the task when its progress has arrived. */
static void finish_work(double progress, double total, const trunkline_str *message, void *user_data) {
  CHECK(progress == 1 && total == 2 && message->len == 0);
  ++*(int *)user_data;
  CHECK(trunkline_call_return_text(kept, S("done")) == TRUNKLINE_OK);
}

/* Starts the tool as a task; the caller owns its id. */
static uint64_t start_work(trunkline_client *client, trunkline_text **id) {
  trunkline_text *state = NULL;
  uint64_t task = 0;
  kept = NULL;
  OK(trunkline_client_start_task(client, S("{\"name\": \"work\", \"ttlMs\": 60000}"), NULL, &task, &state, &error));
  check_text(state, "/status", "working");
  CHECK(trunkline_json_get_text(trunkline_text_str(state), S("/taskId"), id) == TRUNKLINE_OK);
  trunkline_text_free(state);
  while (!kept) OK(trunkline_dispatch(trunkline_client_port(client), 1000, NULL, &error));
  return task;
}

static void expects_state(trunkline_client *client, uint64_t task, const char *status) {
  trunkline_text *state = NULL;
  OK(trunkline_client_next_state(client, task, NULL, &state, &error));
  if (status)
    check_text(state, "/status", status);
  else
    CHECK(same(trunkline_text_str(state), "null"));
  trunkline_text_free(state);
}

/* TSK-04, TSK-21, TSK-30, TSK-31, TKX-16, PRG-07 */
static void client_tasks(void) {
  static const char *const revisions[] = {"2025-11-25", "2026-07-28"};
  size_t index;
  for (index = 0; index < sizeof revisions / sizeof *revisions; ++index) {
    trunkline_server *server = new_server();
    trunkline_client *client = NULL;
    trunkline_request_options *options = NULL;
    trunkline_text *result = NULL, *id = NULL, *state = NULL;
    char params[200];
    outcome seen;
    uint64_t task = 0, again = 0;
    int reported = 0;
    memset(&seen, 0, sizeof seen);
    add(server, S(TRUNKLINE_JSON({"name": "work", "execution": {"taskSupport": "optional"}})), keep, NULL);
    client = in_memory_speaking(server, revisions[index]);

    task = start_work(client, &id);
    expects_state(client, task, "working");
    OK(trunkline_request_options_new(&options, &error));
    CHECK(trunkline_request_options_set_timeout_ms(options, 20) == TRUNKLINE_OK);
    FAILS(TRUNKLINE_TIMEOUT, "within", trunkline_client_task_result(client, task, options, &result, &error));
    trunkline_request_options_free(options);
    if (index == 0) {
      OK(trunkline_request_options_new(&options, &error));
      CHECK(trunkline_request_options_on_progress(options, finish_work, &reported, NULL) == TRUNKLINE_OK);
      CHECK(trunkline_call_progress(kept, 1, 2, NOTHING) == TRUNKLINE_OK);
      OK(trunkline_client_task_result(client, task, options, &result, &error));
      trunkline_request_options_free(options);
      CHECK(reported == 1);
    } else {
      CHECK(trunkline_call_return_text(kept, S("done")) == TRUNKLINE_OK);
      OK(trunkline_client_task_result(client, task, NULL, &result, &error));
    }
    check_text(result, "/content/0/text", "done");
    trunkline_text_free(result);
    trunkline_call_free(kept);
    expects_state(client, task, "completed");
    expects_state(client, task, NULL);
    OK(trunkline_client_close_task(client, task, &error));
    FAILS(TRUNKLINE_CLOSED, "closed", trunkline_client_task_result(client, task, NULL, &result, &error));

    snprintf(params, sizeof params, "{\"taskId\": \"%s\"}", trunkline_text_str(id).data);
    OK(trunkline_client_start_task(client, trunkline_str_of(params), NULL, &again, &state, &error));
    check_text(state, "/status", "completed");
    OK(trunkline_client_start_task_result(client, again, NULL, see_outcome, &seen, free_outcome, NULL, &error));
    answers(client, &seen, "done");
    trunkline_text_free(state);
    trunkline_text_free(id);

    task = start_work(client, &id);
    OK(trunkline_client_cancel_task(client, trunkline_text_str(id), NULL, &error));
    trunkline_text_free(id);
    FAILS(TRUNKLINE_CANCELLED, "", trunkline_client_task_result(client, task, NULL, &result, &error));
    trunkline_call_free(kept);

    OK(trunkline_client_start_task(client, S("{\"name\": \"echo\", \"arguments\": {\"message\": \"hi\"}}"), NULL, &task,
                                   &state, &error));
    CHECK(same(trunkline_text_str(state), "null"));
    OK(trunkline_client_task_result(client, task, NULL, &result, &error));
    check_text(result, "/content/0/text", "hi");
    trunkline_text_free(state);
    trunkline_text_free(result);
    FAILS(TRUNKLINE_PROTOCOL, "", trunkline_client_start_task(client, S("{\"taskId\": \"nobody\"}"), NULL, &task, &state, &error));
    FAILS(TRUNKLINE_INVALID_ARGUMENT, "taskId", trunkline_client_start_task(client, S("{}"), NULL, &task, &state, &error));
    trunkline_client_free(client);
    trunkline_server_free(server);
  }
}

/* Takes notifications: counts the states of tasks that are complete. */
static void see_status(const trunkline_str *method, const trunkline_str *params, void *user_data) {
  if (same(*method, "notifications/tasks/status") && strstr(params->data, "completed")) ++*(int *)user_data;
}

/* TKX-32: the caller answers a task itself. TSK-02: a server asks by tasks. */
static void tasks_by_hand(void) {
  trunkline_server *server = NULL;
  trunkline_server_options *asks = NULL;
  trunkline_client_options *options = NULL;
  trunkline_request_options *manual = NULL;
  trunkline_client *client = NULL;
  trunkline_text *state = NULL, *result = NULL;
  host_seen user = {0, 0, "{\"action\": \"accept\", \"content\": {\"name\": \"Ann\"}}", false};
  uint64_t task = 0;
  int completed = 0;
  OK(trunkline_server_options_new(&asks, &error));
  CHECK(trunkline_server_options_set_client_request_tasks(asks, true) == TRUNKLINE_OK);
  OK(trunkline_server_new_with(S("asking"), S("1"), asks, &server, &error));
  trunkline_server_options_free(asks);
  OK(trunkline_server_add_tool(server, S(TRUNKLINE_JSON({"name": "greet", "execution": {"taskSupport": "optional"}})),
                               needs_input, elicit_form, NULL, &error));

  OK(trunkline_client_options_new(&options, &error));
  CHECK(trunkline_client_options_set_revision(options, S("2026-07-28")) == TRUNKLINE_OK);
  CHECK(trunkline_client_options_set_capabilities(options, S("{\"elicitation\": {}}")) == TRUNKLINE_OK);
  CHECK(trunkline_client_options_on_notification(options, see_status, &completed, NULL) == TRUNKLINE_OK);
  OK(trunkline_client_connect_memory(server, options, &client, &error));
  trunkline_client_options_free(options);
  OK(trunkline_request_options_new(&manual, &error));
  CHECK(trunkline_request_options_set_manual_input(manual, true) == TRUNKLINE_OK);
  OK(trunkline_client_start_task(client, S("{\"name\": \"greet\"}"), manual, &task, &state, &error));
  trunkline_request_options_free(manual);
  while (!strstr(trunkline_text_str(state).data, "inputRequests")) {
    trunkline_text_free(state);
    OK(trunkline_client_next_state(client, task, NULL, &state, &error));
  }
  trunkline_text_free(state);
  OK(trunkline_client_task_respond(
      client, task, S("{\"it\": {\"action\": \"accept\", \"content\": {\"name\": \"Ann\"}}}"), NULL, &result, &error));
  trunkline_text_free(result);
  OK(trunkline_client_task_result(client, task, NULL, &result, &error));
  CHECK(contains(trunkline_text_str(result), "Ann"));
  trunkline_text_free(result);
  while (!completed) OK(trunkline_dispatch(trunkline_client_port(client), 1000, NULL, &error));
  FAILS(TRUNKLINE_INVALID_ARGUMENT, "must be an object, not a list",
        trunkline_client_task_respond(client, task, S("[]"), NULL, &result, &error));
  trunkline_client_free(client);

  OK(trunkline_client_options_new(&options, &error));
  CHECK(trunkline_client_options_set_revision(options, S("2025-11-25")) == TRUNKLINE_OK);
  CHECK(trunkline_client_options_on_elicit(options, answer_server, &user, NULL) == TRUNKLINE_OK);
  OK(trunkline_client_connect_memory(server, options, &client, &error));
  trunkline_client_options_free(options);
  host_gives(client, S("greet"), "Ann");
  CHECK(user.calls == 1);
  trunkline_client_free(client);
  trunkline_server_free(server);
}

/* A custom transport, which answers each request itself. */
typedef struct {
  trunkline_call *receiving;
  char answers[8][400];
  int first, end, connects, closes, freed;
  bool broken;
} wire;

static void wire_connect(trunkline_call *call, void *user_data) {
  ++((wire *)user_data)->connects;
  trunkline_call_free(((wire *)user_data)->receiving);
  ((wire *)user_data)->receiving = NULL;
  OK(trunkline_call_return_result(call, S("{}"), &error));
}

/* Passes a message to a waiting call, or stores either until the other arrives. */
static void wire_deliver(wire *it) {
  trunkline_text *quoted = NULL;
  char result[900];
  if (!it->receiving || it->first == it->end) return;
  OK(trunkline_json_string(trunkline_str_of(it->answers[it->first++ % 8]), &quoted, &error));
  snprintf(result, sizeof result, "{\"message\": %s}", trunkline_text_str(quoted).data);
  trunkline_text_free(quoted);
  OK(trunkline_call_return_result(it->receiving, trunkline_str_of(result), &error));
  trunkline_call_free(it->receiving);
  it->receiving = NULL;
}

static void wire_send(trunkline_call *call, void *user_data) {
  wire *it = (wire *)user_data;
  trunkline_text *message = NULL;
  double id = 0;
  if (it->broken) {
    OK(trunkline_call_fail_protocol(call, -1, S("the wire is cut"), NOTHING, &error));
    return;
  }
  CHECK(trunkline_json_get_text(trunkline_call_arguments(call), S("/message"), &message) == TRUNKLINE_OK);
  if (trunkline_json_get_number(trunkline_text_str(message), S("/id"), &id) == TRUNKLINE_OK) {
    snprintf(it->answers[it->end++ % 8], sizeof it->answers[0],
             "{\"jsonrpc\": \"2.0\", \"id\": %.0f, \"result\": {\"resultType\": \"complete\", \"tools\": [], "
             "\"supportedVersions\": [\"2026-07-28\"], \"capabilities\": {}, \"ttlMs\": 0, "
             "\"cacheScope\": \"private\"}}",
             id);
  }
  trunkline_text_free(message);
  OK(trunkline_call_return_result(call, S("{}"), &error));
  wire_deliver(it);
}

static void wire_receive(trunkline_call *call, void *user_data) {
  ((wire *)user_data)->receiving = trunkline_call_retain(call);
  wire_deliver((wire *)user_data);
}

static void wire_close(trunkline_call *call, void *user_data) {
  ++((wire *)user_data)->closes;
  OK(trunkline_call_return_result(call, S("{}"), &error));
}

static void free_wire(void *user_data) { ++((wire *)user_data)->freed; }

/* The port of a freed client still runs the function that closes its transport. */
static void freed_channel(void) {
  wire it;
  trunkline_port *port = NULL;
  trunkline_client_options *options = NULL;
  trunkline_client *client = NULL;
  int tries = 0;
  memset(&it, 0, sizeof it);
  OK(trunkline_port_new(&port, &error));
  OK(trunkline_client_options_new(&options, &error));
  CHECK(trunkline_client_options_set_port(options, port) == TRUNKLINE_OK);
  CHECK(trunkline_client_options_on_transport_connect(options, wire_connect, &it, free_wire) == TRUNKLINE_OK);
  CHECK(trunkline_client_options_on_transport_send(options, wire_send, &it, free_wire) == TRUNKLINE_OK);
  CHECK(trunkline_client_options_on_transport_receive(options, wire_receive, &it, free_wire) == TRUNKLINE_OK);
  CHECK(trunkline_client_options_on_transport_close(options, wire_close, &it, free_wire) == TRUNKLINE_OK);
  /* A client that failed to connect leaves nothing behind on the port. */
  it.broken = true;
  CHECK(trunkline_client_connect_channel(options, &client, NULL) == TRUNKLINE_TRANSPORT);
  CHECK(it.closes == it.connects);
  it.broken = false;
  it.closes = 0;
  OK(trunkline_client_connect_channel(options, &client, &error));
  trunkline_client_options_free(options);
  trunkline_client_free(client);
  trunkline_call_free(it.receiving);
  CHECK(it.closes == 0 && it.freed == 3);
  while (it.freed < 4 && ++tries < 100) OK(trunkline_dispatch(port, 100, NULL, &error));
  CHECK(it.closes == 1 && it.freed == 4);
  trunkline_port_free(port);
}

/* STD-17, STD-18 */
static void channel(void) {
  wire it;
  trunkline_client_options *options = NULL;
  trunkline_client *client = NULL;
  trunkline_text *result = NULL;
  freed_channel();
  memset(&it, 0, sizeof it);
  OK(trunkline_client_options_new(&options, &error));
  FAILS(TRUNKLINE_INVALID_ARGUMENT, "transport_connect", trunkline_client_connect_channel(options, &client, &error));
  CHECK(trunkline_client_options_on_transport_connect(options, wire_connect, &it, free_wire) == TRUNKLINE_OK);
  CHECK(trunkline_client_options_on_transport_send(options, wire_send, &it, free_wire) == TRUNKLINE_OK);
  CHECK(trunkline_client_options_on_transport_receive(options, wire_receive, &it, free_wire) == TRUNKLINE_OK);
  CHECK(trunkline_client_options_on_transport_close(options, wire_close, &it, free_wire) == TRUNKLINE_OK);
  OK(trunkline_client_connect_channel(options, &client, &error));
  trunkline_client_options_free(options);
  OK(trunkline_client_list_tools(client, NULL, &result, &error));
  CHECK(same(trunkline_text_str(result), "[]"));
  trunkline_text_free(result);
  it.broken = true;
  FAILS(TRUNKLINE_TRANSPORT, "the wire is cut", trunkline_client_list_tools(client, NULL, &result, &error));
  it.broken = false;
  OK(trunkline_client_list_tools(client, NULL, &result, &error));
  trunkline_text_free(result);
  CHECK(it.connects == 2);
  OK(trunkline_client_close(client, 1000, &error));
  CHECK(it.closes == 2);
  trunkline_call_free(it.receiving);
  trunkline_client_free(client);
  CHECK(it.freed == 4);
}
