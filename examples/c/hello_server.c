/* A server with one tool, over stdio. */
#include <stdio.h>

#include <trunkline.h>

#define HELLO                                                                             \
  TRUNKLINE_JSON_STR({                                                                    \
    "name": "hello",                                                                      \
    "description": "Greets someone.",                                                     \
    "inputSchema": {                                                                      \
      "type": "object",                                                                   \
      "properties": {"name": {"type": "string"}},                                         \
      "required": ["name"]                                                                \
    }                                                                                     \
  })

static void hello(trunkline_call *call, void *user_data) {
  trunkline_str name = trunkline_call_text(call, TRUNKLINE_STR("/name"), TRUNKLINE_STR(""));
  (void)user_data;
  trunkline_call_return_textf(call, "Hello, %s!", name.data);
}

int main(void) {
  trunkline_server *server = NULL;
  trunkline_error *error = NULL;
  trunkline_result result = trunkline_server_new(TRUNKLINE_STR("hello"), TRUNKLINE_STR("1.0.0"), &server, &error);
  if (!result) result = trunkline_server_add_tool(server, HELLO, hello, NULL, NULL, &error);
  if (!result) result = trunkline_server_serve_stdio(server, &error);
  if (result) fprintf(stderr, "hello_server: %s\n", trunkline_error_message(error));
  trunkline_error_free(error);
  trunkline_server_free(server);
  return result != TRUNKLINE_OK;
}
