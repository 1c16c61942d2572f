// Trunkline for C++17: a thin, header-only layer over trunkline.h.
//
// - Objects free themselves. Use `get()` to call functions of trunkline.h that have no method here.
// - Failures throw trunkline::Error, with a trunkline_result as its kind. An exception in a handler
//   only fails its call: a ToolError with its message, which the model sees, any other exception as
//   an internal error, whose message is only logged. Handlers of progress, notifications and log
//   records don't answer a call: their exceptions are logged.
// - A handler is any callable. Handlers run where trunkline.h runs callbacks: inside blocking
//   functions and trunkline_dispatch of their port.
// - JSON is passed in as text (a raw string literal, or the output of any JSON library), and
//   returned as trunkline::Json.
#ifndef TRUNKLINE_HPP
#define TRUNKLINE_HPP

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <future>
#include <iterator>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <trunkline.h>

namespace trunkline {

/// Converts a string for trunkline.h. Borrowed.
inline trunkline_str str(std::string_view text) noexcept { return {text.data(), text.size()}; }

/// A view of a string that trunkline.h lends, valid for as long as it lends it.
inline std::string_view view(trunkline_str text) noexcept { return {text.data, text.len}; }

/// The failure of a library function.
class Error : public std::runtime_error {
 public:
  Error(trunkline_result kind, std::string message, std::int64_t code = 0, std::string json = {})
      : std::runtime_error(std::move(message)), kind_(kind), code_(code), json_(std::move(json)) {}

  /// The kind of the failure.
  trunkline_result kind() const noexcept { return kind_; }
  /// The JSON-RPC error code of a TRUNKLINE_PROTOCOL failure, otherwise 0.
  std::int64_t code() const noexcept { return code_; }
  /// The error as JSON, with its data; may be empty.
  const std::string &json() const noexcept { return json_; }

 private:
  trunkline_result kind_;
  std::int64_t code_;
  std::string json_;
};

/// Thrown by a tool to fail the call with this message, which the model sees.
class ToolError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

namespace detail {

inline Error error_of(trunkline_result result, const trunkline_error *error) {
  trunkline_str json{};
  if (trunkline_error_json(error, &json) != TRUNKLINE_OK) json = str({});
  return {result, trunkline_error_message(error), trunkline_error_code(error),
          std::string(view(json))};
}

template <class Object>
using Owned = std::unique_ptr<Object, void (*)(Object *)>;

/// Calls a function whose last argument receives its error.
template <class Function, class... Arguments>
void check(Function function, Arguments... arguments) {
  trunkline_error *error = nullptr;
  const trunkline_result result = function(arguments..., &error);
  const Owned<trunkline_error> owned(error, trunkline_error_free);
  if (result != TRUNKLINE_OK) throw error_of(result, error);
}

/// Calls a function whose last arguments receive its result and its error.
template <class Result, class Function, class... Arguments>
Result made(Function function, Arguments... arguments) {
  Result result{};
  check(function, arguments..., &result);
  return result;
}

/// Passes on the message of the exception that is being handled.
template <class Receive>
void describe(Receive receive) noexcept {
  try {
    throw;
  } catch (const std::exception &error) {
    receive(error.what());
  } catch (...) {
    receive("an exception that is not a std::exception");
  }
}

/// Calls a handler that doesn't answer a call. Its exceptions go to `log`.
template <class Run>
void contained(Run run, void (*log)(const char *) noexcept) noexcept {
  try {
    run();
  } catch (...) {
    describe(log);
  }
}

inline void log_error(const char *message) noexcept { trunkline_log_error(str(message)); }

/// Checks the result of a function without an error argument, whose failure the library keeps per
/// thread.
inline void check_last(trunkline_result result) {
  if (result != TRUNKLINE_OK) throw error_of(result, trunkline_last_error());
}

/// The same for a function that looks something up. Returns false if there is nothing.
inline bool found(trunkline_result result) {
  if (result != TRUNKLINE_NOT_FOUND) check_last(result);
  return result == TRUNKLINE_OK;
}

/// Calls such a function, whose last argument receives what it found. Empty if there is nothing.
template <class Output, class Function, class... Arguments>
std::optional<Output> looked_up(Function function, Arguments... arguments) {
  Output output{};
  if (!found(function(arguments..., &output))) return std::nullopt;
  return output;
}

/// Copies and frees a string that the library created.
inline std::string taken(trunkline_text *text) {
  const Owned<trunkline_text> owned(text, trunkline_text_free);
  return std::string(view(trunkline_text_str(text)));
}

template <class Object, void (*free)(Object *)>
class Handle {
 public:
  explicit Handle(Object *object = nullptr) noexcept : object_(object) {}
  Object *get() const noexcept { return object_.get(); }
  explicit operator bool() const noexcept { return object_ != nullptr; }

