/* Features of a server other than tools, hooks, and notifications to its clients. A part of
 * suite.c. */

static void returns_data(trunkline_call *call, void *user_data) {
  CHECK(trunkline_call_return_text(call, trunkline_str_of((const char *)user_data)) == TRUNKLINE_OK);
}

static void returns_arguments(trunkline_call *call, void *user_data) {
  (void)user_data;
  CHECK(trunkline_call_return_text(call, trunkline_call_arguments(call)) == TRUNKLINE_OK);
}

static void returns_blob(trunkline_call *call, void *user_data) {
  trunkline_text *blob = NULL;
  char json[64];
  (void)user_data;
  OK(trunkline_json_base64("\x00\xff\x10", 3, &blob, &error));
  CHECK(same(trunkline_text_str(blob), "\"AP8Q\""));
  snprintf(json, sizeof json, "{\"blob\":%s}", trunkline_text_str(blob).data);
  OK(trunkline_call_return_json(call, TRUNKLINE_SHAPE_CONTENT, trunkline_str_of(json), &error));
  trunkline_text_free(blob);
}

static void suggests(trunkline_call *call, void *user_data) {
  trunkline_str arguments = trunkline_call_arguments(call);
  trunkline_text *typed = NULL, *before = NULL;
  (void)user_data;
  CHECK(trunkline_json_get_text(arguments, S("/argument/value"), &typed) == TRUNKLINE_OK);
  CHECK(trunkline_json_get_text(arguments, S("/context/arguments/country"), &before) == TRUNKLINE_OK);
  CHECK(same(trunkline_text_str(typed), "o") && same(trunkline_text_str(before), "norway"));
  OK(trunkline_call_return_json(call, TRUNKLINE_SHAPE_VALUE, S("[\"oslo\",\"odda\"]"), &error));
  trunkline_text_free(typed);
  trunkline_text_free(before);
}

/* A request whose result must have this text at that pointer. */
static void gives(trunkline_client *client, trunkline_str method, trunkline_str params, const char *pointer, const char *text) {
  trunkline_text *result = NULL;
  OK(trunkline_client_request(client, method, params, NULL, &result, &error));
  check_text(result, pointer, text);
  trunkline_text_free(result);
}

static trunkline_client *in_memory_speaking(trunkline_server *server, const char *revision) {
  trunkline_client_options *options = NULL;
  trunkline_client *client = NULL;
  OK(trunkline_client_options_new(&options, &error));
  CHECK(!trunkline_client_options_set_revision(options, trunkline_str_of(revision)));
  OK(trunkline_client_connect_memory(server, options, &client, &error));
  trunkline_client_options_free(options);
  return client;
}

/* RES-11, RES-15, PRM-05, CMP-06: everything that a server offers, in both eras, with each function
   that adds it. */
static void resources_prompts_and_completion(void) {
  static char text[] = "the text";
  trunkline_server *server = new_server();
  int modern, freed = 0;
  OK(trunkline_server_add_resource(server, S(TRUNKLINE_JSON({"uri": "notes://one", "name": "one"})), returns_data, text, NULL,
                                   &error));
  OK(trunkline_server_add(server, S("resource"),
                          S(TRUNKLINE_JSON({"resource": {"uri": "notes://blob", "name": "blob", "mimeType": "image/png"},
                                            "ttlMs": 5000, "cacheScope": "public"})),
                          returns_blob, &freed, count_up, NULL, &error));
  OK(trunkline_server_add_resource_template(
      server, S(TRUNKLINE_JSON({"uriTemplate": "notes://{year}/{name}", "name": "by year"})), returns_arguments, &freed,
      count_up, &error));
  OK(trunkline_server_add_prompt(
      server, S(TRUNKLINE_JSON({"name": "plan", "arguments": [{"name": "city", "required": true}, {"name": "country"}]})),
      returns_arguments, &freed, count_up, &error));
  OK(trunkline_server_add_completion(server, S(TRUNKLINE_JSON({"type": "ref/prompt", "name": "plan"})), S("city"), suggests,
                                     &freed, count_up, &error));
  FAILS(TRUNKLINE_INVALID_ARGUMENT, "descriptor", trunkline_server_add_prompt(server, S("{oops"), echo, &freed, count_up, &error));
  FAILS(TRUNKLINE_INVALID_ARGUMENT, "uri", trunkline_server_add_resource(server, S("{}"), echo, &freed, count_up, &error));
  FAILS(TRUNKLINE_INVALID_ARGUMENT, "uriTemplate",
        trunkline_server_add_resource_template(server, S(TRUNKLINE_JSON({"uriTemplate": "notes://{", "name": "x"})), echo,
                                               &freed, count_up, &error));
  FAILS(TRUNKLINE_INVALID_ARGUMENT, "ref",
        trunkline_server_add_completion(server, S("{}"), S("city"), echo, &freed, count_up, &error));
  FAILS(TRUNKLINE_INVALID_ARGUMENT, "kind", trunkline_server_add(server, S("toll"), S("{}"), echo, &freed, count_up, NULL, &error));
  /* Without the name of the function beneath. */
  CHECK(trunkline_server_add(server, S("toool"), S("{}"), echo, NULL, NULL, NULL, NULL) == TRUNKLINE_INVALID_ARGUMENT);
  CHECK(strstr(trunkline_error_message(trunkline_last_error()), "\"toool\" is not a kind; use one of ") ==
        trunkline_error_message(trunkline_last_error()));
  FAILS(TRUNKLINE_NULL, "callback", trunkline_server_add_prompt(server, S("{}"), NULL, &freed, count_up, &error));
  CHECK(freed == 6);
  for (modern = 0; modern < 2; ++modern) {
    trunkline_client *client = in_memory_speaking(server, modern ? "2026-07-28" : "2025-11-25");
    trunkline_text *result = NULL;
    gives(client, S("resources/read"), S(TRUNKLINE_JSON({"uri": "notes://one"})), "/contents/0/text", text);
    gives(client, S("resources/read"), S(TRUNKLINE_JSON({"uri": "notes://one"})), "/contents/0/mimeType", "text/plain");
    gives(client, S("resources/read"), S(TRUNKLINE_JSON({"uri": "notes://blob"})), "/contents/0/blob", "AP8Q");
    gives(client, S("resources/read"), S(TRUNKLINE_JSON({"uri": "notes://blob"})), "/contents/0/mimeType", "image/png");
    gives(client, S("resources/read"), S(TRUNKLINE_JSON({"uri": "notes://2026/a%20b"})), "/contents/0/text",
          TRUNKLINE_JSON({"uri":"notes://2026/a%20b","variables":{"name":"a b","year":"2026"}}));
    gives(client, S("resources/templates/list"), NOTHING, "/resourceTemplates/0/uriTemplate", "notes://{year}/{name}");
    gives(client, S("prompts/get"), S(TRUNKLINE_JSON({"name": "plan", "arguments": {"city": "oslo"}})),
          "/messages/0/content/text", TRUNKLINE_JSON({"city": "oslo"}));
    gives(client, S("completion/complete"),
          S(TRUNKLINE_JSON({"ref": {"type": "ref/prompt", "name": "plan"}, "argument": {"name": "city", "value": "o"},
                            "context": {"arguments": {"country": "norway"}}})),
          "/completion/values/1", "odda");
    if (modern)
      gives(client, S("resources/read"), S(TRUNKLINE_JSON({"uri": "notes://blob"})), "/cacheScope", "public");
    FAILS(TRUNKLINE_PROTOCOL, "notes:",
          trunkline_client_request(client, S("resources/read"), S(TRUNKLINE_JSON({"uri": "notes:nothing"})), NULL, &result,
                                   &error));
    FAILS(TRUNKLINE_PROTOCOL, "city",
          trunkline_client_request(client, S("prompts/get"), S(TRUNKLINE_JSON({"name": "plan"})), NULL, &result, &error));
    trunkline_client_free(client);
  }
  trunkline_server_free(server);
  CHECK(freed == 10);
}

