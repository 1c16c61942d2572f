/* `client threads COUNT`: calls from many threads over one port, some of which block while others
 * dispatch. Prints the seconds of the slowest call. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <trunkline.h>

#define CALLERS 6
#define DISPATCHERS 2

void call_from_threads(long count);

typedef struct {
  trunkline_client *client;
  long calls;
  double slowest;
} caller;

static volatile int are_done;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void echo(trunkline_call *call, void *user_data) {
  (void)user_data;
  trunkline_call_return_text(call, trunkline_call_text(call, TRUNKLINE_STR("/message"), TRUNKLINE_STR("")));
}

static void *block(void *data) {
  caller *self = (caller *)data;
  while (self->calls-- > 0) {
    trunkline_text *answer = NULL;
    double start = now();
    if (trunkline_client_call_tool(self->client, TRUNKLINE_STR("echo"), TRUNKLINE_STR("{\"message\": \"x\"}"), NULL,
                                   &answer, NULL))
      abort();
    trunkline_text_free(answer);
    if (now() - start > self->slowest) self->slowest = now() - start;
  }
  return NULL;
}

static void *dispatch(void *data) {
  while (!are_done) trunkline_dispatch((trunkline_port *)data, 50, NULL, NULL);
  return NULL;
}

void call_from_threads(long count) {
  trunkline_server *server = NULL;
  caller callers[CALLERS];
  pthread_t blocking[CALLERS], dispatching[DISPATCHERS];
  trunkline_client *client = NULL;
  double slowest = 0;
  int index;
  if (trunkline_server_new(TRUNKLINE_STR("threads"), TRUNKLINE_STR("1.0.0"), &server, NULL) ||
      trunkline_server_add_tool(server, TRUNKLINE_STR("{\"name\":\"echo\",\"inputSchema\":{\"type\":\"object\"}}"), echo,
                                NULL, NULL, NULL) ||
      trunkline_client_connect_memory(server, NULL, &client, NULL))
    abort();
  for (index = 0; index < DISPATCHERS; ++index)
    if (pthread_create(&dispatching[index], NULL, dispatch, trunkline_server_port(server))) abort();
  for (index = 0; index < CALLERS; ++index) {
    callers[index].client = client, callers[index].calls = count / CALLERS, callers[index].slowest = 0;
    if (pthread_create(&blocking[index], NULL, block, &callers[index])) abort();
  }
  for (index = 0; index < CALLERS; ++index) {
    pthread_join(blocking[index], NULL);
    if (callers[index].slowest > slowest) slowest = callers[index].slowest;
  }
  are_done = 1;
  for (index = 0; index < DISPATCHERS; ++index) pthread_join(dispatching[index], NULL);
  printf("%.3f\n", slowest);
  trunkline_client_free(client);
  trunkline_server_free(server);
}
