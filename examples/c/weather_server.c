/* A small MCP server. usage: weather_server [PORT]
 *
 * Without PORT, it serves stdin and stdout, for clients that start it; with PORT, it listens on
 * http://127.0.0.1:PORT/mcp until it is interrupted. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include <trunkline.h>

#define FORECAST                                                                          \
  TRUNKLINE_JSON_STR({                                                                    \
    "name": "forecast",                                                                   \
    "description": "Forecast the weather of a city.",                                     \
    "inputSchema": {                                                                      \
      "type": "object",                                                                   \
      "properties": {                                                                     \
        "city": {"type": "string", "description": "The name of the city"},                \
        "days": {"type": "integer", "minimum": 1, "maximum": 7, "default": 3}             \
      },                                                                                  \
      "required": ["city"]                                                                \
    }                                                                                     \
  })

/* The library has already checked the arguments against the schema. */
static void forecast(trunkline_call *call, void *user_data) {
  trunkline_str arguments = trunkline_call_arguments(call);
  const char *sky = user_data;
  trunkline_text *city = NULL;
  double days = 3, day;
  char answer[1024];
  int length;
  if (trunkline_json_get_text(arguments, TRUNKLINE_STR("/city"), &city)) {
    trunkline_call_fail_tool(call, TRUNKLINE_STR("Which city?"));
    return;
  }
  trunkline_json_get_number(arguments, TRUNKLINE_STR("/days"), &days);
  for (day = 1; day <= days; ++day) trunkline_call_progress(call, day, days, TRUNKLINE_STR("looking at the sky"));
  length = snprintf(answer, sizeof answer, "%s: %s for the next %.0f days", trunkline_text_str(city).data, sky, days);
  if (length >= 0 && (size_t)length < sizeof answer)
    trunkline_call_return_text(call, trunkline_str_of(answer));
  else
    trunkline_call_fail_tool(call, TRUNKLINE_STR("No city has a name that long."));
  trunkline_text_free(city);
}

static trunkline_server *server;

static void interrupted(int number) {
  (void)number;
  trunkline_server_stop(server);
}

static trunkline_result serve_http(unsigned short port, trunkline_error **error) {
  trunkline_http_options *options = NULL;
  trunkline_listener *listener = NULL;
  trunkline_result result = trunkline_http_options_new(&options, error);
  if (!result) result = trunkline_http_options_set_port(options, port);
  if (!result) result = trunkline_server_listen_http(server, options, &listener, error);
  if (!result) {
    printf("listening on %s\n", trunkline_listener_url(listener).data);
    fflush(stdout);
    result = trunkline_server_run(server, error);
  }
  trunkline_http_options_free(options);
  trunkline_listener_free(listener);
  return result;
}

int main(int count, char **arguments) {
  static char sky[] = "sunny";
  trunkline_error *error = NULL;
  trunkline_result result =
      trunkline_server_new(TRUNKLINE_STR("weather"), TRUNKLINE_STR("1.0.0"), &server, &error);
  if (!result) result = trunkline_server_add_tool(server, FORECAST, forecast, sky, NULL, &error);
  if (!result) {
    signal(SIGINT, interrupted);
    signal(SIGTERM, interrupted);
    result = count > 1 ? serve_http((unsigned short)atoi(arguments[1]), &error)
                       : trunkline_server_serve_stdio(server, &error);
    /* The handler must not stop the server from here on. */
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
  }
  if (result) fprintf(stderr, "weather_server: %s\n", trunkline_error_message(error));
  trunkline_error_free(error);
  trunkline_server_free(server);
  return result != TRUNKLINE_OK;
}
