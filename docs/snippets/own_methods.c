/* A vendor-specific method, and a client that calls it. */
#include <stdio.h>

#include <trunkline.h>

#define SUM TRUNKLINE_STR("com.acme/sum")
#define TERMS \
  TRUNKLINE_JSON_STR({"type": "object", "required": ["terms"], \
                      "properties": {"terms": {"type": "array", "items": {"type": "integer"}}}})

static void add_up(trunkline_call *call, void *user_data) {
  trunkline_str terms = {0}, term = {0};
  size_t cursor = 0;
  long long sum = 0;
  char json[40];
  (void)user_data;
  trunkline_json_get(trunkline_call_arguments(call), TRUNKLINE_STR("/terms"), &terms);
  while (!trunkline_json_next(terms, &cursor, NULL, &term)) {
    int64_t number = 0;
    trunkline_json_get_int64(term, TRUNKLINE_STR(""), &number);
    sum += number;
  }
  trunkline_call_progress(call, 1, 1, TRUNKLINE_STR(""));
  snprintf(json, sizeof json, "{\"sum\": %lld}", sum);
  trunkline_call_return_json(call, TRUNKLINE_SHAPE_VALUE, trunkline_str_of(json), NULL);
}

int main(void) {
  trunkline_server *server = NULL;
  trunkline_client *client = NULL;
  trunkline_text *result = NULL;
  trunkline_error *error = NULL;
  int64_t sum = 0;
  int failed = trunkline_server_new(TRUNKLINE_STR("sums"), TRUNKLINE_STR("1.0.0"), &server, &error);
  if (!failed) failed = trunkline_server_add_request_handler(server, SUM, TERMS, add_up, NULL, NULL, &error);
  if (!failed) failed = trunkline_client_connect_memory(server, NULL, &client, &error);
  if (!failed) failed = trunkline_client_request(client, SUM, TRUNKLINE_JSON_STR({"terms": [1, 2, 39]}), NULL,
                                                 &result, &error);
  if (failed)
    fprintf(stderr, "%s\n", trunkline_error_message(error));
  else if (!trunkline_json_get_int64(trunkline_text_str(result), TRUNKLINE_STR("/sum"), &sum))
    printf("%lld\n", (long long)sum);
  trunkline_error_free(error);
  trunkline_text_free(result);
  trunkline_client_free(client);
  trunkline_server_free(server);
  return failed != 0;
}
