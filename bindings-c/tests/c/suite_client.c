/* The operations of a client, blocking and started, in both eras. A part of suite.c. */

/* Two notes, a template, a prompt with a completion: one page of the lists has one item. */
static trunkline_server *library(void) {
  static char text[] = "the text";
  trunkline_server_options *options = NULL;
  trunkline_server *server = NULL;
  OK(trunkline_server_options_new(&options, &error));
  CHECK(trunkline_server_options_set_limit(options, TRUNKLINE_LIMIT_PAGE_SIZE, 1) == TRUNKLINE_OK);
  OK(trunkline_server_new_with(S("library"), S("1"), options, &server, &error));
  trunkline_server_options_free(options);
  add(server, S(ECHO), echo, NULL);
  OK(trunkline_server_add_resource(server, S(TRUNKLINE_JSON({"uri": "notes://one", "name": "one"})), returns_data, text, NULL,
                                   &error));
  OK(trunkline_server_add_resource(server, S(TRUNKLINE_JSON({"uri": "notes://two", "name": "two"})), returns_data, text, NULL,
                                   &error));
  OK(trunkline_server_add_resource_template(server, S(TRUNKLINE_JSON({"uriTemplate": "notes://{year}/{name}", "name": "any"})),
                                            returns_arguments, NULL, NULL, &error));
  OK(trunkline_server_add_prompt(
      server, S(TRUNKLINE_JSON({"name": "plan", "arguments": [{"name": "city", "required": true}, {"name": "country"}]})),
      returns_arguments, NULL, NULL, &error));
  OK(trunkline_server_add_completion(server, S(TRUNKLINE_JSON({"type": "ref/prompt", "name": "plan"})), S("city"), suggests,
                                     NULL, NULL, &error));
  return server;
}

#define PLAN S(TRUNKLINE_JSON({"type": "ref/prompt", "name": "plan"}))
#define CITY S(TRUNKLINE_JSON({"name": "city", "value": "o"}))
#define NORWAY S(TRUNKLINE_JSON({"arguments": {"country": "norway"}}))

/* A result that must have this text at that pointer. */
static void takes(trunkline_text *result, const char *pointer, const char *text) {
  check_text(result, pointer, text);
  trunkline_text_free(result);
}

/* A started request whose result must have that part. */
static void answers(trunkline_client *client, outcome *seen, const char *part) {
  settle(trunkline_client_port(client), seen);
  if (seen->result != TRUNKLINE_OK || !strstr(seen->text, part)) {
    fprintf(stderr, "\"%s\" is not in %s\n", part, seen->text);
    exit(1);
  }
  memset(seen, 0, sizeof *seen);
}

static void blocking_operations(trunkline_client *client) {
  trunkline_text *result = NULL;
  OK(trunkline_client_ping(client, NULL, &error));
  OK(trunkline_client_list_tools(client, NULL, &result, &error));
  takes(result, "/0/name", "echo");
  OK(trunkline_client_list_resources(client, NULL, &result, &error));
  check_text(result, "/0/uri", "notes://one");
  takes(result, "/1/uri", "notes://two");
  OK(trunkline_client_list_resource_templates(client, NULL, &result, &error));
  takes(result, "/0/uriTemplate", "notes://{year}/{name}");
  OK(trunkline_client_read_resource(client, S("notes://one"), NULL, &result, &error));
  takes(result, "/contents/0/text", "the text");
  OK(trunkline_client_read_resource(client, S("notes://2026/%22a%22"), NULL, &result, &error));
  takes(result, "/contents/0/uri", "notes://2026/%22a%22");
  OK(trunkline_client_call_text(client, S("echo"), S(TRUNKLINE_JSON({"message": "text"})), NULL, &result, &error));
  CHECK(strstr(trunkline_text_str(result).data, "text"));
  trunkline_text_free(result);
  OK(trunkline_client_list_prompts(client, NULL, &result, &error));
  takes(result, "/0/arguments/1/name", "country");
  OK(trunkline_client_get_prompt(client, S("plan"), S(TRUNKLINE_JSON({"city": "oslo"})), NULL, &result, &error));
  takes(result, "/messages/0/content/text", TRUNKLINE_JSON({"city": "oslo"}));
  OK(trunkline_client_complete(client, PLAN, CITY, NORWAY, NULL, &result, &error));
  takes(result, "/completion/values/1", "odda");
}

