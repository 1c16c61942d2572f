/* The C interface from a C program's side. usage: suite SCENARIO; `suite --list` prints the
   scenarios. */
#include "check.h"

#include <signal.h>
#include <time.h>
#ifndef _WIN32
#include <errno.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

static const char *program;

/* ---- values ---- */

static void names_and_version(void) {
  trunkline_text *copy = NULL;
  int major = -1, minor = -1, patch = -1;
  static const trunkline_str text = TRUNKLINE_STR_INIT("static");
  CHECK(same(trunkline_version(), TRUNKLINE_EXPECTED_VERSION));
  CHECK(same(trunkline_version(), TRUNKLINE_VERSION));
  CHECK(sscanf(TRUNKLINE_VERSION, "%d.%d.%d", &major, &minor, &patch) == 3);
  CHECK(major == TRUNKLINE_VERSION_MAJOR && minor == TRUNKLINE_VERSION_MINOR && patch == TRUNKLINE_VERSION_PATCH);
#if TRUNKLINE_VERSION_NUMBER < 0x000100 || TRUNKLINE_VERSION_NUMBER >= 0x640000
#error "the preprocessor does not read the version"
#endif
  /* `true` and `false` stay names, although they are macros before C23. */
  CHECK(same(TRUNKLINE_JSON_STR({"a": [true, false], "b": "c, d"}), "{\"a\": [true, false], \"b\": \"c, d\"}"));
  CHECK(same(text, "static"));
  CHECK(same(S("literal"), "literal"));
  CHECK(same(trunkline_str_of("plain"), "plain"));
  CHECK(trunkline_str_of(NULL).len == 0);
  CHECK(strcmp(trunkline_result_name(TRUNKLINE_TIMEOUT), "timeout") == 0);
  CHECK(strcmp(trunkline_result_name((trunkline_result)12345), "unknown") == 0);
  /* Numbers are never reused. */
  CHECK(TRUNKLINE_OK == 0 && TRUNKLINE_PROTOCOL == 1 && TRUNKLINE_TIMEOUT == 2 && TRUNKLINE_CANCELLED == 3);
  CHECK(TRUNKLINE_CLOSED == 4 && TRUNKLINE_TRANSPORT == 5 && TRUNKLINE_VERSION_MISMATCH == 6 && TRUNKLINE_INVALID_ARGUMENT == 7);
  CHECK(TRUNKLINE_BUSY == 8 && TRUNKLINE_BLOCKING == 9 && TRUNKLINE_FORKED == 10 && TRUNKLINE_INTERNAL == 11);
  CHECK(TRUNKLINE_SUSPENDED == 12 && TRUNKLINE_INPUT_REQUIRED == 13);
  CHECK(TRUNKLINE_NULL == 100 && TRUNKLINE_PANIC == 101 && TRUNKLINE_DONE == 102 && TRUNKLINE_NOT_FOUND == 103);
  CHECK(TRUNKLINE_TOOL_FAILED == 104);
  CHECK(trunkline_text_copy(S("a copy\0 ?"), &copy) == TRUNKLINE_OK);
  CHECK(trunkline_text_str(copy).len == 9 && memcmp(trunkline_text_str(copy).data, "a copy\0 ?", 10) == 0);
  trunkline_text_free(copy);
  CHECK(trunkline_text_copy(S("x"), NULL) == TRUNKLINE_NULL && trunkline_text_copy(S("\xff"), &copy) == TRUNKLINE_INVALID_ARGUMENT);
}

/* The time of the processor for all of an array of sevens. */
static double time_of_walk(size_t length) {
  trunkline_str json, value;
  size_t cursor = 0, count;
  char *list = (char *)malloc(length * 2 + 3), *end = list;
  clock_t begin;
  for (*end++ = '[', count = 0; count < length; ++count) *end++ = '7', *end++ = ',';
  end[-1] = ']', *end = 0;
  json = trunkline_str_of(list);
  begin = clock();
  for (count = 0; trunkline_json_next(json, &cursor, NULL, &value) == TRUNKLINE_OK; ++count) CHECK(same(value, "7"));
  begin = clock() - begin;
  CHECK(count == length && cursor < json.len);
  CHECK(trunkline_json_get_count(json, NOTHING, &count) == TRUNKLINE_OK && count == length);
  free(list);
  return (double)begin;
}

static void walk_json(void) {
  trunkline_str key, value, json = S(" { \"a\" : [1, {\"x\": \",]\"}] ,\"b\\\"\":null } ");
  trunkline_json_kind kind;
  size_t cursor = 0, count = 0;
  int64_t whole = 0;
  CHECK(trunkline_json_next(json, &cursor, &key, &value) == TRUNKLINE_OK && same(key, "a") && same(value, "[1, {\"x\": \",]\"}]"));
  CHECK(trunkline_json_next(json, &cursor, &key, &value) == TRUNKLINE_OK && same(key, "b\\\"") && same(value, "null"));
  CHECK(trunkline_json_next(json, &cursor, &key, &value) == TRUNKLINE_NOT_FOUND);
  CHECK(trunkline_json_next(json, &cursor, &key, &value) == TRUNKLINE_NOT_FOUND);
  for (cursor = 0; trunkline_json_next(S("[]"), &cursor, NULL, &value) == TRUNKLINE_OK;) CHECK(false);
  cursor = 0;
  CHECK(trunkline_json_next(S("3"), &cursor, NULL, &value) == TRUNKLINE_INVALID_ARGUMENT);
  CHECK(trunkline_json_next(S("[1 2]"), &cursor, NULL, &value) == TRUNKLINE_INVALID_ARGUMENT);
  CHECK(trunkline_json_next(S("[1,]"), &cursor, NULL, &value) == TRUNKLINE_INVALID_ARGUMENT);
  CHECK(trunkline_json_next(S("{1: 2}"), &cursor, NULL, &value) == TRUNKLINE_INVALID_ARGUMENT);
  CHECK(trunkline_json_next(S("[1"), &cursor, NULL, &value) == TRUNKLINE_INVALID_ARGUMENT);
  CHECK(trunkline_json_next(S("[1]"), NULL, NULL, &value) == TRUNKLINE_NULL);
  cursor = 1000;
  CHECK(trunkline_json_next(S("[1]"), &cursor, NULL, &value) == TRUNKLINE_INVALID_ARGUMENT);

  /* Walking is linear: sixteen times the length takes about sixteen times the time, not 256. */
  CHECK(time_of_walk(64000) < 40 * (time_of_walk(4000) + 1));

  json = S("[3.0, -2e3, 9007199254740993.0, 1e300, \"3.0\", 9223372036854775808]");
  CHECK(trunkline_json_get_int64(json, S("/0"), &whole) == TRUNKLINE_OK && whole == 3);
  CHECK(trunkline_json_get_int64(json, S("/1"), &whole) == TRUNKLINE_OK && whole == -2000);
  CHECK(trunkline_json_get_int64(S("-0.0"), NOTHING, &whole) == TRUNKLINE_OK && whole == 0);
  for (cursor = 0; cursor < 4; ++cursor) {
    char pointer[3] = {'/', (char)('2' + cursor), '\0'};
    CHECK(trunkline_json_get_int64(json, trunkline_str_of(pointer), &whole) == TRUNKLINE_NOT_FOUND);
  }
  json = S("{\"n\": 9007199254740993, \"f\": 1.5, \"o\": {\"a\": 1, \"b\": 2}, \"s\": \"\", \"t\": true, \"z\": null, \"l\": []}");
  CHECK(trunkline_json_get_int64(json, S("/n"), &whole) == TRUNKLINE_OK && whole == 9007199254740993);
  CHECK(trunkline_json_get_int64(json, S("/f"), &whole) == TRUNKLINE_NOT_FOUND);
  CHECK(trunkline_json_get_count(json, S("/o"), &count) == TRUNKLINE_OK && count == 2);
  CHECK(trunkline_json_get_count(json, S("/n"), &count) == TRUNKLINE_INVALID_ARGUMENT);
  CHECK(trunkline_json_get_kind(json, S("/n"), &kind) == TRUNKLINE_OK && kind == TRUNKLINE_JSON_NUMBER);
  CHECK(trunkline_json_get_kind(json, S("/o"), &kind) == TRUNKLINE_OK && kind == TRUNKLINE_JSON_OBJECT);
  CHECK(trunkline_json_get_kind(json, S("/s"), &kind) == TRUNKLINE_OK && kind == TRUNKLINE_JSON_STRING);
  CHECK(trunkline_json_get_kind(json, S("/t"), &kind) == TRUNKLINE_OK && kind == TRUNKLINE_JSON_BOOL);
  CHECK(trunkline_json_get_kind(json, S("/z"), &kind) == TRUNKLINE_OK && kind == TRUNKLINE_JSON_NULL);
  CHECK(trunkline_json_get_kind(json, S("/l"), &kind) == TRUNKLINE_OK && kind == TRUNKLINE_JSON_ARRAY);
  CHECK(trunkline_json_get_kind(json, S("/x"), &kind) == TRUNKLINE_NOT_FOUND);
}

static void json_helpers(void) {
  trunkline_str json = S("{\"a\":{\"b/c\":[1,2.5,\"x\\ny\"],\"t~\":true},\"n\":null}");
  trunkline_str slice = NOTHING;
  trunkline_text *text = NULL;
  double number = 0;
  bool flag = false;
  CHECK(trunkline_json_get(json, S("/a/b~1c"), &slice) == TRUNKLINE_OK && same(slice, "[1,2.5,\"x\\ny\"]"));
  CHECK(trunkline_json_get(json, NOTHING, &slice) == TRUNKLINE_OK && slice.len == json.len);
  CHECK(trunkline_json_get(json, S("/n"), &slice) == TRUNKLINE_OK && same(slice, "null"));
  CHECK(trunkline_json_get_number(json, S("/a/b~1c/1"), &number) == TRUNKLINE_OK && number == 2.5);
  CHECK(trunkline_json_get_text(json, S("/a/b~1c/2"), &text) == TRUNKLINE_OK);
  CHECK(same(trunkline_text_str(text), "x\ny"));
  trunkline_text_free(text);
  CHECK(trunkline_json_get_bool(json, S("/a/t~0"), &flag) == TRUNKLINE_OK && flag);
  CHECK(trunkline_json_get(json, S("/a/b~1c/3"), &slice) == TRUNKLINE_NOT_FOUND);
  CHECK(trunkline_json_get(json, S("/a/x"), &slice) == TRUNKLINE_NOT_FOUND);
  CHECK(trunkline_json_get(json, S("/a/b~1c/00"), &slice) == TRUNKLINE_NOT_FOUND);
  CHECK(trunkline_json_get(json, S("/a/b~1c/+1"), &slice) == TRUNKLINE_NOT_FOUND);
  CHECK(trunkline_json_get(json, S("/n/x"), &slice) == TRUNKLINE_NOT_FOUND);
  CHECK(trunkline_json_get_number(json, S("/n"), &number) == TRUNKLINE_NOT_FOUND);
  CHECK(trunkline_json_get(json, S("a"), &slice) == TRUNKLINE_INVALID_ARGUMENT);
  /* Names with lone surrogates hide no other members; in pointers, such a surrogate is U+FFFD. */
  json = S("{\"\\ud800\":1,\"a\":{\"x\\udc00\":2,\"\\u0062\":3}}");
  CHECK(trunkline_json_get(json, S("/a/b"), &slice) == TRUNKLINE_OK && same(slice, "3"));
  CHECK(trunkline_json_get(json, S("/a/x\xEF\xBF\xBD"), &slice) == TRUNKLINE_OK && same(slice, "2"));
  CHECK(trunkline_json_get(S("{\"a\":"), S("/a"), &slice) == TRUNKLINE_INVALID_ARGUMENT);
  CHECK(trunkline_json_get(S("oops"), S("/a"), &slice) == TRUNKLINE_INVALID_ARGUMENT);
  CHECK(trunkline_json_get(S("oops"), NOTHING, &slice) == TRUNKLINE_INVALID_ARGUMENT);
  CHECK(trunkline_json_get(NOTHING, NOTHING, &slice) == TRUNKLINE_INVALID_ARGUMENT);
  CHECK(trunkline_json_get(S("{\"a\":1} oops"), S("/a"), &slice) == TRUNKLINE_INVALID_ARGUMENT);
  CHECK(trunkline_json_get(S("[1] 2"), NOTHING, &slice) == TRUNKLINE_INVALID_ARGUMENT);
  CHECK(trunkline_json_get(S(" [1]\n"), NOTHING, &slice) == TRUNKLINE_OK && slice.len == 3);
  CHECK(trunkline_json_get(S("[1,2,oops"), S("/0"), &slice) == TRUNKLINE_INVALID_ARGUMENT);
  CHECK(trunkline_json_get(S("{\"a\\\"\\u0062\":1}"), S("/a\"b"), &slice) == TRUNKLINE_OK && same(slice, "1"));
  walk_json();
  OK(trunkline_json_string(S("a \"b\"\n"), &text, &error));
  CHECK(same(trunkline_text_str(text), "\"a \\\"b\\\"\\n\""));
  trunkline_text_free(text);
}

