package dev.trunkline.java;

import org.jspecify.annotations.Nullable;

/**
 * Handles calls of a tool, a resource or a prompt. The thread is interrupted if the caller cancels
 * the call.
 *
 * @param <A> The arguments.
 */
@FunctionalInterface
public interface Handler<A> {
  /**
   * Returns the result: a string is text, content blocks are content, bytes of a resource are a
   * blob, and records are JSON. May be a {@link java.util.concurrent.CompletionStage} of it.
   *
   * @throws ToolException for a result with {@code isError} and this message
   * @throws ProtocolException for a JSON-RPC error
   * @throws Exception for a failure, whose message only the log shows
   */
  @Nullable Object handle(Context context, A arguments) throws Exception;
}
