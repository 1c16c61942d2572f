/* A server over HTTP that reads a request header in each call, and its client. */
#include <stdio.h>

#include <trunkline.h>

#define TENANT TRUNKLINE_JSON_STR({"name": "tenant", "description": "Name the tenant of the caller."})

/* Information about the call as a string. The caller frees it. */
static trunkline_text *fact(trunkline_call *call, const char *pointer) {
  trunkline_text *json = NULL, *text = NULL;
  if (!trunkline_call_fact(call, trunkline_str_of(pointer), &json))
    trunkline_json_get_text(trunkline_text_str(json), TRUNKLINE_STR(""), &text);
  trunkline_text_free(json);
  return text;
}

static void name_tenant(trunkline_call *call, void *user_data) {
  trunkline_text *tenant = fact(call, "/headers/x-tenant"), *url = fact(call, "/url");
  (void)user_data;
  trunkline_call_return_textf(call, "%s at %s", tenant ? trunkline_text_str(tenant).data : "nobody",
                              trunkline_text_str(url).data);
  trunkline_text_free(tenant);
  trunkline_text_free(url);
}

static int use(trunkline_client *client, trunkline_error **error) {
  trunkline_text *result = NULL, *text = NULL, *info = NULL, *revision = NULL;
  int failed = trunkline_client_call_tool(client, TRUNKLINE_STR("tenant"), TRUNKLINE_STR("{}"), NULL, &result, error);
  if (!failed) failed = trunkline_json_get_text(trunkline_text_str(result), TRUNKLINE_STR("/content/0/text"), &text);
  if (!failed) failed = trunkline_client_info(client, &info, error);
  if (!failed) failed = trunkline_json_get_text(trunkline_text_str(info), TRUNKLINE_STR("/revision"), &revision);
  if (!failed) printf("%s\n%s\n", trunkline_text_str(text).data, trunkline_text_str(revision).data);
  trunkline_text_free(result);
  trunkline_text_free(text);
  trunkline_text_free(info);
  trunkline_text_free(revision);
  return failed;
}

int main(void) {
  trunkline_server *server = NULL;
  trunkline_http_options *http_options = NULL;
  trunkline_listener *listener = NULL;
  trunkline_client_options *options = NULL;
  trunkline_client *client = NULL;
  trunkline_error *error = NULL;
  int failed = trunkline_server_new(TRUNKLINE_STR("tenants"), TRUNKLINE_STR("1.0.0"), &server, &error);
  if (!failed) failed = trunkline_server_add_tool(server, TENANT, name_tenant, NULL, NULL, &error);
  if (!failed) failed = trunkline_http_options_new(&http_options, &error);
  if (!failed) failed = trunkline_http_options_set_port(http_options, 0);
  if (!failed) failed = trunkline_http_options_set_path(http_options, TRUNKLINE_STR("/notes"));
  if (!failed) failed = trunkline_server_listen_http(server, http_options, &listener, &error);
  /* The client shares the port of the server: both run on this thread. */
  if (!failed) failed = trunkline_client_options_new(&options, &error);
  if (!failed) failed = trunkline_client_options_set_port(options, trunkline_server_port(server));
  if (!failed) failed = trunkline_client_options_set_header(options, TRUNKLINE_STR("X-Tenant"),
                                                            TRUNKLINE_STR("acme"));
  if (!failed) failed = trunkline_client_connect_http(trunkline_listener_url(listener), options, &client, &error);
  if (!failed) failed = use(client, &error);
  if (error) fprintf(stderr, "%s\n", trunkline_error_message(error));
  trunkline_error_free(error);
  trunkline_client_free(client);
  trunkline_client_options_free(options);
  trunkline_listener_free(listener);
  trunkline_http_options_free(http_options);
  trunkline_server_free(server);
  return failed != 0;
}
