/* Lists the tools of a server over HTTP that requires a login: opens the browser and stores the
 * tokens. usage: login URL */
#include <stdio.h>

#include <trunkline.h>

#define AUTH TRUNKLINE_JSON_STR({"clientName": "Tool list", "store": "file"})

static void print_names(trunkline_str tools) {
  trunkline_str tool = {0};
  size_t cursor = 0;
  while (!trunkline_json_next(tools, &cursor, NULL, &tool)) {
    trunkline_text *name = NULL;
    trunkline_json_get_text(tool, TRUNKLINE_STR("/name"), &name);
    puts(trunkline_text_str(name).data);
    trunkline_text_free(name);
  }
}

int main(int count, char **arguments) {
  trunkline_client_options *options = NULL;
  trunkline_client *client = NULL;
  trunkline_text *tools = NULL;
  int failed;
  if (count != 2) {
    fprintf(stderr, "usage: login URL\n");
    return 2;
  }
  failed = trunkline_client_options_new(&options, NULL);
  if (!failed) failed = trunkline_client_options_set_auth(options, AUTH);
  if (!failed) failed = trunkline_client_connect_http(trunkline_str_of(arguments[1]), options, &client, NULL);
  if (!failed) failed = trunkline_client_list_tools(client, NULL, &tools, NULL);
  if (!failed) {
    print_names(trunkline_text_str(tools));
    failed = trunkline_client_close(client, 5000, NULL);
  }
  if (failed) fprintf(stderr, "%s\n", trunkline_error_message(trunkline_last_error()));
  trunkline_text_free(tools);
  trunkline_client_free(client);
  trunkline_client_options_free(options);
  return failed != 0;
}
