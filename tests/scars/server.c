/* The server of the scars in C: server stdio | http | listen | web_server */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <trunkline.h>

#define S(text) TRUNKLINE_STR(text)
#define TOOL(name, schema) S("{\"name\":\"" name "\",\"inputSchema\":{\"type\":\"object\"" schema "}}")
#define TASK(name, schema) \
  S("{\"name\":\"" name "\",\"execution\":{\"taskSupport\":\"optional\"},\"inputSchema\":{\"type\":\"object\"" schema "}}")
#define NUMBER(name) ",\"properties\":{\"" name "\":{\"type\":\"integer\"}},\"required\":[\"" name "\"]"
#define TEXT(name) ",\"properties\":{\"" name "\":{\"type\":\"string\"}},\"required\":[\"" name "\"]"

#define MOOD S("{\"uriTemplate\":\"scars://mood/{number}\",\"name\":\"mood\"}")

#define PATTERNS                                                            \
  ",\"properties\":{\"around\":{\"pattern\":\"(?=.*\\\\d)[a-z]+\\\\d\"}," \
  "\"back\":{\"pattern\":\"(?=(a+))\\\\1b\"}}"

/* Messages of a flood before a pause, so that it leaves some processor time to others. A steady
   flood has no pauses. */
#define BURST 50

static void sleep_ms(int64_t ms) {
  struct timespec time = {(time_t)(ms / 1000), (long)(ms % 1000) * 1000000L};
  while (nanosleep(&time, &time));
}

static void echo(trunkline_call *call, void *user_data) {
  (void)user_data;
  trunkline_call_return_text(call, trunkline_call_text(call, S("/message"), S("")));
}

static void *wait_and_answer(void *data) {
  trunkline_call *call = data;
  int64_t left = trunkline_call_int64(call, S("/ms"), 0);
  trunkline_call_progress(call, 0, 0, S(""));
  for (; left > 0 && !trunkline_call_cancelled(call); left -= 20) sleep_ms(left < 20 ? left : 20);
  trunkline_call_return_text(call, S("done"));
  trunkline_call_free(call);
  return NULL;
}

/* A slow callback would delay the callbacks after it. */
static void in_thread(trunkline_call *call, void *(*work)(void *)) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, work, trunkline_call_retain(call))) abort();
  pthread_detach(thread);
}

static void slow(trunkline_call *call, void *user_data) {
  (void)user_data;
  in_thread(call, wait_and_answer);
}

static void block(trunkline_call *call, void *user_data) {
  (void)user_data;
  sleep_ms(trunkline_call_int64(call, S("/ms"), 0));
  trunkline_call_return_text(call, S("done"));
}

static void stray(trunkline_call *call, void *user_data) {
  (void)user_data;
  puts("a stray print");
  fflush(stdout);
  if (write(1, "bytes to descriptor 1\n", 22) != 22) abort();
  if (system("echo a line of a child")) abort();
  trunkline_call_return_text(call, S("printed"));
}

/* The status with which the tool "end" exits, and whether the program returns. */
#define EXIT_STATUS 7
static bool is_returning;

static void *exit_soon(void *data) {
  (void)data;
  sleep_ms(100);
  exit(EXIT_STATUS);
}

static void end(trunkline_call *call, void *user_data) {
  trunkline_str how = trunkline_call_text(call, S("/how"), S(""));
  pthread_t thread;
  (void)user_data;
  if (strcmp(how.data, "handler") == 0) exit(EXIT_STATUS);
  is_returning = strcmp(how.data, "main") == 0;
  if (!is_returning && pthread_create(&thread, NULL, exit_soon, NULL)) abort();
  trunkline_call_return_text(call, S("ends"));
}

static void fail(trunkline_call *call, void *user_data) {
  char text[2001];
  (void)user_data;
  memset(text, 'x', sizeof text - 1);
  text[sizeof text - 1] = '\0';
  trunkline_call_fail(call, trunkline_str_of(text));
}

