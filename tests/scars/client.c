/* The client of the scars in C: client URL | COMMAND... | threads COUNT | copies PATH (README.md).
 * Its calls wait in threads. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <trunkline.h>

#define MAX_WORDS 64

/* In client_threads.c. */
void call_from_threads(long count);
/* In client_copies.c. */
void use_copies(const char *path);

typedef struct {
  trunkline_client *client;
  char number[16], tool[16], arguments[64];
} call;

static void *wait_for(void *data) {
  call *self = (call *)data;
  trunkline_text *answer = NULL;
  trunkline_error *error = NULL;
  trunkline_result result = trunkline_client_call_tool(self->client, trunkline_str_of(self->tool),
                                                       trunkline_str_of(self->arguments), NULL, &answer, &error);
  printf("%s %s\n", self->number, result ? trunkline_result_name(result) : "ok");
  trunkline_text_free(answer);
  trunkline_error_free(error);
  free(self);
  return NULL;
}

static void begin(trunkline_client *client, const char *line) {
  pthread_t thread;
  long ms = 0;
  call *self = (call *)calloc(1, sizeof *self);
  if (!self || sscanf(line, "call %15s %ld %15s", self->number, &ms, self->tool) < 2) abort();
  if (!self->tool[0]) strcpy(self->tool, "slow");
  self->client = client;
  snprintf(self->arguments, sizeof self->arguments, "{\"ms\": %ld}", ms);
  if (pthread_create(&thread, NULL, wait_for, self)) abort();
  pthread_detach(thread);
}

static void list(trunkline_client *client) {
  trunkline_text *tools = NULL;
  if (trunkline_client_list_tools(client, NULL, &tools, NULL)) abort();
  trunkline_text_free(tools);
  puts("listed tools");
}

static trunkline_client *connect_to(int count, char **words) {
  trunkline_str command[MAX_WORDS];
  const char *timeout = getenv("TIMEOUT_MS"), *revision = getenv("REVISION");
  trunkline_client_options *options = NULL;
  trunkline_client *client = NULL;
  trunkline_error *error = NULL;
  int index;
  if (trunkline_client_options_new(&options, &error) ||
      trunkline_client_options_set_timeout_ms(options, timeout ? strtoull(timeout, NULL, 10) : 60000) ||
      trunkline_client_options_set_revision(options, trunkline_str_of(revision ? revision : "auto"))) {
    abort();
  }
  for (index = 0; index < count && index < MAX_WORDS; ++index) command[index] = trunkline_str_of(words[index]);
  if (count == 1 ? trunkline_client_connect_http(command[0], options, &client, &error)
                 : trunkline_client_connect_child(command, (size_t)count, options, &client, &error)) {
    fprintf(stderr, "%s\n", trunkline_error_message(error));
    exit(1);
  }
  trunkline_client_options_free(options);
  puts("ready");
  return client;
}

int main(int count, char **arguments) {
  trunkline_client *client;
  char line[128];
  setvbuf(stdout, NULL, _IOLBF, 0);
  if (count == 3 && strcmp(arguments[1], "threads") == 0) {
    call_from_threads(atol(arguments[2]));
    return 0;
  }
  if (count == 3 && strcmp(arguments[1], "copies") == 0) {
    use_copies(arguments[2]);
    return 0;
  }
  client = connect_to(count - 1, arguments + 1);
  while (fgets(line, sizeof line, stdin)) {
    if (strncmp(line, "call ", 5) == 0) {
      begin(client, line);
    } else if (strcmp(line, "list\n") == 0) {
      list(client);
    } else if (strcmp(line, "reconnect\n") == 0) {
      client = connect_to(count - 1, arguments + 1);
    } else {
      if (strcmp(line, "close\n") == 0) trunkline_client_close(client, 5000, NULL);
      return 0;
    }
  }
  return 0;
}