static void null_arguments(void) {
  trunkline_server *server = NULL;
  trunkline_client *client = NULL;
  trunkline_text *text = NULL;
  trunkline_str missing = {NULL, 3}, endless = {"a", SIZE_MAX};
  trunkline_str value = S("untouched");
  int freed = 0;
  FAILS(TRUNKLINE_NULL, "server", trunkline_server_new(S("a"), S("1"), NULL, &error));
  FAILS(TRUNKLINE_NULL, "name", trunkline_server_new(missing, S("1"), &server, &error));
  CHECK(server == NULL);
  CHECK(trunkline_server_new(missing, S("1"), &server, NULL) == TRUNKLINE_NULL);
  FAILS(TRUNKLINE_NULL, "server", trunkline_server_add_tool(NULL, S(ECHO), echo, &freed, count_up, &error));
  CHECK(freed == 1);
  server = new_server();
  FAILS(TRUNKLINE_NULL, "callback", trunkline_server_add_tool(server, S(ECHO), NULL, &freed, count_up, &error));
  CHECK(freed == 2);
  FAILS(TRUNKLINE_NULL, "listener", trunkline_server_listen_http(server, NULL, NULL, &error));
  FAILS(TRUNKLINE_NULL, "server", trunkline_server_run(NULL, &error));
  FAILS(TRUNKLINE_NULL, "server", trunkline_client_connect_memory(NULL, NULL, &client, &error));
  FAILS(TRUNKLINE_NULL, "command", trunkline_client_connect_child(NULL, 1, NULL, &client, &error));
  FAILS(TRUNKLINE_INVALID_ARGUMENT, "command", trunkline_client_connect_child(&value, 0, NULL, &client, &error));
  FAILS(TRUNKLINE_INVALID_ARGUMENT, "length", trunkline_client_connect_child(&value, SIZE_MAX, NULL, &client, &error));
  FAILS(TRUNKLINE_INVALID_ARGUMENT, "`name`", trunkline_server_new(endless, S("1"), &server, &error));
  FAILS(TRUNKLINE_INVALID_ARGUMENT, "`data`", trunkline_json_base64("a", SIZE_MAX, &text, &error));
  FAILS(TRUNKLINE_NULL, "client", trunkline_client_call_tool(NULL, S("echo"), NOTHING, NULL, &text, &error));
  FAILS(TRUNKLINE_NULL, "client", trunkline_client_start(NULL, S("ping"), NOTHING, NULL, NULL, &freed, count_up,
                                                                 NULL, &error));
  CHECK(freed == 3);
  FAILS(TRUNKLINE_NULL, "port", trunkline_dispatch(NULL, 0, NULL, &error));
  CHECK(trunkline_json_get(S("1"), NOTHING, NULL) == TRUNKLINE_NULL);
  CHECK(trunkline_call_return_text(NULL, S("x")) == TRUNKLINE_NULL);
  CHECK(trunkline_call_fail(NULL, S("x")) == TRUNKLINE_NULL);
  CHECK(!trunkline_call_cancelled(NULL));
  CHECK(trunkline_call_retain(NULL) == NULL);
  CHECK(trunkline_call_arguments(NULL).len == 0);
  CHECK(trunkline_server_stop(NULL) == TRUNKLINE_NULL);
  CHECK(trunkline_server_port(NULL) == NULL && trunkline_client_port(NULL) == NULL);
  CHECK(trunkline_port_descriptor(NULL) == -1);
  CHECK(trunkline_listener_closed(NULL) && trunkline_client_closed(NULL));
  CHECK(trunkline_listener_url(NULL).len == 0 && trunkline_text_str(NULL).len == 0);
  CHECK(trunkline_error_kind(NULL) == TRUNKLINE_OK && trunkline_error_code(NULL) == 0);
  CHECK(strcmp(trunkline_error_message(NULL), "") == 0);
  CHECK(trunkline_error_json(NULL, &value) == TRUNKLINE_NULL && same(value, "untouched"));
  CHECK(client == NULL && text == NULL);
  trunkline_server_free(NULL);
  trunkline_client_free(NULL);
  trunkline_call_free(NULL);
  trunkline_error_free(NULL);
  trunkline_text_free(NULL);
  trunkline_listener_free(NULL);
  trunkline_port_free(NULL);
  trunkline_server_options_free(NULL);
  trunkline_client_options_free(NULL);
  trunkline_request_options_free(NULL);
  trunkline_tool_options_free(NULL);
  trunkline_http_options_free(NULL);
  trunkline_server_free(server);
}

static void wrong_arguments(void) {
  trunkline_server *server = new_server();
  trunkline_server_options *options = NULL;
  trunkline_http_options *http_options = NULL;
  trunkline_tool_options *tool_options = NULL;
  trunkline_client_options *client_options = NULL;
  trunkline_request_options *request_options = NULL;
  trunkline_client *client = in_memory(server), *other = NULL;
  trunkline_listener *listener = NULL;
  trunkline_text *text = NULL;
  trunkline_error *detail = NULL;
  trunkline_str json = NOTHING, kind = NOTHING;
  int freed = 0;
  trunkline_server *never = NULL;
  FAILS(TRUNKLINE_INVALID_ARGUMENT, "UTF-8", trunkline_server_new(S("\xff"), S("1"), &never, &error));
  CHECK(never == NULL);
  FAILS(TRUNKLINE_INVALID_ARGUMENT, "descriptor",
        trunkline_server_add_tool(server, S("{oops"), echo, &freed, count_up, &error));
  FAILS(TRUNKLINE_INVALID_ARGUMENT, "name", trunkline_server_add_tool(server, S("{}"), echo, &freed, count_up, &error));
  FAILS(TRUNKLINE_INVALID_ARGUMENT, "inputSchema",
        trunkline_server_add_tool(server, S("{\"name\":\"bad\",\"inputSchema\":{\"type\":\"objekt\"}}"), echo, &freed,
                                  count_up, &error));
  CHECK(freed == 3);
  FAILS(TRUNKLINE_NOT_FOUND, "nobody", trunkline_server_remove_tool(server, S("nobody"), &error));
  FAILS(TRUNKLINE_INVALID_ARGUMENT, "arguments", trunkline_client_call_tool(client, S("echo"), S("{oops"), NULL, &text, &error));
  FAILS(TRUNKLINE_INVALID_ARGUMENT, "arguments of \"echo\" must be an object", trunkline_client_call_tool(client, S("echo"), S("[1]"), NULL, &text, &error));
  FAILS(TRUNKLINE_INVALID_ARGUMENT, "must be an object", trunkline_client_get_prompt(client, S("echo"), S("3"), NULL, &text, &error));
  OK(trunkline_server_options_new(&options, &error));
  CHECK(trunkline_server_options_set_limit(options, (trunkline_limit)99, 1) == TRUNKLINE_INVALID_ARGUMENT);
  CHECK(strstr(trunkline_error_message(trunkline_last_error()), "trunkline_limit"));
  CHECK(trunkline_server_options_set_icons(options, S("[")) == TRUNKLINE_INVALID_ARGUMENT);
  CHECK(strstr(trunkline_error_message(trunkline_last_error()), "icons"));
  CHECK(trunkline_server_options_set_title(options, S("right")) == TRUNKLINE_OK);
  /* The first of them is reported where the options are used. */
  FAILS(TRUNKLINE_INVALID_ARGUMENT, "options: the argument `limit`", trunkline_server_new_with(S("a"), S("1"), options, &never, &error));
  CHECK(never == NULL);
  trunkline_server_options_free(options);
  OK(trunkline_http_options_new(&http_options, &error));
  CHECK(trunkline_http_options_set_auth(http_options, S("{oops")) == TRUNKLINE_INVALID_ARGUMENT);
  FAILS(TRUNKLINE_INVALID_ARGUMENT, "`auth`", trunkline_server_listen_http(server, http_options, &listener, &error));
  FAILS(TRUNKLINE_INVALID_ARGUMENT, "`auth`", trunkline_server_mount_http(server, http_options, &listener, &error));
  trunkline_http_options_free(http_options);
  OK(trunkline_tool_options_new(&tool_options, &error));
  CHECK(trunkline_tool_options_set_scopes(tool_options, S("[")) == TRUNKLINE_INVALID_ARGUMENT);
  FAILS(TRUNKLINE_INVALID_ARGUMENT, "`scopes`",
        trunkline_server_add_tool_with(server, S(ECHO), tool_options, echo, &freed, count_up, &error));
  CHECK(freed == 4);
  trunkline_tool_options_free(tool_options);
  OK(trunkline_client_options_new(&client_options, &error));
  CHECK(trunkline_client_options_set_revision(client_options, S("\xff")) == TRUNKLINE_INVALID_ARGUMENT);
  FAILS(TRUNKLINE_INVALID_ARGUMENT, "`revision`", trunkline_client_connect_memory(server, client_options, &other, &error));
  trunkline_client_options_free(client_options);
  OK(trunkline_request_options_new(&request_options, &error));
  CHECK(trunkline_request_options_set_key(request_options, S("\xff")) == TRUNKLINE_INVALID_ARGUMENT);
  FAILS(TRUNKLINE_INVALID_ARGUMENT, "`key`", trunkline_client_call_tool(client, S("echo"), S("{}"), request_options, &text, &error));
  trunkline_request_options_free(request_options);
  CHECK(other == NULL && listener == NULL && text == NULL);
  /* Functions called without an error parameter. */
  CHECK(trunkline_server_new(S("a"), S("1"), NULL, NULL) == TRUNKLINE_NULL);
  CHECK(trunkline_error_kind(trunkline_last_error()) == TRUNKLINE_NULL);
  CHECK(trunkline_json_get(S("{}"), S("/a"), &json) == TRUNKLINE_NOT_FOUND);
  CHECK(strstr(trunkline_error_message(trunkline_last_error()), "/a"));
  CHECK(trunkline_last_error() == trunkline_last_error());
  CHECK(trunkline_server_add_tool(server, S("{}"), echo, NULL, NULL, &detail) == TRUNKLINE_INVALID_ARGUMENT);
  CHECK(trunkline_error_json(detail, &json) == TRUNKLINE_OK);
  CHECK(trunkline_json_get(json, S("/kind"), &kind) == TRUNKLINE_OK && same(kind, "\"invalidArgument\""));
  trunkline_error_free(detail);
  trunkline_client_free(client);
  trunkline_server_free(server);
}

/* ---- calls in memory ---- */

static void read_values(trunkline_call *call, void *user_data) {
  trunkline_str text = trunkline_call_text(call, S("/text"), S("none")), missing = trunkline_call_text(call, S("/missing"), S("none"));
  CHECK(trunkline_call_return_textf(call, (const char *)user_data, 1) == TRUNKLINE_NULL);
  CHECK(strstr(trunkline_error_message(trunkline_last_error()), "`text`"));
  CHECK(trunkline_call_return_textf(call, "%s %s %g %g %lld %lld %d %d %500d", text.data, missing.data,
                                    trunkline_call_number(call, S("/number"), -1), trunkline_call_number(call, S("/text"), -1),
                                    (long long)trunkline_call_int64(call, S("/whole"), -1),
                                    (long long)trunkline_call_int64(call, S("/number"), -1), trunkline_call_bool(call, S("/truth"), false),
                                    trunkline_call_bool(call, S("/number"), true), 7) == TRUNKLINE_OK);
}

static void values_of_a_call(void) {
  trunkline_server *server = NULL;
  trunkline_client *client = NULL;
  trunkline_text *result = NULL;
  OK(trunkline_server_new(S("values"), S("1"), &server, &error));
  OK(trunkline_server_add_tool(server, S(TRUNKLINE_JSON({"name": "read", "inputSchema": {"type": "object"}})), read_values, NULL, NULL, &error));
  OK(trunkline_client_connect_memory(server, NULL, &client, &error));
  OK(trunkline_client_call_tool(client, S("read"), S("{\"text\": \"a \\\"b\\\" \\u00e9\", \"number\": 2.5, \"whole\": 9007199254740993, \"truth\": true}"), NULL,
                                &result, &error));
  CHECK(contains(trunkline_text_str(result), "a \\\"b\\\" \xc3\xa9 none 2.5 -1 9007199254740993 -1 1 1  "));
  CHECK(trunkline_text_str(result).len > 500);
  CHECK(trunkline_call_int64(NULL, S("/x"), 5) == 5);
  trunkline_text_free(result);
  trunkline_client_free(client);
  trunkline_server_free(server);
}

/* A client in memory ends with its server: its calls are refused, and not failures of tools. */
static void client_beyond_server(void) {
  trunkline_server *server = new_server();
  trunkline_client *client = NULL;
  trunkline_text *text = NULL;
  OK(trunkline_client_connect_memory(server, NULL, &client, &error));
  check_echo(client, "{\"message\":\"hello\"}", "hello");
  trunkline_server_free(server);
  FAILS(TRUNKLINE_CLOSED, "", trunkline_client_call_tool(client, S("echo"), S("{\"message\":\"x\"}"), NULL, &text, &error));
  while (!trunkline_client_closed(client)) OK(trunkline_dispatch(trunkline_client_port(client), 1000, NULL, &error));
  CHECK(text == NULL);
  trunkline_client_free(client);
}

/* A dispatch returns once the connection is established, although no callback runs. */
static void client_opened_in_background(void) {
  trunkline_server *server = new_server();
  trunkline_client *client = NULL;
  trunkline_client_options *options = NULL;
  OK(trunkline_client_options_new(&options, &error));
  CHECK(trunkline_client_options_set_background(options, true) == TRUNKLINE_OK);
  OK(trunkline_client_connect_memory(server, options, &client, &error));
  trunkline_client_options_free(options);
  uint64_t start = now_ms();
  while (!trunkline_client_opened(client)) OK(trunkline_dispatch(trunkline_client_port(client), 60000, NULL, &error));
  CHECK(now_ms() - start < 30000 && !trunkline_client_closed(client) && !trunkline_client_opened(NULL));
  check_echo(client, "{\"message\":\"hello\"}", "hello");
  trunkline_client_free(client);
  trunkline_server_free(server);
}

