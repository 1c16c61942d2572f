package dev.trunkline.java;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.trunkline.java.model.Model;
import dev.trunkline.java.model.OpenEnum;
import java.lang.reflect.Modifier;
import org.junit.jupiter.api.Test;

/** Public data is in the package of models, and everything else in the main one. */
class PackagesTest {
  @Test
  void publicRecordsAndEnumsAreModels() throws Exception {
    for (var type : NativeImageTest.classesIn("dev/trunkline/java/")) {
      assertFalse(isPublic(type) && isData(type), type.getName());
    }
    for (var type : NativeImageTest.classesIn("dev/trunkline/java/model/")) {
      assertTrue(!isPublic(type) || isData(type) || type == Model.class, type.getName());
    }
  }

  private static boolean isPublic(Class<?> type) {
    return Modifier.isPublic(type.getModifiers()) && type.getEnclosingClass() == null;
  }

  private static boolean isData(Class<?> type) {
    return type.isRecord()
        || type.isEnum()
        || type.isInterface() && type.isSealed()
        || OpenEnum.class.isAssignableFrom(type);
  }
}
