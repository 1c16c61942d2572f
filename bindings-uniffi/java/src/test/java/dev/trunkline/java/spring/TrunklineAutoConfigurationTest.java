package dev.trunkline.java.spring;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.PropertyNamingStrategies;
import dev.trunkline.java.Client;
import dev.trunkline.java.InvalidArgumentException;
import dev.trunkline.java.Jackson;
import dev.trunkline.java.Jackson2;
import dev.trunkline.java.McpTool;
import dev.trunkline.java.Server;
import dev.trunkline.java.model.SubscriptionFilter;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.web.embedded.jetty.JettyServletWebServerFactory;
import org.springframework.boot.web.server.Shutdown;
import org.springframework.boot.web.servlet.context.ServletWebServerApplicationContext;
import org.springframework.context.ApplicationContext;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Scope;
import org.springframework.context.annotation.ScopedProxyMode;

@Timeout(120)
class TrunklineAutoConfigurationTest {
  private static final Server OWN = new Server("mine", "2.0");

  @Configuration(proxyBeanMethods = false)
  @ImportAutoConfiguration(TrunklineAutoConfiguration.class)
  static class Application {
    @Bean
    JettyServletWebServerFactory web() {
      var web = new JettyServletWebServerFactory(0);
      // The default of Spring Boot.
      web.setShutdown(Shutdown.GRACEFUL);
      return web;
    }

    @Bean
    Weather weather() {
      return new Weather();
    }
  }

  @Configuration(proxyBeanMethods = false)
  static class WithServer {
    @Bean
    Server server() {
      return OWN;
    }
  }

  @Configuration(proxyBeanMethods = false)
  static class WithScope {
    @Bean
    @Scope(value = "prototype", proxyMode = ScopedProxyMode.TARGET_CLASS)
    Tides tides() {
      return new Tides();
    }
  }

  @Configuration(proxyBeanMethods = false)
  static class WithLateClient {
    @Bean
    LateClient late(ApplicationContext context) {
      return new LateClient((ServletWebServerApplicationContext) context);
    }
  }

  /** Opens a stream while the application shuts down, before the web server does. */
  static class LateClient implements SmartLifecycle {
    static final List<Client> CLIENTS = new ArrayList<>();

    private final ServletWebServerApplicationContext context;
    private boolean isRunning;

    LateClient(ServletWebServerApplicationContext context) {
      this.context = context;
    }

    @Override
    public void start() {
      isRunning = true;
    }

    @Override
    public void stop() {
      isRunning = false;
      var client = Client.connect("http://127.0.0.1:" + context.getWebServer().getPort() + "/mcp");
      CLIENTS.add(client);
      client.subscribe(new SubscriptionFilter().withTools(true));
    }

    @Override
    public boolean isRunning() {
      return isRunning;
    }
  }

  static class Tides {
    @McpTool(description = "Tells the tide")
    public String tide() {
      return "low";
    }
  }

  static class Weather {
    @McpTool(description = "Tells tomorrow's weather")
    public String forecast(String city) {
      return "Rain in " + city;
    }
  }

  static void withApplication(Map<String, Object> properties, Trial trial, Class<?>... sources) {
    var builder =
        new SpringApplicationBuilder(sources)
            .properties(properties)
            .bannerMode(org.springframework.boot.Banner.Mode.OFF);
    try (var context = (ServletWebServerApplicationContext) builder.run()) {
      trial.run("http://127.0.0.1:" + context.getWebServer().getPort());
    }
  }

  interface Trial {
    void run(String url);
  }

  @Test
  void annotatedBeansAreServed() {
    withApplication(
        Map.of("trunkline.name", "weather"),
        url -> {
          try (var client = Client.connect(url + "/mcp")) {
            assertEquals("weather", client.serverInfo().name());
            assertEquals(
                "Rain in Oslo", client.callTool("forecast", Map.of("city", "Oslo"), String.class));
          }
        },
        Application.class);
  }

