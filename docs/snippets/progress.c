/* A tool that reports progress, and a client that cancels another one. */
#include <stdio.h>

#include <trunkline.h>

#define COPY                                                                                        \
  TRUNKLINE_JSON_STR({                                                                              \
    "name": "copy",                                                                                 \
    "description": "Copy files.",                                                                   \
    "inputSchema": {"type": "object", "properties": {"files": {"type": "integer"}}, "required": ["files"]} \
  })
#define WATCH TRUNKLINE_JSON_STR({"name": "watch", "description": "Watch a folder until the caller cancels."})

static void copy(trunkline_call *call, void *user_data) {
  int files = (int)trunkline_call_int64(call, TRUNKLINE_STR("/files"), 0);
  char message[50];
  (void)user_data;
  for (int number = 1; number <= files; ++number) {
    snprintf(message, sizeof message, "file %d", number);
    trunkline_call_progress(call, number, files, trunkline_str_of(message));
  }
  trunkline_call_return_textf(call, "%d files are copied.", files);
}

static enum { IDLE, WATCHING, STOPPED } state;

static void stop(const trunkline_str *reason, void *user_data) {
  (void)reason;
  printf("stopped watching\n");
  state = STOPPED;
  trunkline_call_free(user_data);
}

static void watch(trunkline_call *call, void *user_data) {
  (void)user_data;
  state = WATCHING;
  trunkline_call_on_cancel(call, stop, trunkline_call_retain(call), NULL);
}

static void show(double progress, double total, const trunkline_str *message, void *user_data) {
  (void)user_data;
  /* Reports may be skipped if they arrive faster than they are read, except the last. */
  if (progress >= total) printf("%.0f of %.0f: %s\n", progress, total, message->data);
}

int main(void) {
  trunkline_server *server = NULL;
  trunkline_client *client = NULL;
  trunkline_request_options *options = NULL;
  trunkline_text *result = NULL, *text = NULL;
  trunkline_error *error = NULL;
  int failed = trunkline_server_new(TRUNKLINE_STR("files"), TRUNKLINE_STR("1.0.0"), &server, &error);
  if (!failed) failed = trunkline_server_add_tool(server, COPY, copy, NULL, NULL, &error);
  if (!failed) failed = trunkline_server_add_tool(server, WATCH, watch, NULL, NULL, &error);
  if (!failed) failed = trunkline_client_connect_memory(server, NULL, &client, &error);
  if (!failed) failed = trunkline_request_options_new(&options, &error);
  if (!failed) failed = trunkline_request_options_on_progress(options, show, NULL, NULL);
  if (!failed) failed = trunkline_client_call_tool(client, TRUNKLINE_STR("copy"), TRUNKLINE_JSON_STR({"files": 2}),
                                                   options, &result, &error);
  if (!failed) failed = trunkline_json_get_text(trunkline_text_str(result), TRUNKLINE_STR("/content/0/text"), &text);
  if (!failed) {
    uint64_t ticket = 0;
    printf("%s\n", trunkline_text_str(text).data);
    failed = trunkline_client_start(client, TRUNKLINE_STR(TRUNKLINE_METHOD_CALL_TOOL),
                                    TRUNKLINE_JSON_STR({"name": "watch", "arguments": {}}), NULL, NULL, NULL, NULL,
                                    &ticket, &error);
    while (!failed && state == IDLE) failed = trunkline_dispatch(trunkline_server_port(server), 1000, NULL, &error);
    if (!failed) failed = trunkline_client_cancel(client, ticket, TRUNKLINE_STR("seen enough"), &error);
    while (!failed && state == WATCHING) failed = trunkline_dispatch(trunkline_server_port(server), 1000, NULL, &error);
  }
  if (error) fprintf(stderr, "%s\n", trunkline_error_message(error));
  trunkline_error_free(error);
  trunkline_text_free(text);
  trunkline_text_free(result);
  trunkline_request_options_free(options);
  trunkline_client_free(client);
  trunkline_server_free(server);
  return failed != 0;
}