/* Visible to clients of the name that is its data. */
static void only_for(trunkline_call *call, void *user_data) {
  trunkline_text *info = NULL;
  trunkline_str visible = S("false");
  OK(trunkline_call_info(call, &info, &error));
  if (strstr(trunkline_text_str(info).data, (const char *)user_data)) visible = S("true");
  trunkline_text_free(info);
  OK(trunkline_call_return_json(call, TRUNKLINE_SHAPE_VALUE, visible, &error));
}

static bool offers(trunkline_server *server, const char *name, const char *wanted) {
  trunkline_client_options *options = NULL;
  trunkline_client *client = NULL;
  trunkline_text *tools = NULL;
  bool found;
  OK(trunkline_client_options_new(&options, &error));
  CHECK(!trunkline_client_options_set_info(options, trunkline_str_of(name), S("1")));
  OK(trunkline_client_connect_memory(server, options, &client, &error));
  trunkline_client_options_free(options);
  OK(trunkline_client_list_tools(client, NULL, &tools, &error));
  found = strstr(trunkline_text_str(tools).data, wanted) != NULL;
  trunkline_text_free(tools);
  trunkline_client_free(client);
  return found;
}

/* RES-12: features that change, hide, are replaced, and are not for everyone. */
static void changed_features(void) {
  static char one[] = "one", two[] = "two", admin[] = "admin";
  trunkline_server_options *options = NULL;
  trunkline_server *server = NULL;
  trunkline_client *client = NULL;
  trunkline_text *result = NULL;
  uint64_t old = 0, changed = 0, visible = 0;
  char entry[200];
  int freed = 0;
  OK(trunkline_server_options_new(&options, &error));
  CHECK(!trunkline_server_options_set_on_duplicate(options, S("replace")));
  OK(trunkline_server_new_with(S("changing"), S("1"), options, &server, &error));
  trunkline_server_options_free(options);
  OK(trunkline_server_add(server, S("tool"), S(TRUNKLINE_JSON({"tool": {"name": "old"}})), returns_data, one, NULL, &old, &error));
  client = in_memory_speaking(server, "2025-11-25");
  gives(client, S("tools/call"), S(TRUNKLINE_JSON({"name": "old"})), "/content/0/text", "one");
  snprintf(entry, sizeof entry, "{\"replaces\":%llu,\"tool\":{\"name\":\"new\"}}", (unsigned long long)old);
  OK(trunkline_server_add(server, S("tool"), trunkline_str_of(entry), returns_data, two, NULL, &changed, &error));
  gives(client, S("tools/call"), S(TRUNKLINE_JSON({"name": "new"})), "/content/0/text", "two");
  FAILS(TRUNKLINE_INVALID_ARGUMENT, "was removed",
        trunkline_server_add(server, S("tool"), trunkline_str_of(entry), returns_data, two, NULL, NULL, &error));
  OK(trunkline_server_set_enabled(server, changed, false, &error));
  FAILS(TRUNKLINE_PROTOCOL, "Unknown tool", trunkline_client_call_tool(client, S("new"), NOTHING, NULL, &result, &error));
  OK(trunkline_server_set_enabled(server, changed, true, &error));
  gives(client, S("tools/list"), NOTHING, "/tools/0/name", "new");
  OK(trunkline_server_add_tool(server, S(PLAIN("new")), returns_arguments, &freed, count_up, &error));
  gives(client, S("tools/call"), S(TRUNKLINE_JSON({"name": "new"})), "/content/0/text", "{}");
  FAILS(TRUNKLINE_NOT_FOUND, "registration", trunkline_server_set_enabled(server, 12345, true, &error));
  OK(trunkline_server_add(server, S("resourceTemplate"),
                          S(TRUNKLINE_JSON({"resourceTemplate": {"uriTemplate": "open://{name}", "name": "open"}, "unsafePaths": true})),
                          returns_data, one, NULL, NULL, &error));
  OK(trunkline_server_add_resource_template(server, S(TRUNKLINE_JSON({"uriTemplate": "files://{name}", "name": "files"})),
                                            returns_data, one, NULL, &error));
  gives(client, S("resources/read"), S(TRUNKLINE_JSON({"uri": "open://..%2Fetc"})), "/contents/0/text", "one");
  FAILS(TRUNKLINE_PROTOCOL, "not found",
        trunkline_client_request(client, S("resources/read"), S(TRUNKLINE_JSON({"uri": "files://..%2Fetc"})), NULL, &result, &error));
  OK(trunkline_server_add(server, S("directory"), S(TRUNKLINE_JSON({"uri": "here://", "path": "."})), NULL, NULL, NULL, NULL, &error));
  FAILS(TRUNKLINE_PROTOCOL, "not found",
        trunkline_client_request(client, S("resources/read"), S(TRUNKLINE_JSON({"uri": "here://..%2Fetc"})), NULL, &result, &error));
  FAILS(TRUNKLINE_INVALID_ARGUMENT, "path",
        trunkline_server_add(server, S("directory"), S(TRUNKLINE_JSON({"uri": "x://", "path": "/nothing/there"})), NULL, NULL, NULL,
                             NULL, &error));
  FAILS(TRUNKLINE_INVALID_ARGUMENT, "no prompt nope",
        trunkline_server_add_completion(server, S(TRUNKLINE_JSON({"type": "ref/prompt", "name": "nope"})), S("x"), suggests, NULL, NULL,
                                        &error));
  trunkline_client_free(client);
  OK(trunkline_server_add(server, S("visibility"), S("{}"), only_for, admin, NULL, &visible, &error));
  snprintf(entry, sizeof entry, "{\"visible\":%llu,\"tool\":{\"name\":\"secret\"}}", (unsigned long long)visible);
  OK(trunkline_server_add(server, S("tool"), trunkline_str_of(entry), returns_data, one, NULL, NULL, &error));
  CHECK(offers(server, "admin", "secret") && !offers(server, "guest", "secret"));
  trunkline_server_free(server);
  CHECK(freed == 1);
}

