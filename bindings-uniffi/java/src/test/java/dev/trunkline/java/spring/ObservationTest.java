package dev.trunkline.java.spring;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.trunkline.java.Client;
import dev.trunkline.java.McpTool;
import dev.trunkline.java.ProtocolException;
import dev.trunkline.java.ToolException;
import dev.trunkline.java.model.RevisionChoice;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tag;
import io.micrometer.core.instrument.Timer;
import io.micrometer.core.instrument.observation.DefaultMeterObservationHandler;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.micrometer.observation.ObservationRegistry;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.slf4j.MDC;
import org.springframework.boot.web.servlet.FilterRegistrationBean;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.Ordered;
import org.springframework.web.filter.ServerHttpObservationFilter;

@Timeout(120)
class ObservationTest {
  private static final String NAME = "mcp.server.operation.duration";

  /** As Actuator. */
  @Configuration(proxyBeanMethods = false)
  static class WithRegistry {
    static final MeterRegistry METERS = new SimpleMeterRegistry();

    @Bean
    ObservationRegistry observations() {
      var registry = ObservationRegistry.create();
      registry.observationConfig().observationHandler(new DefaultMeterObservationHandler(METERS));
      return registry;
    }

    @Bean
    FilterRegistrationBean<ServerHttpObservationFilter> http(ObservationRegistry registry) {
      var bean = new FilterRegistrationBean<>(new ServerHttpObservationFilter(registry));
      bean.setOrder(Ordered.HIGHEST_PRECEDENCE + 1);
      return bean;
    }

    @Bean
    FilterRegistrationBean<jakarta.servlet.Filter> caller() {
      return new FilterRegistrationBean<>(
          (request, response, chain) -> {
            MDC.put("caller", "ann");
            try {
              chain.doFilter(request, response);
            } finally {
              MDC.clear();
            }
          });
    }

    @Bean
    Observed observed(ObservationRegistry registry) {
      return new Observed(registry);
    }
  }

  record Observed(ObservationRegistry registry) {
    @McpTool(description = "Tells what observes it")
    public String current() {
      var observation = registry.getCurrentObservation();
      var name = observation == null ? null : observation.getContext().getName();
      return name + " of " + MDC.get("caller");
    }

    @McpTool(description = "Fails")
    public String fail() {
      throw new ToolException("on purpose");
    }
  }

  @Test
  void callsAreObservedByToolAndOutcome() {
    TrunklineAutoConfigurationTest.withApplication(
        Map.of("trunkline.path", "/tools"),
        url -> {
          for (var revision : List.of(RevisionChoice.LEGACY, RevisionChoice.MODERN)) {
            try (var client = Client.connect(url + "/tools", given -> given.revision(revision))) {
              assertEquals(NAME + " of ann", client.callTool("current").text());
              assertTrue(client.callTool("fail").isError());
              for (var name : List.of("no-such-tool", "another")) {
                assertThrows(ProtocolException.class, () -> client.callTool(name));
              }
              client.listTools();
            }
          }
          var counts = new TreeMap<String, Long>();
          for (var timer : METERS.find(NAME).timers()) {
            var keys = timer.getId().getTags().stream().map(Tag::getKey).toList();
            assertEquals(
                List.of(
                    "error",
                    "error.type",
                    "gen_ai.prompt.name",
                    "gen_ai.tool.name",
                    "mcp.method.name"),
                keys);
            counts.merge(
                timer.getId().getTag("mcp.method.name")
                    + " "
                    + timer.getId().getTag("gen_ai.tool.name")
                    + " "
                    + timer.getId().getTag("error.type"),
                timer.count(),
                Long::sum);
          }
          assertEquals(
              Map.of(
                  "tools/call current none", 2L,
                  "tools/call fail tool_error", 2L,
                  "tools/call none -32602", 4L,
                  "tools/list none none", 2L),
              counts);
          var http = METERS.find("http.server.requests").tag("uri", "/tools").timers();
          assertTrue(http.stream().mapToLong(Timer::count).sum() > 0);
          assertEquals(
              0, METERS.find("http.server.requests").tag("uri", "UNKNOWN").timers().size());
          assertTrue(METERS.find(NAME).timer().max(java.util.concurrent.TimeUnit.NANOSECONDS) > 0);
        },
        TrunklineAutoConfigurationTest.Application.class,
        WithRegistry.class);
  }

  private static final MeterRegistry METERS = WithRegistry.METERS;
}
