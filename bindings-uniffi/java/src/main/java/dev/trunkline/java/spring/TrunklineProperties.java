package dev.trunkline.java.spring;

import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * The properties of the server, which begin with {@code trunkline}.
 *
 * @param name Name of the server, unless there is a bean of it.
 * @param version Version of the server, unless there is a bean of it.
 * @param store URL of the store of the server, such as {@code redis://HOST}, unless there is a bean
 *     of the server.
 * @param drainDeadline Maximum time to drain at the end, unless there is a bean of the server.
 * @param stdio Whether to serve over stdin and stdout.
 * @param path Path of the endpoint.
 * @param allowedHosts Values of {@code Host} that are accepted; by default, those of this machine.
 * @param allowedOrigins Values of {@code Origin} that are accepted.
 */
@ConfigurationProperties("trunkline")
public record TrunklineProperties(
    @DefaultValue("server") String name,
    @DefaultValue("0.0.1") String version,
    @Nullable String store,
    @Nullable Duration drainDeadline,
    @DefaultValue("false") boolean stdio,
    @DefaultValue("/mcp") String path,
    @DefaultValue List<String> allowedHosts,
    @DefaultValue List<String> allowedOrigins) {}
