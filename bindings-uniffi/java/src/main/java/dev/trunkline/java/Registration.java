package dev.trunkline.java;

import dev.trunkline.jvm.JvmFeature;

/** A registered feature. */
public class Registration {
  volatile JvmFeature feature;

  Registration(JvmFeature feature) {
    this.feature = feature;
  }

  /** Removes the feature and notifies connected clients. Calling it again has no effect. */
  public final synchronized void remove() {
    feature.remove();
  }

  /** Shows the feature again. */
  public final synchronized void enable() {
    feature.enable();
  }

  /** Hides the feature: it is not listed, and calls of it fail as if it did not exist. */
  public final synchronized void disable() {
    feature.disable();
  }
}
