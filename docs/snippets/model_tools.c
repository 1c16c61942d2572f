/* A server's tools in the formats of model providers, and a result as the model sees it. */
#include <stdio.h>

#include <trunkline.h>

#define FORECAST                                                                                          \
  TRUNKLINE_JSON_STR({                                                                                    \
    "name": "forecast",                                                                                   \
    "description": "Forecast the weather of a city.",                                                     \
    "inputSchema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]} \
  })
#define FOR_OPENAI "{\"type\":\"function\",\"function\":{\"name\":%s,\"description\":%s,\"parameters\":%s}}"
#define FOR_ANTHROPIC "{\"name\":%s,\"description\":%s,\"input_schema\":%s}"
#define FOR_GEMINI "{\"name\":%s,\"description\":%s,\"parametersJsonSchema\":%s}"

static void forecast(trunkline_call *call, void *user_data) {
  (void)user_data;
  trunkline_call_return_textf(call, "%s: snow",
                              trunkline_call_text(call, TRUNKLINE_STR("/city"), TRUNKLINE_STR("")).data);
}

/* A member of the tool as JSON. Slices are not NUL-terminated. */
static const char *member(trunkline_str tool, trunkline_str pointer, char *buffer, size_t size) {
  trunkline_str value = TRUNKLINE_STR("\"\"");
  trunkline_json_get(tool, pointer, &value);
  snprintf(buffer, size, "%.*s", (int)value.len, value.data);
  return buffer;
}

static void print_form(const char *provider, const char *form, trunkline_str tool, trunkline_str required) {
  char name[200], description[2000], schema[4000], text[7000];
  trunkline_text *first = NULL;
  member(tool, TRUNKLINE_STR("/name"), name, sizeof name);
  member(tool, TRUNKLINE_STR("/description"), description, sizeof description);
  member(tool, TRUNKLINE_STR("/inputSchema"), schema, sizeof schema);
  snprintf(text, sizeof text, form, name, description, schema);
  if (trunkline_json_get_text(trunkline_str_of(text), required, &first)) return;
  printf("%s: forecast needs %s\n", provider, trunkline_text_str(first).data);
  trunkline_text_free(first);
}

static int print_tools(trunkline_client *client, trunkline_error **error) {
  trunkline_text *tools = NULL;
  trunkline_str tool = TRUNKLINE_STR("{}");
  if (trunkline_client_list_tools(client, NULL, &tools, error)) return 1;
  trunkline_json_get(trunkline_text_str(tools), TRUNKLINE_STR("/0"), &tool);
  print_form("openai", FOR_OPENAI, tool, TRUNKLINE_STR("/function/parameters/required/0"));
  print_form("anthropic", FOR_ANTHROPIC, tool, TRUNKLINE_STR("/input_schema/required/0"));
  print_form("gemini", FOR_GEMINI, tool, TRUNKLINE_STR("/parametersJsonSchema/required/0"));
  trunkline_text_free(tools);
  return 0;
}

static int print_result(trunkline_client *client, trunkline_error **error) {
  trunkline_text *result = NULL, *type = NULL, *text = NULL;
  int failed = trunkline_client_call_tool(client, TRUNKLINE_STR("forecast"), TRUNKLINE_JSON_STR({"city": "Oslo"}),
                                          NULL, &result, error);
  if (!failed) failed = trunkline_json_get_text(trunkline_text_str(result), TRUNKLINE_STR("/content/0/type"), &type);
  if (!failed) failed = trunkline_json_get_text(trunkline_text_str(result), TRUNKLINE_STR("/content/0/text"), &text);
  if (!failed) printf("%s: %s\n", trunkline_text_str(type).data, trunkline_text_str(text).data);
  trunkline_text_free(result);
  trunkline_text_free(type);
  trunkline_text_free(text);
  return failed;
}

int main(void) {
  trunkline_server *server = NULL;
  trunkline_client *client = NULL;
  trunkline_error *error = NULL;
  int failed = trunkline_server_new(TRUNKLINE_STR("weather"), TRUNKLINE_STR("1.0.0"), &server, &error);
  if (!failed) failed = trunkline_server_add_tool(server, FORECAST, forecast, NULL, NULL, &error);
  if (!failed) failed = trunkline_client_connect_memory(server, NULL, &client, &error);
  if (!failed) failed = print_tools(client, &error);
  if (!failed) failed = print_result(client, &error);
  if (error) fprintf(stderr, "%s\n", trunkline_error_message(error));
  trunkline_error_free(error);
  trunkline_client_free(client);
  trunkline_server_free(server);
  return failed != 0;
}