 protected:
  struct Free {
    void operator()(Object *object) const noexcept { free(object); }
  };
  std::unique_ptr<Object, Free> object_;
};

/// Stores a callable as `user_data`. `destroy` frees it, even if the function that receives it
/// fails.
template <class Callable>
void *keep(Callable &&callable) {
  return new std::decay_t<Callable>(std::forward<Callable>(callable));
}

template <class Callable>
void destroy(void *callable) noexcept {
  delete static_cast<Callable *>(callable);
}

}  // namespace detail

/// Received JSON: it keeps the text and reads values through JSON pointers (RFC 6901), such as
/// "/content/0/text".
class Json {
 public:
  explicit Json(std::string text = "null") : text_(std::move(text)) {}
  explicit Json(std::string_view text) : text_(text) {}
  explicit Json(const char *text) : text_(text) {}
  explicit Json(trunkline_str text) : text_(view(text)) {}

  const std::string &dump() const noexcept { return text_; }

  /// Returns the value at a pointer; empty if there is none.
  std::optional<Json> at(std::string_view pointer) const {
    const auto value = value_at<trunkline_str>(trunkline_json_get, pointer);
    return value ? std::optional(Json(*value)) : std::nullopt;
  }
  /// Returns a string without quotes and escapes; empty if the value is not a string.
  std::optional<std::string> text(std::string_view pointer = {}) const {
    const auto value = value_at<trunkline_text *>(trunkline_json_get_text, pointer);
    return value ? std::optional(detail::taken(*value)) : std::nullopt;
  }
  std::optional<double> number(std::string_view pointer = {}) const {
    return value_at<double>(trunkline_json_get_number, pointer);
  }
  std::optional<std::int64_t> int64(std::string_view pointer = {}) const {
    return value_at<std::int64_t>(trunkline_json_get_int64, pointer);
  }
  std::optional<bool> boolean(std::string_view pointer = {}) const {
    return value_at<bool>(trunkline_json_get_bool, pointer);
  }
  std::optional<trunkline_json_kind> kind(std::string_view pointer = {}) const {
    return value_at<trunkline_json_kind>(trunkline_json_get_kind, pointer);
  }

  /// An element of an array, or a member of an object with its name as written.
  struct Item {
    std::string_view key;
    std::string_view json;
    Json value() const { return Json(json); }
  };

  class iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = Item;
    using difference_type = std::ptrdiff_t;
    using pointer = const Item *;
    using reference = const Item &;

    iterator() = default;
    explicit iterator(trunkline_str json) : json_(json), more_(true) { ++*this; }
    reference operator*() const noexcept { return item_; }
    pointer operator->() const noexcept { return &item_; }
    iterator &operator++() {
      trunkline_str key{}, value{};
      more_ = detail::found(trunkline_json_next(json_, &cursor_, &key, &value));
      item_ = {view(key), view(value)};
      return *this;
    }
    void operator++(int) { ++*this; }
    bool operator==(const iterator &other) const noexcept { return more_ == other.more_; }
    bool operator!=(const iterator &other) const noexcept { return !(*this == other); }

