/* Lifts the old server beside it to the newest revision, and calls it there. */
#include <stdio.h>

#include <trunkline.h>

int main(void) {
  const trunkline_str command[] = {TRUNKLINE_STR_INIT("./hello_server")};
  trunkline_client_options *legacy = NULL, *modern = NULL;
  trunkline_client *old = NULL, *client = NULL;
  trunkline_server *gateway = NULL;
  trunkline_text *tools = NULL, *result = NULL;
  trunkline_error *error = NULL;
  if (trunkline_client_options_new(&legacy, &error) || trunkline_client_options_new(&modern, &error) ||
      trunkline_client_options_set_revision(legacy, TRUNKLINE_STR("legacy")) ||
      trunkline_client_options_set_revision(modern, TRUNKLINE_STR("2026-07-28")) ||
      trunkline_client_connect_child(command, 1, legacy, &old, &error) ||
      trunkline_server_new(TRUNKLINE_STR("gateway"), TRUNKLINE_STR("1.0.0"), &gateway, &error) ||
      trunkline_server_proxy(gateway, old, TRUNKLINE_STR(""), 0, NULL, &error) ||
      /* In memory here; trunkline_server_listen_http serves other processes. */
      trunkline_client_connect_memory(gateway, modern, &client, &error) ||
      trunkline_client_list_tools(client, NULL, &tools, &error) ||
      trunkline_client_call_tool(client, TRUNKLINE_STR("hello"), TRUNKLINE_STR("{\"name\": \"Ada\"}"), NULL, &result, &error))
    fprintf(stderr, "%s\n", trunkline_error_message(error));
  else
    printf("%s\n%s\n", trunkline_text_str(tools).data, trunkline_text_str(result).data);
  int failed = error != NULL;
  trunkline_text_free(result);
  trunkline_text_free(tools);
  trunkline_client_free(client);
  trunkline_server_free(gateway);
  trunkline_client_free(old);
  trunkline_client_options_free(modern);
  trunkline_client_options_free(legacy);
  trunkline_error_free(error);
  return failed;
}
