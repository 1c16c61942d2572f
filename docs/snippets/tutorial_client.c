/* Starts the server next to it and uses it. Given a URL, it connects there instead. */
#include <stdio.h>
#include <string.h>

#include <trunkline.h>

static const trunkline_str beside[] = {TRUNKLINE_STR_INIT("./tutorial_server")};

static trunkline_result connect_to(const char *url, trunkline_client **client, trunkline_error **error) {
  return strncmp(url, "http", 4) == 0 ? trunkline_client_connect_http(trunkline_str_of(url), NULL, client, error)
                                      : trunkline_client_connect_child(beside, 1, NULL, client, error);
}

static void print(const char *label, trunkline_text *json, const char *pointer) {
  trunkline_text *text = NULL;
  trunkline_json_get_text(trunkline_text_str(json), trunkline_str_of(pointer), &text);
  printf("%s%s\n", label, trunkline_text_str(text).data);
  trunkline_text_free(text);
}

static trunkline_result add(trunkline_client *client, trunkline_str note, trunkline_error **error) {
  trunkline_text *answer = NULL;
  bool is_error = false;
  trunkline_result result = trunkline_client_call_tool(client, TRUNKLINE_STR("add_note"), note, NULL, &answer, error);
  if (!result) {
    trunkline_json_get_bool(trunkline_text_str(answer), TRUNKLINE_STR("/isError"), &is_error);
    print(is_error ? "error: " : "result: ", answer, "/content/0/text");
  }
  trunkline_text_free(answer);
  return result;
}

static trunkline_result use(trunkline_client *client, trunkline_error **error) {
  trunkline_text *tools = NULL, *all = NULL;
  trunkline_result result = trunkline_client_list_tools(client, NULL, &tools, error);
  if (!result) print("tools: ", tools, "/0/name");
  if (!result) result = add(client, TRUNKLINE_JSON_STR({"name": "groceries", "text": "milk and bread"}), error);
  if (!result) result = add(client, TRUNKLINE_JSON_STR({"name": "groceries", "text": "bread"}), error);
  if (!result) result = trunkline_client_read_resource(client, TRUNKLINE_STR("notes://all"), NULL, &all, error);
  if (!result) print("", all, "/contents/0/text");
  trunkline_text_free(tools);
  trunkline_text_free(all);
  return result;
}

int main(int words, char **arguments) {
  trunkline_client *client = NULL;
  trunkline_error *error = NULL;
  trunkline_result result = connect_to(words > 1 ? arguments[1] : "", &client, &error);
  if (!result) result = use(client, &error);
  if (!result) result = trunkline_client_close(client, 5000, &error);
  if (result) fprintf(stderr, "%s: %s\n", trunkline_result_name(result), trunkline_error_message(error));
  trunkline_error_free(error);
  trunkline_client_free(client);
  return result != TRUNKLINE_OK;
}
