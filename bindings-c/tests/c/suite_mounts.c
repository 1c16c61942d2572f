/* Mounted servers, and clients and middleware that are difficult: `tests/mounts.json`. The
 * program's web server is played by the scenario. */

/* More than the buffers of sockets hold. */
#define MOUNTED_LARGE_BYTES 8000000
#define MOUNTED_AT "/api/v1/mcp"

/* The received part of a response. */
typedef struct {
  trunkline_http_exchange *exchange;
  int status, ends;
  /* True if the client reads the response. */
  bool reads, has_progress, has_echo, has_released;
  trunkline_result result;
  size_t length;
  char session[128], cache_control[64], connection[32];
} mount_response;

/* A mounted server, and the call that waits in it. */
typedef struct {
  trunkline_server *server;
  trunkline_listener *listener;
  trunkline_call *waiting;
  /* The host of the requests. */
  const char *host;
  /* The outcome of the case, in JSON. */
  char seen[512];
} mount_site;

static void mount_head(uint16_t status, const trunkline_http_header *headers, size_t count, void *user_data) {
  mount_response *seen = (mount_response *)user_data;
  size_t index;
  seen->status = status;
  for (index = 0; index < count; ++index) {
    see_header(&headers[index], "mcp-session-id", seen->session, sizeof seen->session);
    see_header(&headers[index], "cache-control", seen->cache_control, sizeof seen->cache_control);
    see_header(&headers[index], "connection", seen->connection, sizeof seen->connection);
  }
}

static bool mount_has(const void *data, size_t len, const char *part) {
  const char *at = (const char *)data, *end = at + len;
  size_t length = strlen(part);
  for (; at + length <= end; ++at)
    if (memcmp(at, part, length) == 0) return true;
  return false;
}

static void mount_chunk(const void *data, size_t len, void *user_data) {
  mount_response *seen = (mount_response *)user_data;
  seen->length += len;
  if (len < 4096) {
    seen->has_progress = seen->has_progress || mount_has(data, len, "notifications/progress");
    seen->has_echo = seen->has_echo || mount_has(data, len, "echoed");
    seen->has_released = seen->has_released || mount_has(data, len, "released");
  }
  if (seen->reads) CHECK(trunkline_http_credit(seen->exchange, len) == TRUNKLINE_OK);
}

static void mount_end(trunkline_result result, const trunkline_error *error, void *user_data) {
  mount_response *seen = (mount_response *)user_data;
  (void)error;
  ++seen->ends;
  seen->result = result;
}

static void mount_waits(trunkline_call *call, void *user_data) {
  CHECK(trunkline_call_progress(call, 1, 0, NOTHING) == TRUNKLINE_OK);
  ((mount_site *)user_data)->waiting = trunkline_call_retain(call);
}

static char *mount_letters(trunkline_str *text) {
  char *letters = (char *)malloc(MOUNTED_LARGE_BYTES);
  CHECK(letters != NULL);
  memset(letters, 'x', MOUNTED_LARGE_BYTES);
  text->data = letters, text->len = MOUNTED_LARGE_BYTES;
  return letters;
}

static void mount_large(trunkline_call *call, void *user_data) {
  trunkline_str text;
  char *letters = mount_letters(&text);
  (void)user_data;
  CHECK(trunkline_call_progress(call, 1, 0, NOTHING) == TRUNKLINE_OK);
  CHECK(trunkline_call_return_text(call, text) == TRUNKLINE_OK);
  free(letters);
}

static void mount_fills(trunkline_call *call, void *user_data) {
  trunkline_str text;
  char *letters = mount_letters(&text);
  CHECK(trunkline_call_progress(call, 1, 2, text) == TRUNKLINE_OK);
  free(letters);
  mount_waits(call, user_data);
}

