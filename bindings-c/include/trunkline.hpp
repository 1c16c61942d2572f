// Trunkline for C++17: a thin layer over trunkline.h, in this header alone.
//
// - Objects free themselves. Each has `get()` for the functions of trunkline.h that have no method
//   here.
// - Failures are exceptions: trunkline::Error, with the kind of trunkline_result. An exception of a
//   handler fails its call and nothing else: ToolError with its text for the model, any other one
//   as an internal error, whose text goes to the log only. Handlers of progress, notifications and
//   log records answer no call: their exceptions are logged.
// - Handlers are any callables. They run where trunkline.h runs callbacks: inside blocking
//   functions and trunkline_dispatch of their port.
// - JSON goes in as text (a raw string literal, or any JSON library's dump) and out as
//   trunkline::Json.
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

/// The text as trunkline.h takes it. Borrowed.
inline trunkline_str str(std::string_view text) noexcept { return {text.data(), text.size()}; }

/// The text that trunkline.h lends, for as long as it lends it.
inline std::string_view view(trunkline_str text) noexcept { return {text.data, text.len}; }

/// A function of the library failed.
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

/// Thrown by a tool: the call fails with this text, which the model reads.
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

/// Runs a function whose last argument is the place of its error.
template <class Function, class... Arguments>
void check(Function function, Arguments... arguments) {
  trunkline_error *error = nullptr;
  const trunkline_result result = function(arguments..., &error);
  const Owned<trunkline_error> owned(error, trunkline_error_free);
  if (result != TRUNKLINE_OK) throw error_of(result, error);
}

/// Runs a handler that answers no call. Its exceptions go to `log`.
template <class Run>
void contained(Run run, void (*log)(const char *) noexcept) noexcept {
  try {
    run();
  } catch (const std::exception &error) {
    log(error.what());
  } catch (...) {
    log("an exception that is not a std::exception");
  }
}

inline void log_error(const char *message) noexcept { trunkline_log_error(str(message)); }

/// Checks the result of a function without an error: the library keeps it for the thread.
inline void check_last(trunkline_result result) {
  if (result != TRUNKLINE_OK) throw error_of(result, trunkline_last_error());
}

/// The text that the library gave, which is freed.
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

/// `user_data` that holds a callable: it is freed by `destroy`, also if the function that takes it
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

/// JSON that was received: its own text, looked into by JSON pointers (RFC 6901) such as
/// "/content/0/text".
class Json {
 public:
  explicit Json(std::string text = "null") : text_(std::move(text)) {}
  explicit Json(std::string_view text) : text_(text) {}
  explicit Json(const char *text) : text_(text) {}
  explicit Json(trunkline_str text) : text_(view(text)) {}

  const std::string &dump() const noexcept { return text_; }

  /// The value at a pointer; nothing if there is none.
  std::optional<Json> at(std::string_view pointer) const {
    trunkline_str value{};
    if (!found(trunkline_json_get(str(text_), str(pointer), &value))) return std::nullopt;
    return Json(view(value));
  }
  /// The text of a string, without quotes and escapes; nothing if it is not one.
  std::optional<std::string> text(std::string_view pointer = {}) const {
    trunkline_text *value = nullptr;
    if (!found(trunkline_json_get_text(str(text_), str(pointer), &value))) return std::nullopt;
    return detail::taken(value);
  }
  std::optional<double> number(std::string_view pointer = {}) const {
    return value<double>(trunkline_json_get_number, pointer);
  }
  std::optional<std::int64_t> int64(std::string_view pointer = {}) const {
    return value<std::int64_t>(trunkline_json_get_int64, pointer);
  }
  std::optional<bool> boolean(std::string_view pointer = {}) const {
    return value<bool>(trunkline_json_get_bool, pointer);
  }
  std::optional<trunkline_json_kind> kind(std::string_view pointer = {}) const {
    return value<trunkline_json_kind>(trunkline_json_get_kind, pointer);
  }

