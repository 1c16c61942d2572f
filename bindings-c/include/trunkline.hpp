// Trunkline for C++17: a thin layer over trunkline.h, in this header alone.
//
// - Objects free themselves. Each has `get()` for the functions of trunkline.h that have no method
//   here.
// - Failures are exceptions: trunkline::Error, with the kind of trunkline_result. An exception of a
//   handler fails its call and nothing else: ToolError with its text for the model, any other one
// as an internal error, whose text goes to the log only.
// - Handlers are any callables. They run where trunkline.h runs callbacks: inside blocking
//   functions and trunkline_dispatch of their port.
// - JSON goes in as text (a raw string literal, or any JSON library's dump) and out as
//   trunkline::Json.
#ifndef TRUNKLINE_HPP
#define TRUNKLINE_HPP

#include <cstddef>
#include <cstdint>
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
  return {result, trunkline_error_message(error), trunkline_error_code(error), std::string(view(json))};
}

/// Runs a function whose last argument is the place of its error.
template <class Function, class... Arguments>
void check(Function function, Arguments... arguments) {
  trunkline_error *error = nullptr;
  const trunkline_result result = function(arguments..., &error);
  const std::unique_ptr<trunkline_error, void (*)(trunkline_error *)> owned(error, trunkline_error_free);
  if (result != TRUNKLINE_OK) throw error_of(result, error);
}

/// Checks the result of a function without an error: the library keeps it for the thread.
inline void check_last(trunkline_result result) {
  if (result != TRUNKLINE_OK) throw error_of(result, trunkline_last_error());
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
    const std::unique_ptr<trunkline_text, void (*)(trunkline_text *)> owned(value, trunkline_text_free);
    return std::string(view(trunkline_text_str(value)));
  }
  std::optional<double> number(std::string_view pointer = {}) const { return value<double>(trunkline_json_get_number, pointer); }
  std::optional<std::int64_t> int64(std::string_view pointer = {}) const {
    return value<std::int64_t>(trunkline_json_get_int64, pointer);
  }
  std::optional<bool> boolean(std::string_view pointer = {}) const { return value<bool>(trunkline_json_get_bool, pointer); }
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
  std::optional<Value> value(trunkline_result (*get)(trunkline_str, trunkline_str, Value *), std::string_view pointer) const {
    Value value{};
    if (!found(get(str(text_), str(pointer), &value))) return std::nullopt;
    return value;
  }

  std::string text_;
};

/// A text as a JSON string, quotes and escapes included, to build JSON with.
inline std::string quoted(std::string_view text) {
  trunkline_text *json = nullptr;
  detail::check(trunkline_json_string, str(text), &json);
  const std::unique_ptr<trunkline_text, void (*)(trunkline_text *)> owned(json, trunkline_text_free);
  return std::string(view(trunkline_text_str(json)));
}

/// Writes JSON. finish() throws the first failure of what was written before.
class JsonWriter : public detail::Handle<trunkline_json_writer, trunkline_json_writer_free> {
 public:
  JsonWriter() : Handle(made()) {}

  JsonWriter &begin_object() { return trunkline_json_writer_begin_object(get()), *this; }
  JsonWriter &begin_array() { return trunkline_json_writer_begin_array(get()), *this; }
  JsonWriter &end() { return trunkline_json_writer_end(get()), *this; }
  JsonWriter &key(std::string_view key) { return trunkline_json_writer_key(get(), str(key)), *this; }
  JsonWriter &text(std::string_view text) { return trunkline_json_writer_text(get(), str(text)), *this; }
  JsonWriter &number(double number) { return trunkline_json_writer_number(get(), number), *this; }
  JsonWriter &int64(std::int64_t number) { return trunkline_json_writer_int64(get(), number), *this; }
  JsonWriter &boolean(bool value) { return trunkline_json_writer_bool(get(), value), *this; }
  JsonWriter &null() { return trunkline_json_writer_null(get()), *this; }
  /// Writes a value that is JSON already.
  JsonWriter &json(std::string_view json) { return trunkline_json_writer_json(get(), str(json)), *this; }

  std::string finish() {
    trunkline_text *text = nullptr;
    detail::check(trunkline_json_writer_finish, get(), &text);
    std::string json(view(trunkline_text_str(text)));
    trunkline_text_free(text);
    return json;
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
    const std::unique_ptr<trunkline_text, void (*)(trunkline_text *)> owned(value, trunkline_text_free);
    return Json(trunkline_text_str(value));
  }
  bool cancelled() const noexcept { return trunkline_call_cancelled(get()); }
  void progress(double progress, double total = 0, std::string_view message = {}) const {
    detail::check_last(trunkline_call_progress(get(), progress, total, str(message)));
  }

