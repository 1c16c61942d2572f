#include <math.h>
#ifndef _WIN32
#include <fcntl.h>
#include <sys/socket.h>
#endif

/* The context of a call: data of its exchange, values of its request, lifespan of its server. A
   part of suite.c. */

typedef struct {
  int freed, outer_seen;
  trunkline_call *calls[2];
  const void *exchanges[2];
  size_t count;
} world_seen;

static void free_var(void *value) { ++*(int *)value; }

static void find_user(trunkline_call *call, void *user_data) {
  world_seen *seen = (world_seen *)user_data;
  CHECK(trunkline_call_var(call, S("user")) == NULL);
  CHECK(trunkline_call_set_var(call, S("user"), &seen->freed, free_var) == TRUNKLINE_OK);
  CHECK(trunkline_call_set_var(call, S("exchange"), trunkline_call_exchange_data(call), NULL) == TRUNKLINE_OK);
  ++seen->outer_seen;
  OK(trunkline_call_next(call, NOTHING, NULL, NULL, NULL, &error));
}

static void pass_through(trunkline_call *call, void *user_data) {
  (void)user_data;
  CHECK(trunkline_call_var(call, S("user")) != NULL);
  OK(trunkline_call_next(call, NOTHING, NULL, NULL, NULL, &error));
}

static void keep_both(trunkline_call *call, void *user_data) {
  world_seen *seen = (world_seen *)user_data;
  CHECK(seen->count < 2 && trunkline_call_var(call, S("user")) == &seen->freed);
  seen->exchanges[seen->count] = trunkline_call_exchange_data(call);
  CHECK(trunkline_call_var(call, S("exchange")) == seen->exchanges[seen->count]);
  seen->calls[seen->count++] = trunkline_call_retain(call);
}

static void tell_address(trunkline_call *call, void *user_data) {
  trunkline_text *address = NULL;
  (void)user_data;
  CHECK(trunkline_call_fact(call, S("/remoteAddress"), &address) == TRUNKLINE_OK);
  CHECK(trunkline_call_return_text(call, trunkline_text_str(address)) == TRUNKLINE_OK);
  trunkline_text_free(address);
}

static void check_fact(trunkline_call *call, const char *pointer, const char *json) {
  trunkline_text *fact = NULL;
  CHECK(trunkline_call_fact(call, trunkline_str_of(pointer), &fact) == TRUNKLINE_OK);
  if (!same(trunkline_text_str(fact), json)) {
    fprintf(stderr, "%s is %s, not %s\n", pointer, trunkline_text_str(fact).data, json);
    exit(1);
  }
  trunkline_text_free(fact);
}

/* `user_data`: the response that opened the session. */
static void check_facts(trunkline_call *call, void *user_data) {
  const char *session = ((response *)user_data)->session;
  trunkline_text *all = NULL;
  char quoted[140];
  snprintf(quoted, sizeof quoted, "\"%s\"", session);
  check_fact(call, "/method", "\"tools/call\"");
  check_fact(call, "/name", "\"facts\"");
  check_fact(call, "/revision", "\"2025-11-25\"");
  check_fact(call, "/requestId", "\"2\"");
  check_fact(call, "/sessionId", quoted);
  check_fact(call, "/headers/accept", "\"application/json, text/event-stream\"");
  CHECK(trunkline_call_fact(call, S("/headers/Accept"), &all) == TRUNKLINE_NOT_FOUND && all == NULL);
  OK(trunkline_call_info(call, &all, &error));
  check_text(all, "/sessionId", session);
  check_text(all, "/headers/host", "localhost");
  trunkline_text_free(all);
  CHECK(trunkline_call_return_text(call, S("all as told")) == TRUNKLINE_OK);
}

static int live_vars;
static void free_counted(void *value) { free(value), --live_vars; }

/* Replaces its own value: the first stays valid until the call is over. */
static void replace_var(trunkline_call *call, void *user_data) {
  int round, *first = NULL;
  (void)user_data;
  for (round = 0; round < 3; ++round) {
    int *value = (int *)malloc(sizeof *value);
    CHECK(value != NULL);
    *value = round, ++live_vars;
    CHECK(trunkline_call_set_var(call, S("own"), value, free_counted) == TRUNKLINE_OK);
    if (!first) first = (int *)trunkline_call_var(call, S("own"));
  }
  CHECK(*first == 0 && live_vars == 2); /* the lent one and the last */
  CHECK(*(int *)trunkline_call_var(call, S("own")) == 2);
  CHECK(trunkline_call_set_var(call, S("own"), NULL, NULL) == TRUNKLINE_OK && !trunkline_call_var(call, S("own")));
  CHECK(live_vars == 2 && trunkline_call_exchange_data(call) == NULL);
  CHECK(trunkline_call_return_text(call, S("done")) == TRUNKLINE_OK);
}

/* Counts in the data of the caller, which is the data of the tool, too. */
static void count_for(trunkline_call *call, void *user_data) {
  CHECK(trunkline_call_exchange_data(call) == user_data);
  ++*(int *)user_data;
  CHECK(trunkline_call_return_text(call, S("done")) == TRUNKLINE_OK);
}

