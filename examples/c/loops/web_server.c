/* A small web server in one poll loop, with an MCP server mounted in it. It prints its URL and
 * serves until Ctrl-C or SIGTERM. Another web server would pass its requests to
 * `trunkline_http_request` in the same way.
 *
 * cc -std=c99 -o web_server web_server.c $(pkg-config --cflags --libs trunkline) */
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <trunkline.h>

#define MAX_CONNECTIONS 32
#define MAX_HEADERS 64
/* A client that reads nothing for so many seconds is disconnected. */
#define UNREAD_TIMEOUT_S 60

/* One connection with one request. */
typedef struct {
  int socket;
  char address[INET_ADDRSTRLEN];
  char head[8192];
  size_t length;
  size_t body_left;
  /* Bytes that the client has yet to read: a head, and a body that needs no credit. */
  char unread[65536 + 8192];
  size_t unread_length;
  time_t unread_since;
  /* The response has ended, and the connection. */
  bool is_complete, is_over;
  /* The loop, and the exchange with its calls. */
  int holders;
  trunkline_http_exchange *exchange;
} connection;

static connection *connections[MAX_CONNECTIONS];
static size_t connection_count;
static trunkline_listener *mounted;
static trunkline_server *server;
static volatile sig_atomic_t is_stopped;

/* A second signal ends the program at once. */
static void stop(int number) {
  signal(number, SIG_DFL);
  is_stopped = 1;
  trunkline_port_wake(trunkline_server_port(server));
}

/* The call can access its connection. */
static void whoami(trunkline_call *call, void *user_data) {
  const connection *from = (const connection *)trunkline_call_exchange_data(call);
  (void)user_data;
  trunkline_call_return_text(call, trunkline_str_of(from ? from->address : "somebody"));
}

/* Writes what the client has room for, and grants credit for it. The rest waits until the socket is
 * writable, so that slow clients delay no others. */
static void write_some(connection *self) {
  while (self->unread_length > 0 && !self->is_over) {
    ssize_t written = write(self->socket, self->unread, self->unread_length);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (written <= 0) {
      self->is_over = true;
      return;
    }
    self->unread_length -= (size_t)written;
    memmove(self->unread, self->unread + written, self->unread_length);
    self->unread_since = time(NULL);
    trunkline_http_credit(self->exchange, (size_t)written);
  }
}

static void send_bytes(connection *self, const void *data, size_t length) {
  if (length > sizeof self->unread - self->unread_length) {
    self->is_over = true;
    return;
  }
  if (self->unread_length == 0) self->unread_since = time(NULL);
  memcpy(self->unread + self->unread_length, data, length);
  self->unread_length += length;
}

static void send_head(uint16_t status, const trunkline_http_header *headers, size_t count, void *user_data) {
  connection *self = (connection *)user_data;
  char line[64];
  size_t index;
  send_bytes(self, line, (size_t)snprintf(line, sizeof line, "HTTP/1.1 %u -\r\nConnection: close\r\n", (unsigned)status));
  for (index = 0; index < count; ++index) {
    send_bytes(self, headers[index].name.data, headers[index].name.len);
    send_bytes(self, ": ", 2);
    send_bytes(self, headers[index].value.data, headers[index].value.len);
    send_bytes(self, "\r\n", 2);
  }
  send_bytes(self, "\r\n", 2);
  write_some(self);
}

static void send_chunk(const void *data, size_t length, void *user_data) {
  connection *self = (connection *)user_data;
  send_bytes(self, data, length);
  write_some(self);
}

static void end_response(trunkline_result result, const trunkline_error *error, void *user_data) {
  (void)result, (void)error;
  ((connection *)user_data)->is_complete = true;
}

/* Returns whether nothing is left to do for a connection. */
static bool has_ended(const connection *self) {
  bool is_stuck = self->unread_length > 0 && time(NULL) - self->unread_since > UNREAD_TIMEOUT_S;
  return self->is_over || is_stuck || (self->is_complete && self->unread_length == 0);
}

/* Also the destructor of the exchange, which runs if the function it was passed to fails. */
static void let_go(void *user_data) {
  connection *self = (connection *)user_data;
  if (--self->holders == 0) free(self);
}

/* Passes a request to the MCP server: its head, and the part of its body that has arrived. */
static bool begin_request(connection *self, char *body) {
  trunkline_http_header headers[MAX_HEADERS];
  size_t count = 0, length = (size_t)(self->head + self->length - body);
  char *line = strstr(self->head, "\r\n"), *method = self->head, *target = strchr(method, ' '), *end;
  if (!line || !target || target > line) return false;
  *line = '\0';
  *target++ = '\0';
  if (!(end = strchr(target, ' '))) return false;
  *end = '\0';
  for (line += 2; line + 2 < body; line = end + 2) {
    char *colon = strchr(line, ':');
    end = strstr(line, "\r\n");
    if (!end || !colon || colon > end || count == MAX_HEADERS) return false;
    *end = *colon = '\0';
    for (++colon; *colon == ' '; ++colon)
      ;
    headers[count].name = trunkline_str_of(line);
    headers[count++].value = trunkline_str_of(colon);
    if (strcasecmp(line, "Content-Length") == 0) self->body_left = strtoul(colon, NULL, 10);
  }
  ++self->holders;
  if (trunkline_http_request(mounted, trunkline_str_of(method), trunkline_str_of(target), headers, count,
                             trunkline_str_of(self->address), self->body_left == 0, send_head, send_chunk, end_response,
                             self, let_go, &self->exchange, NULL))
    return false;
  if (length > self->body_left) length = self->body_left;
  if (self->body_left > 0) {
    self->body_left -= length;
    trunkline_http_body(self->exchange, body, length, self->body_left == 0, NULL, NULL);
  }
  return true;
}

