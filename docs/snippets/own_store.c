/* A custom store: a list here, a database in production. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <trunkline.h>

/* A string, or a log entry if it has a position. */
typedef struct item {
  struct item *next;
  char *key, *text;
  size_t key_length, text_length;
  int64_t position, ends;
} item;

typedef struct {
  item *first;
  int64_t position;
} list;

static const trunkline_str NONE = {NULL, 0};

static int64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

static int same(const char *text, size_t length, trunkline_str other) {
  return length == other.len && (length == 0 || memcmp(text, other.data, length) == 0);
}

static int has_key(const item *kept, trunkline_str key) { return same(kept->key, kept->key_length, key); }

/* Removes the items of a key, or without a key all expired items. */
static void forget(list *kept, trunkline_str key) {
  item **place = &kept->first, *gone;
  while ((gone = *place) != NULL) {
    if (key.data ? has_key(gone, key) : gone->ends <= now()) {
      *place = gone->next;
      free(gone->key), free(gone->text), free(gone);
    } else place = &gone->next;
  }
}

static char *copy(trunkline_str text) {
  char *copied = malloc(text.len + 1);
  if (!copied) abort();
  if (text.len) memcpy(copied, text.data, text.len);
  return copied;
}

static void add(list *kept, trunkline_str key, trunkline_str text, int64_t position, int64_t ends) {
  item **place = &kept->first, *added = malloc(sizeof *added);
  if (!added) abort();
  added->next = NULL, added->position = position, added->ends = ends;
  added->key = copy(key), added->key_length = key.len;
  added->text = copy(text), added->text_length = text.len;
  while (*place) place = &(*place)->next;
  *place = added;
}

/* The input of a call: the string at this key. */
static const item *text_of(list *kept, trunkline_call *call) {
  const trunkline_str key = trunkline_call_text(call, TRUNKLINE_STR("/key"), NONE);
  const item *found;
  forget(kept, NONE);
  for (found = kept->first; found && !has_key(found, key);) found = found->next;
  return found;
}

static void put_text(list *kept, trunkline_call *call) {
  const trunkline_str key = trunkline_call_text(call, TRUNKLINE_STR("/key"), NONE);
  const int64_t keep_for = trunkline_call_int64(call, TRUNKLINE_STR("/keepForMs"), 0);
  forget(kept, key);
  add(kept, key, trunkline_call_text(call, TRUNKLINE_STR("/text"), NONE), 0, now() + keep_for);
}

static void get(trunkline_call *call, void *kept) {
  const item *found = text_of(kept, call);
  trunkline_json_writer *writer = NULL;
  trunkline_text *answer = NULL;
  trunkline_json_writer_new(&writer, NULL);
  trunkline_json_writer_begin_object(writer);
  if (found) {
    const trunkline_str text = {found->text, found->text_length};
    trunkline_json_writer_key(writer, TRUNKLINE_STR("text"));
    trunkline_json_writer_text(writer, text);
  }
  trunkline_json_writer_end(writer);
  if (!trunkline_json_writer_finish(writer, &answer, NULL))
    trunkline_call_return_result(call, trunkline_text_str(answer), NULL);
  trunkline_text_free(answer);
  trunkline_json_writer_free(writer);
}

static void put(trunkline_call *call, void *kept) {
  put_text(kept, call);
  trunkline_call_return_result(call, TRUNKLINE_STR("{}"), NULL);
}

static void put_if(trunkline_call *call, void *kept) {
  const trunkline_str expected = trunkline_call_text(call, TRUNKLINE_STR("/expected"), NONE);
  const item *found = text_of(kept, call);
  /* Atomic because callbacks of a port run one at a time. With a database, use a transaction. */
  const int done = found ? expected.data && same(found->text, found->text_length, expected) : !expected.data;
  if (done) put_text(kept, call);
  trunkline_call_return_result(call, done ? TRUNKLINE_STR("{\"done\":true}") : TRUNKLINE_STR("{\"done\":false}"), NULL);
}

static void forget_key(trunkline_call *call, void *kept) {
  forget(kept, trunkline_call_text(call, TRUNKLINE_STR("/key"), NONE));
  trunkline_call_return_result(call, TRUNKLINE_STR("{}"), NULL);
}

