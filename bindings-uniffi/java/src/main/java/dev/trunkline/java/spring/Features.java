package dev.trunkline.java.spring;

import dev.trunkline.java.McpPrompt;
import dev.trunkline.java.McpResource;
import dev.trunkline.java.McpTool;
import java.util.Arrays;
import java.util.List;
import org.springframework.aop.scope.ScopedProxyUtils;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.util.ReflectionUtils;

/** Finds beans with annotated methods. */
final class Features {
  private Features() {}

  /** Returns their names. Of a bean with a scope, that of its proxy. */
  static List<String> in(ListableBeanFactory beans) {
    return Arrays.stream(beans.getBeanDefinitionNames())
        .filter(
            name -> {
              var type = ScopedProxyUtils.isScopedTarget(name) ? null : beans.getType(name, false);
              return type != null && isAnnotated(type);
            })
        .toList();
  }

  private static boolean isAnnotated(Class<?> type) {
    return Arrays.stream(ReflectionUtils.getAllDeclaredMethods(type))
        .anyMatch(
            method ->
                method.isAnnotationPresent(McpTool.class)
                    || method.isAnnotationPresent(McpResource.class)
                    || method.isAnnotationPresent(McpPrompt.class));
  }
}