static void count_reply(trunkline_result result, const trunkline_str *json, const trunkline_error *error,
                        void *user_data) {
  (void)json, (void)error;
  CHECK(result == TRUNKLINE_OK);
  ++*(int *)user_data;
}

/* Keeps the requests of a batch until both have arrived, each with its own value. */
static void number_requests(trunkline_call *call, void *user_data) {
  world_seen *seen = (world_seen *)user_data;
  size_t index;
  CHECK(seen->count < 2 && trunkline_call_var(call, S("number")) == NULL);
  CHECK(trunkline_call_set_var(call, S("number"), &seen->exchanges[seen->count], NULL) == TRUNKLINE_OK);
  seen->calls[seen->count++] = trunkline_call_retain(call);
  for (index = 0; seen->count == 2 && index < 2; ++index) {
    OK(trunkline_call_next(seen->calls[index], NOTHING, NULL, NULL, NULL, &error));
    trunkline_call_free(seen->calls[index]);
  }
}

/* Marks the value of its request. */
static void mark_number(trunkline_call *call, void *user_data) {
  const void **number = (const void **)trunkline_call_var(call, S("number"));
  (void)user_data;
  CHECK(number != NULL && *number == NULL);
  *number = number;
  CHECK(trunkline_call_return_text(call, S("marked")) == TRUNKLINE_OK);
}

static void values_of_a_batch(void) {
  trunkline_server *server = new_server();
  trunkline_listener *listener = NULL;
  trunkline_http_exchange *exchange;
  response opening, batch;
  world_seen seen;
  memset(&seen, 0, sizeof seen);
  add(server, S(PLAIN("mark")), mark_number, NULL);
  OK(trunkline_server_add_middleware(server, S("[\"tools/call\"]"), number_requests, &seen, NULL, &error));
  OK(trunkline_server_mount_http(server, NULL, &listener, &error));
  exchange = post(listener, &opening, "", "localhost", OPENING_OF("2025-03-26"));
  answered(server, &opening);
  trunkline_http_exchange_free(exchange);
  exchange = post(listener, &batch, opening.session, "localhost",
                  "[{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"mark\"}},"
                  "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{\"name\":\"mark\"}}]");
  answered(server, &batch);
  CHECK(batch.status == 200 && seen.exchanges[0] && seen.exchanges[1]);
  trunkline_http_exchange_free(exchange);
  trunkline_listener_free(listener);
  trunkline_server_free(server);
}

