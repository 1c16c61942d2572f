/* A server that changes its features at run time, for everyone or per caller. */
#include <stdio.h>
#include <string.h>

#include <trunkline.h>

#define PRICE TRUNKLINE_JSON_STR({"tool": {"name": "price", "description": "The price of an article."}, "timeoutMs": 2000})
#define DISCOUNT "{\"tool\": {\"name\": \"discount\", \"description\": \"Lower a price.\"}, \"visible\": %llu}"

static void answer(trunkline_call *call, void *user_data) {
  trunkline_call_return_text(call, trunkline_str_of((const char *)user_data));
}

/* With access tokens: by "/auth/subject". */
static void is_staff(trunkline_call *call, void *user_data) {
  trunkline_text *name = NULL;
  bool staff = !trunkline_call_fact(call, TRUNKLINE_STR("/clientInfo/name"), &name) &&
               strcmp(trunkline_text_str(name).data, "\"staff\"") == 0; /* facts are JSON */
  (void)user_data;
  trunkline_call_return_json(call, TRUNKLINE_SHAPE_VALUE, staff ? TRUNKLINE_STR("true") : TRUNKLINE_STR("false"), NULL);
  trunkline_text_free(name);
}

static int show_tools(trunkline_server *server, const char *name, trunkline_error **error) {
  trunkline_client_options *options = NULL;
  trunkline_client *client = NULL;
  trunkline_text *tools = NULL;
  trunkline_str tool = {0};
  size_t cursor = 0;
  int failed = trunkline_client_options_new(&options, error);
  if (!failed) failed = trunkline_client_options_set_info(options, trunkline_str_of(name), TRUNKLINE_STR("1.0.0"));
  if (!failed) failed = trunkline_client_connect_memory(server, options, &client, error);
  if (!failed) failed = trunkline_client_list_tools(client, NULL, &tools, error);
  printf("%s:", name);
  while (!failed && !trunkline_json_next(trunkline_text_str(tools), &cursor, NULL, &tool)) {
    trunkline_text *text = NULL;
    trunkline_json_get_text(tool, TRUNKLINE_STR("/name"), &text);
    printf(" %s", trunkline_text_str(text).data);
    trunkline_text_free(text);
  }
  printf("\n");
  trunkline_text_free(tools);
  trunkline_client_free(client);
  trunkline_client_options_free(options);
  return failed;
}

int main(void) {
  static char five[] = "5", lower[] = "It is cheaper now.";
  trunkline_server *server = NULL;
  trunkline_error *error = NULL;
  uint64_t price = 0, visible = 0;
  char discount[150];
  int failed = trunkline_server_new(TRUNKLINE_STR("shop"), TRUNKLINE_STR("1.0.0"), &server, &error);
  if (!failed) failed = trunkline_server_add(server, TRUNKLINE_STR("tool"), PRICE, answer, five, NULL, &price,
                                             &error);
  if (!failed) failed = trunkline_server_add(server, TRUNKLINE_STR("visibility"), TRUNKLINE_STR("{}"), is_staff, NULL,
                                             NULL, &visible, &error);
  snprintf(discount, sizeof discount, DISCOUNT, (unsigned long long)visible);
  if (!failed) failed = trunkline_server_add(server, TRUNKLINE_STR("tool"), trunkline_str_of(discount), answer, lower,
                                             NULL, NULL, &error);
  if (!failed) failed = show_tools(server, "staff", &error);
  if (!failed) failed = show_tools(server, "guest", &error);
  if (!failed) failed = trunkline_server_set_enabled(server, price, false, &error);
  if (!failed) failed = show_tools(server, "staff", &error);
  if (failed) fprintf(stderr, "%s\n", trunkline_error_message(error));
  trunkline_server_free(server);
  trunkline_error_free(error);
  return failed != 0;
}
