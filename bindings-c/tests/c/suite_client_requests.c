/* Calls that ask their client, log and memoize: a server that `client_requests.rs` talks to over
   stdio. A part of suite.c. */

/* The log of the callbacks and destructors, as a string. */
static void tell_counts(trunkline_call *call, void *user_data);

static struct {
  int answered, suspended, refused, cancelled, freed, effects;
} counts;

static void count_freed(void *user_data) {
  (void)user_data;
  ++counts.freed;
}

static void count_outcome(trunkline_result result, const trunkline_error *error) {
  counts.answered += result == TRUNKLINE_OK;
  counts.suspended += result == TRUNKLINE_SUSPENDED;
  counts.refused += result == TRUNKLINE_PROTOCOL;
  counts.cancelled += result == TRUNKLINE_CANCELLED;
  CHECK((result == TRUNKLINE_OK) == (error == NULL));
}

static void tell_counts(trunkline_call *call, void *user_data) {
  char text[200];
  (void)user_data;
  snprintf(text, sizeof text, "answered %d, suspended %d, refused %d, cancelled %d, freed %d, effects %d", counts.answered,
           counts.suspended, counts.refused, counts.cancelled, counts.freed, counts.effects);
  CHECK(trunkline_call_return_text(call, trunkline_str_of(text)) == TRUNKLINE_OK);
}

/* Answers with the outcome as it is. When it will run again there is nothing to do: the call is
   just let go of. */
static void tell_outcome(trunkline_call *call, trunkline_result result, const trunkline_str *json,
                         const trunkline_error *error, void *user_data) {
  (void)user_data;
  count_outcome(result, error);
  if (result == TRUNKLINE_OK)
    CHECK(trunkline_call_return_text(call, *json) == TRUNKLINE_OK);
  else if (result == TRUNKLINE_PROTOCOL)
    CHECK(trunkline_call_fail_with(call, error) == TRUNKLINE_OK);
}

/* The same for a program that treats all failures alike. */
static void tell_or_fail(trunkline_call *call, trunkline_result result, const trunkline_str *json,
                         const trunkline_error *error, void *user_data) {
  (void)user_data;
  count_outcome(result, error);
  if (result == TRUNKLINE_OK)
    CHECK(trunkline_call_return_text(call, *json) == TRUNKLINE_OK);
  else
    trunkline_call_fail_with(call, error);
}