static void world_of_a_call(void) {
  trunkline_server *server = new_server();
  trunkline_client *client = NULL;
  trunkline_listener *listener = NULL;
  trunkline_http_exchange *exchanges[2], *exchange = NULL;
  response responses[2], opening;
  world_seen seen;
  trunkline_text *result = NULL;
  int freed = 0;
  memset(&seen, 0, sizeof seen);
  add(server, S(PLAIN("both")), keep_both, &seen);
  add(server, S(PLAIN("address")), tell_address, NULL);
  add(server, S(PLAIN("facts")), check_facts, &opening);
  add(server, S(PLAIN("replace")), replace_var, NULL);
  client = in_memory(server);
  OK(trunkline_client_call_tool(client, S("replace"), NOTHING, NULL, &result, &error));
  check_text(result, "/content/0/text", "done");
  CHECK(live_vars == 0);
  trunkline_text_free(result);

  /* An in-memory caller passes its own data, to a blocking request and to a non-blocking one. */
  {
    trunkline_request_options *options = NULL;
    int user = 0, reply = 0;
    add(server, S(PLAIN("whose")), count_for, &user);
    OK(trunkline_request_options_new(&options, &error));
    CHECK(trunkline_request_options_set_user_data(options, &user, count_up) == TRUNKLINE_OK && user == 0);
    OK(trunkline_client_call_tool(client, S("whose"), NOTHING, options, &result, &error));
    trunkline_text_free(result);
    CHECK(user == 1);
    OK(trunkline_client_start(client, S(TRUNKLINE_METHOD_CALL_TOOL), S("{\"name\":\"whose\"}"), options, count_reply, &reply, NULL, NULL, &error));
    trunkline_request_options_free(options);
    while (reply == 0) OK(trunkline_dispatch(trunkline_client_port(client), 1000, NULL, &error));
    /* The data was used twice, and is freed once: when the requests are over. */
    while (user == 2) OK(trunkline_dispatch(trunkline_server_port(server), 1000, NULL, &error));
    CHECK(user == 3);
    CHECK(trunkline_request_options_set_user_data(NULL, &user, count_up) == TRUNKLINE_NULL && user == 4);
  }
  trunkline_client_free(client);

  /* Two requests at once, each with its own data. */
  OK(trunkline_server_add_middleware(server, S("[\"tools/call\"]"), find_user, &seen, NULL, &error));
  OK(trunkline_server_add_middleware(server, S("[\"tools/call\"]"), pass_through, NULL, NULL, &error));
  OK(trunkline_server_mount_http(server, NULL, &listener, &error));
  exchange = post(listener, &opening, "", "localhost", OPENING);
  answered(server, &opening);
  trunkline_http_exchange_free(exchange);
  exchanges[0] = post(listener, &responses[0], opening.session, "localhost", CALLING("both"));
  while (seen.count < 1) OK(trunkline_dispatch(trunkline_server_port(server), 1000, NULL, &error));
  exchanges[1] = post(listener, &responses[1], opening.session, "localhost",
                      "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{\"name\":\"both\"}}");
  while (seen.count < 2) OK(trunkline_dispatch(trunkline_server_port(server), 1000, NULL, &error));
  CHECK(seen.exchanges[0] == &responses[0] && seen.exchanges[1] == &responses[1] && seen.freed == 0);
  CHECK(trunkline_call_return_text(seen.calls[0], S("one")) == TRUNKLINE_OK);
  answered(server, &responses[0]);
  /* The call keeps the data of its exchange, and the values of its request. */
  trunkline_http_exchange_free(exchanges[0]);
  CHECK(responses[0].freed == 0 && trunkline_call_exchange_data(seen.calls[0]) == &responses[0] && seen.freed == 0);
  trunkline_call_free(seen.calls[0]);
  while (responses[0].freed == 0 || seen.freed == 0) OK(trunkline_dispatch(trunkline_server_port(server), 1000, NULL, &error));
  CHECK(responses[0].freed == 1 && seen.freed == 1);
  CHECK(trunkline_call_return_text(seen.calls[1], S("two")) == TRUNKLINE_OK);
  trunkline_call_free(seen.calls[1]);
  answered(server, &responses[1]);
  trunkline_http_exchange_free(exchanges[1]);
  while (responses[1].freed == 0 || seen.freed == 1) OK(trunkline_dispatch(trunkline_server_port(server), 1000, NULL, &error));
  CHECK(responses[1].freed == 1 && seen.freed == 2 && seen.outer_seen == 2);

  exchange = post(listener, &responses[0], opening.session, "localhost", CALLING("facts"));
  answered(server, &responses[0]);
  CHECK(strstr(responses[0].body, "all as told") != NULL);
  trunkline_http_exchange_free(exchange);

  /* The address of the peer. */
  {
    trunkline_http_header headers[4];
    headers[0].name = S("Host"), headers[0].value = S("localhost");
    headers[1].name = S("Content-Type"), headers[1].value = S("application/json");
    headers[2].name = S("Accept"), headers[2].value = S("application/json, text/event-stream");
    headers[3].name = S("Mcp-Session-Id"), headers[3].value = trunkline_str_of(opening.session);
    memset(&responses[0], 0, sizeof responses[0]);
    OK(trunkline_http_request(listener, S("POST"), S("/mcp"), headers, 4, S("2001:db8::7"), false, see_head, see_chunk, see_end,
                              &responses[0], response_freed, &exchange, &error));
    OK(trunkline_http_body(exchange, CALLING("address"), strlen(CALLING("address")), true, NULL, &error));
    answered(server, &responses[0]);
    CHECK(strstr(responses[0].body, "2001:db8::7") != NULL);
    trunkline_http_exchange_free(exchange);
    FAILS(TRUNKLINE_INVALID_ARGUMENT, "remote_address",
          trunkline_http_request(listener, S("POST"), S("/mcp"), NULL, 0, S("localhost"), true, NULL, NULL, NULL, &freed,
                                 count_up, &exchange, &error));
    CHECK(freed == 1);
  }
  CHECK(trunkline_call_var(NULL, S("x")) == NULL && trunkline_call_exchange_data(NULL) == NULL);
  CHECK(trunkline_call_set_var(NULL, S("x"), &freed, count_up) == TRUNKLINE_NULL && freed == 2);
  trunkline_listener_free(listener);
  trunkline_server_free(server);
}

typedef struct {
  trunkline_call *kept;
  const char *told;
  int replies;
} mount_seen;

static void keep_call(trunkline_call *call, void *user_data) {
  ((mount_seen *)user_data)->kept = trunkline_call_retain(call);
}

static void tell_whose(trunkline_call *call, void *user_data) {
  ((mount_seen *)user_data)->told = (const char *)trunkline_call_exchange_data(call);
  CHECK(trunkline_call_return_text(call, S("done")) == TRUNKLINE_OK);
}

/* A mounted server with its own port: its calls have the data of their own request, never that of a
 * request to itself with the same number. */