typedef struct {
  int tools, resources, prompts, updated, completed;
} news;

static void hear(const trunkline_str *method, const trunkline_str *params, void *user_data) {
  news *heard = (news *)user_data;
  heard->tools += contains(*method, "tools/list_changed");
  heard->resources += contains(*method, "resources/list_changed");
  heard->prompts += contains(*method, "prompts/list_changed");
  heard->updated += contains(*method, "resources/updated") && contains(*params, "notes://one");
  heard->completed += contains(*method, "elicitation/complete");
}

/* RES-03, RES-04, PRM-03: removed features are absent, and clients are notified. */
static void removed_and_told(void) {
  static char text[] = "x";
  trunkline_server *server = new_server();
  trunkline_client_options *options = NULL;
  trunkline_client *client = NULL;
  trunkline_text *result = NULL;
  trunkline_server *other = new_server();
  uint64_t registration = 0;
  news heard = {0, 0, 0, 0, 0};
  int freed = 0;
  unsigned long long deadline = now_ms() + patience_ms(10000);
  OK(trunkline_server_add_resource(server, S(TRUNKLINE_JSON({"uri": "notes://one", "name": "one"})), returns_data, text, NULL,
                                   &error));
  OK(trunkline_server_add_resource_template(server, S(TRUNKLINE_JSON({"uriTemplate": "notes://{id}", "name": "any"})),
                                            returns_arguments, &freed, count_up, &error));
  OK(trunkline_server_add_prompt(server, S(TRUNKLINE_JSON({"name": "plan"})), returns_data, &freed, count_up, &error));
  OK(trunkline_server_add(server, S("prompt"), S(TRUNKLINE_JSON({"prompt": {"name": "other"}})), returns_data, &freed, count_up,
                          &registration, &error));
  OK(trunkline_client_options_new(&options, &error));
  CHECK(!trunkline_client_options_set_revision(options, S("2025-11-25")));
  CHECK(!trunkline_client_options_on_notification(options, hear, &heard, NULL));
  OK(trunkline_client_connect_memory(server, options, &client, &error));
  trunkline_client_options_free(options);
  OK(trunkline_client_request(client, S("resources/subscribe"), S(TRUNKLINE_JSON({"uri": "notes://one"})), NULL, &result,
                              &error));
  trunkline_text_free(result);
  OK(trunkline_server_resource_updated(server, S("notes://one"), &error));
  OK(trunkline_server_list_changed(server, S("tools"), &error));
  OK(trunkline_server_elicitation_complete(server, S("nobody's"), &error));
  FAILS(TRUNKLINE_INVALID_ARGUMENT, "not one of tools",
        trunkline_server_list_changed(server, S("sessions"), &error));
  FAILS(TRUNKLINE_NOT_FOUND, "registration", trunkline_server_remove(other, registration, &error));
  OK(trunkline_server_remove(server, registration, &error));
  CHECK(freed == 1);
  FAILS(TRUNKLINE_NOT_FOUND, "registration", trunkline_server_remove(server, registration, &error));
  FAILS(TRUNKLINE_NOT_FOUND, "other", trunkline_server_remove_prompt(server, S("other"), &error));
  OK(trunkline_server_remove_prompt(server, S("plan"), &error));
  OK(trunkline_server_remove_resource_template(server, S("notes://{id}"), &error));
  CHECK(freed == 3);
  OK(trunkline_server_remove_resource(server, S("notes://one"), &error));
  FAILS(TRUNKLINE_NOT_FOUND, "resource", trunkline_server_remove_resource(server, S("notes://one"), &error));
  while (!(heard.tools && heard.resources && heard.prompts && heard.updated) && now_ms() < deadline)
    OK(trunkline_dispatch(trunkline_server_port(server), 1000, NULL, &error));
  CHECK(heard.tools == 1 && heard.resources >= 1 && heard.prompts >= 1 && heard.updated == 1 && !heard.completed);
  FAILS(TRUNKLINE_PROTOCOL, "",
        trunkline_client_request(client, S("resources/read"), S(TRUNKLINE_JSON({"uri": "notes://one"})), NULL, &result, &error));
  trunkline_client_free(client);
  trunkline_server_free(server);
  trunkline_server_free(other);
}

/* Rows of a table that is too large to register: each is read by its URI, and they are listed in
   pages. */
