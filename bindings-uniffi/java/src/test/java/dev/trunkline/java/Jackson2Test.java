package dev.trunkline.java;

import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.PropertyNamingStrategies;
import java.time.LocalDate;
import org.junit.jupiter.api.Test;

class Jackson2Test extends JacksonTest {
  @Override
  Jackson snakeCase() {
    return new Jackson2(
        new ObjectMapper().setPropertyNamingStrategy(PropertyNamingStrategies.SNAKE_CASE));
  }

  @Override
  Jackson nonEmpty() {
    return new Jackson2(
        new ObjectMapper().setDefaultPropertyInclusion(JsonInclude.Include.NON_EMPTY));
  }

  @Override
  String others() {
    return "jackson-(core|databind)-3.*";
  }

  record Day(LocalDate date) {}

  static final class WithoutModule {
    @McpTool(description = "")
    public String on(Day day) {
      return "";
    }
  }

  @Test
  void missingModulesAreNamed() {
    try (var server = new Server("weather", "1")) {
      var jackson = snakeCase();
      var error =
          assertThrows(
              InvalidArgumentException.class,
              () -> jackson.tool(server, "day", "", Day.class, (context, given) -> ""));
      assertTrue(error.getMessage().startsWith("tool day: $.date: "), error.getMessage());
      error =
          assertThrows(
              InvalidArgumentException.class, () -> jackson.add(server, new WithoutModule()));
      assertTrue(error.getMessage().startsWith("tool on: $.day.date: "), error.getMessage());
    }
  }
}
