/* Custom stores. A part of suite.c. */

/* An item: a string, or a log entry if it has a position. */
typedef struct {
  char key[520];
  char *text;
  size_t length;
  int64_t position;
  uint64_t ends;
} kept_item;

typedef struct {
  kept_item items[200];
  size_t count;
  int64_t position;
  /* Its answer instead of the correct one; "" for none, "!" for a failure, "?" for silence. */
  const char *fault;
  size_t destroyed;
  /* The calls that it does not answer. */
  trunkline_call *held[64];
  size_t held_count;
} own_store;

static const trunkline_str NO_TEXT = {NULL, 0};

static bool of_key(const kept_item *item, trunkline_str key) {
  return strlen(item->key) == key.len && memcmp(item->key, key.data, key.len) == 0;
}

/* Takes away the items of a key, and those whose time is over. */
static void forget_items(own_store *kept, trunkline_str key) {
  size_t from, to = 0;
  for (from = 0; from < kept->count; ++from) {
    if (kept->items[from].ends <= now_ms() || (key.data && of_key(&kept->items[from], key))) free(kept->items[from].text);
    else kept->items[to++] = kept->items[from];
  }
  kept->count = to;
}

static void add_item(own_store *kept, trunkline_str key, trunkline_str text, int64_t position, uint64_t ends) {
  kept_item *item = &kept->items[kept->count++];
  CHECK(kept->count <= sizeof kept->items / sizeof *kept->items && key.len < sizeof item->key);
  memcpy(item->key, key.data, key.len), item->key[key.len] = '\0';
  item->text = (char *)malloc(text.len + 1), item->length = text.len;
  memcpy(item->text, text.data, text.len);
  item->position = position, item->ends = ends;
}

static uint64_t end_of(trunkline_call *call) {
  return now_ms() + (uint64_t)trunkline_call_int64(call, S("/keepForMs"), 0);
}

static const kept_item *kept_text(own_store *kept, trunkline_call *call) {
  size_t number;
  forget_items(kept, NO_TEXT);
  for (number = 0; number < kept->count; ++number) {
    if (of_key(&kept->items[number], trunkline_call_text(call, S("/key"), NO_TEXT))) return &kept->items[number];
  }
  return NULL;
}

static void put_item(own_store *kept, trunkline_call *call) {
  const trunkline_str key = trunkline_call_text(call, S("/key"), NO_TEXT);
  forget_items(kept, key);
  add_item(kept, key, trunkline_call_text(call, S("/text"), NO_TEXT), 0, end_of(call));
}

/* Acts like a store with the configured fault; false if there is none. */
static bool has_fault(own_store *kept, trunkline_call *call) {
  if (!kept->fault) return false;
  if (*kept->fault == '!') CHECK(trunkline_call_fail(call, S("the database is gone")) == TRUNKLINE_OK);
  else if (*kept->fault == '?') kept->held[kept->held_count++ % 64] = trunkline_call_retain(call);
  else if (*kept->fault) CHECK(trunkline_call_return_result(call, trunkline_str_of(kept->fault), NULL) == TRUNKLINE_OK);
  else CHECK(trunkline_call_fail_protocol(call, -1, S("no space"), S("{\"error\":\"full\"}"), NULL) == TRUNKLINE_OK);
  return true;
}

static void finish_answer(trunkline_call *call, trunkline_json_writer *writer) {
  trunkline_text *answer = NULL;
  OK(trunkline_json_writer_finish(writer, &answer, &error));
  CHECK(trunkline_call_return_result(call, trunkline_text_str(answer), NULL) == TRUNKLINE_OK);
  trunkline_text_free(answer);
  trunkline_json_writer_free(writer);
}

static void own_get(trunkline_call *call, void *data) {
  const kept_item *found;
  trunkline_json_writer *writer = NULL;
  if (has_fault((own_store *)data, call)) return;
  found = kept_text((own_store *)data, call);
  OK(trunkline_json_writer_new(&writer, &error));
  trunkline_json_writer_begin_object(writer);
  if (found) {
    const trunkline_str text = {found->text, found->length};
    trunkline_json_writer_key(writer, S("text"));
    trunkline_json_writer_text(writer, text);
  }
  trunkline_json_writer_end(writer);
  finish_answer(call, writer);
}

static void own_put(trunkline_call *call, void *data) {
  if (has_fault((own_store *)data, call)) return;
  put_item((own_store *)data, call);
  CHECK(trunkline_call_return_result(call, S("{}"), NULL) == TRUNKLINE_OK);
}

static void own_put_if(trunkline_call *call, void *data) {
  const trunkline_str expected = trunkline_call_text(call, S("/expected"), NO_TEXT);
  const kept_item *found;
  bool done;
  if (has_fault((own_store *)data, call)) return;
  found = kept_text((own_store *)data, call);
  done = found ? expected.data && expected.len == found->length && memcmp(expected.data, found->text, expected.len) == 0
               : !expected.data;
  if (done) put_item((own_store *)data, call);
  CHECK(trunkline_call_return_result(call, done ? S("{\"done\":true}") : S("{\"done\":false}"), NULL) == TRUNKLINE_OK);
}

static void own_remove(trunkline_call *call, void *data) {
  if (has_fault((own_store *)data, call)) return;
  forget_items((own_store *)data, trunkline_call_text(call, S("/key"), NO_TEXT));
  CHECK(trunkline_call_return_result(call, S("{}"), NULL) == TRUNKLINE_OK);
}