/* Starts a request and waits for a result that has a text in it. */
static void start_answers(trunkline_client *client, const char *method, const char *params, bool all, const char *text) {
  outcome seen = {0, 0, TRUNKLINE_INTERNAL, ""};
  trunkline_request_options *options = NULL;
  OK(trunkline_request_options_new(&options, &error));
  OK(trunkline_request_options_set_all(options, all));
  OK(trunkline_client_start(client, trunkline_str_of(method), trunkline_str_of(params), options, see_outcome, &seen,
                            free_outcome, NULL, &error));
  trunkline_request_options_free(options);
  answers(client, &seen, text);
}

static void started_operations(trunkline_client *client) {
  start_answers(client, TRUNKLINE_METHOD_PING, "", false, "{");
  start_answers(client, TRUNKLINE_METHOD_LIST_TOOLS, "", true, "\"echo\"");
  start_answers(client, TRUNKLINE_METHOD_LIST_RESOURCES, "", true, "notes://two");
  start_answers(client, TRUNKLINE_METHOD_LIST_RESOURCE_TEMPLATES, "", true, "notes://{year}/{name}");
  start_answers(client, TRUNKLINE_METHOD_READ_RESOURCE, TRUNKLINE_JSON({"uri": "notes://two"}), false, "the text");
  start_answers(client, TRUNKLINE_METHOD_LIST_PROMPTS, "", true, "\"plan\"");
  start_answers(client, TRUNKLINE_METHOD_GET_PROMPT, TRUNKLINE_JSON({"name": "plan", "arguments": {"city": "oslo"}}), false,
                "oslo");
  start_answers(client, TRUNKLINE_METHOD_COMPLETE,
                TRUNKLINE_JSON({
                  "ref": {"type": "ref/prompt", "name": "plan"},
                  "argument": {"name": "city", "value": "o"},
                  "context": {"arguments": {"country": "norway"}}
                }),
                false, "odda");
}

static void refused_operations(trunkline_client *client) {
  trunkline_text *result = NULL;
  int freed = 0;
  FAILS(TRUNKLINE_PROTOCOL, "notes:", trunkline_client_read_resource(client, S("notes:nothing"), NULL, &result, &error));
  FAILS(TRUNKLINE_PROTOCOL, "city", trunkline_client_get_prompt(client, S("plan"), NOTHING, NULL, &result, &error));
  FAILS(TRUNKLINE_INVALID_ARGUMENT, "`arguments` is not JSON",
        trunkline_client_get_prompt(client, S("plan"), S("{oops"), NULL, &result, &error));
  FAILS(TRUNKLINE_INVALID_ARGUMENT, "`reference` must be JSON",
        trunkline_client_complete(client, NOTHING, CITY, NOTHING, NULL, &result, &error));
  FAILS(TRUNKLINE_NULL, "result", trunkline_client_read_resource(client, S("notes://one"), NULL, NULL, &error));
  FAILS(TRUNKLINE_NULL, "resources", trunkline_client_list_resources(client, NULL, NULL, &error));
  FAILS(TRUNKLINE_INVALID_ARGUMENT, "`params` is not JSON",
        trunkline_client_start(client, S(TRUNKLINE_METHOD_COMPLETE), S("["), NULL, NULL, &freed, count_up, NULL, &error));
  CHECK(result == NULL && freed == 1);
  /* Methods of vendors go to the server, which answers; those of other revisions do not. */
  CHECK(trunkline_client_request(client, S("com.acme/unknown"), S("{}"), NULL, &result, NULL) == TRUNKLINE_PROTOCOL);
  CHECK(trunkline_error_code(trunkline_last_error()) == -32601);
  CHECK(!strstr(trunkline_error_message(trunkline_last_error()), "has no such method"));
}

/* In memory, on legacy revisions and the newest, and over HTTP. */
static void client_operations(void) {
  static const char *const revisions[] = {"2025-06-18", "2025-11-25", "2026-07-28"};
  trunkline_server *server = library();
  size_t index;
  elsewhere there;
  trunkline_client *client;
  for (index = 0; index < sizeof revisions / sizeof *revisions; ++index) {
    client = in_memory_speaking(server, revisions[index]);
    blocking_operations(client);
    started_operations(client);
    refused_operations(client);
    trunkline_client_free(client);
  }
  run_elsewhere(&there, server);
  client = client_of(&there, NULL);
  blocking_operations(client);
  started_operations(client);
  trunkline_client_free(client);
  end_elsewhere(&there);
}

