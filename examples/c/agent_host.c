/* A host in the terminal: agent_host mcp.json
 *
 * It connects to every server in the configuration, lists their features, and calls the tools that
 * the user names. Servers can ask the user in the terminal, and let the user log in with the
 * browser. */
#include <stdio.h>
#include <string.h>

#include <trunkline.h>

#define HELP                                                                                    \
  "NAME [JSON]          calls a tool, such as: weather__forecast {\"city\": \"Oslo\"}\n"       \
  "read URI             reads a resource\n"                                                     \
  "prompt NAME [JSON]   gets a prompt\n"

static trunkline_client *connect_to(const char *config, trunkline_error **error) {
  trunkline_client_options *options = NULL;
  trunkline_client *group = NULL;
  trunkline_str auth = TRUNKLINE_STR(TRUNKLINE_JSON({"clientName": "Agent host", "store": "file"}));
  if (!trunkline_client_options_new(&options, error) &&
      !trunkline_client_options_set_terminal_forms(options, true) &&
      !trunkline_client_options_set_auth(options, auth))
    trunkline_client_connect_group(trunkline_str_of(config), options, &group, error);
  trunkline_client_options_free(options);
  return group;
}

/* Prints a result as JSON, or the text of it at `pointer`, and frees it. */
static void print(trunkline_text *result, const char *pointer) {
  trunkline_text *text = NULL;
  if (pointer) trunkline_json_get_text(trunkline_text_str(result), trunkline_str_of(pointer), &text);
  if (result) puts(trunkline_text_str(text ? text : result).data);
  trunkline_text_free(text);
  trunkline_text_free(result);
}

static void show(trunkline_client *group, trunkline_error **error) {
  trunkline_text *servers = NULL, *tools = NULL, *resources = NULL, *prompts = NULL;
  if (!trunkline_client_servers(group, NULL, &servers, error) &&
      !trunkline_client_list_tools(group, NULL, &tools, error) &&
      !trunkline_client_list_resources(group, NULL, &resources, error))
    trunkline_client_list_prompts(group, NULL, &prompts, error);
  print(servers, NULL);
  print(tools, NULL);
  print(resources, NULL);
  print(prompts, NULL);
}

/* Cuts the first word off a line and returns the rest. */
static char *after_word(char *line) {
  char *rest = line + strcspn(line, " ");
  if (*rest) *rest++ = '\0';
  return rest + strspn(rest, " ");
}

static void run(trunkline_client *group, char *line, trunkline_error **error) {
  trunkline_text *result = NULL;
  char *rest = after_word(line);
  if (strcmp(line, "read") == 0) {
    trunkline_client_read_resource(group, trunkline_str_of(rest), NULL, &result, error);
    print(result, "/contents/0/text");
  } else if (strcmp(line, "prompt") == 0) {
    char *arguments = after_word(rest);
    trunkline_client_get_prompt(group, trunkline_str_of(rest), trunkline_str_of(arguments), NULL, &result, error);
    print(result, NULL);
  } else {
    trunkline_client_call_tool(group, trunkline_str_of(line), trunkline_str_of(rest), NULL, &result, error);
    print(result, "/content/0/text");
  }
}

int main(int count, char **arguments) {
  char line[4096];
  trunkline_error *error = NULL;
  trunkline_client *group = count > 1 ? connect_to(arguments[1], &error) : NULL;
  if (group) {
    show(group, &error);
    printf("%s", HELP);
  }
  /* The program uses the terminal only between calls; during calls, terminal_forms may. */
  while (group && printf("> ") && fflush(stdout) == 0 && fgets(line, sizeof line, stdin)) {
    line[strcspn(line, "\n")] = '\0';
    if (*line) run(group, line, &error);
    if (error) printf("error: %s\n", trunkline_error_message(error));
    trunkline_error_free(error);
    error = NULL;
  }
  if (group) trunkline_client_close(group, 5000, &error);
  if (error || !group) fprintf(stderr, "%s\n", error ? trunkline_error_message(error) : "usage: agent_host mcp.json");
  trunkline_error_free(error);
  trunkline_client_free(group);
  return group == NULL;
}
