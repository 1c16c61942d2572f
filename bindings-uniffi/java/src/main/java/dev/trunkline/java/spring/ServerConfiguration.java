package dev.trunkline.java.spring;

import dev.trunkline.java.Jackson;
import dev.trunkline.java.Server;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;

/** The server with the features of beans, on any transport. */
@Configuration(proxyBeanMethods = false)
@EnableConfigurationProperties(TrunklineProperties.class)
@Import(ObservationConfiguration.class)
class ServerConfiguration {
  /** The server, if the program has none. */
  @Bean
  @ConditionalOnMissingBean
  Server trunklineServer(TrunklineProperties properties) {
    return new Server(
        properties.name(),
        properties.version(),
        options -> {
          if (properties.store() != null) {
            options.store(properties.store());
          }
          if (properties.drainDeadline() != null) {
            options.drainDeadline(properties.drainDeadline());
          }
        });
  }

  /** Adds the annotated methods of all beans once they exist, with Jackson if it is a bean. */
  @Bean
  SmartInitializingSingleton trunklineFeatures(Server server, ListableBeanFactory beans) {
    return () -> {
      var jackson = beans.getBeanProvider(Jackson.class).getIfAvailable();
      for (var name : Features.in(beans)) {
        var features = beans.getBean(name);
        if (jackson == null) {
          server.add(features);
        } else {
          jackson.add(server, features);
        }
      }
    };
  }
}
