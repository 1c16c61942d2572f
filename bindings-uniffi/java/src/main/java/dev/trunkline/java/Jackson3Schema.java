package dev.trunkline.java;

import com.fasterxml.jackson.annotation.JsonInclude.Include;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.BeanProperty;
import tools.jackson.databind.JavaType;
import tools.jackson.databind.ObjectMapper;
import tools.jackson.databind.SerializationContext;
import tools.jackson.databind.introspect.AnnotatedClassResolver;
import tools.jackson.databind.jsonFormatVisitors.JsonArrayFormatVisitor;
import tools.jackson.databind.jsonFormatVisitors.JsonBooleanFormatVisitor;
import tools.jackson.databind.jsonFormatVisitors.JsonFormatTypes;
import tools.jackson.databind.jsonFormatVisitors.JsonFormatVisitable;
import tools.jackson.databind.jsonFormatVisitors.JsonFormatVisitorWrapper;
import tools.jackson.databind.jsonFormatVisitors.JsonIntegerFormatVisitor;
import tools.jackson.databind.jsonFormatVisitors.JsonMapFormatVisitor;
import tools.jackson.databind.jsonFormatVisitors.JsonNumberFormatVisitor;
import tools.jackson.databind.jsonFormatVisitors.JsonObjectFormatVisitor;
import tools.jackson.databind.jsonFormatVisitors.JsonStringFormatVisitor;
import tools.jackson.databind.ser.BeanPropertyWriter;
import tools.jackson.databind.ser.impl.UnsupportedTypeSerializer;

/** Writes the JSON Schema of a type as the serializers of Jackson 3 describe it. */
final class Jackson3Schema extends Schema {
  /** The inclusions that omit only null. */
  private static final Set<Include> WHOLE =
      Set.of(Include.ALWAYS, Include.USE_DEFAULTS, Include.NON_NULL);

  private final ObjectMapper mapper;
  private final SerializationContext context;

  Jackson3Schema(ObjectMapper mapper) {
    super(false);
    this.mapper = mapper;
    context = mapper._serializationContext();
  }

  Map<String, Object> of(JavaType type) {
    return whole(visited(null, type));
  }

  /** The schema of arguments with these names. */
  Map<String, Object> of(List<RecordCodec.Member> parameters) {
    var object = Json.object("type", "object", "properties", Map.of());
    for (var parameter : parameters) {
      var type = mapper.constructType(parameter.type());
      var schema = Failures.at(parameter.name(), () -> visited(null, type));
      parameter.constraints().addTo(schema);
      member(object, parameter, schema);
    }
    object.put("additionalProperties", false);
    return whole(object);
  }

  /** The schema of a type, by default that of the serializer of all its values. */
  private Map<String, Object> visited(@Nullable JsonFormatVisitable serializer, JavaType type) {
    var visitor = new Visitor();
    try {
      var used = serializer == null ? context.findValueSerializer(type) : serializer;
      if (used instanceof UnsupportedTypeSerializer) {
        throw new InvalidArgumentException(
            type.toCanonical() + " needs a module of Jackson: register it with the mapper");
      }
      used.acceptJsonFormatVisitor(visitor, type);
    } catch (JacksonException reason) {
      throw new InvalidArgumentException("it has no JSON Schema: " + reason.getOriginalMessage());
    }
    if (visitor.object != null) {
      end(visitor.object, visitor.schema);
    }
    return visitor.schema;
  }

  /** Fills the schema of one value. */
  private final class Visitor extends JsonFormatVisitorWrapper.Base {
    final Map<String, Object> schema = new LinkedHashMap<>();
    private @Nullable JavaType object;

    Visitor() {
      super(context);
    }