   private:
    trunkline_str json_{};
    std::size_t cursor_ = 0;
    Item item_{};
    bool more_ = false;
  };

  /// Iterates over an array or an object, in linear time. The items are views into this JSON, so
  /// keep it in a variable while iterating.
  iterator begin() const { return iterator(str(text_)); }
  iterator end() const { return iterator(); }

 private:
  template <class Value, class Function>
  std::optional<Value> value_at(Function get, std::string_view pointer) const {
    return detail::looked_up<Value>(get, str(text_), str(pointer));
  }

  std::string text_;
};

/// Encodes a string as JSON, with quotes and escapes, to build JSON with.
inline std::string quoted(std::string_view text) {
  return detail::taken(detail::made<trunkline_text *>(trunkline_json_string, str(text)));
}

/// Writes JSON. finish() throws the first failure of an earlier write.
class JsonWriter : public detail::Handle<trunkline_json_writer, trunkline_json_writer_free> {
 public:
  JsonWriter() : Handle(detail::made<trunkline_json_writer *>(trunkline_json_writer_new)) {}

  JsonWriter &begin_object() { return trunkline_json_writer_begin_object(get()), *this; }
  JsonWriter &begin_array() { return trunkline_json_writer_begin_array(get()), *this; }
  JsonWriter &end() { return trunkline_json_writer_end(get()), *this; }
  JsonWriter &key(std::string_view key) {
    return trunkline_json_writer_key(get(), str(key)), *this;
  }
  JsonWriter &text(std::string_view text) {
    return trunkline_json_writer_text(get(), str(text)), *this;
  }
  JsonWriter &number(double value) { return trunkline_json_writer_number(get(), value), *this; }
  JsonWriter &int64(std::int64_t value) {
    return trunkline_json_writer_int64(get(), value), *this;
  }
  JsonWriter &boolean(bool value) { return trunkline_json_writer_bool(get(), value), *this; }
  JsonWriter &null() { return trunkline_json_writer_null(get()), *this; }
  /// Writes a value that is already JSON.
  JsonWriter &json(std::string_view value) {
    return trunkline_json_writer_json(get(), str(value)), *this;
  }

  std::string finish() {
    return detail::taken(detail::made<trunkline_text *>(trunkline_json_writer_finish, get()));
  }
};

/// A call that is waiting for its response. You can move it out of its handler, for example to
/// another thread, and complete it later. If it is destroyed without a response, it fails.
class Call : public detail::Handle<trunkline_call, trunkline_call_free> {
 public:
  /// Retains a call that a callback received.
  explicit Call(trunkline_call *borrowed) noexcept : Handle(trunkline_call_retain(borrowed)) {}

  Json arguments() const { return Json(trunkline_call_arguments(get())); }
  std::string_view text(std::string_view pointer, std::string_view otherwise = "") const {
    return view(trunkline_call_text(get(), str(pointer), str(otherwise)));
  }
  double number(std::string_view pointer, double otherwise = 0) const {
    return trunkline_call_number(get(), str(pointer), otherwise);
  }
  std::int64_t int64(std::string_view pointer, std::int64_t otherwise = 0) const {
    return trunkline_call_int64(get(), str(pointer), otherwise);
  }
  bool boolean(std::string_view pointer, bool otherwise = false) const {
    return trunkline_call_bool(get(), str(pointer), otherwise);
  }
  /// Returns a fact about the call, such as "/auth/principal" or "/clientInfo/name".
  std::optional<Json> fact(std::string_view pointer) const {
    const auto value =
        detail::looked_up<trunkline_text *>(trunkline_call_fact, get(), str(pointer));
    return value ? std::optional(Json(detail::taken(*value))) : std::nullopt;
  }
  bool cancelled() const noexcept { return trunkline_call_cancelled(get()); }
  void progress(double done, double total = 0, std::string_view message = {}) const {
    detail::check_last(trunkline_call_progress(get(), done, total, str(message)));
  }
  /// Sends a log message to the client, if it accepts messages of that level, such as "info" or
  /// "warning".
  void log(std::string_view level, std::string_view message) const {
    detail::check_last(trunkline_call_log(get(), str(level), str(message)));
  }
  /// Like log(), with any JSON as data and the name of a logger.
  void log_json(std::string_view level, std::string_view data, std::string_view logger = {}) const {
    detail::check(trunkline_call_log_json, get(), str(level), str(logger), str(data));
  }
  /// Turns the call into a task, if the tool and the client support it.
  void start_task() const { detail::check_last(trunkline_call_start_task(get())); }
  void set_task_message(std::string_view message) const {
    detail::check_last(trunkline_call_set_task_message(get(), str(message)));
  }

