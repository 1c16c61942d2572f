/* A server for containers: configured by environment variables, stopped by SIGTERM. */
#include <stdio.h>
#include <stdlib.h>

#include <trunkline.h>

#define GREET                                                                                             \
  TRUNKLINE_JSON_STR({                                                                                    \
    "name": "greet",                                                                                      \
    "description": "Greet someone.",                                                                      \
    "inputSchema": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]} \
  })

static void greet(trunkline_call *call, void *user_data) {
  const char *host = getenv("HOSTNAME");
  (void)user_data;
  trunkline_call_return_textf(call, "Hello, %s, from %s!",
                              trunkline_call_text(call, TRUNKLINE_STR("/name"), TRUNKLINE_STR("")).data, host ? host : "");
}

int main(void) {
  const char *port = getenv("PORT"), *store = getenv("STORE");
  trunkline_server_options *options = NULL;
  trunkline_http_options *http = NULL;
  trunkline_server *server = NULL;
  trunkline_listener *listener = NULL;
  trunkline_error *error = NULL;
  int failed = trunkline_server_options_new(&options, &error);
  /* On shutdown, calls get 20 s; other workers take over the sessions through the store. */
  if (!failed) failed = trunkline_server_options_set_limit(options, TRUNKLINE_LIMIT_DRAIN_DEADLINE_MS, 20000);
  if (!failed && store) failed = trunkline_server_options_set_store(options, trunkline_str_of(store));
  if (!failed) failed = trunkline_server_new_with(TRUNKLINE_STR("greeter"), TRUNKLINE_STR("1.0.0"), options, &server,
                                                  &error);
  if (!failed) failed = trunkline_server_add_tool(server, GREET, greet, NULL, NULL, &error);
  /* Listens on all addresses of the container, with probes at /healthz and /readyz. */
  if (!failed) failed = trunkline_http_options_new(&http, &error);
  if (!failed) failed = trunkline_http_options_set_host(http, TRUNKLINE_STR("0.0.0.0"));
  if (!failed) failed = trunkline_http_options_set_port(http, (unsigned short)atoi(port ? port : "8000"));
  if (!failed) failed = trunkline_http_options_set_health(http, true);
  if (!failed) failed = trunkline_server_listen_http(server, http, &listener, &error);
  if (!failed) failed = trunkline_server_run(server, &error);
  if (failed) fprintf(stderr, "%s\n", trunkline_error_message(error ? error : trunkline_last_error()));
  trunkline_error_free(error);
  trunkline_listener_free(listener);
  trunkline_server_free(server);
  trunkline_http_options_free(http);
  trunkline_server_options_free(options);
  return failed != 0;
}
