/* A tool called as a task: the client follows its status, then gets the result. */
#include <stdio.h>
#include <string.h>

#include <trunkline.h>

#define REPORT                                                                        \
  TRUNKLINE_JSON_STR({                                                                \
    "name": "report",                                                                 \
    "description": "Write the report of a year.",                                     \
    "inputSchema": {"type": "object", "properties": {"year": {"type": "integer"}}},   \
    "execution": {"taskSupport": "optional"}                                          \
  })
#define CALL TRUNKLINE_JSON_STR({"name": "report", "arguments": {"year": 2026}})

static void report(trunkline_call *call, void *user_data) {
  (void)user_data;
  trunkline_call_set_task_message(call, TRUNKLINE_STR("it is written"));
  trunkline_call_return_textf(call, "The report of %d", (int)trunkline_call_int64(call, TRUNKLINE_STR("/year"), 0));
}

/* Follows a task until it is over, then prints its last status and its result. */
static trunkline_result follow(trunkline_client *client, uint64_t task, trunkline_error **error) {
  trunkline_text *state = NULL, *status = NULL, *answer = NULL, *text = NULL;
  trunkline_result result;
  while (!(result = trunkline_client_next_state(client, task, NULL, &state, error)) &&
         strcmp(trunkline_text_str(state).data, "null") != 0) {
    trunkline_text_free(status);
    status = NULL;
    trunkline_json_get_text(trunkline_text_str(state), TRUNKLINE_STR("/status"), &status);
    trunkline_text_free(state);
    state = NULL;
  }
  if (!result) result = trunkline_client_task_result(client, task, NULL, &answer, error);
  if (!result && !trunkline_json_get_text(trunkline_text_str(answer), TRUNKLINE_STR("/content/0/text"), &text))
    printf("%s\n%s\n", trunkline_text_str(status).data, trunkline_text_str(text).data);
  trunkline_text_free(state);
  trunkline_text_free(status);
  trunkline_text_free(answer);
  trunkline_text_free(text);
  return result;
}

int main(void) {
  trunkline_server *server = NULL;
  trunkline_client *client = NULL;
  trunkline_text *state = NULL;
  trunkline_error *error = NULL;
  uint64_t task = 0;
  int failed = trunkline_server_new(TRUNKLINE_STR("reports"), TRUNKLINE_STR("1.0.0"), &server, &error);
  if (!failed) failed = trunkline_server_add_tool(server, REPORT, report, NULL, NULL, &error);
  if (!failed) failed = trunkline_client_connect_memory(server, NULL, &client, &error);
  if (!failed) failed = trunkline_client_start_task(client, CALL, NULL, &task, &state, &error);
  if (!failed) failed = follow(client, task, &error);
  if (failed) fprintf(stderr, "%s\n", trunkline_error_message(error));
  trunkline_text_free(state);
  if (client) trunkline_client_close_task(client, task, NULL);
  trunkline_client_free(client);
  trunkline_server_free(server);
  trunkline_error_free(error);
  return failed != 0;
}
