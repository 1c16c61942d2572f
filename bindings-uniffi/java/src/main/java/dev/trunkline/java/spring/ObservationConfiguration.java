package dev.trunkline.java.spring;

import dev.trunkline.java.ObservationMiddleware;
import dev.trunkline.java.Server;
import io.micrometer.observation.ObservationRegistry;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** Observes requests with the registry of the application, such as that of Actuator. */
@Configuration(proxyBeanMethods = false)
@ConditionalOnClass(ObservationRegistry.class)
class ObservationConfiguration {
  /** Adds the middleware once all beans exist. */
  @Bean
  SmartInitializingSingleton trunklineObservations(
      Server server, ObjectProvider<ObservationRegistry> registries) {
    return () ->
        registries.ifUnique(
            registry -> {
              if (!registry.isNoop()) {
                server.middleware(new ObservationMiddleware(registry));
              }
            });
  }
}