  /// Does work once per request, however often the handler runs for it: `work` returns a value as
  /// JSON text, which later runs get without calling it.
  template <class Work>
  Json once(std::string_view name, Work work) const {
    const auto kept = detail::looked_up<trunkline_text *>(trunkline_call_once, get(), str(name));
    if (kept) return Json(detail::taken(*kept));
    const std::string value = work();
    detail::check(trunkline_call_set_once, get(), str(name), str(value));
    return Json(value);
  }

  /// Completes the call. Has no effect if the call has already ended, for example because its
  /// client disconnected.
  void return_text(std::string_view text) const {
    settle(trunkline_call_return_text(get(), str(text)));
  }
  /// Completes the call with JSON, which `shape` converts to a result: TRUNKLINE_SHAPE_OBJECT,
  /// _VALUE, _CONTENT or _RESULT.
  void return_json(trunkline_shape shape, std::string_view json) const {
    settle(trunkline_call_return_json(get(), shape, str(json), nullptr));
  }
  void fail_tool(std::string_view message) const {
    settle(trunkline_call_fail_tool(get(), str(message)));
  }
  void fail(std::string_view message) const { settle(trunkline_call_fail(get(), str(message))); }
  void fail_with(std::exception_ptr failure) const noexcept {
    try {
      std::rethrow_exception(std::move(failure));
    } catch (const ToolError &error) {
      trunkline_call_fail_tool(get(), str(error.what()));
    } catch (...) {
      detail::describe([this](const char *message) { trunkline_call_fail(get(), str(message)); });
    }
  }

  /// Asks the client's user to fill in a form; `then` gets the call and the ElicitResult. A
  /// failure, or the first run on 2026-07-28, ends the call without calling it.
  template <class Then>
  void elicit(std::string_view params, Then then, std::string_view key = {}) const {
    ask(trunkline_call_elicit, std::move(then), params, key);
  }
  /// Queries the client's model; `then` gets the call and the CreateMessageResult.
  template <class Then>
  void sample(std::string_view params, Then then, std::string_view key = {}) const {
    ask(trunkline_call_sample, std::move(then), params, key);
  }
  /// Requests the client's roots; `then` gets the call and the ListRootsResult.
  template <class Then>
  void list_roots(Then then, std::string_view key = {}) const {
    ask(trunkline_call_list_roots, std::move(then), key);
  }

  /// In middleware: runs the rest of the request, whose outcome completes the call.
  void next() const {
    detail::check(trunkline_call_next, get(), str({}), nullptr, nullptr, nullptr);
  }
  /// Like next(), but `then` gets the call and the result, and completes the call. A failure ends
  /// the call without calling it. The rest of the request gets `params` (JSON), if given.
  template <class Then>
  void next(Then then, std::string_view params = {}) const {
    ask(trunkline_call_next, std::move(then), params);
  }

