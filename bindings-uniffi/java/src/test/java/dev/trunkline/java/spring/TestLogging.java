package dev.trunkline.java.spring;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.slf4j.ILoggerFactory;
import org.slf4j.Marker;
import org.slf4j.event.Level;
import org.slf4j.helpers.BasicMDCAdapter;
import org.slf4j.helpers.LegacyAbstractLogger;
import org.slf4j.helpers.NOP_FallbackServiceProvider;
import org.slf4j.spi.MDCAdapter;

/** A provider of SLF4J with a logging context, which keeps warnings and drops other messages. */
public final class TestLogging extends NOP_FallbackServiceProvider {
  static final List<String> WARNINGS = new CopyOnWriteArrayList<>();

  private final MDCAdapter adapter = new BasicMDCAdapter();

  @Override
  public ILoggerFactory getLoggerFactory() {
    return name -> new Warnings();
  }

  @Override
  public MDCAdapter getMDCAdapter() {
    return adapter;
  }

  private static final class Warnings extends LegacyAbstractLogger {
    private static final long serialVersionUID = 1;

    @Override
    public boolean isTraceEnabled() {
      return false;
    }

    @Override
    public boolean isDebugEnabled() {
      return false;
    }

    @Override
    public boolean isInfoEnabled() {
      return false;
    }

    @Override
    public boolean isWarnEnabled() {
      return true;
    }

    @Override
    public boolean isErrorEnabled() {
      return true;
    }

    @Override
    protected String getFullyQualifiedCallerName() {
      return Warnings.class.getName();
    }

    @Override
    protected void handleNormalizedLoggingCall(
        Level level, Marker marker, String message, Object[] arguments, Throwable thrown) {
      WARNINGS.add(message);
    }
  }
}
