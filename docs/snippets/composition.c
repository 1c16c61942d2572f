/* A gateway that exposes an older server under the newest revision, next to its own tool. */
#include <stdio.h>

#include <trunkline.h>

#define HELLO TRUNKLINE_JSON_STR({"name": "hello", "description": "Greet."})
#define NOTE TRUNKLINE_JSON_STR({"name": "groceries", "text": "milk"})

static const trunkline_str beside[] = {TRUNKLINE_STR_INIT("./tutorial_server")};

static void hello(trunkline_call *call, void *user_data) {
  (void)user_data;
  trunkline_call_return_text(call, TRUNKLINE_STR("Hello"));
}

static void print_text(trunkline_str json, const char *pointer, const char *end) {
  trunkline_text *text = NULL;
  trunkline_json_get_text(json, trunkline_str_of(pointer), &text);
  printf("%s%s", trunkline_text_str(text).data, end);
  trunkline_text_free(text);
}

static int use(trunkline_client *old, trunkline_client *client, trunkline_error **error) {
  trunkline_text *tools = NULL, *result = NULL, *before = NULL, *now = NULL;
  int failed = trunkline_client_list_tools(client, NULL, &tools, error);
  if (!failed) failed = trunkline_client_call_tool(client, TRUNKLINE_STR("add_note"), NOTE, NULL, &result, error);
  if (!failed) failed = trunkline_client_info(old, &before, error);
  if (!failed) failed = trunkline_client_info(client, &now, error);
  if (!failed) {
    print_text(trunkline_text_str(tools), "/0/name", " ");
    print_text(trunkline_text_str(tools), "/1/name", "\n");
    print_text(trunkline_text_str(before), "/revision", " as ");
    print_text(trunkline_text_str(now), "/revision", ": ");
    print_text(trunkline_text_str(result), "/content/0/text", "\n");
  }
  trunkline_text_free(tools);
  trunkline_text_free(result);
  trunkline_text_free(before);
  trunkline_text_free(now);
  return failed;
}

int main(void) {
  trunkline_client_options *legacy = NULL, *modern = NULL;
  trunkline_client *old = NULL, *client = NULL;
  trunkline_server *gateway = NULL, *extra = NULL;
  trunkline_error *error = NULL;
  int failed = trunkline_client_options_new(&legacy, &error);
  if (!failed) failed = trunkline_client_options_new(&modern, &error);
  if (!failed) failed = trunkline_client_options_set_revision(legacy, TRUNKLINE_STR("legacy"));
  if (!failed) failed = trunkline_client_options_set_revision(modern, TRUNKLINE_STR("2026-07-28"));
  if (!failed) failed = trunkline_client_connect_child(beside, 1, legacy, &old, &error);
  if (!failed) failed = trunkline_server_new(TRUNKLINE_STR("extra"), TRUNKLINE_STR("1.0.0"), &extra, &error);
  if (!failed) failed = trunkline_server_add_tool(extra, HELLO, hello, NULL, NULL, &error);
  if (!failed) failed = trunkline_server_new(TRUNKLINE_STR("gateway"), TRUNKLINE_STR("1.0.0"), &gateway, &error);
  if (!failed) failed = trunkline_server_proxy(gateway, old, TRUNKLINE_STR(""), TRUNKLINE_STR(""), NULL, &error);
  if (!failed) failed = trunkline_server_mount(gateway, TRUNKLINE_STR("extra"), extra, NULL, &error);
  /* Over HTTP: trunkline_server_listen_http. */
  if (!failed) failed = trunkline_client_connect_memory(gateway, modern, &client, &error);
  if (!failed) failed = use(old, client, &error);
  if (failed) fprintf(stderr, "%s\n", trunkline_error_message(error));
  trunkline_client_free(client);
  trunkline_server_free(gateway);
  trunkline_server_free(extra);
  trunkline_client_free(old);
  trunkline_client_options_free(modern);
  trunkline_client_options_free(legacy);
  trunkline_error_free(error);
  return failed != 0;
}