 private:
  static void settle(trunkline_result result) {
    if (result != TRUNKLINE_DONE) detail::check_last(result);
  }
  template <class Function, class Then, class... Texts>
  void ask(Function function, Then then, const Texts &...texts) const {
    const trunkline_answer_callback callback = [](trunkline_call *borrowed, trunkline_result result,
                                                  const trunkline_str *json,
                                                  const trunkline_error *error, void *data) {
      if (result != TRUNKLINE_OK) {
        trunkline_call_fail_with(borrowed, error);
        return;
      }
      const Call call(borrowed);
      try {
        (*static_cast<Then *>(data))(call, Json(*json));
      } catch (...) {
        call.fail_with(std::current_exception());
      }
    };
    detail::check(function, get(), str(texts)..., callback, detail::keep(std::move(then)),
                  &detail::destroy<Then>);
  }
};

namespace detail {

/// The callback for a handler that takes a `Call &`.
template <class Handler>
void called(trunkline_call *borrowed, void *handler) {
  Call call(borrowed);
  // A handler may move the call away; this one can still fail it.
  const Call failing(borrowed);
  try {
    (*static_cast<Handler *>(handler))(call);
  } catch (...) {
    failing.fail_with(std::current_exception());
  }
}

}  // namespace detail

/// Options of any kind, set through their setters:
/// `options.set(trunkline_server_options_set_instructions, "Be brief.")`.
template <class Self, class Object, trunkline_result (*make)(Object **, trunkline_error **),
          void (*free)(Object *)>
class Options : public detail::Handle<Object, free> {
 public:
  Options() : detail::Handle<Object, free>(detail::made<Object *>(make)) {}

  /// Sets an option; strings are passed as anything that converts to std::string_view.
  template <class Function, class... Arguments>
  Self &set(Function function, const Arguments &...arguments) {
    detail::check_last(function(this->get(), argument(arguments)...));
    return static_cast<Self &>(*this);
  }

 private:
  template <class Argument>
  static auto argument(const Argument &argument) {
    if constexpr (std::is_convertible_v<const Argument &, std::string_view>) {
      return str(argument);
    } else {
      return argument;
    }
  }
};

class ServerOptions
    : public Options<ServerOptions, trunkline_server_options, trunkline_server_options_new,
                     trunkline_server_options_free> {};

class HttpOptions : public Options<HttpOptions, trunkline_http_options, trunkline_http_options_new,
                                   trunkline_http_options_free> {};

/// Options of a client, and its handlers for requests and notifications of servers.
class ClientOptions
    : public Options<ClientOptions, trunkline_client_options, trunkline_client_options_new,
                     trunkline_client_options_free> {
 public:
  /// Handles a server's request that the user fill in a form. The handler takes a `Call &`, whose
  /// arguments() are the params, and responds with an ElicitResult through
  /// `return_json(TRUNKLINE_SHAPE_RESULT, ...)`.
  template <class Handler>
  ClientOptions &on_elicit(Handler handler) {
    return on_call(trunkline_client_options_on_elicit, std::move(handler));
  }
  /// Like on_elicit(), for a request that the user open a page.
  template <class Handler>
  ClientOptions &on_elicit_url(Handler handler) {
    return on_call(trunkline_client_options_on_elicit_url, std::move(handler));
  }
  /// Like on_elicit(), for a request to the model; responds with a CreateMessageResult.
  template <class Handler>
  ClientOptions &on_sample(Handler handler) {
    return on_call(trunkline_client_options_on_sample, std::move(handler));
  }
  /// Like on_sample(), for conversations in which the model may use tools.
  template <class Handler>
  ClientOptions &on_sample_with_tools(Handler handler) {
    return on_call(trunkline_client_options_on_sample_with_tools, std::move(handler));
  }
  /// Handles each notification from the server. The handler takes the method, a std::string_view,
  /// and the params as Json.
  template <class Handler>
  ClientOptions &on_notification(Handler handler) {
    const trunkline_notification_callback callback =
        [](const trunkline_str *method, const trunkline_str *params, void *data) noexcept {
          detail::contained([&] { (*static_cast<Handler *>(data))(view(*method), Json(*params)); },
                            detail::log_error);
        };
    return set(trunkline_client_options_on_notification, callback,
               detail::keep(std::move(handler)), &detail::destroy<Handler>);
  }

 private:
  template <class Function, class Handler>
  ClientOptions &on_call(Function function, Handler handler) {
    return set(function, &detail::called<Handler>, detail::keep(std::move(handler)),
               &detail::destroy<Handler>);
  }
};

