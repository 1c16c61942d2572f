/**
 * Servers and clients of the Model Context Protocol. Start with {@link dev.trunkline.java.Server}
 * or {@link dev.trunkline.java.Client}. Records and enums, such as {@link
 * dev.trunkline.java.model.Tool}, are in {@link dev.trunkline.java.model}.
 *
 * <p>JSON objects are maps, arrays are lists, and other values are strings, numbers, booleans and
 * null. Records are written as objects, and read from them.
 */
@NullMarked
package dev.trunkline.java;

import org.jspecify.annotations.NullMarked;
