package dev.trunkline.java;

import dev.trunkline.Shape;
import dev.trunkline.java.model.Category;
import dev.trunkline.java.model.Completion;
import dev.trunkline.java.model.CompletionReference;
import dev.trunkline.java.model.CompletionRequest;
import dev.trunkline.java.model.Implementation;
import dev.trunkline.java.model.PromptArgument;
import dev.trunkline.java.model.ResourceRequest;
import dev.trunkline.java.model.SkillFile;
import dev.trunkline.jvm.JvmAnswer;
import dev.trunkline.jvm.JvmHandler;
import dev.trunkline.jvm.JvmServer;
import java.lang.reflect.Type;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A server of tools, resources, prompts and skills for clients of every protocol revision. One
 * server handles all connections and requests of a process, on any number of transports. Features
 * can be added and removed at any time.
 *
 * <pre>{@code
 * record Place(String city) {}
 *
 * var server = new Server("weather", "1.0");
 * server.tool("forecast", "Tells tomorrow's weather", Place.class, (context, place) -> "Rain in " + place.city());
 * server.serveStdio();
 * }</pre>
 */
public final class Server extends ServerOverloads implements AutoCloseable {
  final JvmServer jvm;

  /** A server with the default options. */
  public Server(String name, String version) {
    this(name, version, options -> {});
  }

  /** A server with options. */
  public Server(String name, String version, Consumer<ServerOptions> options) {
    this(new Implementation(name, version), options);
  }

  /** A server with a title, icons or other information about itself. */
  public Server(Implementation info, Consumer<ServerOptions> options) {
    var given = Options.with(new ServerOptions(), options);
    Failures.given("the name of a server", info.name());
    Failures.given("the version of a server", info.version());
    jvm =
        new JvmServer(
            Failures.JVM,
            given.executor,
            Mapper.objectOf(Mapper.write(info)),
            given.instructions,
            given.values,
            given.store,
            given.lifespan,
            given.onError);
  }

  /**
   * Adds a tool with structured results and options. Its input schema is that of the record, whose
   * components may have a {@link Description}. The result may be any type with a JSON Schema, such
   * as that of a {@link TypeOf} list.
   */
  @Override
  public <A> ChangeableRegistration<ToolOptions> tool(
      String name,
      String description,
      Class<A> arguments,
      @Nullable Type result,
      Consumer<ToolOptions> options,
      Handler<A> handler) {
    return tool(
        name,
        description,
        () -> Schema.ofArguments(arguments),
        arguments,
        result,
        options,
        handler);
  }

  /** Adds a tool with a JSON Schema and options. Without a schema, it takes no arguments. */
  @Override
  public ChangeableRegistration<ToolOptions> tool(
      String name,
      String description,
      @Nullable Map<String, Object> inputSchema,
      Consumer<ToolOptions> options,
      Handler<Map<String, Object>> handler) {
    return tool(name, description, () -> inputSchema, Map.class, null, options, handler);
  }

  <A> ChangeableRegistration<ToolOptions> tool(
      String name,
      String description,
      Supplier<@Nullable Map<String, Object>> inputSchema,
      Type arguments,
      @Nullable Type result,
      Consumer<ToolOptions> options,
      Handler<A> handler) {
    var feature = "tool " + name;
    var input = Failures.naming(feature, inputSchema);
    Consumer<ToolOptions> all =
        given -> options.accept(given.describe("inputSchema", input).description(description));
    Function<@Nullable Object, JvmAnswer> conversion = Returns::of;
    if (result != null && !Returns.isForm(Mapper.classOf(result))) {
      var output = Failures.naming(feature, () -> Schema.ofResult(result));
      var wraps = Schema.isWrapped(result);
      all = all.andThen(given -> given.outputSchema(output).set("wrapOutput", wraps));
      conversion = given -> Returns.structured(given, wraps);
    }
    var run = Handling.of(arguments, handler, conversion);
    return changeable("tool", name, ToolOptions::new, all, run);
  }

  /**
   * Adds the methods of an object that are annotated with {@link McpTool}, {@link McpResource} or
   * {@link McpPrompt}.
   *
   * @throws InvalidArgumentException if there are none, or one is not valid
   */
  public List<Registration> add(Object features) {
    return Annotated.add(this, features, null);
  }

