package dev.trunkline.java.model;

/** One of a few strings of the protocol. Peers of newer revisions may send others. */
public abstract class OpenEnum {
  private final String value;

  OpenEnum(String value) {
    this.value = value;
  }

  /** Returns the string. */
  public final String value() {
    return value;
  }

  @Override
  public final boolean equals(Object other) {
    return other != null
        && other.getClass() == getClass()
        && ((OpenEnum) other).value.equals(value);
  }

  @Override
  public final int hashCode() {
    return value.hashCode();
  }

  @Override
  public final String toString() {
    return value;
  }
}
