/* Objects that are freed while they are in use, several threads on one port, and what is closed
   together. */

/* A server with its own thread and port, reached over HTTP. */
typedef struct {
  trunkline_server *server;
  trunkline_listener *listener;
  thread_task task;
  thread runner;
} elsewhere;

static void run_elsewhere(elsewhere *there, trunkline_server *server) {
  there->server = server;
  there->listener = listen_http(there->server);
  there->task.run = run_server;
  there->task.data = there->server;
  thread_start(&there->runner, &there->task);
}

static void begin_elsewhere(elsewhere *there) { run_elsewhere(there, new_server()); }

static void end_elsewhere(elsewhere *there) {
  CHECK(trunkline_server_stop(there->server) == TRUNKLINE_OK);
  thread_join(there->runner);
  trunkline_listener_free(there->listener);
  trunkline_server_free(there->server);
}

/* A client of it, on that port or on its own. */
static trunkline_client *client_of(const elsewhere *there, trunkline_port *port) {
  trunkline_client_options *options = NULL;
  trunkline_client *client = NULL;
  OK(trunkline_client_options_new(&options, &error));
  if (port) CHECK(trunkline_client_options_set_port(options, port) == TRUNKLINE_OK);
  OK(trunkline_client_connect_http(trunkline_listener_url(there->listener), options, &client, &error));
  trunkline_client_options_free(options);
  return client;
}

/* ---- freed inside callbacks ---- */

typedef struct {
  trunkline_client *client;
  trunkline_request_options *options;
  trunkline_port *port;
  trunkline_listener *listener;
  trunkline_server *server;
  int count;
} doomed;

static void free_all(doomed *it) {
  ++it->count;
  trunkline_client_free(it->client), it->client = NULL;
  trunkline_request_options_free(it->options), it->options = NULL;
  trunkline_port_free(it->port), it->port = NULL;
  trunkline_listener_free(it->listener), it->listener = NULL;
  trunkline_server_free(it->server), it->server = NULL;
}

static void free_on_reply(trunkline_result result, const trunkline_str *json, const trunkline_error *error,
                          void *user_data) {
  (void)result, (void)json, (void)error;
  free_all((doomed *)user_data);
}

static void free_on_progress(double progress, double total, const trunkline_str *message, void *user_data) {
  (void)progress, (void)total, (void)message;
  free_all((doomed *)user_data);
}

static void free_on_call(trunkline_call *call, void *user_data) {
  free_all((doomed *)user_data);
  CHECK(trunkline_call_return_text(call, S("gone")) != TRUNKLINE_NULL);
}

/* On the far server: its client may go away meanwhile. */
static void one_step(trunkline_call *call, void *user_data) {
  unsigned long long end = now_ms() + patience_ms(10000);
  (void)user_data;
  CHECK(trunkline_call_progress(call, 1, 2, NOTHING) == TRUNKLINE_OK);
  while (!trunkline_call_cancelled(call) && now_ms() < end) sleep_ms(5);
}

static void run_doomed(void *data) { OK(trunkline_server_run(((doomed *)data)->server, &error)); }

static void start_echo(trunkline_client *client, trunkline_reply_callback callback, void *user_data) {
  OK(trunkline_client_start(client, S(TRUNKLINE_METHOD_CALL_TOOL), S("{\"name\":\"echo\",\"arguments\":{\"message\":\"x\"}}"), NULL, callback, user_data, NULL, NULL,
                                      &error));
}

