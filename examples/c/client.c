/* A small MCP client: asks a weather server about Oslo. usage: client [URL | COMMAND [ARGUMENT...]]
 *
 * Without arguments, it starts the weather_server next to it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <trunkline.h>

static void show_progress(double progress, double total, const trunkline_str *message, void *user_data) {
  (void)user_data;
  printf("%.0f of %.0f: %s\n", progress, total, message->data);
}

static trunkline_result connect_to(int count, char **words, trunkline_client **client, trunkline_error **error) {
  trunkline_str *command;
  trunkline_result result;
  int index;
  if (strncmp(words[0], "http://", 7) == 0 || strncmp(words[0], "https://", 8) == 0)
    return trunkline_client_connect_http(trunkline_str_of(words[0]), NULL, client, error);
  command = malloc((size_t)count * sizeof *command);
  if (!command) abort();
  for (index = 0; index < count; ++index) command[index] = trunkline_str_of(words[index]);
  result = trunkline_client_connect_child(command, (size_t)count, NULL, client, error);
  free(command);
  return result;
}

static trunkline_result ask(trunkline_client *client, trunkline_error **error) {
  trunkline_request_options *options = NULL;
  trunkline_text *tools = NULL, *answer = NULL, *text = NULL;
  bool failed = false;
  trunkline_result result = trunkline_client_list_tools(client, NULL, &tools, error);
  if (!result) {
    printf("tools: %s\n", trunkline_text_str(tools).data);
    result = trunkline_request_options_new(&options, error);
  }
  if (!result) result = trunkline_request_options_on_progress(options, show_progress, NULL, NULL);
  if (!result)
    result = trunkline_client_call_tool(client, TRUNKLINE_STR("forecast"), TRUNKLINE_STR("{\"city\": \"Oslo\"}"),
                                        options, &answer, error);
  if (!result) {
    trunkline_json_get_bool(trunkline_text_str(answer), TRUNKLINE_STR("/isError"), &failed);
    trunkline_json_get_text(trunkline_text_str(answer), TRUNKLINE_STR("/content/0/text"), &text);
    printf("%s%s\n", failed ? "the tool failed: " : "", trunkline_text_str(text).data);
  }
  trunkline_request_options_free(options);
  trunkline_text_free(tools);
  trunkline_text_free(answer);
  trunkline_text_free(text);
  return result;
}

int main(int count, char **arguments) {
  static char beside[] = "./weather_server";
  char *usual[] = {beside};
  trunkline_client *client = NULL;
  trunkline_error *error = NULL;
  trunkline_result result;
  result = count > 1 ? connect_to(count - 1, arguments + 1, &client, &error) : connect_to(1, usual, &client, &error);
  if (!result) result = ask(client, &error);
  if (!result) result = trunkline_client_close(client, 5000, &error);
  if (result) fprintf(stderr, "client: %s\n", trunkline_error_message(error));
  trunkline_error_free(error);
  trunkline_client_free(client);
  return result != TRUNKLINE_OK;
}
