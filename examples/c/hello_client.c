/* Starts the server next to it and calls its tool. */
#include <stdio.h>

#include <trunkline.h>

int main(void) {
  const trunkline_str command[] = {TRUNKLINE_STR_INIT("./hello_server")}, arguments = TRUNKLINE_STR_INIT("{\"name\": \"Ada\"}");
  trunkline_client *client = NULL;
  trunkline_text *greeting = NULL;
  int failed = trunkline_client_connect_child(command, 1, NULL, &client, NULL) ||
               trunkline_client_call_text(client, TRUNKLINE_STR("hello"), arguments, NULL, &greeting, NULL);
  if (failed)
    fprintf(stderr, "%s\n", trunkline_error_message(trunkline_last_error()));
  else
    puts(trunkline_text_str(greeting).data);
  trunkline_text_free(greeting);
  trunkline_client_free(client);
  return failed;
}