  /// Answers. A call that is over already is not an error: its client may have gone.
  void return_text(std::string_view text) const { settle(trunkline_call_return_text(get(), str(text))); }
  /// With JSON, which `shape` takes to a result: TRUNKLINE_SHAPE_OBJECT, _VALUE, _CONTENT, _RESULT.
  void return_json(trunkline_shape shape, std::string_view json) const {
    try {
      detail::check(trunkline_call_return_json, get(), static_cast<std::uint32_t>(shape), str(json));
    } catch (const Error &error) {
      if (error.kind() != TRUNKLINE_DONE) throw;
    }
  }
  void fail_tool(std::string_view message) const { settle(trunkline_call_fail_tool(get(), str(message))); }
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
    ask(trunkline_call_elicit, params, key, std::move(then));
  }
  /// Asks the model of the client; `then` gets the call and the CreateMessageResult.
  template <class Then>
  void sample(std::string_view params, Then then, std::string_view key = {}) const {
    ask(trunkline_call_sample, params, key, std::move(then));
  }

 private:
  static void settle(trunkline_result result) {
    if (result != TRUNKLINE_DONE) detail::check_last(result);
  }
  template <class Function, class Then>
  void ask(Function function, std::string_view params, std::string_view key, Then then) const {
    const trunkline_answer_callback callback = [](trunkline_call *borrowed, trunkline_result result, trunkline_str json,
                                                  const trunkline_error *error, void *data) {
      if (result != TRUNKLINE_OK) {
        trunkline_call_fail_with(borrowed, error);
        return;
      }
      const Call call(borrowed);
      try {
        (*static_cast<Then *>(data))(call, Json(json));
      } catch (...) {
        call.fail_with(std::current_exception());
      }
    };
    detail::check(function, get(), str(params), str(key), callback, detail::keep(std::move(then)), &detail::destroy<Then>);
  }
};

/// Options of any kind: `options.set(trunkline_server_options_set_instructions, "Be brief.")` for
/// each setter.
template <class Object, trunkline_result (*make)(Object **, trunkline_error **), void (*free)(Object *)>
class Options : public detail::Handle<Object, free> {
 public:
  Options() : detail::Handle<Object, free>(made()) {}

