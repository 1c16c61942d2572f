package dev.trunkline.java;

import dev.trunkline.java.model.PromptArgument;
import java.lang.annotation.Annotation;
import java.lang.invoke.MethodType;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Parameter;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.Type;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Adds annotated methods to a server. */
final class Annotated {
  private static final List<Class<? extends Annotation>> ANNOTATIONS =
      List.of(McpTool.class, McpResource.class, McpPrompt.class);

  /** The names of generated subclasses: of Spring, Hibernate, Weld, Quarkus and Micronaut. */
  private static final Pattern PROXY =
      Pattern.compile("\\$\\$|\\$Proxy|Proxy\\$|_ClientProxy|_Subclass|\\$Intercepted");

  private final Method method;
  private final Invocation invocation;
  private final @Nullable Jackson jackson;

  /** The parameters apart from contexts; null for those. */
  private final List<RecordCodec.@Nullable Member> parameters = new ArrayList<>();

  private Annotated(Object object, Method method, @Nullable Jackson jackson) {
    this.method = method;
    this.jackson = jackson;
    invocation = new Invocation(method, object, method.toString());
    for (var parameter : method.getParameters()) {
      parameters.add(parameter.getType() == Context.class ? null : memberOf(parameter));
    }
  }

  /** With Jackson, it reads the arguments of tools, and writes results. */
  static List<Registration> add(Server server, Object features, @Nullable Jackson jackson) {
    var added = new ArrayList<Registration>();
    try {
      for (var method : methodsOf(features.getClass())) {
        var one = new Annotated(features, method, jackson);
        var tool = method.getAnnotation(McpTool.class);
        var resource = method.getAnnotation(McpResource.class);
        if (tool != null) {
          added.add(one.addTool(server, tool));
        } else if (resource != null) {
          added.add(one.addResource(server, resource));
        } else {
          added.add(one.addPrompt(server, method.getAnnotation(McpPrompt.class)));
        }
      }
    } catch (RuntimeException | Error failed) {
      added.forEach(Registration::remove);
      throw failed;
    }
    if (added.isEmpty()) {
      throw new InvalidArgumentException(
          features.getClass().getName()
              + " has no methods with @McpTool, @McpResource or @McpPrompt");
    }
    return added;
  }

  /** The annotated methods by name, without bridges and methods that another one overrides. */
  private static List<Method> methodsOf(Class<?> type) {
    var methods = new ArrayList<Method>();
    var seen = new HashSet<List<?>>();
    var declared = new ArrayList<Method[]>();
    // Also those that a proxy of the object overrides.
    for (var owner = type; owner != null; owner = owner.getSuperclass()) {
      declared.add(owner.getDeclaredMethods());
    }
    // With the default methods of interfaces.
    declared.add(type.getMethods());
    for (var own : declared) {
      // A bridge may have the parameters of its method, or those of the overridden one.
      Arrays.sort(own, Comparator.comparing(Method::isBridge));
      for (var method : own) {
        var isAnnotated = ANNOTATIONS.stream().anyMatch(method::isAnnotationPresent);
        var signature = List.of(method.getName(), List.of(method.getParameterTypes()));
        if (isAnnotated && seen.add(signature) && !method.isBridge()) {
          requireOverridable(method, type);
          methods.add(method);
        }
      }
    }
    methods.sort(Comparator.comparing(Method::getName));
    return methods;
  }

  private Registration addTool(Server server, McpTool tool) {
    var result = method.getGenericReturnType();
    var name = nameOf(tool.name());
    Consumer<ToolOptions> options = given -> AnnotatedOptions.of(tool, given);
    if (jackson != null) {
      return jackson.tool(server, name, tool.description(), members(), result, options, this::call);
    }
    return server.<Map<String, Object>>tool(
        name,
        tool.description(),
        () -> Schema.ofArguments(members()),
        Map.class,
        isStructured(result) ? result : null,
        options,
        this::call);
  }