class RequestOptions
    : public Options<RequestOptions, trunkline_request_options, trunkline_request_options_new,
                     trunkline_request_options_free> {
 public:
  /// Requests progress. The handler takes the progress so far, the total (0: unknown) and a
  /// message, a std::string_view.
  template <class Handler>
  RequestOptions &on_progress(Handler handler) {
    const trunkline_progress_callback callback =
        [](double done, double total, const trunkline_str *message, void *data) noexcept {
          detail::contained(
              [&] { (*static_cast<Handler *>(data))(done, total, view(*message)); },
              detail::log_error);
        };
    return set(trunkline_request_options_on_progress, callback,
               detail::keep(std::move(handler)), &detail::destroy<Handler>);
  }
};

/// A listener of a server. The destructor closes it without waiting.
class Listener : public detail::Handle<trunkline_listener, trunkline_listener_free> {
 public:
  using Handle::Handle;
  std::string_view url() const { return view(trunkline_listener_url(get())); }
  void close(std::uint64_t deadline_ms = 5000) const {
    detail::check(trunkline_listener_close, get(), deadline_ms);
  }
  void start_close(std::uint64_t deadline_ms = 5000) const {
    detail::check(trunkline_listener_start_close, get(), deadline_ms);
  }
};

class Client;

/// A server. No other thread may use it while it is being destroyed.
class Server : public detail::Handle<trunkline_server, trunkline_server_free> {
 public:
  Server(std::string_view name, std::string_view version, const ServerOptions &options = {})
      : Handle(detail::made<trunkline_server *>(trunkline_server_new_with, str(name), str(version),
                                                options.get())) {}

  /// Adds a feature, given its kind and an entry as listed at trunkline_server_add. The handler
  /// takes a `Call &`. Returns the registration, for remove().
  template <class Handler>
  std::uint64_t add(std::string_view kind, std::string_view entry, Handler handler) const {
    return detail::made<std::uint64_t>(trunkline_server_add, get(), str(kind), str(entry),
                                       &detail::called<Handler>, detail::keep(std::move(handler)),
                                       &detail::destroy<Handler>);
  }
  /// Adds a feature by its descriptor, a JSON object of the specification.
  template <class Handler>
  std::uint64_t tool(std::string_view descriptor, Handler handler) const {
    return described("tool", descriptor, std::move(handler));
  }
  template <class Handler>
  std::uint64_t resource(std::string_view descriptor, Handler handler) const {
    return described("resource", descriptor, std::move(handler));
  }
  template <class Handler>
  std::uint64_t resource_template(std::string_view descriptor, Handler handler) const {
    return described("resourceTemplate", descriptor, std::move(handler));
  }
  template <class Handler>
  std::uint64_t prompt(std::string_view descriptor, Handler handler) const {
    return described("prompt", descriptor, std::move(handler));
  }
  /// Adds middleware for these methods, a JSON array such as `["tools/call"]`, or for all that can
  /// be wrapped. Its handler continues with Call::next.
  template <class Handler>
  std::uint64_t middleware(Handler handler, std::string_view methods = {}) const {
    const std::string entry =
        methods.empty() ? "{}" : "{\"methods\": " + std::string(methods) + "}";
    return add("middleware", entry, std::move(handler));
  }
  /// Mounts another server under a prefix. Both need the same port, or two loops.
  std::uint64_t mount(std::string_view prefix, const Server &other) const {
    return detail::made<std::uint64_t>(trunkline_server_mount, get(), str(prefix), other.get());
  }
  /// Mounts the server behind a client, or all servers of a group, under a prefix. `options` are
  /// the others as JSON, such as `{"transparent": true}`.
  std::uint64_t proxy(std::string_view prefix, const Client &client,
                      std::string_view options = {}) const;
  void remove(std::uint64_t registration) const {
    detail::check(trunkline_server_remove, get(), registration);
  }

