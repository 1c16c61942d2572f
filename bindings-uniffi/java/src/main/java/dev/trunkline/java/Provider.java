package dev.trunkline.java;

import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** A provider of features that are not registered, such as rows of a database. */
public interface Provider {
  /** Lists the page at a cursor; the first page if there is none. */
  Page list(@Nullable String cursor) throws Exception;

  /**
   * Returns what a handler would for the parameters of a request; null if there is no such feature.
   */
  @Nullable Object get(Map<String, Object> params) throws Exception;

  /**
   * A page of a provider.
   *
   * @param items Its items in the form of the protocol.
   * @param nextCursor The cursor of the next page; null for the last one.
   */
  record Page(List<Map<String, Object>> items, @Nullable String nextCursor) {}
}
