package dev.trunkline.java;

import java.util.Base64;
import java.util.List;
import java.util.stream.Collectors;

/** Makes content blocks. */
public final class Content {
  private Content() {}

  /** A text block. */
  public static TextContent text(String text) {
    return new TextContent(text);
  }

  /** An image block. */
  public static ImageContent image(byte[] data, String mimeType) {
    return new ImageContent(base64(data), mimeType);
  }

  /** An audio block. */
  public static AudioContent audio(byte[] data, String mimeType) {
    return new AudioContent(base64(data), mimeType);
  }

  /** A block that embeds a resource with a text. */
  public static EmbeddedResource resource(String uri, String text, String mimeType) {
    return new EmbeddedResource(new TextResourceContents(uri, text).withMimeType(mimeType));
  }

  /** A link to a resource. */
  public static ResourceLink link(String uri, String name) {
    return new ResourceLink(uri, name);
  }

  static String textOf(List<? extends ContentBlock> content) {
    return content.stream()
        .filter(TextContent.class::isInstance)
        .map(block -> ((TextContent) block).text())
        .collect(Collectors.joining("\n"));
  }

  private static String base64(byte[] data) {
    return Base64.getEncoder().encodeToString(data);
  }
}
