package dev.trunkline.java;

import com.fasterxml.jackson.annotation.JsonInclude.Include;
import com.fasterxml.jackson.databind.BeanProperty;
import com.fasterxml.jackson.databind.JavaType;
import com.fasterxml.jackson.databind.JsonMappingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializerProvider;
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
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Writes the JSON Schema of a type as the serializers of Jackson 2 describe it. */
final class Jackson2Schema extends Schema {
  /** The inclusions that omit only null. */
  private static final Set<Include> WHOLE =
      Set.of(Include.ALWAYS, Include.USE_DEFAULTS, Include.NON_NULL);

  private final ObjectMapper mapper;
  private final SerializerProvider provider;

  Jackson2Schema(ObjectMapper mapper) {
    super(false);
    this.mapper = mapper;
    provider = mapper.getSerializerProviderInstance();
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
      var used = serializer == null ? provider.findValueSerializer(type) : serializer;
      if (used instanceof UnsupportedTypeSerializer) {
        throw new InvalidArgumentException(
            type.toCanonical() + " needs a module of Jackson: register it with the mapper");
      }
      used.acceptJsonFormatVisitor(visitor, type);
    } catch (JsonMappingException reason) {
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
      super(provider);
    }

    @Override
    public @Nullable JsonObjectFormatVisitor expectObjectFormat(JavaType type)
        throws JsonMappingException {
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
      return new JsonObjectFormatVisitor.Base(provider) {
        @Override
        public void property(BeanProperty property) throws JsonMappingException {
          add(property, true);
        }

        @Override
        public void optionalProperty(BeanProperty property) throws JsonMappingException {
          add(property, isComponent(property));
        }
      };
    }

    /** The subtypes of an abstract class that a member tells apart. */
    private List<Object> variantsOf(JavaType type) throws JsonMappingException {
      var tag = type.isAbstract() ? provider.findTypeSerializer(type) : null;
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
      return new JsonArrayFormatVisitor.Base(provider) {
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
      return new JsonMapFormatVisitor.Base(provider) {
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

    private void add(BeanProperty property, boolean isRequired) throws JsonMappingException {
      var type = property.getType();
      var own = property instanceof BeanPropertyWriter writer ? writer.getSerializer() : null;
      var serializer = own == null ? provider.findPrimaryPropertySerializer(type, property) : own;
      var name = property.getName();
      var value = Failures.at(name, () -> visited(serializer, type));
      var config = mapper.getSerializationConfig();
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
      var inclusion = property.findPropertyInclusion(mapper.getSerializationConfig(), record);
      return WHOLE.contains(inclusion.getValueInclusion())
          && Arrays.stream(record.getRecordComponents())
              .filter(component -> component.getName().equals(member.getName()))
              .anyMatch(component -> !RecordCodec.memberOf(component).isOptional());
    }
  }
}
