/* A server with one tool, over stdio. */
#include <stdio.h>

#include <trunkline.h>

#define HELLO                                                                             \
  "{\"name\": \"hello\", \"description\": \"Greets someone.\", \"inputSchema\": {"        \
  "\"type\": \"object\", \"properties\": {\"name\": {\"type\": \"string\"}}, \"required\": [\"name\"]}}"

static void hello(trunkline_call *call, trunkline_str arguments, void *user_data) {
  trunkline_text *name = NULL;
  char greeting[256];
  int length;
  (void)user_data;
  trunkline_json_get_text(arguments, TRUNKLINE_STR("/name"), &name);
  length = snprintf(greeting, sizeof greeting, "Hello, %s!", trunkline_text_str(name).data);
  if (length > 0 && length < (int)sizeof greeting)
    trunkline_call_return_text(call, trunkline_str_of(greeting));
  else
    trunkline_call_fail_tool(call, TRUNKLINE_STR("That name is too long."));
  trunkline_text_free(name);
}

int main(void) {
  trunkline_server *server = NULL;
  trunkline_error *error = NULL;
  if (trunkline_server_new(TRUNKLINE_STR("hello"), TRUNKLINE_STR("1.0.0"), &server, &error) ||
      trunkline_server_add_tool(server, TRUNKLINE_STR(HELLO), hello, NULL, NULL, &error) ||
      trunkline_server_run_stdio(server, &error))
    fprintf(stderr, "%s\n", trunkline_error_message(error));
  int failed = error != NULL;
  trunkline_server_free(server);
  trunkline_error_free(error);
  return failed;
}