  /**
   * Adds a resource or, with a URI template (RFC 6570, such as {@code notes://{name}}), all
   * resources whose URI matches. An exact URI takes precedence over templates.
   */
  @Override
  public ChangeableRegistration<ResourceOptions> resource(
      String name,
      String uri,
      Consumer<ResourceOptions> options,
      Handler<ResourceRequest> handler) {
    var isTemplate = uri.contains("{");
    Consumer<ResourceOptions> first =
        given -> given.describe(isTemplate ? "uriTemplate" : "uri", uri);
    return changeable(
        isTemplate ? "resourceTemplate" : "resource",
        name,
        ResourceOptions::new,
        first.andThen(options),
        Handling.of(ResourceRequest.class, handler, Returns::contents));
  }

  /**
   * Adds a prompt with arguments and options. Strings and content blocks become messages of the
   * user.
   */
  @Override
  public ChangeableRegistration<PromptOptions> prompt(
      String name,
      String description,
      List<PromptArgument> arguments,
      Consumer<PromptOptions> options,
      Handler<Map<String, String>> handler) {
    Consumer<PromptOptions> first =
        given ->
            given
                .describe("arguments", arguments.isEmpty() ? null : arguments)
                .description(description);
    return changeable(
        "prompt",
        name,
        PromptOptions::new,
        first.andThen(options),
        Handling.of(new TypeOf<Map<String, String>>() {}.type(), handler, Returns::messages));
  }

  /**
   * Adds completions of an argument of a prompt or a resource template: a list of strings, or a
   * {@link Completion}.
   */
  public Registration completion(
      CompletionReference reference, String argument, Handler<CompletionRequest> handler) {
    var described = Json.object("ref", reference, "argument", argument);
    return register("completion", argument, described, Handling.completing(handler));
  }

  /**
   * Adds middleware for some methods, or, without any, for all that can be wrapped. The first one
   * added is the outermost.
   */
  public Registration middleware(Middleware middleware, String... methods) {
    Failures.given("the middleware", middleware);
    Handler<Map<String, Object>> handler =
        (context, body) ->
            middleware.handle(
                context,
                new MiddlewareRequest(
                    (String) body.get("method"), objectIn(body, "params"), context));
    return register(
        "middleware",
        "middleware",
        Json.object("methods", methods.length == 0 ? null : methods),
        Handling.of(
            Map.class, handler, result -> new JvmAnswer(Shape.RESULT, Mapper.write(result))));
  }

  /**
   * Adds the handler of a request that is not part of the protocol, such as {@code com.acme/sum}.
   */
  public Registration requestHandler(
      String method,
      Consumer<RequestHandlerOptions> options,
      Handler<Map<String, Object>> handler) {
    var given = Options.with(new RequestHandlerOptions(), options).set("method", method);
    return register(
        "requestHandler", method, given.values, Handling.of(Map.class, handler, Returns::plain));
  }

  /** Adds a provider to a list. */
  public Registration provider(Category category, Provider provider) {
    var of = nameOf(category);
    Failures.given("the provider", provider);
    Handler<Map<String, Object>> handler =
        (context, body) ->
            body.get("list") instanceof Map<?, ?> list
                ? provider.list((String) list.get("cursor"))
                : provider.get(objectIn(body, "get"));
    var answer =
        Handling.of(
            Map.class,
            handler,
            given ->
                given instanceof Provider.Page ? Returns.plain(given) : Returns.contents(given));
    return register("provider", "the provider of " + of, Map.of("of", of), answer);
  }

  /** Adds an agent skill: its files by path, with a {@code SKILL.md} that names it. */
  public Registration skill(Map<String, String> files, Consumer<SkillOptions> options) {
    var list =
        files.entrySet().stream()
            .map(file -> new SkillFile(file.getKey()).withText(file.getValue()))
            .toList();
    return skill("files", list, options);
  }

  /** Adds an agent skill: a folder with a {@code SKILL.md} that names it. */
  public Registration skill(Path folder, Consumer<SkillOptions> options) {
    return skill("folder", folder.toString(), options);
  }

  private Registration skill(String source, Object value, Consumer<SkillOptions> options) {
    var described = Options.with(new SkillOptions(), options).set(source, value).values;
    return register("skill", "skill", described, null);
  }

  /** Adds a folder whose files are served as resources, below a URI. They are read on request. */
  public Registration directory(String uri, Path path, Consumer<DirectoryOptions> options) {
    var given =
        Options.with(new DirectoryOptions(), options).set("uri", uri).set("path", path.toString());
    return register("directory", uri, given.values, null);
  }

  /**
   * Adds the features of another server, named {@code prefix__name} and {@code prefix+uri}. Its
   * lifespan opens with the first request that reaches it, and closes with this server.
   */
  public Registration mount(String prefix, Server other) {
    return new Registration(jvm.mount(prefix, other.jvm));
  }

