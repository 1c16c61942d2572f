/* A bridge that clients see as the server behind it, which starts with their first request. */
#include <stdio.h>

#include <trunkline.h>

#define SHOWN TRUNKLINE_STR("{\"transparent\": true}")

static const trunkline_str beside[] = {TRUNKLINE_STR_INIT("./tutorial_server")};

static void print_text(trunkline_str json, const char *pointer, const char *end) {
  trunkline_text *text = NULL;
  trunkline_json_get_text(json, trunkline_str_of(pointer), &text);
  printf("%s%s", trunkline_text_str(text).data, end);
  trunkline_text_free(text);
}

static int use(trunkline_client *client, trunkline_error **error) {
  trunkline_text *tools = NULL, *info = NULL;
  int failed =
      trunkline_client_list_tools(client, NULL, &tools, error) || trunkline_client_info(client, &info, error);
  if (!failed) {
    print_text(trunkline_text_str(info), "/serverInfo/name", ": ");
    print_text(trunkline_text_str(tools), "/0/name", "\n");
  }
  trunkline_text_free(tools);
  trunkline_text_free(info);
  return failed;
}

int main(void) {
  trunkline_client_options *lazy = NULL;
  trunkline_client *notes = NULL, *client = NULL;
  trunkline_server *bridge = NULL;
  trunkline_error *error = NULL;
  int failed = trunkline_client_options_new(&lazy, &error) || trunkline_client_options_set_lazy(lazy, true) ||
               trunkline_client_connect_child(beside, 1, lazy, &notes, &error) ||
               trunkline_server_new(TRUNKLINE_STR("bridge"), TRUNKLINE_STR("1.0.0"), &bridge, &error) ||
               trunkline_server_proxy(bridge, notes, TRUNKLINE_STR(""), SHOWN, NULL, &error) ||
               /* Over HTTP: trunkline_server_listen_http. */
               trunkline_client_connect_memory(bridge, NULL, &client, &error) || use(client, &error);
  if (failed) fprintf(stderr, "%s\n", trunkline_error_message(error));
  trunkline_client_free(client);
  trunkline_server_free(bridge);
  trunkline_client_free(notes);
  trunkline_client_options_free(lazy);
  trunkline_error_free(error);
  return failed;
}