  /// An element of an array, or a member of an object with its name as it is written.
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
      const trunkline_result result = trunkline_json_next(json_, &cursor_, &key, &value);
      more_ = found(result);
      item_ = {view(key), view(value)};
      return *this;
    }
    bool operator==(const iterator &other) const noexcept { return more_ == other.more_; }
    bool operator!=(const iterator &other) const noexcept { return !(*this == other); }

   private:
    trunkline_str json_{};
    std::size_t cursor_ = 0;
    Item item_{};
    bool more_ = false;
  };

  /// Walks an array or an object, in linear time; views into this JSON: keep it in a variable
  /// meanwhile.
  iterator begin() const { return iterator(str(text_)); }
  iterator end() const { return iterator(); }

 private:
  static bool found(trunkline_result result) {
    if (result == TRUNKLINE_NOT_FOUND) return false;
    detail::check_last(result);
    return true;
  }
  template <class Value>
  std::optional<Value> value(trunkline_result (*get)(trunkline_str, trunkline_str, Value *),
                             std::string_view pointer) const {
    Value found_value{};
    if (!found(get(str(text_), str(pointer), &found_value))) return std::nullopt;
    return found_value;
  }

  std::string text_;
};

/// A text as a JSON string, quotes and escapes included, to build JSON with.
inline std::string quoted(std::string_view text) {
  trunkline_text *json = nullptr;
  detail::check(trunkline_json_string, str(text), &json);
  return detail::taken(json);
}

/// Writes JSON. finish() throws the first failure of what was written before.
class JsonWriter : public detail::Handle<trunkline_json_writer, trunkline_json_writer_free> {
 public:
  JsonWriter() : Handle(made()) {}

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
  /// Writes a value that is JSON already.
  JsonWriter &json(std::string_view value) {
    return trunkline_json_writer_json(get(), str(value)), *this;
  }

  std::string finish() {
    trunkline_text *json = nullptr;
    detail::check(trunkline_json_writer_finish, get(), &json);
    return detail::taken(json);
  }

 private:
  static trunkline_json_writer *made() {
    trunkline_json_writer *writer = nullptr;
    detail::check(trunkline_json_writer_new, &writer);
    return writer;
  }
};

/// A call that waits for its answer. It may be moved out of its handler, to another thread say, and
/// answered later; without an answer it fails when it is destroyed.
class Call : public detail::Handle<trunkline_call, trunkline_call_free> {
 public:
  /// The call as a callback gets it, kept.
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
  /// A fact of the call: "/auth/principal", "/clientInfo/name".
  std::optional<Json> fact(std::string_view pointer) const {
    trunkline_text *value = nullptr;
    const trunkline_result result = trunkline_call_fact(get(), str(pointer), &value);
    if (result == TRUNKLINE_NOT_FOUND) return std::nullopt;
    detail::check_last(result);
    return Json(detail::taken(value));
  }
  bool cancelled() const noexcept { return trunkline_call_cancelled(get()); }
  void progress(double done, double total = 0, std::string_view message = {}) const {
    detail::check_last(trunkline_call_progress(get(), done, total, str(message)));
  }
  /// Sends a log message to the client, if it wants messages of that level: "info", "warning".
  void log(std::string_view level, std::string_view message) const {
    detail::check_last(trunkline_call_log(get(), str(level), str(message)));
  }
  /// The same with any JSON as data, under the name of a logger.
  void log_json(std::string_view level, std::string_view data, std::string_view logger = {}) const {
    detail::check(trunkline_call_log_json, get(), str(level), str(logger), str(data));
  }
  /// Makes a task of the call from here on, where it may be one.
  void start_task() const { detail::check_last(trunkline_call_start_task(get())); }
  void set_task_message(std::string_view message) const {
    detail::check_last(trunkline_call_set_task_message(get(), str(message)));
  }

  /// Does something once, however often the handler runs for its request: `work` gives a value as
  /// JSON text, which the runs that follow get without it.
  template <class Work>
  Json once(std::string_view name, Work work) const {
    trunkline_text *kept = nullptr;
    const trunkline_result result = trunkline_call_once(get(), str(name), &kept);
    if (result == TRUNKLINE_OK) return Json(detail::taken(kept));
    if (result != TRUNKLINE_NOT_FOUND) detail::check_last(result);
    const std::string made = work();
    const Json value(made);
    detail::check(trunkline_call_set_once, get(), str(name), str(value.dump()));
    return value;
  }

