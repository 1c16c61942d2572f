/* Errors: for the model, for the log, protocol errors, and timeouts. */
#include <stdio.h>
#include <string.h>

#include <trunkline.h>

#define PRICE                                                                                  \
  TRUNKLINE_JSON_STR({                                                                         \
    "name": "price",                                                                           \
    "description": "The price of an article.",                                                 \
    "inputSchema": {"type": "object", "properties": {"article": {"type": "string"}},           \
                    "required": ["article"]}                                                   \
  })
#define WAIT TRUNKLINE_JSON_STR({"name": "wait", "description": "Never ends."})

static void price(trunkline_call *call, void *user_data) {
  (void)user_data;
  if (strcmp(trunkline_call_text(call, TRUNKLINE_STR("/article"), TRUNKLINE_STR("")).data, "sun") == 0)
    trunkline_call_fail_tool(call, TRUNKLINE_STR("The sun is not for sale."));
  else
    trunkline_call_fail(call, TRUNKLINE_STR("no row in prices.db"));
}

/* You can keep a call and complete it later, from any thread. */
static void keep(trunkline_call *call, void *user_data) {
  trunkline_call **kept = user_data;
  *kept = trunkline_call_retain(call);
}

/* Calls a tool and prints its text or the error. */
static void print_call(trunkline_client *client, trunkline_str name, trunkline_str arguments,
                       const trunkline_request_options *options) {
  trunkline_text *result = NULL, *text = NULL;
  trunkline_error *error = NULL;
  if (trunkline_client_call_tool(client, name, arguments, options, &result, &error)) {
    printf("%s", trunkline_result_name(trunkline_error_kind(error)));
    if (trunkline_error_kind(error) == TRUNKLINE_PROTOCOL) printf(" %d", (int)trunkline_error_code(error));
    printf("\n");
  } else if (!trunkline_json_get_text(trunkline_text_str(result), TRUNKLINE_STR("/content/0/text"), &text)) {
    printf("%s\n", trunkline_text_str(text).data);
  }
  trunkline_error_free(error);
  trunkline_text_free(text);
  trunkline_text_free(result);
}

int main(void) {
  trunkline_server *server = NULL;
  trunkline_client *client = NULL;
  trunkline_request_options *options = NULL;
  trunkline_call *kept = NULL;
  trunkline_error *error = NULL;
  int failed = trunkline_server_new(TRUNKLINE_STR("shop"), TRUNKLINE_STR("1.0.0"), &server, &error);
  if (!failed) failed = trunkline_server_add_tool(server, PRICE, price, NULL, NULL, &error);
  if (!failed) failed = trunkline_server_add_tool(server, WAIT, keep, &kept, NULL, &error);
  if (!failed) failed = trunkline_client_connect_memory(server, NULL, &client, &error);
  if (!failed) failed = trunkline_request_options_new(&options, &error);
  if (!failed) failed = trunkline_request_options_set_timeout_ms(options, 50);
  if (!failed) {
    print_call(client, TRUNKLINE_STR("price"), TRUNKLINE_JSON_STR({"article": "sun"}), NULL);
    print_call(client, TRUNKLINE_STR("price"), TRUNKLINE_JSON_STR({"article": "moon"}), NULL);
    print_call(client, TRUNKLINE_STR("prize"), TRUNKLINE_STR("{}"), NULL);
    print_call(client, TRUNKLINE_STR("wait"), TRUNKLINE_STR("{}"), options);
  }
  if (error) fprintf(stderr, "%s\n", trunkline_error_message(error));
  trunkline_error_free(error);
  trunkline_call_free(kept);
  trunkline_request_options_free(options);
  trunkline_client_free(client);
  trunkline_server_free(server);
  return failed != 0;
}