static void freed_inside_callbacks(void) {
  elsewhere there;
  doomed it;
  trunkline_text *result = NULL;
  trunkline_client *client = NULL;
  trunkline_http_options *http_options = NULL;
  trunkline_str url;
  thread_task task = {run_doomed, NULL};
  thread runner;
  memset(&it, 0, sizeof it);
  begin_elsewhere(&there);
  add(there.server, S(PLAIN("step")), one_step, NULL);
  add(there.server, S(PLAIN("keep")), keep, NULL);

  /* In a dispatch of the client's own port. */
  it.client = client_of(&there, NULL);
  start_echo(it.client, free_on_reply, &it);
  while (!it.count) OK(trunkline_dispatch(trunkline_client_port(it.client), 1000, NULL, &error));
  CHECK(it.count == 1 && it.client == NULL);

  /* With the port that it shared. */
  OK(trunkline_port_new(&it.port, &error));
  it.client = client_of(&there, it.port);
  start_echo(it.client, free_on_reply, &it);
  while (it.count < 2) OK(trunkline_dispatch(it.port, 1000, NULL, &error));

  /* In its own blocking call, with the options of that. */
  it.client = client_of(&there, NULL);
  OK(trunkline_request_options_new(&it.options, &error));
  CHECK(trunkline_request_options_on_progress(it.options, free_on_progress, &it, NULL) == TRUNKLINE_OK);
  FAILS(TRUNKLINE_CLOSED, "", trunkline_client_call_tool(it.client, S("step"), S("{}"), it.options, &result, &error));
  CHECK(it.count == 3 && result == NULL);

  /* While it is closed: its close ends too. */
  it.client = client_of(&there, NULL);
  OK(trunkline_client_start(it.client, S(TRUNKLINE_METHOD_CALL_TOOL), S("{\"name\":\"keep\"}"), NULL, free_on_reply, &it, NULL, NULL, &error));
  OK(trunkline_client_close(it.client, 100, &error));
  CHECK(it.count == 4 && it.client == NULL);

  /* A server, in its own run. */
  it.server = new_server();
  OK(trunkline_http_options_new(&http_options, &error));
  CHECK(trunkline_http_options_set_port(http_options, 0) == TRUNKLINE_OK);
  OK(trunkline_server_listen_http(it.server, http_options, &it.listener, &error));
  trunkline_http_options_free(http_options);
  add(it.server, S(PLAIN("free")), free_on_call, &it);
  url = trunkline_listener_url(it.listener);
  task.data = &it;
  thread_start(&runner, &task);
  OK(trunkline_client_connect_http(url, NULL, &client, &error));
  CHECK(trunkline_client_call_tool(client, S("free"), S("{}"), NULL, &result, NULL) != TRUNKLINE_NULL);
  trunkline_text_free(result);
  thread_join(runner);
  CHECK(it.count == 5 && it.server == NULL);
  trunkline_client_free(client);
  end_elsewhere(&there);
  if (kept) trunkline_call_free(kept), kept = NULL;
}

/* ---- one callback at a time ---- */

/* A port on which one thread runs a long callback and another one waits. */
typedef struct {
  trunkline_port *port;
  trunkline_server *server;
  trunkline_client *near, *far;
  elsewhere there;
  volatile int inside, stop, told, freed, progress_count;
  volatile double last;
  outcome ends;
} crowded;

static void far_progress(double progress, double total, const trunkline_str *message, void *user_data) {
  crowded *it = (crowded *)user_data;
  (void)total, (void)message;
  CHECK(!it->inside);
  it->last = progress;
  ++it->progress_count;
}

static void call_far(crowded *it, trunkline_str tool) {
  trunkline_request_options *options = NULL;
  trunkline_text *result = NULL;
  OK(trunkline_request_options_new(&options, &error));
  CHECK(trunkline_request_options_on_progress(options, far_progress, it, NULL) == TRUNKLINE_OK);
  OK(trunkline_client_call_tool(it->far, tool, S("{}"), options, &result, &error));
  trunkline_request_options_free(options);
  trunkline_text_free(result);
}

static void call_steps(void *data) { call_far((crowded *)data, S("steps")); }

static void call_hold(void *data) { call_far((crowded *)data, S("hold")); }

static void dispatch_meanwhile(void *data) {
  crowded *it = (crowded *)data;
  while (!it->stop) OK(trunkline_dispatch(it->port, 20, NULL, &error));
}

/* Another thread's blocking call ends although this callback waits for it; its progress does not
   run meanwhile. */
static void wait_for_the_other(trunkline_call *call, void *user_data) {
  crowded *it = (crowded *)user_data;
  thread_task task = {call_steps, NULL};
  thread other;
  it->inside = 1;
  task.data = it;
  thread_start(&other, &task);
  thread_join(other);
  it->inside = 0;
  CHECK(it->progress_count == 0);
  CHECK(trunkline_call_return_text(call, S("done")) == TRUNKLINE_OK);
}

static thread_task hold_task = {call_hold, NULL};
static thread hold_thread;

