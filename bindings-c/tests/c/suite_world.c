#include <math.h>
#ifndef _WIN32
#include <fcntl.h>
#include <sys/socket.h>
#endif

/* The world of a call: data of its exchange, values of its request, lifespan of its server. A part
   of suite.c. */

typedef struct {
  int freed, outer_seen;
  trunkline_call *calls[2];
  const void *exchanges[2];
  size_t count;
} world_seen;

static void free_var(void *value) { ++*(int *)value; }

static void find_user(trunkline_call *call, trunkline_str arguments, void *user_data) {
  world_seen *seen = (world_seen *)user_data;
  (void)arguments;
  CHECK(trunkline_call_var(call, S("user")) == NULL);
  CHECK(trunkline_call_set_var(call, S("user"), &seen->freed, free_var) == TRUNKLINE_OK);
  CHECK(trunkline_call_set_var(call, S("exchange"), trunkline_call_exchange_data(call), NULL) == TRUNKLINE_OK);
  ++seen->outer_seen;
  OK(trunkline_call_next(call, NOTHING, NULL, NULL, NULL, &error));
}

static void pass_through(trunkline_call *call, trunkline_str arguments, void *user_data) {
  (void)arguments, (void)user_data;
  CHECK(trunkline_call_var(call, S("user")) != NULL);
  OK(trunkline_call_next(call, NOTHING, NULL, NULL, NULL, &error));
}

static void keep_both(trunkline_call *call, trunkline_str arguments, void *user_data) {
  world_seen *seen = (world_seen *)user_data;
  (void)arguments;
  CHECK(seen->count < 2 && trunkline_call_var(call, S("user")) == &seen->freed);
  seen->exchanges[seen->count] = trunkline_call_exchange_data(call);
  CHECK(trunkline_call_var(call, S("exchange")) == seen->exchanges[seen->count]);
  seen->calls[seen->count++] = trunkline_call_retain(call);
}

static void tell_address(trunkline_call *call, trunkline_str arguments, void *user_data) {
  trunkline_text *address = NULL;
  (void)arguments, (void)user_data;
  CHECK(trunkline_call_fact(call, S("/remoteAddress"), &address) == TRUNKLINE_OK);
  CHECK(trunkline_call_return_text(call, trunkline_text_str(address)) == TRUNKLINE_OK);
  trunkline_text_free(address);
}

static int live_vars;
static void free_counted(void *value) { free(value), --live_vars; }

