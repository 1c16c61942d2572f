// The C++ header: servers, clients, exceptions, lambdas, moves between threads.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <utility>

#include <trunkline.hpp>

#define CHECK(condition)                                                        \
  do {                                                                          \
    if (!(condition)) {                                                         \
      std::fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
      std::exit(1);                                                             \
    }                                                                           \
  } while (0)

using namespace trunkline;

namespace {

constexpr const char *any_object = R"("inputSchema": {"type": "object"})";

std::string named(const char *name) { return std::string(R"({"name": ")") + name + "\", " + any_object + "}"; }

// Other tests listen at the same time.
HttpOptions any_port() {
  HttpOptions options;
  options.set(trunkline_http_options_set_port, 0);
  return options;
}

template <class Function>
Error thrown(Function function) {
  try {
    function();
  } catch (const Error &error) {
    return error;
  }
  CHECK(!"an exception was expected");
  std::abort();
}

// Counts its copies that live: handlers are destroyed exactly once.
struct Counted {
  explicit Counted(int *living) : living_(living) { ++*living_; }
  Counted(const Counted &other) : living_(other.living_) { ++*living_; }
  Counted &operator=(const Counted &) = delete;
  ~Counted() { --*living_; }
  void operator()(Call &call) const { call.return_text("counted"); }

 private:
  int *living_;
};

void answers_and_exceptions() {
  int living = 0;
  {
    Server server("wrapped", "1.0.0");
    server.tool(named("greet"), [](Call &call) { call.return_text("Hello, " + std::string(call.text("/name", "you")) + "!"); });
    const char *sum = R"({"name": "sum", "inputSchema": {"type": "object"},
                          "outputSchema": {"type": "object", "properties": {"sum": {"type": "integer"}}}})";
    server.tool(sum, [](Call &call) {
      std::int64_t sum = 0;
      const Json numbers = *call.arguments().at("/numbers");
      for (const auto &item : numbers) sum += item.value().int64().value_or(0);
      call.return_json(TRUNKLINE_SHAPE_OBJECT, "{\"sum\": " + std::to_string(sum) + "}");
    });
    server.tool(named("wrong"), [](Call &) { throw ToolError("ask for caf\xe9"); });
    server.tool(named("broken"), [](Call &) { throw std::runtime_error("secret"); });
    server.tool(named("strange"), [](Call &) { throw 5; });
    server.tool(named("later"), [](Call &call) {
      std::thread([call = std::move(call)] { call.return_text("from another thread"); }).detach();
    });
    server.tool(named("lost"), [](Call &call) {
      const Call lost = std::move(call);
      throw ToolError("after the move");
    });
    const auto counted = server.tool(named("counted"), Counted(&living));
    CHECK(thrown([&] { server.tool("{\"name\": 5}", Counted(&living)); }).kind() == TRUNKLINE_INVALID_ARGUMENT);
    CHECK(living == 1);
    server.resource(R"({"uri": "notes://today", "name": "today"})", [](Call &call) { call.return_text("tea"); });

    const Client client = Client::memory(server);
    CHECK(client.call_tool("greet", R"({"name": "Ada"})").text("/content/0/text") == "Hello, Ada!");
    CHECK(client.call_tool("greet").text("/content/0/text") == "Hello, you!");
    CHECK(client.call_tool("sum", R"({"numbers": [1, 2, 39]})").int64("/structuredContent/sum") == 42);
    const Json wrong = client.call_tool("wrong");
    CHECK(wrong.boolean("/isError") == true && wrong.text("/content/0/text") == "ask for caf\xef\xbf\xbd");
    CHECK(client.call_tool("broken").dump().find("secret") == std::string::npos);
    CHECK(client.call_tool("strange").boolean("/isError") == true);
    CHECK(client.call_tool("later").text("/content/0/text") == "from another thread");
    CHECK(client.call_tool("lost").text("/content/0/text") == "after the move");
    CHECK(client.call(trunkline_client_read_resource, {}, "notes://today").text("/contents/0/text") == "tea");
    CHECK(client.request("ping").kind() == TRUNKLINE_JSON_OBJECT);

    const Error unknown = thrown([&] { client.call_tool("nothing"); });
    CHECK(unknown.kind() == TRUNKLINE_PROTOCOL && unknown.code() == -32602 && !unknown.json().empty());

    std::future<Json> future = client.start(TRUNKLINE_METHOD_CALL_TOOL, TRUNKLINE_JSON({"name": "counted"}));
    while (future.wait_for(std::chrono::seconds(0)) != std::future_status::ready) dispatch(client.port(), 1000);
    CHECK(future.get().text("/content/0/text") == "counted");
    std::future<Json> failing = client.start(TRUNKLINE_METHOD_CALL_TOOL, TRUNKLINE_JSON({"name": "nothing"}));
    while (failing.wait_for(std::chrono::seconds(0)) != std::future_status::ready) dispatch(client.port(), 1000);
    CHECK(thrown([&] { failing.get(); }).kind() == TRUNKLINE_PROTOCOL);
    // A client that is destroyed owes no answer.
    std::future<Json> pending;
    {
      const Client leaving = Client::memory(server);
      pending = leaving.start(TRUNKLINE_METHOD_CALL_TOOL, TRUNKLINE_JSON({"name": "counted"}));
    }
    CHECK(thrown([&] { pending.get(); }).kind() == TRUNKLINE_CLOSED);
    server.remove(counted);
    CHECK(living == 0);
  }
  CHECK(living == 0);
}

