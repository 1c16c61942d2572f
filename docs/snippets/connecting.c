/* A client for an entry of a configuration file: it starts the server and negotiates a revision. */
#include <stdio.h>

#include <trunkline.h>

#define ENTRY TRUNKLINE_JSON_STR({"command": "./tutorial_server"})

static void print_text(trunkline_str json, const char *pointer, const char *end) {
  trunkline_text *text = NULL;
  trunkline_json_get_text(json, trunkline_str_of(pointer), &text);
  printf("%s%s", trunkline_text_str(text).data, end);
  trunkline_text_free(text);
}

static void print_capabilities(trunkline_str info) {
  static const char *const names[] = {"completions", "logging", "prompts", "resources", "tools"};
  const char *comma = "";
  for (size_t index = 0; index < sizeof names / sizeof *names; ++index) {
    trunkline_str capability = {0};
    char pointer[50];
    snprintf(pointer, sizeof pointer, "/capabilities/%s", names[index]);
    if (trunkline_json_get(info, trunkline_str_of(pointer), &capability)) continue;
    printf("%s%s", comma, names[index]);
    comma = ", ";
  }
  printf("\n");
}

int main(void) {
  trunkline_client_options *options = NULL;
  trunkline_client *client = NULL;
  trunkline_text *info = NULL;
  trunkline_error *error = NULL;
  int failed = trunkline_client_options_new(&options, &error);
  if (!failed) failed = trunkline_client_options_set_timeout_ms(options, 10000);
  if (!failed) failed = trunkline_client_connect_config(ENTRY, options, &client, &error);
  if (!failed) failed = trunkline_client_info(client, &info, &error);
  if (failed) {
    fprintf(stderr, "%s\n", trunkline_error_message(error));
  } else {
    print_text(trunkline_text_str(info), "/serverInfo/name", " ");
    print_text(trunkline_text_str(info), "/serverInfo/version", "\n");
    print_text(trunkline_text_str(info), "/revision", "\n");
    print_capabilities(trunkline_text_str(info));
    print_text(trunkline_text_str(info), "/instructions", "\n");
    failed = trunkline_client_close(client, 5000, &error);
  }
  trunkline_error_free(error);
  trunkline_text_free(info);
  trunkline_client_free(client);
  trunkline_client_options_free(options);
  return failed != 0;
}
