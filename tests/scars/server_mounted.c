/* The server of the scars inside the web server of the examples. */
#define main main_of_the_example
#include "../../examples/c/loops/web_server.c"
#undef main

trunkline_result run_mounted(trunkline_server *scars, trunkline_error **error);

trunkline_result run_mounted(trunkline_server *scars, trunkline_error **error) {
  trunkline_result result = trunkline_server_mount_http(scars, NULL, &mounted, error);
  int listening = result ? -1 : listen_somewhere();
  server = scars;
  if (listening >= 0) serve(listening);
  trunkline_listener_free(mounted);
  return result;
}