    @Override
    public @Nullable JsonObjectFormatVisitor expectObjectFormat(JavaType type) {
      if (type.isJavaLangObject()) {
        // Any value, which Jackson writes by its own class.
        return null;
      }
      var reference = begin(type, type.getRawClass());
      if (reference != null) {
        schema.putAll(reference);
        return null;
      }
      object = type;
      var variants = variantsOf(type);
      if (!variants.isEmpty()) {
        schema.put("type", "object");
        schema.put("oneOf", variants);
        return null;
      }
      schema.put("type", "object");
      schema.put("properties", new LinkedHashMap<>());
      return new JsonObjectFormatVisitor.Base(context) {
        @Override
        public void property(BeanProperty property) {
          add(property, true);
        }

        @Override
        public void optionalProperty(BeanProperty property) {
          add(property, isComponent(property));
        }
      };
    }

    /** The subtypes of an abstract class that a member tells apart. */
    private List<Object> variantsOf(JavaType type) {
      var tag = type.isAbstract() ? context.findTypeSerializer(type) : null;
      if (tag == null || tag.getPropertyName() == null) {
        return List.of();
      }
      var config = mapper.serializationConfig();
      var base = AnnotatedClassResolver.resolve(config, type, config);
      var variants = new ArrayList<Object>();
      for (var subtype :
          config.getSubtypeResolver().collectAndResolveSubtypesByClass(config, base)) {
        var variant = mapper.constructType(subtype.getType());
        if (!variant.isAbstract()) {
          var id = tag.getTypeIdResolver().idFromValueAndType(context, null, subtype.getType());
          variants.add(tagged(visited(null, variant), tag.getPropertyName(), id));
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
      return new JsonArrayFormatVisitor.Base(context) {
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
      return new JsonMapFormatVisitor.Base(context) {
        @Override
        public void valueFormat(JsonFormatVisitable handler, JavaType value) {
          schema.put("additionalProperties", visited(handler, value));
        }
      };
    }

    @Override
    public JsonStringFormatVisitor expectStringFormat(JavaType type) {
      schema.put("type", "string");
      var codec = StringCodec.of(type.getRawClass());
      if (codec != null) {
        schema.putAll(codec.keywords());
      }
      return new JsonStringFormatVisitor.Base() {
        @Override
        public void enumTypes(Set<String> names) {
          schema.put("enum", List.copyOf(names));
        }
      };
    }

    @Override
    public @Nullable JsonNumberFormatVisitor expectNumberFormat(JavaType type) {
      schema.put("type", "number");
      return null;
    }

    @Override
    public @Nullable JsonIntegerFormatVisitor expectIntegerFormat(JavaType type) {
      schema.putAll(integer(type.getRawClass()));
      return null;
    }

    @Override
    public @Nullable JsonBooleanFormatVisitor expectBooleanFormat(JavaType type) {
      schema.put("type", "boolean");
      return null;
    }

    private void add(BeanProperty property, boolean isRequired) {
      var type = property.getType();
      var own = property instanceof BeanPropertyWriter writer ? writer.getSerializer() : null;
      var serializer = own == null ? context.findPrimaryPropertySerializer(type, property) : own;
      var name = property.getName();
      var value = Failures.at(name, () -> visited(serializer, type));
      var config = mapper.serializationConfig();
      if (property.findPropertyFormat(config, type.getRawClass()).hasPattern()) {
        value.keySet().retainAll(Set.of("type"));
      }
      var isNullable = !isRequired && !type.isPrimitive();
      var metadata = property.getMetadata();
      Schema.property(schema, name, value, isNullable, isRequired, metadata.getDescription());
      setDefault(schema, name, Defaults.ofJackson(metadata.getDefaultValue(), type.getRawClass()));
    }

    /** Components of records are required by the rule for records without Jackson. */
    private boolean isComponent(BeanProperty property) {
      var member = property.getMember();
      if (member == null || !member.getDeclaringClass().isRecord()) {
        return false;
      }
      var record = member.getDeclaringClass();
      var inclusion = property.findPropertyInclusion(mapper.serializationConfig(), record);
      return WHOLE.contains(inclusion.getValueInclusion())
          && Arrays.stream(record.getRecordComponents())
              .filter(component -> component.getName().equals(member.getName()))
              .anyMatch(component -> !RecordCodec.memberOf(component).isOptional());
    }
  }
}
