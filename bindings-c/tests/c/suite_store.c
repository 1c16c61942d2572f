/* State that outlives a process: the option `store`. A part of suite.c. */

#ifdef _WIN32
#include <process.h>
#define getpid _getpid
#endif

static void answer_report(trunkline_call *call, void *user_data) {
  (void)user_data;
  CHECK(trunkline_call_return_text(call, S("the report")) == TRUNKLINE_OK);
}

static trunkline_server *with_store(const char *url) {
  trunkline_server_options *kept = NULL;
  trunkline_server *server = NULL;
  OK(trunkline_server_options_new(&kept, &error));
  CHECK(trunkline_server_options_set_store(kept, trunkline_str_of(url)) == TRUNKLINE_OK);
  OK(trunkline_server_new_with(S("kept"), S("1"), kept, &server, &error));
  trunkline_server_options_free(kept);
  OK(trunkline_server_add_tool(server, S(ECHO), echo, NULL, NULL, &error));
  OK(trunkline_server_add_tool(
      server, S("{\"name\":\"report\",\"inputSchema\":{\"type\":\"object\"},\"execution\":{\"taskSupport\":\"optional\"}}"),
      answer_report, NULL, NULL, &error));
  return server;
}

/* The result of a task of one server, from another. */
static void read_elsewhere(trunkline_server *one, trunkline_server *other) {
  trunkline_client *client = in_memory(one), *elsewhere = in_memory(other);
  trunkline_text *state = NULL, *id = NULL, *result = NULL;
  char params[100];
  uint64_t task = 0, again = 0;
  OK(trunkline_client_start_task(client, S("{\"name\":\"report\"}"), NULL, &task, &state, &error));
  OK(trunkline_client_task_result(client, task, NULL, &result, &error));
  check_text(result, "/content/0/text", "the report");
  trunkline_text_free(result), result = NULL;
  CHECK(trunkline_json_get_text(trunkline_text_str(state), S("/taskId"), &id) == TRUNKLINE_OK);
  trunkline_text_free(state), state = NULL;
  snprintf(params, sizeof params, "{\"taskId\":\"%s\"}", trunkline_text_str(id).data);
  OK(trunkline_client_start_task(elsewhere, trunkline_str_of(params), NULL, &again, &state, &error));
  OK(trunkline_client_task_result(elsewhere, again, NULL, &result, &error));
  check_text(result, "/content/0/text", "the report");
  trunkline_text_free(result), trunkline_text_free(state), trunkline_text_free(id);
  trunkline_client_free(client), trunkline_client_free(elsewhere);
}

/* A session that one server opened, at another. */
static void call_elsewhere(trunkline_server *one, trunkline_server *other) {
  trunkline_listener *here = NULL, *there = NULL;
  trunkline_http_exchange *exchange;
  response seen;
  char session[128];
  OK(trunkline_server_mount_http(one, NULL, &here, &error));
  OK(trunkline_server_mount_http(other, NULL, &there, &error));
  exchange = post(here, &seen, "", "localhost", OPENING);
  answered(one, &seen);
  CHECK(seen.status == 200 && seen.session[0] != '\0');
  strcpy(session, seen.session);
  trunkline_http_exchange_free(exchange);
  exchange = post(there, &seen, session, "localhost", CALLING("echo"));
  answered(other, &seen);
  CHECK(seen.status == 200 && strstr(seen.body, "\"text\":\"hi\"") != NULL);
  trunkline_http_exchange_free(exchange);
  trunkline_listener_free(here), trunkline_listener_free(there);
}

/* An unavailable store: busy immediately; everything else continues. */
static void without_store(trunkline_server *server) {
  trunkline_client *client = in_memory(server);
  trunkline_text *state = NULL;
  uint64_t task = 0, begin = now_ms();
  FAILS(TRUNKLINE_BUSY, "the store of tasks is not available",
        trunkline_client_start_task(client, S("{\"name\":\"report\"}"), NULL, &task, &state, &error));
  CHECK(now_ms() - begin < patience_ms(10000));
  check_echo(client, "{\"message\":\"hi\"}", "hi");
  trunkline_client_free(client);
}

static void stores(void) {
  static const char *const wrong[] = {"mysql://user:secret@host/x", "sqlite:", "redis://user:secret@host?namespace=a:b"};
  const char *folder = getenv("TMPDIR") ? getenv("TMPDIR") : getenv("TEMP") ? getenv("TEMP") : "/tmp";
  char url[420], path[400];
  size_t number;
  trunkline_server *one, *other;
  for (number = 0; number < sizeof wrong / sizeof *wrong; ++number) {
    trunkline_server_options *refused = NULL;
    trunkline_server *none = NULL;
    trunkline_error *error = NULL;
    OK(trunkline_server_options_new(&refused, &error));
    CHECK(trunkline_server_options_set_store(refused, trunkline_str_of(wrong[number])) == TRUNKLINE_OK);
    CHECK(trunkline_server_new_with(S("kept"), S("1"), refused, &none, &error) == TRUNKLINE_INVALID_ARGUMENT);
    CHECK(none == NULL && strstr(trunkline_error_message(error), "store"));
    CHECK(!strstr(trunkline_error_message(error), "secret"));
    trunkline_error_free(error);
    trunkline_server_options_free(refused);
  }

  one = with_store("memory:");
  read_elsewhere(one, one);
  call_elsewhere(one, one);
  trunkline_server_free(one);

  snprintf(path, sizeof path, "%s/trunkline-suite-%ld.db", folder, (long)getpid());
  snprintf(url, sizeof url, "sqlite:%s", path);
  one = with_store(url), other = with_store(url);
  read_elsewhere(one, other);
  call_elsewhere(one, other);
  trunkline_server_free(one), trunkline_server_free(other);
  remove(path);
  for (number = 0; number < 2; ++number) {
    snprintf(url, sizeof url, "%s-%s", path, number ? "wal" : "shm");
    remove(url);
  }

  /* Nothing listens at port 1. */
  one = with_store("redis://user:secret@127.0.0.1:1");
  without_store(one);
  trunkline_server_free(one);
}
