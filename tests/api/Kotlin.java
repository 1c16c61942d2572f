import java.io.File;
import java.util.Arrays;
import java.util.List;
import java.util.ServiceLoader;
import java.util.Set;
import org.jetbrains.kotlin.abi.tools.AbiFilters;
import org.jetbrains.kotlin.abi.tools.AbiToolsFactory;

/**
 * Prints the public API of the Kotlin packages in the archives and folders of class files that are
 * its arguments, with the tool of Kotlin's Gradle plugin, which reads what is `internal` from
 * Kotlin's metadata.
 */
final class Kotlin {
  /** Internal packages, generated serializers, and Java, which has its own list. */
  private static final Set<String> OTHERS =
      Set.of(
          "dev.trunkline.internal.**",
          "dev.trunkline.java.**",
          "dev.trunkline.jvm.**",
          "**.$serializer");

  public static void main(String[] places) {
    List<File> files = Arrays.stream(places).map(File::new).toList();
    AbiFilters filters = new AbiFilters(Set.of(), OTHERS, Set.of(), Set.of());
    StringBuilder listing = new StringBuilder();
    var factory = ServiceLoader.load(AbiToolsFactory.class).findFirst().orElseThrow();
    factory.get().printJvmDump(listing, files, filters);
    System.out.print(listing);
  }

  private Kotlin() {}
}
