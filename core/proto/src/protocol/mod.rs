//! Protocol definitions without I/O: revisions, envelope, method table, error codes, model types
//! and JSON Schema validation.
//!
//! Undocumented modules are internal to this library: any release may change them.

mod annotations;
#[doc(hidden)]
pub mod app;
#[doc(hidden)]
pub mod call_params;
#[doc(hidden)]
pub mod describe;
pub mod envelope;
pub mod error;
pub mod extension;
#[doc(hidden)]
pub mod fault;
mod finite;
mod id;
#[doc(hidden)]
pub mod input;
#[doc(hidden)]
pub mod integers;
mod json_scan;
#[doc(hidden)]
pub mod known_names;
mod located;
#[doc(hidden)]
pub mod members;
pub mod meta;
pub mod method;
pub mod model;
#[doc(hidden)]
pub mod operation;
#[doc(hidden)]
pub mod option_names;
#[doc(hidden)]
pub mod options;
#[doc(hidden)]
pub mod project;
mod raw;
mod revision;
pub mod schema;
#[doc(hidden)]
pub mod scope;
mod serde_words;
#[doc(hidden)]
pub mod surrogates;
mod trace_context;
pub mod uri;
#[doc(hidden)]
pub mod uri_template;
pub mod vendor;
#[doc(hidden)]
pub mod well_typed;
#[doc(hidden)]
pub mod wildcard;

pub use annotations::check_annotations;
pub use error::RpcError;
pub use id::RequestId;
#[doc(hidden)]
pub use json_scan::push_string;
#[doc(hidden)]
pub use located::too_deep;
pub use raw::RawJson;
pub use revision::{Era, Revision, RevisionFeature};
pub use trace_context::TraceContext;
#[doc(hidden)]
pub use trace_context::{SentTrace, TracedRequest};