void input_of_the_client() {
  for (const char *revision : {"2025-11-25", "2026-07-28"}) {
    Server server("asking", "1.0.0", ServerOptions().set(trunkline_server_options_set_instructions, "Ask."));
    server.tool(named("greet"), [](Call &call) {
      call.elicit(R"({"message": "Who?", "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}}})",
                  [](const Call &asked, const Json &answer) { asked.return_text(answer.text("/content/name").value_or("nobody")); });
    });
    int orders = 0;
    server.tool(named("order"), [&orders](Call &call) {
      const Json number = call.once("order", [&orders] { return std::to_string(++orders); });
      call.elicit(R"({"message": "Sure?", "requestedSchema": {"type": "object", "properties": {}}})",
                  [number](const Call &asked, const Json &) { asked.return_text("order " + number.dump()); });
    });
    server.tool(named("chat"), [](Call &call) {
      call.sample(R"({"messages": [], "maxTokens": 5})",
                  [](const Call &asked, const Json &answer) { asked.return_text(*answer.text("/content/text")); });
    });
    server.tool(named("places"), [](Call &call) {
      call.list_roots([](const Call &asked, const Json &answer) { asked.return_text(*answer.text("/roots/0/uri")); });
    });
    ClientOptions options;
    int living = 0;
    options.set(trunkline_client_options_set_revision, revision)
        .set(trunkline_client_options_set_roots, R"([{"uri": "file:///home"}])")
        .on_elicit([counted = Counted(&living)](Call &call) {
          call.return_json(TRUNKLINE_SHAPE_RESULT, R"({"action": "accept", "content": {"name": "Ada"}})");
        })
        .on_sample([](Call &call) {
          CHECK(call.arguments().number("/maxTokens") == 5);
          call.return_json(TRUNKLINE_SHAPE_RESULT,
                           R"({"role": "assistant", "model": "m", "content": {"type": "text", "text": "tea"}})");
        });
    {
      const Client client = Client::memory(server, options);
      CHECK(client.call_tool("greet").text("/content/0/text") == "Ada");
      CHECK(client.call_tool("order").text("/content/0/text") == "order 1" && orders == 1);
      CHECK(client.call_tool("chat").text("/content/0/text") == "tea");
      CHECK(client.call_tool("places").text("/content/0/text") == "file:///home");
      client.on_elicit([](Call &call) {
        call.return_json(TRUNKLINE_SHAPE_RESULT, R"({"action": "accept", "content": {"name": "Bea"}})");
      });
      CHECK(client.call_tool("greet").text("/content/0/text") == "Bea");
      client.on_elicit([](Call &) { throw std::runtime_error("nobody is there"); });
      thrown([&] { client.call_tool("greet"); });
      CHECK(living == 1);
    }
    options = ClientOptions();
    dispatch(server.port());
    CHECK(living == 0);
  }
}

// Handlers that answer no call: progress, notifications, log records; and middleware.
void reports() {
  Server server("reporting", "1.0.0", ServerOptions().set(trunkline_server_options_set_debug, true));
  std::string heard, seen;
  on_log(server.port(), [&heard](std::string_view level, std::string_view target, std::string_view message) {
    if (target == "trunkline::server::handlers") heard += std::string(level) + ": " + std::string(message) + ";";
  });
  server.tool(named("steps"), [](Call &call) {
    call.log("info", "begun");
    call.log_json("warning", R"({"left": 1})", "steps");
    call.progress(1, 2, "half");
    call.return_text("done");
  });
  server.tool(named("broken"), [](Call &) { throw std::runtime_error("no disk"); });
  server.middleware([](Call &call) { call.next(); });
  server.middleware(
      [](Call &call) {
        call.next([](const Call &asked, const Json &result) {
          const std::string text = *result.text("/content/0/text");
          asked.return_json(TRUNKLINE_SHAPE_RESULT, R"({"content": [{"type": "text", "text": )" + quoted(text + "!") + "}]}");
        });
      },
      R"(["tools/call"])");
  ClientOptions options;
  options.set(trunkline_client_options_set_revision, "2025-11-25").set(trunkline_client_options_set_log_level, "info");
  options.on_notification([&seen](std::string_view method, const Json &params) {
    if (method == "notifications/message") seen += params.at("/data")->dump() + ";";
  });
  const Client client = Client::memory(server, options);
  double last = 0;
  RequestOptions with_progress;
  with_progress.on_progress([&](double done, double total, std::string_view message) {
    CHECK(total == 2 && message == "half");
    last = done;
  });
  CHECK(client.call_tool("steps", {}, with_progress).text("/content/0/text") == "done!");
  CHECK(last == 1);
  for (int turns = 0; seen != R"("begun";{"left":1};)" && turns < 100; ++turns) dispatch(server.port(), 100);
  CHECK(seen == R"("begun";{"left":1};)");
  client.call_tool("broken");
  for (int turns = 0; heard.empty() && turns < 100; ++turns) dispatch(server.port(), 100);
  CHECK(heard.find("error: a tool failed") == 0 && heard.find("no disk") != std::string::npos);
}

