package dev.trunkline.java.spring;

import dev.trunkline.java.Server;
import org.springframework.boot.ApplicationRunner;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Import;

/**
 * Serves the features of beans over stdin and stdout with {@code trunkline.stdio=true}, until stdin
 * ends or a signal arrives. The application then closes. Its banner and log go to stderr.
 */
@AutoConfiguration
@ConditionalOnProperty("trunkline.stdio")
@Import(ServerConfiguration.class)
public class TrunklineStdioAutoConfiguration {
  /** Serves once the application has started. */
  @Bean
  public ApplicationRunner trunklineStdio(Server server, ConfigurableApplicationContext context) {
    return arguments -> {
      try {
        server.serveStdio();
      } finally {
        context.close();
      }
    };
  }
}
