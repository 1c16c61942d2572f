/* Usage: server stdio | http PORT [json] [stateless] [--tools N] [--store URL] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <trunkline.h>

#define S(literal) TRUNKLINE_STR(literal)
#define TWO_INTEGERS                                                                          \
  "\"inputSchema\":{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\"},\"b\":{" \
  "\"type\":\"integer\"}},\"required\":[\"a\",\"b\"]}"
#define ECHO                                                                                  \
  "{\"name\":\"echo\",\"description\":\"Gives the message back\",\"inputSchema\":{\"type\":"  \
  "\"object\",\"properties\":{\"message\":{\"type\":\"string\"}},\"required\":[\"message\"]}}"

static void echo(trunkline_call *call, void *user_data) {
  trunkline_text *message = NULL;
  (void)user_data;
  trunkline_json_get_text(trunkline_call_arguments(call), S("/message"), &message);
  trunkline_call_return_text(call, trunkline_text_str(message));
  trunkline_text_free(message);
}

static void add(trunkline_call *call, void *user_data) {
  trunkline_str arguments = trunkline_call_arguments(call);
  double a = 0, b = 0;
  char sum[40];
  (void)user_data;
  trunkline_json_get_number(arguments, S("/a"), &a);
  trunkline_json_get_number(arguments, S("/b"), &b);
  snprintf(sum, sizeof sum, "%.15g", a + b);
  trunkline_call_return_text(call, trunkline_str_of(sum));
}

static trunkline_result add_tool(trunkline_server *server, const char *name, const char *description,
                                 trunkline_error **error) {
  char descriptor[512];
  snprintf(descriptor, sizeof descriptor, "{\"name\":\"%s\",\"description\":\"%s\"," TWO_INTEGERS "}", name, description);
  return trunkline_server_add_tool(server, trunkline_str_of(descriptor), add, NULL, NULL, error);
}

static trunkline_result new_server(const char *store, trunkline_server **server, trunkline_error **error) {
  trunkline_server_options *options = NULL;
  trunkline_result result = trunkline_server_options_new(&options, error);
  if (!result && store) result = trunkline_server_options_set_store(options, trunkline_str_of(store));
  if (!result) result = trunkline_server_new_with(S("bench"), trunkline_version(), options, server, error);
  trunkline_server_options_free(options);
  return result;
}

static int position(int count, char **arguments, const char *word) {
  int index;
  for (index = 1; index < count; ++index)
    if (strcmp(arguments[index], word) == 0) return index;
  return 0;
}

static trunkline_result run_http(trunkline_server *server, int count, char **arguments, trunkline_error **error) {
  trunkline_http_options *options = NULL;
  trunkline_listener *listener = NULL;
  trunkline_result result = trunkline_http_options_new(&options, error);
  if (!result) result = trunkline_http_options_set_port(options, (uint16_t)atoi(arguments[2]));
  if (!result) result = trunkline_http_options_set_json(options, position(count, arguments, "json") > 0);
  if (!result) result = trunkline_http_options_set_stateless(options, position(count, arguments, "stateless") > 0);
  if (!result) result = trunkline_server_listen_http(server, options, &listener, error);
  if (!result) result = trunkline_server_run(server, error);
  trunkline_http_options_free(options);
  trunkline_listener_free(listener);
  return result;
}

int main(int count, char **arguments) {
  int over_http = count > 2 && strcmp(arguments[1], "http") == 0;
  int tools = position(count, arguments, "--tools");
  int store = position(count, arguments, "--store");
  int more = tools && tools + 1 < count ? atoi(arguments[tools + 1]) : 0;
  trunkline_server *server = NULL;
  trunkline_error *error = NULL;
  trunkline_result result;
  int index;
  if (!over_http && !(count > 1 && strcmp(arguments[1], "stdio") == 0)) {
    fprintf(stderr, "usage: server stdio | http PORT [json] [stateless] [--tools N] [--store URL]\n");
    return 2;
  }
  result = new_server(store && store + 1 < count ? arguments[store + 1] : NULL, &server, &error);
  if (!result) result = trunkline_server_add_tool(server, S(ECHO), echo, NULL, NULL, &error);
  if (!result) result = add_tool(server, "add", "Adds two integers", &error);
  for (index = 0; index < more && !result; ++index) {
    char name[32], description[64];
    snprintf(name, sizeof name, "tool_%03d", index);
    snprintf(description, sizeof description, "Generated tool number %d", index);
    result = add_tool(server, name, description, &error);
  }
  if (!result) result = over_http ? run_http(server, count, arguments, &error) : trunkline_server_run_stdio(server, &error);
  if (result) fprintf(stderr, "%s\n", error ? trunkline_error_message(error) : trunkline_result_name(result));
  trunkline_error_free(error);
  trunkline_server_free(server);
  return result != TRUNKLINE_OK;
}
