package dev.trunkline.java;

import java.lang.reflect.Type;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.ObjectMapper;
import tools.jackson.databind.exc.UnrecognizedPropertyException;

/**
 * Tools whose arguments and results are classes of Jackson 3. Unlike Jackson 2, it ignores members
 * that a class does not have, unless the mapper has {@code FAIL_ON_UNKNOWN_PROPERTIES}.
 */
public final class Jackson3 extends Jackson {
  private final ObjectMapper mapper;

  /** Reads and writes with a mapper. */
  public Jackson3(ObjectMapper mapper) {
    this.mapper = Failures.given("the mapper", mapper);
  }

  @Override
  public Map<String, Object> schema(Type type) {
    return new Jackson3Schema(mapper).of(mapper.constructType(type));
  }

  @Override
  Map<String, Object> schemaOf(List<RecordCodec.Member> parameters) {
    return new Jackson3Schema(mapper).of(parameters);
  }

  @Override
  <T extends @Nullable Object> T convert(@Nullable Object value, Type type) {
    try {
      return mapper.convertValue(value, mapper.constructType(type));
    } catch (JacksonException reason) {
      throw new IllegalArgumentException(messageOf(reason), reason);
    } catch (IllegalArgumentException reason) {
      throw reason.getCause() instanceof JacksonException cause
          ? new IllegalArgumentException(messageOf(cause), reason)
          : reason;
    }
  }

  private static String messageOf(JacksonException thrown) {
    var path =
        thrown.getPath().stream()
            .<Object>map(
                step -> step.getPropertyName() == null ? step.getIndex() : step.getPropertyName());
    return messageOf(path, thrown instanceof UnrecognizedPropertyException, thrown.getCause());
  }
}