/* Reads what has arrived. Returns false if the connection has ended. */
static bool read_some(connection *self) {
  char *body;
  char piece[4096];
  ssize_t got;
  if (self->exchange) {
    got = read(self->socket, piece, sizeof piece);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return true;
    /* A client that disconnects no longer wants the response. */
    if (got <= 0) return false;
    if ((size_t)got > self->body_left) got = (ssize_t)self->body_left;
    if (got == 0) return true;
    self->body_left -= (size_t)got;
    trunkline_http_body(self->exchange, piece, (size_t)got, self->body_left == 0, NULL, NULL);
    return true;
  }
  got = read(self->socket, self->head + self->length, sizeof self->head - 1 - self->length);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return true;
  if (got <= 0) return false;
  self->length += (size_t)got;
  self->head[self->length] = '\0';
  body = strstr(self->head, "\r\n\r\n");
  return body ? begin_request(self, body + 4) : self->length < sizeof self->head - 1;
}

static void end_connection(size_t index) {
  connection *self = connections[index];
  connections[index] = connections[--connection_count];
  close(self->socket);
  self->is_over = true;
  trunkline_http_exchange_free(self->exchange);
  let_go(self);
}

static void accept_connection(int listening) {
  struct sockaddr_in peer;
  socklen_t size = sizeof peer;
  int accepted = accept(listening, (struct sockaddr *)&peer, &size);
  connection *self;
  if (accepted < 0) return;
  self = connection_count < MAX_CONNECTIONS ? (connection *)calloc(1, sizeof *self) : NULL;
  if (!self) {
    close(accepted);
    return;
  }
  fcntl(accepted, F_SETFL, fcntl(accepted, F_GETFL) | O_NONBLOCK);
  self->socket = accepted;
  self->holders = 1;
  inet_ntop(AF_INET, &peer.sin_addr, self->address, sizeof self->address);
  connections[connection_count++] = self;
}

static int listen_somewhere(void) {
  struct sockaddr_in address;
  socklen_t size = sizeof address;
  int listening = socket(AF_INET, SOCK_STREAM, 0);
  memset(&address, 0, sizeof address);
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (listening < 0 || bind(listening, (struct sockaddr *)&address, size) || listen(listening, 16) ||
      getsockname(listening, (struct sockaddr *)&address, &size))
    return -1;
  printf("http://127.0.0.1:%u/mcp\n", (unsigned)ntohs(address.sin_port));
  fflush(stdout);
  return listening;
}

/* Waits for events, and handles them. */
static void turn(int listening) {
  trunkline_port *port = trunkline_server_port(server);
  struct pollfd watched[MAX_CONNECTIONS + 2];
  size_t index, count = connection_count;
  watched[0].fd = (int)trunkline_port_descriptor(port), watched[0].events = POLLIN;
  watched[1].fd = listening, watched[1].events = POLLIN;
  for (index = 0; index < count; ++index) {
    watched[index + 2].fd = connections[index]->socket;
    watched[index + 2].events = connections[index]->unread_length > 0 ? POLLIN | POLLOUT : POLLIN;
  }
  if (poll(watched, (nfds_t)count + 2, 1000) < 0) return;
  /* Backwards, because a removed connection is replaced by the last one. */
  for (index = count; index-- > 0;) {
    if (watched[index + 2].revents & POLLOUT) write_some(connections[index]);
    if (watched[index + 2].revents & ~POLLOUT && !read_some(connections[index])) end_connection(index);
  }
  if (watched[1].revents) accept_connection(listening);
  if (watched[0].revents) trunkline_dispatch(port, 0, NULL, NULL);
  for (index = connection_count; index-- > 0;)
    if (has_ended(connections[index])) end_connection(index);
}

static void serve(int listening) {
  size_t index;
  time_t end;
  signal(SIGINT, stop);
  signal(SIGTERM, stop);
  signal(SIGPIPE, SIG_IGN);
  while (!is_stopped) turn(listening);
  close(listening);
  for (index = connection_count; index-- > 0;)
    if (!connections[index]->exchange) end_connection(index);
  /* Streams end immediately. Calls may still finish, and their responses are sent meanwhile, all
   * within 5 seconds, including failures of calls. */
  trunkline_listener_start_close(mounted, 4000, NULL);
  end = time(NULL) + 5;
  while ((connection_count > 0 || !trunkline_listener_closed(mounted)) && time(NULL) < end) turn(-1);
  while (connection_count > 0) end_connection(0);
}

int main(void) {
  trunkline_error *error = NULL;
  int listening = -1;
  trunkline_result result = trunkline_server_new(TRUNKLINE_STR("web"), TRUNKLINE_STR("1.0.0"), &server, &error);
  if (!result)
    result = trunkline_server_add_tool(server, TRUNKLINE_JSON_STR({"name": "whoami", "description": "Tell who calls."}),
                                       whoami, NULL, NULL, &error);
  if (!result) result = trunkline_server_mount_http(server, NULL, &mounted, &error);
  if (result) {
    fprintf(stderr, "%s\n", trunkline_error_message(error));
  } else if ((listening = listen_somewhere()) >= 0) {
    serve(listening);
  }
  trunkline_listener_free(mounted);
  trunkline_server_free(server);
  trunkline_error_free(error);
  return result != TRUNKLINE_OK || listening < 0;
}