static void data_of_a_mounted_server(void) {
  static char eve[] = "eve", ada[] = "ada";
  trunkline_server *inner = new_server(), *outer = new_server();
  trunkline_client *to_inner, *to_outer;
  trunkline_request_options *of_eve = NULL, *of_ada = NULL;
  mount_seen seen = {NULL, NULL, 0};
  add(inner, S(PLAIN("keep")), keep_call, &seen);
  add(inner, S(PLAIN("whose")), tell_whose, &seen);
  OK(trunkline_server_mount(outer, S("in"), inner, NULL, &error));
  to_inner = in_memory(inner), to_outer = in_memory(outer);
  OK(trunkline_request_options_new(&of_eve, &error));
  OK(trunkline_request_options_new(&of_ada, &error));
  CHECK(trunkline_request_options_set_user_data(of_eve, eve, NULL) == TRUNKLINE_OK);
  CHECK(trunkline_request_options_set_user_data(of_ada, ada, NULL) == TRUNKLINE_OK);
  OK(trunkline_client_start(to_inner, S(TRUNKLINE_METHOD_CALL_TOOL), S("{\"name\":\"keep\"}"), of_eve, count_reply, &seen.replies, NULL, NULL, &error));
  while (!seen.kept) OK(trunkline_dispatch(trunkline_server_port(inner), 1000, NULL, &error));
  OK(trunkline_client_start(to_outer, S(TRUNKLINE_METHOD_CALL_TOOL), S("{\"name\":\"in__whose\"}"), of_ada, count_reply, &seen.replies, NULL, NULL, &error));
  while (seen.replies == 0) {
    OK(trunkline_dispatch(trunkline_server_port(inner), 10, NULL, &error));
    OK(trunkline_dispatch(trunkline_server_port(outer), 10, NULL, &error));
  }
  CHECK(seen.told == ada && trunkline_call_exchange_data(seen.kept) == eve);
  CHECK(trunkline_call_return_text(seen.kept, S("done")) == TRUNKLINE_OK);
  while (seen.replies == 1) OK(trunkline_dispatch(trunkline_server_port(inner), 1000, NULL, &error));
  /* Without a destructor, the lifetime of the data is unknown. */
  CHECK(trunkline_call_exchange_data(seen.kept) == NULL);
  trunkline_call_free(seen.kept);
  trunkline_request_options_free(of_eve), trunkline_request_options_free(of_ada);
  trunkline_client_free(to_inner), trunkline_client_free(to_outer);
  trunkline_server_free(outer), trunkline_server_free(inner);
}

#define WORK TRUNKLINE_JSON({"name": "work", "execution": {"taskSupport": "optional"}})

/* A task continues after the response to its request. Data with a destructor exists until its end,
 * and is freed once; the lifetime of other data is unknown. */
static void task_of_a_client(const char *revision, int destructors) {
  trunkline_server *server = new_server();
  trunkline_client *client;
  trunkline_request_options *options = NULL;
  trunkline_text *state = NULL, *result = NULL;
  mount_seen seen = {NULL, NULL, 0};
  uint64_t task = 0, begin;
  int freed = 0;
  const void *wanted = destructors ? &freed : NULL;
  add(server, S(WORK), keep_call, &seen);
  client = in_memory_speaking(server, revision);
  OK(trunkline_request_options_new(&options, &error));
  CHECK(trunkline_request_options_set_user_data(options, &freed, destructors ? count_up : NULL) == TRUNKLINE_OK);
  OK(trunkline_client_start_task(client, S("{\"name\": \"work\"}"), options, &task, &state, &error));
  trunkline_request_options_free(options);
  check_text(state, "/status", "working");
  trunkline_text_free(state);
  while (!seen.kept) OK(trunkline_dispatch(trunkline_server_port(server), 1000, NULL, &error));
  CHECK(trunkline_call_exchange_data(seen.kept) == wanted && freed == 0);
  CHECK(trunkline_call_return_text(seen.kept, S("done")) == TRUNKLINE_OK);
  OK(trunkline_client_task_result(client, task, NULL, &result, &error));
  check_text(result, "/content/0/text", "done");
  trunkline_text_free(result);
  OK(trunkline_client_close_task(client, task, &error));
  CHECK(trunkline_call_exchange_data(seen.kept) == wanted && freed == 0);
  trunkline_call_free(seen.kept);
  begin = now_ms();
  while (freed != destructors) OK(trunkline_dispatch(trunkline_server_port(server), 30000, NULL, &error));
  /* A destructor ends the wait. */
  CHECK(now_ms() - begin < patience_ms(10000));
  trunkline_client_free(client);
  trunkline_server_free(server);
  CHECK(freed == destructors);
}

/* The same for an exchange, whose response only contains the task. */
static void task_of_an_exchange(void) {
  trunkline_server *server = new_server();
  trunkline_listener *listener = NULL;
  trunkline_http_exchange *exchange;
  response opening, working;
  mount_seen seen = {NULL, NULL, 0};
  add(server, S(WORK), keep_call, &seen);
  OK(trunkline_server_mount_http(server, NULL, &listener, &error));
  exchange = post(listener, &opening, "", "localhost", OPENING);
  answered(server, &opening);
  trunkline_http_exchange_free(exchange);
  exchange = post(listener, &working, opening.session, "localhost",
                  "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"work\",\"task\":{}}}");
  answered(server, &working);
  trunkline_http_exchange_free(exchange);
  CHECK(working.status == 200 && strstr(working.body, "\"taskId\"") != NULL);
  while (!seen.kept) OK(trunkline_dispatch(trunkline_server_port(server), 1000, NULL, &error));
  CHECK(trunkline_call_exchange_data(seen.kept) == &working && working.freed == 0);
  CHECK(trunkline_call_return_text(seen.kept, S("done")) == TRUNKLINE_OK);
  CHECK(trunkline_call_exchange_data(seen.kept) == &working && working.freed == 0);
  trunkline_call_free(seen.kept);
  while (working.freed == 0) OK(trunkline_dispatch(trunkline_server_port(server), 1000, NULL, &error));
  trunkline_listener_free(listener);
  trunkline_server_free(server);
  CHECK(working.freed == 1);
}

