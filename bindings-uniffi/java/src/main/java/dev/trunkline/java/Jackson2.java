package dev.trunkline.java;

import com.fasterxml.jackson.databind.JsonMappingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.exc.UnrecognizedPropertyException;
import java.lang.reflect.Type;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Tools whose arguments and results are classes of Jackson 2. */
public final class Jackson2 extends Jackson {
  private final ObjectMapper mapper;

  /** Reads and writes with a mapper. */
  public Jackson2(ObjectMapper mapper) {
    this.mapper = Failures.given("the mapper", mapper);
  }

  @Override
  public Map<String, Object> schema(Type type) {
    return new Jackson2Schema(mapper).of(mapper.constructType(type));
  }

  @Override
  Map<String, Object> schemaOf(List<RecordCodec.Member> parameters) {
    return new Jackson2Schema(mapper).of(parameters);
  }

  @Override
  <T extends @Nullable Object> T convert(@Nullable Object value, Type type) {
    try {
      return mapper.convertValue(value, mapper.constructType(type));
    } catch (IllegalArgumentException reason) {
      throw reason.getCause() instanceof JsonMappingException cause
          ? new IllegalArgumentException(messageOf(cause), reason)
          : reason;
    }
  }

  private static String messageOf(JsonMappingException thrown) {
    var path =
        thrown.getPath().stream()
            .<Object>map(
                step -> step.getFieldName() == null ? step.getIndex() : step.getFieldName());
    return messageOf(path, thrown instanceof UnrecognizedPropertyException, thrown.getCause());
  }
}