static void own_append(trunkline_call *call, void *data) {
  own_store *kept = (own_store *)data;
  const trunkline_str log = trunkline_call_text(call, S("/log"), NO_TEXT);
  const uint64_t ends = end_of(call);
  int64_t surplus = 1 - trunkline_call_int64(call, S("/maxEntries"), 1);
  char answer[40];
  size_t number;
  if (has_fault(kept, call)) return;
  forget_items(kept, NO_TEXT);
  for (number = 0; number < kept->count; ++number) surplus += of_key(&kept->items[number], log);
  for (number = 0; number < kept->count; ++number) {
    if (of_key(&kept->items[number], log)) kept->items[number].ends = surplus-- > 0 ? 0 : ends;
  }
  forget_items(kept, NO_TEXT);
  add_item(kept, log, trunkline_call_text(call, S("/entry"), NO_TEXT), ++kept->position, ends);
  snprintf(answer, sizeof answer, "{\"position\":%ld}", (long)kept->position);
  CHECK(trunkline_call_return_result(call, trunkline_str_of(answer), NULL) == TRUNKLINE_OK);
}

static void own_read(trunkline_call *call, void *data) {
  own_store *kept = (own_store *)data;
  const trunkline_str log = trunkline_call_text(call, S("/log"), NO_TEXT);
  const int64_t after = trunkline_call_int64(call, S("/after"), 0);
  int64_t left = trunkline_call_int64(call, S("/limit"), 0);
  trunkline_json_writer *writer = NULL;
  size_t number;
  if (has_fault(kept, call)) return;
  forget_items(kept, NO_TEXT);
  OK(trunkline_json_writer_new(&writer, &error));
  trunkline_json_writer_begin_object(writer);
  trunkline_json_writer_key(writer, S("entries"));
  trunkline_json_writer_begin_array(writer);
  for (number = 0; number < kept->count && left > 0; ++number) {
    const kept_item *entry = &kept->items[number];
    const trunkline_str text = {entry->text, entry->length};
    if (!of_key(entry, log) || entry->position <= after) continue;
    trunkline_json_writer_begin_object(writer);
    trunkline_json_writer_key(writer, S("position"));
    trunkline_json_writer_int64(writer, entry->position);
    trunkline_json_writer_key(writer, S("text"));
    trunkline_json_writer_text(writer, text);
    trunkline_json_writer_end(writer);
    --left;
  }
  trunkline_json_writer_end(writer);
  trunkline_json_writer_end(writer);
  finish_answer(call, writer);
}

static void destroy_own(void *data) {
  own_store *kept = (own_store *)data;
  while (kept->count > 0) free(kept->items[--kept->count].text);
  ++kept->destroyed;
}

static trunkline_server *with_own_store(own_store *kept) {
  static const trunkline_store store = {own_get, own_put, own_put_if, own_remove, own_append, own_read};
  trunkline_server_options *options = NULL;
  trunkline_server *server = NULL;
  OK(trunkline_server_options_new(&options, &error));
  CHECK(trunkline_server_options_set_own_store(options, &store, kept, destroy_own) == TRUNKLINE_OK);
  CHECK(trunkline_server_options_set_limit(options, TRUNKLINE_LIMIT_STORE_DEADLINE_MS, 300) == TRUNKLINE_OK);
  OK(trunkline_server_new_with(S("kept"), S("1"), options, &server, &error));
  trunkline_server_options_free(options);
  OK(trunkline_server_add_tool(server, S(ECHO), echo, NULL, NULL, &error));
  OK(trunkline_server_add_tool(
      server, S("{\"name\":\"report\",\"inputSchema\":{\"type\":\"object\"},\"execution\":{\"taskSupport\":\"optional\"}}"),
      answer_report, NULL, NULL, &error));
  return server;
}

static void own_stores(void) {
  static const char *const faults[] = {"!", "", "{}", "{\"done\":1}", "?"};
  static own_store kept, faulty;
  static const trunkline_store half = {own_get, own_put, NULL, own_remove, own_append, own_read};
  trunkline_server *server = with_own_store(&kept);
  trunkline_server_options *options = NULL;
  trunkline_server *none = NULL;
  trunkline_text *findings = NULL;
  trunkline_error *refused = NULL;
  size_t number;
  OK(trunkline_server_check_store(server, &findings, &error));
  if (trunkline_text_str(findings).len) fprintf(stderr, "%s\n", trunkline_text_str(findings).data);
  CHECK(trunkline_text_str(findings).len == 0 && kept.count == 0);
  trunkline_text_free(findings);
  read_elsewhere(server, server);
  trunkline_server_free(server);
  CHECK(kept.destroyed == 1);

  for (number = 0; number < sizeof faults / sizeof *faults; ++number) {
    server = with_own_store(&faulty);
    faulty.fault = faults[number];
    /* Of the kind busy, within the deadline; everything else continues. */
    without_store(server);
    faulty.fault = NULL;
    trunkline_server_free(server);
    while (faulty.held_count > 0) trunkline_call_free(faulty.held[--faulty.held_count]);
    CHECK(faulty.destroyed == number + 1);
  }

  OK(trunkline_server_options_new(&options, &error));
  CHECK(trunkline_server_options_set_own_store(options, &half, &faulty, destroy_own) == TRUNKLINE_NULL);
  CHECK(faulty.destroyed == number + 1);
  CHECK(trunkline_server_new_with(S("kept"), S("1"), options, &none, &refused) != TRUNKLINE_OK);
  CHECK(strstr(trunkline_error_message(refused), "store.put_if"));
  trunkline_error_free(refused);
  trunkline_server_options_free(options);
}
