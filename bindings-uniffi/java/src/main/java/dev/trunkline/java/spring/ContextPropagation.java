package dev.trunkline.java.spring;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import org.slf4j.MDC;
import org.springframework.core.task.TaskDecorator;
import org.springframework.core.task.support.ContextPropagatingTaskDecorator;
import org.springframework.security.concurrent.DelegatingSecurityContextRunnable;
import org.springframework.security.core.context.SecurityContextHolder;
import org.springframework.util.ClassUtils;

/** Makes the context of a request follow it from the thread of the web server to its handlers. */
final class ContextPropagation {
  private ContextPropagation() {}

  /** Captures with decorators of the program, and the context of the libraries that are there. */
  static UnaryOperator<Runnable> taskDecorator(List<TaskDecorator> given) {
    var decorators = new ArrayList<>(given);
    // In classes of their own, which are not loaded without these libraries.
    if (isPresent("org.slf4j.MDC")) {
      decorators.add(new Logging());
    }
    if (isPresent("org.springframework.security.core.context.SecurityContextHolder")) {
      decorators.add(new Security());
    }
    if (isPresent("io.micrometer.context.ContextSnapshotFactory")) {
      decorators.add(new ContextPropagatingTaskDecorator());
    }
    return task -> {
      var decorated = task;
      for (var decorator : decorators) {
        decorated = decorator.decorate(decorated);
      }
      return decorated;
    };
  }

  private static boolean isPresent(String name) {
    return ClassUtils.isPresent(name, ContextPropagation.class.getClassLoader());
  }

  private static final class Logging implements TaskDecorator {
    @Override
    public Runnable decorate(Runnable task) {
      var captured = MDC.getCopyOfContextMap();
      return () -> {
        var before = MDC.getCopyOfContextMap();
        set(captured);
        try {
          task.run();
        } finally {
          set(before);
        }
      };
    }

    private static void set(@Nullable Map<String, String> values) {
      if (values == null) {
        MDC.clear();
      } else {
        MDC.setContextMap(values);
      }
    }
  }

  private static final class Security implements TaskDecorator {
    @Override
    public Runnable decorate(Runnable task) {
      var captured = SecurityContextHolder.getContext();
      // A delegating runnable can run only once at a time.
      return () -> new DelegatingSecurityContextRunnable(task, captured).run();
    }
  }
}
