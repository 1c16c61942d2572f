/* A task that outlives its server: the next one finds the result in the same file. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <trunkline.h>

#define REPORT                                                                        \
  TRUNKLINE_JSON_STR({                                                                \
    "name": "report",                                                                 \
    "description": "Write the report of a year.",                                     \
    "inputSchema": {"type": "object", "properties": {"year": {"type": "integer"}}},   \
    "execution": {"taskSupport": "optional"}                                          \
  })
#define CALL TRUNKLINE_JSON_STR({"name": "report", "arguments": {"year": 2026}})

static void report(trunkline_call *call, trunkline_str arguments, void *user_data) {
  (void)arguments, (void)user_data;
  trunkline_call_return_textf(call, "The report of %d", (int)trunkline_call_int64(call, TRUNKLINE_STR("/year"), 0));
}

/* Runs a server with a store, and a client that starts or resumes a task there and takes its
 * result. `state` gets the first state of the task. */
static int play(const char *store, trunkline_str call, trunkline_text **state, trunkline_text **result,
                trunkline_error **error) {
  trunkline_server_options *options = NULL;
  trunkline_server *server = NULL;
  trunkline_client *client = NULL;
  uint64_t task = 0;
  int failed = trunkline_server_options_new(&options, error) ||
               trunkline_server_options_set_store(options, trunkline_str_of(store)) ||
               trunkline_server_new_with(TRUNKLINE_STR("reports"), TRUNKLINE_STR("1.0.0"), options, &server, error) ||
               trunkline_server_add_tool(server, REPORT, report, NULL, NULL, error) ||
               trunkline_client_connect_memory(server, NULL, &client, error) ||
               trunkline_client_start_task(client, call, NULL, &task, state, error) ||
               trunkline_client_task_result(client, task, NULL, result, error);
  if (client) trunkline_client_close_task(client, task, NULL);
  trunkline_client_free(client);
  trunkline_server_free(server);
  trunkline_server_options_free(options);
  return failed;
}

int main(void) {
  char store[64], file[80], named[128];
  trunkline_text *first = NULL, *again = NULL, *result = NULL, *found = NULL, *id = NULL, *text = NULL;
  trunkline_error *error = NULL;
  snprintf(store, sizeof store, "sqlite:reports-%ld-%ld.db", (long)time(NULL), (long)clock());
  int failed = play(store, CALL, &first, &result, &error) ||
               trunkline_json_get_text(trunkline_text_str(first), TRUNKLINE_STR("/taskId"), &id);
  if (!failed) {
    snprintf(named, sizeof named, "{\"taskId\": \"%s\"}", trunkline_text_str(id).data);
    failed = play(store, trunkline_str_of(named), &again, &found, &error) ||
             trunkline_json_get_text(trunkline_text_str(found), TRUNKLINE_STR("/content/0/text"), &text);
  }
  if (failed) fprintf(stderr, "%s\n", error ? trunkline_error_message(error) : "no result");
  else printf("%s\n", trunkline_text_str(text).data);
  for (const char *const *ending = (const char *const[]){"", "-wal", "-shm", NULL}; *ending; ending++) {
    snprintf(file, sizeof file, "%s%s", store + strlen("sqlite:"), *ending);
    remove(file);
  }
  trunkline_text_free(first);
  trunkline_text_free(again);
  trunkline_text_free(result);
  trunkline_text_free(found);
  trunkline_text_free(id);
  trunkline_text_free(text);
  trunkline_error_free(error);
  return failed;
}