static void mount_open(mount_site *site, bool json, const char *path) {
  trunkline_http_options *options = NULL;
  memset(site, 0, sizeof *site);
  site->host = "localhost";
  site->server = new_server();
  add(site->server, S("{\"name\":\"waits\",\"inputSchema\":{\"type\":\"object\"}}"), mount_waits, site);
  add(site->server, S("{\"name\":\"large\",\"inputSchema\":{\"type\":\"object\"}}"), mount_large, site);
  add(site->server, S("{\"name\":\"fills\",\"inputSchema\":{\"type\":\"object\"}}"), mount_fills, site);
  OK(trunkline_http_options_new(&options, &error));
  CHECK(trunkline_http_options_set_json(options, json) == TRUNKLINE_OK);
  if (*path) CHECK(trunkline_http_options_set_path(options, trunkline_str_of(path)) == TRUNKLINE_OK);
  OK(trunkline_server_mount_http(site->server, options, &site->listener, &error));
  trunkline_http_options_free(options);
}

static void mount_close(mount_site *site) {
  trunkline_call_free(site->waiting);
  trunkline_listener_free(site->listener);
  trunkline_server_free(site->server);
}

/* Dispatches until something is true. */
#define MOUNT_UNTIL(site, condition)                                                       \
  do {                                                                                     \
    uint64_t deadline_ = now_ms() + patience_ms(20000);                                    \
    while (!(condition) && now_ms() < deadline_)                                           \
      OK(trunkline_dispatch(trunkline_server_port((site)->server), 20, NULL, &error));     \
    CHECK(condition);                                                                      \
  } while (0)

/* A call of a tool: of 2026-07-28, or in a session. */
static void mount_message(char *message, size_t size, const char *tool, const char *session) {
  snprintf(message, size,
           "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"%s\",\"arguments\":%s,\"_meta\":{%s"
           "\"progressToken\":1}}}",
           tool, strcmp(tool, "echo") == 0 ? "{\"message\":\"echoed\"}" : "{}",
           *session ? ""
                    : "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":{},"
                      "\"io.modelcontextprotocol/clientInfo\":{\"name\":\"difficult\",\"version\":\"1\"},");
}

/* Begins a request; its body follows. */
static void mount_begin(mount_site *site, mount_response *seen, const char *method, const char *path, const char *tool,
                        const char *session) {
  trunkline_http_header headers[6];
  size_t count = 3;
  memset(seen, 0, sizeof *seen);
  seen->reads = true;
  headers[0].name = S("host"), headers[0].value = trunkline_str_of(site->host);
  headers[1].name = S("content-type"), headers[1].value = S("application/json");
  headers[2].name = S("accept"), headers[2].value = S("application/json, text/event-stream");
  if (*session) {
    headers[3].name = S("mcp-session-id"), headers[3].value = trunkline_str_of(session);
    headers[4].name = S("mcp-protocol-version"), headers[4].value = S("2025-11-25");
    count = 5;
  } else if (*tool) {
    headers[3].name = S("mcp-protocol-version"), headers[3].value = S("2026-07-28");
    headers[4].name = S("mcp-method"), headers[4].value = S("tools/call");
    headers[5].name = S("mcp-name"), headers[5].value = trunkline_str_of(tool);
    count = 6;
  }
  OK(trunkline_http_request(site->listener, trunkline_str_of(method), trunkline_str_of(path), headers, count, NOTHING,
                            strcmp(method, "GET") == 0, mount_head, mount_chunk, mount_end, seen, NULL, &seen->exchange, &error));
}

static void mount_call(mount_site *site, mount_response *seen, const char *tool, const char *session) {
  char message[600];
  mount_message(message, sizeof message, tool, session);
  mount_begin(site, seen, "POST", MOUNTED_AT, tool, session);
  OK(trunkline_http_body(seen->exchange, message, strlen(message), true, NULL, &error));
}

static void mount_finish(mount_site *site, mount_response *seen) {
  MOUNT_UNTIL(site, seen->ends);
  trunkline_http_exchange_free(seen->exchange);
}

static const char *mount_others(mount_site *site) {
  mount_response seen;
  mount_call(site, &seen, "echo", "");
  mount_finish(site, &seen);
  return seen.status == 200 && seen.has_echo ? "served" : "refused";
}

/* Opens a session, whose id is in the response. */
static void mount_session(mount_site *site, mount_response *opened) {
  mount_begin(site, opened, "POST", MOUNTED_AT, "", "");
  OK(trunkline_http_body(opened->exchange, OPENING, strlen(OPENING), true, NULL, &error));
  mount_finish(site, opened);
  CHECK(opened->status == 200 && *opened->session);
}

