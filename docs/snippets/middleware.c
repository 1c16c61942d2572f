/* Middleware around each tool call: it counts calls and refuses some. */
#include <stdio.h>
#include <string.h>

#include <trunkline.h>

#define GREET                                                                                    \
  TRUNKLINE_JSON_STR({                                                                           \
    "name": "greet",                                                                             \
    "description": "Greet someone.",                                                             \
    "inputSchema": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]} \
  })

static void called(trunkline_call *call, trunkline_result result, const trunkline_str *json,
                   const trunkline_error *error, void *user_data) {
  (void)user_data;
  printf("%s was called\n", trunkline_call_text(call, TRUNKLINE_STR("/params/name"), TRUNKLINE_STR("")).data);
  if (result)
    trunkline_call_fail_with(call, error);
  else
    trunkline_call_return_result(call, *json, NULL);
}

static void audit(trunkline_call *call, void *user_data) {
  trunkline_str name = trunkline_call_text(call, TRUNKLINE_STR("/params/arguments/name"), TRUNKLINE_STR(""));
  static char title[] = "Countess";
  (void)user_data;
  if (strcmp(name.data, "Mallory") == 0)
    trunkline_call_fail_protocol(call, 403, TRUNKLINE_STR("Mallory may not call."), TRUNKLINE_STR(""), NULL);
  else if (!trunkline_call_set_var(call, TRUNKLINE_STR("title"), title, NULL))
    trunkline_call_next(call, TRUNKLINE_STR(""), called, NULL, NULL, NULL);
}

static void greet(trunkline_call *call, void *user_data) {
  const char *title = trunkline_call_var(call, TRUNKLINE_STR("title"));
  (void)user_data;
  trunkline_call_return_textf(call, "Hello, %s %s!", title ? title : "",
                              trunkline_call_text(call, TRUNKLINE_STR("/name"), TRUNKLINE_STR("")).data);
}

int main(void) {
  trunkline_server *server = NULL;
  trunkline_client *client = NULL;
  trunkline_text *result = NULL, *text = NULL;
  trunkline_error *error = NULL;
  int failed = trunkline_server_new(TRUNKLINE_STR("greeter"), TRUNKLINE_STR("1.0.0"), &server, &error);
  if (!failed) failed = trunkline_server_add_middleware(server, TRUNKLINE_STR("[\"tools/call\"]"), audit, NULL, NULL,
                                                        &error);
  if (!failed) failed = trunkline_server_add_tool(server, GREET, greet, NULL, NULL, &error);
  if (!failed) failed = trunkline_client_connect_memory(server, NULL, &client, &error);
  if (!failed) failed = trunkline_client_call_tool(client, TRUNKLINE_STR("greet"),
                                                   TRUNKLINE_JSON_STR({"name": "Ada"}), NULL, &result, &error);
  if (!failed) failed = trunkline_json_get_text(trunkline_text_str(result), TRUNKLINE_STR("/content/0/text"), &text);
  if (failed) {
    fprintf(stderr, "%s\n", error ? trunkline_error_message(error) : "no text in the result");
  } else {
    printf("%s\n", trunkline_text_str(text).data);
    if (trunkline_client_call_tool(client, TRUNKLINE_STR("greet"), TRUNKLINE_JSON_STR({"name": "Mallory"}), NULL, &result,
                                   &error))
      printf("%d\n", (int)trunkline_error_code(error));
  }
  trunkline_error_free(error);
  trunkline_text_free(text);
  trunkline_text_free(result);
  trunkline_client_free(client);
  trunkline_server_free(server);
  return failed != 0;
}