static void data_of_a_task(void) {
  static const char *const revisions[] = {"2025-11-25", "2026-07-28"};
  size_t index;
  for (index = 0; index < sizeof revisions / sizeof *revisions; ++index) {
    task_of_a_client(revisions[index], 1);
    task_of_a_client(revisions[index], 0);
  }
  task_of_an_exchange();
}

static trunkline_http_exchange *ask_at(trunkline_listener *listener, response *seen, const char *target, const char *bearer,
                                       const char *message) {
  trunkline_http_exchange *exchange = NULL;
  trunkline_http_header headers[4];
  bool has_body = *message != '\0';
  memset(seen, 0, sizeof *seen);
  headers[0].name = S("Host"), headers[0].value = S("localhost");
  headers[1].name = S("Content-Type"), headers[1].value = S("application/json");
  headers[2].name = S("Accept"), headers[2].value = S("application/json, text/event-stream");
  headers[3].name = S("Authorization"), headers[3].value = trunkline_str_of(bearer);
  OK(trunkline_http_request(listener, has_body ? S("POST") : S("GET"), trunkline_str_of(target), headers, *bearer ? 4 : 3,
                            NOTHING, !has_body, see_head, see_chunk, see_end, seen, response_freed, &exchange, &error));
  if (has_body) OK(trunkline_http_body(exchange, message, strlen(message), true, NULL, &error));
  return exchange;
}

/* A verifier that judges later. */
static void keep_token(trunkline_call *call, void *user_data) {
  world_seen *seen = (world_seen *)user_data;
  CHECK(seen->count < 2);
  seen->exchanges[seen->count] = trunkline_call_exchange_data(call);
  seen->calls[seen->count++] = trunkline_call_retain(call);
}

/* AUS-02: a verifier has the data of the request that presents the token, and a challenge names
 * metadata that the server serves, with and without a prefix stripped by the web server. */
static void tokens_of_a_mounted_server(void) {
  static const char *const places[][3] = {
      {"/api/mcp", "https://notes.example/.well-known/oauth-protected-resource/api/mcp",
       "/.well-known/oauth-protected-resource/api/mcp"},
      {"/", "https://notes.example/api/mcp/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource"},
  };
  trunkline_server *server = new_server();
  trunkline_http_options *options = NULL;
  trunkline_listener *listener = NULL;
  trunkline_http_exchange *exchanges[2], *exchange;
  response responses[2], answer;
  world_seen seen;
  uint64_t verifier = 0;
  char auth[300], challenge[200];
  size_t index;
  memset(&seen, 0, sizeof seen);
  OK(trunkline_server_add(server, S("verifier"), S("{}"), keep_token, &seen, NULL, &verifier, &error));
  snprintf(auth, sizeof auth,
           "{\"resource\":\"https://notes.example/api/mcp\",\"authorizationServers\":[\"https://login.example\"],"
           "\"metadata\":{\"resource_name\":\"Notes\"},\"verifier\":%llu}",
           (unsigned long long)verifier);
  OK(trunkline_http_options_new(&options, &error));
  CHECK(trunkline_http_options_set_auth(options, trunkline_str_of(auth)) == TRUNKLINE_OK);
  OK(trunkline_server_mount_http(server, options, &listener, &error));
  trunkline_http_options_free(options);

  for (index = 0; index < sizeof places / sizeof *places; ++index) {
    snprintf(challenge, sizeof challenge, "resource_metadata=\"%s\"", places[index][1]);
    exchange = ask_at(listener, &answer, places[index][0], "", OPENING);
    answered(server, &answer);
    trunkline_http_exchange_free(exchange);
    CHECK(answer.status == 401 && strstr(answer.challenge, challenge) != NULL);
    exchange = ask_at(listener, &answer, places[index][2], "", "");
    answered(server, &answer);
    trunkline_http_exchange_free(exchange);
    CHECK(answer.status == 200 && strstr(answer.body, "\"resource\":\"https://notes.example/api/mcp\"") != NULL);
    CHECK(strstr(answer.body, "\"resource_name\":\"Notes\"") != NULL);
  }
  CHECK(seen.count == 0);

  exchanges[0] = ask_at(listener, &responses[0], "/api/mcp", "Bearer one", OPENING);
  while (seen.count < 1) OK(trunkline_dispatch(trunkline_server_port(server), 1000, NULL, &error));
  exchanges[1] = ask_at(listener, &responses[1], "/api/mcp", "Bearer two", OPENING);
  while (seen.count < 2) OK(trunkline_dispatch(trunkline_server_port(server), 1000, NULL, &error));
  CHECK(seen.exchanges[0] == &responses[0] && seen.exchanges[1] == &responses[1]);
  for (index = 0; index < 2; ++index) {
    OK(trunkline_call_return_json(seen.calls[index], TRUNKLINE_SHAPE_VALUE, S("{\"subject\": \"ann\"}"), &error));
    answered(server, &responses[index]);
    CHECK(responses[index].status == 200);
    trunkline_http_exchange_free(exchanges[index]);
    CHECK(trunkline_call_exchange_data(seen.calls[index]) == &responses[index] && responses[index].freed == 0);
    trunkline_call_free(seen.calls[index]);
    while (responses[index].freed == 0) OK(trunkline_dispatch(trunkline_server_port(server), 1000, NULL, &error));
    CHECK(responses[index].freed == 1);
  }
  trunkline_listener_free(listener);
  trunkline_server_free(server);
  CHECK(responses[0].freed == 1 && responses[1].freed == 1);
}

