/* Starts the server next to it and calls its tool. */
#include <stdio.h>

#include <trunkline.h>

#define ADA TRUNKLINE_JSON_STR({"name": "Ada"})

static const trunkline_str command[] = {TRUNKLINE_STR_INIT("./hello_server")};

int main(void) {
  trunkline_client *client = NULL;
  trunkline_text *greeting = NULL;
  trunkline_error *error = NULL;
  trunkline_result result = trunkline_client_connect_child(command, 1, NULL, &client, &error);
  if (!result) result = trunkline_client_call_text(client, TRUNKLINE_STR("hello"), ADA, NULL, &greeting, &error);
  if (!result) puts(trunkline_text_str(greeting).data);
  if (result) fprintf(stderr, "hello_client: %s\n", trunkline_error_message(error));
  trunkline_error_free(error);
  trunkline_text_free(greeting);
  trunkline_client_free(client);
  return result != TRUNKLINE_OK;
}