  private Registration addResource(Server server, McpResource resource) {
    var name = nameOf(resource.name());
    requireStrings("resource " + name, "string", "array");
    for (var member : members()) {
      var variable = Pattern.compile("[{,+#./;?&]" + Pattern.quote(member.name()) + "[,*:}]");
      if (member.isRequired() && !variable.matcher(resource.uri()).find()) {
        throw new InvalidArgumentException(
            "resource " + name + ": the URI has no variable " + member.name());
      }
    }
    return server.resource(
        name,
        resource.uri(),
        options -> AnnotatedOptions.of(resource, options),
        (context, request) ->
            call(context, request.variables() == null ? Map.of() : request.variables()));
  }

  private Registration addPrompt(Server server, McpPrompt prompt) {
    var name = nameOf(prompt.name());
    requireStrings("prompt " + name, "string");
    var arguments = new ArrayList<PromptArgument>();
    for (var member : members()) {
      arguments.add(
          new PromptArgument(member.name())
              .withDescription(member.description())
              .withRequired(member.isRequired()));
    }
    return server.prompt(
        name,
        prompt.description(),
        arguments,
        options -> AnnotatedOptions.of(prompt, options),
        (context, given) -> call(context, Map.<String, Object>copyOf(given)));
  }

  private List<RecordCodec.Member> members() {
    return parameters.stream().filter(member -> member != null).toList();
  }

  /** Arguments of prompts are strings, and variables of URIs are these or lists of them. */
  private void requireStrings(String feature, Object... types) {
    for (var member : members()) {
      var type = Schema.of(member.type()).getOrDefault("type", "string");
      if (!List.of(types).contains(type)) {
        throw new InvalidArgumentException(
            feature + ": the parameter " + member.name() + " must be a string");
      }
    }
  }

  private @Nullable Object call(Context context, Map<String, Object> arguments) throws Exception {
    var result =
        invocation.call(
            Handling.read(
                () ->
                    parameters.stream()
                        .map(member -> member == null ? context : read(member, arguments))
                        .toArray()));
    return jackson == null ? result : jackson.written(result);
  }

  private @Nullable Object read(RecordCodec.Member member, Map<String, Object> arguments) {
    return jackson == null ? member.read(arguments) : jackson.read(member, arguments);
  }

  private String nameOf(String given) {
    return given.isEmpty() ? method.getName() : given;
  }

  private RecordCodec.Member memberOf(Parameter parameter) {
    if (!parameter.isNamePresent() && parameter.getAnnotation(JsonName.class) == null) {
      throw new InvalidArgumentException(
          "the parameters of "
              + method
              + " have no names: compile with -parameters, or add @JsonName to each");
    }
    return RecordCodec.memberOf(
        parameter,
        parameter.getName(),
        parameter.getParameterizedType(),
        parameter.getAnnotatedType());
  }

  /** Returns whether a result is data and not content. */
  private static boolean isStructured(Type type) {
    if (type instanceof ParameterizedType generic && generic.getRawType() instanceof Class<?> raw) {
      var last = generic.getActualTypeArguments()[generic.getActualTypeArguments().length - 1];
      return Map.class.isAssignableFrom(raw)
          || raw.isRecord()
          || Collection.class.isAssignableFrom(raw) && isStructured(last);
    }
    return type instanceof Class<?> plain
        && (isNumber(plain)
            || StringCodec.of(plain) != null
            || plain.isRecord()
            || UnionCodec.isUnion(plain))
        && !Returns.isForm(plain);
  }

  /** Returns whether values of a class are numbers or booleans. */
  private static boolean isNumber(Class<?> type) {
    var boxed = MethodType.methodType(type).wrap().returnType();
    return Number.class.isAssignableFrom(boxed) || boxed == Boolean.class;
  }

  /**
   * Refuses a method that a proxy of the object cannot override. It would run on the proxy, whose
   * fields are null.
   */
  private static void requireOverridable(Method method, Class<?> type) {
    var flags = method.getModifiers();
    var isProxied = method.getDeclaringClass() != type && PROXY.matcher(type.getName()).find();
    var problem =
        Modifier.isPrivate(flags) ? "private" : isProxied && isFinal(method) ? "final" : null;
    if (problem != null && !Modifier.isStatic(flags)) {
      throw new InvalidArgumentException(
          method
              + " is "
              + problem
              + ": a proxy of the object would run it on itself. Make it "
              + (problem.equals("private") ? "public" : "overridable"));
    }
  }

  private static boolean isFinal(Method method) {
    return Modifier.isFinal(method.getModifiers());
  }
}
