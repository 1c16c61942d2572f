/* A tool that only works in folders its client allows. */
#include <stdio.h>
#include <string.h>

#include <trunkline.h>

#define FOLDERS TRUNKLINE_JSON_STR({"name": "folders", "description": "Name the folders that may be searched."})
#define ROOTS TRUNKLINE_JSON_STR([{"uri": "file:///home/ada/notes", "name": "notes"}, {"uri": "file:///srv/wiki"}])

static void name_folders(trunkline_call *call, trunkline_result result, const trunkline_str *json,
                         const trunkline_error *error, void *user_data) {
  trunkline_str roots = {0}, root = {0};
  char names[1000] = "";
  size_t cursor = 0;
  (void)user_data;
  if (result) {
    trunkline_call_fail_with(call, error);
    return;
  }
  trunkline_json_get(*json, TRUNKLINE_STR("/roots"), &roots);
  while (!trunkline_json_next(roots, &cursor, NULL, &root)) {
    trunkline_text *name = NULL;
    size_t length = strlen(names);
    if (trunkline_json_get_text(root, TRUNKLINE_STR("/name"), &name))
      trunkline_json_get_text(root, TRUNKLINE_STR("/uri"), &name);
    /* Cut off, a name might end within a character, and would no longer be UTF-8. */
    if (length + trunkline_text_str(name).len + 2 < sizeof names)
      snprintf(names + length, sizeof names - length, "%s%s", length ? ", " : "", trunkline_text_str(name).data);
    trunkline_text_free(name);
  }
  trunkline_call_return_text(call, trunkline_str_of(names));
}

static void folders(trunkline_call *call, void *user_data) {
  (void)user_data;
  trunkline_call_list_roots(call, TRUNKLINE_STR("roots"), name_folders, NULL, NULL, NULL);
}

int main(void) {
  trunkline_server *server = NULL;
  trunkline_client *client = NULL;
  trunkline_client_options *options = NULL;
  trunkline_text *result = NULL, *text = NULL;
  trunkline_error *error = NULL;
  int failed = trunkline_server_new(TRUNKLINE_STR("search"), TRUNKLINE_STR("1.0.0"), &server, &error);
  if (!failed) failed = trunkline_server_add_tool(server, FOLDERS, folders, NULL, NULL, &error);
  if (!failed) failed = trunkline_client_options_new(&options, &error);
  if (!failed) failed = trunkline_client_options_set_roots(options, ROOTS);
  if (!failed) failed = trunkline_client_connect_memory(server, options, &client, &error);
  if (!failed) failed = trunkline_client_call_tool(client, TRUNKLINE_STR("folders"), TRUNKLINE_STR("{}"), NULL,
                                                   &result, &error);
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
