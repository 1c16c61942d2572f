package dev.trunkline.java;

import java.net.URI;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.util.Map;
import java.util.UUID;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Writes and reads values that are strings in JSON, such as dates. */
record StringCodec(String example, Map<String, Object> keywords, Function<String, Object> parse) {
  private static final Map<Class<?>, StringCodec> CODECS =
      Map.of(
          Character.class,
          new StringCodec("a", Map.of("minLength", 1, "maxLength", 1), StringCodec::character),
          LocalDate.class,
          formatted("date", "2026-01-31", LocalDate::parse),
          LocalTime.class,
          described("a time without an offset", "09:30:00", LocalTime::parse),
          LocalDateTime.class,
          described(
              "a date and time without an offset", "2026-01-31T09:30:00", LocalDateTime::parse),
          OffsetDateTime.class,
          formatted("date-time", "2026-01-31T09:30:00+01:00", OffsetDateTime::parse),
          ZonedDateTime.class,
          described(
              "a date and time with a zone",
              "2026-01-31T09:30:00+01:00[Europe/Oslo]",
              ZonedDateTime::parse),
          Instant.class,
          formatted("date-time", "2026-01-31T09:30:00Z", Instant::parse),
          UUID.class,
          formatted("uuid", "123e4567-e89b-12d3-a456-426614174000", StringCodec::uuid),
          URI.class,
          formatted("uri", "https://example.com/a", URI::create));

  /** Returns the codec of a class or a primitive type; null if its values are no strings. */
  static @Nullable StringCodec of(Class<?> type) {
    return CODECS.get(Mapper.boxed(type));
  }

  static String write(Object value) {
    // Unlike its own text, with seconds that are zero, which `date-time` requires.
    return value instanceof OffsetDateTime time
        ? DateTimeFormatter.ISO_OFFSET_DATE_TIME.format(time)
        : value.toString();
  }

  Object read(String text) {
    try {
      return parse.apply(text);
    } catch (RuntimeException reason) {
      throw new IllegalArgumentException(
          "it must be a string such as " + example + ", and is " + text, reason);
    }
  }

  private static StringCodec formatted(
      String format, String example, Function<String, Object> parse) {
    return new StringCodec(example, Map.of("format", format), parse);
  }

  /** The codec of strings for which JSON Schema has no format. */
  private static StringCodec described(
      String what, String example, Function<String, Object> parse) {
    return new StringCodec(example, Map.of("description", what + ", such as " + example), parse);
  }

  private static Object character(String text) {
    if (text.length() != 1) {
      throw new IllegalArgumentException("not a char");
    }
    return text.charAt(0);
  }

  /** The JDK also accepts shorter ones. */
  private static Object uuid(String text) {
    var parsed = UUID.fromString(text);
    if (!parsed.toString().equalsIgnoreCase(text)) {
      throw new IllegalArgumentException("not a UUID");
    }
    return parsed;
  }
}