/* Replaces its own value: the first stays valid until the call is over. */
static void replace_var(trunkline_call *call, trunkline_str arguments, void *user_data) {
  int round, *first = NULL;
  (void)arguments, (void)user_data;
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
static void count_for(trunkline_call *call, trunkline_str arguments, void *user_data) {
  (void)arguments;
  CHECK(trunkline_call_exchange_data(call) == user_data);
  ++*(int *)user_data;
  CHECK(trunkline_call_return_text(call, S("done")) == TRUNKLINE_OK);
}

static void count_reply(trunkline_result result, trunkline_str json, const trunkline_error *error, void *user_data) {
  (void)json, (void)error;
  CHECK(result == TRUNKLINE_OK);
  ++*(int *)user_data;
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
  add(server, S(PLAIN("replace")), replace_var, NULL);
  client = in_memory(server);
  OK(trunkline_client_call_tool(client, S("replace"), NOTHING, NULL, &result, &error));
  check_text(result, "/content/0/text", "done");
  CHECK(live_vars == 0);
  trunkline_text_free(result);

  /* A caller in memory gives data of its own, to a request that blocks and to one that does not. */
  {
    trunkline_request_options *options = NULL;
    int user = 0, reply = 0;
    add(server, S(PLAIN("whose")), count_for, &user);
    OK(trunkline_request_options_new(&options, &error));
    CHECK(trunkline_request_options_set_user_data(options, &user, count_up) == TRUNKLINE_OK && user == 0);
    OK(trunkline_client_call_tool(client, S("whose"), NOTHING, options, &result, &error));
    trunkline_text_free(result);
    CHECK(user == 1);
    OK(trunkline_client_start_call_tool(client, S("whose"), NOTHING, options, count_reply, &reply, NULL, NULL, &error));
    trunkline_request_options_free(options);
    while (reply == 0) OK(trunkline_dispatch(trunkline_client_port(client), 1000, NULL, &error));
    /* The data was used twice and freed once. */
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
  CHECK(responses[0].freed == 1 && seen.freed == 1);
  CHECK(trunkline_call_return_text(seen.calls[1], S("two")) == TRUNKLINE_OK);
  trunkline_call_free(seen.calls[1]);
  answered(server, &responses[1]);
  trunkline_http_exchange_free(exchanges[1]);
  CHECK(responses[1].freed == 1 && seen.freed == 2 && seen.outer_seen == 2);

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

/* A server on a socket of the program's own. */
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
  /* The library lets go of its duplicates. */
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
  FAILS(TRUNKLINE_INVALID_ARGUMENT, "one value already", trunkline_json_writer_finish(writer, &json, &error));
  CHECK(trunkline_json_writer_number(writer, HUGE_VAL) == TRUNKLINE_INVALID_ARGUMENT);
  FAILS(TRUNKLINE_INVALID_ARGUMENT, "no number", trunkline_json_writer_finish(writer, &json, &error));
  CHECK(trunkline_json_writer_json(writer, S("{oops")) == TRUNKLINE_INVALID_ARGUMENT);
  FAILS(TRUNKLINE_INVALID_ARGUMENT, "json", trunkline_json_writer_finish(writer, &json, &error));
  CHECK(trunkline_json_writer_end(writer) == TRUNKLINE_INVALID_ARGUMENT);
  FAILS(TRUNKLINE_INVALID_ARGUMENT, "nothing to end", trunkline_json_writer_finish(writer, &json, &error));
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
  bool can_open, is_open;
  int opened, closed, called, freed;
} life;

static bool open_life(void *user_data) {
  life *seen = (life *)user_data;
  CHECK(!seen->is_open);
  ++seen->opened;
  return seen->is_open = seen->can_open;
}

static void close_life(void *user_data) {
  life *seen = (life *)user_data;
  CHECK(seen->is_open);
  ++seen->closed;
  seen->is_open = false;
}

static void free_life(void *user_data) { ++((life *)user_data)->freed; }

static void in_life(trunkline_call *call, trunkline_str arguments, void *user_data) {
  life *seen = (life *)user_data;
  (void)arguments;
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

/* Served over a pipe by this very program, which writes down that the end was as it must be. */
static void serve_life(const char *path) {
  trunkline_server *server = new_server();
  FILE *file;
  life seen;
  live(server, &seen);
  OK(trunkline_server_run_stdio(server, &error));
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
  life seen, other;
  live(server, &seen);
  seen.can_open = false;
  FAILS(TRUNKLINE_TRANSPORT, "lifespan", trunkline_client_connect_memory(server, NULL, &one, &error));
  CHECK(seen.opened == 1 && seen.closed == 0);
  seen.can_open = true;

  /* In memory: the last client closes it. */
  one = in_memory(server), two = in_memory(server);
  CHECK(seen.opened == 2);
  FAILS(TRUNKLINE_INVALID_ARGUMENT, "before it listens",
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

  /* A server that another one shows lives with it, also if it was mounted while that one lived. */
  server = new_server();
  live(server, &seen);
  OK(trunkline_server_options_new(&same_port, &error));
  CHECK(trunkline_server_options_set_port(same_port, trunkline_server_port(server)) == TRUNKLINE_OK);
  OK(trunkline_server_new_with(S("outer"), S("1"), same_port, &outer, &error));
  live(outer, &other);
  one = in_memory(outer);
  CHECK(other.opened == 1 && seen.opened == 0);
  OK(trunkline_server_mount(outer, S("in"), server, NULL, &error));
  CHECK(seen.opened == 1);
  call_live(one, "in__live");
  OK(trunkline_client_close(one, 5000, &error));
  CHECK(other.closed == 1 && seen.closed == 1);
  trunkline_client_free(one);
  seen.can_open = false;
  FAILS(TRUNKLINE_TRANSPORT, "lifespan", trunkline_client_connect_memory(outer, NULL, &one, &error));
  CHECK(other.opened == 1);
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