  /// Answers. A call that is over already is not an error: its client may have gone.
  void return_text(std::string_view text) const {
    settle(trunkline_call_return_text(get(), str(text)));
  }
  /// With JSON, which `shape` takes to a result: TRUNKLINE_SHAPE_OBJECT, _VALUE, _CONTENT, _RESULT.
  void return_json(trunkline_shape shape, std::string_view json) const {
    try {
      detail::check(trunkline_call_return_json, get(), shape, str(json));
    } catch (const Error &error) {
      if (error.kind() != TRUNKLINE_DONE) throw;
    }
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
    } catch (const std::exception &error) {
      trunkline_call_fail(get(), str(error.what()));
    } catch (...) {
      trunkline_call_fail(get(), str("an exception that is not a std::exception"));
    }
  }

  /// Asks the user of the client by a form; `then` gets the call and the ElicitResult. A failure,
  /// and the first run on 2026-07-28, end the call without it.
  template <class Then>
  void elicit(std::string_view params, Then then, std::string_view key = {}) const {
    ask(trunkline_call_elicit, std::move(then), params, key);
  }
  /// Asks the model of the client; `then` gets the call and the CreateMessageResult.
  template <class Then>
  void sample(std::string_view params, Then then, std::string_view key = {}) const {
    ask(trunkline_call_sample, std::move(then), params, key);
  }
  /// Asks for the roots of the client; `then` gets the call and the ListRootsResult.
  template <class Then>
  void list_roots(Then then, std::string_view key = {}) const {
    ask(trunkline_call_list_roots, std::move(then), key);
  }

  /// In middleware: runs the rest of the request, whose outcome answers the call.
  void next() const {
    detail::check(trunkline_call_next, get(), str({}), nullptr, nullptr, nullptr);
  }
  /// The same; `then` gets the call and the result, and answers. A failure ends the call without
  /// it. With `params`, which are JSON, the rest of the request gets those.
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

/// The callback of a handler that takes a `Call &`.
template <class Handler>
void called(trunkline_call *borrowed, void *handler) {
  Call call(borrowed);
  // A handler may move the call away: this one fails it all the same.
  const Call failing(borrowed);
  try {
    (*static_cast<Handler *>(handler))(call);
  } catch (...) {
    failing.fail_with(std::current_exception());
  }
}

}  // namespace detail

/// Options of any kind: `options.set(trunkline_server_options_set_instructions, "Be brief.")` for
/// each setter.
template <class Self, class Object, trunkline_result (*make)(Object **, trunkline_error **),
          void (*free)(Object *)>
class Options : public detail::Handle<Object, free> {
 public:
  Options() : detail::Handle<Object, free>(made()) {}

  /// Sets an option; texts go in as anything that is a std::string_view.
  template <class Function, class... Arguments>
  Self &set(Function function, const Arguments &...arguments) {
    return checked(function(this->get(), argument(arguments)...));
  }

 protected:
  Self &checked(trunkline_result result) {
    detail::check_last(result);
    return static_cast<Self &>(*this);
  }