static void memory_call(void) {
  static const char *const revisions[] = {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"};
  trunkline_server *server = new_server();
  trunkline_text *text = NULL;
  size_t index;
  int pings;
  for (index = 0; index < sizeof revisions / sizeof *revisions; ++index) {
    trunkline_client_options *options = NULL;
    trunkline_client *client = NULL;
    OK(trunkline_client_options_new(&options, &error));
    CHECK(trunkline_client_options_set_revision(options, trunkline_str_of(revisions[index])) == TRUNKLINE_OK);
    CHECK(trunkline_client_options_set_info(options, S("suite-client"), S("9")) == TRUNKLINE_OK);
    OK(trunkline_client_connect_memory(server, options, &client, &error));
    trunkline_client_options_free(options);
    OK(trunkline_client_info(client, &text, &error));
    check_text(text, "/revision", revisions[index]);
    /* DISC-02: a pinned 2026-07-28 has no probe, and the server's name arrives a moment later. */
    for (pings = 0; pings < 1000 && !contains(trunkline_text_str(text), "serverInfo"); ++pings) {
      trunkline_text_free(text);
      OK(trunkline_client_ping(client, NULL, &error));
      OK(trunkline_client_info(client, &text, &error));
    }
    check_text(text, "/serverInfo/name", "suite");
    trunkline_text_free(text);
    OK(trunkline_client_list_tools(client, NULL, &text, &error));
    check_text(text, "/0/name", "echo");
    trunkline_text_free(text);
    check_echo(client, "{\"message\":\"h\\u00e9llo\"}", "h\xc3\xa9llo");
    OK(trunkline_client_close(client, 1000, &error));
    CHECK(trunkline_client_closed(client));
    trunkline_client_free(client);
  }
  trunkline_server_free(server);
}

#define PLAIN(name) "{\"name\":\"" name "\",\"description\":\"A tool of the suite.\",\"inputSchema\":{\"type\":\"object\"}}"

static void return_content(trunkline_call *call, void *user_data) {
  (void)user_data;
  FAILS(TRUNKLINE_INVALID_ARGUMENT, "", trunkline_call_return_json(call, TRUNKLINE_SHAPE_CONTENT, S("[oops"), &error));
  FAILS(TRUNKLINE_INVALID_ARGUMENT, "shape", trunkline_call_return_json(call, (trunkline_shape)77, S("{}"), &error));
  OK(trunkline_call_return_json(call, TRUNKLINE_SHAPE_CONTENT,
                                S("[{\"type\":\"text\",\"text\":\"one\"},{\"type\":\"text\",\"text\":\"two\"}]"), &error));
}

static void return_object(trunkline_call *call, void *user_data) {
  (void)user_data;
  OK(trunkline_call_return_json(call, TRUNKLINE_SHAPE_OBJECT, S("{\"degrees\":21.5}"), &error));
}

static void return_value(trunkline_call *call, void *user_data) {
  (void)user_data;
  OK(trunkline_call_return_json(call, TRUNKLINE_SHAPE_VALUE, S("[1,2]"), &error));
}

static void return_result(trunkline_call *call, void *user_data) {
  (void)user_data;
  OK(trunkline_call_return_result(call, S("{\"content\":[{\"type\":\"text\",\"text\":\"full\"}]}"), &error));
}

static void fail_tool(trunkline_call *call, void *user_data) {
  (void)user_data;
  CHECK(trunkline_call_fail_tool(call, S("no such city: K\xf6ln")) == TRUNKLINE_OK);
}

static void fail_invalid(trunkline_call *call, void *user_data) {
  (void)user_data;
  CHECK(trunkline_call_fail_invalid(call, S("/city"), S("is on no map")) == TRUNKLINE_OK);
}

static void fail_protocol(trunkline_call *call, void *user_data) {
  (void)user_data;
  OK(trunkline_call_fail_protocol(call, -32001, S("teapot"), S("{\"hot\":true}"), &error));
}

static void shapes_and_failures(void) {
  trunkline_server *server = new_server();
  trunkline_tool_options *options = NULL;
  trunkline_client *client;
  trunkline_text *result = NULL;
  trunkline_error *detail = NULL;
  trunkline_str json = NOTHING, hot = NOTHING;
  double number = 0;
  add(server, S(PLAIN("content")), return_content, NULL);
  add(server, S(PLAIN("result")), return_result, NULL);
  add(server, S(PLAIN("fail_tool")), fail_tool, NULL);
  add(server, S(PLAIN("fail_invalid")), fail_invalid, NULL);
  add(server, S(PLAIN("fail_protocol")), fail_protocol, NULL);
  add(server,
      S("{\"name\":\"object\",\"description\":\"An object.\",\"inputSchema\":{\"type\":\"object\"},\"outputSchema\":"
        "{\"type\":\"object\",\"properties\":{\"degrees\":{\"type\":\"number\"}},\"required\":[\"degrees\"]}}"),
      return_object, NULL);
  OK(trunkline_tool_options_new(&options, &error));
  CHECK(trunkline_tool_options_set_wrap_output(options, true) == TRUNKLINE_OK);
  OK(trunkline_server_add_tool_with(
      server,
      S("{\"name\":\"value\",\"description\":\"A list.\",\"inputSchema\":{\"type\":\"object\"},\"outputSchema\":"
        "{\"type\":\"object\",\"properties\":{\"result\":{\"type\":\"array\"}},\"required\":[\"result\"]}}"),
      options, return_value, NULL, NULL, &error));
  trunkline_tool_options_free(options);
  OK(trunkline_tool_options_new(&options, &error));
  CHECK(trunkline_tool_options_set_requires(options, S("{\"sampling\":{}}")) == TRUNKLINE_OK);
  OK(trunkline_server_add_tool_with(server, S(PLAIN("picky")), options, return_value, NULL, NULL, &error));
  trunkline_tool_options_free(options);

  client = in_memory(server);
  OK(trunkline_client_call_tool(client, S("content"), NOTHING, NULL, &result, &error));
  check_text(result, "/content/1/text", "two");
  trunkline_text_free(result);
  OK(trunkline_client_call_tool(client, S("result"), S("{}"), NULL, &result, &error));
  check_text(result, "/content/0/text", "full");
  trunkline_text_free(result);
  OK(trunkline_client_call_tool(client, S("object"), S("{}"), NULL, &result, &error));
  CHECK(trunkline_json_get_number(trunkline_text_str(result), S("/structuredContent/degrees"), &number) == TRUNKLINE_OK);
  CHECK(number == 21.5);
  trunkline_text_free(result);
  OK(trunkline_client_call_tool(client, S("value"), S("{}"), NULL, &result, &error));
  CHECK(trunkline_json_get_number(trunkline_text_str(result), S("/structuredContent/result/1"), &number) == TRUNKLINE_OK);
  CHECK(number == 2);
  trunkline_text_free(result);
  OK(trunkline_client_call_tool(client, S("fail_tool"), S("{}"), NULL, &result, &error));
  CHECK(is_error(result));
  check_text(result, "/content/0/text", "no such city: K\xef\xbf\xbdln");
  trunkline_text_free(result);
  FAILS(TRUNKLINE_TOOL_FAILED, "no such city: K\xef\xbf\xbdln", trunkline_client_call_text(client, S("fail_tool"), NOTHING, NULL, &result, &error));
  OK(trunkline_client_call_tool(client, S("fail_invalid"), S("{}"), NULL, &result, &error));
  CHECK(is_error(result) && contains(trunkline_text_str(result), "/city: is on no map"));
  trunkline_text_free(result);
  result = NULL;
  CHECK(trunkline_client_call_tool(client, S("fail_protocol"), S("{}"), NULL, &result, &detail) == TRUNKLINE_PROTOCOL);
  CHECK(result == NULL && trunkline_error_code(detail) == -32001);
  CHECK(strcmp(trunkline_error_message(detail), "teapot (-32001)") == 0);
  CHECK(trunkline_error_json(detail, &json) == TRUNKLINE_OK);
  CHECK(trunkline_json_get(json, S("/data/hot"), &hot) == TRUNKLINE_OK && same(hot, "true"));
  trunkline_error_free(detail);
  FAILS(TRUNKLINE_PROTOCOL, "", trunkline_client_call_tool(client, S("picky"), S("{}"), NULL, &result, &error));
  FAILS(TRUNKLINE_INVALID_ARGUMENT, "roots/list", trunkline_client_request(client, S("roots/list"), NOTHING, NULL, &result, &error));
  OK(trunkline_client_request(client, S(TRUNKLINE_METHOD_LIST_TOOLS), S("{}"), NULL, &result, &error));
  check_text(result, "/tools/0/name", "echo");
  trunkline_text_free(result);
  trunkline_client_free(client);
  trunkline_server_free(server);
}

static trunkline_call *kept;

static void keep(trunkline_call *call, void *user_data) {
  (void)user_data;
  kept = trunkline_call_retain(call);
}

static void answer_later(void *data) {
  trunkline_call *call = (trunkline_call *)data;
  sleep_ms(30);
  CHECK(contains(trunkline_call_arguments(call), "later"));
  CHECK(trunkline_call_return_text(call, S("at last")) == TRUNKLINE_OK);
  CHECK(trunkline_call_return_text(call, S("twice")) == TRUNKLINE_DONE);
  CHECK(trunkline_call_fail(call, S("thrice")) == TRUNKLINE_DONE);
  trunkline_call_free(call);
}

static thread_task later_task = {answer_later, NULL};
static thread later_thread;

static void start_thread(trunkline_call *call, void *user_data) {
  (void)user_data;
  later_task.data = trunkline_call_retain(call);
  thread_start(&later_thread, &later_task);
}

static void answered_later(void) {
  trunkline_server *server = new_server();
  trunkline_client *client = in_memory(server);
  trunkline_text *result = NULL;
  add(server, S(PLAIN("later")), start_thread, NULL);
  OK(trunkline_client_call_tool(client, S("later"), S("{\"say\":\"later\"}"), NULL, &result, &error));
  check_text(result, "/content/0/text", "at last");
  thread_join(later_thread);
  trunkline_text_free(result);
  trunkline_client_free(client);
  trunkline_server_free(server);
}

static void do_nothing(trunkline_call *call, void *user_data) {
  (void)call, (void)user_data;
}

static void see_log(const trunkline_str *level, const trunkline_str *target, const trunkline_str *message,
                    void *user_data) {
  (void)level, (void)target;
  if (contains(*message, "without a response")) ++*(int *)user_data;
}

static void see_record(const trunkline_str *record, void *user_data) {
  trunkline_text *event = NULL, *tool = NULL, *reason = NULL;
  if (!contains(*record, "without a response")) return;
  CHECK(trunkline_json_get_text(*record, S("/event"), &event) == TRUNKLINE_OK);
  CHECK(trunkline_json_get_text(*record, S("/fields/tool"), &tool) == TRUNKLINE_OK);
  CHECK(trunkline_json_get_text(*record, S("/fields/error"), &reason) == TRUNKLINE_OK);
  CHECK(strcmp(trunkline_text_str(tool).data, "nothing") == 0 && !contains(trunkline_text_str(event), "nothing"));
  trunkline_text_free(event);
  trunkline_text_free(tool);
  trunkline_text_free(reason);
  ++*(int *)user_data;
}

static void dropped_call(void) {
  trunkline_server *server = new_server();
  trunkline_client *client = in_memory(server);
  trunkline_text *result = NULL;
  int seen = 0;
  unsigned long long end = now_ms() + patience_ms(5000);
  CHECK(trunkline_port_on_log(trunkline_server_port(server), see_log, &seen, NULL) == TRUNKLINE_OK);
  add(server, S(PLAIN("nothing")), do_nothing, NULL);
  OK(trunkline_client_call_tool(client, S("nothing"), S("{}"), NULL, &result, &error));
  CHECK(is_error(result));
  CHECK(!contains(trunkline_text_str(result), "without a response"));
  trunkline_text_free(result);
  while (!seen && now_ms() < end) OK(trunkline_dispatch(trunkline_server_port(server), 100, NULL, &error));
  CHECK(seen == 1);
  CHECK(trunkline_port_on_log_record(trunkline_server_port(server), see_record, &seen, NULL) == TRUNKLINE_OK);
  OK(trunkline_client_call_tool(client, S("nothing"), S("{}"), NULL, &result, &error));
  trunkline_text_free(result);
  while (seen == 1 && now_ms() < end) OK(trunkline_dispatch(trunkline_server_port(server), 100, NULL, &error));
  CHECK(seen == 2);
  trunkline_client_free(client);
  trunkline_server_free(server);
}

static void destructors(void) {
  trunkline_server *server = new_server();
  trunkline_client *client = in_memory(server);
  trunkline_client_options *options = NULL;
  int removed = 0, freed = 0, held = 0, replaced = 0;
  uint64_t ticket = 0;
  OK(trunkline_server_add_tool(server, S(PLAIN("removed")), do_nothing, &removed, count_up, &error));
  OK(trunkline_server_add_tool(server, S(PLAIN("freed")), do_nothing, &freed, count_up, &error));
  OK(trunkline_server_add_tool(server, S(PLAIN("held")), keep, &held, count_up, &error));
  OK(trunkline_server_remove_tool(server, S("removed"), &error));
  CHECK(removed == 1 && freed == 0);
  OK(trunkline_client_start(client, S(TRUNKLINE_METHOD_CALL_TOOL), S("{\"name\":\"held\"}"), NULL, NULL, NULL, NULL, &ticket, &error));
  while (!kept) OK(trunkline_dispatch(trunkline_server_port(server), 1000, NULL, &error));
  OK(trunkline_server_remove_tool(server, S("held"), &error));
  CHECK(held == 0);
  CHECK(trunkline_call_on_cancel(kept, NULL, &replaced, count_up) == TRUNKLINE_NULL && replaced == 1);
  CHECK(trunkline_call_return_text(kept, S("done")) == TRUNKLINE_OK);
  trunkline_call_free(kept);
  CHECK(held == 1);
  OK(trunkline_client_options_new(&options, &error));
  CHECK(trunkline_client_options_on_notification(options, NULL, &replaced, count_up) == TRUNKLINE_NULL && replaced == 2);
  trunkline_client_options_free(options);
  CHECK(trunkline_port_on_log(trunkline_server_port(server), see_log, &replaced, count_up) == TRUNKLINE_OK);
  CHECK(trunkline_port_on_log(trunkline_server_port(server), NULL, NULL, NULL) == TRUNKLINE_OK && replaced == 3);
  trunkline_client_free(client);
  trunkline_server_free(server);
  CHECK(removed == 1 && freed == 1 && held == 1);
}

/* ---- inside callbacks ---- */

static int blocked_destructors;

static void call_back(trunkline_call *call, void *user_data) {
  trunkline_client **client = (trunkline_client **)user_data;
  trunkline_text *result = NULL;
  FAILS(TRUNKLINE_BLOCKING, "thread",
        trunkline_client_call_tool(*client, S("echo"), S("{\"message\":\"x\"}"), NULL, &result, &error));
  FAILS(TRUNKLINE_BLOCKING, "thread", trunkline_dispatch(trunkline_client_port(*client), 0, NULL, &error));
  FAILS(TRUNKLINE_BLOCKING, "thread", trunkline_client_close(*client, 0, &error));
  CHECK(result == NULL);
  OK(trunkline_client_start(*client, S(TRUNKLINE_METHOD_CALL_TOOL), S("{\"name\":\"echo\",\"arguments\":{\"message\":\"x\"}}"), NULL, NULL, NULL, NULL, NULL, &error));
  CHECK(trunkline_call_return_text(call, S("refused")) == TRUNKLINE_OK);
}

/* Runs where callbacks run. */
static void block_in_destructor(void *client) {
  FAILS(TRUNKLINE_BLOCKING, "thread", trunkline_dispatch(trunkline_client_port((trunkline_client *)client), 0, NULL, &error));
  ++blocked_destructors;
}

static void store_and_pass(trunkline_call *call, void *client) {
  CHECK(trunkline_call_set_var(call, S("client"), *(trunkline_client **)client, block_in_destructor) == TRUNKLINE_OK);
  OK(trunkline_call_next(call, NOTHING, NULL, NULL, NULL, &error));
}

static void blocking_is_refused(void) {
  trunkline_server *server = new_server();
  trunkline_client *client = in_memory(server);
  trunkline_text *result = NULL;
  add(server, S(PLAIN("call_back")), call_back, &client);
  OK(trunkline_client_call_tool(client, S("call_back"), S("{}"), NULL, &result, &error));
  check_text(result, "/content/0/text", "refused");
  trunkline_text_free(result);
  check_echo(client, "{\"message\":\"after\"}", "after");
  OK(trunkline_server_add(server, S("middleware"), S("{}"), store_and_pass, &client, NULL, NULL, &error));
  check_echo(client, "{\"message\":\"wrapped\"}", "wrapped");
  while (!blocked_destructors) OK(trunkline_dispatch(trunkline_client_port(client), 1000, NULL, &error));
  trunkline_client_free(client);
  trunkline_server_free(server);
}

/* ---- progress, cancellation, time ---- */

static void three_steps(trunkline_call *call, void *user_data) {
  int step;
  (void)user_data;
  for (step = 1; step <= 3; ++step) {
    CHECK(trunkline_call_progress(call, step, 3, S("working")) == TRUNKLINE_OK);
    sleep_ms(20);
  }
  CHECK(trunkline_call_return_text(call, S("done")) == TRUNKLINE_OK);
}

typedef struct {
  int count;
  double last;
  int freed;
} progress_seen;

static void see_progress(double progress, double total, const trunkline_str *message, void *user_data) {
  progress_seen *seen = (progress_seen *)user_data;
  CHECK(progress > seen->last && total == 3 && same(*message, "working"));
  seen->last = progress;
  ++seen->count;
}

static void free_progress(void *user_data) { ++((progress_seen *)user_data)->freed; }

typedef struct {
  int count;
  int freed;
  trunkline_result result;
  char text[1024];
} outcome;

static void see_outcome(trunkline_result result, const trunkline_str *json, const trunkline_error *error,
                        void *user_data) {
  outcome *seen = (outcome *)user_data;
  CHECK((result == TRUNKLINE_OK) == (error == NULL));
  CHECK(trunkline_error_kind(error) == result);
  ++seen->count;
  seen->result = result;
  snprintf(seen->text, sizeof seen->text, "%s", error ? trunkline_error_message(error) : json->data);
}

static void free_outcome(void *user_data) { ++((outcome *)user_data)->freed; }

/* Dispatches until a started request is answered. */
static void settle(trunkline_port *port, outcome *seen) {
  unsigned long long end = now_ms() + patience_ms(10000);
  while (!seen->count && now_ms() < end) OK(trunkline_dispatch(port, 1000, NULL, &error));
  CHECK(seen->count == 1 && seen->freed == 1);
}

static void progress(void) {
  trunkline_server *server = new_server();
  trunkline_client *client = in_memory(server);
  trunkline_request_options *options = NULL;
  progress_seen seen = {0, 0, 0};
  outcome end = {0, 0, TRUNKLINE_INTERNAL, ""};
  trunkline_text *result = NULL;
  add(server, S(PLAIN("steps")), three_steps, NULL);
  OK(trunkline_request_options_new(&options, &error));
  CHECK(trunkline_request_options_on_progress(options, see_progress, &seen, free_progress) == TRUNKLINE_OK);
  OK(trunkline_client_call_tool(client, S("steps"), S("{}"), options, &result, &error));
  CHECK(seen.count >= 1 && seen.last == 3);
  check_text(result, "/content/0/text", "done");
  trunkline_text_free(result);
  seen.count = 0;
  seen.last = 0;
  OK(trunkline_client_start(client, S(TRUNKLINE_METHOD_CALL_TOOL), S("{\"name\":\"steps\"}"), options, see_outcome, &end, free_outcome, NULL, &error));
  trunkline_request_options_free(options);
  CHECK(seen.freed == 0);
  settle(trunkline_client_port(client), &end);
  CHECK(end.result == TRUNKLINE_OK && seen.count >= 1 && seen.last == 3 && seen.freed == 1);
  trunkline_client_free(client);
  trunkline_server_free(server);
}

typedef struct {
  int count;
  int freed;
} cancel_seen;

static void see_cancel(const trunkline_str *reason, void *user_data) {
  (void)reason;
  ++((cancel_seen *)user_data)->count;
}

static void free_cancel(void *user_data) { ++((cancel_seen *)user_data)->freed; }

static void keep_and_watch(trunkline_call *call, void *user_data) {
  kept = trunkline_call_retain(call);
  CHECK(!trunkline_call_cancelled(call));
  CHECK(trunkline_call_on_cancel(call, see_cancel, user_data, free_cancel) == TRUNKLINE_OK);
}

static void cancellation(void) {
  trunkline_server *server = new_server();
  trunkline_client *client = in_memory(server);
  trunkline_port *port = trunkline_server_port(server);
  cancel_seen seen = {0, 0}, late = {0, 0};
  outcome end = {0, 0, TRUNKLINE_OK, ""};
  uint64_t ticket = 0;
  unsigned long long deadline = now_ms() + patience_ms(10000);
  add(server, S(PLAIN("wait")), keep_and_watch, &seen);
  OK(trunkline_client_start(client, S(TRUNKLINE_METHOD_CALL_TOOL), S("{\"name\":\"wait\"}"), NULL, see_outcome, &end, free_outcome, &ticket, &error));
  while (!kept && now_ms() < deadline) OK(trunkline_dispatch(port, 1000, NULL, &error));
  CHECK(kept && !trunkline_call_cancelled(kept));
  OK(trunkline_client_cancel(client, ticket, S("changed my mind"), &error));
  while ((!seen.count || !end.count) && now_ms() < deadline) OK(trunkline_dispatch(port, 1000, NULL, &error));
  CHECK(seen.count == 1 && end.count == 1 && end.freed == 1 && end.result == TRUNKLINE_CANCELLED);
  CHECK(trunkline_call_cancelled(kept));
  CHECK(trunkline_call_on_cancel(kept, see_cancel, &late, free_cancel) == TRUNKLINE_OK);
  CHECK(seen.freed == 1 && late.count == 0);
  while (!late.count && now_ms() < deadline) OK(trunkline_dispatch(port, 1000, NULL, &error));
  CHECK(late.count == 1 && seen.count == 1);
  CHECK(trunkline_call_return_text(kept, S("too late")) == TRUNKLINE_DONE);
  trunkline_call_free(kept);
  CHECK(late.freed == 1);
  OK(trunkline_client_cancel(client, ticket, NOTHING, &error));
  check_echo(client, "{\"message\":\"still here\"}", "still here");
  trunkline_client_free(client);
  trunkline_server_free(server);
}

static void timeouts(void) {
  trunkline_server *server = new_server();
  trunkline_client *client = in_memory(server);
  trunkline_request_options *options = NULL;
  trunkline_text *result = NULL;
  cancel_seen seen = {0, 0};
  add(server, S(PLAIN("keep")), keep, NULL);
  OK(trunkline_request_options_new(&options, &error));
  CHECK(trunkline_request_options_set_timeout_ms(options, 100) == TRUNKLINE_OK);
  FAILS(TRUNKLINE_TIMEOUT, "", trunkline_client_call_tool(client, S("keep"), S("{}"), options, &result, &error));
  trunkline_request_options_free(options);
  CHECK(result == NULL);
  trunkline_call_free(kept), kept = NULL;

  /* The timeout of a tool's calls: the caller gets a response, the handler is notified. */
  OK(trunkline_server_add(server, S("tool"), S(TRUNKLINE_JSON({"tool": {"name": "slow"}, "timeoutMs": 300})), keep_and_watch,
                          &seen, NULL, NULL, &error));
  OK(trunkline_client_call_tool(client, S("slow"), NOTHING, NULL, &result, &error));
  CHECK(is_error(result));
  check_text(result, "/content/0/text", "slow timed out after 300ms");
  trunkline_text_free(result);
  while (!seen.count) OK(trunkline_dispatch(trunkline_server_port(server), 1000, NULL, &error));
  CHECK(trunkline_call_cancelled(kept) && trunkline_call_return_text(kept, S("too late")) == TRUNKLINE_DONE);
  trunkline_call_free(kept);
  trunkline_client_free(client);
  trunkline_server_free(server);
}

static void closing(void) {
  trunkline_server *server = new_server();
  trunkline_client *client = in_memory(server);
  trunkline_text *result = NULL;
  outcome end = {0, 0, TRUNKLINE_OK, ""}, gone = {0, 0, TRUNKLINE_OK, ""};
  add(server, S(PLAIN("keep")), keep, NULL);
  OK(trunkline_client_start(client, S(TRUNKLINE_METHOD_CALL_TOOL), S("{\"name\":\"keep\"}"), NULL, see_outcome, &end, free_outcome, NULL, &error));
  while (!kept) OK(trunkline_dispatch(trunkline_client_port(client), 1000, NULL, &error));
  OK(trunkline_client_close(client, 0, &error));
  settle(trunkline_client_port(client), &end);
  CHECK(end.result == TRUNKLINE_CLOSED || end.result == TRUNKLINE_CANCELLED);
  OK(trunkline_client_close(client, 0, &error));
  CHECK(trunkline_client_closed(client));
  OK(trunkline_client_end(client, &error));
  FAILS(TRUNKLINE_CLOSED, "", trunkline_client_call_tool(client, S("echo"), S("{}"), NULL, &result, &error));
  trunkline_call_free(kept);
  kept = NULL;
  trunkline_client_free(client);
  client = in_memory(server);
  OK(trunkline_client_start(client, S(TRUNKLINE_METHOD_CALL_TOOL), S("{\"name\":\"keep\"}"), NULL, see_outcome, &gone, free_outcome, NULL, &error));
  trunkline_client_free(client);
  CHECK(gone.count == 0 && gone.freed == 1);
  trunkline_call_free(kept);
  trunkline_server_free(server);
}

/* ---- requests to the client of a call ---- */

/* Completes the call when its ping was answered; the call still exists although nothing retained
 * it. */
static void answer_with_outcome(trunkline_call *call, trunkline_result result, const trunkline_str *json,
                                const trunkline_error *error, void *user_data) {
  see_outcome(result, json, error, user_data);
  if (result != TRUNKLINE_OK) CHECK(result == TRUNKLINE_PROTOCOL && trunkline_error_code(error) == -32601);
  CHECK(trunkline_call_return_text(call, trunkline_str_of(trunkline_result_name(result))) == TRUNKLINE_OK);
}

static void ping_client(trunkline_call *call, void *user_data) {
  FAILS(TRUNKLINE_INVALID_ARGUMENT, "params",
        trunkline_call_start_request(call, S("ping"), S("{oops"), NULL, NULL, NULL, NULL, NULL, &error));
  OK(trunkline_call_start_request(call, S(TRUNKLINE_METHOD_PING), NOTHING, NULL, answer_with_outcome, user_data,
                                  free_outcome, NULL, &error));
}

static void never_answered(trunkline_call *call, trunkline_result result, const trunkline_str *json,
                           const trunkline_error *error, void *user_data) {
  (void)call;
  see_outcome(result, json, error, user_data);
}

static void ping_too_late(trunkline_call *call, void *user_data) {
  CHECK(trunkline_call_return_text(call, S("answered")) == TRUNKLINE_OK);
  CHECK(trunkline_call_cancelled(call));
  FAILS(TRUNKLINE_CLOSED, "the call has ended",
        trunkline_call_start_request(call, S("ping"), NOTHING, NULL, never_answered, user_data, free_outcome, NULL, &error));
}

static void requests_to_the_client(void) {
  static const char *const revisions[] = {"2024-11-05", "2025-11-25", "2026-07-28"};
  trunkline_server *server = new_server();
  outcome end = {0, 0, TRUNKLINE_INTERNAL, ""}, late = {0, 0, TRUNKLINE_INTERNAL, ""}, gone = {0, 0, TRUNKLINE_OK, ""};
  size_t index;
  add(server, S(PLAIN("ping_client")), ping_client, &end);
  add(server, S(PLAIN("ping_too_late")), ping_too_late, &late);
  add(server, S(PLAIN("keep")), keep, NULL);
  for (index = 0; index < sizeof revisions / sizeof *revisions; ++index) {
    bool modern = strcmp(revisions[index], "2026-07-28") == 0;
    trunkline_client_options *options = NULL;
    trunkline_client *client = NULL;
    trunkline_text *text = NULL;
    end.count = end.freed = late.freed = 0;
    OK(trunkline_client_options_new(&options, &error));
    CHECK(trunkline_client_options_set_revision(options, trunkline_str_of(revisions[index])) == TRUNKLINE_OK);
    OK(trunkline_client_connect_memory(server, options, &client, &error));
    trunkline_client_options_free(options);
    OK(trunkline_client_ping(client, NULL, &error));
    OK(trunkline_client_call_tool(client, S("ping_client"), S("{}"), NULL, &text, &error));
    check_text(text, "/content/0/text", modern ? "protocol" : "ok");
    CHECK(end.count == 1 && end.freed == 1);
    trunkline_text_free(text);
    OK(trunkline_client_call_tool(client, S("ping_too_late"), S("{}"), NULL, &text, &error));
    check_text(text, "/content/0/text", "answered");
    CHECK(late.count == 0 && late.freed == 1);
    trunkline_text_free(text);

    /* A call that outlives its client. */
    OK(trunkline_client_start(client, S(TRUNKLINE_METHOD_CALL_TOOL), S("{\"name\":\"keep\"}"), NULL, NULL, NULL, NULL, NULL, &error));
    while (!kept) OK(trunkline_dispatch(trunkline_server_port(server), 1000, NULL, &error));
    trunkline_client_free(client);
    while (!trunkline_call_cancelled(kept)) sleep_ms(5);
    gone.freed = 0;
    FAILS(TRUNKLINE_CLOSED, "closed",
          trunkline_call_start_request(kept, S("ping"), NOTHING, NULL, never_answered, &gone, free_outcome, NULL, &error));
    CHECK(gone.count == 0 && gone.freed == 1);
    trunkline_call_free(kept);
    kept = NULL;
  }
  trunkline_server_free(server);
}

#include "suite_features.c"

#include "suite_client_requests.c"
#include "suite_credentials.c"

/* ---- stdio and HTTP ---- */

static void serve_stdio(void) {
  trunkline_server *server = new_server();
  if (getenv("SUITE_TOOL")) add(server, trunkline_str_of(getenv("SUITE_TOOL")), fail_tool, NULL);
  OK(trunkline_server_serve_stdio(server, &error));
  trunkline_server_free(server);
}

static void die(trunkline_call *call, void *user_data) {
  (void)call, (void)user_data;
  fprintf(stderr, "my very last words\n");
  exit(3);
}

static void die_later(void) {
  trunkline_server *server = new_server();
  add(server, S(PLAIN("die")), die, NULL);
  OK(trunkline_server_serve_stdio(server, &error));
}

static void stdio(void) {
  trunkline_str command[2];
  trunkline_str facts;
  trunkline_error *detail = NULL;
  trunkline_client *client = NULL;
  trunkline_client_options *options = NULL;
  trunkline_text *text = NULL;
  unsigned long long deadline = now_ms() + patience_ms(20000);
  command[0] = trunkline_str_of(program);
  command[1] = S("--serve-stdio");
  OK(trunkline_client_connect_child(command, 2, NULL, &client, &error));
  OK(trunkline_client_list_tools(client, NULL, &text, &error));
  check_text(text, "/0/name", "echo");
  trunkline_text_free(text);
  check_echo(client, "{\"message\":\"over a pipe\"}", "over a pipe");
  CHECK(trunkline_client_pid(client) > 0 && trunkline_client_pid(NULL) == 0);
  OK(trunkline_client_info(client, &text, &error));
  CHECK(contains(trunkline_text_str(text), "\"pid\":"));
  trunkline_text_free(text);
  OK(trunkline_client_close(client, 5000, &error));
  CHECK(trunkline_client_pid(client) == 0);
  trunkline_client_free(client);

  client = NULL;
  command[1] = S("--die");
  CHECK(trunkline_client_connect_child(command, 2, NULL, &client, &detail) == TRUNKLINE_TRANSPORT);
  CHECK(trunkline_error_json(detail, &facts) == TRUNKLINE_OK);
  CHECK(contains(facts, "\"reason\":\"exited\"") && contains(facts, "\"stderr\":[\"my last words\"]"));
  trunkline_error_free(detail), detail = NULL;
  OK(trunkline_client_options_new(&options, &error));
  CHECK(trunkline_client_options_set_stderr(options, S("discard")) == TRUNKLINE_OK);
  CHECK(trunkline_client_connect_child(command, 2, options, &client, &detail) == TRUNKLINE_TRANSPORT);
  CHECK(trunkline_error_json(detail, &facts) == TRUNKLINE_OK && !contains(facts, "my last words"));
  trunkline_error_free(detail), detail = NULL;
  CHECK(trunkline_client_options_set_stderr_file(options, S("/dev/null")) == TRUNKLINE_OK);
  FAILS(TRUNKLINE_TRANSPORT, "set only one", trunkline_client_connect_child(command, 2, options, &client, &error));
  CHECK(trunkline_client_options_set_stderr(options, S("inherit")) == TRUNKLINE_OK);
  CHECK(trunkline_client_connect_child(command, 2, options, &client, &detail) == TRUNKLINE_TRANSPORT);
  CHECK(trunkline_error_json(detail, &facts) == TRUNKLINE_OK && contains(facts, "my last words"));
  trunkline_error_free(detail), detail = NULL;
  CHECK(trunkline_client_options_set_stderr(options, S("file")) == TRUNKLINE_OK);
  FAILS(TRUNKLINE_INVALID_ARGUMENT, "stderr", trunkline_client_connect_child(command, 2, options, &client, &error));
  trunkline_client_options_free(options), options = NULL;
  OK(trunkline_client_options_new(&options, &error));
  CHECK(trunkline_client_options_set_background(options, true) == TRUNKLINE_OK);
  OK(trunkline_client_connect_child(command, 2, options, &client, &error));
  OK(trunkline_client_end(client, &error));
  while (!trunkline_client_closed(client) && now_ms() < deadline)
    OK(trunkline_dispatch(trunkline_client_port(client), 1000, NULL, &error));
  FAILS(TRUNKLINE_TRANSPORT, "my last words", trunkline_client_end(client, &error));
  trunkline_client_free(client), client = NULL;
  trunkline_client_options_free(options);

  command[1] = S("--die-later");
  OK(trunkline_client_options_new(&options, &error));
  CHECK(!trunkline_client_options_set_reconnect(options, false));
  OK(trunkline_client_connect_child(command, 2, options, &client, &error));
  trunkline_client_options_free(options);
  OK(trunkline_client_end(client, &error));
  FAILS(TRUNKLINE_TRANSPORT, "", trunkline_client_call_tool(client, S("die"), S("{}"), NULL, &text, &error));
  while (!trunkline_client_closed(client) && now_ms() < deadline)
    OK(trunkline_dispatch(trunkline_client_port(client), 1000, NULL, &error));
  FAILS(TRUNKLINE_TRANSPORT, "my very last words", trunkline_client_end(client, &error));
  FAILS(TRUNKLINE_NULL, "client", trunkline_client_end(NULL, &error));
  FAILS(TRUNKLINE_NULL, "listener", trunkline_listener_end(NULL, &error));
  trunkline_client_free(client), client = NULL;

  command[0] = S("/no/such/program");
  FAILS(TRUNKLINE_TRANSPORT, "", trunkline_client_connect_child(command, 1, NULL, &client, &error));
  CHECK(client == NULL);
}

static trunkline_listener *listen_http(trunkline_server *server) {
  trunkline_http_options *options = NULL;
  trunkline_listener *listener = NULL;
  OK(trunkline_http_options_new(&options, &error));
  CHECK(trunkline_http_options_set_port(options, 0) == TRUNKLINE_OK);
  OK(trunkline_server_listen_http(server, options, &listener, &error));
  trunkline_http_options_free(options);
  /* HTTP-05: no address was given. */
  CHECK(strncmp(trunkline_listener_url(listener).data, "http://127.0.0.1:", 17) == 0);
  return listener;
}

/* In a loop of the program, nothing blocks while calls finish. */
static void closing_in_a_loop(void) {
  trunkline_server *server = new_server();
  trunkline_port *port = trunkline_server_port(server);
  trunkline_client_options *options = NULL;
  trunkline_listener *listener = listen_http(server);
  trunkline_client *client = NULL;
  outcome end = {0, 0, TRUNKLINE_OK, ""};
  unsigned long long begin;
  kept = NULL;
  add(server, S(PLAIN("keep")), keep, NULL);
  OK(trunkline_client_options_new(&options, &error));
  CHECK(trunkline_client_options_set_port(options, port) == TRUNKLINE_OK);
  OK(trunkline_client_connect_http(trunkline_listener_url(listener), options, &client, &error));
  trunkline_client_options_free(options);
  OK(trunkline_client_start(client, S(TRUNKLINE_METHOD_CALL_TOOL), S("{\"name\":\"keep\"}"), NULL, see_outcome, &end, free_outcome, NULL, &error));
  while (!kept) OK(trunkline_dispatch(port, 1000, NULL, &error));
  begin = now_ms();
  OK(trunkline_listener_start_close(listener, 20000, &error));
  CHECK(now_ms() - begin < patience_ms(10000));
  OK(trunkline_dispatch(port, 50, NULL, &error));
  CHECK(!trunkline_listener_closed(listener) && end.count == 0);
  CHECK(trunkline_call_return_text(kept, S("in time")) == TRUNKLINE_OK);
  while (!trunkline_listener_closed(listener)) OK(trunkline_dispatch(port, 1000, NULL, &error));
  settle(port, &end);
  CHECK(end.count == 1 && end.result == TRUNKLINE_OK && now_ms() - begin < patience_ms(10000));
  OK(trunkline_client_start_close(client, 20000, &error));
  while (!trunkline_client_closed(client)) OK(trunkline_dispatch(port, 1000, NULL, &error));
  CHECK(now_ms() - begin < patience_ms(10000));
  OK(trunkline_listener_start_close(listener, 0, &error));
  OK(trunkline_listener_end(listener, &error));
  CHECK(trunkline_listener_start_close(NULL, 0, NULL) == TRUNKLINE_NULL);
  trunkline_call_free(kept);
  kept = NULL;
  trunkline_client_free(client);
  trunkline_listener_free(listener);
  trunkline_server_free(server);
}

static void run_server(void *data) { OK(trunkline_server_run((trunkline_server *)data, &error)); }

static volatile int polling;
static int polled_until_cancelled;

/* Does not return to the loop: sees the cancellation only by the flag. */
static void poll_flag(trunkline_call *call, void *user_data) {
  unsigned long long end = now_ms() + patience_ms(10000);
  (void)user_data;
  polling = 1;
  while (!trunkline_call_cancelled(call) && now_ms() < end) sleep_ms(5);
  polled_until_cancelled = trunkline_call_cancelled(call);
  trunkline_call_return_text(call, S("stopped"));
}

static void http(void) {
  trunkline_server *server = new_server();
  trunkline_listener *listener = listen_http(server), *second = NULL;
  trunkline_http_options *taken = NULL;
  trunkline_str facts;
  thread_task task = {run_server, NULL};
  thread runner;
  trunkline_client *client = NULL;
  trunkline_client_options *options = NULL;
  trunkline_text *text = NULL;
  outcome end = {0, 0, TRUNKLINE_OK, ""};
  uint64_t ticket = 0;
  task.data = server;
  /* An address that is in use is a failure with a reason. */
  OK(trunkline_http_options_new(&taken, &error));
  CHECK(trunkline_http_options_set_port(taken, strtoull(trunkline_listener_url(listener).data + 17, NULL, 10)) == TRUNKLINE_OK);
  CHECK(trunkline_server_listen_http(server, taken, &second, NULL) == TRUNKLINE_TRANSPORT && second == NULL);
  CHECK(trunkline_error_json(trunkline_last_error(), &facts) == TRUNKLINE_OK);
  CHECK(contains(facts, "\"reason\":\"addressInUse\""));
  trunkline_http_options_free(taken);
  add(server, S(PLAIN("poll_flag")), poll_flag, NULL);
  thread_start(&runner, &task);
  OK(trunkline_client_connect_http(trunkline_listener_url(listener), NULL, &client, &error));
  OK(trunkline_client_list_tools(client, NULL, &text, &error));
  check_text(text, "/0/name", "echo");
  trunkline_text_free(text);
  check_echo(client, "{\"message\":\"over HTTP\"}", "over HTTP");

  OK(trunkline_client_start(client, S(TRUNKLINE_METHOD_CALL_TOOL), S("{\"name\":\"poll_flag\"}"), NULL, see_outcome, &end, free_outcome, &ticket,
                                      &error));
  while (!polling) sleep_ms(5);
  OK(trunkline_client_cancel(client, ticket, NOTHING, &error));
  settle(trunkline_client_port(client), &end);
  CHECK(end.result == TRUNKLINE_CANCELLED);
  check_echo(client, "{\"message\":\"again\"}", "again");
  CHECK(polled_until_cancelled);
  trunkline_client_free(client);

  /* The server acts as the proxy: it gets a request for a host that it does not serve. */
  OK(trunkline_client_options_new(&options, &error));
  CHECK(trunkline_client_options_set_proxy(options, trunkline_listener_url(listener)) == TRUNKLINE_OK);
  FAILS(TRUNKLINE_TRANSPORT, "403", trunkline_client_connect_http(S("http://mcp.invalid/mcp"), options, &client, &error));
  CHECK(trunkline_client_options_set_ca(options, S("no PEM")) == TRUNKLINE_OK);
  FAILS(TRUNKLINE_INVALID_ARGUMENT, "ca contains no PEM certificate",
        trunkline_client_connect_http(S("https://mcp.invalid/mcp"), options, &client, &error));
  trunkline_client_options_free(options);

  CHECK(trunkline_server_stop(server) == TRUNKLINE_OK);
  thread_join(runner);
  CHECK(trunkline_listener_closed(listener));
  OK(trunkline_listener_end(listener, &error));
  FAILS(TRUNKLINE_TRANSPORT, "", trunkline_client_connect_http(trunkline_listener_url(listener), NULL, &client, &error));
  trunkline_listener_free(listener);
  trunkline_server_free(server);
}

/* ---- mounted in the program's own web server ---- */

/* The received part of a response. */
typedef struct {
  trunkline_http_exchange *exchange; /* granted at once if it is there */
  int status, headers, heads, chunks, ends, freed;
  char session[128], type[64], challenge[300], retry_after[16];
  size_t length;
  char body[4096];
  trunkline_result result;
} response;

/* Keeps the value of a header if it has that name. */
static void see_header(const trunkline_http_header *header, const char *name, char *value, size_t size) {
  if (!same(header->name, name)) return;
  CHECK(header->value.len < size);
  strcpy(value, header->value.data);
}

static void see_head(uint16_t status, const trunkline_http_header *headers, size_t count, void *user_data) {
  response *seen = (response *)user_data;
  size_t index;
  CHECK(seen->heads++ == 0 && seen->ends == 0);
  seen->status = status;
  seen->headers = (int)count;
  for (index = 0; index < count; ++index) {
    see_header(&headers[index], "mcp-session-id", seen->session, sizeof seen->session);
    see_header(&headers[index], "content-type", seen->type, sizeof seen->type);
    see_header(&headers[index], "www-authenticate", seen->challenge, sizeof seen->challenge);
    see_header(&headers[index], "retry-after", seen->retry_after, sizeof seen->retry_after);
  }
}

static void see_chunk(const void *data, size_t len, void *user_data) {
  response *seen = (response *)user_data;
  CHECK(seen->heads == 1 && seen->ends == 0);
  ++seen->chunks;
  if (seen->length + len < sizeof seen->body) memcpy(seen->body + seen->length, data, len);
  seen->length += len;
  if (seen->exchange) CHECK(trunkline_http_credit(seen->exchange, len) == TRUNKLINE_OK);
}

static void see_end(trunkline_result result, const trunkline_error *error, void *user_data) {
  response *seen = (response *)user_data;
  CHECK((error == NULL) == (result == TRUNKLINE_OK));
  ++seen->ends;
  seen->result = result;
}

static void response_freed(void *user_data) { ++((response *)user_data)->freed; }

static trunkline_http_exchange *post(trunkline_listener *listener, response *seen, const char *session, const char *host,
                                     const char *message) {
  trunkline_http_exchange *exchange = NULL;
  size_t half = strlen(message) / 2;
  bool wanted = false;
  trunkline_http_header headers[5];
  headers[0].name = S("Host"), headers[0].value = trunkline_str_of(host);
  headers[1].name = S("Content-Type"), headers[1].value = S("application/json");
  headers[2].name = S("Accept"), headers[2].value = S("application/json, text/event-stream");
  headers[3].name = S("X-Bytes"), headers[3].value = S("caf\xe9"); /* not UTF-8, but HTTP */
  headers[4].name = S("Mcp-Session-Id"), headers[4].value = trunkline_str_of(session);
  memset(seen, 0, sizeof *seen);
  OK(trunkline_http_request(listener, S("POST"), S("/mcp?a=b"), headers, *session ? 5 : 4, NOTHING, false, see_head, see_chunk,
                            see_end, seen, response_freed, &exchange, &error));
  OK(trunkline_http_body(exchange, message, half, false, &wanted, &error));
  OK(trunkline_http_body(exchange, message + half, strlen(message) - half, true, NULL, &error));
  return exchange;
}

static void answered(trunkline_server *server, response *seen) {
  uint64_t deadline = now_ms() + patience_ms(10000);
  while (!seen->ends && now_ms() < deadline) OK(trunkline_dispatch(trunkline_server_port(server), 1000, NULL, &error));
  CHECK(seen->ends == 1);
}

/* The status of a request without a body. */
static int status_of(trunkline_server *server, trunkline_listener *listener, const char *path) {
  trunkline_http_exchange *exchange = NULL;
  response seen;
  memset(&seen, 0, sizeof seen);
  OK(trunkline_http_request(listener, S("GET"), trunkline_str_of(path), NULL, 0, NOTHING, true, see_head, see_chunk, see_end, &seen,
                            NULL, &exchange, &error));
  answered(server, &seen);
  trunkline_http_exchange_free(exchange);
  return seen.status;
}

/* Probes need a path of the endpoint, for a router that has chosen it answers them itself. */
static void probes(void) {
  trunkline_server *server = new_server();
  trunkline_http_options *options = NULL;
  trunkline_listener *listener = NULL, *plain = NULL;
  OK(trunkline_http_options_new(&options, &error));
  CHECK(trunkline_http_options_set_health(options, true) == TRUNKLINE_OK);
  FAILS(TRUNKLINE_INVALID_ARGUMENT, "health", trunkline_server_mount_http(server, options, &listener, &error));
  CHECK(trunkline_http_options_set_path(options, S("/mcp")) == TRUNKLINE_OK);
  OK(trunkline_server_mount_http(server, options, &listener, &error));
  CHECK(status_of(server, listener, "/healthz") == 200 && status_of(server, listener, "/readyz") == 200);
  CHECK(trunkline_http_options_set_health(options, false) == TRUNKLINE_OK);
  OK(trunkline_server_mount_http(server, options, &plain, &error));
  CHECK(status_of(server, plain, "/healthz") == 404 && status_of(server, plain, "/readyz") == 404);
  trunkline_http_options_free(options);
  trunkline_listener_free(plain);
  trunkline_listener_free(listener);
  trunkline_server_free(server);
}

static void big(trunkline_call *call, void *user_data) {
  size_t length = 1000000;
  trunkline_str text;
  char *letters = (char *)malloc(length);
  (void)user_data;
  CHECK(letters != NULL);
  memset(letters, 'x', length);
  text.data = letters, text.len = length;
  CHECK(trunkline_call_return_text(call, text) == TRUNKLINE_OK);
  free(letters);
}

#define OPENING_OF(revision)                                                                                  \
  "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"" revision "\"," \
  "\"capabilities\":{},\"clientInfo\":{\"name\":\"c\",\"version\":\"1\"}}}"
#define OPENING OPENING_OF("2025-11-25")
#define CALLING(tool) \
  "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"" tool "\",\"arguments\":{\"message\":\"hi\"}}}"

static void mounted(void) {
  trunkline_server *server = new_server();
  trunkline_http_options *options = NULL, *proxied = NULL;
  trunkline_listener *listener = NULL, *socket = NULL, *open = NULL, *none = NULL;
  trunkline_http_exchange *exchange = NULL;
  trunkline_http_header headers[1];
  response seen, later;
  char session[128];
  int freed = 0;
  add(server, S("{\"name\":\"big\",\"inputSchema\":{\"type\":\"object\"}}"), big, NULL);
  add(server, S("{\"name\":\"kept\",\"inputSchema\":{\"type\":\"object\"}}"), keep, NULL);
  OK(trunkline_server_mount_http(server, NULL, &listener, &error));
  CHECK(trunkline_listener_url(listener).len == 0);

  /* A session and a call in it. */
  exchange = post(listener, &seen, "", "localhost", OPENING);
  answered(server, &seen);
  CHECK(seen.status == 200 && seen.result == TRUNKLINE_OK && strcmp(seen.type, "application/json") == 0 && seen.freed == 1);
  CHECK(seen.length > 0 && strstr(seen.body, "\"serverInfo\"") != NULL && seen.session[0] != '\0');
  strcpy(session, seen.session);
  trunkline_http_exchange_free(exchange);
  exchange = post(listener, &seen, session, "localhost:80", CALLING("echo"));
  answered(server, &seen);
  CHECK(seen.status == 200 && strstr(seen.body, "\"text\":\"hi\"") != NULL);
  CHECK(trunkline_http_cancel(exchange) == TRUNKLINE_OK && trunkline_http_credit(exchange, 1) == TRUNKLINE_OK);
  trunkline_http_exchange_free(exchange);

  /* No more than was granted. */
  exchange = post(listener, &seen, session, "localhost", CALLING("big"));
  while (seen.length < 65536) OK(trunkline_dispatch(trunkline_server_port(server), 1000, NULL, &error));
  OK(trunkline_dispatch(trunkline_server_port(server), 100, NULL, &error));
  CHECK(seen.length == 65536 && seen.ends == 0);
  seen.exchange = exchange;
  CHECK(trunkline_http_credit(exchange, 65536) == TRUNKLINE_OK);
  answered(server, &seen);
  CHECK(seen.length > 1000000 && seen.chunks > 10);
  trunkline_http_exchange_free(exchange);

  /* Another host, and invalid requests. */
  exchange = post(listener, &seen, "", "mcp.example", OPENING);
  answered(server, &seen);
  /* Not in any language's terms, because this message is sent to the caller. */
  CHECK(seen.status == 403 && strstr(seen.body, "allowed hosts") != NULL && strstr(seen.body, "allowedHosts") == NULL);
  trunkline_http_exchange_free(exchange);
  OK(trunkline_http_options_new(&options, &error));
  CHECK(trunkline_http_options_allow_host(options, S("mcp.example")) == TRUNKLINE_OK);
  OK(trunkline_server_mount_http(server, options, &open, &error));
  OK(trunkline_http_options_new(&proxied, &error));
  CHECK(trunkline_http_options_add_trusted_proxy(proxied, S("10.0.0.0/8")) == TRUNKLINE_OK);
  CHECK(trunkline_http_options_add_trusted_proxy(proxied, S("proxy.example")) == TRUNKLINE_OK);
  FAILS(TRUNKLINE_INVALID_ARGUMENT, "proxy.example", trunkline_server_mount_http(server, proxied, &none, &error));
  trunkline_http_options_free(proxied);
  exchange = post(open, &seen, "", "mcp.example", OPENING);
  answered(server, &seen);
  CHECK(seen.status == 200);
  trunkline_http_exchange_free(exchange);
  memset(&seen, 0, sizeof seen);
  OK(trunkline_http_request(listener, S("NO METHOD"), S("/"), NULL, 0, NOTHING, true, see_head, NULL, see_end, &seen, NULL,
                            &exchange, &error));
  answered(server, &seen);
  CHECK(seen.status == 400);
  trunkline_http_exchange_free(exchange);
  memset(&seen, 0, sizeof seen);
  OK(trunkline_http_request(open, S("POST"), S("/mcp?\xff"), NULL, 0, NOTHING, true, see_head, NULL, see_end, &seen, NULL, &exchange,
                            &error));
  answered(server, &seen);
  CHECK(seen.status == 400);
  trunkline_http_exchange_free(exchange);
  memset(&seen, 0, sizeof seen);
  headers[0].name = S("X-\xff"), headers[0].value = S("1");
  OK(trunkline_http_request(open, S("P\xc3\xb6ST"), S("/mcp"), headers, 1, NOTHING, true, see_head, NULL, see_end, &seen, NULL,
                            &exchange, &error));
  answered(server, &seen);
  CHECK(seen.status == 400);
  trunkline_http_exchange_free(exchange);

  /* A disconnecting client: reported to the end callback, unless it has been freed. */
  exchange = post(listener, &seen, session, "localhost", CALLING("kept"));
  while (!kept) OK(trunkline_dispatch(trunkline_server_port(server), 1000, NULL, &error));
  CHECK(trunkline_http_cancel(exchange) == TRUNKLINE_OK);
  answered(server, &seen);
  CHECK(seen.heads == 0 && seen.result == TRUNKLINE_CANCELLED);
  trunkline_http_exchange_free(exchange);
  /* The call may use the data of its exchange for as long as it lives. */
  CHECK(seen.freed == 0);
  trunkline_call_free(kept), kept = NULL;
  while (seen.freed == 0) OK(trunkline_dispatch(trunkline_server_port(server), 1000, NULL, &error));
  exchange = post(listener, &seen, session, "localhost", CALLING("echo"));
  trunkline_http_exchange_free(exchange);
  while (seen.freed == 0) OK(trunkline_dispatch(trunkline_server_port(server), 1000, NULL, &error));
  exchange = post(listener, &later, session, "localhost", CALLING("echo"));
  answered(server, &later);
  CHECK(seen.heads == 0 && seen.ends == 0);
  trunkline_http_exchange_free(exchange);

  /* Closing. */
  exchange = post(listener, &seen, session, "localhost", CALLING("kept"));
  while (!kept) OK(trunkline_dispatch(trunkline_server_port(server), 1000, NULL, &error));
  OK(trunkline_listener_close(listener, 50, &error));
  CHECK(trunkline_listener_closed(listener) && seen.ends == 1 && seen.result == TRUNKLINE_OK);
  CHECK(seen.status == 200 && strstr(seen.body, "\"interrupted\"") != NULL);
  trunkline_http_exchange_free(exchange);
  trunkline_call_free(kept), kept = NULL;
  FAILS(TRUNKLINE_CLOSED, "closed", trunkline_http_request(listener, S("GET"), S("/"), NULL, 0, NOTHING, true, NULL, NULL, NULL, &freed,
                                                     count_up, &exchange, &error));
  FAILS(TRUNKLINE_NULL, "headers", trunkline_http_request(listener, S("GET"), S("/"), NULL, 1, NOTHING, true, NULL, NULL, NULL,
                                                          &freed, count_up, &exchange, &error));
  socket = listen_http(server);
  FAILS(TRUNKLINE_INVALID_ARGUMENT, "mounted", trunkline_http_request(socket, S("GET"), S("/"), NULL, 0, NOTHING, true, NULL, NULL, NULL,
                                                             &freed, count_up, &exchange, &error));
  CHECK(freed == 3);
  CHECK(trunkline_http_credit(NULL, 1) == TRUNKLINE_NULL && trunkline_http_cancel(NULL) == TRUNKLINE_NULL);
  FAILS(TRUNKLINE_NULL, "exchange", trunkline_http_body(NULL, "", 0, true, NULL, &error));
  trunkline_http_exchange_free(NULL);
  CHECK(trunkline_http_options_set_port(options, 8000) == TRUNKLINE_OK);
  FAILS(TRUNKLINE_INVALID_ARGUMENT, "port is for a server with its own socket", trunkline_server_mount_http(server, options, &open, &error));
  trunkline_http_options_free(options);
  OK(trunkline_http_options_new(&options, &error));
  CHECK(trunkline_http_options_set_port(options, 65536) == TRUNKLINE_OK);
  FAILS(TRUNKLINE_INVALID_ARGUMENT, "port", trunkline_server_listen_http(server, options, &open, &error));
  trunkline_http_options_free(options);
  trunkline_listener_free(socket);
  trunkline_listener_free(open);
  trunkline_listener_free(listener);
  trunkline_server_free(server);
}

/* The status of a POST. One too many gets `Retry-After`. */
static int limited(trunkline_server *server, trunkline_listener *listener, response *seen, const char *session,
                   const char *message) {
  trunkline_http_exchange *exchange = post(listener, seen, session, "localhost", message);
  int seconds;
  answered(server, seen);
  trunkline_http_exchange_free(exchange);
  seconds = atoi(seen->retry_after);
  CHECK(seen->status == 429 ? seconds >= 1 && seconds <= 60 : seen->retry_after[0] == '\0');
  return seen->status;
}

/* Each session may make its own requests; those of none count together. */
static void rate_limit(void) {
  trunkline_server *server = new_server();
  trunkline_http_options *options = NULL;
  trunkline_listener *listener = NULL;
  response opening, seen;
  OK(trunkline_http_options_new(&options, &error));
  CHECK(trunkline_http_options_set_rate_limit(options, 1) == TRUNKLINE_OK);
  CHECK(trunkline_http_options_set_rate_burst(options, 1) == TRUNKLINE_OK);
  OK(trunkline_server_mount_http(server, options, &listener, &error));
  trunkline_http_options_free(options);
  CHECK(limited(server, listener, &opening, "", OPENING) == 200 && opening.session[0] != '\0');
  CHECK(limited(server, listener, &seen, "", OPENING) == 429 && seen.session[0] == '\0');
  CHECK(limited(server, listener, &seen, opening.session, CALLING("echo")) == 200);
  CHECK(limited(server, listener, &seen, opening.session, CALLING("echo")) == 429);
  trunkline_listener_free(listener);
  trunkline_server_free(server);
}

static trunkline_client *shared_client;

static void many_calls(void *data) {
  char arguments[64], wanted[32];
  int call;
  for (call = 0; call < 50; ++call) {
    snprintf(wanted, sizeof wanted, "%d of %d", call, *(int *)data);
    snprintf(arguments, sizeof arguments, "{\"message\":\"%s\"}", wanted);
    check_echo(shared_client, arguments, wanted);
  }
}

/* Several threads block on one client, whose server runs on yet another thread, or on none but
   theirs. */
static void many_threads(void) {
  trunkline_server *server = new_server();
  trunkline_listener *listener = listen_http(server);
  thread_task serve = {run_server, NULL}, tasks[4];
  thread runner, threads[4];
  int numbers[4], index, in_memory_too;
  serve.data = server;
  for (in_memory_too = 0; in_memory_too < 2; ++in_memory_too) {
    if (in_memory_too) {
      shared_client = in_memory(server);
    } else {
      thread_start(&runner, &serve);
      OK(trunkline_client_connect_http(trunkline_listener_url(listener), NULL, &shared_client, &error));
    }
    for (index = 0; index < 4; ++index) {
      numbers[index] = index;
      tasks[index].run = many_calls;
      tasks[index].data = &numbers[index];
      thread_start(&threads[index], &tasks[index]);
    }
    for (index = 0; index < 4; ++index) thread_join(threads[index]);
    trunkline_client_free(shared_client);
    if (!in_memory_too) {
      CHECK(trunkline_server_stop(server) == TRUNKLINE_OK);
      thread_join(runner);
    }
  }
  trunkline_listener_free(listener);
  trunkline_server_free(server);
}

/* Every option has a name that the core knows. */
static void options(void) {
  trunkline_server_options *server_options = NULL;
  trunkline_http_options *http_options = NULL;
  trunkline_client_options *client_options = NULL;
  trunkline_request_options *request_options = NULL;
  trunkline_server *server = NULL;
  trunkline_listener *listener = NULL;
  trunkline_client *client = NULL;
  trunkline_text *text = NULL;
  trunkline_str command[2], found;
  thread_task task = {run_server, NULL};
  thread runner;
  int limit;
  /* Errors name options as C has them. */
  OK(trunkline_server_options_new(&server_options, &error));
  CHECK(!trunkline_server_options_set_limit(server_options, TRUNKLINE_LIMIT_PAGE_SIZE, 0));
  {
    trunkline_error *wrong = NULL;
    const char *message;
    CHECK(trunkline_server_new_with(S("suite"), S("1"), server_options, &server, &wrong) == TRUNKLINE_INVALID_ARGUMENT);
    message = trunkline_error_message(wrong);
    CHECK(strstr(message, "page_size") && !strstr(message, "pageSize") && !strstr(message, "options."));
    trunkline_error_free(wrong);
  }
  trunkline_server_options_free(server_options);
  OK(trunkline_server_options_new(&server_options, &error));
  CHECK(!trunkline_server_options_set_title(server_options, S("The Suite")));
  CHECK(!trunkline_server_options_set_description(server_options, S("Tests.")));
  CHECK(!trunkline_server_options_set_website_url(server_options, S("https://example.org/")));
  CHECK(!trunkline_server_options_set_icons(server_options, S("[{\"src\":\"https://example.org/icon.png\"}]")));
  CHECK(!trunkline_server_options_set_instructions(server_options, S("Say something.")));
  CHECK(!trunkline_server_options_set_debug(server_options, true));
  for (limit = TRUNKLINE_LIMIT_PAGE_SIZE; limit <= TRUNKLINE_LIMIT_MAX_TASKS_PER_CLIENT; ++limit) {
    uint64_t value = limit == TRUNKLINE_LIMIT_PAGE_SIZE ? 2 : limit == TRUNKLINE_LIMIT_MAX_NESTING ? 128 : 100000;
    CHECK(!trunkline_server_options_set_limit(server_options, (trunkline_limit)limit, value));
  }
  CHECK(!trunkline_server_options_set_cache(server_options, 60000, S("public")));
  CHECK(!trunkline_server_options_add_state_key(server_options, S("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=")));
  CHECK(!trunkline_server_options_set_rerun_handlers(server_options, false));
  CHECK(!trunkline_server_options_set_extension(server_options, S("org.example/suite"), S("{\"deep\":true}")));
  CHECK(!trunkline_server_options_set_experimental(server_options, S("suite"), S("{}")));
  OK(trunkline_server_new_with(S("suite"), S("1"), server_options, &server, &error));
  trunkline_server_options_free(server_options);
  add(server, S(PLAIN("nothing")), do_nothing, NULL);
  add(server, S(PLAIN("second")), do_nothing, NULL);
  add(server, S(PLAIN("third")), do_nothing, NULL);
  OK(trunkline_http_options_new(&http_options, &error));
  CHECK(!trunkline_http_options_set_host(http_options, S("127.0.0.1")));
  CHECK(!trunkline_http_options_set_port(http_options, 0));
  CHECK(!trunkline_http_options_set_path(http_options, S("/elsewhere")));
  CHECK(!trunkline_http_options_set_stateless(http_options, true));
  CHECK(!trunkline_http_options_set_json(http_options, true));
  CHECK(!trunkline_http_options_allow_host(http_options, S("mcp.example.org")));
  CHECK(!trunkline_http_options_allow_origin(http_options, S("https://app.example.org")));
  OK(trunkline_server_listen_http(server, http_options, &listener, &error));
  trunkline_http_options_free(http_options);
  CHECK(contains(trunkline_listener_url(listener), "/elsewhere"));
  task.data = server;
  thread_start(&runner, &task);

  OK(trunkline_client_options_new(&client_options, &error));
  CHECK(!trunkline_client_options_set_info(client_options, S("suite-client"), S("9")));
  CHECK(!trunkline_client_options_set_revision(client_options, S("2025-11-25")));
  CHECK(!trunkline_client_options_set_timeout_ms(client_options, 20000));
  CHECK(!trunkline_client_options_set_max_timeout_ms(client_options, 30000));
  CHECK(!trunkline_client_options_set_connect_timeout_ms(client_options, 10000));
  CHECK(!trunkline_client_options_set_probe_timeout_ms(client_options, 5000));
  CHECK(!trunkline_client_options_set_max_message_bytes(client_options, 100000));
  CHECK(!trunkline_client_options_set_listen(client_options, false));
  CHECK(!trunkline_client_options_set_header(client_options, S("X-Suite"), S("yes")));
  CHECK(!trunkline_client_options_set_env(client_options, S("SUITE_TOOL"), S(PLAIN("from_env"))));
  CHECK(!trunkline_client_options_set_inherit_env(client_options, true));
  CHECK(!trunkline_client_options_set_cwd(client_options, S(".")));
  OK(trunkline_client_connect_http(trunkline_listener_url(listener), client_options, &client, &error));
  OK(trunkline_client_info(client, &text, &error));
  check_text(text, "/serverInfo/title", "The Suite");
  check_text(text, "/serverInfo/description", "Tests.");
  check_text(text, "/serverInfo/websiteUrl", "https://example.org/");
  check_text(text, "/serverInfo/icons/0/src", "https://example.org/icon.png");
  check_text(text, "/instructions", "Say something.");
  CHECK(trunkline_json_get(trunkline_text_str(text), S("/capabilities/experimental/suite"), &found) == TRUNKLINE_OK);
  trunkline_text_free(text);
  OK(trunkline_client_list_tools(client, NULL, &text, &error));
  check_text(text, "/0/name", "nothing");
  check_text(text, "/2/name", "third");
  trunkline_text_free(text);
  OK(trunkline_request_options_new(&request_options, &error));
  CHECK(!trunkline_request_options_set_timeout_ms(request_options, 10000));
  CHECK(!trunkline_request_options_set_max_timeout_ms(request_options, 20000));
  OK(trunkline_client_call_tool(client, S("nothing"), S("{}"), request_options, &text, &error));
  CHECK(is_error(text) && contains(trunkline_text_str(text), "without a response")); /* debug */
  trunkline_text_free(text);
  OK(trunkline_client_notify(client, S("notifications/roots/list_changed"), NOTHING, &error));
  trunkline_request_options_free(request_options);
  trunkline_client_free(client);
  CHECK(!trunkline_server_stop(server));
  thread_join(runner);
  trunkline_listener_free(listener);
  trunkline_server_free(server);

  command[0] = trunkline_str_of(program);
  command[1] = S("--serve-stdio");
  OK(trunkline_client_connect_child(command, 2, client_options, &client, &error));
  trunkline_client_options_free(client_options);
  OK(trunkline_client_call_tool(client, S("from_env"), S("{}"), NULL, &text, &error));
  check_text(text, "/content/0/text", "no such city: K\xef\xbf\xbdln");
  trunkline_text_free(text);
  OK(trunkline_client_close(client, 5000, &error));
  trunkline_client_free(client);
}

/* A server and a client on one port, in the program's own event loop, on one thread. */
static void event_loop(void) {
  trunkline_port *port = NULL;
  trunkline_server_options *server_options = NULL;
  trunkline_client_options *client_options = NULL;
  trunkline_server *server = NULL;
  trunkline_listener *listener;
  trunkline_client *client = NULL;
  outcome end = {0, 0, TRUNKLINE_INTERNAL, ""};
  unsigned long long deadline = now_ms() + patience_ms(10000);
  size_t count = 99;
  OK(trunkline_port_new(&port, &error));
  OK(trunkline_server_options_new(&server_options, &error));
  CHECK(trunkline_server_options_set_port(server_options, port) == TRUNKLINE_OK);
  CHECK(trunkline_server_options_set_title(server_options, S("The Suite")) == TRUNKLINE_OK);
  CHECK(trunkline_server_options_set_instructions(server_options, S("Echo.")) == TRUNKLINE_OK);
  CHECK(trunkline_server_options_set_limit(server_options, TRUNKLINE_LIMIT_PAGE_SIZE, 5) == TRUNKLINE_OK);
  OK(trunkline_server_new_with(S("suite"), S("1"), server_options, &server, &error));
  trunkline_server_options_free(server_options);
  add(server, S(ECHO), echo, NULL);
  listener = listen_http(server);
  OK(trunkline_client_options_new(&client_options, &error));
  CHECK(trunkline_client_options_set_port(client_options, port) == TRUNKLINE_OK);
  CHECK(trunkline_client_options_set_background(client_options, true) == TRUNKLINE_OK);
  CHECK(trunkline_client_options_set_header(client_options, S("X-Suite"), S("yes")) == TRUNKLINE_OK);
  OK(trunkline_client_connect_http(trunkline_listener_url(listener), client_options, &client, &error));
  trunkline_client_options_free(client_options);
  OK(trunkline_client_start(client, S(TRUNKLINE_METHOD_CALL_TOOL), S("{\"name\":\"echo\",\"arguments\":{\"message\":\"loop\"}}"), NULL, see_outcome, &end, free_outcome,
                                      NULL, &error));
  while (!end.count && now_ms() < deadline) {
#ifdef _WIN32
    WaitForSingleObject((HANDLE)trunkline_port_descriptor(port), 1000);
#else
    struct pollfd wait;
    wait.fd = (int)trunkline_port_descriptor(port);
    wait.events = POLLIN;
    poll(&wait, 1, 1000);
#endif
    OK(trunkline_dispatch(port, 0, NULL, &error));
  }
  CHECK(end.result == TRUNKLINE_OK && end.freed == 1 && strstr(end.text, "loop"));
  OK(trunkline_dispatch(port, 1, &count, &error));
  CHECK(count == 0);
  trunkline_client_free(client);
  OK(trunkline_listener_close(listener, 0, &error));
  trunkline_listener_free(listener);
  trunkline_server_free(server);
  trunkline_port_free(port);
}

static void see_notification(const trunkline_str *method, const trunkline_str *params, void *user_data) {
  (void)params;
  if (contains(*method, "list_changed")) ++*(int *)user_data;
}

/* In both eras. */
static void notifications(void) {
  trunkline_server *server = new_server();
  int modern;
  for (modern = 0; modern < 2; ++modern) {
    trunkline_client_options *options = NULL;
    trunkline_client *client = NULL;
    trunkline_text *tools = NULL;
    int seen = 0;
    unsigned long long deadline = now_ms() + patience_ms(10000);
    OK(trunkline_client_options_new(&options, &error));
    CHECK(!trunkline_client_options_set_revision(options, modern ? S("2026-07-28") : S("2025-11-25")));
    CHECK(!trunkline_client_options_set_listen(options, true));
    CHECK(!trunkline_client_options_on_notification(options, see_notification, &seen, NULL));
    OK(trunkline_client_connect_memory(server, options, &client, &error));
    trunkline_client_options_free(options);
    /* A server only announces changes once it knows that the client is ready. */
    OK(trunkline_client_list_tools(client, NULL, &tools, &error));
    trunkline_text_free(tools);
    add(server, modern ? S(PLAIN("new")) : S(PLAIN("newer")), do_nothing, NULL);
    while (!seen && now_ms() < deadline) OK(trunkline_dispatch(trunkline_server_port(server), 1000, NULL, &error));
    CHECK(seen == 1);
    trunkline_client_free(client);
  }
  trunkline_server_free(server);
}

static void wake_port(void *data) {
  sleep_ms(50);
  CHECK(trunkline_port_wake((trunkline_port *)data) == TRUNKLINE_OK);
}

static void waking(void) {
  trunkline_port *port = NULL;
  thread_task task = {wake_port, NULL};
  thread waker;
  size_t count = 99;
  OK(trunkline_port_new(&port, &error));
  CHECK(trunkline_port_wake(port) == TRUNKLINE_OK);
  OK(trunkline_dispatch(port, TRUNKLINE_NO_TIMEOUT, &count, &error));
  CHECK(count == 0);
  task.data = port;
  thread_start(&waker, &task);
  OK(trunkline_dispatch(port, TRUNKLINE_NO_TIMEOUT, NULL, &error));
  thread_join(waker);
  trunkline_port_free(port);
}

/* A limit of the process is not a bug of the library. */
static void no_descriptors(void) {
#ifndef _WIN32
  trunkline_port *port = NULL;
  struct rlimit before, none;
  CHECK(getrlimit(RLIMIT_NOFILE, &before) == 0);
  none = before;
  none.rlim_cur = 3;
  CHECK(setrlimit(RLIMIT_NOFILE, &none) == 0);
  FAILS(TRUNKLINE_BUSY, "descriptor", trunkline_port_new(&port, &error));
  CHECK(setrlimit(RLIMIT_NOFILE, &before) == 0);
  OK(trunkline_port_new(&port, &error));
  trunkline_port_free(port);
#endif
}

#ifndef _WIN32
static volatile sig_atomic_t enough_calls;

/* AddressSanitizer's allocator does not support fork: a thread that allocates meanwhile leaves a
 * lock that is never released in the child. Its runtime may also be preloaded, for an instrumented
 * library. */
static bool may_fork_when_busy(void) {
#ifdef __SANITIZE_ADDRESS__
  return false;
#else
  return getenv("ASAN_OPTIONS") == NULL;
#endif
}

static void calls_until_enough(void *data) {
  while (!enough_calls) many_calls(data);
}
#endif

/* A child must leave its parent's objects alone, and can have its own; also when the parent's other
   threads are busy. */
static void forked(void) {
#ifndef _WIN32
  trunkline_server *server = new_server();
  trunkline_client *client = in_memory(server);
  trunkline_text *result = NULL;
  thread_task busy = {calls_until_enough, NULL};
  thread worker;
  int number = 1, forks;
  const bool is_busy = may_fork_when_busy();
  shared_client = client;
  busy.data = &number;
  if (is_busy) thread_start(&worker, &busy);
  for (forks = 0; forks < 20; ++forks) {
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
      trunkline_server *own;
      trunkline_client *own_client;
      alarm((unsigned)(patience_ms(20000) / 1000)); /* a lock that is never released must not look like patience */
      FAILS(TRUNKLINE_FORKED, "fork", trunkline_dispatch(trunkline_server_port(server), 0, NULL, &error));
      FAILS(TRUNKLINE_FORKED, "fork",
            trunkline_client_call_tool(client, S("echo"), S("{\"message\":\"x\"}"), NULL, &result, &error));
      FAILS(TRUNKLINE_FORKED, "fork", trunkline_server_add_tool(server, S(PLAIN("x")), echo, NULL, NULL, &error));
      FAILS(TRUNKLINE_FORKED, "fork", trunkline_client_close(client, 0, &error));
      CHECK(trunkline_port_on_log(trunkline_server_port(server), NULL, NULL, NULL) == TRUNKLINE_FORKED);
      trunkline_port_wake(trunkline_server_port(server));
      own = new_server();
      own_client = in_memory(own);
      check_echo(own_client, "{\"message\":\"in the child\"}", "in the child");
      trunkline_client_free(own_client);
      trunkline_server_free(own);
      trunkline_client_free(client);
      trunkline_server_free(server);
      /* Leak checkers would report what only other threads of the parent hold. */
      raise(SIGKILL);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  }
  enough_calls = 1;
  if (is_busy) thread_join(worker);
  check_echo(client, "{\"message\":\"after\"}", "after");
  trunkline_client_free(client);
  trunkline_server_free(server);
#endif
}

/* T5 of the fault review: hosts may never read the stderr of their servers. */
static void unread_stderr(void) {
#ifndef _WIN32
  enum { FAILING = 1000 };
  char told[4096];
  trunkline_server *server = new_server();
  trunkline_client *client = in_memory(server);
  int pipe_ends[2], kept = dup(2), number;
  ssize_t length;
  CHECK(kept >= 0 && pipe(pipe_ends) == 0);
  add(server, S(PLAIN("nothing")), do_nothing, NULL);
  CHECK(dup2(pipe_ends[1], 2) == 2);
  for (number = 0; number < FAILING; ++number) {
    trunkline_text *result = NULL;
    if (trunkline_client_call_tool(client, S("nothing"), S("{}"), NULL, &result, NULL) || !is_error(result)) break;
    if (trunkline_dispatch(trunkline_server_port(server), 0, NULL, NULL)) break;
    trunkline_text_free(result);
  }
  CHECK(dup2(kept, 2) == 2 && number == FAILING);
  length = read(pipe_ends[0], told, sizeof told - 1);
  CHECK(length > 0);
  told[length] = 0;
  CHECK(strstr(told, "without a response"));
  trunkline_client_free(client);
  trunkline_server_free(server);
#endif
}

static trunkline_server *signalled;

static void on_signal(int number) {
  (void)number;
  trunkline_server_stop(signalled);
}

static void raise_signal(void *data) {
  (void)data;
  sleep_ms(100);
  raise(SIGTERM);
}

#ifndef _WIN32
/* Returns once a thread runs the server, which then gets signals. */
static void await_run(trunkline_listener *listener) {
  trunkline_client *client = NULL;
  OK(trunkline_client_connect_http(trunkline_listener_url(listener), NULL, &client, &error));
  check_echo(client, "{\"message\":\"running\"}", "running");
  trunkline_client_free(client);
}
#endif

/* A signal that the program does not handle stops every server in the foreground. */
static void signals_stop_all_servers(void) {
#ifndef _WIN32
  trunkline_server *servers[2] = {new_server(), new_server()};
  trunkline_listener *listeners[2];
  thread_task tasks[2];
  thread threads[2];
  int index;
  for (index = 0; index < 2; ++index) {
    listeners[index] = listen_http(servers[index]);
    tasks[index].run = run_server;
    tasks[index].data = servers[index];
    thread_start(&threads[index], &tasks[index]);
  }
  for (index = 0; index < 2; ++index) await_run(listeners[index]);
  raise(SIGTERM);
  for (index = 0; index < 2; ++index) {
    thread_join(threads[index]);
    trunkline_listener_free(listeners[index]);
    trunkline_server_free(servers[index]);
  }
#endif
}

/* A stop is for every thread that runs the server. */
static void stop_ends_all_runs(void) {
  trunkline_server *server = new_server();
  thread_task run = {run_server, server};
  thread threads[2];
  thread_start(&threads[0], &run);
  thread_start(&threads[1], &run);
  sleep_ms(patience_ms(100));
  CHECK(trunkline_server_stop(server) == TRUNKLINE_OK);
  thread_join(threads[0]);
  thread_join(threads[1]);
  trunkline_server_free(server);
}

static void stop_in_signal_handler(void) {
  thread_task task = {raise_signal, NULL};
  thread raiser;
  unsigned long long begin = now_ms();
  trunkline_listener *listener;
  signalled = new_server();
  listener = listen_http(signalled);
  signal(SIGTERM, on_signal);
  thread_start(&raiser, &task);
  OK(trunkline_server_run(signalled, &error));
  thread_join(raiser);
  CHECK(now_ms() - begin < patience_ms(5000));
  CHECK(trunkline_listener_closed(listener));
  /* Told before it runs: returns at once. */
  CHECK(trunkline_server_stop(signalled) == TRUNKLINE_OK);
  OK(trunkline_server_run(signalled, &error));
  trunkline_listener_free(listener);
  trunkline_server_free(signalled);
}

/* A signal handler must leave errno alone, also when the pipe behind the descriptor is broken. */
static void stop_leaves_errno(void) {
#ifndef _WIN32
  trunkline_server *server = new_server();
  int pipe_ends[2], descriptor = (int)trunkline_port_descriptor(trunkline_server_port(server));
  signal(SIGPIPE, SIG_IGN);
  CHECK(descriptor >= 0 && pipe(pipe_ends) == 0 && dup2(pipe_ends[0], descriptor) == descriptor);
  errno = ENOTTY;
  CHECK(trunkline_server_stop(server) == TRUNKLINE_OK);
  CHECK(errno == ENOTTY);
  close(pipe_ends[0]);
  close(pipe_ends[1]);
  trunkline_server_free(server);
#endif
}

#include "suite_threads.c"

#include "suite_client.c"

#include "suite_host.c"
#include "suite_hostile.c"
#include "suite_group.c"
#include "suite_composition.c"
#include "suite_telemetry.c"
#include "suite_world.c"
#include "suite_store.c"
#include "suite_own_store.c"
#include "suite_held.c"
#include "suite_plain.c"
#include "suite_mounts.c"

/* ---- */

static const struct {
  const char *name;
  void (*run)(void);
} scenarios[] = {
    {"names_and_version", names_and_version},
    {"json_helpers", json_helpers},
    {"null_arguments", null_arguments},
    {"wrong_arguments", wrong_arguments},
    {"values_of_a_call", values_of_a_call},
    {"client_beyond_server", client_beyond_server},
    {"client_opened_in_background", client_opened_in_background},
    {"memory_call", memory_call},
    {"shapes_and_failures", shapes_and_failures},
    {"answered_later", answered_later},
    {"dropped_call", dropped_call},
    {"destructors", destructors},
    {"blocking_is_refused", blocking_is_refused},
    {"progress", progress},
    {"cancellation", cancellation},
    {"timeouts", timeouts},
    {"closing", closing},
    {"closing_in_a_loop", closing_in_a_loop},
    {"requests_to_the_client", requests_to_the_client},
    {"resources_prompts_and_completion", resources_prompts_and_completion},
    {"changed_features", changed_features},
    {"removed_and_told", removed_and_told},
    {"provider", provider},
    {"middleware", middleware},
    {"request_handlers", request_handlers},
    {"completers", completers},
    {"freed_while_requesting", freed_while_requesting},
    {"skill", skill},
    {"access_tokens", access_tokens},
    {"unix_socket", unix_socket},
    {"stdio", stdio},
    {"http", http},
    {"mounted", mounted},
    {"probes", probes},
    {"rate_limit", rate_limit},
    {"many_threads", many_threads},
    {"options", options},
    {"event_loop", event_loop},
    {"notifications", notifications},
    {"waking", waking},
    {"no_descriptors", no_descriptors},
    {"forked", forked},
    {"unread_stderr", unread_stderr},
    {"closed_leaves_nothing", closed_leaves_nothing},
    {"signals_stop_all_servers", signals_stop_all_servers},
    {"stop_ends_all_runs", stop_ends_all_runs},
    {"stop_in_signal_handler", stop_in_signal_handler},
    {"stop_leaves_errno", stop_leaves_errno},
    {"freed_inside_callbacks", freed_inside_callbacks},
    {"one_at_a_time", one_at_a_time},
    {"turns_and_ends_of_other_threads", turns_and_ends_of_other_threads},
    {"dispatching_and_blocking", dispatching_and_blocking},
    {"outputs_come_first", outputs_come_first},
    {"listeners_close_together", listeners_close_together},
    {"client_operations", client_operations},
    {"host_requests", host_requests},
    {"channel", channel},
    {"hostile_answers", hostile_answers},
    {"subscriptions", subscriptions},
    {"client_tasks", client_tasks},
    {"manual_input", manual_input},
    {"tasks_by_hand", tasks_by_hand},
    {"group", group},
    {"composition", composition},
    {"proxied_tasks", proxied_tasks},
    {"telemetry", telemetry},
    {"world_of_a_call", world_of_a_call},
    {"values_of_a_batch", values_of_a_batch},
    {"data_of_a_mounted_server", data_of_a_mounted_server},
    {"data_of_a_task", data_of_a_task},
    {"tokens_of_a_mounted_server", tokens_of_a_mounted_server},
    {"lifespan", lifespan},
    {"own_descriptors", own_descriptors},
    {"json_writer", json_writer},
    {"stores", stores},
    {"own_stores", own_stores},
    {"plain_strings", plain_strings},
    {"stood_by", stood_by},
    {"mounts", mounts},
};

int main(int count, char **arguments) {
  size_t index;
  const char *wanted = count >= 2 ? arguments[1] : "";
  program = arguments[0];
  if (strcmp(wanted, "--serve-stdio") == 0) {
    serve_stdio();
    return 0;
  }
  if (strcmp(wanted, "--serve-client-requests") == 0) {
    serve_client_requests();
    return 0;
  }
  if (strcmp(wanted, "--connect-with-credentials") == 0 && count == 4) {
    connect_with_credentials(arguments[2], arguments[3]);
    return 0;
  }
  if (strcmp(wanted, "--log-in") == 0 && count == 3) {
    log_in(arguments[2]);
    return 0;
  }
  if (strcmp(wanted, "--serve-life") == 0 && count == 3) {
    serve_life(arguments[2]);
    return 0;
  }
  if (strcmp(wanted, "--die-later") == 0) {
    die_later();
    return 0;
  }
  if (strcmp(wanted, "--die") == 0) {
    fprintf(stderr, "my last words\n");
    return 3;
  }
  for (index = 0; index < sizeof scenarios / sizeof *scenarios; ++index) {
    if (strcmp(wanted, "--list") == 0) {
      printf("%s\n", scenarios[index].name);
    } else if (strcmp(wanted, scenarios[index].name) == 0) {
      scenarios[index].run();
      return 0;
    }
  }
  if (strcmp(wanted, "--list") == 0) return 0;
  fprintf(stderr, "usage: suite --list | SCENARIO\n");
  return 2;
}