/* A server on the program's own socket. */
static void own_descriptors(void) {
#ifndef _WIN32
  static const char ping[] = "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\"}\n";
  trunkline_server *server = new_server();
  trunkline_listener *listener = NULL;
  int ends[2], pipes[2];
  char answer[200];
  ssize_t got;
  CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0 && pipe(pipes) == 0);
  FAILS(TRUNKLINE_INVALID_ARGUMENT, "-1", trunkline_server_listen_fd(server, -1, ends[0], &listener, &error));
  close(pipes[0]);
  FAILS(TRUNKLINE_INVALID_ARGUMENT, "not open", trunkline_server_listen_fd(server, pipes[0], ends[0], &listener, &error));
  close(pipes[1]);
  /* Non-blocking, as an event loop leaves it. */
  CHECK(fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0);
  OK(trunkline_server_listen_fd(server, ends[0], ends[0], &listener, &error));
  close(ends[0]);
  CHECK(write(ends[1], ping, sizeof ping - 1) == (ssize_t)sizeof ping - 1);
  got = read(ends[1], answer, sizeof answer - 1);
  CHECK(got > 0);
  answer[got] = '\0';
  CHECK(strstr(answer, "\"id\":7") && strchr(answer, '\n'));
  CHECK(shutdown(ends[1], SHUT_WR) == 0);
  while (!trunkline_listener_closed(listener)) OK(trunkline_dispatch(trunkline_server_port(server), 1000, NULL, &error));
  /* The library closes its duplicates. */
  CHECK(read(ends[1], answer, sizeof answer) == 0);
  close(ends[1]);
  trunkline_listener_free(listener);
  trunkline_server_free(server);
#endif
}

static void json_writer(void) {
  trunkline_json_writer *writer = NULL;
  trunkline_text *json = NULL;
  int depth;
  OK(trunkline_json_writer_new(&writer, &error));
  FAILS(TRUNKLINE_INVALID_ARGUMENT, "nothing was written", trunkline_json_writer_finish(writer, &json, &error));
  trunkline_json_writer_begin_object(writer);
  trunkline_json_writer_key(writer, S("a \"key\""));
  trunkline_json_writer_text(writer, S("line\n"));
  trunkline_json_writer_key(writer, S("numbers"));
  trunkline_json_writer_begin_array(writer);
  trunkline_json_writer_number(writer, 0.1);
  trunkline_json_writer_int64(writer, INT64_C(9007199254740993));
  trunkline_json_writer_begin_array(writer);
  trunkline_json_writer_end(writer);
  trunkline_json_writer_end(writer);
  trunkline_json_writer_key(writer, S("rest"));
  trunkline_json_writer_json(writer, S("[true,null]"));
  CHECK(trunkline_json_writer_end(writer) == TRUNKLINE_OK);
  OK(trunkline_json_writer_finish(writer, &json, &error));
  CHECK(same(trunkline_text_str(json),
             "{\"a \\\"key\\\"\":\"line\\n\",\"numbers\":[0.1,9007199254740993,[]],\"rest\":[true,null]}"));
  trunkline_text_free(json), json = NULL;
  /* The first failure stays until the end, and then the writer is good again. */
  trunkline_json_writer_begin_object(writer);
  CHECK(trunkline_json_writer_bool(writer, true) == TRUNKLINE_INVALID_ARGUMENT);
  CHECK(trunkline_json_writer_end(writer) == TRUNKLINE_INVALID_ARGUMENT);
  FAILS(TRUNKLINE_INVALID_ARGUMENT, "needs a key", trunkline_json_writer_finish(writer, &json, &error));
  CHECK(trunkline_json_writer_null(writer) == TRUNKLINE_OK);
  CHECK(trunkline_json_writer_null(writer) == TRUNKLINE_INVALID_ARGUMENT);
  FAILS(TRUNKLINE_INVALID_ARGUMENT, "already a value", trunkline_json_writer_finish(writer, &json, &error));
  CHECK(trunkline_json_writer_number(writer, HUGE_VAL) == TRUNKLINE_INVALID_ARGUMENT);
  FAILS(TRUNKLINE_INVALID_ARGUMENT, "cannot represent the number", trunkline_json_writer_finish(writer, &json, &error));
  CHECK(trunkline_json_writer_json(writer, S("{oops")) == TRUNKLINE_INVALID_ARGUMENT);
  FAILS(TRUNKLINE_INVALID_ARGUMENT, "json", trunkline_json_writer_finish(writer, &json, &error));
  CHECK(trunkline_json_writer_end(writer) == TRUNKLINE_INVALID_ARGUMENT);
  FAILS(TRUNKLINE_INVALID_ARGUMENT, "no object or array is open", trunkline_json_writer_finish(writer, &json, &error));
  trunkline_json_writer_begin_object(writer);
  trunkline_json_writer_key(writer, S("a"));
  CHECK(trunkline_json_writer_key(writer, S("b")) == TRUNKLINE_INVALID_ARGUMENT);
  FAILS(TRUNKLINE_INVALID_ARGUMENT, "the key \"b\"", trunkline_json_writer_finish(writer, &json, &error));
  for (depth = 0; depth < 128; ++depth) CHECK(trunkline_json_writer_begin_array(writer) == TRUNKLINE_OK);
  CHECK(trunkline_json_writer_begin_array(writer) == TRUNKLINE_INVALID_ARGUMENT);
  FAILS(TRUNKLINE_INVALID_ARGUMENT, "128", trunkline_json_writer_finish(writer, &json, &error));
  trunkline_json_writer_free(writer);
  trunkline_json_writer_free(NULL);
  CHECK(json == NULL && trunkline_json_writer_null(NULL) == TRUNKLINE_NULL);
}