  /** Adds the features of the server behind a client. */
  public Registration proxy(ConnectedClient client, Consumer<ProxyOptions> options) {
    return new Registration(
        jvm.proxy(client.jvm, Options.with(new ProxyOptions(), options).values));
  }

  /** Notifies subscribers that a resource has changed. */
  public void resourceUpdated(String uri) {
    jvm.notify(Map.of("resourceUpdated", uri));
  }

  /** Notifies clients that the list of a provider has changed. Other lists need no call. */
  public void listChanged(Category category) {
    jvm.notify(Map.of("listChanged", nameOf(category)));
  }

  /**
   * Notifies the client that the user has finished with the page of {@link Context#elicitUrl}
   * (2025-11-25).
   */
  public void elicitationComplete(String elicitationId) {
    jvm.notify(Map.of("elicitationComplete", elicitationId));
  }

  /**
   * Serves over stdin and stdout in the foreground, until stdin ends or SIGINT or SIGTERM arrives.
   * Calls in flight may then complete within {@code drainDeadline}. Once this is called, anything
   * that the program prints goes to stderr.
   */
  public void serveStdio() {
    jvm.serveStdio();
  }

  /**
   * Listens for Streamable HTTP, in the background: it does not keep the process running once the
   * main method has returned. {@link Listener#join()}, {@link Listener#run()} and {@link
   * #serveHttp(Consumer)} wait.
   */
  @Override
  public Listener listen(Consumer<HttpOptions> options) {
    var given = Options.with(new HttpOptions(), options);
    return new Listener(Futures.wait(jvm.listen(given.values, given.auth, given.verifier)));
  }

  /**
   * Serves Streamable HTTP in the foreground, until SIGINT or SIGTERM arrives. Calls in flight may
   * then complete within {@code drainDeadline}. Like {@link #listen(Consumer)} followed by {@link
   * Listener#run}, but also handles signals while opening.
   */
  @Override
  public void serveHttp(Consumer<HttpOptions> options) {
    var given = Options.with(new HttpOptions(), options);
    jvm.serveHttp(given.values, given.auth, given.verifier);
  }

  /**
   * An endpoint of Streamable HTTP in the program's own web server, whose adapter passes on
   * requests. It takes the options of {@link #listen(Consumer)} except those of a socket, and
   * serves every path that it gets, unless the options name one.
   *
   * @throws InvalidArgumentException if an option is invalid
   */
  public HttpEndpoint endpoint(Consumer<HttpOptions> options) {
    var given = Options.with(new HttpOptions(), options);
    return new HttpEndpoint(jvm.endpoint(given.values, given.auth, given.verifier));
  }

  /**
   * Checks that a store fulfills its contract, which takes a few seconds. Returns the violations
   * found.
   */
  public static List<String> checkStore(Store store) {
    try (var server = new Server("check", "1", options -> options.store(store))) {
      return Futures.wait(server.jvm.checkStore());
    }
  }

  /**
   * Closes all listeners, and removes all features. Calls in flight get all but the last fifth of
   * {@code drainDeadline}.
   */
  @Override
  public void close() {
    jvm.close(null);
  }

  /** Closes all listeners, and removes all features. Calls in flight get until the deadline. */
  public void close(Duration deadline) {
    jvm.close(Mapper.milliseconds(deadline));
  }

  private <O extends FeatureOptions<O>> ChangeableRegistration<O> changeable(
      String kind, String name, Supplier<O> make, Consumer<O> options, JvmHandler handler) {
    Failures.given("the name of a " + kind, name);
    return new ChangeableRegistration<>(
        Options.with(make.get(), options),
        given -> make.get().like(given),
        (given, replaces) -> {
          given.describe("name", name).descriptor.values().removeIf(value -> value == null);
          var message = given.set(kind, given.descriptor).values;
          return jvm.register(kind, name, message, given.hooks, replaces, handler);
        });
  }

  private Registration register(
      String kind, String name, Map<String, Object> description, @Nullable JvmHandler handler) {
    return new Registration(jvm.register(kind, name, description, Map.of(), null, handler));
  }

  private static String nameOf(Category category) {
    return EnumCodec.write(Failures.given("the category", category));
  }

  private static Map<String, Object> objectIn(Map<String, Object> body, String name) {
    return body.get(name) == null ? Map.of() : Mapper.objectOf(body.get(name));
  }
}
