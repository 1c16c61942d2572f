package dev.trunkline.java;

import dev.trunkline.jvm.Jvm;

/** What this package gives to the layer below. */
final class Library {
  static final Jvm JVM = new Jvm(TrunklineException::of);

  private Library() {}
}
