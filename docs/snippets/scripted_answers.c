/* A test of a tool that asks the user, with scripted answers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <trunkline.h>

#define CHECK(condition) \
  if (!(condition)) (fprintf(stderr, "line %d: %s\n", __LINE__, #condition), exit(1))
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

/* The user's answers, in order. */
typedef struct {
  const char *answers[2];
  int asked;
} script;

static void ask(trunkline_call *call, void *user_data) {
  script *played = (script *)user_data;
  CHECK(played->asked < 2);
  trunkline_call_return_result(call, trunkline_str_of(played->answers[played->asked++]), NULL);
}

/* Calls the tool and compares the text of its result. */
static void expect(trunkline_client *client, const char *expected) {
  trunkline_text *result = NULL, *text = NULL;
  CHECK(!trunkline_client_call_tool(client, TRUNKLINE_STR("book"), TRUNKLINE_STR("{}"), NULL, &result, NULL));
  CHECK(!trunkline_json_get_text(trunkline_text_str(result), TRUNKLINE_STR("/content/0/text"), &text));
  CHECK(strcmp(trunkline_text_str(text).data, expected) == 0);
  trunkline_text_free(text);
  trunkline_text_free(result);
}

int main(void) {
  static script played = {{"{\"action\": \"accept\", \"content\": {\"people\": 4}}", "{\"action\": \"decline\"}"}, 0};
  trunkline_server_options *server_options = NULL;
  trunkline_client_options *client_options = NULL;
  trunkline_server *server = NULL;
  trunkline_client *client = NULL;
  CHECK(!trunkline_server_options_new(&server_options, NULL));
  /* Reruns handlers that ask, on every revision: this reveals effects before a question. */
  CHECK(!trunkline_server_options_set_rerun_handlers(server_options, true));
  CHECK(!trunkline_server_new_with(TRUNKLINE_STR("restaurant"), TRUNKLINE_STR("1.0.0"), server_options, &server, NULL));
  CHECK(!trunkline_server_add_tool(server, BOOK, book, NULL, NULL, NULL));
  CHECK(!trunkline_client_options_new(&client_options, NULL));
  CHECK(!trunkline_client_options_on_elicit(client_options, ask, &played, NULL));
  CHECK(!trunkline_client_connect_memory(server, client_options, &client, NULL));
  expect(client, "A table for 4 is booked.");
  expect(client, "Nothing was booked.");
  CHECK(played.asked == 2);
  printf("all passed\n");
  trunkline_client_free(client);
  trunkline_client_options_free(client_options);
  trunkline_server_free(server);
  trunkline_server_options_free(server_options);
  return 0;
}