static void append(trunkline_call *call, void *data) {
  list *kept = data;
  const trunkline_str log = trunkline_call_text(call, TRUNKLINE_STR("/log"), NONE);
  const int64_t ends = now() + trunkline_call_int64(call, TRUNKLINE_STR("/keepForMs"), 0);
  int64_t entries = 1 - trunkline_call_int64(call, TRUNKLINE_STR("/maxEntries"), 1);
  char answer[48];
  item *entry;
  forget(kept, NONE);
  for (entry = kept->first; entry; entry = entry->next) entries += has_key(entry, log);
  for (entry = kept->first; entry; entry = entry->next) {
    if (has_key(entry, log)) entry->ends = entries-- > 0 ? 0 : ends;
  }
  forget(kept, NONE);
  add(kept, log, trunkline_call_text(call, TRUNKLINE_STR("/entry"), NONE), ++kept->position, ends);
  snprintf(answer, sizeof answer, "{\"position\":%lld}", (long long)kept->position);
  trunkline_call_return_result(call, trunkline_str_of(answer), NULL);
}

/* A read need not wait for entries. */
static void read_log(trunkline_call *call, void *data) {
  list *kept = data;
  const trunkline_str log = trunkline_call_text(call, TRUNKLINE_STR("/log"), NONE);
  const int64_t after = trunkline_call_int64(call, TRUNKLINE_STR("/after"), 0);
  int64_t left = trunkline_call_int64(call, TRUNKLINE_STR("/limit"), 0);
  trunkline_json_writer *writer = NULL;
  trunkline_text *answer = NULL;
  const item *entry;
  forget(kept, NONE);
  trunkline_json_writer_new(&writer, NULL);
  trunkline_json_writer_begin_object(writer);
  trunkline_json_writer_key(writer, TRUNKLINE_STR("entries"));
  trunkline_json_writer_begin_array(writer);
  for (entry = kept->first; entry && left > 0; entry = entry->next) {
    const trunkline_str text = {entry->text, entry->text_length};
    if (!has_key(entry, log) || entry->position <= after) continue;
    trunkline_json_writer_begin_object(writer);
    trunkline_json_writer_key(writer, TRUNKLINE_STR("position"));
    trunkline_json_writer_int64(writer, entry->position);
    trunkline_json_writer_key(writer, TRUNKLINE_STR("text"));
    trunkline_json_writer_text(writer, text);
    trunkline_json_writer_end(writer);
    --left;
  }
  trunkline_json_writer_end(writer);
  trunkline_json_writer_end(writer);
  if (!trunkline_json_writer_finish(writer, &answer, NULL))
    trunkline_call_return_result(call, trunkline_text_str(answer), NULL);
  trunkline_text_free(answer);
  trunkline_json_writer_free(writer);
}

static void destroy(void *data) {
  list *kept = data;
  item *next;
  for (; kept->first; kept->first = next) {
    next = kept->first->next;
    free(kept->first->key), free(kept->first->text), free(kept->first);
  }
}

int main(void) {
  static const trunkline_store store = {get, put, put_if, forget_key, append, read_log};
  static list kept;
  trunkline_server_options *options = NULL;
  trunkline_server *server = NULL;
  trunkline_text *findings = NULL;
  trunkline_error *error = NULL;
  int failed = trunkline_server_options_new(&options, &error);
  if (!failed) failed = trunkline_server_options_set_own_store(options, &store, &kept, destroy);
  if (!failed) failed = trunkline_server_new_with(TRUNKLINE_STR("reports"), TRUNKLINE_STR("1.0.0"), options, &server,
                                                  &error);
  if (!failed) failed = trunkline_server_check_store(server, &findings, &error);
  if (failed) fprintf(stderr, "%s\n", trunkline_error_message(error));
  else puts(trunkline_text_str(findings).len ? trunkline_text_str(findings).data : "The store keeps its contract.");
  trunkline_text_free(findings);
  trunkline_server_options_free(options);
  trunkline_server_free(server);
  trunkline_error_free(error);
  return failed != 0;
}
