/* Calls a tool as a task: shows its states as they come, then its result. */
#include <stdio.h>

#include <trunkline.h>

#define REPORT                                                                                  \
  "{\"name\": \"report\", \"description\": \"Writes the report of a year.\", \"inputSchema\": {" \
  "\"type\": \"object\", \"properties\": {\"year\": {\"type\": \"integer\"}}},"                  \
  "\"execution\": {\"taskSupport\": \"optional\"}}"
#define CALL "{\"name\": \"report\", \"arguments\": {\"year\": 2026}}"

static void report(trunkline_call *call, trunkline_str arguments, void *user_data) {
  double year = 0;
  char text[64];
  (void)user_data;
  trunkline_json_get_number(arguments, TRUNKLINE_STR("/year"), &year);
  trunkline_call_set_task_message(call, TRUNKLINE_STR("it is written"));
  snprintf(text, sizeof text, "The report of %.0f", year);
  trunkline_call_return_text(call, trunkline_str_of(text));
}

/* Shows the states of a task until it is over, then its result. */
static trunkline_result follow(trunkline_client *client, uint64_t task, trunkline_error **error) {
  trunkline_text *text = NULL, *status = NULL;
  trunkline_result result;
  while (!(result = trunkline_client_next_state(client, task, NULL, &text, error)) &&
         !trunkline_json_get_text(trunkline_text_str(text), TRUNKLINE_STR("/status"), &status)) {
    printf("%s\n", trunkline_text_str(status).data);
    trunkline_text_free(status);
    trunkline_text_free(text);
    text = NULL;
  }
  trunkline_text_free(text);
  if (result) return result;
  text = NULL;
  result = trunkline_client_task_result(client, task, NULL, &text, error);
  if (!result) printf("%s\n", trunkline_text_str(text).data);
  trunkline_text_free(text);
  return result;
}

int main(void) {
  trunkline_server *server = NULL;
  trunkline_client *client = NULL;
  trunkline_text *state = NULL;
  trunkline_error *error = NULL;
  uint64_t task = 0;
  if (trunkline_server_new(TRUNKLINE_STR("reports"), TRUNKLINE_STR("1.0.0"), &server, &error) ||
      trunkline_server_add_tool(server, TRUNKLINE_STR(REPORT), report, NULL, NULL, &error) ||
      trunkline_client_connect_memory(server, NULL, &client, &error) ||
      trunkline_client_start_task(client, TRUNKLINE_STR(CALL), NULL, &task, &state, &error) ||
      follow(client, task, &error))
    fprintf(stderr, "%s\n", trunkline_error_message(error));
  int failed = error != NULL;
  trunkline_text_free(state);
  if (client) trunkline_client_close_task(client, task, NULL);
  trunkline_client_free(client);
  trunkline_server_free(server);
  trunkline_error_free(error);
  return failed;
}