 private:
  static Object *made() {
    Object *object = nullptr;
    detail::check(make, &object);
    return object;
  }
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

/// Options of a client, and the handlers of the requests and notifications of servers.
class ClientOptions
    : public Options<ClientOptions, trunkline_client_options, trunkline_client_options_new,
                     trunkline_client_options_free> {
 public:
  /// A server asks the user to fill in a form: the handler takes a `Call &`, whose arguments() are
  /// the params, and answers with an ElicitResult by `return_json(TRUNKLINE_SHAPE_RESULT, ...)`.
  template <class Handler>
  ClientOptions &on_elicit(Handler handler) {
    return on_call(trunkline_client_options_on_elicit, std::move(handler));
  }
  /// The same for a page that the user is asked to open.
  template <class Handler>
  ClientOptions &on_elicit_url(Handler handler) {
    return on_call(trunkline_client_options_on_elicit_url, std::move(handler));
  }
  /// A server asks the model: the same, with a CreateMessageResult.
  template <class Handler>
  ClientOptions &on_sample(Handler handler) {
    return on_call(trunkline_client_options_on_sample, std::move(handler));
  }
  /// The same for conversations in which the model may use tools.
  template <class Handler>
  ClientOptions &on_sample_with_tools(Handler handler) {
    return on_call(trunkline_client_options_on_sample_with_tools, std::move(handler));
  }
  /// Each notification of the server: the handler takes its method, a std::string_view, and its
  /// params as Json.
  template <class Handler>
  ClientOptions &on_notification(Handler handler) {
    const trunkline_notification_callback callback =
        [](const trunkline_str *method, const trunkline_str *params, void *data) noexcept {
          detail::contained([&] { (*static_cast<Handler *>(data))(view(*method), Json(*params)); },
                            detail::log_error);
        };
    return checked(trunkline_client_options_on_notification(
        get(), callback, detail::keep(std::move(handler)), &detail::destroy<Handler>));
  }

 private:
  template <class Function, class Handler>
  ClientOptions &on_call(Function function, Handler handler) {
    return checked(function(get(), &detail::called<Handler>, detail::keep(std::move(handler)),
                            &detail::destroy<Handler>));
  }
};

class RequestOptions
    : public Options<RequestOptions, trunkline_request_options, trunkline_request_options_new,
                     trunkline_request_options_free> {
 public:
  /// Requests progress: the handler takes what is done, the total (0: unknown) and a message, a
  /// std::string_view.
  template <class Handler>
  RequestOptions &on_progress(Handler handler) {
    const trunkline_progress_callback callback =
        [](double done, double total, const trunkline_str *message, void *data) noexcept {
          detail::contained(
              [&] { (*static_cast<Handler *>(data))(done, total, view(*message)); },
              detail::log_error);
        };
    return checked(trunkline_request_options_on_progress(
        get(), callback, detail::keep(std::move(handler)), &detail::destroy<Handler>));
  }
};

/// One way in to a server. Destroyed, it is closed without waiting.
class Listener : public detail::Handle<trunkline_listener, trunkline_listener_free> {
 public:
  using Handle::Handle;
  std::string_view url() const { return view(trunkline_listener_url(get())); }
  void close(std::uint64_t deadline_ms = 5000) const {
    detail::check(trunkline_listener_close, get(), deadline_ms);
  }
};

class Client;

/// A server. Not while it is destroyed may other threads use it.
class Server : public detail::Handle<trunkline_server, trunkline_server_free> {
 public:
  Server(std::string_view name, std::string_view version)
      : Handle(made(trunkline_server_new, str(name), str(version))) {}
  Server(std::string_view name, std::string_view version, const ServerOptions &options)
      : Handle(made(trunkline_server_new_with, str(name), str(version), options.get())) {}

  /// Adds a feature of a kind and by an entry that trunkline_server_add lists. The handler takes a
  /// `Call &`; gives the registration, for remove().
  template <class Handler>
  std::uint64_t add(std::string_view kind, std::string_view entry, Handler handler) const {
    std::uint64_t registration = 0;
    detail::check(trunkline_server_add, get(), str(kind), str(entry), &detail::called<Handler>,
                  detail::keep(std::move(handler)), &detail::destroy<Handler>, &registration);
    return registration;
  }
  /// Adds a feature by its descriptor, which is JSON as the specification has it.
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
  /// Adds a middleware of these methods, a JSON array such as `["tools/call"]`, or of all that can
  /// be wrapped. Its handler goes on with Call::next.
  template <class Handler>
  std::uint64_t middleware(Handler handler, std::string_view methods = {}) const {
    const std::string entry =
        methods.empty() ? "{}" : "{\"methods\": " + std::string(methods) + "}";
    return add("middleware", entry, std::move(handler));
  }
  /// Shows the features of another server under a prefix; both need one port, or two loops.
  std::uint64_t mount(std::string_view prefix, const Server &other) const {
    std::uint64_t registration = 0;
    detail::check(trunkline_server_mount, get(), str(prefix), other.get(), &registration);
    return registration;
  }
  /// Shows the features of the server behind a client, or of all servers of a group, under a
  /// prefix, with at most so many connections to each (0: 64).
  std::uint64_t proxy(std::string_view prefix, const Client &client,
                      std::uint32_t max_connections = 0) const;
  void remove(std::uint64_t registration) const {
    detail::check(trunkline_server_remove, get(), registration);
  }

  /// Serves stdin and stdout until stdin ends or stop() is called.
  void run_stdio() const { detail::check(trunkline_server_run_stdio, get()); }
  /// Runs the callbacks of its listeners until stop() is called.
  void run() const { detail::check(trunkline_server_run, get()); }
  void stop() const { detail::check_last(trunkline_server_stop(get())); }
  Listener listen_http(const HttpOptions &options = {}) const {
    return Listener(made<trunkline_listener>(trunkline_server_listen_http, get(), options.get()));
  }
#ifndef _WIN32
  /// Serves descriptors, such as the two ends of a socket.
  Listener listen_fd(int input, int output) const {
    return Listener(made<trunkline_listener>(trunkline_server_listen_fd, get(), input, output));
  }
#endif
  trunkline_port *port() const noexcept { return trunkline_server_port(get()); }

