//! Internal: what `trunkline-bridge`, the waist under the bindings for other languages, needs of
//! this crate and programs in Rust do not. No stability promise: any release may change it. It
//! exists where the feature `bridge` is on.

pub use crate::cause::Cause;
pub use crate::log_text::LogText;
pub use crate::sync::{Condvar, Mutex};
pub use trunkline_proto::{described, options};

pub use crate::testing::findings_of as store_findings;

#[cfg(feature = "skills")]
pub use crate::client::skill_file_uri;
pub use crate::client::{
    ClientCall,
    calls::{reply_to::ReplyTo, result_schema::ResultSchema},
    telemetry::{call_operation::end_of, observed_opening::opening_start},
};
pub use crate::transport::{
    blocked::{BLOCKED_TIMEOUT, CUT_TIMEOUT},
    bound_address::BoundAddress,
    child_link::ChildConnector,
    closing::{Closing, Deadline},
    http_server::{
        fed_body::{BodyFeed, FedBody},
        mounted_listener::{Exchange, MountedListener},
    },
    memory::MemoryConnector,
    signals::EndingSignals,
    stdio::{ReadHandoff, hold_stdio},
};