  /// Serves stdin and stdout until stdin ends or stop() is called.
  void serve_stdio() const { detail::check(trunkline_server_serve_stdio, get()); }
  /// Runs the callbacks of its listeners until stop() is called.
  void run() const { detail::check(trunkline_server_run, get()); }
  void stop() const { detail::check_last(trunkline_server_stop(get())); }
  Listener listen_http(const HttpOptions &options = {}) const {
    return Listener(
        detail::made<trunkline_listener *>(trunkline_server_listen_http, get(), options.get()));
  }
#ifndef _WIN32
  /// Serves file descriptors, such as two pipes, or a socket (passed twice).
  Listener listen_fd(int input, int output) const {
    return Listener(
        detail::made<trunkline_listener *>(trunkline_server_listen_fd, get(), input, output));
  }
#endif
  trunkline_port *port() const noexcept { return trunkline_server_port(get()); }

 private:
  template <class Handler>
  std::uint64_t described(const char *kind, std::string_view descriptor, Handler handler) const {
    const std::string entry = std::string("{\"") + kind + "\": " + std::string(descriptor) + "}";
    return add(kind, entry, std::move(handler));
  }
};

/// A connection to a server, or to a group. The destructor closes it without waiting.
class Client : public detail::Handle<trunkline_client, trunkline_client_free> {
 public:
  static Client child(const std::vector<std::string> &command, const ClientOptions &options = {}) {
    std::vector<trunkline_str> parts;
    for (const std::string &part : command) parts.push_back(str(part));
    const trunkline_str *first = parts.data();
    return connected(trunkline_client_connect_child, first, parts.size(), options.get());
  }
  static Client http(std::string_view url, const ClientOptions &options = {}) {
    return connected(trunkline_client_connect_http, str(url), options.get());
  }
  static Client memory(const Server &server, const ClientOptions &options = {}) {
    return connected(trunkline_client_connect_memory, server.get(), options.get());
  }
  /// Connects to an entry of `mcpServers`, or to a configuration with one server (JSON or the path
  /// of its file).
  static Client config(std::string_view server, const ClientOptions &options = {}) {
    return connected(trunkline_client_connect_config, str(server), options.get());
  }
  /// Connects to a configuration (JSON or the path of its file), or to servers by name (JSON).
  static Client group(std::string_view servers, const ClientOptions &options = {}) {
    return connected(trunkline_client_connect_group, str(servers), options.get());
  }