/* The library waits for credit; the program gives up a client that takes too long to read. */
static void mount_stuck_reader(mount_site *site, const char *tool) {
  bool fills = strcmp(tool, "fills") == 0;
  mount_response seen;
  const char *others;
  mount_call(site, &seen, tool, "");
  seen.reads = false;
  MOUNT_UNTIL(site, seen.length == 65536 && (!fills || site->waiting));
  others = mount_others(site);
  CHECK(seen.length == 65536 && !seen.ends);
  CHECK(trunkline_http_cancel(seen.exchange) == TRUNKLINE_OK);
  MOUNT_UNTIL(site, seen.ends && (!fills || trunkline_call_cancelled(site->waiting)));
  CHECK(seen.length == 65536 && seen.result == TRUNKLINE_CANCELLED);
  trunkline_http_exchange_free(seen.exchange);
  snprintf(site->seen, sizeof site->seen, "{\"response\":\"given up\",\"others\":\"%s\"%s}", others,
           fills ? ",\"call\":\"cancelled\"" : "");
}

static void mount_slow_reader(mount_site *site, const char *tool) {
  mount_response seen;
  size_t granted = 65536;
  mount_call(site, &seen, tool, "");
  seen.reads = false;
  while (!seen.ends) {
    size_t before = seen.length;
    MOUNT_UNTIL(site, seen.ends || seen.length == granted);
    CHECK(seen.length <= granted && (seen.ends || seen.length > before));
    CHECK(trunkline_http_credit(seen.exchange, 65536) == TRUNKLINE_OK);
    granted += 65536;
  }
  CHECK(seen.result == TRUNKLINE_OK);
  trunkline_http_exchange_free(seen.exchange);
  snprintf(site->seen, sizeof site->seen, "{\"response\":\"%s\"}", seen.length > MOUNTED_LARGE_BYTES ? "complete" : "cut");
}

static void mount_slow_body(mount_site *site, const char *tool) {
  mount_response seen;
  char message[600];
  const char *others;
  mount_message(message, sizeof message, tool, "");
  mount_begin(site, &seen, "POST", MOUNTED_AT, tool, "");
  OK(trunkline_http_body(seen.exchange, message, 20, false, NULL, &error));
  others = mount_others(site);
  OK(trunkline_http_body(seen.exchange, message + 20, strlen(message) - 20, true, NULL, &error));
  mount_finish(site, &seen);
  snprintf(site->seen, sizeof site->seen, "{\"response\":\"%s\",\"others\":\"%s\"}", seen.has_echo ? "complete" : "lost", others);
}

static void mount_body_beyond_the_limit(mount_site *site, const char *tool) {
  mount_response seen;
  bool wanted = true;
  size_t passed = 0;
  char spaces[65536];
  memset(spaces, ' ', sizeof spaces);
  mount_begin(site, &seen, "POST", MOUNTED_AT, tool, "");
  for (; wanted && passed < (size_t)20 * MOUNTED_LARGE_BYTES; passed += sizeof spaces)
    OK(trunkline_http_body(seen.exchange, spaces, sizeof spaces, false, &wanted, &error));
  CHECK(!wanted);
  mount_finish(site, &seen);
  snprintf(site->seen, sizeof site->seen, "{\"status\":%d,\"started\":%s}", seen.status, site->waiting ? "true" : "false");
}

static void mount_body_that_never_comes(mount_site *site, const char *tool) {
  mount_response seen;
  site->host = "evil.example";
  mount_begin(site, &seen, "POST", MOUNTED_AT, tool, "");
  mount_finish(site, &seen);
  /* A closing server would wait for open requests. */
  OK(trunkline_listener_start_close(site->listener, 600000, &error));
  MOUNT_UNTIL(site, trunkline_listener_closed(site->listener));
  snprintf(site->seen, sizeof site->seen, "{\"status\":%d,\"open\":0}", seen.status);
}

static void mount_gone_within_its_body(mount_site *site, const char *tool) {
  mount_response seen;
  char message[600];
  mount_message(message, sizeof message, tool, "");
  mount_begin(site, &seen, "POST", MOUNTED_AT, tool, "");
  OK(trunkline_http_body(seen.exchange, message, 20, false, NULL, &error));
  trunkline_http_exchange_free(seen.exchange);
  /* A closing server would wait for open requests. */
  OK(trunkline_listener_start_close(site->listener, 600000, &error));
  MOUNT_UNTIL(site, trunkline_listener_closed(site->listener));
  snprintf(site->seen, sizeof site->seen, "{\"started\":%s,\"open\":%d}", site->waiting ? "true" : "false", seen.ends);
}

