//! The telemetry interface.

use super::{ObservedSession, OperationEnd, OperationStart, ServerLoad};
use crate::protocol::TraceContext;
use std::{fmt, sync::Arc};

/// Creates spans and metrics for operations. Called from whichever thread serves or sends a
/// request, so it must not block.
///
/// With the cargo feature `opentelemetry`, `OpenTelemetry` is the default in a program that has set
/// a global provider.
///
/// ```
/// use std::sync::Arc;
/// use trunkline::ServerOptions;
/// use trunkline::telemetry::{OpenOperation, OperationStart, OperationEnd, Telemetry};
///
/// struct Printed(String);
///
/// impl OpenOperation for Printed {
///     fn end(&self, end: OperationEnd) {
///         println!("{} took {:?}", self.0, end.duration);
///     }
/// }
///
/// struct Printing;
///
/// impl Telemetry for Printing {
///     fn begin(&self, operation: OperationStart) -> Option<Arc<dyn OpenOperation>> {
///         Some(Arc::new(Printed(operation.name)))
///     }
/// }
///
/// let options = ServerOptions::default().with_telemetry_receiver(Arc::new(Printing) as Arc<dyn Telemetry>);
/// ```
pub trait Telemetry: Send + Sync + 'static {
    /// Starts an operation. Returns `None` if it is not observed.
    fn begin(&self, operation: OperationStart) -> Option<Arc<dyn OpenOperation>>;

    /// Called when a server starts reporting. `load` is its current load; the server no longer
    /// exists when nothing else holds it. [`ServerLoads`](super::ServerLoads) sums them up.
    fn server_began(&self, load: Arc<ServerLoad>) {
        drop(load);
    }

    /// Called when a session has ended.
    fn session_ended(&self, session: ObservedSession) {
        let _ = session;
    }
}

/// An operation in progress.
pub trait OpenOperation: Send + Sync + 'static {
    /// The trace context for its messages.
    fn context(&self) -> TraceContext {
        TraceContext::default()
    }

    /// Runs a part of it, such as its handler, so that spans started there are its children.
    fn run(&self, work: &mut dyn FnMut()) {
        work();
    }

    /// Ends it. Called at most once, and not at all if the process exits first.
    fn end(&self, end: OperationEnd);

    /// Its number in a binding, or 0.
    #[doc(hidden)]
    fn number(&self) -> u64 {
        0
    }
}

impl fmt::Debug for dyn OpenOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OpenOperation")
    }
}

/// Two receivers are equal if they are the same object.
impl PartialEq for dyn Telemetry {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::addr_eq(self, other)
    }
}

impl fmt::Debug for dyn Telemetry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Telemetry")
    }
}