  /// Sets an option; texts go in as anything that is a std::string_view.
  template <class Function, class... Arguments>
  Options &set(Function function, const Arguments &...arguments) {
    detail::check_last(function(this->get(), argument(arguments)...));
    return *this;
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

using ServerOptions = Options<trunkline_server_options, trunkline_server_options_new, trunkline_server_options_free>;
using HttpOptions = Options<trunkline_http_options, trunkline_http_options_new, trunkline_http_options_free>;
using ClientOptions = Options<trunkline_client_options, trunkline_client_options_new, trunkline_client_options_free>;
using RequestOptions = Options<trunkline_request_options, trunkline_request_options_new, trunkline_request_options_free>;

/// One way in to a server. Destroyed, it is closed without waiting.
class Listener : public detail::Handle<trunkline_listener, trunkline_listener_free> {
 public:
  using Handle::Handle;
  std::string_view url() const { return view(trunkline_listener_url(get())); }
  void close(std::uint64_t deadline_ms = 5000) const { detail::check(trunkline_listener_close, get(), deadline_ms); }
};

class Client;

/// A server. Not while it is destroyed may other threads use it.
class Server : public detail::Handle<trunkline_server, trunkline_server_free> {
 public:
  Server(std::string_view name, std::string_view version) : Handle(made(trunkline_server_new, str(name), str(version))) {}
  Server(std::string_view name, std::string_view version, const ServerOptions &options)
      : Handle(made(trunkline_server_new_with, str(name), str(version), options.get())) {}

  /// Adds a feature of a kind and by an entry that trunkline_server_add lists. The handler takes a
  /// `Call &`; gives the registration, for remove().
  template <class Handler>
  std::uint64_t add(std::string_view kind, std::string_view entry, Handler handler) const {
    std::uint64_t registration = 0;
    detail::check(trunkline_server_add, get(), str(kind), str(entry), &called<Handler>, detail::keep(std::move(handler)),
                  &detail::destroy<Handler>, &registration);
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
  /// Shows the features of another server under a prefix; both need one port, or two loops.
  std::uint64_t mount(std::string_view prefix, const Server &other) const {
    std::uint64_t registration = 0;
    detail::check(trunkline_server_mount, get(), str(prefix), other.get(), &registration);
    return registration;
  }
  /// Shows the features of the server behind a client, or of all servers of a group, under a
  /// prefix, with at most so many connections to each (0: 64).
  std::uint64_t proxy(std::string_view prefix, const Client &client, std::uint32_t max_connections = 0) const;
  void remove(std::uint64_t registration) const { detail::check(trunkline_server_remove, get(), registration); }

  /// Serves stdin and stdout until stdin ends or stop() is called.
  void run_stdio() const { detail::check(trunkline_server_run_stdio, get()); }
  /// Runs the callbacks of its listeners until stop() is called.
  void run() const { detail::check(trunkline_server_run, get()); }
  void stop() const { detail::check_last(trunkline_server_stop(get())); }
  Listener listen_http(const HttpOptions &options = {}) const {
    return Listener(made<trunkline_listener>(trunkline_server_listen_http, get(), options.get()));
  }
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
    return add(kind, std::string("{\"") + kind + "\": " + std::string(descriptor) + "}", std::move(handler));
  }
  template <class Handler>
  static void called(trunkline_call *borrowed, trunkline_str, void *handler) {
    Call call(borrowed);
    // A handler may move the call away: this one fails it all the same.
    const Call failing(borrowed);
    try {
      (*static_cast<Handler *>(handler))(call);
    } catch (...) {
      failing.fail_with(std::current_exception());
    }
  }
};

/// A connection to a server, or to many. Destroyed, it is closed without waiting.
class Client : public detail::Handle<trunkline_client, trunkline_client_free> {
 public:
  static Client child(const std::vector<std::string> &command, const ClientOptions &options = {}) {
    std::vector<trunkline_str> parts;
    for (const std::string &part : command) parts.push_back(str(part));
    return connected(trunkline_client_connect_child, static_cast<const trunkline_str *>(parts.data()), parts.size(), options.get());
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

  Json call_tool(std::string_view name, std::string_view arguments = {}, const RequestOptions &options = {}) const {
    return call(trunkline_client_call_tool, options, name, arguments);
  }
  Json request(std::string_view method, std::string_view params = {}, const RequestOptions &options = {}) const {
    return call(trunkline_client_request, options, method, params);
  }
  /// Any other blocking function of a client: client.call(trunkline_client_read_resource, {},
  /// "notes://today").
  template <class Function, class... Texts>
  Json call(Function function, const RequestOptions &options, const Texts &...texts) const {
    trunkline_text *result = nullptr;
    detail::check(function, get(), str(texts)..., static_cast<const trunkline_request_options *>(options.get()), &result);
    const std::unique_ptr<trunkline_text, void (*)(trunkline_text *)> owned(result, trunkline_text_free);
    return Json(trunkline_text_str(result));
  }
  /// Starts a call of a tool; the future is ready once callbacks of the port have run.
  std::future<Json> start_call_tool(std::string_view name, std::string_view arguments = {}, const RequestOptions &options = {}) const {
    std::promise<Json> promise;
    std::future<Json> future = promise.get_future();
    const trunkline_reply_callback callback = [](trunkline_result result, trunkline_str json, const trunkline_error *error,
                                                 void *data) {
      auto &promise = *static_cast<std::promise<Json> *>(data);
      if (result == TRUNKLINE_OK) {
        promise.set_value(Json(json));
      } else {
        promise.set_exception(std::make_exception_ptr(detail::error_of(result, error)));
      }
    };
    detail::check(trunkline_client_start_call_tool, get(), str(name), str(arguments),
                  static_cast<const trunkline_request_options *>(options.get()), callback, detail::keep(std::move(promise)),
                  &detail::destroy<std::promise<Json>>, static_cast<std::uint64_t *>(nullptr));
    return future;
  }
  void close(std::uint64_t deadline_ms = 5000) const { detail::check(trunkline_client_close, get(), deadline_ms); }
  trunkline_port *port() const noexcept { return trunkline_client_port(get()); }

 private:
  using Handle::Handle;
  template <class Function, class... Arguments>
  static Client connected(Function function, Arguments... arguments) {
    trunkline_client *client = nullptr;
    detail::check(function, arguments..., &client);
    return Client(client);
  }
};

inline std::uint64_t Server::proxy(std::string_view prefix, const Client &client, std::uint32_t max_connections) const {
  std::uint64_t registration = 0;
  detail::check(trunkline_server_proxy, get(), client.get(), str(prefix), max_connections, &registration);
  return registration;
}

/// Runs the callbacks of a port that are due, waiting for the first at most so long; gives their
/// number.
inline std::size_t dispatch(trunkline_port *port, std::uint64_t timeout_ms = 0) {
  std::size_t count = 0;
  detail::check(trunkline_dispatch, port, timeout_ms, &count);
  return count;
}

}  // namespace trunkline

#endif  // TRUNKLINE_HPP