static void *report_and_answer(void *data) {
  trunkline_call *call = data;
  int64_t number, count = trunkline_call_int64(call, S("/count"), 0);
  bool log = trunkline_call_bool(call, S("/log"), false), steady = trunkline_call_bool(call, S("/steady"), false);
  for (number = 0; number < count && !trunkline_call_cancelled(call); ++number) {
    if (log) {
      trunkline_call_log(call, S("info"), S("a message"));
    } else {
      trunkline_call_progress(call, (double)number, 0, S(""));
    }
    if (number % BURST == 0 && !steady) sleep_ms(1);
  }
  trunkline_call_return_text(call, S("done"));
  trunkline_call_free(call);
  return NULL;
}

static void flood(trunkline_call *call, void *user_data) {
  (void)user_data;
  in_thread(call, report_and_answer);
}

/* Half of a surrogate pair, as JSON and as the bytes that some encoders produce. */
#define HALF_JSON "\"half of a character: \\ud83d\""
#define HALF "half of a character: \xED\xA0\xBD"

static void halves_asked(trunkline_call *call, trunkline_result result, const trunkline_str *json,
                         const trunkline_error *error, void *user_data) {
  (void)json;
  (void)user_data;
  if (result)
    trunkline_call_fail_with(call, error);
  else
    trunkline_call_return_text(call, S(HALF));
}

static void halves(trunkline_call *call, void *user_data) {
  const char *place = trunkline_call_text(call, S("/place"), S("")).data;
  (void)user_data;
  if (strcmp(place, "error") == 0) trunkline_call_fail(call, S(HALF));
  if (strcmp(place, "toolError") == 0) trunkline_call_fail_tool(call, S(HALF));
  if (strcmp(place, "progress") == 0) trunkline_call_progress(call, 1, 0, S(HALF));
  if (strcmp(place, "log") == 0) trunkline_call_log(call, S("info"), S(HALF_JSON));
  if (strcmp(place, "question") == 0) {
    trunkline_call_elicit(call, S("{\"message\":" HALF_JSON ",\"requestedSchema\":{\"type\":\"object\",\"properties\":{}}}"),
                          S("half"), halves_asked, NULL, NULL, NULL);
  } else {
    trunkline_call_return_json(call, TRUNKLINE_SHAPE_VALUE, S(HALF_JSON), NULL);
  }
}

static void match(trunkline_call *call, void *user_data) {
  (void)user_data;
  trunkline_call_return_text(call, S("matched"));
}

/* C has no exceptions, but its callbacks can leave a call without an outcome. */
static void verify(trunkline_call *call, void *user_data) {
  (void)user_data;
  if (strcmp(trunkline_call_text(call, S("/token"), S("")).data, "good") == 0)
    trunkline_call_return_json(call, TRUNKLINE_SHAPE_VALUE, S("{\"subject\":\"good\"}"), NULL);
}

static void audited(trunkline_call *call, trunkline_result result, const trunkline_str *json, const trunkline_error *error,
                    void *user_data) {
  (void)user_data;
  if (result)
    trunkline_call_fail_with(call, error);
  else
    trunkline_call_return_result(call, *json, NULL);
}

static void audit(trunkline_call *call, void *user_data) {
  (void)user_data;
  if (strcmp(trunkline_call_text(call, S("/params/name"), S("")).data, "touch") != 0)
    trunkline_call_next(call, S(""), audited, NULL, NULL, NULL);
}

static void mood(trunkline_call *call, void *user_data) {
  (void)user_data;
  trunkline_call_return_text(call, trunkline_call_text(call, S("/variables/number"), S("")));
}

static void touch(trunkline_call *call, void *server) {
  char uri[100];
  snprintf(uri, sizeof uri, "scars://mood/%s", trunkline_call_text(call, S("/number"), S("")).data);
  trunkline_server_resource_updated((trunkline_server *)server, trunkline_str_of(uri), NULL);
  trunkline_call_return_text(call, S("touched"));
}

static void city_chosen(trunkline_call *call, trunkline_result result, const trunkline_str *json,
                        const trunkline_error *error, void *people) {
  trunkline_text *city = NULL;
  if (result) {
    trunkline_call_fail_with(call, error);
  } else if (!trunkline_json_get_text(*json, S("/content/text"), &city)) {
    trunkline_call_return_textf(call, "%d go to %s", (int)(intptr_t)people, trunkline_text_str(city).data);
  }
  trunkline_text_free(city);
}