  Json call_tool(std::string_view name, std::string_view arguments = {},
                 const RequestOptions &options = {}) const {
    return call(trunkline_client_call_tool, options, name, arguments);
  }
  Json request(std::string_view method, std::string_view params = {},
               const RequestOptions &options = {}) const {
    return call(trunkline_client_request, options, method, params);
  }
  /// Calls any other blocking function of a client, such as
  /// client.call(trunkline_client_read_resource, {}, "notes://today").
  template <class Function, class... Texts>
  Json call(Function function, const RequestOptions &options, const Texts &...texts) const {
    const trunkline_request_options *given = options.get();
    return Json(
        detail::taken(detail::made<trunkline_text *>(function, get(), str(texts)..., given)));
  }
  /// Starts any request. The future becomes ready while callbacks of the port run.
  std::future<Json> start(std::string_view method, std::string_view params = {},
                          const RequestOptions &options = {}) const {
    const trunkline_reply_callback callback = [](trunkline_result result, const trunkline_str *json,
                                                 const trunkline_error *error, void *data) {
      auto &answer = *static_cast<Answer *>(data);
      if (result != TRUNKLINE_OK) return answer.fail(detail::error_of(result, error));
      answer.given = true;
      answer.promise.set_value(Json(*json));
    };
    auto answer = std::make_unique<Answer>();
    std::future<Json> future = answer->promise.get_future();
    const trunkline_request_options *given = options.get();
    detail::check(trunkline_client_start, get(), str(method), str(params), given, callback,
                  answer.release(), &detail::destroy<Answer>, nullptr);
    return future;
  }
  /// Sets the form handler of a connected client; see ClientOptions::on_elicit.
  template <class Handler>
  void on_elicit(Handler handler) const {
    on_call(trunkline_client_on_elicit, std::move(handler));
  }
  template <class Handler>
  void on_elicit_url(Handler handler) const {
    on_call(trunkline_client_on_elicit_url, std::move(handler));
  }
  template <class Handler>
  void on_sample(Handler handler) const {
    on_call(trunkline_client_on_sample, std::move(handler));
  }
  template <class Handler>
  void on_sample_with_tools(Handler handler) const {
    on_call(trunkline_client_on_sample_with_tools, std::move(handler));
  }
  void close(std::uint64_t deadline_ms = 5000) const {
    detail::check(trunkline_client_close, get(), deadline_ms);
  }
  void start_close(std::uint64_t deadline_ms = 5000) const {
    detail::check(trunkline_client_start_close, get(), deadline_ms);
  }
  trunkline_port *port() const noexcept { return trunkline_client_port(get()); }

 private:
  using Handle::Handle;
  /// The result of a started request. If there is none, the request fails when the client is
  /// destroyed.
  struct Answer {
    std::promise<Json> promise;
    bool given = false;

    void fail(Error error) {
      given = true;
      promise.set_exception(std::make_exception_ptr(std::move(error)));
    }
    ~Answer() {
      if (!given) fail({TRUNKLINE_CLOSED, "The client was destroyed before the response arrived"});
    }
  };
  template <class Function, class Handler>
  void on_call(Function function, Handler handler) const {
    detail::check(function, get(), &detail::called<Handler>, detail::keep(std::move(handler)),
                  &detail::destroy<Handler>);
  }
  template <class Function, class... Arguments>
  static Client connected(Function function, Arguments... arguments) {
    return Client(detail::made<trunkline_client *>(function, arguments...));
  }
};

inline std::uint64_t Server::proxy(std::string_view prefix, const Client &client,
                                   std::string_view options) const {
  return detail::made<std::uint64_t>(trunkline_server_proxy, get(), client.get(), str(prefix),
                                     str(options));
}

/// Runs the pending callbacks of a port, waiting up to `timeout_ms` for the first one. Returns how
/// many ran.
inline std::size_t dispatch(trunkline_port *port, std::uint64_t timeout_ms = 0) {
  return detail::made<std::size_t>(trunkline_dispatch, port, timeout_ms);
}

/// Sends the log records of a port to a handler instead of stderr. The handler takes the level, the
/// target and the message, each a std::string_view.
template <class Handler>
void on_log(trunkline_port *port, Handler handler) {
  const trunkline_log_callback callback = [](const trunkline_str *level,
                                             const trunkline_str *target,
                                             const trunkline_str *message, void *data) noexcept {
    // The log handler cannot receive its own exceptions.
    detail::contained(
        [&] { (*static_cast<Handler *>(data))(view(*level), view(*target), view(*message)); },
        [](const char *problem) noexcept {
          std::fprintf(stderr, "[trunkline] error: the handler of the log failed: %s\n", problem);
        });
  };
  detail::check_last(trunkline_port_on_log(port, callback, detail::keep(std::move(handler)),
                                           &detail::destroy<Handler>));
}

}  // namespace trunkline

#endif  // TRUNKLINE_HPP
