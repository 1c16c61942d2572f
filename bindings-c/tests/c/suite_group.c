/* Clients of configured servers, and many servers behind one client. A part of suite.c. */

/* ELI-22: answers with the name of the server that asks. */
static void answer_with_name(trunkline_call *call, void *user_data) {
  char answer[200];
  trunkline_text *name = NULL;
  (void)user_data;
  CHECK(trunkline_json_get_text(trunkline_call_arguments(call), S("/serverName"), &name) == TRUNKLINE_OK);
  snprintf(answer, sizeof answer, "{\"action\": \"accept\", \"content\": {\"name\": \"%s\"}}", trunkline_text_str(name).data);
  OK(trunkline_call_return_result(call, trunkline_str_of(answer), &error));
  trunkline_text_free(name);
}

/* A failure to connect to an entry of `mcpServers` with this authorization. */
static void wrong_auth(const char *auth, const char *server, const char *part) {
  trunkline_client_options *options = NULL;
  trunkline_client *client = NULL;
  OK(trunkline_client_options_new(&options, &error));
  CHECK(trunkline_client_options_set_auth(options, trunkline_str_of(auth)) == TRUNKLINE_OK);
  FAILS(TRUNKLINE_INVALID_ARGUMENT, part, trunkline_client_connect_config(trunkline_str_of(server), options, &client, &error));
  CHECK(client == NULL);
  trunkline_client_options_free(options);
}

static void wrong_credentials(void) {
  static const char *http = "{\"url\": \"http://a.example/mcp\"}";
  wrong_auth("{}", "{\"command\": \"server\"}", "auth is for servers over HTTP");
  wrong_auth("{\"token\": \"x\", \"dpop\": true}", http, "dpop is for OAuth");
  wrong_auth("{\"clientSecret\": \"x\"}", http, "auth.clientSecret needs `clientId`");
  wrong_auth("{\"grant\": \"workload_identity\"}", http, "assertion is missing");
  wrong_auth("{\"grant\": \"workload_identity\", \"assertion\": \"jwt\", \"redirectUri\": \"http://localhost/x\"}", http,
             "redirectUri is for the grant authorization_code");
}

/* A group shares a client of another port, with its own roots, and leaves it open. */
static void group_with_client(trunkline_client *group, trunkline_str url) {
  trunkline_client_options *options = NULL;
  trunkline_client *own = NULL;
  trunkline_text *place = NULL, *result = NULL;
  OK(trunkline_client_options_new(&options, &error));
  CHECK(trunkline_client_options_set_roots(options, S("[{\"uri\": \"file:///own\"}]")) == TRUNKLINE_OK);
  OK(trunkline_client_connect_http(url, options, &own, &error));
  OK(trunkline_client_as_server(own, &place, &error));
  OK(trunkline_client_add_server(group, S("own"), trunkline_text_str(place), NULL, &error));
  host_gives(group, S("own__where"), "file:///own");
  OK(trunkline_client_remove_server(group, S("own"), NULL, &error));
  OK(trunkline_client_list_tools(own, NULL, &result, &error));
  check_text(result, "/1/name", "where");
  trunkline_text_free(result), result = NULL;
  OK(trunkline_client_add_server(group, S("own"), trunkline_text_str(place), NULL, &error));
  OK(trunkline_client_close(own, 1000, &error));
  FAILS(TRUNKLINE_CLOSED, "", trunkline_client_call_tool(group, S("own__where"), NOTHING, NULL, &result, &error));
  OK(trunkline_client_remove_server(group, S("own"), NULL, &error));
  FAILS(TRUNKLINE_INVALID_ARGUMENT, "connection", trunkline_client_add_server(group, S("x"), S("{\"connection\": 1}"), NULL, &error));
  CHECK(result == NULL);
  trunkline_text_free(place);
  trunkline_client_free(own);
  trunkline_client_options_free(options);
}

/* Options of transports are those of the servers that they fit. */
static void defaults_of_groups(trunkline_str url) {
  trunkline_client_options *options = NULL;
  trunkline_client *client = NULL;
  trunkline_text *result = NULL;
  char servers[400];
  snprintf(servers, sizeof servers, "{\"shell\": [\"sh\", \"-c\", \"echo $DEFAULT >&2\"], \"web\": \"%s\"}", url.data);
  OK(trunkline_client_options_new(&options, &error));
  CHECK(trunkline_client_options_set_stderr(options, S("keep")) == TRUNKLINE_OK);
  CHECK(trunkline_client_options_set_env(options, S("DEFAULT"), S("of the group")) == TRUNKLINE_OK);
  CHECK(trunkline_client_options_set_header(options, S("X-Suite"), S("yes")) == TRUNKLINE_OK);
  OK(trunkline_client_connect_group(trunkline_str_of(servers), options, &client, &error));
  OK(trunkline_client_servers(client, NULL, &result, &error));
  check_text(result, "/servers/0/error/data/stderr/0", "of the group");
  check_text(result, "/servers/1/state", "connected");
  trunkline_text_free(result);
  trunkline_client_free(client), client = NULL;
  CHECK(trunkline_client_options_set_header(options, S("Authorization"), S("x")) == TRUNKLINE_OK);
  FAILS(TRUNKLINE_INVALID_ARGUMENT, "Authorization is for one server",
        trunkline_client_connect_group(trunkline_str_of(servers), options, &client, &error));
  CHECK(trunkline_client_options_set_stderr(options, S("file")) == TRUNKLINE_OK);
  FAILS(TRUNKLINE_INVALID_ARGUMENT, "stderr", trunkline_client_connect_group(trunkline_str_of(servers), options, &client, &error));
  trunkline_client_options_free(options);
}

