/* A connection with stored credentials: a client that `credentials.rs` starts. A part of
   suite.c. */

static void connect_with_credentials(const char *url, const char *store) {
  trunkline_client_options *options = NULL;
  trunkline_client *client = NULL;
  trunkline_text *place = NULL, *tools = NULL;
  char auth[1000];
  OK(trunkline_json_string(trunkline_str_of(store), &place, &error));
  CHECK(trunkline_text_str(place).len < sizeof auth / 2);
  snprintf(auth, sizeof auth,
           "{\"grant\":\"client_credentials\",\"clientId\":\"machine\",\"clientSecret\":\"secret\",\"store\":%s}",
           trunkline_text_str(place).data);
  OK(trunkline_client_options_new(&options, &error));
  CHECK(trunkline_client_options_set_revision(options, S("2025-11-25")) == TRUNKLINE_OK);
  CHECK(trunkline_client_options_set_auth(options, trunkline_str_of(auth)) == TRUNKLINE_OK);
  OK(trunkline_client_connect_http(trunkline_str_of(url), options, &client, &error));
  OK(trunkline_client_list_tools(client, NULL, &tools, &error));
  check_text(tools, "/0/name", "guarded");
  trunkline_text_free(tools), trunkline_text_free(place);
  trunkline_client_options_free(options);
  trunkline_client_free(client);
}

/* A program that opens pages itself: it prints the URL for the test, which visits it. */
static void prints_url(trunkline_call *call, void *user_data) {
  trunkline_result returned;
  (void)user_data;
  printf("%s\n", trunkline_call_text(call, S("/url"), S("")).data);
  fflush(stdout);
  returned = trunkline_call_return_result(call, S("{}"), NULL);
  /* The login may already have ended. */
  CHECK(returned == TRUNKLINE_OK || returned == TRUNKLINE_DONE);
}

static void closes_window(trunkline_call *call, void *user_data) {
  (void)user_data;
  CHECK(trunkline_call_fail(call, S("the user closed the window")) == TRUNKLINE_OK);
}

static void log_in(const char *url) {
  trunkline_client_options *options = NULL;
  trunkline_client *client = NULL;
  trunkline_text *tools = NULL;
  OK(trunkline_client_options_new(&options, &error));
  CHECK(trunkline_client_options_set_revision(options, S("2025-11-25")) == TRUNKLINE_OK);
  CHECK(trunkline_client_options_set_auth(options, S("{\"loginTimeoutMs\":20000}")) == TRUNKLINE_OK);
  /* The message of a failing function is returned. */
  CHECK(trunkline_client_options_on_open_url(options, closes_window, NULL, NULL) == TRUNKLINE_OK);
  FAILS(TRUNKLINE_AUTHORIZATION_REQUIRED, "open_url failed: the user closed the window",
        trunkline_client_connect_http(trunkline_str_of(url), options, &client, &error));
  CHECK(trunkline_client_options_on_open_url(options, prints_url, NULL, NULL) == TRUNKLINE_OK);
  OK(trunkline_client_connect_http(trunkline_str_of(url), options, &client, &error));
  OK(trunkline_client_list_tools(client, NULL, &tools, &error));
  check_text(tools, "/0/name", "guarded");
  trunkline_text_free(tools);
  trunkline_client_options_free(options);
  trunkline_client_free(client);
}
