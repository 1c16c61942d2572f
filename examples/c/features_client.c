/* Changes what a server offers while it runs. */
#include <stdio.h>

#include <trunkline.h>

#define PRICE "{\"tool\": {\"name\": \"price\", \"description\": \"The price of an article\"}, \"timeoutMs\": 2000}"
#define MANUAL "{\"uriTemplate\": \"manuals://{name}\", \"name\": \"manual\"}"
#define DISCOUNT "{\"visible\": %llu, \"tool\": {\"name\": \"discount\"}}"

static void answers(trunkline_call *call, trunkline_str arguments, void *user_data) {
  (void)arguments; /* of the manual: never "../secret", for such a URI is not found */
  trunkline_call_return_text(call, trunkline_str_of((const char *)user_data));
}

/* Nobody sees the discount; `trunkline_call_info` has the caller. */
static void for_nobody(trunkline_call *call, trunkline_str arguments, void *user_data) {
  (void)arguments;
  (void)user_data;
  trunkline_call_return_json(call, TRUNKLINE_SHAPE_VALUE, TRUNKLINE_STR("false"), NULL);
}

static int shows_tools(trunkline_client *client, trunkline_error **error) {
  trunkline_text *tools = NULL;
  if (trunkline_client_list_tools(client, NULL, &tools, error)) return 1;
  printf("%s\n", trunkline_text_str(tools).data);
  trunkline_text_free(tools);
  return 0;
}

int main(void) {
  static char five[] = "5", manual[] = "The manual", lower[] = "It is cheaper now";
  trunkline_server *server = NULL;
  trunkline_client *client = NULL;
  trunkline_error *error = NULL;
  uint64_t price = 0, visible = 0;
  char discount[100];
  int failed = trunkline_server_new(TRUNKLINE_STR("shop"), TRUNKLINE_STR("1.0.0"), &server, &error) ||
               trunkline_server_add(server, TRUNKLINE_STR("tool"), TRUNKLINE_STR(PRICE), answers, five, NULL, &price, &error) ||
               trunkline_server_add_resource_template(server, TRUNKLINE_STR(MANUAL), answers, manual, NULL, &error) ||
               trunkline_server_add(server, TRUNKLINE_STR("visibility"), TRUNKLINE_STR("{}"), for_nobody, NULL, NULL,
                                    &visible, &error);
  snprintf(discount, sizeof discount, DISCOUNT, (unsigned long long)visible);
  failed = failed ||
           trunkline_server_add(server, TRUNKLINE_STR("tool"), trunkline_str_of(discount), answers, lower, NULL, NULL, &error) ||
           trunkline_client_connect_memory(server, NULL, &client, &error) || shows_tools(client, &error) ||
           trunkline_server_set_enabled(server, price, false, &error) || shows_tools(client, &error);
  if (failed) fprintf(stderr, "%s\n", trunkline_error_message(error));
  trunkline_client_free(client);
  trunkline_server_free(server);
  trunkline_error_free(error);
  return failed;
}
