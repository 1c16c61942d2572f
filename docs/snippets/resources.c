/* A resource, a resource template, and a client that reads both. */
#include <stdio.h>
#include <string.h>

#include <trunkline.h>

#define INDEX \
  TRUNKLINE_JSON_STR({"uri": "notes://index", "name": "index", "description": "The names of all notes.", \
                      "mimeType": "text/plain"})
#define NOTE \
  TRUNKLINE_JSON_STR({"uriTemplate": "notes://by-name/{name}", "name": "note", "description": "One note.", \
                      "mimeType": "text/plain"})

static void read_index(trunkline_call *call, void *user_data) {
  (void)user_data;
  trunkline_call_return_text(call, TRUNKLINE_STR("today, friday"));
}

static void read_note(trunkline_call *call, void *user_data) {
  const char *name = trunkline_call_text(call, TRUNKLINE_STR("/variables/name"), TRUNKLINE_STR("")).data;
  (void)user_data;
  if (strcmp(name, "friday") == 0)
    trunkline_call_return_text(call, TRUNKLINE_STR("Call Ada."));
  else if (strcmp(name, "today") == 0)
    trunkline_call_return_text(call, TRUNKLINE_STR("Buy milk."));
  else
    trunkline_call_return_json(call, TRUNKLINE_SHAPE_VALUE, TRUNKLINE_STR("null"), NULL); /* there is no such note */
}

/* Prints members of the first item of a list, and frees it. */
static void print_first(trunkline_text *list, const char *one, const char *other) {
  trunkline_text *first = NULL, *second = NULL;
  trunkline_json_get_text(trunkline_text_str(list), trunkline_str_of(one), &first);
  printf("%s", first ? trunkline_text_str(first).data : "");
  if (other && !trunkline_json_get_text(trunkline_text_str(list), trunkline_str_of(other), &second))
    printf(" %s", trunkline_text_str(second).data);
  printf("\n");
  trunkline_text_free(first);
  trunkline_text_free(second);
  trunkline_text_free(list);
}

int main(void) {
  trunkline_server *server = NULL;
  trunkline_client *client = NULL;
  trunkline_text *resources = NULL, *templates = NULL, *index = NULL, *friday = NULL;
  trunkline_error *error = NULL;
  int failed = trunkline_server_new(TRUNKLINE_STR("notes"), TRUNKLINE_STR("1.0.0"), &server, &error);
  if (!failed) failed = trunkline_server_add_resource(server, INDEX, read_index, NULL, NULL, &error);
  if (!failed) failed = trunkline_server_add_resource_template(server, NOTE, read_note, NULL, NULL, &error);
  if (!failed) failed = trunkline_client_connect_memory(server, NULL, &client, &error);
  if (!failed) failed = trunkline_client_list_resources(client, NULL, &resources, &error);
  if (!failed) failed = trunkline_client_list_resource_templates(client, NULL, &templates, &error);
  if (!failed) failed = trunkline_client_read_resource(client, TRUNKLINE_STR("notes://index"), NULL, &index, &error);
  if (!failed) failed = trunkline_client_read_resource(client, TRUNKLINE_STR("notes://by-name/friday"), NULL, &friday,
                                                       &error);
  print_first(resources, "/0/uri", "/0/mimeType");
  print_first(templates, "/0/uriTemplate", NULL);
  print_first(index, "/contents/0/text", NULL);
  print_first(friday, "/contents/0/text", NULL);
  if (!failed && trunkline_client_read_resource(client, TRUNKLINE_STR("notes://by-name/monday"), NULL, &friday, &error))
    printf("%s %d\n", trunkline_result_name(trunkline_error_kind(error)), (int)trunkline_error_code(error));
  else
    fprintf(stderr, "%s\n", error ? trunkline_error_message(error) : "A note for Monday exists");
  trunkline_error_free(error);
  trunkline_client_free(client);
  trunkline_server_free(server);
  return failed != 0;
}
