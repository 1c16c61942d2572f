/* Usage: server stdio | http PORT [json] [stateless] [features] [--tools N] [--store URL]
 * [--auth FILE] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <trunkline.h>

#define S(literal) TRUNKLINE_STR(literal)
#define TWO_INTEGERS                                                                          \
  "\"inputSchema\":{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\"},\"b\":{" \
  "\"type\":\"integer\"}},\"required\":[\"a\",\"b\"]}"
#define TEXT(name) "{\"type\":\"object\",\"properties\":{\"" name "\":{\"type\":\"string\"}},\"required\":[\"" name "\"]}"
#define OF_MESSAGE "\"inputSchema\":" TEXT("message") "}"
#define ECHO "{\"name\":\"echo\",\"description\":\"Gives the message back\"," OF_MESSAGE
#define REPORT "{\"name\":\"report\",\"description\":\"Reports progress, then gives the message back\"," OF_MESSAGE
#define ASK "{\"name\":\"ask\",\"description\":\"Asks the user\"," OF_MESSAGE
#define ANSWER TEXT("value")

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

#define PROGRESS_REPORTS 20
#define MEMBERS 100

static void report(trunkline_call *call, void *user_data) {
  int number;
  for (number = 1; number <= PROGRESS_REPORTS; ++number) trunkline_call_progress(call, number, PROGRESS_REPORTS, S(""));
  echo(call, user_data);
}

static void answered(trunkline_call *call, trunkline_result result, const trunkline_str *json,
                     const trunkline_error *error, void *user_data) {
  trunkline_text *value = NULL;
  (void)user_data;
  if (result)
    trunkline_call_fail_with(call, error);
  else if (trunkline_json_get_text(*json, S("/content/value"), &value))
    trunkline_call_return_text(call, S("no answer"));
  else
    trunkline_call_return_text(call, trunkline_text_str(value));
  trunkline_text_free(value);
}

static void ask(trunkline_call *call, void *user_data) {
  trunkline_str message;
  char question[512];
  (void)user_data;
  trunkline_json_get(trunkline_call_arguments(call), S("/message"), &message);
  snprintf(question, sizeof question, "{\"message\":%.*s,\"requestedSchema\":" ANSWER "}", (int)message.len, message.data);
  trunkline_call_elicit(call, trunkline_str_of(question), S("answer"), answered, NULL, NULL, NULL);
}

static void wide(trunkline_call *call, void *user_data) {
  trunkline_str arguments = trunkline_call_arguments(call), value;
  size_t cursor = 0;
  int64_t sum = 0, number;
  (void)user_data;
  while (!trunkline_json_next(arguments, &cursor, NULL, &value))
    if (!trunkline_json_get_int64(value, S(""), &number)) sum += number;
  trunkline_call_return_textf(call, "%lld", (long long)sum);
}

static trunkline_result add_wide(trunkline_server *server, trunkline_error **error) {
  char descriptor[8192], required[1024];
  int index, length = sprintf(descriptor, "{\"name\":\"wide\",\"description\":\"Adds 100 integers\",\"inputSchema\":{\"type\":\"object\",\"properties\":{");
  char *end = required;
  for (index = 0; index < MEMBERS; ++index) {
    length += sprintf(descriptor + length, "%s\"f%02d\":{\"type\":\"integer\"}", index ? "," : "", index);
    end += sprintf(end, "%s\"f%02d\"", index ? "," : "", index);
  }
  sprintf(descriptor + length, "},\"required\":[%s]}}", required);
  return trunkline_server_add_tool(server, trunkline_str_of(descriptor), wide, NULL, NULL, error);
}

static trunkline_result add_features(trunkline_server *server, trunkline_error **error) {
  trunkline_result result = trunkline_server_add_tool(server, S(REPORT), report, NULL, NULL, error);
  if (!result) result = trunkline_server_add_tool(server, S(ASK), ask, NULL, NULL, error);
  return result ? result : add_wide(server, error);
}

static trunkline_result new_server(const char *store, trunkline_server **server, trunkline_error **error) {
  trunkline_server_options *options = NULL;
  trunkline_result result = trunkline_server_options_new(&options, error);
  /* Messages of grow-bytes are longer than the default allows. */
  if (!result)
    result = trunkline_server_options_set_limit(options, TRUNKLINE_LIMIT_MAX_MESSAGE_BYTES, 128 * 1024 * 1024);
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

/* Requires the access tokens from a file (tests/matrix/authorization.json). */
static trunkline_result protect(trunkline_http_options *options, const char *file) {
  static char text[4096];
  trunkline_str json = {text, 0}, auth;
  FILE *opened = fopen(file, "r");
  trunkline_result result;
  if (!opened) return TRUNKLINE_NOT_FOUND;
  json.len = fread(text, 1, sizeof text, opened);
  fclose(opened);
  result = trunkline_json_get(json, S("/auth"), &auth);
  return result ? result : trunkline_http_options_set_auth(options, auth);
}

static trunkline_result run_http(trunkline_server *server, int count, char **arguments, trunkline_error **error) {
  trunkline_http_options *options = NULL;
  trunkline_listener *listener = NULL;
  int auth = position(count, arguments, "--auth");
  trunkline_result result = trunkline_http_options_new(&options, error);
  if (!result) result = trunkline_http_options_set_port(options, (uint16_t)atoi(arguments[2]));
  if (!result) result = trunkline_http_options_set_json(options, position(count, arguments, "json") > 0);
  if (!result) result = trunkline_http_options_set_stateless(options, position(count, arguments, "stateless") > 0);
  if (!result && auth && auth + 1 < count) result = protect(options, arguments[auth + 1]);
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
    fprintf(stderr, "usage: server stdio | http PORT [json] [stateless] [features] [--tools N] [--store URL] [--auth FILE]\n");
    return 2;
  }
  result = new_server(store && store + 1 < count ? arguments[store + 1] : NULL, &server, &error);
  if (!result) result = trunkline_server_add_tool(server, S(ECHO), echo, NULL, NULL, &error);
  if (!result) result = add_tool(server, "add", "Adds two integers", &error);
  if (!result && position(count, arguments, "features")) result = add_features(server, &error);
  for (index = 0; index < more && !result; ++index) {
    char name[32], description[64];
    snprintf(name, sizeof name, "tool_%03d", index);
    snprintf(description, sizeof description, "Generated tool number %d", index);
    result = add_tool(server, name, description, &error);
  }
  if (!result) result = over_http ? run_http(server, count, arguments, &error) : trunkline_server_serve_stdio(server, &error);
  if (result) fprintf(stderr, "%s\n", error ? trunkline_error_message(error) : trunkline_result_name(result));
  trunkline_error_free(error);
  trunkline_server_free(server);
  return result != TRUNKLINE_OK;
}
