/* A server over HTTP that requires access tokens, with a tool that requires a scope. */
#include <stdio.h>
#include <string.h>

#include <trunkline.h>

#define WHOAMI TRUNKLINE_JSON_STR({"name": "whoami", "description": "Name the caller."})
#define DELETE TRUNKLINE_JSON_STR({"tool": {"name": "delete", "description": "Delete all files."}, "scopes": ["write"]})
#define ADA TRUNKLINE_JSON_STR({"subject": "ada", "scopes": ["read"]})
#define AUTH                                                                      \
  "{\"resource\": \"http://127.0.0.1/mcp\", \"verifier\": %llu,"                  \
  " \"authorizationServers\": [\"https://login.example.com\"]}"

static void whoami(trunkline_call *call, void *user_data) {
  trunkline_text *fact = NULL, *subject = NULL;
  (void)user_data;
  if (!trunkline_call_fact(call, TRUNKLINE_STR("/auth/subject"), &fact)) /* JSON */
    trunkline_json_get_text(trunkline_text_str(fact), TRUNKLINE_STR(""), &subject);
  trunkline_call_return_text(call, subject ? trunkline_text_str(subject) : TRUNKLINE_STR("nobody"));
  trunkline_text_free(fact);
  trunkline_text_free(subject);
}

static void nothing(trunkline_call *call, void *user_data) {
  (void)user_data;
  trunkline_call_return_text(call, TRUNKLINE_STR(""));
}

/* Replaces the built-in JWT verifier, for opaque tokens stored in your database. */
static void verify(trunkline_call *call, void *user_data) {
  trunkline_str token = trunkline_call_text(call, TRUNKLINE_STR("/token"), TRUNKLINE_STR(""));
  bool known = strcmp(token.data, "token-of-ada") == 0;
  (void)user_data;
  trunkline_call_return_json(call, TRUNKLINE_SHAPE_VALUE, known ? ADA : TRUNKLINE_STR("null"), NULL);
}

static int listen_with_tokens(trunkline_server *server, trunkline_listener **listener, trunkline_error **error) {
  trunkline_http_options *options = NULL;
  uint64_t verifier = 0;
  char auth[300];
  int failed = trunkline_server_add(server, TRUNKLINE_STR("verifier"), TRUNKLINE_STR("{}"), verify, NULL, NULL,
                                    &verifier, error);
  if (!failed) failed = trunkline_http_options_new(&options, error);
  if (!failed) failed = trunkline_http_options_set_port(options, 0);
  snprintf(auth, sizeof auth, AUTH, (unsigned long long)verifier);
  if (!failed) failed = trunkline_http_options_set_auth(options, trunkline_str_of(auth));
  if (!failed) failed = trunkline_server_listen_http(server, options, listener, error);
  trunkline_http_options_free(options);
  return failed;
}

/* A client on the port of the server: both run on this thread. */
static int connect_to(trunkline_server *server, trunkline_str url, const char *auth, trunkline_client **client,
                      trunkline_error **error) {
  trunkline_client_options *options = NULL;
  int failed = trunkline_client_options_new(&options, error);
  if (!failed) failed = trunkline_client_options_set_port(options, trunkline_server_port(server));
  if (!failed && auth) failed = trunkline_client_options_set_auth(options, trunkline_str_of(auth));
  if (!failed) failed = trunkline_client_connect_http(url, options, client, error);
  trunkline_client_options_free(options);
  return failed;
}

static int use(trunkline_client *client, trunkline_error **error) {
  trunkline_text *tools = NULL, *name = NULL, *result = NULL, *text = NULL;
  size_t count = 0;
  int failed = trunkline_client_list_tools(client, NULL, &tools, error);
  if (!failed) failed = trunkline_json_get_count(trunkline_text_str(tools), TRUNKLINE_STR(""), &count);
  if (!failed) failed = count != 1;
  if (!failed) failed = trunkline_json_get_text(trunkline_text_str(tools), TRUNKLINE_STR("/0/name"), &name);
  if (!failed) failed = trunkline_client_call_tool(client, TRUNKLINE_STR("whoami"), TRUNKLINE_STR("{}"), NULL,
                                                   &result, error);
  if (!failed) failed = trunkline_json_get_text(trunkline_text_str(result), TRUNKLINE_STR("/content/0/text"), &text);
  if (!failed) printf("%s\n%s\n", trunkline_text_str(name).data, trunkline_text_str(text).data);
  trunkline_text_free(tools);
  trunkline_text_free(name);
  trunkline_text_free(result);
  trunkline_text_free(text);
  return failed;
}

int main(void) {
  trunkline_server *server = NULL;
  trunkline_listener *listener = NULL;
  trunkline_client *client = NULL, *stranger = NULL;
  trunkline_error *error = NULL;
  int failed = trunkline_server_new(TRUNKLINE_STR("files"), TRUNKLINE_STR("1.0.0"), &server, &error);
  if (!failed) failed = trunkline_server_add_tool(server, WHOAMI, whoami, NULL, NULL, &error);
  if (!failed) failed = trunkline_server_add(server, TRUNKLINE_STR("tool"), DELETE, nothing, NULL, NULL, NULL,
                                             &error);
  if (!failed) failed = listen_with_tokens(server, &listener, &error);
  if (!failed) failed = connect_to(server, trunkline_listener_url(listener), "{\"token\": \"token-of-ada\"}", &client,
                                   &error);
  if (!failed) failed = use(client, &error);
  if (!failed && connect_to(server, trunkline_listener_url(listener), NULL, &stranger, &error)) {
    trunkline_str json = {0};
    double status = 0;
    trunkline_error_json(error, &json);
    trunkline_json_get_number(json, TRUNKLINE_STR("/data/httpStatus"), &status);
    printf("%.0f\n", status);
  } else {
    fprintf(stderr, "%s\n", error ? trunkline_error_message(error) : "a client without a token was let in");
  }
  trunkline_error_free(error);
  trunkline_client_free(client);
  trunkline_client_free(stranger);
  trunkline_listener_free(listener);
  trunkline_server_free(server);
  return failed != 0;
}
