/* A tool that asks the user a question, and a client that answers it. */
#include <stdio.h>

#include <trunkline.h>

#define BOOK TRUNKLINE_JSON_STR({"name": "book", "description": "Book a table."})
#define QUESTION                                                                           \
  TRUNKLINE_JSON_STR({                                                                     \
    "message": "A table for how many?",                                                    \
    "requestedSchema": {                                                                   \
      "type": "object",                                                                    \
      "properties": {"people": {"type": "integer"}},                                       \
      "required": ["people"]                                                               \
    }                                                                                      \
  })

/* On 2026-07-28 the result is TRUNKLINE_SUSPENDED first; the tool runs again with the answer. */
static void booked(trunkline_call *call, trunkline_result result, const trunkline_str *json,
                   const trunkline_error *error, void *user_data) {
  int64_t people = 0;
  (void)user_data;
  if (result)
    trunkline_call_fail_with(call, error);
  else if (trunkline_json_get_int64(*json, TRUNKLINE_STR("/content/people"), &people))
    trunkline_call_return_text(call, TRUNKLINE_STR("Nothing was booked."));
  else
    trunkline_call_return_textf(call, "A table for %d is booked.", (int)people);
}

static void book(trunkline_call *call, void *user_data) {
  (void)user_data;
  trunkline_call_elicit(call, QUESTION, TRUNKLINE_STR("people"), booked, NULL, NULL, NULL);
}

static void ask(trunkline_call *call, void *user_data) {
  (void)user_data;
  printf("%s\n", trunkline_call_text(call, TRUNKLINE_STR("/message"), TRUNKLINE_STR("")).data);
  /* Here the user fills in the form at "/requestedSchema". */
  trunkline_call_return_result(call, TRUNKLINE_JSON_STR({"action": "accept", "content": {"people": 4}}), NULL);
}

int main(void) {
  trunkline_server *server = NULL;
  trunkline_client *client = NULL;
  trunkline_client_options *options = NULL;
  trunkline_text *result = NULL, *text = NULL;
  trunkline_error *error = NULL;
  int failed = trunkline_server_new(TRUNKLINE_STR("restaurant"), TRUNKLINE_STR("1.0.0"), &server, &error);
  if (!failed) failed = trunkline_server_add_tool(server, BOOK, book, NULL, NULL, &error);
  if (!failed) failed = trunkline_client_options_new(&options, &error);
  if (!failed) failed = trunkline_client_options_on_elicit(options, ask, NULL, NULL);
  if (!failed) failed = trunkline_client_connect_memory(server, options, &client, &error);
  if (!failed) failed = trunkline_client_call_tool(client, TRUNKLINE_STR("book"), TRUNKLINE_STR("{}"), NULL, &result,
                                                   &error);
  if (!failed) failed = trunkline_json_get_text(trunkline_text_str(result), TRUNKLINE_STR("/content/0/text"), &text);
  if (failed)
    fprintf(stderr, "%s\n", error ? trunkline_error_message(error) : "no text in the result");
  else
    printf("%s\n", trunkline_text_str(text).data);
  trunkline_error_free(error);
  trunkline_text_free(text);
  trunkline_text_free(result);
  trunkline_client_options_free(options);
  trunkline_client_free(client);
  trunkline_server_free(server);
  return failed != 0;
}
