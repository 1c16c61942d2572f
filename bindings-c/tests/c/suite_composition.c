/* Servers that mount others: in this process and behind a client. A part of suite.c. */

static void answer_with(trunkline_call *call, void *user_data) {
  char answer[200];
  snprintf(answer, sizeof answer, "{\"action\": \"accept\", \"content\": {\"name\": \"%s\"}}", (const char *)user_data);
  OK(trunkline_call_return_result(call, trunkline_str_of(answer), &error));
}

/* A caller of a tool that asks is asked itself. */
static void asked_caller(trunkline_server *gateway, const char *revision, const char *name, const char *tool) {
  trunkline_client_options *options = NULL;
  trunkline_client *client = NULL;
  trunkline_text *result = NULL;
  char expected[100];
  OK(trunkline_client_options_new(&options, &error));
  CHECK(trunkline_client_options_set_revision(options, trunkline_str_of(revision)) == TRUNKLINE_OK);
  CHECK(trunkline_client_options_on_elicit(options, answer_with, (void *)(uintptr_t)name, NULL) == TRUNKLINE_OK);
  OK(trunkline_client_connect_memory(gateway, options, &client, &error));
  OK(trunkline_client_call_tool(client, trunkline_str_of(tool), S("{}"), NULL, &result, &error));
  snprintf(expected, sizeof expected, "{\"action\":\"accept\",\"content\":{\"name\":\"%s\"}}", name);
  check_text(result, "/content/0/text", expected);
  trunkline_text_free(result);
  trunkline_client_free(client);
  trunkline_client_options_free(options);
}

/* All servers of a group, each caller of which is asked itself. */
static void proxied_group(trunkline_server_options *same_port, trunkline_server *remote, trunkline_str url) {
  trunkline_client_options *options = NULL;
  trunkline_server *gateway = NULL;
  trunkline_client *group = NULL;
  char servers[300];
  snprintf(servers, sizeof servers, "{\"far\": \"%.*s\", \"gone\": \"http://127.0.0.1:1/mcp\"}", (int)url.len, url.data);
  OK(trunkline_client_options_new(&options, &error));
  CHECK(trunkline_client_options_set_port(options, trunkline_server_port(remote)) == TRUNKLINE_OK);
  OK(trunkline_client_connect_group(trunkline_str_of(servers), options, &group, &error));
  OK(trunkline_server_new_with(S("gateway"), S("1"), same_port, &gateway, &error));
  OK(trunkline_server_proxy(gateway, group, S(""), S(""), NULL, &error));
  asked_caller(gateway, "2025-11-25", "Ann", "far__greet");
  asked_caller(gateway, "2026-07-28", "Bob", "far__greet");
  trunkline_client_options_free(options);
  trunkline_server_free(gateway);
  trunkline_client_free(group);
}

static void composition(void) {
  static const char *const pairs[][2] = {{"2025-06-18", "2026-07-28"}, {"2026-07-28", "2025-11-25"}};
  trunkline_server *remote = asking_server(), *gateway = NULL;
  trunkline_server_options *same_port = NULL;
  trunkline_listener *listener = listen_http(remote);
  uint64_t mounted = 0;
  OK(trunkline_server_options_new(&same_port, &error));
  CHECK(trunkline_server_options_set_port(same_port, trunkline_server_port(remote)) == TRUNKLINE_OK);
  for (size_t index = 0; index < 2; index++) {
    trunkline_client_options *options = NULL;
    trunkline_client *far = NULL;
    OK(trunkline_server_new_with(S("gateway"), S("1"), same_port, &gateway, &error));
    OK(trunkline_server_mount(gateway, S("in"), remote, &mounted, &error));
    asked_caller(gateway, pairs[index][1], "Ann", "in__greet");
    FAILS(TRUNKLINE_INVALID_ARGUMENT, "already mounted there", trunkline_server_mount(gateway, S("b"), remote, NULL, &error));
    FAILS(TRUNKLINE_INVALID_ARGUMENT, "would form a cycle", trunkline_server_mount(remote, S("b"), gateway, NULL, &error));
    OK(trunkline_server_remove(gateway, mounted, &error));

    OK(trunkline_client_options_new(&options, &error));
    CHECK(trunkline_client_options_set_revision(options, trunkline_str_of(pairs[index][0])) == TRUNKLINE_OK);
    CHECK(trunkline_client_options_set_port(options, trunkline_server_port(remote)) == TRUNKLINE_OK);
    OK(trunkline_client_connect_http(trunkline_listener_url(listener), options, &far, &error));
    OK(trunkline_server_proxy(gateway, far, S("far"), S("{\"maxConnections\": 4}"), NULL, &error));
    asked_caller(gateway, pairs[index][1], "Ann", "far__greet");
    asked_caller(gateway, pairs[index][1], "Bob", "far__greet");
    FAILS(TRUNKLINE_INVALID_ARGUMENT, "already", trunkline_server_proxy(gateway, far, S("far"), S(""), NULL, &error));
    FAILS(TRUNKLINE_INVALID_ARGUMENT, "prefix", trunkline_server_proxy(gateway, far, S("a b"), S(""), NULL, &error));
    trunkline_client_options_free(options);
    trunkline_client_free(far);
    trunkline_server_free(gateway), gateway = NULL;
  }
  proxied_group(same_port, remote, trunkline_listener_url(listener));
  trunkline_server_options_free(same_port);
  trunkline_listener_free(listener);
  trunkline_server_free(remote);
}