/* Suspended callbacks are called again with the answer. */
static void people_counted(trunkline_call *call, trunkline_result result, const trunkline_str *json,
                           const trunkline_error *error, void *user_data) {
  int64_t people = 0;
  (void)user_data;
  if (result || trunkline_json_get_int64(*json, S("/content/people"), &people)) {
    trunkline_call_fail_with(call, error);
    return;
  }
  trunkline_call_sample(call, S("{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"Where to?\"}}],"
                                "\"maxTokens\":50}"),
                        S("city"), city_chosen, (void *)(intptr_t)people, NULL, NULL);
}

static void plan(trunkline_call *call, void *user_data) {
  (void)user_data;
  trunkline_call_elicit(call, S("{\"message\":\"How many go?\",\"requestedSchema\":{\"type\":\"object\",\"properties\":"
                                "{\"people\":{\"type\":\"integer\"}},\"required\":[\"people\"]}}"),
                        S("people"), people_counted, NULL, NULL, NULL);
}

static void packing(trunkline_call *call, void *user_data) {
  (void)user_data;
  trunkline_call_return_textf(call, "What to pack for %s?", trunkline_call_text(call, S("/city"), S("")).data);
}

static void complete_city(trunkline_call *call, void *user_data) {
  trunkline_str typed = trunkline_call_text(call, S("/argument/value"), S(""));
  (void)user_data;
  trunkline_call_return_json(call, TRUNKLINE_SHAPE_VALUE,
                             typed.len == 2 && memcmp(typed.data, "Os", 2) == 0 ? S("[\"Oslo\",\"Osaka\"]") : S("[]"), NULL);
}

/* Idle timeout of a peer in milliseconds, if not the default. */
static uint64_t silence(void) {
  const char *text = getenv("SILENCE_MS");
  return text ? strtoull(text, NULL, 10) : 60000;
}

/* The server's state is in the store named by the environment, if any. */
static trunkline_result make(trunkline_server **server, trunkline_error **error) {
  const char *store = getenv("STORE"), *key = getenv("STATE_KEY");
  trunkline_server_options *options = NULL;
  trunkline_result result = trunkline_server_options_new(&options, error);
  if (!result && store) result = trunkline_server_options_set_store(options, trunkline_str_of(store));
  if (!result && key) result = trunkline_server_options_add_state_key(options, trunkline_str_of(key));
  if (!result) {
    result = trunkline_server_options_set_limit(options, TRUNKLINE_LIMIT_KEEP_ALIVE_MS,
                                                silence() < 60000 ? silence() / 4 : 15000);
  }
  if (!result) result = trunkline_server_new_with(S("scars"), S("1.0.0"), options, server, error);
  if (!result) result = trunkline_server_set_lifespan(*server, NULL, NULL, NULL, NULL, error);
  trunkline_server_options_free(options);
  return result;
}

/* In server_mounted.c. */
trunkline_result run_mounted(trunkline_server *server, trunkline_error **error);

#define AUTH "{\"resource\":\"http://127.0.0.1/mcp\",\"authorizationServers\":[\"https://login.example.com\"],\"verifier\":%llu}"

/* Callbacks leave calls without an outcome, and the verifier does for tokens other than "good". */
static trunkline_result add_careless(trunkline_server *server, trunkline_http_options *options, trunkline_error **error) {
  uint64_t verifier = 0;
  char auth[200];
  trunkline_result result = trunkline_server_add_middleware(server, S("[\"tools/call\"]"), audit, NULL, NULL, error);
  if (!result) result = trunkline_server_add(server, S("verifier"), S("{}"), verify, NULL, NULL, &verifier, error);
  snprintf(auth, sizeof auth, AUTH, (unsigned long long)verifier);
  return result ? result : trunkline_http_options_set_auth(options, trunkline_str_of(auth));
}

/* Until the tool "end" lets the program return, which does not close the listener. */
static trunkline_result dispatch_until_end(trunkline_server *server, trunkline_error **error) {
  trunkline_result result = TRUNKLINE_OK;
  while (!result && !is_returning) {
    result = trunkline_dispatch(trunkline_server_port(server), TRUNKLINE_NO_TIMEOUT, NULL, error);
  }
  return result;
}

