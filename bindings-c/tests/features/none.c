/* For a library without cargo features: a function that needs one of them fails, and names it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <trunkline.h>

#define S(literal) TRUNKLINE_STR(literal)
/* Runs a function whose last argument is `&error`, and compares its result and its message. */
#define GIVES(wanted, part, call)                              \
  do {                                                         \
    trunkline_error *error = NULL;                             \
    trunkline_result given = (call);                           \
    compare(__LINE__, #call, given, wanted, error, part);      \
    trunkline_error_free(error);                               \
  } while (0)

static void compare(int line, const char *call, trunkline_result result, trunkline_result wanted,
                    const trunkline_error *error, const char *part) {
  const char *message = error ? trunkline_error_message(error) : "no error";
  if (result == wanted && (!part || strstr(message, part))) return;
  fprintf(stderr, "line %d: %s: %s: %s\n", line, call, trunkline_result_name(result), message);
  exit(1);
}

static void refuse_store(trunkline_str url, const char *feature) {
  trunkline_server_options *options = NULL;
  trunkline_server *server = NULL;
  GIVES(TRUNKLINE_OK, NULL, trunkline_server_options_new(&options, &error));
  trunkline_server_options_set_store(options, url);
  GIVES(TRUNKLINE_INVALID_ARGUMENT, feature, trunkline_server_new_with(S("small"), S("1"), options, &server, &error));
  trunkline_server_options_free(options);
}

static void refuse_http(trunkline_server *server) {
  trunkline_http_options *options = NULL;
  trunkline_listener *listener = NULL;
  trunkline_client_options *client_options = NULL;
  trunkline_client *client = NULL;
  GIVES(TRUNKLINE_OK, NULL, trunkline_http_options_new(&options, &error));
  GIVES(TRUNKLINE_INVALID_ARGUMENT, "http-server", trunkline_server_listen_http(server, options, &listener, &error));
  trunkline_http_options_set_auth(options, S("{\"resource\": \"https://a.example/mcp\", \"issuer\": \"https://b.example\"}"));
  GIVES(TRUNKLINE_INVALID_ARGUMENT, "auth", trunkline_server_listen_http(server, options, &listener, &error));
  trunkline_http_options_free(options);
  GIVES(TRUNKLINE_INVALID_ARGUMENT, "http-client",
        trunkline_client_connect_http(S("http://127.0.0.1:1/mcp"), NULL, &client, &error));
  GIVES(TRUNKLINE_OK, NULL, trunkline_client_options_new(&client_options, &error));
  trunkline_client_options_set_auth(client_options, S("{\"token\": \"secret\"}"));
  GIVES(TRUNKLINE_INVALID_ARGUMENT, "auth",
        trunkline_client_connect_http(S("http://127.0.0.1:1/mcp"), client_options, &client, &error));
  trunkline_client_options_free(client_options);
}

static void refused(trunkline_call *call, trunkline_result result, const trunkline_str *json,
                    const trunkline_error *error, void *user_data) {
  (void)json, (void)user_data;
  compare(__LINE__, "the answer", result, TRUNKLINE_PROTOCOL, error, "request-state");
  trunkline_call_return_text(call, S("refused"));
}

static void ask(trunkline_call *call, void *user_data) {
  (void)user_data;
  GIVES(TRUNKLINE_OK, NULL,
        trunkline_call_elicit(call,
                              TRUNKLINE_JSON_STR({"message": "Sure?", "requestedSchema": {"type": "object", "properties": {}}}),
                              S(""), refused, NULL, NULL, &error));
}

/* The client is not asked, because the call could not continue. */
static void answer(trunkline_call *call, void *user_data) {
  (void)user_data;
  trunkline_call_return_result(call, S("{\"action\": \"decline\"}"), NULL);
}

int main(void) {
  trunkline_server *server = NULL;
  trunkline_client_options *options = NULL;
  trunkline_client *client = NULL;
  trunkline_text *result = NULL;
  refuse_store(S("redis://127.0.0.1"), "store-redis");
  refuse_store(S("sqlite:none.db"), "store-sqlite");
  GIVES(TRUNKLINE_OK, NULL, trunkline_server_new(S("small"), S("1"), &server, &error));
  refuse_http(server);
  GIVES(TRUNKLINE_INVALID_ARGUMENT, "skills",
        trunkline_server_add(server, S("skill"), S("{\"folder\": \".\"}"), NULL, NULL, NULL, NULL, &error));
  GIVES(TRUNKLINE_OK, NULL,
        trunkline_server_add_tool(server,
                                  TRUNKLINE_JSON_STR({
                                    "name": "ask",
                                    "inputSchema": {"type": "object", "properties": {"a": {"type": "string"}}}
                                  }),
                                  ask, NULL, NULL, &error));
  GIVES(TRUNKLINE_OK, NULL, trunkline_client_options_new(&options, &error));
  trunkline_client_options_on_elicit(options, answer, NULL, NULL);
  GIVES(TRUNKLINE_OK, NULL, trunkline_client_connect_memory(server, options, &client, &error));
  GIVES(TRUNKLINE_INVALID_ARGUMENT, "skills",
        trunkline_client_load_skill(client, S("{\"uri\": \"skill://a/SKILL.md\", \"frontmatter\": {}}"), NULL, &result, &error));
  /* Arguments that do not fit their schema: only the callback could refuse them. */
  GIVES(TRUNKLINE_OK, NULL, trunkline_client_call_tool(client, S("ask"), S("{\"a\": 1}"), NULL, &result, &error));
  if (!strstr(trunkline_text_str(result).data, "\"refused\"")) return fprintf(stderr, "%s\n", trunkline_text_str(result).data), 1;
  trunkline_text_free(result);
  trunkline_client_free(client);
  trunkline_client_options_free(options);
  trunkline_server_free(server);
  return 0;
}
