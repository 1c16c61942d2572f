// A Spring Boot application, whose beans are served at /mcp or over stdio.
package com.example.notes;

import dev.trunkline.java.Description;
import dev.trunkline.java.McpTool;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.security.core.context.SecurityContextHolder;
import org.springframework.stereotype.Component;

@SpringBootApplication
class InSpringBootServer {
  @Component
  static class Notes {
    private final Map<String, List<String>> notes = new ConcurrentHashMap<>();

    @McpTool(description = "Save a note of the caller.")
    public String save(@Description("Text of the note") String text) {
      notes.computeIfAbsent(caller(), name -> new CopyOnWriteArrayList<>()).add(text);
      return "saved";
    }

    @McpTool(description = "List the notes of the caller.", readOnlyHint = true)
    public List<String> list() {
      return notes.getOrDefault(caller(), List.of());
    }

    /** The subject of the access token, which Spring Security has verified. */
    private static String caller() {
      var authentication = SecurityContextHolder.getContext().getAuthentication();
      // Nobody authenticates over stdio.
      return authentication == null ? "local" : authentication.getName();
    }
  }

  public static void main(String[] arguments) {
    SpringApplication.run(InSpringBootServer.class, arguments);
  }
}
