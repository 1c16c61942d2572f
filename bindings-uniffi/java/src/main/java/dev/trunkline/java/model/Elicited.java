package dev.trunkline.java.model;

import org.jspecify.annotations.Nullable;

/**
 * The user's response to a form of a record.
 *
 * @param action what the user did
 * @param content the form; null unless the user accepted it
 */
public record Elicited<T extends Record>(ElicitAction action, @Nullable T content) {}