static void provides_notes(trunkline_call *call, void *user_data) {
  trunkline_str arguments = trunkline_call_arguments(call);
  trunkline_text *text = NULL;
  trunkline_str list = NOTHING;
  (void)user_data;
  if (trunkline_json_get_text(arguments, S("/get/uri"), &text) == TRUNKLINE_OK) {
    if (contains(trunkline_text_str(text), "row"))
      CHECK(trunkline_call_return_text(call, trunkline_text_str(text)) == TRUNKLINE_OK);
    else
      OK(trunkline_call_return_json(call, TRUNKLINE_SHAPE_VALUE, S("null"), &error));
  } else if (trunkline_json_get_text(arguments, S("/list/cursor"), &text) == TRUNKLINE_OK) {
    CHECK(same(trunkline_text_str(text), "second"));
    OK(trunkline_call_return_json(call, TRUNKLINE_SHAPE_VALUE,
                                  S(TRUNKLINE_JSON({"items": [{"uri": "notes://row2", "name": "2"}]})), &error));
  } else {
    CHECK(trunkline_json_get(arguments, S("/list"), &list) == TRUNKLINE_OK);
    OK(trunkline_call_return_json(
        call, TRUNKLINE_SHAPE_VALUE,
        S(TRUNKLINE_JSON({"items": [{"uri": "notes://row1", "name": "1"}], "nextCursor": "second"})), &error));
  }
  trunkline_text_free(text);
}

static void provider(void) {
  trunkline_server *server = new_server();
  trunkline_client *client;
  trunkline_text *result = NULL, *cursor = NULL;
  char params[400];
  int freed = 0;
  FAILS(TRUNKLINE_INVALID_ARGUMENT, "drinks",
        trunkline_server_add_provider(server, S("drinks"), provides_notes, &freed, count_up, &error));
  OK(trunkline_server_add_provider(server, S("resources"), provides_notes, &freed, count_up, &error));
  CHECK(freed == 1);
  client = in_memory(server);
  gives(client, S("resources/read"), S(TRUNKLINE_JSON({"uri": "notes://row7"})), "/contents/0/text", "notes://row7");
  FAILS(TRUNKLINE_PROTOCOL, "notes://none",
        trunkline_client_request(client, S("resources/read"), S(TRUNKLINE_JSON({"uri": "notes://none"})), NULL, &result,
                                 &error));
  OK(trunkline_client_request(client, S("resources/list"), NOTHING, NULL, &result, &error));
  check_text(result, "/resources/0/uri", "notes://row1");
  CHECK(trunkline_json_get_text(trunkline_text_str(result), S("/nextCursor"), &cursor) == TRUNKLINE_OK);
  snprintf(params, sizeof params, "{\"cursor\":\"%s\"}", trunkline_text_str(cursor).data);
  trunkline_text_free(result);
  trunkline_text_free(cursor);
  gives(client, S("resources/list"), trunkline_str_of(params), "/resources/0/uri", "notes://row2");
  trunkline_client_free(client);
  trunkline_server_free(server);
  CHECK(freed == 2);
}

/* Middleware that adds to the result of a tool. */
static void add_to_result(trunkline_call *call, trunkline_result result, const trunkline_str *json,
                          const trunkline_error *error, void *user_data) {
  trunkline_text *text = NULL;
  char answer[200];
  CHECK(user_data != NULL);
  if (result != TRUNKLINE_OK) {
    CHECK(result == TRUNKLINE_PROTOCOL && trunkline_call_fail_with(call, error) == TRUNKLINE_OK);
    return;
  }
  CHECK(trunkline_json_get_text(*json, S("/content/0/text"), &text) == TRUNKLINE_OK);
  snprintf(answer, sizeof answer, "{\"content\":[{\"type\":\"text\",\"text\":\"<%s>\"}]}", trunkline_text_str(text).data);
  OK(trunkline_call_return_result(call, trunkline_str_of(answer), &error));
  trunkline_text_free(text);
}

static void outer(trunkline_call *call, void *user_data) {
  CHECK(contains(trunkline_call_arguments(call), "tools/call"));
  FAILS(TRUNKLINE_INVALID_ARGUMENT, "params", trunkline_call_next(call, S("{oops"), NULL, NULL, NULL, &error));
  OK(trunkline_call_next(call, NOTHING, add_to_result, user_data, count_up, &error));
}

/* The name of what is called, also for middleware around it. */
static bool call_is_named(trunkline_call *call, trunkline_str expected) {
  trunkline_text *name = NULL;
  bool is_it;
  CHECK(trunkline_call_fact(call, S("/name"), &name) == TRUNKLINE_OK);
  /* JSON: the name is in quotes. */
  is_it = expected.len + 2 == trunkline_text_str(name).len &&
          memcmp(expected.data, trunkline_text_str(name).data + 1, expected.len) == 0;
  trunkline_text_free(name);
  return is_it;
}

static void inner(trunkline_call *call, void *user_data) {
  trunkline_text *name = NULL;
  (void)user_data;
  CHECK(trunkline_json_get_text(trunkline_call_arguments(call), S("/params/name"), &name) == TRUNKLINE_OK);
  CHECK(call_is_named(call, trunkline_text_str(name)));
  if (same(trunkline_text_str(name), "alias"))
    OK(trunkline_call_next(call, S(TRUNKLINE_JSON({"name": "echo", "arguments": {"message": "renamed"}})), NULL, NULL, NULL,
                           &error));
  else if (same(trunkline_text_str(name), "tagged"))
    OK(trunkline_call_next(call, S(TRUNKLINE_JSON({"name": "tag", "_meta": {"com.acme/tag": 7}})), NULL, NULL, NULL, &error));
  else if (same(trunkline_text_str(name), "forbidden"))
    OK(trunkline_call_fail_protocol(call, -32001, S("not for you"), NOTHING, &error));
  else
    OK(trunkline_call_next(call, NOTHING, NULL, NULL, NULL, &error));
  trunkline_text_free(name);
}

static void tells_tag(trunkline_call *call, void *user_data) {
  trunkline_text *tag = NULL;
  (void)user_data;
  CHECK(trunkline_call_fact(call, S("/meta/com.acme~1tag"), &tag) == TRUNKLINE_OK);
  CHECK(trunkline_call_return_text(call, trunkline_text_str(tag)) == TRUNKLINE_OK);
  trunkline_text_free(tag);
}

static void huge(trunkline_call *call, void *user_data) {
  (void)user_data;
  OK(trunkline_call_return_result(call, S("{\"content\":[],\"structuredContent\":{\"huge\":18446744073709551617}}"), &error));
}

