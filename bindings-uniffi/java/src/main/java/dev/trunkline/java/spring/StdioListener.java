package dev.trunkline.java.spring;

import org.springframework.boot.context.event.ApplicationEnvironmentPreparedEvent;
import org.springframework.context.ApplicationListener;
import org.springframework.core.Ordered;

/**
 * Keeps stdout free for the protocol: Spring Boot prints its banner, and logs, before it serves.
 */
final class StdioListener
    implements ApplicationListener<ApplicationEnvironmentPreparedEvent>, Ordered {
  /** After the properties have been read, and before the log begins. */
  @Override
  public int getOrder() {
    return HIGHEST_PRECEDENCE + 15;
  }

  @Override
  public void onApplicationEvent(ApplicationEnvironmentPreparedEvent event) {
    if (event.getEnvironment().getProperty("trunkline.stdio", Boolean.class, false)) {
      System.setOut(System.err);
    }
  }
}