  @Test
  void propertiesAndBeansReplaceTheDefaults() {
    withApplication(
        Map.of("trunkline.path", "/tools/", "trunkline.allowed-hosts", "mcp.example.com"),
        url -> {
          try (var client = Client.connect(url + "/tools")) {
            assertEquals("mine", client.serverInfo().name());
            assertEquals("forecast", client.listTools().get(0).name());
          }
          assertEquals("415", statusOf(url, "mcp.example.com"));
          assertEquals("403", statusOf(url, "other.example.com"));
        },
        Application.class,
        WithServer.class);
  }

  @Configuration(proxyBeanMethods = false)
  static class WithJackson {
    @Bean
    Jackson jackson() {
      return new Jackson2(
          new ObjectMapper().setPropertyNamingStrategy(PropertyNamingStrategies.SNAKE_CASE));
    }

    @Bean
    Places places() {
      return new Places();
    }
  }

  record Place(String cityName) {}

  static class Places {
    @McpTool(description = "Tells a place")
    public Place place() {
      return new Place("Oslo");
    }
  }

  @Test
  void aBeanOfJacksonReadsAndWrites() {
    withApplication(
        Map.of(),
        url -> {
          try (var client = Client.connect(url + "/mcp")) {
            assertEquals(Map.of("city_name", "Oslo"), client.callTool("place").structuredContent());
          }
        },
        Application.class,
        WithJackson.class);
  }

  @Test
  void propertiesAreOptionsOfTheServer() {
    for (var wrong :
        Map.of(
                "trunkline.store", "nowhere:",
                "trunkline.drain-deadline", "-1s")
            .entrySet()) {
      var error =
          assertThrows(
              Exception.class,
              () ->
                  withApplication(
                      Map.of(wrong.getKey(), wrong.getValue()), url -> {}, Application.class));
      while (error.getCause() instanceof Exception cause) {
        error = cause;
      }
      assertTrue(error instanceof InvalidArgumentException, error.toString());
    }
  }

  @Test
  void beansWithAScopeAreAddedOnce() {
    withApplication(
        Map.of(),
        url -> {
          try (var client = Client.connect(url + "/mcp")) {
            assertEquals("low", client.callTool("tide", null, String.class));
          }
        },
        Application.class,
        WithScope.class);
  }

  @Test
  void openStreamsDoNotDelayAShutdown() {
    var ended = new long[1];
    var clients = new ArrayList<Client>();
    withApplication(
        Map.of(),
        url -> {
          clients.add(Client.connect(url + "/mcp"));
          clients.get(0).subscribe(new SubscriptionFilter().withTools(true));
          ended[0] = System.nanoTime();
        },
        Application.class);
    var took = Duration.ofNanos(System.nanoTime() - ended[0]);
    clients.get(0).close();
    assertTrue(took.toSeconds() < 15, "the shutdown took " + took);
  }

  @Test
  void lateStreamsDoNotDelayAShutdown() {
    var ended = new long[1];
    withApplication(
        Map.of(), url -> ended[0] = System.nanoTime(), Application.class, WithLateClient.class);
    var took = Duration.ofNanos(System.nanoTime() - ended[0]);
    assertEquals(1, LateClient.CLIENTS.size());
    LateClient.CLIENTS.get(0).close();
    assertTrue(took.toSeconds() < 15, "the shutdown took " + took);
  }

  /** The status of an empty request to a host. */
  private static String statusOf(String url, String host) {
    try (var socket = new Socket("127.0.0.1", URI.create(url).getPort())) {
      var request = "POST /tools HTTP/1.1\r\nHost: " + host + "\r\nContent-Length: 0\r\n\r\n";
      socket.getOutputStream().write(request.getBytes(StandardCharsets.US_ASCII));
      var response = new BufferedReader(new InputStreamReader(socket.getInputStream()));
      return response.readLine().split(" ")[1];
    } catch (IOException failed) {
      throw new IllegalStateException(failed);
    }
  }
}
