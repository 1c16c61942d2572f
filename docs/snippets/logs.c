/* Log messages for the client, and the library's own log. */
#include <stdio.h>
#include <string.h>

#include <trunkline.h>

#define BACKUP TRUNKLINE_JSON_STR({"name": "backup", "description": "Back up all files."})

static void backup(trunkline_call *call, void *user_data) {
  (void)user_data;
  trunkline_call_log(call, TRUNKLINE_STR("debug"), TRUNKLINE_STR("looking for changes"));
  trunkline_call_log_json(call, TRUNKLINE_STR("info"), TRUNKLINE_STR("copier"), TRUNKLINE_JSON_STR({"files": 3}), NULL);
  trunkline_call_return_text(call, TRUNKLINE_STR("done"));
}

static void notified(const trunkline_str *method, const trunkline_str *params, void *user_data) {
  trunkline_text *level = NULL, *logger = NULL;
  int64_t files = 0;
  (void)user_data;
  if (strcmp(method->data, TRUNKLINE_NOTIFICATION_LOG) != 0) return;
  trunkline_json_get_text(*params, TRUNKLINE_STR("/level"), &level);
  trunkline_json_get_text(*params, TRUNKLINE_STR("/logger"), &logger);
  trunkline_json_get_int64(*params, TRUNKLINE_STR("/data/files"), &files);
  printf("%s of the %s: %d files\n", trunkline_text_str(level).data, trunkline_text_str(logger).data, (int)files);
  trunkline_text_free(level);
  trunkline_text_free(logger);
}

/* Without this callback, warnings and errors of the library go to stderr. */
static void log_of_library(const trunkline_str *level, const trunkline_str *target, const trunkline_str *message,
                           void *user_data) {
  (void)level, (void)user_data;
  fprintf(stderr, "%s: %s\n", target->data, message->data);
}

int main(void) {
  trunkline_server *server = NULL;
  trunkline_client *client = NULL;
  trunkline_client_options *options = NULL;
  trunkline_text *result = NULL, *text = NULL;
  trunkline_error *error = NULL;
  int failed = trunkline_server_new(TRUNKLINE_STR("backup"), TRUNKLINE_STR("1.0.0"), &server, &error);
  if (!failed) failed = trunkline_port_on_log(trunkline_server_port(server), log_of_library, NULL, NULL);
  if (!failed) failed = trunkline_server_add_tool(server, BACKUP, backup, NULL, NULL, &error);
  if (!failed) failed = trunkline_client_options_new(&options, &error);
  if (!failed) failed = trunkline_client_options_set_log_level(options, TRUNKLINE_STR("info"));
  if (!failed) failed = trunkline_client_options_on_notification(options, notified, NULL, NULL);
  if (!failed) failed = trunkline_client_connect_memory(server, options, &client, &error);
  if (!failed) failed = trunkline_client_call_tool(client, TRUNKLINE_STR("backup"), TRUNKLINE_STR("{}"), NULL,
                                                   &result, &error);
  /* Notifications that arrived while nothing waited for them are delivered now. */
  if (!failed) failed = trunkline_dispatch(trunkline_client_port(client), 0, NULL, &error);
  if (!failed) failed = trunkline_json_get_text(trunkline_text_str(result), TRUNKLINE_STR("/content/0/text"), &text);
  if (failed)
    fprintf(stderr, "%s\n", error ? trunkline_error_message(error) : "no text in the result");
  else
    printf("%s\n", trunkline_text_str(text).data);
  trunkline_error_free(error);
  trunkline_text_free(text);
  trunkline_text_free(result);
  trunkline_client_options_free(options);
  trunkline_client_free(client);
  trunkline_server_free(server);
  return failed != 0;
}
