package dev.trunkline.java.spring;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.trunkline.java.Json;
import java.io.File;
import java.lang.ProcessBuilder.Redirect;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

@Timeout(120)
class TrunklineStdioAutoConfigurationTest {
  private static final String INITIALIZE =
      "{'jsonrpc': '2.0', 'id': 1, 'method': 'initialize', 'params': {'protocolVersion':"
          + " '2025-06-18', 'capabilities': {}, 'clientInfo': {'name': 'test', 'version': '1'}}}";

  @Configuration(proxyBeanMethods = false)
  @ImportAutoConfiguration({
    TrunklineAutoConfiguration.class,
    TrunklineStdioAutoConfiguration.class,
    TrunklineUnservedAutoConfiguration.class
  })
  static class Application {
    @Bean
    TrunklineAutoConfigurationTest.Weather weather() {
      return new TrunklineAutoConfigurationTest.Weather();
    }
  }

  @Configuration(proxyBeanMethods = false)
  static class Program {
    /** Whose thread would keep the process alive, unless the application closes. */
    @Bean
    ExecutorService worker() {
      System.out.println("not of the protocol");
      var worker = Executors.newSingleThreadExecutor();
      worker.execute(() -> {});
      return worker;
    }

    public static void main(String[] arguments) {
      application(Application.class, Program.class).run(arguments);
    }
  }

  private static SpringApplicationBuilder application(Class<?>... sources) {
    return new SpringApplicationBuilder(sources).web(WebApplicationType.NONE);
  }

  @Test
  void stdoutHasOnlyMessagesAndTheProcessEndsWithStdin() throws Exception {
    // None of the optional libraries is there.
    var places =
        Stream.of(System.getProperty("java.class.path").split(File.pathSeparator))
            .filter(
                place -> !place.matches(".*/(jackson|jakarta|jetty|slf4j|spring-security)[^/]*"))
            .collect(Collectors.joining(File.pathSeparator));
    var command =
        List.of(
            "java",
            "-Djna.library.path=" + System.getProperty("jna.library.path", ""),
            "-cp",
            places,
            Program.class.getName(),
            "--trunkline.stdio=true",
            "--trunkline.name=weather");
    var process = new ProcessBuilder(command).redirectError(Redirect.INHERIT).start();
    var input = process.outputWriter();
    var output = process.inputReader();
    input.write(INITIALIZE.replace('\'', '"') + "\n");
    input.flush();
    var result = (Map<?, ?>) Json.parseObject(output.readLine()).get("result");
    assertEquals("weather", ((Map<?, ?>) result.get("serverInfo")).get("name"));
    input.close();
    assertNull(output.readLine());
    assertTrue(process.waitFor(60, TimeUnit.SECONDS));
    assertEquals(0, process.exitValue());
  }

  @Test
  void featuresThatNothingServesAreWarnedOf() {
    TestLogging.WARNINGS.clear();
    application(Application.class).run().close();
    assertTrue(
        TestLogging.WARNINGS.stream()
            .anyMatch(warning -> warning.startsWith("The annotated methods of weather are not")),
        TestLogging.WARNINGS.toString());
  }
}