/* TSK-06: calls through a proxy are tasks of the proxy, with their input and their end. */
static void proxied_tasks(void) {
  static const char *const pairs[][2] = {{"2025-11-25", "2026-07-28"}, {"2026-07-28", "2025-11-25"}};
  for (size_t index = 0; index < 2; index++) {
    trunkline_server *remote = new_server(), *gateway = NULL;
    trunkline_server_options *same_port = NULL;
    trunkline_client_options *options = NULL;
    trunkline_client *far = NULL, *client = NULL;
    trunkline_text *state = NULL, *result = NULL, *id = NULL;
    uint64_t task = 0;
    add(remote, S(TRUNKLINE_JSON({"name": "work", "execution": {"taskSupport": "required"}})), keep, NULL);
    OK(trunkline_server_add_tool(remote, S(TRUNKLINE_JSON({"name": "greet", "execution": {"taskSupport": "optional"}})),
                                 needs_input, elicit_form, NULL, &error));
    /* Connected last: a session of 2025-11-25 keeps the tasks that were announced to it. */
    far = in_memory_speaking(remote, pairs[index][0]);
    OK(trunkline_server_options_new(&same_port, &error));
    CHECK(trunkline_server_options_set_port(same_port, trunkline_server_port(remote)) == TRUNKLINE_OK);
    OK(trunkline_server_new_with(S("gateway"), S("1"), same_port, &gateway, &error));
    OK(trunkline_server_proxy(gateway, far, S("far"), S(""), NULL, &error));
    OK(trunkline_client_options_new(&options, &error));
    CHECK(trunkline_client_options_set_revision(options, trunkline_str_of(pairs[index][1])) == TRUNKLINE_OK);
    CHECK(trunkline_client_options_on_elicit(options, answer_with, (void *)(uintptr_t) "Ann", NULL) == TRUNKLINE_OK);
    OK(trunkline_client_connect_memory(gateway, options, &client, &error));

    kept = NULL;
    OK(trunkline_client_start_task(client, S("{\"name\": \"far__work\"}"), NULL, &task, &state, &error));
    check_text(state, "/status", "working");
    trunkline_text_free(state);
    while (!kept) OK(trunkline_dispatch(trunkline_client_port(client), 1000, NULL, &error));
    CHECK(trunkline_call_return_text(kept, S("done")) == TRUNKLINE_OK);
    trunkline_call_free(kept);
    OK(trunkline_client_task_result(client, task, NULL, &result, &error));
    check_text(result, "/content/0/text", "done");
    trunkline_text_free(result);

    OK(trunkline_client_start_task(client, S("{\"name\": \"far__greet\"}"), NULL, &task, &state, &error));
    trunkline_text_free(state);
    OK(trunkline_client_task_result(client, task, NULL, &result, &error));
    CHECK(contains(trunkline_text_str(result), "Ann"));
    trunkline_text_free(result);

    kept = NULL;
    OK(trunkline_client_start_task(client, S("{\"name\": \"far__work\"}"), NULL, &task, &state, &error));
    CHECK(trunkline_json_get_text(trunkline_text_str(state), S("/taskId"), &id) == TRUNKLINE_OK);
    trunkline_text_free(state);
    while (!kept) OK(trunkline_dispatch(trunkline_client_port(client), 1000, NULL, &error));
    OK(trunkline_client_cancel_task(client, trunkline_text_str(id), NULL, &error));
    trunkline_text_free(id);
    FAILS(TRUNKLINE_CANCELLED, "", trunkline_client_task_result(client, task, NULL, &result, &error));
    while (!trunkline_call_cancelled(kept)) OK(trunkline_dispatch(trunkline_client_port(client), 1000, NULL, &error));
    trunkline_call_free(kept);

    trunkline_client_free(client);
    trunkline_client_options_free(options);
    trunkline_server_free(gateway);
    trunkline_server_options_free(same_port);
    trunkline_client_free(far);
    trunkline_server_free(remote);
  }
}
