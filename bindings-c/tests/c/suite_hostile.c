/* Mutated responses of a server: each yields a result or a typed error. A part of suite.c. */

/* JSON that replaces a value. */
static const char *const odd_values[] = {
    "null", "true", "0", "-1", "1.5", "1e999", "\"x\"", "[]", "{}", "[1]", "[null]", "{\"a\":1,\"a\":2}",
    "\"\\ud800\"", "{\"\\ud800\":1}", "{\"type\":\"text\"}", "[{\"type\":\"text\",\"text\":5}]",
    "1000000000000000000000000000000000.5", "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]"};

/* A method and its result; what is between < and > is replaced, one at a time. */
typedef struct {
  const char *method, *result;
} answered_method;

static const answered_method hostile_methods[] = {
    {"tools/list", "<{\"tools\":<[<{\"name\":<\"t\">,\"inputSchema\":<{\"type\":<\"object\">}>}>]>}>"},
    {"tools/call",
     "<{\"content\":<[<{\"type\":<\"text\">,\"text\":<\"hi\">}>,<{\"type\":\"resource\",\"resource\":<{\"uri\":<\"a:b\">,"
     "\"text\":<\"t\">}>}>]>,\"structuredContent\":<{\"n\":<1>}>,\"isError\":<false>}>"},
    {"resources/list", "<{\"resources\":<[<{\"uri\":<\"a:b\">,\"name\":<\"n\">,\"size\":<5>}>]>}>"},
    {"resources/read", "<{\"contents\":<[<{\"uri\":<\"a:b\">,\"text\":<\"t\">}>,{\"uri\":\"a:c\",\"blob\":<\"aGk=\">}]>}>"},
    {"prompts/list", "<{\"prompts\":<[<{\"name\":<\"p\">,\"arguments\":<[<{\"name\":<\"a\">,\"required\":<true>}>]>}>]>}>"},
    {"prompts/get",
     "<{\"description\":<\"d\">,\"messages\":<[<{\"role\":<\"user\">,\"content\":<{\"type\":\"text\",\"text\":<\"x\">}>}>]>}>"},
    {"completion/complete", "<{\"completion\":<{\"values\":<[<\"a\">]>,\"total\":<1>,\"hasMore\":<false>}>}>"}};

typedef struct {
  trunkline_call *receiving;
  char answer[4096];
  bool has_answer;
  /* The mutation of the next response: its position in the result, and the odd value. */
  size_t place, odd;
} hostile_server;

/* Writes a result, with the value at one position replaced. Returns the number of positions. */
static size_t mutate(char *out, const char *result, size_t place, const char *odd) {
  size_t places = 0, depth = 0, skipping = 0;
  for (; *result; ++result) {
    if (*result == '<') {
      ++depth;
      if (places++ == place && !skipping) {
        skipping = depth;
        strcpy(out, odd);
        out += strlen(odd);
      }
    } else if (*result == '>') {
      if (skipping == depth) skipping = 0;
      --depth;
    } else if (!skipping)
      *out++ = *result;
  }
  *out = 0;
  return places;
}

static void hostile_deliver(hostile_server *it) {
  trunkline_text *quoted = NULL;
  static char result[sizeof it->answer * 2];
  if (!it->receiving || !it->has_answer) return;
  it->has_answer = false;
  OK(trunkline_json_string(trunkline_str_of(it->answer), &quoted, &error));
  snprintf(result, sizeof result, "{\"message\": %s}", trunkline_text_str(quoted).data);
  trunkline_text_free(quoted);
  OK(trunkline_call_return_result(it->receiving, trunkline_str_of(result), &error));
  trunkline_call_free(it->receiving);
  it->receiving = NULL;
}

static void hostile_connect(trunkline_call *call, void *user_data) {
  (void)user_data;
  OK(trunkline_call_return_result(call, S("{}"), &error));
}

