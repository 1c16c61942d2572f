package dev.trunkline.java;

import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** A provider of features that are not registered, such as rows of a database. */
public interface Provider {
  /** Lists a page: the first, or the one for the cursor of the previous page. */
  Page list(@Nullable String cursor) throws Exception;

  /**
   * Answers a call of a feature that is not registered, with the parameters of the request; null if
   * there is no such feature.
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
