/* Table rows as resources: listed page by page and read on request. */
#include <stdio.h>
#include <stdlib.h>

#include <trunkline.h>

enum { ROWS = 5, PAGE = 2 };

static void list(trunkline_call *call) {
  int start = atoi(trunkline_call_text(call, TRUNKLINE_STR("/list/cursor"), TRUNKLINE_STR("0")).data);
  int end = start + PAGE < ROWS ? start + PAGE : ROWS;
  char json[1000] = "{\"items\": [";
  size_t length = 11;
  for (int row = start + 1; row <= end; ++row)
    length += (size_t)snprintf(json + length, sizeof json - length, "%s{\"uri\": \"rows://%d\", \"name\": \"row %d\"}",
                               row > start + 1 ? ", " : "", row, row);
  length += (size_t)snprintf(json + length, sizeof json - length, "]");
  if (end < ROWS) length += (size_t)snprintf(json + length, sizeof json - length, ", \"nextCursor\": \"%d\"", end);
  snprintf(json + length, sizeof json - length, "}");
  trunkline_call_return_json(call, TRUNKLINE_SHAPE_VALUE, trunkline_str_of(json), NULL);
}

static void rows(trunkline_call *call, void *user_data) {
  trunkline_str uri = trunkline_call_text(call, TRUNKLINE_STR("/get/uri"), TRUNKLINE_STR(""));
  int row = 0;
  (void)user_data;
  if (uri.len == 0)
    list(call);
  else if (sscanf(uri.data, "rows://%d", &row) == 1 && row >= 1 && row <= ROWS)
    trunkline_call_return_textf(call, "value %d", row);
  else
    trunkline_call_return_json(call, TRUNKLINE_SHAPE_VALUE, TRUNKLINE_STR("null"), NULL); /* there is no such row */
}

static void print_names(trunkline_str resources) {
  trunkline_str resource = {0};
  size_t cursor = 0;
  const char *comma = "";
  while (!trunkline_json_next(resources, &cursor, NULL, &resource)) {
    trunkline_text *name = NULL;
    trunkline_json_get_text(resource, TRUNKLINE_STR("/name"), &name);
    printf("%s%s", comma, trunkline_text_str(name).data);
    trunkline_text_free(name);
    comma = ", ";
  }
  printf("\n");
}

int main(void) {
  trunkline_server *server = NULL;
  trunkline_client *client = NULL;
  trunkline_text *resources = NULL, *result = NULL, *text = NULL;
  trunkline_error *error = NULL;
  int failed = trunkline_server_new(TRUNKLINE_STR("table"), TRUNKLINE_STR("1.0.0"), &server, &error);
  if (!failed) failed = trunkline_server_add_provider(server, TRUNKLINE_STR("resources"), rows, NULL, NULL, &error);
  if (!failed) failed = trunkline_client_connect_memory(server, NULL, &client, &error);
  if (!failed) failed = trunkline_client_list_resources(client, NULL, &resources, &error);
  if (!failed) failed = trunkline_client_read_resource(client, TRUNKLINE_STR("rows://4"), NULL, &result, &error);
  if (!failed) failed = trunkline_json_get_text(trunkline_text_str(result), TRUNKLINE_STR("/contents/0/text"), &text);
  if (failed) {
    fprintf(stderr, "%s\n", error ? trunkline_error_message(error) : "no text in the result");
  } else {
    print_names(trunkline_text_str(resources));
    printf("%s\n", trunkline_text_str(text).data);
  }
  trunkline_error_free(error);
  trunkline_text_free(text);
  trunkline_text_free(result);
  trunkline_text_free(resources);
  trunkline_client_free(client);
  trunkline_server_free(server);
  return failed != 0;
}
