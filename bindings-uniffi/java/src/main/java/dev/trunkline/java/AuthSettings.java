package dev.trunkline.java;

import dev.trunkline.java.model.AccessToken;
import dev.trunkline.jvm.JvmHandler;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * How a server verifies access tokens.
 *
 * @param <O> The class of the options.
 */
public abstract class AuthSettings<O> extends Options<O> {
  @Nullable JvmHandler verifier;

  AuthSettings() {}

  /** Verifies access tokens. Not needed if they are JWTs whose keys the options name. */
  public O verifier(TokenVerifier verifier) {
    Failures.given("the verifier", verifier);
    this.verifier =
        (call, body) -> {
          try {
            Supplier<VerificationDescription> facts =
                () -> Mapper.read(call.describe(), VerificationDescription.class);
            var token = Mapper.read(body, AccessToken.class);
            return Returns.plain(verifier.verify(new TokenVerificationRequest(token, facts)));
          } catch (Exception thrown) {
            throw Failures.of(thrown);
          }
        };
    return self();
  }
}
