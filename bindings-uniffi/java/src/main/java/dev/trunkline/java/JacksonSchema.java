package dev.trunkline.java;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.databind.BeanProperty;
import com.fasterxml.jackson.databind.JavaType;
import com.fasterxml.jackson.databind.JsonMappingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.introspect.AnnotatedClassResolver;
import com.fasterxml.jackson.databind.jsonFormatVisitors.JsonArrayFormatVisitor;
import com.fasterxml.jackson.databind.jsonFormatVisitors.JsonBooleanFormatVisitor;
import com.fasterxml.jackson.databind.jsonFormatVisitors.JsonFormatTypes;
import com.fasterxml.jackson.databind.jsonFormatVisitors.JsonFormatVisitable;
import com.fasterxml.jackson.databind.jsonFormatVisitors.JsonFormatVisitorWrapper;
import com.fasterxml.jackson.databind.jsonFormatVisitors.JsonIntegerFormatVisitor;
import com.fasterxml.jackson.databind.jsonFormatVisitors.JsonMapFormatVisitor;
import com.fasterxml.jackson.databind.jsonFormatVisitors.JsonNumberFormatVisitor;
import com.fasterxml.jackson.databind.jsonFormatVisitors.JsonObjectFormatVisitor;
import com.fasterxml.jackson.databind.jsonFormatVisitors.JsonStringFormatVisitor;
import com.fasterxml.jackson.databind.ser.BeanPropertyWriter;
import com.fasterxml.jackson.databind.ser.impl.UnsupportedTypeSerializer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Writes the JSON Schema of a type as Jackson's serializers describe it. */
final class JacksonSchema {
  /** What leaves out only null. */
  private static final Set<JsonInclude.Include> WHOLE =
      EnumSet.of(
          JsonInclude.Include.ALWAYS,
          JsonInclude.Include.USE_DEFAULTS,
          JsonInclude.Include.NON_NULL);

  private final ObjectMapper mapper;

  private final Map<String, Object> definitions = new LinkedHashMap<>();

  /** Classes that contain themselves, with the names of their definitions. */
  private final Map<JavaType, String> recursive = new HashMap<>();

  /** Classes whose members are being visited. */
  private final Deque<JavaType> open = new ArrayDeque<>();

  JacksonSchema(ObjectMapper mapper) {
    this.mapper = mapper;
  }

  Map<String, Object> of(JavaType type) {
    var schema = visited(visitor -> mapper.acceptJsonFormatVisitor(type, visitor));
    if (!definitions.isEmpty()) {
      schema.put(Schema.DEFINITIONS, definitions);
    }
    return schema;
  }

  @FunctionalInterface
  private interface Visit {
    void accept(Visitor visitor) throws JsonMappingException;
  }

  private Map<String, Object> visited(Visit visit) {
    var visitor = new Visitor();
    try {
      visit.accept(visitor);
    } catch (JsonMappingException reason) {
      throw new InvalidArgumentException("it has no JSON Schema: " + reason.getOriginalMessage());
    }
    visitor.end();
    return visitor.schema;
  }

  /** Fills the schema of one value. */
  private final class Visitor extends JsonFormatVisitorWrapper.Base {
    final Map<String, Object> schema = new LinkedHashMap<>();
    private @Nullable JavaType object;

    /** After the members of an object. */
    void end() {
      if (object == null) {
        return;
      }
      open.remove(object);
      var name = recursive.get(object);
      if (name != null) {
        definitions.put(name, new LinkedHashMap<>(schema));
      }
    }

    @Override
    public @Nullable JsonObjectFormatVisitor expectObjectFormat(JavaType type)
        throws JsonMappingException {
      if (open.contains(type)) {
        var name =
            recursive.computeIfAbsent(
                type, own -> Schema.nameOf(own.getRawClass(), recursive.values()));
        schema.putAll(Schema.reference(name));
        return null;
      }
      open.push(type);
      object = type;
      var variants = variantsOf(type);
      if (!variants.isEmpty()) {
        schema.put("type", "object");
        schema.put("oneOf", variants);
        return null;
      }
      var properties = new LinkedHashMap<String, Object>();
      schema.put("type", "object");
      schema.put("properties", properties);
      return new Members(schema, properties);
    }

    /** The subtypes of an abstract class that a member tells apart. */
    private List<Object> variantsOf(JavaType type) throws JsonMappingException {
      var tag = type.isAbstract() ? getProvider().findTypeSerializer(type) : null;
      if (tag == null || tag.getPropertyName() == null) {
        return List.of();
      }
      var config = mapper.getSerializationConfig();
      var base = AnnotatedClassResolver.resolve(config, type, config);
      var variants = new ArrayList<Object>();
      for (var subtype :
          mapper.getSubtypeResolver().collectAndResolveSubtypesByClass(config, base)) {
        var variant = mapper.constructType(subtype.getType());
        if (!variant.isAbstract()) {
          var id = tag.getTypeIdResolver().idFromValueAndType(null, subtype.getType());
          var own = visited(getProvider().findValueSerializer(variant), variant);
          variants.add(Schema.tagged(own, tag.getPropertyName(), id));
        }
      }
      return variants;
    }

