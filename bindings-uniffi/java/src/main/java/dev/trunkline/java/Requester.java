package dev.trunkline.java;

import dev.trunkline.java.model.InputRequest;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Sends requests, to the server of a client or to the client of a call. */
interface Requester {
  CompletableFuture<@Nullable Object> request(
      String method, Map<String, ?> params, RequestOptions options);

  default CompletableFuture<@Nullable Object> request(
      String method, Map<String, ?> params, Consumer<RequestOptions> options) {
    return request(method, params, Options.with(new RequestOptions(), options));
  }

  default CompletableFuture<@Nullable Object> request(
      InputRequest request, Consumer<RequestOptions> options) {
    return request(
        request.method(), request.params() == null ? Map.of() : request.params(), options);
  }

  /** Fetches all pages of a list, as one result. */
  default CompletableFuture<@Nullable Object> all(String method, Consumer<RequestOptions> options) {
    return request(method, Map.of(), options.andThen(given -> given.set("all", true)));
  }
}