static void middleware(void) {
  trunkline_server *server = new_server();
  trunkline_client *client;
  trunkline_text *result = NULL;
  trunkline_error *detail = NULL;
  int ran = 0;
  OK(trunkline_server_add_middleware(server, S("[\"tools/call\"]"), outer, &ran, NULL, &error));
  OK(trunkline_server_add(server, S("middleware"), S("{\"methods\":[\"tools/call\"]}"), inner, NULL, NULL, NULL, &error));
  FAILS(TRUNKLINE_INVALID_ARGUMENT, "methods", trunkline_server_add_middleware(server, S("oops"), inner, NULL, NULL, &error));
  client = in_memory(server);
  check_echo(client, "{\"message\":\"hello\"}", "<hello>");
  CHECK(ran == 1);
  /* Half a surrogate pair, such as of a host with UTF-16. */
  check_echo(client, "{\"message\":\"\\ud83d\"}", "<\xef\xbf\xbd>");
  ran = 1;
  OK(trunkline_client_call_tool(client, S("alias"), NOTHING, NULL, &result, &error));
  check_text(result, "/content/0/text", "<renamed>");
  trunkline_text_free(result);
  result = NULL;
  CHECK(trunkline_client_call_tool(client, S("forbidden"), NOTHING, NULL, &result, &detail) == TRUNKLINE_PROTOCOL);
  CHECK(trunkline_error_code(detail) == -32001);
  CHECK(strcmp(trunkline_error_message(detail), "not for you (-32001)") == 0);
  trunkline_error_free(detail);
  FAILS(TRUNKLINE_PROTOCOL, "nothing_like_it",
        trunkline_client_call_tool(client, S("nothing_like_it"), NOTHING, NULL, &result, &error));
  CHECK(ran == 4);
  OK(trunkline_client_list_tools(client, NULL, &result, &error));
  CHECK(ran == 4);
  trunkline_text_free(result);
  /* The handler has the `_meta` that middleware gave. */
  add(server, S(PLAIN("tag")), tells_tag, NULL);
  OK(trunkline_client_call_tool(client, S("tagged"), NOTHING, NULL, &result, &error));
  check_text(result, "/content/0/text", "<7>");
  trunkline_text_free(result);
  result = NULL;
  trunkline_client_free(client);
  trunkline_server_free(server);
  /* Integers beyond 64 bits. */
  server = new_server();
  OK(trunkline_server_add_middleware(server, S("[\"tools/call\"]"), inner, NULL, NULL, &error));
  add(server, S(PLAIN("huge")), huge, NULL);
  client = in_memory(server);
  OK(trunkline_client_call_tool(client, S("huge"), NOTHING, NULL, &result, &error));
  CHECK(contains(trunkline_text_str(result), "{\"huge\":18446744073709551617}"));
  trunkline_text_free(result);
  trunkline_client_free(client);
  trunkline_server_free(server);
}

/* CMP-03: a completer is part of the definition of what it completes, and removed with it. */
static void completers(void) {
  trunkline_server *server = new_server();
  trunkline_client *client;
  uint64_t completer = 0, prompt = 0;
  int freed = 0;
  char entry[300];
  OK(trunkline_server_add(server, S("completer"), S("{}"), suggests, &freed, count_up, &completer, &error));
  snprintf(entry, sizeof entry, "{\"prompt\": {\"name\": \"plan\", \"arguments\": [{\"name\": \"city\"}]}, \"complete\": {\"%s\": %llu}}",
           "cty", (unsigned long long)completer);
  FAILS(TRUNKLINE_INVALID_ARGUMENT, "there is no argument cty; the arguments are city",
        trunkline_server_add(server, S("prompt"), trunkline_str_of(entry), returns_arguments, NULL, NULL, &prompt, &error));
  snprintf(entry, sizeof entry, "{\"prompt\": {\"name\": \"plan\", \"arguments\": [{\"name\": \"city\"}]}, \"complete\": {\"%s\": %llu}}",
           "city", (unsigned long long)completer);
  OK(trunkline_server_add(server, S("prompt"), trunkline_str_of(entry), returns_arguments, NULL, NULL, &prompt, &error));
  client = in_memory(server);
  gives(client, S("completion/complete"),
        S(TRUNKLINE_JSON({"ref": {"type": "ref/prompt", "name": "plan"}, "argument": {"name": "city", "value": "o"},
                          "context": {"arguments": {"country": "norway"}}})),
        "/completion/values/1", "odda");
  OK(trunkline_server_remove(server, prompt, &error));
  OK(trunkline_server_remove(server, completer, &error));
  trunkline_client_free(client);
  trunkline_server_free(server);
  CHECK(freed == 1);
}

static void returns_params(trunkline_call *call, void *user_data) {
  (void)user_data;
  OK(trunkline_call_progress(call, 1, 2, NOTHING));
  OK(trunkline_call_return_json(call, TRUNKLINE_SHAPE_VALUE, trunkline_call_arguments(call), &error));
}

static void returns_number(trunkline_call *call, void *user_data) {
  (void)user_data;
  OK(trunkline_call_return_json(call, TRUNKLINE_SHAPE_VALUE, S("7"), &error));
}