/* Returns before the other thread's call: what arrived meanwhile is delivered then. */
static void return_before_the_other(trunkline_call *call, void *user_data) {
  crowded *it = (crowded *)user_data;
  it->inside = 1;
  hold_task.data = it;
  thread_start(&hold_thread, &hold_task);
  while (!it->told) sleep_ms(5);
  sleep_ms(50);
  it->inside = 0;
  CHECK(trunkline_call_return_text(call, S("done")) == TRUNKLINE_OK);
}

/* On the remote server: reports progress and returns when that was seen. */
static void hold(trunkline_call *call, void *user_data) {
  crowded *it = (crowded *)user_data;
  unsigned long long end = now_ms() + patience_ms(10000);
  CHECK(trunkline_call_progress(call, 1, 3, S("holding")) == TRUNKLINE_OK);
  it->told = 1;
  while (!it->progress_count && now_ms() < end) sleep_ms(5);
  CHECK(trunkline_call_return_text(call, S("held")) == TRUNKLINE_OK);
}

/* On the remote server: reports a lot of progress and returns. */
static void hasten(trunkline_call *call, void *user_data) {
  int step;
  for (step = 1; step <= 50; ++step) {
    CHECK(trunkline_call_progress(call, step, 50, S("hastening")) == TRUNKLINE_OK);
    sleep_ms(2);
  }
  ((crowded *)user_data)->told = 1;
  CHECK(trunkline_call_return_text(call, S("done")) == TRUNKLINE_OK);
}

/* While this runs, another thread takes events: accumulated progress is merged, and cancelled calls
 * are removed. */
static void pile_up(trunkline_call *call, void *user_data) {
  crowded *it = (crowded *)user_data;
  trunkline_request_options *options = NULL;
  thread_task task = {dispatch_meanwhile, NULL};
  thread other;
  uint64_t ticket = 0;
  unsigned long long end = now_ms() + patience_ms(10000);
  it->inside = 1;
  it->progress_count = it->told = it->stop = 0;
  task.data = it;
  thread_start(&other, &task);
  OK(trunkline_request_options_new(&options, &error));
  CHECK(trunkline_request_options_on_progress(options, far_progress, it, NULL) == TRUNKLINE_OK);
  OK(trunkline_client_start(it->far, S(TRUNKLINE_METHOD_CALL_TOOL), S("{\"name\":\"hasten\"}"), options, see_outcome, &it->ends, free_outcome, NULL,
                                      &error));
  trunkline_request_options_free(options);
  while (!it->told && now_ms() < end) sleep_ms(5);

  OK(trunkline_client_start(it->near, S(TRUNKLINE_METHOD_CALL_TOOL), S("{\"name\":\"never\"}"), NULL, NULL, NULL, NULL, &ticket, &error));
  sleep_ms(100);
  OK(trunkline_client_cancel(it->near, ticket, NOTHING, &error));
  OK(trunkline_server_remove_tool(it->server, S("never"), &error));
  while (!it->freed && now_ms() < end) sleep_ms(5);
  CHECK(it->freed == 1);

  it->stop = 1;
  thread_join(other);
  it->inside = 0;
  CHECK(trunkline_call_return_text(call, S("done")) == TRUNKLINE_OK);
}

static void never(trunkline_call *call, void *user_data) {
  (void)call, (void)user_data;
  CHECK(!"a call that was cancelled before it began");
}

