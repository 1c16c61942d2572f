/* Closed clients and servers leak no resources. A part of suite.c. */

#ifdef __linux__
#include <dirent.h>

enum { DESCRIPTORS, THREADS, CHILDREN, KINDS };

/* Counts this process's resources through /proc. */
static void count_held(int counts[KINDS]) {
  DIR *folder = opendir("/proc/self/fd");
  struct dirent *entry;
  memset(counts, 0, KINDS * sizeof *counts);
  CHECK(folder);
  while ((entry = readdir(folder))) counts[DESCRIPTORS] += entry->d_name[0] != '.';
  closedir(folder);
  CHECK((folder = opendir("/proc/self/task")));
  while ((entry = readdir(folder))) {
    char path[300];
    FILE *children;
    int child;
    if (entry->d_name[0] == '.') continue;
    ++counts[THREADS];
    snprintf(path, sizeof path, "/proc/self/task/%s/children", entry->d_name);
    children = fopen(path, "r");
    if (!children) continue; /* it has ended meanwhile */
    while (fscanf(children, "%d", &child) == 1) ++counts[CHILDREN];
    fclose(children);
  }
  closedir(folder);
}

static void open_and_close_memory(void) {
  trunkline_server *server = new_server();
  trunkline_client *client = in_memory(server);
  check_echo(client, "{\"message\":\"x\"}", "x");
  OK(trunkline_client_close(client, 5000, &error));
  trunkline_client_free(client);
  trunkline_server_free(server);
}

static void open_and_close_child(void) {
  trunkline_client *client = NULL;
  trunkline_str command[2];
  command[0] = trunkline_str_of(program);
  command[1] = S("--serve-stdio");
  OK(trunkline_client_connect_child(command, 2, NULL, &client, &error));
  check_echo(client, "{\"message\":\"x\"}", "x");
  OK(trunkline_client_close(client, 5000, &error));
  trunkline_client_free(client);
}

static void open_and_close_http(void) {
  trunkline_server *server = new_server();
  trunkline_listener *listener = listen_http(server);
  thread_task task = {run_server, NULL};
  thread runner;
  trunkline_client *client = NULL;
  task.data = server;
  thread_start(&runner, &task);
  OK(trunkline_client_connect_http(trunkline_listener_url(listener), NULL, &client, &error));
  check_echo(client, "{\"message\":\"x\"}", "x");
  OK(trunkline_client_close(client, 5000, &error));
  trunkline_client_free(client);
  CHECK(trunkline_server_stop(server) == TRUNKLINE_OK);
  thread_join(runner);
  trunkline_listener_free(listener);
  trunkline_server_free(server);
}

static void check_held(void (*open_and_close)(void)) {
  unsigned long long end = now_ms() + patience_ms(30000);
  int before[KINDS], after[KINDS], round, kind = 0;
  /* Threads of the runtime and of its pools are started once. */
  for (round = 0; round < 3; ++round) open_and_close();
  count_held(before);
  for (round = 0; round < 10; ++round) open_and_close();
  /* Some of it ends a moment after the close. */
  do {
    count_held(after);
    for (kind = 0; kind < KINDS && after[kind] <= before[kind]; ++kind)
      ;
    if (kind < KINDS) sleep_ms(50);
  } while (kind < KINDS && now_ms() < end);
  if (kind < KINDS) {
    fprintf(stderr, "descriptors, threads, children: %d %d %d before, %d %d %d after\n", before[0], before[1],
            before[2], after[0], after[1], after[2]);
  }
  CHECK(kind == KINDS);
}
#endif

static void closed_leaves_nothing(void) {
#ifdef __linux__
  check_held(open_and_close_memory);
  check_held(open_and_close_child);
  check_held(open_and_close_http);
#endif
}