static void group(void) {
  trunkline_server *server = asking_server();
  trunkline_listener *listener = listen_http(server);
  trunkline_str url = trunkline_listener_url(listener);
  trunkline_client_options *options = NULL;
  trunkline_client *client = NULL;
  trunkline_text *result = NULL;
  char servers[400], target[200];
  OK(trunkline_client_options_new(&options, &error));
  CHECK(trunkline_client_options_set_port(options, trunkline_server_port(server)) == TRUNKLINE_OK);
  CHECK(trunkline_client_options_on_elicit(options, answer_with_name, NULL, NULL) == TRUNKLINE_OK);

  snprintf(servers, sizeof servers, "{\"a\": \"%s\", \"b\": {\"url\": \"%s\"}, \"gone\": [\"/no/such/program\"]}", url.data, url.data);
  OK(trunkline_client_connect_group(trunkline_str_of(servers), options, &client, &error));
  OK(trunkline_client_servers(client, NULL, &result, &error));
  check_text(result, "/servers/0/state", "connected");
  check_text(result, "/servers/1/revision", "2026-07-28");
  check_text(result, "/servers/2/state", "disconnected");
  check_text(result, "/servers/2/error/kind", "transport");
  trunkline_text_free(result), result = NULL;
  host_gives(client, S("a__greet"), "\\\"a\\\"");
  host_gives(client, S("b__greet"), "\\\"b\\\"");
  FAILS(TRUNKLINE_TRANSPORT, "/no/such/program", trunkline_client_call_tool(client, S("gone__x"), NOTHING, NULL, &result, &error));
  FAILS(TRUNKLINE_PROTOCOL, "Its servers: a, b, gone",
        trunkline_client_call_tool(client, S("c__greet"), NOTHING, NULL, &result, &error));

  snprintf(target, sizeof target, "\"%s\"", url.data);
  OK(trunkline_client_add_server(client, S("c"), trunkline_str_of(target), NULL, &error));
  host_gives(client, S("c__greet"), "\\\"c\\\"");
  FAILS(TRUNKLINE_INVALID_ARGUMENT, "already has a server named \"c\"", trunkline_client_add_server(client, S("c"), trunkline_str_of(target), NULL, &error));
  FAILS(TRUNKLINE_INVALID_ARGUMENT, "target", trunkline_client_add_server(client, S("d"), S("5"), NULL, &error));
  OK(trunkline_client_remove_server(client, S("c"), NULL, &error));
  FAILS(TRUNKLINE_INVALID_ARGUMENT, "no server named", trunkline_client_remove_server(client, S("c"), NULL, &error));
  FAILS(TRUNKLINE_TRANSPORT, "/no/such/program", trunkline_client_reconnect_server(client, S("gone"), NULL, &error));
  group_with_client(client, url);
  OK(trunkline_client_list_tools(client, NULL, &result, &error));
  check_text(result, "/0/name", "a__greet");
  check_text(result, "/2/name", "b__greet");
  trunkline_text_free(result), result = NULL;
  OK(trunkline_client_close(client, 1000, &error));
  trunkline_client_free(client), client = NULL;
  FAILS(TRUNKLINE_INVALID_ARGUMENT, "missing.json", trunkline_client_connect_group(S("missing.json"), options, &client, &error));

  snprintf(servers, sizeof servers, "{\"mcpServers\": {\"only\": {\"type\": \"http\", \"url\": \"%s\"}}}", url.data);
  OK(trunkline_client_connect_config(trunkline_str_of(servers), NULL, &client, &error));
  FAILS(TRUNKLINE_INVALID_ARGUMENT, "is for groups", trunkline_client_servers(client, NULL, &result, &error));
  trunkline_client_free(client), client = NULL;
  FAILS(TRUNKLINE_INVALID_ARGUMENT, "needs either", trunkline_client_connect_config(S("{}"), NULL, &client, &error));
  CHECK(trunkline_client_options_set_variable(options, S("input:url"), url) == TRUNKLINE_OK);
  OK(trunkline_client_connect_config(S("{\"serverUrl\": \"${input:url}\"}"), options, &client, &error));
  trunkline_client_free(client), client = NULL;
  defaults_of_groups(url);
  CHECK(client == NULL && result == NULL);
  trunkline_client_options_free(options);
  wrong_credentials();
  trunkline_listener_free(listener);
  trunkline_server_free(server);
}
