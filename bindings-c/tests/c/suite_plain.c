/* The functions without trunkline_str by value, as languages use them whose foreign functions pass
 * no structs. A part of suite.c. */

static void greet_plainly(trunkline_call *call, void *user_data) {
  const char *arguments, *name;
  char greeting[64];
  size_t len = 0;
  (void)user_data;
  arguments = trunkline_plain_call_arguments(call, &len);
  CHECK(len == strlen(arguments) && arguments[0] == '{');
  name = trunkline_plain_call_text(call, "/name", "", NULL);
  CHECK(trunkline_plain_call_progress(call, 1, 2, "half") == TRUNKLINE_OK);
  CHECK(trunkline_plain_call_log(call, "info", "greets") == TRUNKLINE_OK);
  if (!*name) {
    CHECK(trunkline_plain_call_fail_tool(call, "nobody is there") == TRUNKLINE_OK);
    return;
  }
  snprintf(greeting, sizeof greeting, "Hello, %s!", name);
  OK(trunkline_plain_call_return(call, TRUNKLINE_SHAPE_TEXT, greeting, &error));
}

static void see_plainly(trunkline_result result, const trunkline_str *json, const trunkline_error *failure,
                        void *user_data) {
  size_t len = 0;
  const char *text = trunkline_plain_str(json, &len);
  CHECK(!result && !failure && len == strlen(text));
  *(bool *)user_data = strstr(text, "Hello, Bo!") != NULL;
}

static void plain_strings(void) {
  trunkline_server *server = NULL;
  trunkline_listener *listener = NULL;
  trunkline_client_options *options = NULL;
  trunkline_client *client = NULL;
  trunkline_text *result = NULL;
  trunkline_error *wrong = NULL;
  trunkline_str told;
  char place[200];
  size_t len = 1;
  bool seen = false;
  CHECK(strcmp(trunkline_plain_version(), TRUNKLINE_VERSION) == 0);
  CHECK(*trunkline_plain_text(NULL, &len) == '\0' && len == 0);
  CHECK(*trunkline_plain_str(NULL, NULL) == '\0');
  OK(trunkline_plain_server_new("plain", "1", NULL, &server, &error));
  OK(trunkline_plain_server_add(server, "tool", "{\"tool\":{\"name\":\"greet\",\"inputSchema\":{\"type\":\"object\"}}}",
                                greet_plainly, NULL, NULL, NULL, &error));
  listener = listen_http(server);
  OK(trunkline_client_options_new(&options, &error));
  CHECK(!trunkline_client_options_set_port(options, trunkline_server_port(server)));
  snprintf(place, sizeof place, "{\"url\":\"%s\"}", trunkline_plain_listener_url(listener));
  OK(trunkline_plain_client_connect(place, options, &client, &error));
  trunkline_client_options_free(options);
  OK(trunkline_plain_client_request(client, "tools/call", "{\"name\":\"greet\",\"arguments\":{\"name\":\"Ann\"}}", NULL,
                                    &result, &error));
  CHECK(strstr(trunkline_plain_text(result, &len), "Hello, Ann!") && len > 0);
  trunkline_text_free(result), result = NULL;
  OK(trunkline_plain_client_request(client, "tools/call", "{\"name\":\"greet\"}", NULL, &result, &error));
  CHECK(strstr(trunkline_plain_text(result, NULL), "nobody is there"));
  trunkline_text_free(result);
  OK(trunkline_plain_client_start(client, "tools/call", "{\"name\":\"greet\",\"arguments\":{\"name\":\"Bo\"}}",
                                          NULL, see_plainly, &seen, NULL, NULL, &error));
  while (!seen) OK(trunkline_dispatch(trunkline_client_port(client), 1000, NULL, &error));
  CHECK(trunkline_plain_client_request(client, "tools/call", "{\"name\":\"nobody\"}", NULL, &result, &wrong) ==
        TRUNKLINE_PROTOCOL);
  CHECK(!trunkline_error_json(wrong, &told) && strstr(trunkline_plain_str(&told, NULL), "-32602"));
  trunkline_error_free(wrong);
  trunkline_client_free(client), trunkline_listener_free(listener), trunkline_server_free(server);
}

/* A thread of a runtime that stands by, and one that waits for a call. */
typedef struct {
  trunkline_port *port;
  trunkline_client *client;
  volatile int stop, taken_over, ended;
} standing_by;

static void stand_by(void *data) {
  standing_by *it = (standing_by *)data;
  while (!it->stop) {
    OK(trunkline_plain_stand_by(it->port, &error));
    ++it->taken_over;
    OK(trunkline_dispatch(it->port, 0, NULL, &error));
  }
  it->ended = 1;
}

static void call_keep(void *data) {
  trunkline_text *result = NULL;
  OK(trunkline_client_call_tool(((standing_by *)data)->client, S("keep"), S("{}"), NULL, &result, &error));
  trunkline_text_free(result);
}

static void await_flag(const volatile int *flag) {
  unsigned long long end = now_ms() + patience_ms(30000);
  while (!*flag && now_ms() < end) sleep_ms(5);
  CHECK(*flag);
}

/* Others that wait run callbacks, but do not report ends and wake-ups to the host. */
static void stood_by(void) {
  trunkline_server *server = new_server();
  standing_by it = {NULL, NULL, 0, 0, 0};
  thread_task standing_task = {stand_by, NULL}, calling_task = {call_keep, NULL};
  thread standing, calling;
  unsigned long long end = now_ms() + patience_ms(30000);
  standing_task.data = calling_task.data = &it;
  it.port = trunkline_server_port(server);
  add(server, S(PLAIN("keep")), keep, NULL);
  it.client = in_memory(server);
  OK(trunkline_dispatch(it.port, 0, NULL, &error));

  /* A wake-up while another thread waits. */
  kept = NULL;
  thread_start(&standing, &standing_task);
  thread_start(&calling, &calling_task);
  while (!*(trunkline_call *volatile *)&kept && now_ms() < end) sleep_ms(5);
  CHECK(kept);
  sleep_ms(50);
  it.stop = 1;
  CHECK(trunkline_plain_wake(it.port) == TRUNKLINE_OK);
  await_flag(&it.ended);
  CHECK(trunkline_call_return_text(kept, S("done")) == TRUNKLINE_OK);
  trunkline_call_free(kept), kept = NULL;
  thread_join(calling);
  thread_join(standing);

  /* An end that another thread has seen. */
  OK(trunkline_dispatch(it.port, 0, NULL, &error));
  it.stop = it.ended = it.taken_over = 0;
  thread_start(&standing, &standing_task);
  sleep_ms(50);
  OK(trunkline_client_close(it.client, 1000, &error));
  await_flag(&it.taken_over);
  it.stop = 1;
  CHECK(trunkline_plain_wake(it.port) == TRUNKLINE_OK);
  await_flag(&it.ended);
  thread_join(standing);
  trunkline_client_free(it.client), trunkline_server_free(server);
}
