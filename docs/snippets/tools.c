/* A tool with typed arguments, and a client in the same process. */
#include <stdio.h>

#include <trunkline.h>

#define FORECAST                                                                          \
  TRUNKLINE_JSON_STR({                                                                    \
    "name": "forecast",                                                                   \
    "description": "Forecast the weather of a city.",                                     \
    "inputSchema": {                                                                      \
      "type": "object",                                                                   \
      "properties": {                                                                     \
        "city": {"type": "string", "description": "The name of the city."},               \
        "days": {"type": "integer", "minimum": 1, "maximum": 7, "default": 2}             \
      },                                                                                  \
      "required": ["city"]                                                                \
    }                                                                                     \
  })

/* The library has checked the arguments against the schema. */
static void forecast(trunkline_call *call, void *user_data) {
  trunkline_str city = trunkline_call_text(call, TRUNKLINE_STR("/city"), TRUNKLINE_STR(""));
  int64_t days = trunkline_call_int64(call, TRUNKLINE_STR("/days"), 2);
  char text[100] = "";
  (void)user_data;
  for (int64_t day = 0; day < days; ++day)
    snprintf(text + day * 6, sizeof text - (size_t)day * 6, "%s", day + 1 < days ? "snow, " : "snow");
  trunkline_call_return_textf(call, "%s: %s", city.data, text);
}

static int print_tool(trunkline_client *client, trunkline_error **error) {
  trunkline_text *tools = NULL, *name = NULL, *description = NULL;
  int failed = trunkline_client_list_tools(client, NULL, &tools, error);
  if (!failed) failed = trunkline_json_get_text(trunkline_text_str(tools), TRUNKLINE_STR("/0/name"), &name);
  if (!failed) failed = trunkline_json_get_text(trunkline_text_str(tools), TRUNKLINE_STR("/0/description"),
                                                &description);
  if (!failed) printf("%s: %s\n", trunkline_text_str(name).data, trunkline_text_str(description).data);
  trunkline_text_free(tools);
  trunkline_text_free(name);
  trunkline_text_free(description);
  return failed;
}

static int call(trunkline_client *client, trunkline_str arguments, trunkline_error **error) {
  trunkline_text *result = NULL, *text = NULL;
  bool refused = false;
  if (trunkline_client_call_tool(client, TRUNKLINE_STR("forecast"), arguments, NULL, &result, error)) return 1;
  trunkline_json_get_bool(trunkline_text_str(result), TRUNKLINE_STR("/isError"), &refused);
  trunkline_json_get_text(trunkline_text_str(result), TRUNKLINE_STR("/content/0/text"), &text);
  printf("%s\n", refused ? "refused" : trunkline_text_str(text).data);
  trunkline_text_free(result);
  trunkline_text_free(text);
  return 0;
}

int main(void) {
  trunkline_server *server = NULL;
  trunkline_client *client = NULL;
  trunkline_error *error = NULL;
  int failed = trunkline_server_new(TRUNKLINE_STR("weather"), TRUNKLINE_STR("1.0.0"), &server, &error);
  if (!failed) failed = trunkline_server_add_tool(server, FORECAST, forecast, NULL, NULL, &error);
  if (!failed) failed = trunkline_client_connect_memory(server, NULL, &client, &error);
  if (!failed) failed = print_tool(client, &error);
  if (!failed) failed = call(client, TRUNKLINE_JSON_STR({"city": "Oslo"}), &error);
  if (!failed) failed = call(client, TRUNKLINE_JSON_STR({"city": "Oslo", "days": 20}), &error);
  if (error) fprintf(stderr, "%s\n", trunkline_error_message(error));
  trunkline_error_free(error);
  trunkline_client_free(client);
  trunkline_server_free(server);
  return failed != 0;
}
