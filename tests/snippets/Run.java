package snippets;

import dev.trunkline.java.Json;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.stream.Collectors;

/**
 * Runs the snippets of the pages in one process: Run java NAME... | Run kotlin NAME... Prints a
 * line of JSON with the output of each.
 */
final class Run {
  private Run() {}

  public static void main(String[] arguments) {
    var out = System.out;
    for (var name : Arrays.asList(arguments).subList(1, arguments.length)) {
      var printed = new ByteArrayOutputStream();
      var line = new LinkedHashMap<String, Object>();
      System.setOut(new PrintStream(printed, true, StandardCharsets.UTF_8));
      line.put("name", name);
      line.put("error", run(arguments[0], name));
      line.put("printed", printed.toString(StandardCharsets.UTF_8));
      out.println(Json.write(line));
    }
    System.exit(0);
  }

  private static Class<?> classOf(String language, String name) throws ClassNotFoundException {
    var words = Arrays.stream(name.split("_")).map(Run::capitalized);
    var title = words.collect(Collectors.joining());
    if (language.equals("java")) {
      return Class.forName(title);
    }
    var folder = name.replace("_", "") + ".";
    try {
      return Class.forName(folder + title);
    } catch (ClassNotFoundException unnamed) {
      // The file does not name its class.
      return Class.forName(folder + capitalized(name) + "Kt");
    }
  }

  private static String capitalized(String word) {
    return word.substring(0, 1).toUpperCase(Locale.ROOT) + word.substring(1);
  }

  /** Returns the exception of a program, if it ends with one. */
  private static String run(String language, String name) {
    try {
      var main = classOf(language, name).getDeclaredMethod("main", String[].class);
      main.setAccessible(true);
      main.invoke(null, (Object) new String[0]);
      return null;
    } catch (InvocationTargetException thrown) {
      return traceOf(thrown.getCause());
    } catch (ReflectiveOperationException thrown) {
      return traceOf(thrown);
    }
  }

  private static String traceOf(Throwable thrown) {
    var text = new StringWriter();
    thrown.printStackTrace(new PrintWriter(text));
    return text.toString();
  }
}
