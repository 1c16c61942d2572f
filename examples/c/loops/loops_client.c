/* Calls the servers in this folder, which run in different event loops.
 *
 * cc -std=c99 -o loops_client loops_client.c $(pkg-config --cflags --libs trunkline) */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <trunkline.h>

static int failed(const char *name, trunkline_error *error) {
  fprintf(stderr, "%s: %s\n", name, error ? trunkline_error_message(error) : "another answer was expected");
  trunkline_error_free(error);
  return 1;
}

/* Calls the tool a few times and closes the connection. */
static int call(const char *name, trunkline_client *client, const char *tool, const char *expected) {
  trunkline_error *error = NULL;
  int round;
  for (round = 0; round < 5; ++round) {
    trunkline_text *result = NULL, *text = NULL;
    int is_right;
    if (trunkline_client_call_tool(client, trunkline_str_of(tool), TRUNKLINE_STR("{}"), NULL, &result, &error))
      return failed(name, error);
    is_right = !trunkline_json_get_text(trunkline_text_str(result), TRUNKLINE_STR("/content/0/text"), &text) &&
               strcmp(trunkline_text_str(text).data, expected) == 0;
    trunkline_text_free(text);
    trunkline_text_free(result);
    if (!is_right) return failed(name, NULL);
  }
  if (trunkline_client_close(client, 5000, &error)) return failed(name, error);
  trunkline_client_free(client);
  printf("%s: %s\n", name, expected);
  return 0;
}

static int calls_process(const char *name) {
  trunkline_client *client = NULL;
  trunkline_error *error = NULL;
  trunkline_str command[1];
  command[0] = trunkline_str_of(name);
  if (trunkline_client_connect_child(command, 1, NULL, &client, &error)) return failed(name, error);
  return call(name, client, "tick", "tick");
}

static int calls_web_server(const char *name) {
  trunkline_client *client = NULL;
  trunkline_error *error = NULL;
  char url[100] = "";
  int output[2], status = 1;
  FILE *lines;
  pid_t process;
  if (pipe(output) || (process = fork()) < 0) return failed("fork", NULL);
  if (process == 0) {
    dup2(output[1], STDOUT_FILENO);
    close(output[0]);
    execl(name, name, (char *)NULL);
    _exit(127);
  }
  close(output[1]);
  lines = fdopen(output[0], "r");
  if (lines && fgets(url, sizeof url, lines)) {
    url[strcspn(url, "\n")] = '\0';
    if (trunkline_client_connect_http(trunkline_str_of(url), NULL, &client, &error))
      status = failed(name, error);
    else
      status = call(name, client, "whoami", "127.0.0.1");
  }
  if (lines) fclose(lines);
  kill(process, SIGTERM);
  if (waitpid(process, &output[0], 0) != process || output[0] != 0) status = failed(name, NULL);
  return status;
}

int main(void) {
  return calls_process("./poll_server") || calls_process("./glib_server") || calls_process("./uv_server") ||
         calls_web_server("./web_server");
}