static void one_at_a_time(void) {
  crowded it;
  trunkline_server_options *options = NULL;
  trunkline_text *result = NULL;
  memset(&it, 0, sizeof it);
  begin_elsewhere(&it.there);
  add(it.there.server, S(PLAIN("steps")), three_steps, NULL);
  add(it.there.server, S(PLAIN("hold")), hold, &it);
  add(it.there.server, S(PLAIN("hasten")), hasten, &it);
  OK(trunkline_port_new(&it.port, &error));
  OK(trunkline_server_options_new(&options, &error));
  CHECK(trunkline_server_options_set_port(options, it.port) == TRUNKLINE_OK);
  OK(trunkline_server_new_with(S("near"), S("1"), options, &it.server, &error));
  trunkline_server_options_free(options);
  it.near = in_memory(it.server);
  it.far = client_of(&it.there, it.port);
  add(it.server, S(PLAIN("wait_for_the_other")), wait_for_the_other, &it);
  add(it.server, S(PLAIN("return_before_the_other")), return_before_the_other, &it);
  add(it.server, S(PLAIN("pile_up")), pile_up, &it);
  OK(trunkline_server_add_tool(it.server, S(PLAIN("never")), never, (void *)&it.freed, count_up, &error));

  OK(trunkline_client_call_tool(it.near, S("wait_for_the_other"), S("{}"), NULL, &result, &error));
  check_text(result, "/content/0/text", "done");
  trunkline_text_free(result);

  OK(trunkline_client_call_tool(it.near, S("return_before_the_other"), S("{}"), NULL, &result, &error));
  check_text(result, "/content/0/text", "done");
  trunkline_text_free(result);
  thread_join(hold_thread);
  CHECK(it.progress_count == 1 && it.last == 1);

  OK(trunkline_client_call_tool(it.near, S("pile_up"), S("{}"), NULL, &result, &error));
  check_text(result, "/content/0/text", "done");
  trunkline_text_free(result);
  settle(it.port, &it.ends);
  CHECK(it.ends.result == TRUNKLINE_OK && it.progress_count < 10 && it.last == 50);

  trunkline_client_free(it.near);
  trunkline_client_free(it.far);
  trunkline_server_free(it.server);
  trunkline_port_free(it.port);
  end_elsewhere(&it.there);
}

/* ---- what one thread has, and another one waits for ---- */

typedef struct {
  trunkline_port *port;
  trunkline_client *client;
  thread other;
  thread_task task;
  volatile int release, count;
} shared_port;

static void fail_to_connect(void *data) {
  shared_port *it = (shared_port *)data;
  trunkline_client_options *options = NULL;
  trunkline_client *client = NULL;
  OK(trunkline_client_options_new(&options, &error));
  CHECK(trunkline_client_options_set_port(options, it->port) == TRUNKLINE_OK);
  FAILS(TRUNKLINE_TRANSPORT, "", trunkline_client_connect_http(S("http://127.0.0.1:1/mcp"), options, &client, &error));
  trunkline_client_options_free(options);
  ++it->count;
}

/* The last callback of the port: nothing else wakes the other thread, which needs a turn. */
static void outlast_a_failure(trunkline_result result, const trunkline_str *json, const trunkline_error *error,
                              void *user_data) {
  shared_port *it = (shared_port *)user_data;
  (void)json, (void)error;
  CHECK(result == TRUNKLINE_OK);
  it->task.run = fail_to_connect;
  it->task.data = it;
  thread_start(&it->other, &it->task);
  sleep_ms(300);
}

static void wait_for_release(trunkline_call *call, void *user_data) {
  shared_port *it = (shared_port *)user_data;
  unsigned long long end = now_ms() + patience_ms(10000);
  ++it->count;
  while (!it->release && now_ms() < end) sleep_ms(5);
  CHECK(trunkline_call_return_text(call, S("released")) == TRUNKLINE_OK);
}

static void call_until_release(void *data) {
  trunkline_text *result = NULL;
  OK(trunkline_client_call_tool(((shared_port *)data)->client, S("wait"), S("{}"), NULL, &result, &error));
  trunkline_text_free(result);
}

static bool is_readable(trunkline_port *port) {
#ifdef _WIN32
  return WaitForSingleObject((HANDLE)trunkline_port_descriptor(port), 0) == WAIT_OBJECT_0;
#else
  struct pollfd wait;
  wait.fd = (int)trunkline_port_descriptor(port);
  wait.events = POLLIN;
  return poll(&wait, 1, 0) == 1;
#endif
}

