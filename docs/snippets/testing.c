/* Tests of a server without sockets or processes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <trunkline.h>

#define CHECK(condition) \
  if (!(condition)) (fprintf(stderr, "line %d: %s\n", __LINE__, #condition), exit(1))
#define DIVIDE                                                                                      \
  TRUNKLINE_JSON_STR({                                                                              \
    "name": "divide",                                                                               \
    "description": "Divide two numbers.",                                                           \
    "inputSchema": {                                                                                \
      "type": "object",                                                                             \
      "properties": {"dividend": {"type": "number"}, "divisor": {"type": "number"}},                \
      "required": ["dividend", "divisor"]                                                           \
    }                                                                                               \
  })

static void divide(trunkline_call *call, void *user_data) {
  double dividend = trunkline_call_number(call, TRUNKLINE_STR("/dividend"), 0);
  double divisor = trunkline_call_number(call, TRUNKLINE_STR("/divisor"), 0);
  (void)user_data;
  if (divisor == 0)
    trunkline_call_fail_tool(call, TRUNKLINE_STR("division by zero"));
  else
    trunkline_call_return_textf(call, "%g", dividend / divisor);
}

/* The text of a call by a client of that revision. The caller frees it. */
static trunkline_text *call(trunkline_server *server, trunkline_str revision, trunkline_str arguments, bool *is_error) {
  trunkline_client_options *options = NULL;
  trunkline_client *client = NULL;
  trunkline_text *result = NULL, *text = NULL;
  CHECK(!trunkline_client_options_new(&options, NULL));
  CHECK(!trunkline_client_options_set_revision(options, revision));
  CHECK(!trunkline_client_connect_memory(server, options, &client, NULL));
  CHECK(!trunkline_client_call_tool(client, TRUNKLINE_STR("divide"), arguments, NULL, &result, NULL));
  CHECK(!trunkline_json_get_text(trunkline_text_str(result), TRUNKLINE_STR("/content/0/text"), &text));
  *is_error = false;
  trunkline_json_get_bool(trunkline_text_str(result), TRUNKLINE_STR("/isError"), is_error);
  trunkline_text_free(result);
  trunkline_client_options_free(options);
  trunkline_client_free(client);
  return text;
}

int main(void) {
  static const trunkline_str revisions[] = {TRUNKLINE_STR_INIT("2026-07-28"), TRUNKLINE_STR_INIT("2024-11-05")};
  trunkline_server *server = NULL;
  trunkline_text *text = NULL;
  bool is_error = false;
  CHECK(!trunkline_server_new(TRUNKLINE_STR("calculator"), TRUNKLINE_STR("1.0.0"), &server, NULL));
  CHECK(!trunkline_server_add_tool(server, DIVIDE, divide, NULL, NULL, NULL));
  for (size_t index = 0; index < 2; ++index) {
    text = call(server, revisions[index], TRUNKLINE_JSON_STR({"dividend": 3, "divisor": 2}), &is_error);
    CHECK(!is_error && strcmp(trunkline_text_str(text).data, "1.5") == 0);
    trunkline_text_free(text);
  }
  text = call(server, revisions[0], TRUNKLINE_JSON_STR({"dividend": 3, "divisor": 0}), &is_error);
  CHECK(is_error);
  printf("the handler failed: %s\nall passed\n", trunkline_text_str(text).data);
  trunkline_text_free(text);
  trunkline_server_free(server);
  return 0;
}
