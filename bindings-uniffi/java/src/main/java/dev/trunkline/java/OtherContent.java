package dev.trunkline.java;

import java.util.Map;

/**
 * Content of a type that this version of the library does not know.
 *
 * @param json The content as received.
 */
public record OtherContent(Map<String, Object> json) implements ContentBlock, SamplingBlock {
  @Override
  public String type() {
    return String.valueOf(json.get("type"));
  }
}
