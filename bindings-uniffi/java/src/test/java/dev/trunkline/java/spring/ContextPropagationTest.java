package dev.trunkline.java.spring;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.trunkline.java.Client;
import dev.trunkline.java.McpTool;
import dev.trunkline.java.Server;
import dev.trunkline.java.model.RevisionChoice;
import io.micrometer.context.ContextRegistry;
import jakarta.servlet.Filter;
import jakarta.servlet.http.HttpServletRequest;
import java.io.File;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.slf4j.MDC;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.task.TaskDecorator;
import org.springframework.security.authentication.TestingAuthenticationToken;
import org.springframework.security.core.context.SecurityContextHolder;

@Timeout(120)
class ContextPropagationTest {
  private static final ThreadLocal<@Nullable String> MICROMETER = new ThreadLocal<>();
  private static final ThreadLocal<@Nullable String> DECORATOR = new ThreadLocal<>();

  @Configuration(proxyBeanMethods = false)
  static class WithCaller {
    /** Its handlers share two threads, one of them for middleware. Nothing may stay on them. */
    @Bean
    Server server() {
      var threads = Executors.newFixedThreadPool(2);
      var server = new Server("callers", "1.0", options -> options.executor(threads));
      server.middleware((context, request) -> request.next());
      return server;
    }

    /** As the filters of Spring Security, of tracing and of a program. */
    @Bean
    Filter caller() {
      return (request, response, chain) -> {
        var caller = ((HttpServletRequest) request).getHeader("x-caller");
        if (caller != null) {
          var context = SecurityContextHolder.createEmptyContext();
          context.setAuthentication(new TestingAuthenticationToken(caller, ""));
          SecurityContextHolder.setContext(context);
          MDC.put("caller", caller);
          MICROMETER.set(caller);
          DECORATOR.set(caller);
        }
        try {
          chain.doFilter(request, response);
        } finally {
          SecurityContextHolder.clearContext();
          MDC.clear();
          MICROMETER.remove();
          DECORATOR.remove();
        }
      };
    }

    @Bean
    TaskDecorator decorator() {
      return task -> {
        var captured = DECORATOR.get();
        return () -> {
          DECORATOR.set(captured);
          try {
            task.run();
          } finally {
            DECORATOR.remove();
          }
        };
      };
    }

    @Bean
    Callers callers() {
      return new Callers();
    }
  }

  static class Callers {
    @McpTool(description = "Tells who calls")
    public Map<String, String> caller() {
      var authentication = SecurityContextHolder.getContext().getAuthentication();
      Supplier<@Nullable String> security =
          () -> authentication == null ? null : authentication.getName();
      return Map.of(
          "security", String.valueOf(security.get()),
          "mdc", String.valueOf(MDC.get("caller")),
          "micrometer", String.valueOf(MICROMETER.get()),
          "decorator", String.valueOf(DECORATOR.get()));
    }
  }

  @Test
  void contextsFollowTheRequestAndNoOther() {
    ContextRegistry.getInstance().registerThreadLocalAccessor("caller", MICROMETER);
    TrunklineAutoConfigurationTest.withApplication(
        Map.of(),
        url -> {
          for (var revision : List.of(RevisionChoice.LEGACY, RevisionChoice.MODERN)) {
            for (var caller : List.of("ann", "null", "bob")) {
              var headers =
                  caller.equals("null") ? Map.<String, String>of() : Map.of("x-caller", caller);
              try (var client =
                  Client.connect(
                      url + "/mcp",
                      options ->
                          options.revision(revision).endpoint(http -> http.headers(headers)))) {
                var seen = client.callTool("caller").structuredContent();
                var places = List.of("security", "mdc", "micrometer", "decorator");
                for (var place : places) {
                  assertEquals(caller, ((Map<?, ?>) seen).get(place), place);
                }
              }
            }
          }
        },
        TrunklineAutoConfigurationTest.Application.class,
        WithCaller.class);
  }

  @Test
  @SuppressWarnings("unchecked")
  void noneOfTheLibrariesIsNeeded() throws Exception {
    var places = new ArrayList<URL>();
    for (var place : System.getProperty("java.class.path").split(File.pathSeparator)) {
      if (!Path.of(place).getFileName().toString().matches("(slf4j|spring-security|context-).*")) {
        places.add(urlOf(place));
      }
    }
    var platform = ClassLoader.getPlatformClassLoader();
    try (var loader = new URLClassLoader(places.toArray(URL[]::new), platform)) {
      var type = loader.loadClass(ContextPropagation.class.getName());
      var make = type.getDeclaredMethod("taskDecorator", List.class);
      make.setAccessible(true);
      var runs = new AtomicInteger();
      ((UnaryOperator<Runnable>) make.invoke(null, List.of())).apply(runs::incrementAndGet).run();
      assertEquals(1, runs.get());
      assertTrue(places.size() > 10, places.toString());
    }
  }

  private static URL urlOf(String place) throws MalformedURLException {
    return Path.of(place).toUri().toURL();
  }
}