/* HTTP-24 */
static void mount_gone(mount_site *site, const char *tool) {
  mount_response seen;
  mount_call(site, &seen, tool, "");
  MOUNT_UNTIL(site, site->waiting);
  trunkline_http_exchange_free(seen.exchange);
  MOUNT_UNTIL(site, trunkline_call_cancelled(site->waiting));
  snprintf(site->seen, sizeof site->seen, "{\"call\":\"cancelled\"}");
}

#define TOLD "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":2}}"

/* HTTP-22 */
static void mount_legacy_client_gone(mount_site *site, const char *tool) {
  mount_response opened, seen, told;
  mount_session(site, &opened);
  mount_call(site, &seen, tool, opened.session);
  MOUNT_UNTIL(site, site->waiting);
  trunkline_http_exchange_free(seen.exchange);
  CHECK(strcmp(mount_others(site), "served") == 0 && !trunkline_call_cancelled(site->waiting));
  mount_begin(site, &told, "POST", MOUNTED_AT, "", opened.session);
  OK(trunkline_http_body(told.exchange, TOLD, strlen(TOLD), true, NULL, &error));
  mount_finish(site, &told);
  CHECK(told.status == 202);
  MOUNT_UNTIL(site, trunkline_call_cancelled(site->waiting));
  snprintf(site->seen, sizeof site->seen, "{\"call\":\"cancelled by its message\"}");
}

static void mount_deadline(mount_site *site, const char *tool) {
  mount_response seen;
  mount_call(site, &seen, tool, "");
  MOUNT_UNTIL(site, site->waiting);
  CHECK(trunkline_http_cancel(seen.exchange) == TRUNKLINE_OK);
  mount_finish(site, &seen);
  MOUNT_UNTIL(site, trunkline_call_cancelled(site->waiting));
  /* Without a head, the program can still respond itself. */
  snprintf(site->seen, sizeof site->seen, "{\"status\":%d,\"call\":\"cancelled\",\"others\":\"%s\"}",
           seen.status ? seen.status : 504, mount_others(site));
}

static void mount_shutdown(mount_site *site, const char *tool) {
  mount_response opened, stream, called, meanwhile;
  bool is_early;
  mount_session(site, &opened);
  mount_begin(site, &stream, "GET", MOUNTED_AT, "", opened.session);
  MOUNT_UNTIL(site, stream.status == 200);
  mount_call(site, &called, tool, "");
  MOUNT_UNTIL(site, site->waiting);
  OK(trunkline_listener_start_close(site->listener, 600000, &error));
  /* The stream ends while the call still runs. */
  mount_finish(site, &stream);
  is_early = !called.ends;
  mount_call(site, &meanwhile, "echo", "");
  mount_finish(site, &meanwhile);
  OK(trunkline_call_return_text(site->waiting, S("released")));
  mount_finish(site, &called);
  MOUNT_UNTIL(site, trunkline_listener_closed(site->listener));
  snprintf(site->seen, sizeof site->seen, "{\"stream\":\"%s\",\"call\":\"%s\",\"meanwhile\":%d,\"connection\":\"%s\"}",
           is_early ? "ended" : "late", called.has_released ? "complete" : "lost", meanwhile.status, meanwhile.connection);
}

static void mount_compression(mount_site *site, const char *tool) {
  mount_response seen;
  mount_call(site, &seen, tool, "");
  MOUNT_UNTIL(site, site->waiting && seen.has_progress);
  OK(trunkline_call_return_text(site->waiting, S("released")));
  mount_finish(site, &seen);
  snprintf(site->seen, sizeof site->seen, "{\"events\":\"at once\",\"call\":\"%s\",\"cacheControl\":\"%s\"}",
           seen.has_released ? "complete" : "lost", seen.cache_control);
}

