/* A tool that samples the client's model, and a client with a model. */
#include <stdio.h>

#include <trunkline.h>

#define SUMMARIZE                                                                                \
  TRUNKLINE_JSON_STR({                                                                           \
    "name": "summarize",                                                                         \
    "description": "Summarize a text.",                                                          \
    "inputSchema": {"type": "object", "required": ["text"],                                      \
                    "properties": {"text": {"type": "string", "maxLength": 400}}}                \
  })
#define NOTE TRUNKLINE_JSON_STR({"text": "It has been snowing in Oslo since Monday."})

static void answer(trunkline_call *call, trunkline_result result, const trunkline_str *json,
                   const trunkline_error *error, void *user_data) {
  trunkline_text *text = NULL;
  (void)user_data;
  if (result)
    trunkline_call_fail_with(call, error);
  else if (!trunkline_json_get_text(*json, TRUNKLINE_STR("/content/text"), &text))
    trunkline_call_return_text(call, trunkline_text_str(text));
  trunkline_text_free(text);
}

static void summarize(trunkline_call *call, void *user_data) {
  trunkline_text *question = NULL;
  char text[2000], params[5000];
  (void)user_data;
  snprintf(text, sizeof text, "Summarize in three words: %s",
           trunkline_call_text(call, TRUNKLINE_STR("/text"), TRUNKLINE_STR("")).data);
  trunkline_json_string(trunkline_str_of(text), &question, NULL); /* with quotes and escapes */
  snprintf(params, sizeof params,
           "{\"messages\": [{\"role\": \"user\", \"content\": {\"type\": \"text\", \"text\": %s}}], \"maxTokens\": 50}",
           trunkline_text_str(question).data);
  trunkline_call_sample(call, trunkline_str_of(params), TRUNKLINE_STR("summary"), answer, NULL, NULL, NULL);
  trunkline_text_free(question);
}

static void sample(trunkline_call *call, void *user_data) {
  (void)user_data;
  printf("at most %d tokens\n", (int)trunkline_call_int64(call, TRUNKLINE_STR("/maxTokens"), 0));
  /* Here the host asks its model. */
  trunkline_call_return_result(call,
                               TRUNKLINE_JSON_STR({"role": "assistant", "model": "a-model",
                                                   "content": {"type": "text", "text": "Snow in Oslo"}}),
                               NULL);
}

int main(void) {
  trunkline_server *server = NULL;
  trunkline_client *client = NULL;
  trunkline_client_options *options = NULL;
  trunkline_text *result = NULL, *text = NULL;
  trunkline_error *error = NULL;
  int failed = trunkline_server_new(TRUNKLINE_STR("notes"), TRUNKLINE_STR("1.0.0"), &server, &error);
  if (!failed) failed = trunkline_server_add_tool(server, SUMMARIZE, summarize, NULL, NULL, &error);
  if (!failed) failed = trunkline_client_options_new(&options, &error);
  if (!failed) failed = trunkline_client_options_on_sample(options, sample, NULL, NULL);
  if (!failed) failed = trunkline_client_connect_memory(server, options, &client, &error);
  if (!failed) failed = trunkline_client_call_tool(client, TRUNKLINE_STR("summarize"), NOTE, NULL, &result, &error);
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
