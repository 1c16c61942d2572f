/* A server that opens a database before the first call and closes it after the last. */
#include <stdbool.h>
#include <stdio.h>

#include <trunkline.h>

#define COUNT TRUNKLINE_JSON_STR({"name": "count", "description": "Count the orders."})

/* Stands in for a database handle. */
typedef struct database {
  bool is_open;
} database;

static bool open_database(void *user_data) {
  printf("orders opens\n");
  ((database *)user_data)->is_open = true;
  return true;
}

static void close_database(void *user_data) {
  printf("orders closes\n");
  ((database *)user_data)->is_open = false;
}

static void count(trunkline_call *call, void *user_data) {
  const database *opened = user_data;
  trunkline_call_return_text(call, opened->is_open ? TRUNKLINE_STR("7") : TRUNKLINE_STR("nothing"));
}

int main(void) {
  database orders = {false};
  trunkline_server *server = NULL;
  trunkline_client *client = NULL;
  trunkline_text *result = NULL, *text = NULL;
  trunkline_error *error = NULL;
  int failed = trunkline_server_new(TRUNKLINE_STR("orders"), TRUNKLINE_STR("1.0.0"), &server, &error);
  if (!failed) failed = trunkline_server_set_lifespan(server, open_database, close_database, &orders, NULL, &error);
  if (!failed) failed = trunkline_server_add_tool(server, COUNT, count, &orders, NULL, &error);
  if (!failed) failed = trunkline_client_connect_memory(server, NULL, &client, &error);
  if (!failed) failed = trunkline_client_call_tool(client, TRUNKLINE_STR("count"), TRUNKLINE_STR("{}"), NULL, &result,
                                                   &error);
  if (!failed) failed = trunkline_json_get_text(trunkline_text_str(result), TRUNKLINE_STR("/content/0/text"), &text);
  if (failed)
    fprintf(stderr, "%s\n", error ? trunkline_error_message(error) : "no text in the result");
  else
    printf("%s\n", trunkline_text_str(text).data);
  trunkline_error_free(error);
  trunkline_text_free(text);
  trunkline_text_free(result);
  trunkline_client_free(client);
  trunkline_server_free(server);
  return failed != 0;
}