static void mount_prefix(mount_site *site, const char *tool) {
  static const char *const paths[] = {MOUNTED_AT, MOUNTED_AT "/", MOUNTED_AT "?a=b", "/api/mcp", "/mcp"};
  char message[600];
  size_t index, length = 0;
  mount_message(message, sizeof message, tool, "");
  for (index = 0; index < sizeof paths / sizeof *paths; ++index) {
    mount_response seen;
    mount_begin(site, &seen, "POST", paths[index], tool, "");
    OK(trunkline_http_body(seen.exchange, message, strlen(message), true, NULL, &error));
    mount_finish(site, &seen);
    length += (size_t)snprintf(site->seen + length, sizeof site->seen - length, "%c\"%s\":%d", index ? ',' : '{', paths[index],
                               seen.status);
  }
  snprintf(site->seen + length, sizeof site->seen - length, "}");
}

static const struct {
  const char *name;
  void (*play)(mount_site *site, const char *tool);
} mount_plays[] = {
    {"stuck reader", mount_stuck_reader},
    {"slow reader", mount_slow_reader},
    {"slow body", mount_slow_body},
    {"body beyond the limit", mount_body_beyond_the_limit},
    {"body that never comes", mount_body_that_never_comes},
    {"gone within its body", mount_gone_within_its_body},
    {"gone", mount_gone},
    {"legacy client gone", mount_legacy_client_gone},
    {"deadline", mount_deadline},
    {"shutdown", mount_shutdown},
    {"compression", mount_compression},
    {"prefix", mount_prefix},
};

/* Compares members, which are in the order of the table. */
static void check_seen(trunkline_str row, const char *found) {
  trunkline_str wanted = NOTHING, key, value, found_key, found_value, json = trunkline_str_of(found);
  size_t cursor = 0, found_cursor = 0;
  bool is_same = true;
  CHECK(trunkline_json_get(row, S("/seen"), &wanted) == TRUNKLINE_OK);
  while (trunkline_json_next(wanted, &cursor, &key, &value) == TRUNKLINE_OK)
    is_same = is_same && trunkline_json_next(json, &found_cursor, &found_key, &found_value) == TRUNKLINE_OK &&
              key.len == found_key.len && memcmp(key.data, found_key.data, key.len) == 0 && value.len == found_value.len &&
              memcmp(value.data, found_value.data, value.len) == 0;
  if (!is_same) fprintf(stderr, "%.*s: %s\n", (int)row.len, row.data, found);
  CHECK(is_same && trunkline_json_next(json, &found_cursor, NULL, &found_value) == TRUNKLINE_NOT_FOUND);
}

static void play_mount(trunkline_str row, bool json) {
  trunkline_text *play = NULL, *tool = NULL;
  size_t index, count = sizeof mount_plays / sizeof *mount_plays;
  mount_site site;
  CHECK(trunkline_json_get_text(row, S("/play"), &play) == TRUNKLINE_OK);
  CHECK(trunkline_json_get_text(row, S("/tool"), &tool) == TRUNKLINE_OK);
  for (index = 0; index < count && !same(trunkline_text_str(play), mount_plays[index].name);) ++index;
  CHECK(index < count);
  mount_open(&site, json, same(trunkline_text_str(play), "prefix") ? MOUNTED_AT : "");
  mount_plays[index].play(&site, trunkline_text_str(tool).data);
  check_seen(row, site.seen);
  mount_close(&site);
  trunkline_text_free(play);
  trunkline_text_free(tool);
}

static void mounts(void) {
  char *table = (char *)malloc(65536);
  FILE *file = fopen("../tests/mounts.json", "rb");
  trunkline_str row, json;
  size_t cursor = 0, played = 0;
  CHECK(table && file);
  json.data = table, json.len = fread(table, 1, 65535, file);
  fclose(file);
  table[json.len] = '\0';
  while (trunkline_json_next(json, &cursor, NULL, &row) == TRUNKLINE_OK) {
    trunkline_text *reason = NULL;
    bool is_json = false;
    trunkline_json_get_bool(row, S("/options/json"), &is_json);
    if (trunkline_json_get_text(row, S("/lacks/C"), &reason) == TRUNKLINE_OK) {
      trunkline_text_free(reason);
      continue;
    }
    play_mount(row, is_json);
    ++played;
  }
  CHECK(played > 0);
  free(table);
}
