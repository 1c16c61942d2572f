/* Notes that a model can write and read. Serves stdio; given a port, HTTP. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <trunkline.h>

#define ADD_NOTE                                                                          \
  TRUNKLINE_JSON_STR({                                                                    \
    "name": "add_note",                                                                   \
    "description": "Save a note under a name.",                                           \
    "inputSchema": {                                                                      \
      "type": "object",                                                                   \
      "properties": {                                                                     \
        "name": {"type": "string", "description": "A single word, such as groceries."},   \
        "text": {"type": "string", "description": "The note."}                            \
      },                                                                                  \
      "required": ["name", "text"]                                                        \
    }                                                                                     \
  })
#define ALL_NOTES \
  TRUNKLINE_JSON_STR({"uri": "notes://all", "name": "all", "description": "All notes.", "mimeType": "text/markdown"})
#define PLAN \
  TRUNKLINE_JSON_STR({"name": "plan", "description": "Plan a day with the notes.", \
                      "arguments": [{"name": "day", "required": true}]})

/* Callbacks of one server never run at the same time, so they need no lock. */
static struct {
  char name[50], text[500];
} notes[20];
static size_t count;
static trunkline_server *server;

static void add_note(trunkline_call *call, void *user_data) {
  const char *name = trunkline_call_text(call, TRUNKLINE_STR("/name"), TRUNKLINE_STR("")).data;
  const char *text = trunkline_call_text(call, TRUNKLINE_STR("/text"), TRUNKLINE_STR("")).data;
  (void)user_data;
  /* Cut off, it might end within a character, and would no longer be UTF-8. */
  if (strlen(name) >= sizeof notes[0].name || strlen(text) >= sizeof notes[0].text) {
    trunkline_call_fail_tool(call, TRUNKLINE_STR("A name has at most 49 bytes, and a text 499."));
    return;
  }
  for (size_t index = 0; index < count; ++index) {
    char message[200];
    if (strcmp(notes[index].name, name) != 0) continue;
    snprintf(message, sizeof message, "A note named %s already exists: choose another name.", name);
    trunkline_call_fail_tool(call, trunkline_str_of(message));
    return;
  }
  if (count == sizeof notes / sizeof *notes) {
    trunkline_call_fail_tool(call, TRUNKLINE_STR("There are too many notes."));
    return;
  }
  snprintf(notes[count].name, sizeof notes[count].name, "%s", name);
  snprintf(notes[count++].text, sizeof notes[0].text, "%s", text);
  trunkline_server_resource_updated(server, TRUNKLINE_STR("notes://all"), NULL);
  trunkline_call_return_textf(call, "Saved %s.", name);
}

static void all_notes(trunkline_call *call, void *user_data) {
  char text[sizeof notes + 100] = "";
  size_t length = 0;
  (void)user_data;
  for (size_t index = 0; index < count; ++index)
    length += (size_t)snprintf(text + length, sizeof text - length, "%s- %s: %s", index ? "\n" : "", notes[index].name,
                               notes[index].text);
  trunkline_call_return_text(call, trunkline_str_of(text));
}

static void plan(trunkline_call *call, void *user_data) {
  (void)user_data;
  trunkline_call_return_textf(call, "Read notes://all and plan %s accordingly.",
                              trunkline_call_text(call, TRUNKLINE_STR("/day"), TRUNKLINE_STR("")).data);
}

static trunkline_result serve_http(unsigned short port, trunkline_error **error) {
  trunkline_http_options *options = NULL;
  trunkline_listener *listener = NULL;
  trunkline_result result = trunkline_http_options_new(&options, error);
  if (!result) {
    trunkline_http_options_set_port(options, port);
    result = trunkline_server_listen_http(server, options, &listener, error);
  }
  if (!result) {
    printf("%s\n", trunkline_listener_url(listener).data);
    fflush(stdout);
    result = trunkline_server_run(server, error);
  }
  trunkline_http_options_free(options);
  trunkline_listener_free(listener);
  return result;
}

static trunkline_result create(trunkline_error **error) {
  trunkline_server_options *options = NULL;
  trunkline_result result = trunkline_server_options_new(&options, error);
  if (!result) {
    /* Setters need no check: the function that uses the options reports the first invalid one. */
    trunkline_server_options_set_instructions(options, TRUNKLINE_STR("Keeps short notes for the user."));
    result = trunkline_server_new_with(TRUNKLINE_STR("notes"), TRUNKLINE_STR("1.0.0"), options, &server, error);
  }
  if (!result) result = trunkline_server_add_tool(server, ADD_NOTE, add_note, NULL, NULL, error);
  if (!result) result = trunkline_server_add_resource(server, ALL_NOTES, all_notes, NULL, NULL, error);
  if (!result) result = trunkline_server_add_prompt(server, PLAN, plan, NULL, NULL, error);
  trunkline_server_options_free(options);
  return result;
}

int main(int words, char **arguments) {
  trunkline_error *error = NULL;
  trunkline_result result = create(&error);
  if (!result)
    result = words > 1 ? serve_http((unsigned short)atoi(arguments[1]), &error)
                       : trunkline_server_serve_stdio(server, &error);
  if (result) fprintf(stderr, "%s\n", trunkline_error_message(error));
  trunkline_error_free(error);
  trunkline_server_free(server);
  return result != TRUNKLINE_OK;
}
