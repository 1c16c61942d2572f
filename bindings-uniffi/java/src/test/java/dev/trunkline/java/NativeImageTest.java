package dev.trunkline.java;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.jna.Callback;
import com.sun.jna.Structure;
import dev.trunkline.java.model.OpenEnum;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * The metadata for native images of GraalVM has what is looked up at run time. With the environment
 * variable {@code TRUNKLINE_UPDATE_METADATA}, the tests write it.
 */
class NativeImageTest {
  private static final String FOLDER = "META-INF/native-image/dev.trunkline/trunkline/";

  /** The classes that JNA's native library looks up in the JDK. */
  private static final List<String> OF_THE_JDK =
      List.of(
          "java.lang.Boolean",
          "java.lang.Byte",
          "java.lang.Character",
          "java.lang.Class",
          "java.lang.Double",
          "java.lang.Error",
          "java.lang.Float",
          "java.lang.IllegalArgumentException",
          "java.lang.IllegalStateException",
          "java.lang.Integer",
          "java.lang.Long",
          "java.lang.Object",
          "java.lang.OutOfMemoryError",
          "java.lang.Short",
          "java.lang.String",
          "java.lang.System",
          "java.lang.UnsatisfiedLinkError",
          "java.lang.UnsupportedOperationException",
          "java.lang.Void",
          "java.lang.reflect.Method",
          "java.nio.Buffer",
          "java.nio.ByteBuffer",
          "java.nio.CharBuffer",
          "java.nio.DoubleBuffer",
          "java.nio.FloatBuffer",
          "java.nio.IntBuffer",
          "java.nio.LongBuffer",
          "java.nio.ShortBuffer");

  /** Annotations of Jakarta Validation, which are read by name. */
  private static final List<String> CONSTRAINTS =
      List.of(
          "DecimalMax",
          "DecimalMin",
          "Email",
          "Max",
          "Min",
          "Negative",
          "NegativeOrZero",
          "NotBlank",
          "NotEmpty",
          "Pattern",
          "Positive",
          "PositiveOrZero",
          "Size");

  private static final List<String> MEMBERS =
      List.of("allDeclaredConstructors", "allDeclaredFields", "allDeclaredMethods");

  @Test
  void modelsAndNativeFunctionsAreReflected() throws Exception {
    var entries = new ArrayList<String>();
    var types = classesIn("dev/trunkline/java/");
    types.addAll(classesIn("dev/trunkline/java/model/"));
    for (var type : types) {
      if (type.isRecord()
          || type.isEnum()
          || UnionCodec.isUnion(type)
          || OpenEnum.class.isAssignableFrom(type)) {
        entries.add(entry(type, "allRecordComponents"));
      }
    }
    for (var type : nativeFunctions()) {
      entries.add(entry(type));
    }
    for (var name : CONSTRAINTS) {
      var constraint = Class.forName("jakarta.validation.constraints." + name);
      for (var type : List.of(constraint, Class.forName(constraint.getName() + "$List"))) {
        var condition = "\"condition\": {\"typeReachable\": \"" + constraint.getName() + "\"}, ";
        entries.add("{" + condition + entry(type).substring(1));
      }
    }
    check("reflect-config.json", entries);
  }

  @Test
  void jnaFindsClassesByName() throws Exception {
    var entries = new ArrayList<String>();
    for (var name : OF_THE_JDK) {
      entries.add(entry(Class.forName(name)));
    }
    for (var name : namesIn("com/sun/jna/linux-x86-64/libjnidispatch.so")) {
      entries.add(entry(Class.forName(name)));
    }
    for (var type : nativeFunctions()) {
      entries.add(entry(type));
    }
    check("jni-config.json", entries);
  }

  @Test
  void librariesAreResources() throws IOException {
    var config = Json.parseObject(contentOf(FOLDER + "resource-config.json"));
    var patterns =
        ((List<?>) Mapper.objectOf(config.get("resources")).get("includes"))
            .stream()
                .map(include -> (String) Mapper.objectOf(include).get("pattern"))
                .collect(Collectors.joining("|"));
    for (var name :
        List.of(
            "linux-x86-64/libtrunkline_uniffi.so",
            "linux-aarch64/libtrunkline_uniffi.so",
            "darwin-x86-64/libtrunkline_uniffi.dylib",
            "darwin-aarch64/libtrunkline_uniffi.dylib",
            "win32-x86-64/trunkline_uniffi.dll",
            "com/sun/jna/linux-x86-64/libjnidispatch.so",
            "com/sun/jna/darwin-aarch64/libjnidispatch.jnilib",
            "com/sun/jna/win32-x86-64/jnidispatch.dll")) {
      assertTrue(name.matches(patterns), name);
      if (name.startsWith("com")) {
        assertNotNull(NativeImageTest.class.getClassLoader().getResource(name), name);
      }
    }
  }

  /** The types through which JNA calls and is called. */
  private static List<Class<?>> nativeFunctions() throws Exception {
    var types = new ArrayList<Class<?>>();
    for (var type : classesIn("dev/trunkline/internal/")) {
      if (type.getSimpleName().endsWith("UniffiLib")
          || Structure.class.isAssignableFrom(type)
          || Callback.class.isAssignableFrom(type)) {
        types.add(type);
      }
    }
    return types;
  }

  static List<Class<?>> classesIn(String folder) throws Exception {
    var root = Path.of(Server.class.getProtectionDomain().getCodeSource().getLocation().toURI());
    var types = new ArrayList<Class<?>>();
    try (var files = Files.list(root.resolve(folder))) {
      for (var file : files.map(path -> path.getFileName().toString()).sorted().toList()) {
        if (file.endsWith(".class")) {
          var name = folder.replace('/', '.') + file.substring(0, file.length() - 6);
          types.add(Class.forName(name, false, Server.class.getClassLoader()));
        }
      }
    }
    return types;
  }

  /** The classes of JNA that its own library names. */
  private static Iterable<String> namesIn(String library) throws IOException {
    var names = new TreeSet<String>();
    var found = Pattern.compile("com/sun/jna/[A-Za-z_$]+").matcher(contentOf(library));
    while (found.find()) {
      names.add(found.group().replace('/', '.'));
    }
    return names;
  }

  private static String entry(Class<?> type, String... more) {
    return Stream.concat(MEMBERS.stream(), Stream.of(more))
        .map(member -> ", \"" + member + "\": true")
        .collect(Collectors.joining("", "{\"name\": \"" + type.getName() + "\"", "}"));
  }

  private static void check(String name, List<String> entries) throws IOException {
    var expected = "[\n  " + String.join(",\n  ", entries) + "\n]\n";
    if (System.getenv("TRUNKLINE_UPDATE_METADATA") != null) {
      Files.writeString(Path.of("../java/src/main/resources", FOLDER + name), expected);
    } else {
      assertEquals(expected, contentOf(FOLDER + name));
    }
    Json.parse(expected);
  }

  /** The bytes of a resource as characters. */
  private static String contentOf(String name) throws IOException {
    try (var stream = NativeImageTest.class.getClassLoader().getResourceAsStream(name)) {
      assertNotNull(stream, name);
      return new String(stream.readAllBytes(), StandardCharsets.ISO_8859_1);
    }
  }
}