static void turns_and_ends_of_other_threads(void) {
  elsewhere there;
  shared_port it;
  trunkline_client *second;
  unsigned long long begin, end = now_ms() + patience_ms(10000);
  memset(&it, 0, sizeof it);
  begin_elsewhere(&there);
  add(there.server, S(PLAIN("wait")), wait_for_release, &it);
  OK(trunkline_port_new(&it.port, &error));
  it.client = client_of(&there, it.port);

  /* A thread that needs a turn gets it when the callback of another one returns. */
  start_echo(it.client, outlast_a_failure, &it);
  while (!it.task.run) OK(trunkline_dispatch(it.port, 1000, NULL, &error));
  thread_join(it.other);
  CHECK(it.count == 1);

  /* A dispatch reports the end of a connection that another thread has seen before it. */
  second = client_of(&there, it.port);
  while (is_readable(it.port) && now_ms() < end) OK(trunkline_dispatch(it.port, 0, NULL, &error));
  it.task.run = call_until_release;
  thread_start(&it.other, &it.task);
  while (it.count < 2 && now_ms() < end) sleep_ms(5);
  OK(trunkline_client_start_close(second, 1000, &error));
  while (!trunkline_client_closed(second) && now_ms() < end) sleep_ms(5);
  CHECK(trunkline_client_closed(second) && is_readable(it.port));
  begin = now_ms();
  OK(trunkline_dispatch(it.port, patience_ms(20000), NULL, &error));
  /* Otherwise until the other call has ended. */
  CHECK(now_ms() - begin < patience_ms(5000) && !it.release);
  it.release = 1;
  thread_join(it.other);

  trunkline_client_free(second);
  trunkline_client_free(it.client);
  trunkline_port_free(it.port);
  end_elsewhere(&there);
}

/* ---- dispatching and blocking threads on one port ---- */

typedef struct {
  trunkline_port *port;
  trunkline_client *client;
  volatile int stop;
} mixed;

typedef struct {
  trunkline_client *client;
  unsigned long long slowest;
} caller;

static void call_often(void *data) {
  caller *it = (caller *)data;
  int call;
  for (call = 0; call < 600; ++call) {
    unsigned long long begin = now_ms(), took;
    check_echo(it->client, "{\"message\":\"mixed\"}", "mixed");
    took = now_ms() - begin;
    if (took > it->slowest) it->slowest = took;
  }
}

static void dispatch_often(void *data) {
  mixed *it = (mixed *)data;
  while (!it->stop) OK(trunkline_dispatch(it->port, 20, NULL, &error));
}

/* An event loop that watches the descriptor of the port. */
static void watch_descriptor(void *data) {
  mixed *it = (mixed *)data;
  while (!it->stop) {
#ifdef _WIN32
    WaitForSingleObject((HANDLE)trunkline_port_descriptor(it->port), 50);
#else
    struct pollfd wait;
    wait.fd = (int)trunkline_port_descriptor(it->port);
    wait.events = POLLIN;
    poll(&wait, 1, 50);
#endif
    OK(trunkline_dispatch(it->port, 0, NULL, &error));
  }
}

/* Two threads call, one dispatches, one watches the descriptor: no call waits for what another
   thread has taken away. */
static void mix(trunkline_client *client) {
  mixed it = {NULL, NULL, 0};
  caller callers[2] = {{NULL, 0}, {NULL, 0}};
  thread_task tasks[4] = {{dispatch_often, NULL}, {watch_descriptor, NULL}, {call_often, NULL}, {call_often, NULL}};
  thread threads[4];
  int index;
  it.client = client;
  it.port = trunkline_client_port(client);
  for (index = 0; index < 4; ++index) {
    if (index >= 2) callers[index - 2].client = client;
    tasks[index].data = index < 2 ? (void *)&it : (void *)&callers[index - 2];
    thread_start(&threads[index], &tasks[index]);
  }
  thread_join(threads[2]);
  thread_join(threads[3]);
  it.stop = 1;
  thread_join(threads[0]);
  thread_join(threads[1]);
  CHECK(callers[0].slowest < patience_ms(10000) && callers[1].slowest < patience_ms(10000));
}

static void dispatching_and_blocking(void) {
  trunkline_server *server = new_server();
  trunkline_client *near = in_memory(server), *far;
  elsewhere there;
  begin_elsewhere(&there);
  far = client_of(&there, NULL);
  mix(near);
  mix(far);
  trunkline_client_free(near);
  trunkline_client_free(far);
  trunkline_server_free(server);
  end_elsewhere(&there);
}

/* ---- outputs are there before the callbacks that may need them ---- */

typedef struct {
  volatile uint64_t ticket;
  trunkline_http_exchange *volatile exchange;
  volatile int count;
} outputs;

static void needs_ticket(trunkline_result result, const trunkline_str *json, const trunkline_error *error,
                         void *user_data) {
  (void)json, (void)error;
  CHECK(result == TRUNKLINE_OK && ((outputs *)user_data)->ticket != 0);
  ((outputs *)user_data)->count = 1;
}