static void hostile_send(trunkline_call *call, void *user_data) {
  hostile_server *it = (hostile_server *)user_data;
  trunkline_text *message = NULL, *method = NULL;
  static char result[2048];
  size_t index;
  double id = 0;
  CHECK(trunkline_json_get_text(trunkline_call_arguments(call), S("/message"), &message) == TRUNKLINE_OK);
  if (trunkline_json_get_number(trunkline_text_str(message), S("/id"), &id) == TRUNKLINE_OK) {
    strcpy(result, TRUNKLINE_JSON({"protocolVersion": "2025-11-25", "serverInfo": {"name": "odd", "version": "1"},
        "capabilities": {"tools": {}, "resources": {}, "prompts": {}, "completions": {}}}));
    CHECK(trunkline_json_get_text(trunkline_text_str(message), S("/method"), &method) == TRUNKLINE_OK);
    for (index = 0; index < sizeof hostile_methods / sizeof *hostile_methods; ++index)
      if (same(trunkline_text_str(method), hostile_methods[index].method))
        mutate(result, hostile_methods[index].result, it->place, odd_values[it->odd]);
    snprintf(it->answer, sizeof it->answer, "{\"jsonrpc\": \"2.0\", \"id\": %.0f, \"result\": %s}", id, result);
    it->has_answer = true;
    trunkline_text_free(method);
  }
  trunkline_text_free(message);
  OK(trunkline_call_return_result(call, S("{}"), &error));
  hostile_deliver(it);
}

static void hostile_receive(trunkline_call *call, void *user_data) {
  ((hostile_server *)user_data)->receiving = trunkline_call_retain(call);
  hostile_deliver((hostile_server *)user_data);
}

static trunkline_result asked_of_hostile(trunkline_client *client, size_t method, trunkline_text **result,
                                         trunkline_error **error) {
  switch (method) {
    case 0: return trunkline_client_list_tools(client, NULL, result, error);
    case 1: return trunkline_client_call_tool(client, S("t"), NOTHING, NULL, result, error);
    case 2: return trunkline_client_list_resources(client, NULL, result, error);
    case 3: return trunkline_client_read_resource(client, S("a:b"), NULL, result, error);
    case 4: return trunkline_client_list_prompts(client, NULL, result, error);
    case 5: return trunkline_client_get_prompt(client, S("p"), NOTHING, NULL, result, error);
    default: return trunkline_client_complete(client, PLAN, CITY, NOTHING, NULL, result, error);
  }
}

/* Reliability T9. */
static void hostile_answers(void) {
  static hostile_server it;
  trunkline_client_options *options = NULL;
  trunkline_client *client = NULL;
  size_t method, places, results = 0, errors = 0;
  OK(trunkline_client_options_new(&options, &error));
  CHECK(trunkline_client_options_set_revision(options, S("2025-11-25")) == TRUNKLINE_OK);
  CHECK(trunkline_client_options_on_transport_connect(options, hostile_connect, &it, NULL) == TRUNKLINE_OK);
  CHECK(trunkline_client_options_on_transport_send(options, hostile_send, &it, NULL) == TRUNKLINE_OK);
  CHECK(trunkline_client_options_on_transport_receive(options, hostile_receive, &it, NULL) == TRUNKLINE_OK);
  CHECK(trunkline_client_options_on_transport_close(options, hostile_connect, &it, NULL) == TRUNKLINE_OK);
  OK(trunkline_client_connect_channel(options, &client, &error));
  trunkline_client_options_free(options);
  for (method = 0; method < sizeof hostile_methods / sizeof *hostile_methods; ++method) {
    places = mutate(it.answer, hostile_methods[method].result, 0, "");
    for (it.place = 0; it.place < places; ++it.place)
      for (it.odd = 0; it.odd < sizeof odd_values / sizeof *odd_values; ++it.odd) {
        trunkline_text *result = NULL;
        trunkline_error *error = NULL;
        trunkline_result outcome = asked_of_hostile(client, method, &result, &error);
        CHECK((outcome == TRUNKLINE_OK) == (result != NULL));
        if (outcome == TRUNKLINE_OK) {
          ++results;
        } else {
          /* The answer is at fault, and neither the caller nor the library. */
          CHECK(outcome == TRUNKLINE_TRANSPORT || outcome == TRUNKLINE_PROTOCOL);
          CHECK(error && trunkline_error_message(error)[0]);
          ++errors;
        }
        trunkline_error_free(error);
        trunkline_text_free(result);
      }
  }
  CHECK(results > 100 && errors > 100);
  OK(trunkline_client_close(client, 1000, &error));
  trunkline_call_free(it.receiving);
  trunkline_client_free(client);
}