#define NAME_FORM \
  TRUNKLINE_JSON({"message": "Who?", "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}}})

/* An effect that must not happen twice, then a question. */
static void ask_name(trunkline_call *call, void *user_data) {
  trunkline_text *kept = NULL;
  (void)user_data;
  if (trunkline_call_once(call, S("a/b~c"), &kept) != TRUNKLINE_OK) {
    ++counts.effects;
    FAILS(TRUNKLINE_INVALID_ARGUMENT, "value", trunkline_call_set_once(call, S("a/b~c"), S("{oops"), &error));
    OK(trunkline_call_set_once(call, S("a/b~c"), S("[1]"), &error));
    CHECK(trunkline_call_once(call, S("a/b~c"), &kept) == TRUNKLINE_OK);
  }
  CHECK(same(trunkline_text_str(kept), "[1]"));
  trunkline_text_free(kept);
  FAILS(TRUNKLINE_NULL, "callback", trunkline_call_elicit(call, S(NAME_FORM), NOTHING, NULL, NULL, count_freed, &error));
  OK(trunkline_call_elicit(call, S(NAME_FORM), S("who"), tell_outcome, NULL, count_freed, &error));
}

/* Pays when the user has agreed, and returns how often it did. */
static void pay(trunkline_call *call, trunkline_result result, const trunkline_str *json, const trunkline_error *error,
                void *user_data) {
  trunkline_text *paid = NULL;
  char number[20];
  (void)json, (void)user_data;
  count_outcome(result, error);
  if (result != TRUNKLINE_OK) return;
  if (trunkline_call_once(call, S("payment"), &paid) != TRUNKLINE_OK) {
    snprintf(number, sizeof number, "%d", ++counts.effects);
    OK(trunkline_call_set_once(call, S("payment"), trunkline_str_of(number), &error));
    CHECK(trunkline_call_once(call, S("payment"), &paid) == TRUNKLINE_OK);
  }
  CHECK(trunkline_call_return_textf(call, "paid %s times", trunkline_text_str(paid).data) == TRUNKLINE_OK);
  trunkline_text_free(paid);
}

static void ask_payment(trunkline_call *call, void *user_data) {
  (void)user_data;
  OK(trunkline_call_elicit(call, S(NAME_FORM), S("sure"), pay, NULL, count_freed, &error));
}

static void ask_page(trunkline_call *call, void *user_data) {
  (void)user_data;
  OK(trunkline_call_elicit(call, S(TRUNKLINE_JSON({"mode": "url", "message": "Look", "url": "https://example.org/"})), NOTHING,
                           tell_or_fail, NULL, count_freed, &error));
}

static void ask_model(trunkline_call *call, void *user_data) {
  (void)user_data;
  OK(trunkline_call_sample(
      call, S(TRUNKLINE_JSON({"messages": [{"role": "user", "content": {"type": "text", "text": "Hi"}}], "maxTokens": 5})),
      NOTHING, tell_or_fail, NULL, count_freed, &error));
}

static void ask_roots(trunkline_call *call, void *user_data) {
  (void)user_data;
  OK(trunkline_call_list_roots(call, NOTHING, tell_or_fail, NULL, count_freed, &error));
}

/* The same with the general function and its options. */
static void ask_generally(trunkline_call *call, void *user_data) {
  trunkline_request_options *options = NULL;
  (void)user_data;
  OK(trunkline_request_options_new(&options, &error));
  CHECK(trunkline_request_options_set_key(options, S("general")) == TRUNKLINE_OK);
  CHECK(trunkline_request_options_set_timeout_ms(options, 20000) == TRUNKLINE_OK);
  OK(trunkline_call_start_request(call, S("roots/list"), NOTHING, options, tell_or_fail, NULL, count_freed, NULL,
                                  &error));
  trunkline_request_options_free(options);
}

static void tell_withdrawn(trunkline_call *call, trunkline_result result, const trunkline_str *json,
                           const trunkline_error *failure, void *user_data) {
  (void)user_data, (void)json;
  count_outcome(result, failure);
  CHECK(trunkline_call_return_text(call, trunkline_str_of(trunkline_result_name(result))) == TRUNKLINE_OK);
}

static void ask_and_withdraw(trunkline_call *call, void *user_data) {
  uint64_t ticket = 0;
  (void)user_data;
  OK(trunkline_call_start_request(call, S("roots/list"), NOTHING, NULL, tell_withdrawn, NULL, count_freed, &ticket, &error));
  OK(trunkline_call_cancel_request(call, ticket, S("no longer needed"), &error));
  OK(trunkline_call_cancel_request(call, ticket, NOTHING, &error));
  OK(trunkline_call_cancel_request(call, ticket + 1000, NOTHING, &error));
}

/* The form without waiting: asks twice, and returns the answers. */
static void require_input(trunkline_call *call, void *user_data) {
  trunkline_text *step = NULL, *name = NULL;
  char text[200];
  (void)user_data;
  if (trunkline_call_fact(call, S("/state/step"), &step) != TRUNKLINE_OK) {
    FAILS(TRUNKLINE_INVALID_ARGUMENT, "", trunkline_call_require_input(call, S("[]"), &error));
    OK(trunkline_call_require_input(call,
                                    S("{\"inputRequests\":{\"who\":{\"method\":\"elicitation/create\",\"params\":" NAME_FORM
                                      "}},\"state\":{\"step\":1}}"),
                                    &error));
    return;
  }
  CHECK(trunkline_call_fact(call, S("/inputResponses/who/content/name"), &name) == TRUNKLINE_OK);
  snprintf(text, sizeof text, "step %s: %s", trunkline_text_str(step).data, trunkline_text_str(name).data);
  CHECK(trunkline_call_return_text(call, trunkline_str_of(text)) == TRUNKLINE_OK);
  trunkline_text_free(step);
  trunkline_text_free(name);
}

static void log_and_close(trunkline_call *call, void *user_data) {
  trunkline_text *auth = NULL;
  (void)user_data;
  CHECK(trunkline_call_log(call, S("info"), S("a text")) == TRUNKLINE_OK);
  CHECK(trunkline_call_log(call, S("loud"), S("no level")) == TRUNKLINE_INVALID_ARGUMENT);
  OK(trunkline_call_log_json(call, S("error"), S("db"), S("{\"rows\":3}"), &error));
  FAILS(TRUNKLINE_INVALID_ARGUMENT, "data", trunkline_call_log_json(call, S("error"), S("db"), NOTHING, &error));
  CHECK(trunkline_call_close_stream(call) == TRUNKLINE_OK);
  CHECK(trunkline_call_fact(call, S("/auth/subject"), &auth) == TRUNKLINE_NOT_FOUND);
  CHECK(trunkline_call_return_text(call, S("logged")) == TRUNKLINE_OK);
  CHECK(trunkline_call_once(call, S("x"), &auth) == TRUNKLINE_CLOSED);
}

static void become_task(trunkline_call *call, void *user_data) {
  (void)user_data;
  CHECK(trunkline_call_start_task(call) == TRUNKLINE_OK);
  CHECK(trunkline_call_set_task_message(call, S("half way")) == TRUNKLINE_OK);
  CHECK(trunkline_call_return_text(call, S("done as a task")) == TRUNKLINE_OK);
}

static void serve_client_requests(void) {
  static const struct {
    const char *tool;
    trunkline_call_callback callback;
  } tools[] = {
      {PLAIN("ask_name"), ask_name},           {PLAIN("ask_page"), ask_page},
      {PLAIN("ask_model"), ask_model},         {PLAIN("ask_roots"), ask_roots},
      {PLAIN("ask_generally"), ask_generally}, {PLAIN("require_input"), require_input},
      {PLAIN("log"), log_and_close},           {PLAIN("counts"), tell_counts},
      {PLAIN("pays"), ask_payment},            {PLAIN("ask_and_withdraw"), ask_and_withdraw},
  };
  trunkline_server *server = new_server();
  trunkline_tool_options *options = NULL;
  size_t index;
  for (index = 0; index < sizeof tools / sizeof *tools; ++index)
    add(server, trunkline_str_of(tools[index].tool), tools[index].callback, NULL);
  OK(trunkline_tool_options_new(&options, &error));
  CHECK(!trunkline_tool_options_set_defer_task(options, true));
  OK(trunkline_server_add_tool_with(server, S(TRUNKLINE_JSON({"name": "task", "execution": {"taskSupport": "optional"}})),
                                    options, become_task, NULL, NULL, &error));
  trunkline_tool_options_free(options);
  add(server, S(TRUNKLINE_JSON({"name": "task_that_asks", "execution": {"taskSupport": "optional"}})), ask_name, NULL);
  OK(trunkline_server_add_prompt(server, S(TRUNKLINE_JSON({"name": "ask_name"})), ask_name, NULL, NULL, &error));
  OK(trunkline_server_add_resource(server, S(TRUNKLINE_JSON({"uri": "notes://ask_name", "name": "ask_name"})), ask_name, NULL,
                                   NULL, &error));
  OK(trunkline_server_serve_stdio(server, &error));
  trunkline_server_free(server);
}