/* EXT-10: requests beyond the protocol have handlers, in both eras; its own names have none. */
static void request_handlers(void) {
  trunkline_server *server = new_server();
  uint64_t registration = 0;
  int modern, freed = 0;
  trunkline_str schema = S(TRUNKLINE_JSON({"type": "object", "required": ["a"]}));
  OK(trunkline_server_add_request_handler(server, S("com.acme/echo"), schema, returns_params, &freed, count_up, &error));
  OK(trunkline_server_add_request_handler(server, S("com.acme/number"), NOTHING, returns_number, &freed, count_up, &error));
  OK(trunkline_server_add(server, S("requestHandler"),
                          S(TRUNKLINE_JSON({"method": "com.acme/gone", "scopes": ["none.are.verified"], "timeoutMs": 60000})),
                          returns_params, &freed, count_up, &registration, &error));
  FAILS(TRUNKLINE_INVALID_ARGUMENT, "is a method of the protocol",
        trunkline_server_add_request_handler(server, S("tools/call"), NOTHING, echo, &freed, count_up, &error));
  FAILS(TRUNKLINE_INVALID_ARGUMENT, "the prefix \"tools\" is reserved by the protocol",
        trunkline_server_add_request_handler(server, S("tools/sum"), NOTHING, echo, &freed, count_up, &error));
  FAILS(TRUNKLINE_INVALID_ARGUMENT, "already registered",
        trunkline_server_add_request_handler(server, S("com.acme/echo"), NOTHING, echo, &freed, count_up, &error));
  CHECK(freed == 3);
  for (modern = 0; modern < 2; ++modern) {
    trunkline_client *client = in_memory_speaking(server, modern ? "2026-07-28" : "2025-11-25");
    trunkline_text *result = NULL;
    gives(client, S("com.acme/echo"), S(TRUNKLINE_JSON({"a": {"b": "c"}})), "/a/b", "c");
    CHECK(trunkline_client_request(client, S("com.acme/echo"), S("{}"), NULL, &result, NULL) == TRUNKLINE_PROTOCOL);
    CHECK(trunkline_error_code(trunkline_last_error()) == -32602);
    CHECK(trunkline_client_request(client, S("com.acme/number"), NOTHING, NULL, &result, NULL) == TRUNKLINE_PROTOCOL);
    CHECK(trunkline_error_code(trunkline_last_error()) == -32603);
    if (!modern) {
      OK(trunkline_client_request(client, S("com.acme/gone"), NOTHING, NULL, &result, &error));
      trunkline_text_free(result);
      OK(trunkline_server_remove(server, registration, &error));
      CHECK(freed == 4);
    }
    CHECK(trunkline_client_request(client, S("com.acme/gone"), NOTHING, NULL, &result, NULL) == TRUNKLINE_PROTOCOL);
    CHECK(trunkline_error_code(trunkline_last_error()) == -32601);
    trunkline_client_free(client);
  }
  trunkline_server_free(server);
  CHECK(freed == 6);
}

static void no_answer(trunkline_call *call, trunkline_result result, const trunkline_str *json,
                      const trunkline_error *error, void *user_data) {
  (void)call, (void)json, (void)error, (void)user_data;
  fprintf(stderr, "the server is gone, but its call heard %s\n", trunkline_result_name(result));
  exit(1);
}

static int asked;

static void pings_and_waits(trunkline_call *call, void *user_data) {
  OK(trunkline_call_start_request(call, S("ping"), NOTHING, NULL, no_answer, user_data, count_up, NULL, &error));
  asked = 1;
}

/* A pending call, and the objects that it waits for, go with their server. */
static void freed_while_requesting(void) {
  trunkline_server *server = new_server();
  trunkline_client *client;
  int freed = 0, tool_freed = 0;
  unsigned long long deadline = now_ms() + patience_ms(10000);
  add(server, S(PLAIN("ask")), pings_and_waits, &freed);
  OK(trunkline_server_add_tool(server, S(PLAIN("other")), pings_and_waits, &tool_freed, count_up, &error));
  client = in_memory_speaking(server, "2025-11-25");
  OK(trunkline_client_start(client, S(TRUNKLINE_METHOD_CALL_TOOL), S("{\"name\":\"ask\"}"), NULL, NULL, NULL, NULL, NULL, &error));
  while (!asked && now_ms() < deadline) OK(trunkline_dispatch(trunkline_server_port(server), 100, NULL, &error));
  CHECK(asked && !freed);
  trunkline_server_free(server);
  CHECK(freed == 1 && tool_freed == 1);
  trunkline_client_free(client);
}

/* SKL-01, SKL-15, SKL-24, SKL-45: a skill is only data, which the core serves; once removed, it is
 * absent. */
static void skill(void) {
  static const trunkline_str manifest = TRUNKLINE_STR_INIT(TRUNKLINE_JSON({"uri": "skill://greet/SKILL.md"}));
  trunkline_server *server = new_server();
  trunkline_client *client;
  trunkline_text *offered = NULL;
  trunkline_error *refused = NULL;
  trunkline_str declared;
  uint64_t registration = 0;
  int freed = 0;
  OK(trunkline_server_add(server, S("skill"),
                          S(TRUNKLINE_JSON({"root": "skill://greet",
                                            "files": [{"path": "SKILL.md",
                                                       "text": "---\nname: greet\ndescription: Greets\n---\nSay hello."}]})),
                          NULL, &freed, count_up, &registration, &error));
  CHECK(freed == 1);
  client = in_memory_speaking(server, "2025-11-25");
  gives(client, S("resources/read"), manifest, "/contents/0/mimeType", "text/markdown");
  gives(client, S("resources/list"), NOTHING, "/resources/0/name", "greet");
  gives(client, S("resources/list"), NOTHING, "/resources/0/description", "Greets");
  trunkline_client_free(client);
  client = in_memory_speaking(server, "2026-07-28");
  OK(trunkline_client_request(client, S("server/discover"), NOTHING, NULL, &offered, &error));
  CHECK(!trunkline_json_get(trunkline_text_str(offered), S("/capabilities/extensions/io.modelcontextprotocol~1skills"),
                            &declared));
  trunkline_text_free(offered);
  gives(client, S("skills/list"), NOTHING, "/skills/0/uri", "skill://greet/SKILL.md");
  gives(client, S("skills/get"), manifest, "/skill/frontmatter/description", "Greets");
  gives(client, S("skills/get"), manifest, "/skill/resources/0/digest",
        "sha256:3a22155fedfbc713cefb737f5d534a9d70a5eff5a2c51fd39f8bd81314fa0ef6");
  OK(trunkline_server_remove(server, registration, &error));
  CHECK(trunkline_client_request(client, S("skills/get"), manifest, NULL, &offered, &refused) == TRUNKLINE_PROTOCOL);
  CHECK(trunkline_error_code(refused) == -32602);
  trunkline_error_free(refused);
  trunkline_client_free(client);
  trunkline_server_free(server);
}

/* ---- who may call ---- */

