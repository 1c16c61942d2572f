/* Suggestions for a prompt argument while the user types. */
#include <stdio.h>
#include <string.h>

#include <trunkline.h>

#define PACKING TRUNKLINE_JSON_STR({"name": "packing", "arguments": [{"name": "city", "required": true}]})
#define REFERENCE TRUNKLINE_JSON_STR({"type": "ref/prompt", "name": "packing"})

static const char *const cities[] = {"Oslo", "Osaka", "Rome"};

static void packing(trunkline_call *call, void *user_data) {
  (void)user_data;
  trunkline_call_return_textf(call, "Write a packing list for %s.",
                              trunkline_call_text(call, TRUNKLINE_STR("/city"), TRUNKLINE_STR("")).data);
}

static void complete(trunkline_call *call, void *user_data) {
  trunkline_str typed = trunkline_call_text(call, TRUNKLINE_STR("/argument/value"), TRUNKLINE_STR(""));
  char json[100] = "[";
  (void)user_data;
  for (size_t index = 0; index < sizeof cities / sizeof *cities; ++index) {
    if (strncmp(cities[index], typed.data, typed.len) != 0) continue;
    size_t length = strlen(json);
    snprintf(json + length, sizeof json - length, "%s\"%s\"", length > 1 ? "," : "", cities[index]);
  }
  strcat(json, "]");
  trunkline_call_return_json(call, TRUNKLINE_SHAPE_VALUE, trunkline_str_of(json), NULL);
}

static void print_values(trunkline_str result) {
  trunkline_str values = {0}, value = {0};
  size_t cursor = 0;
  const char *comma = "";
  trunkline_json_get(result, TRUNKLINE_STR("/completion/values"), &values);
  while (!trunkline_json_next(values, &cursor, NULL, &value)) {
    trunkline_text *text = NULL;
    trunkline_json_get_text(value, TRUNKLINE_STR(""), &text);
    printf("%s%s", comma, trunkline_text_str(text).data);
    trunkline_text_free(text);
    comma = ", ";
  }
  printf("\n");
}

int main(void) {
  trunkline_server *server = NULL;
  trunkline_client *client = NULL;
  trunkline_text *result = NULL;
  trunkline_error *error = NULL;
  int failed = trunkline_server_new(TRUNKLINE_STR("trips"), TRUNKLINE_STR("1.0.0"), &server, &error);
  if (!failed) failed = trunkline_server_add_prompt(server, PACKING, packing, NULL, NULL, &error);
  if (!failed) failed = trunkline_server_add_completion(server, REFERENCE, TRUNKLINE_STR("city"), complete, NULL,
                                                        NULL, &error);
  if (!failed) failed = trunkline_client_connect_memory(server, NULL, &client, &error);
  if (!failed) failed = trunkline_client_complete(client, REFERENCE,
                                                  TRUNKLINE_JSON_STR({"name": "city", "value": "Os"}),
                                                  TRUNKLINE_STR(""), NULL, &result, &error);
  if (failed)
    fprintf(stderr, "%s\n", trunkline_error_message(error));
  else
    print_values(trunkline_text_str(result));
  trunkline_error_free(error);
  trunkline_text_free(result);
  trunkline_client_free(client);
  trunkline_server_free(server);
  return failed != 0;
}
