package dev.trunkline.java.spring;

import dev.trunkline.java.Server;
import org.apache.commons.logging.LogFactory;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.context.annotation.Bean;

/** Warns of features that nothing serves, as in a reactive application. */
@AutoConfiguration(
    after = {TrunklineAutoConfiguration.class, TrunklineStdioAutoConfiguration.class})
@ConditionalOnMissingBean(Server.class)
public class TrunklineUnservedAutoConfiguration {
  /** Looks for features once all beans exist. */
  @Bean
  public SmartInitializingSingleton trunklineUnserved(ListableBeanFactory beans) {
    return () -> {
      var names = Features.in(beans);
      if (!names.isEmpty()) {
        LogFactory.getLog(TrunklineUnservedAutoConfiguration.class)
            .warn(
                "The annotated methods of "
                    + String.join(", ", names)
                    + " are not served over MCP, because this is no servlet application: use"
                    + " spring-boot-starter-web, set trunkline.stdio=true, or add a bean of the"
                    + " class Server, which calls listen");
      }
    };
  }
}
