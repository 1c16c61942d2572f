/* Starts the server beside it and calls its tool. */
#include <stdio.h>

#include <trunkline.h>

int main(void) {
  const trunkline_str command[] = {TRUNKLINE_STR_INIT("./hello_server")};
  trunkline_client *client = NULL;
  trunkline_text *result = NULL, *greeting = NULL;
  trunkline_error *error = NULL;
  if (trunkline_client_connect_child(command, 1, NULL, &client, &error) ||
      trunkline_client_call_tool(client, TRUNKLINE_STR("hello"), TRUNKLINE_STR("{\"name\": \"Ada\"}"), NULL, &result, &error) ||
      trunkline_json_get_text(trunkline_text_str(result), TRUNKLINE_STR("/content/0/text"), &greeting))
    fprintf(stderr, "%s\n", error ? trunkline_error_message(error) : "no text in the result");
  else
    printf("%s\n", trunkline_text_str(greeting).data);
  int failed = greeting == NULL;
  if (client) trunkline_client_close(client, 5000, NULL);
  trunkline_text_free(greeting);
  trunkline_text_free(result);
  trunkline_client_free(client);
  trunkline_error_free(error);
  return failed;
}
