/* A server with one tool, over stdio. */
#include <stdio.h>

#include <trunkline.h>

#define HELLO                                                                             \
  "{\"name\": \"hello\", \"description\": \"Greets someone.\", \"inputSchema\": {"        \
  "\"type\": \"object\", \"properties\": {\"name\": {\"type\": \"string\"}}, \"required\": [\"name\"]}}"

static void hello(trunkline_call *call, void *user_data) {
  (void)user_data;
  trunkline_call_return_textf(call, "Hello, %s!", trunkline_call_text(call, TRUNKLINE_STR("/name"), TRUNKLINE_STR("")).data);
}

int main(void) {
  trunkline_server *server = NULL;
  trunkline_error *error = NULL;
  if (trunkline_server_new(TRUNKLINE_STR("hello"), TRUNKLINE_STR("1.0.0"), &server, &error) ||
      trunkline_server_add_tool(server, TRUNKLINE_STR(HELLO), hello, NULL, NULL, &error) ||
      trunkline_server_serve_stdio(server, &error))
    fprintf(stderr, "%s\n", trunkline_error_message(error));
  int failed = error != NULL;
  trunkline_server_free(server);
  trunkline_error_free(error);
  return failed;
}