    @Override
    public @Nullable JsonArrayFormatVisitor expectArrayFormat(JavaType type) {
      if (type.hasRawClass(byte[].class)) {
        // Jackson describes the array, and writes Base64.
        schema.put("type", "string");
        return null;
      }
      schema.put("type", "array");
      return new JsonArrayFormatVisitor.Base(getProvider()) {
        @Override
        public void itemsFormat(JsonFormatVisitable handler, JavaType item) {
          schema.put("items", visited(handler, item));
        }

        @Override
        public void itemsFormat(JsonFormatTypes item) {
          schema.put("items", Json.object("type", item.value()));
        }
      };
    }

    @Override
    public JsonMapFormatVisitor expectMapFormat(JavaType type) {
      schema.put("type", "object");
      return new JsonMapFormatVisitor.Base(getProvider()) {
        @Override
        public void valueFormat(JsonFormatVisitable handler, JavaType value) {
          schema.put("additionalProperties", visited(handler, value));
        }
      };
    }

    @Override
    public JsonStringFormatVisitor expectStringFormat(JavaType type) {
      schema.put("type", "string");
      return new JsonStringFormatVisitor.Base() {
        @Override
        public void enumTypes(Set<String> names) {
          schema.put("enum", List.copyOf(names));
        }
      };
    }

    @Override
    public JsonNumberFormatVisitor expectNumberFormat(JavaType type) {
      schema.put("type", "number");
      return new JsonNumberFormatVisitor.Base();
    }

    @Override
    public JsonIntegerFormatVisitor expectIntegerFormat(JavaType type) {
      schema.putAll(Schema.integer(type.getRawClass()));
      return new JsonIntegerFormatVisitor.Base() {
        @Override
        public void numberType(JsonParser.NumberType ignored) {}
      };
    }

    @Override
    public JsonBooleanFormatVisitor expectBooleanFormat(JavaType type) {
      schema.put("type", "boolean");
      return new JsonBooleanFormatVisitor.Base();
    }

    private Map<String, Object> visited(JsonFormatVisitable handler, JavaType type) {
      if (handler instanceof UnsupportedTypeSerializer) {
        throw new InvalidArgumentException(
            type.toCanonical() + " needs a module of Jackson: register it with the mapper");
      }
      return JacksonSchema.this.visited(
          visitor -> {
            visitor.setProvider(getProvider());
            handler.acceptJsonFormatVisitor(visitor, type);
          });
    }

    /** Adds the properties of an object. */
    private final class Members extends JsonObjectFormatVisitor.Base {
      private final Map<String, Object> object;
      private final Map<String, Object> properties;
      private final List<String> required = new ArrayList<>();

      Members(Map<String, Object> object, Map<String, Object> properties) {
        super(Visitor.this.getProvider());
        this.object = object;
        this.properties = properties;
      }

      @Override
      public void property(BeanProperty property) throws JsonMappingException {
        add(property, true);
      }

      @Override
      public void optionalProperty(BeanProperty property) throws JsonMappingException {
        add(property, isComponent(property));
      }

      private void add(BeanProperty property, boolean isRequired) throws JsonMappingException {
        var type = property.getType();
        var own = property instanceof BeanPropertyWriter writer ? writer.getSerializer() : null;
        var serializer =
            own == null ? getProvider().findPrimaryPropertySerializer(type, property) : own;
        var schema = Failures.at(property.getName(), () -> visited(serializer, type));
        if (!isRequired && !type.isPrimitive()) {
          schema = Json.object("anyOf", List.of(schema, Map.of("type", "null")));
        }
        var description = property.getMetadata().getDescription();
        if (description != null) {
          schema.put("description", description);
        }
        properties.put(property.getName(), schema);
        if (isRequired) {
          required.add(property.getName());
          object.put("required", required);
        }
      }

      /** Components of records are required by the rule for records without Jackson. */
      private boolean isComponent(BeanProperty property) {
        var member = property.getMember();
        if (member == null || !member.getDeclaringClass().isRecord()) {
          return false;
        }
        var inclusion =
            property
                .findPropertyInclusion(mapper.getSerializationConfig(), member.getDeclaringClass())
                .getValueInclusion();
        return WHOLE.contains(inclusion)
            && Arrays.stream(member.getDeclaringClass().getRecordComponents())
                .filter(component -> component.getName().equals(member.getName()))
                .anyMatch(component -> !RecordCodec.memberOf(component).isOptional());
      }
    }
  }
}
