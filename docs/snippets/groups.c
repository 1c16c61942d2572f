/* Many servers behind one client. One of them fails to start; the others work. */
#include <stdio.h>

#include <trunkline.h>

#define SERVERS TRUNKLINE_JSON_STR({"notes": ["./tutorial_server"], "broken": ["no-such-program"]})
#define NOTE TRUNKLINE_JSON_STR({"name": "groceries", "text": "milk"})

static void print_text(trunkline_str json, const char *pointer, const char *end) {
  trunkline_text *text = NULL;
  trunkline_json_get_text(json, trunkline_str_of(pointer), &text);
  printf("%s%s", trunkline_text_str(text).data, end);
  trunkline_text_free(text);
}

static void print_servers(trunkline_str json) {
  trunkline_str servers = {0}, server = {0}, fault = {0};
  size_t cursor = 0;
  trunkline_json_get(json, TRUNKLINE_STR("/servers"), &servers);
  while (!trunkline_json_next(servers, &cursor, NULL, &server)) {
    bool failed = !trunkline_json_get(server, TRUNKLINE_STR("/error"), &fault);
    print_text(server, "/name", failed ? ": failed\n" : ": connected\n");
  }
}

int main(void) {
  trunkline_client *group = NULL;
  trunkline_text *servers = NULL, *tools = NULL, *result = NULL;
  trunkline_error *error = NULL;
  /* Or the path of an mcp.json. */
  int failed = trunkline_client_connect_group(SERVERS, NULL, &group, &error);
  if (!failed) failed = trunkline_client_servers(group, NULL, &servers, &error);
  if (!failed) failed = trunkline_client_list_tools(group, NULL, &tools, &error);
  if (!failed) failed = trunkline_client_call_tool(group, TRUNKLINE_STR("notes__add_note"), NOTE, NULL, &result,
                                                   &error);
  if (!failed) failed = trunkline_client_close(group, 5000, &error);
  if (failed) {
    fprintf(stderr, "%s\n", trunkline_error_message(error));
  } else {
    print_servers(trunkline_text_str(servers));
    print_text(trunkline_text_str(tools), "/0/name", "\n");
    print_text(trunkline_text_str(result), "/content/0/text", "\n");
  }
  trunkline_text_free(servers);
  trunkline_text_free(tools);
  trunkline_text_free(result);
  trunkline_client_free(group);
  trunkline_error_free(error);
  return failed != 0;
}
