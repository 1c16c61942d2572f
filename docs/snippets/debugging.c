/* Information about a connection, and why one failed. */
#include <stdio.h>
#include <string.h>

#include <trunkline.h>

#define BACKUP TRUNKLINE_JSON_STR({"name": "backup", "description": "Back up all files.", "inputSchema": {"type": "object"}})

static void backup(trunkline_call *call, void *user_data) {
  (void)user_data;
  trunkline_call_fail(call, TRUNKLINE_STR("disk full"));
}

static int show(trunkline_str json, const char *pointer, const char *end) {
  trunkline_text *text = NULL;
  if (trunkline_json_get_text(json, trunkline_str_of(pointer), &text)) return 1;
  printf("%s%s", trunkline_text_str(text).data, end);
  trunkline_text_free(text);
  return 0;
}

static int use(trunkline_client *client, trunkline_error **error) {
  trunkline_text *info = NULL, *result = NULL;
  int failed = trunkline_client_info(client, &info, error);
  if (!failed) failed = show(trunkline_text_str(info), "/revision", " ");
  if (!failed) failed = show(trunkline_text_str(info), "/serverInfo/name", "\n");
  if (!failed) failed = trunkline_client_call_tool(client, TRUNKLINE_STR("backup"), TRUNKLINE_STR("{}"), NULL,
                                                   &result, error);
  if (!failed) {
    const char *text = trunkline_text_str(result).data;
    printf("%s %s\n", strstr(text, "\"isError\":true") ? "error:" : "result:", strstr(text, "disk full") ? "disk full" : "");
  }
  trunkline_text_free(info);
  trunkline_text_free(result);
  return failed;
}

int main(void) {
  trunkline_server_options *options = NULL;
  trunkline_server *server = NULL;
  trunkline_client *client = NULL;
  trunkline_error *error = NULL;
  int failed = trunkline_server_options_new(&options, &error);
  /* Sends error details, which may be secret, to clients: not for production. */
  if (!failed) failed = trunkline_server_options_set_debug(options, true);
  if (!failed) failed = trunkline_server_new_with(TRUNKLINE_STR("backup"), TRUNKLINE_STR("1.0.0"), options, &server,
                                                  &error);
  if (!failed) failed = trunkline_server_add_tool(server, BACKUP, backup, NULL, NULL, &error);
  if (!failed) failed = trunkline_client_connect_memory(server, NULL, &client, &error);
  if (!failed) failed = use(client, &error);
  if (error) fprintf(stderr, "%s\n", trunkline_error_message(error));
  trunkline_error_free(error);
  trunkline_client_free(client);
  trunkline_server_free(server);
  trunkline_server_options_free(options);
  return failed != 0;
}