typedef struct {
  bool can_open, is_open, over_stdio;
  int opened, closed, called, freed;
  /* Mounted on the other while that one opens. */
  trunkline_server *mounted, *outer;
  uint64_t mount;
} life;

static bool is_same_file(int one, int other) {
#ifdef _WIN32
  (void)one, (void)other;
  return true;
#else
  struct stat first, second;
  return !fstat(one, &first) && !fstat(other, &second) && first.st_dev == second.st_dev && first.st_ino == second.st_ino;
#endif
}

static bool open_life(void *user_data) {
  life *seen = (life *)user_data;
  CHECK(!seen->is_open);
  /* Over stdio, output goes to standard error. */
  CHECK(!seen->over_stdio || is_same_file(1, 2));
  ++seen->opened;
  if (seen->mounted) OK(trunkline_server_mount(seen->outer, S("in"), seen->mounted, &seen->mount, &error));
  seen->mounted = NULL;
  return seen->is_open = seen->can_open;
}

static void close_life(void *user_data) {
  life *seen = (life *)user_data;
  CHECK(seen->is_open);
  ++seen->closed;
  seen->is_open = false;
}

static void free_life(void *user_data) { ++((life *)user_data)->freed; }

static void in_life(trunkline_call *call, void *user_data) {
  life *seen = (life *)user_data;
  CHECK(seen->is_open);
  ++seen->called;
  CHECK(trunkline_call_return_text(call, S("alive")) == TRUNKLINE_OK);
}

static void live(trunkline_server *server, life *seen) {
  memset(seen, 0, sizeof *seen);
  seen->can_open = true;
  add(server, S(PLAIN("live")), in_life, seen);
  OK(trunkline_server_set_lifespan(server, open_life, close_life, seen, free_life, &error));
}

static void call_live(trunkline_client *client, const char *tool) {
  trunkline_text *result = NULL;
  OK(trunkline_client_call_tool(client, trunkline_str_of(tool), NOTHING, NULL, &result, &error));
  check_text(result, "/content/0/text", "alive");
  trunkline_text_free(result);
}

static void answer_life(trunkline_call *call, void *answered) {
  ++*(int *)answered;
  OK(trunkline_call_return_result(call, S("{}"), &error));
}

/* Served over a pipe by this very program, which writes down that the end was as it must be. */
static void serve_life(const char *path) {
  trunkline_server *server = new_server();
  FILE *file;
  life seen;
  live(server, &seen);
  seen.over_stdio = true;
  OK(trunkline_server_serve_stdio(server, &error));
  CHECK(seen.opened == 1 && seen.called == 1 && seen.closed == 1);
  trunkline_server_free(server);
  CHECK(seen.freed == 1 && seen.closed == 1);
  file = fopen(path, "w");
  CHECK(file != NULL && fputs("closed once", file) >= 0 && fclose(file) == 0);
}

