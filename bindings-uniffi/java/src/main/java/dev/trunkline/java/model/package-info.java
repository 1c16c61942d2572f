/**
 * The data of servers and clients: the messages of the Model Context Protocol and their parts, the
 * parameters of handlers, and the values of options. Everything here is a record, an enum, or a
 * sealed interface of records.
 */
@NullMarked
package dev.trunkline.java.model;

import org.jspecify.annotations.NullMarked;
