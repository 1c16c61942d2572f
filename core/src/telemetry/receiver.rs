//! The receiver of operations.

use super::{ObservedSession, OperationEnd, OperationStart, ServerLoad};
use crate::protocol::TraceContext;
use std::{fmt, sync::Arc};

/// Makes spans and measurements of operations. Called by whatever thread serves or sends a request;
/// must not block.
///
/// With the cargo feature `opentelemetry` there is `OpenTelemetry`, which is used by default.
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
    /// A request or a notification begins. `None`: it is not observed.
    fn begin(&self, operation: OperationStart) -> Option<Arc<dyn OpenOperation>>;

    /// A server reports here from now on. `load` has its load whenever it is asked; when nobody
    /// else holds it, the server is gone. [`ServerLoads`](super::ServerLoads) adds them up.
    fn server_began(&self, load: Arc<ServerLoad>) {
        drop(load);
    }

    /// A session has ended.
    fn session_ended(&self, session: ObservedSession) {
        let _ = session;
    }
}

/// A request that is served, or a message that is on its way.
pub trait OpenOperation: Send + Sync + 'static {
    /// The trace context of the messages that belong to it.
    fn context(&self) -> TraceContext {
        TraceContext::default()
    }

    /// Runs a part of it, such as its handler, so that spans which begin there are within it.
    fn run(&self, work: &mut dyn FnMut()) {
        work();
    }

    /// Ends it. Called once at most: not if the process ends before.
    fn end(&self, end: OperationEnd);

    /// The number by which a binding knows it; 0: it has none.
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

/// Options are equal if they name the same receiver.
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
