/* The bench's client in C. usage: client N INFLIGHT -- COMMAND... | client N INFLIGHT URL
 * 200 warm-up calls, READY, a line from stdin, N calls with INFLIGHT at a time, DONE; then it waits
 * until stdin is closed. With INFLIGHT `resource`, it reads a resource N times instead, without a
 * warm-up. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <trunkline.h>

#define S(literal) TRUNKLINE_STR(literal)
#define MAX_ARGUMENTS 64
#define WARMUP_CALLS 200
#define BLOB_LENGTH (16 * 1024 * 1024) /* characters of base64 in the resource */

static trunkline_client *client;
static long started, answered, wanted;

static void start_next(void);

static void fail(const char *what) {
  fprintf(stderr, "%s\n", what);
  exit(1);
}

static void check(trunkline_str result, long number) {
  trunkline_text *text = NULL;
  char expected[32];
  snprintf(expected, sizeof expected, "m%ld", number);
  if (trunkline_json_get_text(result, S("/content/0/text"), &text) || strcmp(trunkline_text_str(text).data, expected) != 0)
    fail("wrong text");
  trunkline_text_free(text);
}

static void on_answer(trunkline_result result, const trunkline_str *json, const trunkline_error *error, void *number) {
  if (result) fail(trunkline_error_message(error));
  check(*json, (long)(intptr_t)number);
  ++answered;
  if (started < wanted) start_next();
}

static void start_next(void) {
  char params[80];
  trunkline_error *error = NULL;
  long number = started++;
  snprintf(params, sizeof params, "{\"name\":\"echo\",\"arguments\":{\"message\":\"m%ld\"}}", number);
  if (trunkline_client_start(client, S(TRUNKLINE_METHOD_CALL_TOOL), trunkline_str_of(params), NULL, on_answer,
                             (void *)(intptr_t)number, NULL, NULL, &error))
    fail(trunkline_error_message(error));
}

static void run(long count, long in_flight) {
  trunkline_error *error = NULL;
  started = answered = 0;
  wanted = count;
  while (started < wanted && started < in_flight) start_next();
  while (answered < wanted)
    if (trunkline_dispatch(trunkline_client_port(client), TRUNKLINE_NO_TIMEOUT, NULL, &error))
      fail(trunkline_error_message(error));
}

static void read_resource(long count) {
  trunkline_error *error = NULL;
  while (count-- > 0) {
    trunkline_text *result = NULL, *blob = NULL;
    if (trunkline_client_read_resource(client, S("bench:blob"), NULL, &result, &error))
      fail(trunkline_error_message(error));
    if (trunkline_json_get_text(trunkline_text_str(result), S("/contents/0/blob"), &blob) ||
        trunkline_text_str(blob).len != BLOB_LENGTH)
      fail("wrong contents");
    trunkline_text_free(blob);
    trunkline_text_free(result);
  }
}

static void say(const char *word) {
  puts(word);
  fflush(stdout);
}

int main(int count, char **arguments) {
  trunkline_str command[MAX_ARGUMENTS];
  trunkline_error *error = NULL;
  char line[256];
  int index, reads;
  trunkline_result connected;
  if (count < 4 || count - 4 > MAX_ARGUMENTS || (strcmp(arguments[3], "--") == 0) != (count > 4))
    fail("usage: client N INFLIGHT -- COMMAND... | client N INFLIGHT URL");
  for (index = 4; index < count; ++index) command[index - 4] = trunkline_str_of(arguments[index]);
  if (count > 4)
    connected = trunkline_client_connect_child(command, (size_t)count - 4, NULL, &client, &error);
  else
    connected = trunkline_client_connect_http(trunkline_str_of(arguments[3]), NULL, &client, &error);
  if (connected) fail(trunkline_error_message(error));
  reads = strcmp(arguments[2], "resource") == 0;
  if (!reads) run(WARMUP_CALLS, 1);
  say("READY");
  if (!fgets(line, sizeof line, stdin)) return 1;
  if (reads)
    read_resource(atol(arguments[1]));
  else
    run(atol(arguments[1]), atol(arguments[2]));
  say("DONE");
  while (fgets(line, sizeof line, stdin)) {
  }
  trunkline_client_close(client, 1000, NULL);
  trunkline_client_free(client);
  return 0;
}