// Exceptions of handlers that answer no call are logged, and have no other effect.
void throwing_reports() {
  Server server("reporting", "1.0.0");
  std::string heard;
  on_log(server.port(), [&heard](std::string_view, std::string_view, std::string_view message) {
    heard += std::string(message) + ";";
    throw std::runtime_error("no log");
  });
  server.tool(named("steps"), [](Call &call) {
    call.log("info", "begun");
    call.progress(1, 2, "half");
    call.return_text("done");
  });
  ClientOptions options;
  options.set(trunkline_client_options_set_revision, "2025-11-25").set(trunkline_client_options_set_log_level, "info");
  options.on_notification([](std::string_view, const Json &) { throw 7; });
  const Client client = Client::memory(server, options);
  RequestOptions with_progress;
  with_progress.on_progress([](double, double, std::string_view) { throw std::runtime_error("no progress"); });
  CHECK(client.call_tool("steps", {}, with_progress).text("/content/0/text") == "done");
  const auto has = [&heard](const char *text) { return heard.find(text) != std::string::npos; };
  for (int turns = 0; !(has("no progress") && has("not a std::exception")) && turns < 100; ++turns) dispatch(server.port(), 100);
  CHECK(has("no progress") && has("not a std::exception"));
}

void over_http() {
  Server server("wrapped", "1.0.0");
  server.tool(named("greet"), [](Call &call) { call.return_text("over HTTP"); });
  const Listener listener = server.listen_http(any_port());
  ClientOptions options;
  options.set(trunkline_client_options_set_port, server.port());
  const Client client = Client::http(listener.url(), options);
  CHECK(client.call_tool("greet").text("/content/0/text") == "over HTTP");
  CHECK(thrown([] { Client::child({"/no/such/program"}); }).kind() == TRUNKLINE_TRANSPORT);
  CHECK(thrown([] { HttpOptions().set(trunkline_http_options_set_host, std::string("\xff")); }).kind() == TRUNKLINE_INVALID_ARGUMENT);
  client.close();
  listener.close();
}

void json() {
  const Json value(R"({"a": [1, "x", null], "b\"": {}})");
  std::string keys;
  for (const auto &[key, text] : value) keys += std::string(key) + "=" + std::string(text) + ";";
  CHECK(keys == R"(a=[1, "x", null];b\"={};)");
  const Json numbers("[1, 2]");
  auto second = numbers.begin();
  second++;
  CHECK(second->json == "2");
  CHECK(value.text("/a/1") == "x" && !value.text("/a/0") && value.number("/a/0") == 1 && !value.at("/c"));
  CHECK(thrown([] { Json("3").begin(); }).kind() == TRUNKLINE_INVALID_ARGUMENT);
  CHECK(quoted("a \"b\"") == R"("a \"b\"")");
  JsonWriter writer;
  writer.begin_object().key("sum").number(1.5).key("all").begin_array().int64(1).boolean(true).null().text("\"").json("{}").end();
  CHECK(thrown([&] { writer.finish(); }).kind() == TRUNKLINE_INVALID_ARGUMENT);
  writer.begin_object().key("sum").number(1.5).key("all").begin_array().int64(1).boolean(true).null().text("\"").json("{}").end();
  CHECK(writer.end().finish() == R"({"sum":1.5,"all":[1,true,null,"\"",{}]})");
}

void composition() {
  const Server inner("inner", "1.0.0");
  inner.tool(named("greet"), [](Call &call) { call.return_text("from inside"); });
  const Server outer("outer", "1.0.0", ServerOptions().set(trunkline_server_options_set_port, inner.port()));
  const std::uint64_t mounted = outer.mount("in", inner);
  const Client client = Client::memory(outer);
  CHECK(client.call_tool("in__greet").text("/content/0/text") == "from inside");
  outer.remove(mounted);
  const Listener listener = inner.listen_http(any_port());
  const Client far = Client::http(listener.url(), ClientOptions().set(trunkline_client_options_set_port, inner.port()));
  outer.proxy("far", far);
  CHECK(client.call_tool("far__greet").text("/content/0/text") == "from inside");
  CHECK(thrown([&] { outer.proxy("far", far); }).kind() == TRUNKLINE_INVALID_ARGUMENT);
}

}  // namespace

int main() {
  answers_and_exceptions();
  input_of_the_client();
  reports();
  throwing_reports();
  over_http();
  json();
  composition();
}