static void judges(trunkline_call *call, void *user_data) {
  trunkline_text *token = NULL, *fact = NULL;
  (void)user_data;
  CHECK(trunkline_json_get_text(trunkline_call_arguments(call), S("/token"), &token) == TRUNKLINE_OK);
  /* The request that presents it has facts, as calls have. */
  CHECK(trunkline_call_fact(call, S("/headers/authorization"), &fact) == TRUNKLINE_OK);
  CHECK(contains(trunkline_text_str(fact), trunkline_text_str(token).data));
  trunkline_text_free(fact), fact = NULL;
  CHECK(trunkline_call_fact(call, S("/target"), &fact) == TRUNKLINE_OK && same(trunkline_text_str(fact), "\"/mcp\""));
  trunkline_text_free(fact), fact = NULL;
  CHECK(trunkline_call_fact(call, S("/remoteAddress"), &fact) == TRUNKLINE_OK && same(trunkline_text_str(fact), "\"127.0.0.1\""));
  trunkline_text_free(fact);
  if (same(trunkline_text_str(token), "anns"))
    OK(trunkline_call_return_json(call, TRUNKLINE_SHAPE_VALUE, S(TRUNKLINE_JSON({"subject": "ann", "scopes": ["mcp"]})),
                                  &error));
  else
    OK(trunkline_call_return_json(call, TRUNKLINE_SHAPE_VALUE, S("null"), &error));
  trunkline_text_free(token);
}

static void tells_caller(trunkline_call *call, void *user_data) {
  trunkline_text *subject = NULL, *scope = NULL, *principal = NULL;
  (void)user_data;
  CHECK(trunkline_call_fact(call, S("/auth/scopes/0"), &scope) == TRUNKLINE_OK && same(trunkline_text_str(scope), "\"mcp\""));
  CHECK(trunkline_call_fact(call, S("/auth/principal"), &principal) == TRUNKLINE_OK);
  trunkline_text_free(scope);
  trunkline_text_free(principal);
  CHECK(trunkline_call_fact(call, S("/auth/subject"), &subject) == TRUNKLINE_OK);
  CHECK(trunkline_call_return_text(call, trunkline_text_str(subject)) == TRUNKLINE_OK);
  trunkline_text_free(subject);
}

static trunkline_result connect_with(trunkline_listener *listener, const char *authorization, trunkline_client **client) {
  trunkline_client_options *options = NULL;
  trunkline_result result;
  OK(trunkline_client_options_new(&options, &error));
  CHECK(!trunkline_client_options_set_revision(options, S("2025-11-25")));
  CHECK(!trunkline_client_options_set_header(options, S("Authorization"), trunkline_str_of(authorization)));
  result = trunkline_client_connect_http(trunkline_listener_url(listener), options, client, NULL);
  trunkline_client_options_free(options);
  return result;
}

static void gives_headers(trunkline_call *call, void *calls) {
  trunkline_text *url = NULL;
  CHECK(!trunkline_json_get_text(trunkline_call_arguments(call), S("/url"), &url));
  trunkline_text_free(url);
  ++*(int *)calls;
  OK(trunkline_call_return_result(call, S("{\"headers\":{\"Authorization\":\"Bearer anns\"}}"), &error));
}

/* A function returns the headers of each request. */
static void call_with_headers_of_a_function(trunkline_listener *listener) {
  trunkline_client_options *options = NULL;
  trunkline_client *client = NULL;
  trunkline_text *result = NULL;
  int calls = 0;
  OK(trunkline_client_options_new(&options, &error));
  CHECK(!trunkline_client_options_on_request_headers(options, gives_headers, &calls, NULL));
  OK(trunkline_client_connect_http(trunkline_listener_url(listener), options, &client, &error));
  OK(trunkline_client_call_tool(client, S("caller"), NOTHING, NULL, &result, &error));
  check_text(result, "/content/0/text", "\"ann\"");
  CHECK(calls >= 2);
  trunkline_text_free(result);
  trunkline_client_options_free(options);
  trunkline_client_free(client);
}

static void run_until_stopped(void *server) { OK(trunkline_server_run((trunkline_server *)server, &error)); }

