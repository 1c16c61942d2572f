package dev.trunkline.java.model;

import java.util.Map;

/**
 * A notification from a server.
 *
 * @param method The method, such as {@code notifications/message}.
 * @param params The parameters; empty if there are none.
 */
public record Notification(String method, Map<String, Object> params) {}
