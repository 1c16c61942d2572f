/* Shared by all scenarios: checks that report their location, and the usual servers and clients. */
#ifndef TEST_CHECK_H
#define TEST_CHECK_H

#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif

/* The C library of Windows warns of getenv and strcpy otherwise. */
#define _CRT_SECURE_NO_WARNINGS

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <trunkline.h>

#include "thread.h"

#define S(literal) TRUNKLINE_STR(literal)
#define NOTHING TRUNKLINE_STR("")

#define CHECK(condition)                                                      \
  do {                                                                        \
    if (!(condition)) {                                                       \
      fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
      exit(1);                                                                \
    }                                                                         \
  } while (0)

/* Times for what must end: a runner of the scenarios, such as valgrind, makes all of it slower. */
static unsigned long long patience_ms(unsigned long long milliseconds) {
  return getenv("TRUNKLINE_C_RUNNER") ? 20 * milliseconds : milliseconds;
}

/* Runs a function whose last argument is `&error` and expects success. */
#define OK(call)                                                                                             \
  do {                                                                                                       \
    trunkline_error *error = NULL;                                                                           \
    trunkline_result result_ = (call);                                                                       \
    if (result_ != TRUNKLINE_OK) {                                                                           \
      fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, error ? trunkline_error_message(error) : \
                                                                            trunkline_result_name(result_)); \
      exit(1);                                                                                               \
    }                                                                                                        \
    CHECK(error == NULL);                                                                                    \
  } while (0)

/* Runs a function whose last argument is `&error` and expects that failure; its message must
   contain `part`. */
#define FAILS(wanted, part, call)                                                                                \
  do {                                                                                                           \
    trunkline_error *error = NULL;                                                                               \
    trunkline_result result_ = (call);                                                                           \
    if (result_ != (wanted) || !error || !strstr(trunkline_error_message(error), part)) {                        \
      fprintf(stderr, "%s:%d: %s: %s: %s\n", __FILE__, __LINE__, #call, trunkline_result_name(result_),          \
              error ? trunkline_error_message(error) : "no error");                                              \
      exit(1);                                                                                                   \
    }                                                                                                            \
    CHECK(trunkline_error_kind(error) == (wanted));                                                              \
    trunkline_error_free(error);                                                                                 \
  } while (0)

static bool same(trunkline_str text, const char *wanted) {
  return text.len == strlen(wanted) && memcmp(text.data, wanted, text.len) == 0;
}

static bool contains(trunkline_str text, const char *part) {
  /* Text from the library ends with a NUL byte. */
  return strstr(text.data, part) != NULL;
}

/* Checks the string at a pointer of a result, and frees nothing. */
static void check_text(const trunkline_text *json, const char *pointer, const char *wanted) {
  trunkline_text *found = NULL;
  trunkline_result result =
      trunkline_json_get_text(trunkline_text_str(json), trunkline_str_of(pointer), &found);
  if (result != TRUNKLINE_OK || !same(trunkline_text_str(found), wanted)) {
    fprintf(stderr, "%s is not \"%s\" in %s\n", pointer, wanted, trunkline_text_str(json).data);
    exit(1);
  }
  trunkline_text_free(found);
}

static bool is_error(const trunkline_text *result) {
  bool flag = false;
  return trunkline_json_get_bool(trunkline_text_str(result), S("/isError"), &flag) == TRUNKLINE_OK && flag;
}

/* A destructor that counts. */
static void count_up(void *counter) { ++*(int *)counter; }

/* echo {message} */
#define ECHO                                                                                           \
  "{\"name\":\"echo\",\"description\":\"Says it again.\",\"inputSchema\":{\"type\":\"object\","         \
  "\"properties\":{\"message\":{\"type\":\"string\"}},\"required\":[\"message\"]}}"

static void echo(trunkline_call *call, void *user_data) {
  trunkline_text *message = NULL;
  (void)user_data;
  CHECK(trunkline_json_get_text(trunkline_call_arguments(call), S("/message"), &message) == TRUNKLINE_OK);
  CHECK(trunkline_call_return_text(call, trunkline_text_str(message)) == TRUNKLINE_OK);
  trunkline_text_free(message);
}

static trunkline_server *new_server(void) {
  trunkline_server *server = NULL;
  OK(trunkline_server_new(S("suite"), S("1.2.3"), &server, &error));
  OK(trunkline_server_add_tool(server, S(ECHO), echo, NULL, NULL, &error));
  return server;
}

static void add(trunkline_server *server, trunkline_str tool, trunkline_call_callback callback, void *user_data) {
  OK(trunkline_server_add_tool(server, tool, callback, user_data, NULL, &error));
}

static trunkline_client *in_memory(trunkline_server *server) {
  trunkline_client *client = NULL;
  OK(trunkline_client_connect_memory(server, NULL, &client, &error));
  return client;
}

static void check_echo(trunkline_client *client, const char *arguments, const char *wanted) {
  trunkline_text *result = NULL;
  OK(trunkline_client_call_tool(client, S("echo"), trunkline_str_of(arguments), NULL, &result, &error));
  CHECK(!is_error(result));
  check_text(result, "/content/0/text", wanted);
  trunkline_text_free(result);
}

#endif
