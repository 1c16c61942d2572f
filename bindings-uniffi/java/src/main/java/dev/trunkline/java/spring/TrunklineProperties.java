package dev.trunkline.java.spring;

import java.util.List;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * The properties of the server, which begin with {@code trunkline}.
 *
 * @param name Name of the server, unless there is a bean of it.
 * @param version Version of the server, unless there is a bean of it.
 * @param path Path of the endpoint.
 * @param allowedHosts Values of {@code Host} that are accepted; by default, those of this machine.
 * @param allowedOrigins Values of {@code Origin} that are accepted.
 */
@ConfigurationProperties("trunkline")
public record TrunklineProperties(
    @DefaultValue("server") String name,
    @DefaultValue("0.0.1") String version,
    @DefaultValue("/mcp") String path,
    @DefaultValue List<String> allowedHosts,
    @DefaultValue List<String> allowedOrigins) {}
