/**
 * A server in Spring Boot. With this library and a servlet container on the class path, the beans'
 * methods with {@link dev.trunkline.java.McpTool}, {@link dev.trunkline.java.McpResource} and
 * {@link dev.trunkline.java.McpPrompt} are served at {@code /mcp}.
 */
@NullMarked
package dev.trunkline.java.spring;

import org.jspecify.annotations.NullMarked;