/* A custom verifier; tools know their caller and need scopes. */
static void access_tokens(void) {
  trunkline_server *server = new_server();
  trunkline_tool_options *options = NULL;
  trunkline_http_options *http_options = NULL;
  trunkline_server_options *server_options = NULL;
  trunkline_server *unmade = NULL;
  trunkline_request_options *request_options = NULL;
  trunkline_listener *listener = NULL, *none = NULL;
  trunkline_client *client = NULL;
  trunkline_text *result = NULL;
  thread_task task = {run_until_stopped, NULL};
  thread runner;
  trunkline_str facts;
  int64_t status = 0;
  uint64_t verifier = 0;
  char auth[300];
  add(server, S(PLAIN("caller")), tells_caller, NULL);
  OK(trunkline_tool_options_new(&options, &error));
  CHECK(!trunkline_tool_options_set_scopes(options, S("[\"write\"]")));
  CHECK(!trunkline_tool_options_set_defer_task(options, false));
  OK(trunkline_server_add_tool_with(server, S(PLAIN("write")), options, tells_caller, NULL, NULL, &error));
  /* One that is never a task is not run again. */
  CHECK(!trunkline_tool_options_set_restart_task(options, true));
  CHECK(trunkline_server_add_tool_with(server, S(PLAIN("again")), options, tells_caller, NULL, NULL, NULL) ==
        TRUNKLINE_INVALID_ARGUMENT);
  trunkline_tool_options_free(options);
  OK(trunkline_server_add(server, S("verifier"), S("{}"), judges, NULL, NULL, &verifier, &error));
  snprintf(auth, sizeof auth,
           "{\"resource\":\"http://127.0.0.1:1/mcp\",\"authorizationServers\":[\"http://127.0.0.1:2\"],\"verifier\":%llu}",
           (unsigned long long)verifier);
  OK(trunkline_http_options_new(&http_options, &error));
  CHECK(!trunkline_http_options_set_port(http_options, 0));
  CHECK(!trunkline_http_options_set_auth(http_options, trunkline_str_of(auth)));
  OK(trunkline_server_listen_http(server, http_options, &listener, &error));
  trunkline_http_options_free(http_options), http_options = NULL;
  /* Members of the authorization are the program's JSON, and are named as it has them. */
  OK(trunkline_http_options_new(&http_options, &error));
  CHECK(!trunkline_http_options_set_auth(
      http_options,
      S("{\"resource\":\"http://127.0.0.1:1/mcp\",\"authorizationServers\":[\"http://127.0.0.1:2\"],\"strictType\":5}")));
  FAILS(TRUNKLINE_INVALID_ARGUMENT, "auth.strictType: must be true or false, not 5",
        trunkline_server_listen_http(server, http_options, &none, &error));
  CHECK(!trunkline_http_options_set_auth(http_options, S("{\"strictTyp\":true}")));
  FAILS(TRUNKLINE_INVALID_ARGUMENT, "unknown option `strictTyp`: did you mean `strictType`?",
        trunkline_server_listen_http(server, http_options, &none, &error));
  trunkline_http_options_free(http_options), http_options = NULL;
  OK(trunkline_server_options_new(&server_options, &error));
  CHECK(!trunkline_server_options_set_limit(server_options, TRUNKLINE_LIMIT_PAGE_SIZE, 0));
  FAILS(TRUNKLINE_INVALID_ARGUMENT, "page_size: must be 1 or more, not 0",
        trunkline_server_new_with(S("a"), S("1"), server_options, &unmade, &error));
  trunkline_server_options_free(server_options);
  OK(trunkline_server_options_from_json(S("{\"title\":\"A\",\"pageSize\":0}"), &server_options, &error));
  FAILS(TRUNKLINE_INVALID_ARGUMENT, "page_size: must be 1 or more, not 0",
        trunkline_server_new_with(S("a"), S("1"), server_options, &unmade, &error));
  trunkline_server_options_free(server_options);
  FAILS(TRUNKLINE_INVALID_ARGUMENT, "the argument `json` is not JSON",
        trunkline_http_options_from_json(S("{"), &http_options, &error));
  FAILS(TRUNKLINE_INVALID_ARGUMENT, "unknown option `fresch`: did you mean `fresh`?",
        trunkline_request_options_from_json(S("{\"fresch\":true}"), &request_options, &error));
  /* A guard that is misspelt or in the descriptor would have no effect. */
  FAILS(TRUNKLINE_INVALID_ARGUMENT, "unknown member /scope: did you mean scopes?",
        trunkline_server_add_tool(server, S("{\"name\":\"open\",\"scope\":[\"write\"]}"), tells_caller, NULL, NULL, &error));
  FAILS(TRUNKLINE_INVALID_ARGUMENT, "set scopes as an option next to the descriptor",
        trunkline_server_add_tool(server, S("{\"name\":\"open\",\"scopes\":[\"write\"]}"), tells_caller, NULL, NULL, &error));
  FAILS(TRUNKLINE_INVALID_ARGUMENT, "title: must be a string, not 3",
        trunkline_server_add_tool(server, S("{\"name\":\"open\",\"title\":3}"), tells_caller, NULL, NULL, &error));
  task.data = server;
  thread_start(&runner, &task);
  /* A refusal has its status, its challenge and what it asks for. */
  CHECK(connect_with(listener, "Bearer nobodys", &client) == TRUNKLINE_AUTHORIZATION_REQUIRED && client == NULL);
  CHECK(trunkline_error_json(trunkline_last_error(), &facts) == TRUNKLINE_OK);
  CHECK(trunkline_json_get_int64(facts, S("/data/httpStatus"), &status) == TRUNKLINE_OK && status == 401);
  CHECK(trunkline_json_get_text(facts, S("/data/challenges/0"), &result) == TRUNKLINE_OK);
  CHECK(contains(trunkline_text_str(result), "resource_metadata="));
  trunkline_text_free(result);
  CHECK(connect_with(listener, "Bearer anns", &client) == TRUNKLINE_OK);
  OK(trunkline_client_call_tool(client, S("caller"), NOTHING, NULL, &result, &error));
  check_text(result, "/content/0/text", "\"ann\"");
  trunkline_text_free(result);
  CHECK(trunkline_client_call_tool(client, S("write"), NOTHING, NULL, &result, NULL) ==
        TRUNKLINE_AUTHORIZATION_REQUIRED);
  CHECK(trunkline_error_json(trunkline_last_error(), &facts) == TRUNKLINE_OK);
  CHECK(trunkline_json_get_int64(facts, S("/data/httpStatus"), &status) == TRUNKLINE_OK && status == 403);
  CHECK(trunkline_json_get(facts, S("/data/scopes"), &facts) == TRUNKLINE_OK && facts.len > 2);
  trunkline_client_free(client);
  call_with_headers_of_a_function(listener);
  CHECK(!trunkline_server_stop(server));
  thread_join(runner);
  trunkline_listener_free(listener);
  trunkline_server_free(server);
}

/* The other options of a listener, on a Unix socket. */
static void unix_socket(void) {
#ifndef _WIN32
  trunkline_server *server = new_server();
  trunkline_http_options *options = NULL;
  trunkline_listener *listener = NULL;
  trunkline_client *client = NULL;
  thread_task task = {run_until_stopped, NULL};
  thread runner;
  char path[100];
  snprintf(path, sizeof path, "%s/trunkline-suite-%ld.sock", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp", (long)getpid());
  OK(trunkline_http_options_new(&options, &error));
  CHECK(!trunkline_http_options_set_unix(options, trunkline_str_of(path), 0600));
  CHECK(!trunkline_http_options_set_sse(options, S("/events"), S("/post")));
  CHECK(!trunkline_http_options_set_sse(options, NOTHING, NOTHING));
  CHECK(!trunkline_http_options_set_replay(options, 10, 10000));
  CHECK(!trunkline_http_options_set_retry_ms(options, 200));
  CHECK(!trunkline_http_options_set_max_connections(options, 100));
  CHECK(!trunkline_http_options_set_max_requests(options, 100));
  CHECK(!trunkline_http_options_set_max_body_bytes(options, 1000000));
  OK(trunkline_server_listen_http(server, options, &listener, &error));
  trunkline_http_options_free(options);
  CHECK(contains(trunkline_listener_url(listener), path));
  task.data = server;
  thread_start(&runner, &task);
  OK(trunkline_client_connect_http(trunkline_listener_url(listener), NULL, &client, &error));
  check_echo(client, "{\"message\":\"over a socket\"}", "over a socket");
  trunkline_client_free(client);
  CHECK(!trunkline_server_stop(server));
  thread_join(runner);
  trunkline_listener_free(listener);
  trunkline_server_free(server);
#endif
}
