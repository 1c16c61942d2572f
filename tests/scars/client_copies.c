/* `client copies PATH`: the library that this program is linked with, and a copy of it at PATH that
 * is opened, used and closed in addition, as plugins do. Prints the total seconds. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <trunkline.h>

#define CALLS 20
#define TOOL "{\"name\": \"echo\", \"inputSchema\": {\"type\": \"object\"}}"

void use_copies(const char *path);

typedef struct {
  void *handle;
  __typeof__(trunkline_server_new) *server_new;
  __typeof__(trunkline_server_add_tool) *server_add_tool;
  __typeof__(trunkline_server_free) *server_free;
  __typeof__(trunkline_client_connect_memory) *client_connect_memory;
  __typeof__(trunkline_client_call_tool) *client_call_tool;
  __typeof__(trunkline_client_free) *client_free;
  __typeof__(trunkline_call_text) *call_text;
  __typeof__(trunkline_call_return_text) *call_return_text;
  __typeof__(trunkline_text_str) *text_str;
  __typeof__(trunkline_text_free) *text_free;
} library;

typedef struct {
  library *of;
  trunkline_server *server;
  trunkline_client *client;
} pair;

static void *function(void *handle, const char *name) {
  void *found = dlsym(handle, name);
  if (!found) {
    fprintf(stderr, "%s\n", dlerror());
    exit(1);
  }
  return found;
}

/* ISO C cannot convert an object pointer to a function pointer; POSIX allows this. */
#define FIND(name) *(void **)&found->name = function(found->handle, "trunkline_" #name)

static void open_library(const char *path, library *found) {
  found->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!found->handle) {
    fprintf(stderr, "%s\n", dlerror());
    exit(1);
  }
  FIND(server_new);
  FIND(server_add_tool);
  FIND(server_free);
  FIND(client_connect_memory);
  FIND(client_call_tool);
  FIND(client_free);
  FIND(call_text);
  FIND(call_return_text);
  FIND(text_str);
  FIND(text_free);
}

static void echo(trunkline_call *call, void *user_data) {
  library *of = (library *)user_data;
  of->call_return_text(call, of->call_text(call, TRUNKLINE_STR("/message"), TRUNKLINE_STR("")));
}

static pair begin(library *of) {
  pair made = {NULL, NULL, NULL};
  made.of = of;
  if (of->server_new(TRUNKLINE_STR("copies"), TRUNKLINE_STR("1"), &made.server, NULL) ||
      of->server_add_tool(made.server, TRUNKLINE_STR(TOOL), echo, of, NULL, NULL) ||
      of->client_connect_memory(made.server, NULL, &made.client, NULL))
    abort();
  return made;
}

static void call(pair *one) {
  trunkline_text *answer = NULL;
  if (one->of->client_call_tool(one->client, TRUNKLINE_STR("echo"), TRUNKLINE_STR("{\"message\": \"again\"}"), NULL,
                                &answer, NULL) ||
      !strstr(one->of->text_str(answer).data, "again"))
    abort();
  one->of->text_free(answer);
}

static void end(pair *one) {
  one->of->client_free(one->client);
  one->of->server_free(one->server);
}

void use_copies(const char *path) {
  struct timespec start, stop;
  library linked, copy, twice;
  pair ours, theirs;
  int round, number;
  clock_gettime(CLOCK_MONOTONIC, &start);
  open_library(NULL, &linked);
  ours = begin(&linked);
  for (round = 0; round < 3; ++round) {
    open_library(path, &copy);
    open_library(path, &twice);
    theirs = begin(&copy);
    for (number = 0; number < CALLS; ++number) call(&ours), call(&theirs);
    if (dlclose(twice.handle)) abort();
    call(&theirs);
    end(&theirs);
    if (dlclose(copy.handle)) abort();
    call(&ours);
  }
  end(&ours);
  clock_gettime(CLOCK_MONOTONIC, &stop);
  printf("%f\n", (double)(stop.tv_sec - start.tv_sec) + (double)(stop.tv_nsec - start.tv_nsec) / 1e9);
}