 private:
  template <class Object = trunkline_server, class Function, class... Arguments>
  static Object *made(Function function, Arguments... arguments) {
    Object *object = nullptr;
    detail::check(function, arguments..., &object);
    return object;
  }
  template <class Handler>
  std::uint64_t described(const char *kind, std::string_view descriptor, Handler handler) const {
    const std::string entry = std::string("{\"") + kind + "\": " + std::string(descriptor) + "}";
    return add(kind, entry, std::move(handler));
  }
};

/// A connection to a server, or to many. Destroyed, it is closed without waiting.
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
  /// An entry of `mcpServers`, or a configuration or its file with one server.
  static Client config(std::string_view server, const ClientOptions &options = {}) {
    return connected(trunkline_client_connect_config, str(server), options.get());
  }
  /// A configuration or its file, or servers by name as JSON.
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
  /// Any other blocking function of a client: client.call(trunkline_client_read_resource, {},
  /// "notes://today").
  template <class Function, class... Texts>
  Json call(Function function, const RequestOptions &options, const Texts &...texts) const {
    trunkline_text *result = nullptr;
    const trunkline_request_options *given = options.get();
    detail::check(function, get(), str(texts)..., given, &result);
    return Json(detail::taken(result));
  }
  /// Starts any request; the future is ready once callbacks of the port have run.
  std::future<Json> start(std::string_view method, std::string_view params = {},
                          const RequestOptions &options = {}) const {
    const trunkline_reply_callback callback = [](trunkline_result result, const trunkline_str *json,
                                                 const trunkline_error *error, void *data) {
      auto &answer = *static_cast<Answer *>(data);
      if (result == TRUNKLINE_OK) {
        answer.give(Json(*json));
      } else {
        answer.fail(detail::error_of(result, error));
      }
    };
    auto answer = std::make_unique<Answer>();
    std::future<Json> future = answer->promise.get_future();
    const trunkline_request_options *given = options.get();
    detail::check(trunkline_client_start, get(), str(method), str(params), given, callback,
                  answer.release(), &detail::destroy<Answer>, nullptr);
    return future;
  }
  /// Sets the handler of forms of a client that is connected; as ClientOptions::on_elicit.
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
  trunkline_port *port() const noexcept { return trunkline_client_port(get()); }

 private:
  using Handle::Handle;
  /// The answer of a started request; without one it fails when the client is gone.
  struct Answer {
    std::promise<Json> promise;
    bool given = false;

    void give(Json json) {
      given = true;
      promise.set_value(std::move(json));
    }
    void fail(Error error) {
      given = true;
      promise.set_exception(std::make_exception_ptr(std::move(error)));
    }
    ~Answer() {
      if (!given) fail({TRUNKLINE_CLOSED, "The client was destroyed before the answer came"});
    }
  };
  template <class Function, class Handler>
  void on_call(Function function, Handler handler) const {
    detail::check(function, get(), &detail::called<Handler>, detail::keep(std::move(handler)),
                  &detail::destroy<Handler>);
  }
  template <class Function, class... Arguments>
  static Client connected(Function function, Arguments... arguments) {
    trunkline_client *client = nullptr;
    detail::check(function, arguments..., &client);
    return Client(client);
  }
};

inline std::uint64_t Server::proxy(std::string_view prefix, const Client &client,
                                   std::uint32_t max_connections) const {
  std::uint64_t registration = 0;
  detail::check(trunkline_server_proxy, get(), client.get(), str(prefix), max_connections,
                &registration);
  return registration;
}

/// Runs the callbacks of a port that are due, waiting for the first at most so long; gives their
/// number.
inline std::size_t dispatch(trunkline_port *port, std::uint64_t timeout_ms = 0) {
  std::size_t count = 0;
  detail::check(trunkline_dispatch, port, timeout_ms, &count);
  return count;
}

/// Sends the log records of a port to a handler instead of stderr; it takes the level, the target
/// and the message, each a std::string_view.
template <class Handler>
void on_log(trunkline_port *port, Handler handler) {
  const trunkline_log_callback callback = [](const trunkline_str *level,
                                             const trunkline_str *target,
                                             const trunkline_str *message, void *data) noexcept {
    // The handler of the log cannot take what it throws itself.
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
