/* A tool that returns an object with a schema. */
#include <stdio.h>

#include <trunkline.h>

#define WEATHER                                                                             \
  TRUNKLINE_JSON_STR({                                                                      \
    "name": "weather",                                                                      \
    "description": "The weather of a city.",                                                \
    "inputSchema": {"type": "object",                                                       \
                    "properties": {"city": {"type": "string", "maxLength": 100}},           \
                    "required": ["city"]},                                                  \
    "outputSchema": {                                                                       \
      "type": "object",                                                                     \
      "properties": {"sky": {"type": "string"}, "degrees": {"type": "number"}},             \
      "required": ["sky", "degrees"]                                                        \
    }                                                                                       \
  })

static void weather(trunkline_call *call, void *user_data) {
  trunkline_str city = trunkline_call_text(call, TRUNKLINE_STR("/city"), TRUNKLINE_STR(""));
  trunkline_text *sky = NULL;
  char text[1000], json[2000];
  (void)user_data;
  snprintf(text, sizeof text, "snow over %s", city.data);
  trunkline_json_string(trunkline_str_of(text), &sky, NULL); /* with quotes and escapes */
  snprintf(json, sizeof json, "{\"sky\":%s,\"degrees\":-3.5}", trunkline_text_str(sky).data);
  trunkline_call_return_json(call, TRUNKLINE_SHAPE_OBJECT, trunkline_str_of(json), NULL);
  trunkline_text_free(sky);
}

int main(void) {
  trunkline_server *server = NULL;
  trunkline_client *client = NULL;
  trunkline_text *result = NULL, *text = NULL, *sky = NULL;
  trunkline_error *error = NULL;
  double degrees = 0;
  int failed = trunkline_server_new(TRUNKLINE_STR("weather"), TRUNKLINE_STR("1.0.0"), &server, &error);
  if (!failed) failed = trunkline_server_add_tool(server, WEATHER, weather, NULL, NULL, &error);
  if (!failed) failed = trunkline_client_connect_memory(server, NULL, &client, &error);
  if (!failed) failed = trunkline_client_call_tool(client, TRUNKLINE_STR("weather"),
                                                   TRUNKLINE_JSON_STR({"city": "Oslo"}), NULL, &result, &error);
  if (!failed) {
    trunkline_str json = trunkline_text_str(result);
    failed = trunkline_json_get_text(json, TRUNKLINE_STR("/content/0/text"), &text);
    if (!failed) failed = trunkline_json_get_text(json, TRUNKLINE_STR("/structuredContent/sky"), &sky);
    if (!failed) failed = trunkline_json_get_number(json, TRUNKLINE_STR("/structuredContent/degrees"), &degrees);
  }
  if (!failed) {
    printf("%s\n", trunkline_text_str(text).data);
    printf("%s, %.1f degrees\n", trunkline_text_str(sky).data, degrees);
  }
  if (error) fprintf(stderr, "%s\n", trunkline_error_message(error));
  trunkline_error_free(error);
  trunkline_text_free(sky);
  trunkline_text_free(text);
  trunkline_text_free(result);
  trunkline_client_free(client);
  trunkline_server_free(server);
  return failed != 0;
}
