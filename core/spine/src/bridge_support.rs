//! Internal: the parts of this crate that `trunkline-bridge`, the waist under the bindings for
//! other languages, needs and Rust programs don't. There is no stability guarantee: any release may
//! change it. Requires the feature `bridge`.

pub use crate::cause::Cause;
pub use crate::client_error_kinds;
pub use crate::log_text::LogText;
pub use crate::on_drop::OnDrop;
pub use crate::sync::{Condvar, Mutex};
pub use trunkline_proto::{described, json_names, options};

#[cfg(feature = "skills")]
pub use crate::client::skill_file_uri;
pub use crate::client::{
    ClientCall,
    state::{reply_to::ReplyTo, result_schema::ResultSchema},
    telemetry::{end_of, opening_start},
};
pub use crate::server::LifespanFunctions;
#[cfg(feature = "child-process")]
pub use crate::transport::child_link::ChildConnector;
pub use crate::transport::{
    blocked::{BLOCKED_TIMEOUT, CUT_TIMEOUT},
    bound_address::BoundAddress,
    closing::{Closing, Deadline},
    http_server::{
        fed_body::{BodyFeed, FedBody},
        mounted_listener::{Exchange, MountedListener},
    },
    in_process::MemoryConnector,
    signals::EndingSignals,
    stdio::{ReadHandoff, hold_stdio, open_closed_streams},
};