static void lifespan(void) {
  trunkline_server *server = new_server(), *outer = NULL;
  trunkline_server_options *same_port = NULL;
  trunkline_client *one = NULL, *two = NULL;
  trunkline_listener *listener = NULL;
  thread_task task = {raise_signal, NULL};
  thread raiser;
  trunkline_text *result = NULL;
  life seen, other;
  uint64_t mount = 0;
  int answered = 0;
  live(server, &seen);
  seen.can_open = false;
  FAILS(TRUNKLINE_TRANSPORT, "lifespan", trunkline_client_connect_memory(server, NULL, &one, &error));
  CHECK(seen.opened == 1 && seen.closed == 0);
  seen.can_open = true;

  /* In memory: the last client closes it. */
  one = in_memory(server), two = in_memory(server);
  CHECK(seen.opened == 2);
  FAILS(TRUNKLINE_INVALID_ARGUMENT, "before listening",
        trunkline_server_set_lifespan(server, open_life, close_life, &other, NULL, &error));
  call_live(one, "live");
  OK(trunkline_client_close(one, 5000, &error));
  CHECK(seen.closed == 0);
  call_live(two, "live");
  OK(trunkline_client_close(two, 5000, &error));
  CHECK(seen.closed == 1);
  trunkline_client_free(one), trunkline_client_free(two);

  /* A client that is freed without waiting. */
  one = in_memory(server);
  trunkline_client_free(one);
  while (seen.closed < 2) OK(trunkline_dispatch(trunkline_server_port(server), 1000, NULL, &error));

  /* HTTP, until SIGTERM. */
  signalled = server;
  listener = listen_http(server);
  signal(SIGTERM, on_signal);
  thread_start(&raiser, &task);
  CHECK(seen.opened == 4 && seen.closed == 2);
  OK(trunkline_server_run(server, &error));
  CHECK(seen.closed == 3);
  thread_join(raiser);
  trunkline_listener_free(listener);

  /* Mounted in a web server; a free without a close. */
  OK(trunkline_server_mount_http(server, NULL, &listener, &error));
  CHECK(seen.opened == 5);
  trunkline_server_free(server);
  CHECK(seen.closed == 4 && seen.freed == 1 && !seen.is_open);
  trunkline_listener_free(listener);

  /* With calls. */
  server = new_server();
  OK(trunkline_server_set_lifespan_calls(server, answer_life, answer_life, &answered, NULL, &error));
  FAILS(TRUNKLINE_INVALID_ARGUMENT, "already has a lifespan",
        trunkline_server_set_lifespan(server, open_life, close_life, &other, NULL, &error));
  one = in_memory(server);
  CHECK(answered == 1);
  OK(trunkline_client_close(one, 5000, &error));
  CHECK(answered == 2);
  trunkline_client_free(one);
  trunkline_server_free(server);

  /* A server that another one shows opens with the first call, and closes with the other. */
  server = new_server();
  live(server, &seen);
  OK(trunkline_server_options_new(&same_port, &error));
  CHECK(trunkline_server_options_set_port(same_port, trunkline_server_port(server)) == TRUNKLINE_OK);
  OK(trunkline_server_new_with(S("outer"), S("1"), same_port, &outer, &error));
  live(outer, &other);
  one = in_memory(outer);
  CHECK(other.opened == 1 && seen.opened == 0);
  OK(trunkline_server_mount(outer, S("in"), server, &mount, &error));
  CHECK(seen.opened == 0);
  call_live(one, "in__live");
  CHECK(seen.opened == 1);
  OK(trunkline_server_remove(outer, mount, &error));
  CHECK(seen.closed == 0);
  OK(trunkline_client_close(one, 5000, &error));
  CHECK(other.closed == 1 && seen.closed == 1);
  trunkline_client_free(one);

  /* One that is mounted while the other opens. */
  other.mounted = server, other.outer = outer;
  one = in_memory(outer);
  CHECK(other.opened == 2 && seen.opened == 1);
  call_live(one, "in__live");
  CHECK(seen.opened == 2);
  OK(trunkline_client_close(one, 5000, &error));
  CHECK(other.closed == 2 && seen.closed == 2);
  trunkline_client_free(one);
  OK(trunkline_server_remove(outer, other.mount, &error));

  /* A call fails if it cannot be opened, and the next one tries again. */
  one = in_memory(outer);
  OK(trunkline_server_mount(outer, S("in"), server, NULL, &error));
  CHECK(other.opened == 3 && seen.opened == 2);
  seen.can_open = false;
  FAILS(TRUNKLINE_PROTOCOL, "", trunkline_client_call_tool(one, S("in__live"), NOTHING, NULL, &result, &error));
  seen.can_open = true;
  call_live(one, "in__live");
  CHECK(seen.opened == 4);
  OK(trunkline_client_close(one, 5000, &error));
  CHECK(other.closed == 3 && seen.closed == 3);
  trunkline_client_free(one);
  trunkline_server_options_free(same_port);
  trunkline_server_free(outer);
  trunkline_server_free(server);
  CHECK(seen.freed == 1 && other.freed == 1);

  /* Over a pipe. */
  {
    trunkline_str command[3];
    char path[500], found[20] = "";
    FILE *file;
    CHECK(snprintf(path, sizeof path, "%s.life", program) < (int)sizeof path);
    remove(path);
    command[0] = trunkline_str_of(program), command[1] = S("--serve-life"), command[2] = trunkline_str_of(path);
    OK(trunkline_client_connect_child(command, 3, NULL, &one, &error));
    call_live(one, "live");
    OK(trunkline_client_close(one, 5000, &error));
    trunkline_client_free(one);
    file = fopen(path, "r");
    CHECK(file != NULL && fgets(found, sizeof found, file) && strcmp(found, "closed once") == 0);
    fclose(file);
  }
}