static trunkline_result run_http(trunkline_server *server, bool is_leaving, trunkline_error **error) {
  trunkline_http_options *options = NULL;
  trunkline_listener *listener = NULL;
  trunkline_result result = trunkline_http_options_new(&options, error);
  if (!result) result = trunkline_http_options_set_port(options, (uint16_t)atoi(getenv("PORT") ? getenv("PORT") : "0"));
  if (!result) result = trunkline_http_options_set_idle_timeout_ms(options, silence());
  if (!result) result = trunkline_http_options_set_write_timeout_ms(options, silence());
  if (!result && getenv("THROWS")) result = add_careless(server, options, error);
  if (!result) result = trunkline_server_listen_http(server, options, &listener, error);
  if (!result) {
    trunkline_str url = trunkline_listener_url(listener);
    printf("%.*s\n", (int)url.len, url.data);
    fflush(stdout);
    result = is_leaving ? dispatch_until_end(server, error) : trunkline_server_run(server, error);
  }
  trunkline_http_options_free(options);
  if (!is_leaving) trunkline_listener_free(listener);
  return result;
}

static trunkline_result run(trunkline_server *server, const char *way, trunkline_error **error) {
  if (strcmp(way, "stdio") == 0) return trunkline_server_serve_stdio(server, error);
  if (strcmp(way, "http") == 0 || strcmp(way, "listen") == 0) {
    return run_http(server, strcmp(way, "listen") == 0, error);
  }
  return run_mounted(server, error);
}

/* Like "slow", and restarted whenever its process ends. */
static trunkline_result add_again(trunkline_server *server, trunkline_error **error) {
  trunkline_tool_options *options = NULL;
  trunkline_result result = trunkline_tool_options_new(&options, error);
  if (!result) result = trunkline_tool_options_set_restart_task(options, true);
  if (!result)
    result = trunkline_server_add_tool_with(server, TASK("again", NUMBER("ms")), options, slow, NULL, NULL, error);
  trunkline_tool_options_free(options);
  return result;
}

int main(int count, char **arguments) {
  trunkline_server *server = NULL;
  trunkline_error *error = NULL;
  int failed = make(&server, &error);
  if (!failed) failed = trunkline_server_add_tool(server, TOOL("echo", TEXT("message")), echo, NULL, NULL, &error);
  if (!failed) failed = trunkline_server_add_tool(server, TASK("slow", NUMBER("ms")), slow, NULL, NULL, &error);
  if (!failed) failed = add_again(server, &error);
  if (!failed) failed = trunkline_server_add_tool(server, TOOL("block", NUMBER("ms")), block, NULL, NULL, &error);
  if (!failed) failed = trunkline_server_add_tool(server, TOOL("stray", ""), stray, NULL, NULL, &error);
  if (!failed) failed = trunkline_server_add_tool(server, TOOL("end", TEXT("how")), end, NULL, NULL, &error);
  if (!failed) failed = trunkline_server_add_tool(server, TOOL("fail", ""), fail, NULL, NULL, &error);
  if (!failed) failed = trunkline_server_add_tool(server, TOOL("flood", NUMBER("count")), flood, NULL, NULL, &error);
  if (!failed) failed = trunkline_server_add_tool(server, TOOL("touch", TEXT("number")), touch, server, NULL, &error);
  if (!failed) failed = trunkline_server_add_tool(server, TOOL("plan", ""), plan, NULL, NULL, &error);
  if (!failed) failed = trunkline_server_add_tool(server, TOOL("halves", TEXT("place")), halves, NULL, NULL, &error);
  if (!failed) failed = trunkline_server_add_tool(server, TOOL("match", PATTERNS), match, NULL, NULL, &error);
  if (!failed) failed = trunkline_server_add_prompt(server,
                                                    S("{\"name\":\"packing\",\"arguments\":[{\"name\":\"city\"}]}"),
                                                    packing, NULL, NULL, &error);
  if (!failed) failed = trunkline_server_add_completion(server, S("{\"type\":\"ref/prompt\",\"name\":\"packing\"}"),
                                                        S("city"), complete_city, NULL, NULL, &error);
  if (!failed) failed = trunkline_server_add_resource_template(server, MOOD, mood, NULL, NULL, &error);
  if (!failed) failed = run(server, count > 1 ? arguments[1] : "http", &error);
  if (error) fprintf(stderr, "%s\n", trunkline_error_message(error));
  trunkline_error_free(error);
  trunkline_server_free(server);
  return failed != 0;
}
