/* An agent skill: instructions served to clients, and a client that loads them. */
#include <stdio.h>
#include <string.h>

#include <trunkline.h>

/* Or {"folder": "skills/packing"}. */
#define SKILL                                                                                                    \
  TRUNKLINE_JSON_STR({                                                                                           \
    "files": [{                                                                                                  \
      "path": "SKILL.md",                                                                                        \
      "text": "---\nname: packing\ndescription: How to pack for a trip.\n---\nAsk for the forecast first.\n"     \
    }]                                                                                                           \
  })

static int print_skill(trunkline_client *client, trunkline_str skill, trunkline_error **error) {
  trunkline_text *name = NULL, *description = NULL, *manifest = NULL, *text = NULL;
  int failed = trunkline_json_get_text(skill, TRUNKLINE_STR("/frontmatter/name"), &name);
  if (!failed) failed = trunkline_json_get_text(skill, TRUNKLINE_STR("/frontmatter/description"), &description);
  if (!failed) failed = trunkline_client_load_skill(client, skill, NULL, &manifest, error);
  if (!failed) failed = trunkline_json_get_text(trunkline_text_str(manifest), TRUNKLINE_STR("/text"), &text);
  if (!failed) {
    const char *body = strstr(trunkline_text_str(text).data, "\n---\n");
    printf("%s: %s\n%s", trunkline_text_str(name).data, trunkline_text_str(description).data, body ? body + 5 : "");
  }
  trunkline_text_free(name);
  trunkline_text_free(description);
  trunkline_text_free(manifest);
  trunkline_text_free(text);
  return failed;
}

int main(void) {
  trunkline_server *server = NULL;
  trunkline_client *client = NULL;
  trunkline_text *skills = NULL;
  trunkline_str skill = {0};
  trunkline_error *error = NULL;
  int failed = trunkline_server_new(TRUNKLINE_STR("trips"), TRUNKLINE_STR("1.0.0"), &server, &error);
  if (!failed) failed = trunkline_server_add(server, TRUNKLINE_STR("skill"), SKILL, NULL, NULL, NULL, NULL, &error);
  if (!failed) failed = trunkline_client_connect_memory(server, NULL, &client, &error);
  if (!failed) failed = trunkline_client_list_skills(client, NULL, &skills, &error);
  if (!failed) failed = trunkline_json_get(trunkline_text_str(skills), TRUNKLINE_STR("/0"), &skill);
  if (!failed) failed = print_skill(client, skill, &error);
  if (failed) fprintf(stderr, "%s\n", error ? trunkline_error_message(error) : "there is no skill");
  trunkline_error_free(error);
  trunkline_text_free(skills);
  trunkline_client_free(client);
  trunkline_server_free(server);
  return failed != 0;
}
