/* A client that is notified when a resource changes, and when the list of tools does. */
#include <stdio.h>

#include <trunkline.h>

#define TODAY TRUNKLINE_JSON_STR({"uri": "notes://today", "name": "today", "description": "The note of today."})
#define CLEAR TRUNKLINE_JSON_STR({"tool": {"name": "clear", "description": "Forget all notes."}})
#define WANTED TRUNKLINE_JSON_STR({"resources": ["notes://today"], "tools": true})

static const char *note = "Buy milk.";

static void today(trunkline_call *call, void *user_data) {
  (void)user_data;
  trunkline_call_return_text(call, trunkline_str_of(note));
}

static void clear(trunkline_call *call, void *user_data) {
  (void)user_data;
  note = "";
  trunkline_call_return_text(call, TRUNKLINE_STR(""));
}

/* Prints the text at a JSON pointer. */
static void print(trunkline_text *json, const char *pointer, const char *end) {
  trunkline_text *text = NULL;
  trunkline_json_get_text(trunkline_text_str(json), trunkline_str_of(pointer), &text);
  printf("%s%s", trunkline_text_str(text).data, end);
  trunkline_text_free(text);
}

int main(void) {
  trunkline_server *server = NULL;
  trunkline_client *client = NULL;
  trunkline_text *change = NULL, *result = NULL, *other = NULL;
  trunkline_error *error = NULL;
  uint64_t tool = 0, changes = 0;
  int failed = trunkline_server_new(TRUNKLINE_STR("notes"), TRUNKLINE_STR("1.0.0"), &server, &error);
  if (!failed) failed = trunkline_server_add_resource(server, TODAY, today, NULL, NULL, &error);
  if (!failed) failed = trunkline_server_add(server, TRUNKLINE_STR("tool"), CLEAR, clear, NULL, NULL, &tool, &error);
  if (!failed) failed = trunkline_client_connect_memory(server, NULL, &client, &error);
  if (!failed) failed = trunkline_client_subscribe(client, WANTED, NULL, &changes, &error);
  note = "Call Ada.";
  if (!failed) failed = trunkline_server_resource_updated(server, TRUNKLINE_STR("notes://today"), &error);
  if (!failed) failed = trunkline_client_next_change(client, changes, NULL, &change, &error);
  if (!failed) failed = trunkline_client_read_resource(client, TRUNKLINE_STR("notes://today"), NULL, &result, &error);
  if (!failed) failed = trunkline_server_remove(server, tool, &error);
  if (!failed) failed = trunkline_client_next_change(client, changes, NULL, &other, &error);
  if (failed) {
    fprintf(stderr, "%s\n", trunkline_error_message(error));
  } else {
    print(change, "/kind", " ");
    print(change, "/uri", "\n");
    print(result, "/contents/0/text", "\n");
    print(other, "/kind", "\n");
  }
  trunkline_error_free(error);
  trunkline_text_free(change);
  trunkline_text_free(result);
  trunkline_text_free(other);
  trunkline_client_free(client);
  trunkline_server_free(server);
  return failed != 0;
}