static void needs_exchange(uint16_t status, const trunkline_http_header *headers, size_t count, void *user_data) {
  (void)headers, (void)count;
  CHECK(status == 400 && ((outputs *)user_data)->exchange != NULL);
}

static void exchange_ended(trunkline_result result, const trunkline_error *error, void *user_data) {
  (void)result, (void)error;
  ((outputs *)user_data)->count = 1;
}

static void outputs_come_first(void) {
  trunkline_server *server = new_server();
  trunkline_client *client = in_memory(server);
  trunkline_listener *listener = NULL;
  thread_task task = {run_server, NULL};
  thread runner;
  outputs got;
  int round;
  OK(trunkline_server_mount_http(server, NULL, &listener, &error));
  task.data = server;
  thread_start(&runner, &task);
  for (round = 0; round < 300; ++round) {
    memset(&got, 0, sizeof got);
    OK(trunkline_client_start(client, S(TRUNKLINE_METHOD_CALL_TOOL), S("{\"name\":\"echo\",\"arguments\":{\"message\":\"x\"}}"), NULL, needs_ticket, &got, NULL,
                                        (uint64_t *)&got.ticket, &error));
    while (!got.count) sleep_ms(0);
    memset(&got, 0, sizeof got);
    OK(trunkline_http_request(listener, S("NO METHOD"), S("/"), NULL, 0, NOTHING, true, needs_exchange, NULL, exchange_ended, &got,
                              NULL, (trunkline_http_exchange **)&got.exchange, &error));
    while (!got.count) sleep_ms(0);
    trunkline_http_exchange_free(got.exchange);
  }
  CHECK(trunkline_server_stop(server) == TRUNKLINE_OK);
  thread_join(runner);
  trunkline_client_free(client);
  trunkline_listener_free(listener);
  trunkline_server_free(server);
}

/* ---- closing ---- */

static void count_kept(trunkline_call *call, void *user_data) {
  trunkline_call **place = (trunkline_call **)user_data;
  while (*place) ++place;
  *place = trunkline_call_retain(call);
}

/* A server with several listeners has one deadline for all their calls: one of its 1.25 seconds,
 * because the last fifth is reserved. */
static void listeners_close_together(void) {
  trunkline_server_options *options = NULL;
  trunkline_server *server = NULL;
  trunkline_listener *listeners[3];
  trunkline_client *clients[3];
  trunkline_call *calls[4] = {NULL, NULL, NULL, NULL};
  unsigned long long begin;
  int index;
  OK(trunkline_server_options_new(&options, &error));
  CHECK(trunkline_server_options_set_limit(options, TRUNKLINE_LIMIT_DRAIN_DEADLINE_MS, 1250) == TRUNKLINE_OK);
  OK(trunkline_server_new_with(S("suite"), S("1"), options, &server, &error));
  trunkline_server_options_free(options);
  add(server, S(PLAIN("keep")), count_kept, calls);
  for (index = 0; index < 3; ++index) {
    trunkline_client_options *own = NULL;
    listeners[index] = listen_http(server);
    OK(trunkline_client_options_new(&own, &error));
    CHECK(trunkline_client_options_set_port(own, trunkline_server_port(server)) == TRUNKLINE_OK);
    OK(trunkline_client_connect_http(trunkline_listener_url(listeners[index]), own, &clients[index], &error));
    trunkline_client_options_free(own);
    OK(trunkline_client_start(clients[index], S(TRUNKLINE_METHOD_CALL_TOOL), S("{\"name\":\"keep\"}"), NULL, NULL, NULL, NULL, NULL, &error));
    while (!calls[index]) OK(trunkline_dispatch(trunkline_server_port(server), 1000, NULL, &error));
  }
  CHECK(trunkline_server_stop(server) == TRUNKLINE_OK);
  begin = now_ms();
  OK(trunkline_server_run(server, &error));
  CHECK(now_ms() - begin >= 900 && now_ms() - begin < patience_ms(2900));
  for (index = 0; index < 3; ++index) {
    CHECK(trunkline_listener_closed(listeners[index]));
    trunkline_call_free(calls[index]);
    trunkline_client_free(clients[index]);
    trunkline_listener_free(listeners[index]);
  }
  trunkline_server_free(server);
}
