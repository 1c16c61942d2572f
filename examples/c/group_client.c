/* Shows many servers and their tools: group_client [mcp.json]. By default those beside it. */
#include <stdio.h>

#include <trunkline.h>

#define BESIDE                                                                     \
  TRUNKLINE_JSON({"weather": ["./weather_server"], "hello": ["./hello_server"],    \
                  "broken": ["no-such-program"]})

int main(int count, char **arguments) {
  trunkline_str given = count > 1 ? trunkline_str_of(arguments[1]) : TRUNKLINE_STR(BESIDE);
  trunkline_client *group = NULL;
  trunkline_text *servers = NULL, *tools = NULL;
  trunkline_error *error = NULL;
  if (trunkline_client_connect_group(given, NULL, &group, &error) ||
      trunkline_client_servers(group, NULL, &servers, &error) ||
      trunkline_client_list_tools(group, NULL, &tools, &error) ||
      trunkline_client_close(group, 5000, &error))
    fprintf(stderr, "%s\n", trunkline_error_message(error));
  else
    printf("%s\n%s\n", trunkline_text_str(servers).data, trunkline_text_str(tools).data);
  int failed = error != NULL;
  trunkline_text_free(servers);
  trunkline_text_free(tools);
  trunkline_client_free(group);
  trunkline_error_free(error);
  return failed;
}
