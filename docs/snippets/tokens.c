/* A client that gets access tokens from a function, and a new one when the server refuses one. */
#include <stdio.h>
#include <string.h>

#include <trunkline.h>

#define WHOAMI TRUNKLINE_JSON_STR({"name": "whoami", "description": "Name the caller."})
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

static void verify(trunkline_call *call, void *user_data) {
  trunkline_str token = trunkline_call_text(call, TRUNKLINE_STR("/token"), TRUNKLINE_STR(""));
  bool known = strcmp(token.data, "token-of-today") == 0;
  (void)user_data;
  trunkline_call_return_json(call, TRUNKLINE_SHAPE_VALUE,
                             known ? TRUNKLINE_JSON_STR({"subject": "ada"}) : TRUNKLINE_STR("null"), NULL);
}

/* The user data is a flag: whether the token was renewed. */
static void give(trunkline_call *call, void *user_data) {
  bool *renewed = user_data;
  if (trunkline_call_bool(call, TRUNKLINE_STR("/refused"), false)) {
    printf("the token was refused\n"); /* Here the program gets a new token. */
    *renewed = true;
  }
  trunkline_call_return_result(call,
                               *renewed ? TRUNKLINE_JSON_STR({"token": "token-of-today"})
                                        : TRUNKLINE_JSON_STR({"token": "token-of-yesterday"}),
                               NULL);
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

int main(void) {
  trunkline_server *server = NULL;
  trunkline_listener *listener = NULL;
  trunkline_client_options *options = NULL;
  trunkline_client *client = NULL;
  trunkline_text *result = NULL, *text = NULL;
  trunkline_error *error = NULL;
  bool renewed = false;
  int failed = trunkline_server_new(TRUNKLINE_STR("files"), TRUNKLINE_STR("1.0.0"), &server, &error);
  if (!failed) failed = trunkline_server_add_tool(server, WHOAMI, whoami, NULL, NULL, &error);
  if (!failed) failed = listen_with_tokens(server, &listener, &error);
  if (!failed) failed = trunkline_client_options_new(&options, &error);
  if (!failed) failed = trunkline_client_options_set_port(options, trunkline_server_port(server));
  if (!failed) failed = trunkline_client_options_on_access_token(options, give, &renewed, NULL);
  if (!failed) failed = trunkline_client_connect_http(trunkline_listener_url(listener), options, &client, &error);
  if (!failed) failed = trunkline_client_call_tool(client, TRUNKLINE_STR("whoami"), TRUNKLINE_STR("{}"), NULL,
                                                   &result, &error);
  if (!failed) failed = trunkline_json_get_text(trunkline_text_str(result), TRUNKLINE_STR("/content/0/text"), &text);
  if (failed)
    fprintf(stderr, "%s\n", error ? trunkline_error_message(error) : "no text in the result");
  else
    printf("%s\n", trunkline_text_str(text).data);
  trunkline_error_free(error);
  trunkline_text_free(text);
  trunkline_text_free(result);
  trunkline_client_free(client);
  trunkline_client_options_free(options);
  trunkline_listener_free(listener);
  trunkline_server_free(server);
  return failed != 0;
}
