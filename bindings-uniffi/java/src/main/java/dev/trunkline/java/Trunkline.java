package dev.trunkline.java;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.runtime.ObjectMethods;
import java.util.List;

/** The library as a whole. */
public final class Trunkline {
  private Trunkline() {}

  /**
   * Ends the library, so that its class loader can be freed, for example when a container stops an
   * application that is deployed again later. Close servers and clients before: what is still open
   * ends at once. No other thread may use the library meanwhile.
   *
   * <p>Afterwards, the library cannot be used any more, unless another class loader loads it. If
   * kotlinx.coroutines has the same class loader, its threads end as well. A thread of the JDK that
   * watched a process may keep the class loader for another minute.
   */
  public static void shutdown() {
    dev.trunkline.Trunkline.INSTANCE.shutdown();
    ExecutorSettings.shutdown();
    forgetRecords();
  }

  /** Replaces the last types for which the JDK has made methods of records, and which it keeps. */
  private static void forgetRecords() {
    try {
      var lookup = MethodHandles.lookup();
      var getter = lookup.findVirtual(String.class, "strip", MethodType.methodType(String.class));
      for (var method : List.of("equals", "hashCode", "toString")) {
        ObjectMethods.bootstrap(lookup, method, MethodHandle.class, String.class, "strip", getter);
      }
    } catch (Throwable otherwise) {
      // A JDK that only takes records.
    }
  }
}
