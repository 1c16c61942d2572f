/* A prompt with arguments, one of them optional, and a client that gets it. */
#include <stdio.h>
#include <stdlib.h>

#include <trunkline.h>

#define REVIEW                                                                              \
  TRUNKLINE_JSON_STR({                                                                      \
    "name": "review",                                                                       \
    "description": "Review code.",                                                          \
    "arguments": [                                                                          \
      {"name": "code", "description": "The code to review", "required": true},              \
      {"name": "focus"}                                                                     \
    ]                                                                                       \
  })

static void review(trunkline_call *call, void *user_data) {
  trunkline_str code = trunkline_call_text(call, TRUNKLINE_STR("/code"), TRUNKLINE_STR(""));
  trunkline_str focus = trunkline_call_text(call, TRUNKLINE_STR("/focus"), TRUNKLINE_STR("errors"));
  trunkline_text *question = NULL;
  size_t size = focus.len + code.len + 100;
  char *text = malloc(size), *messages;
  (void)user_data;
  snprintf(text, size, "Review this code, above all for %s: %s", focus.data, code.data);
  trunkline_json_string(trunkline_str_of(text), &question, NULL); /* with quotes and escapes */
  size = trunkline_text_str(question).len + 200;
  messages = malloc(size);
  snprintf(messages, size,
           "[{\"role\": \"user\", \"content\": {\"type\": \"text\", \"text\": %s}},"
           " {\"role\": \"assistant\", \"content\": {\"type\": \"text\","
           " \"text\": \"I will list each finding with its line.\"}}]",
           trunkline_text_str(question).data);
  trunkline_call_return_json(call, TRUNKLINE_SHAPE_CONTENT, trunkline_str_of(messages), NULL);
  trunkline_text_free(question);
  free(messages);
  free(text);
}

static trunkline_text *text_at(trunkline_text *json, const char *pointer) {
  trunkline_text *text = NULL;
  trunkline_json_get_text(trunkline_text_str(json), trunkline_str_of(pointer), &text);
  return text;
}

static void print_prompt(trunkline_text *prompts) {
  trunkline_text *name = text_at(prompts, "/0/name"), *description = text_at(prompts, "/0/description");
  trunkline_text *needed = text_at(prompts, "/0/arguments/0/name");
  printf("%s: %s Needs %s.\n", trunkline_text_str(name).data, trunkline_text_str(description).data,
         trunkline_text_str(needed).data);
  trunkline_text_free(name);
  trunkline_text_free(description);
  trunkline_text_free(needed);
}

static void print_messages(trunkline_text *result) {
  trunkline_str messages = {0}, message = {0};
  size_t cursor = 0;
  trunkline_json_get(trunkline_text_str(result), TRUNKLINE_STR("/messages"), &messages);
  while (!trunkline_json_next(messages, &cursor, NULL, &message)) {
    trunkline_text *role = NULL, *text = NULL;
    trunkline_json_get_text(message, TRUNKLINE_STR("/role"), &role);
    trunkline_json_get_text(message, TRUNKLINE_STR("/content/text"), &text);
    printf("%s: %s\n", trunkline_text_str(role).data, trunkline_text_str(text).data);
    trunkline_text_free(role);
    trunkline_text_free(text);
  }
}

int main(void) {
  trunkline_server *server = NULL;
  trunkline_client *client = NULL;
  trunkline_text *prompts = NULL, *result = NULL;
  trunkline_error *error = NULL;
  int failed = trunkline_server_new(TRUNKLINE_STR("review"), TRUNKLINE_STR("1.0.0"), &server, &error);
  if (!failed) failed = trunkline_server_add_prompt(server, REVIEW, review, NULL, NULL, &error);
  if (!failed) failed = trunkline_client_connect_memory(server, NULL, &client, &error);
  if (!failed) failed = trunkline_client_list_prompts(client, NULL, &prompts, &error);
  if (!failed) failed = trunkline_client_get_prompt(client, TRUNKLINE_STR("review"),
                                                    TRUNKLINE_JSON_STR({"code": "x = 1"}), NULL, &result, &error);
  if (failed) {
    fprintf(stderr, "%s\n", trunkline_error_message(error));
  } else {
    print_prompt(prompts);
    print_messages(result);
  }
  trunkline_error_free(error);
  trunkline_text_free(prompts);
  trunkline_text_free(result);
  trunkline_client_free(client);
  trunkline_server_free(server);
  return failed != 0;
}
