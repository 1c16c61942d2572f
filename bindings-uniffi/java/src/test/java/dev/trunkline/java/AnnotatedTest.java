package dev.trunkline.java;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.trunkline.java.model.BlobResourceContents;
import dev.trunkline.java.model.ReadResourceResult;
import dev.trunkline.java.model.TextResourceContents;
import java.math.BigDecimal;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class AnnotatedTest {
  static class Private {
    @McpTool(description = "")
    private String hidden() {
      return "hidden";
    }
  }

  /** As a proxy of Spring: a subclass with such a name, whose fields are those of no bean. */
  static class Inherited$$SpringCGLIB$$0 extends Private {}

  static class Final {
    @McpTool(description = "")
    public final String fixed() {
      return "fixed";
    }
  }

  static class Final$$SpringCGLIB$$0 extends Final {}

  static class Statics {
    @McpTool(description = "")
    private static String fixed() {
      return "fixed";
    }
  }

  @Test
  void methodsThatAProxyCannotOverrideAreRefused() {
    var refused =
        Map.of(
            new Private(), "is private",
            new Inherited$$SpringCGLIB$$0(), "is private",
            new Final$$SpringCGLIB$$0(), "is final");
    for (var each : refused.entrySet()) {
      try (var server = new Server("test", "1.0")) {
        var error = assertThrows(InvalidArgumentException.class, () -> server.add(each.getKey()));
        assertTrue(error.getMessage().contains(each.getValue()), error.getMessage());
      }
    }
  }

  @Test
  void methodsThatNoProxyReplacesAreCalled() {
    for (var features : List.of(new Final(), new Statics())) {
      try (var server = new Server("test", "1.0")) {
        server.add(features);
        try (var client = Client.connect(Target.server(server))) {
          assertEquals("fixed", client.callTool("fixed", null, String.class));
        }
      }
    }
  }

  static class Numbers {
    @McpTool(description = "")
    int add(int a, int b) {
      return a + b;
    }

    @McpTool(description = "")
    Long longs() {
      return 1L << 60;
    }

    @McpTool(description = "")
    double half() {
      return 0.5;
    }

    @McpTool(description = "")
    BigDecimal decimal() {
      return new BigDecimal("0.1");
    }

    @McpTool(description = "")
    boolean truth() {
      return true;
    }
  }

  @Test
  void numbersAreStructured() {
    try (var server = new Server("test", "1.0")) {
      server.add(new Numbers());
      try (var client = Client.connect(Target.server(server))) {
        assertEquals(5, client.callTool("add", Map.of("a", 2, "b", 3), Integer.class));
        assertEquals(1L << 60, client.callTool("longs", null, Long.class));
        assertEquals(0.5, client.callTool("half", null, Double.class));
        assertEquals(new BigDecimal("0.1"), client.callTool("decimal", null, BigDecimal.class));
        assertEquals(true, client.callTool("truth", null, Boolean.class));
        assertEquals("5", client.callTool("add", Map.of("a", 2, "b", 3), String.class));
      }
    }
  }

  @Test
  void nullMembersOfOtherVariantsAreIgnored() {
    var blob = Json.object("uri", "a://b", "blob", "AQ==");
    blob.put("text", null);
    var text = Json.object("uri", "a://b", "text", "a");
    text.put("blob", null);
    var read = Mapper.read(Map.of("contents", List.of(blob, text)), ReadResourceResult.class);
    assertEquals(
        List.of(BlobResourceContents.class, TextResourceContents.class),
        read.contents().stream().map(Object::getClass).toList());
  }
}
