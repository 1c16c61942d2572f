package dev.trunkline.java.spring;

import jakarta.servlet.Filter;
import jakarta.servlet.http.HttpServletRequest;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.web.servlet.FilterRegistrationBean;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.web.filter.ServerHttpObservationFilter;

/** Names the endpoint in the observations of HTTP: Spring only knows the paths of controllers. */
@Configuration(proxyBeanMethods = false)
@ConditionalOnClass(name = "io.micrometer.observation.ObservationRegistry")
class HttpObservationConfiguration {
  @Bean
  FilterRegistrationBean<Filter> trunklineObservedPath(TrunklineProperties properties) {
    var path = properties.path().replaceAll("/+$", "");
    Filter filter =
        (request, response, chain) -> {
          ServerHttpObservationFilter.findObservationContext((HttpServletRequest) request)
              .ifPresent(context -> context.setPathPattern(path));
          chain.doFilter(request, response);
        };
    var registration = new FilterRegistrationBean<>(filter);
    registration.addUrlPatterns(path + "/*");
    return registration;
  }
}
