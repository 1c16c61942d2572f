//! Converts outcomes of handlers to results of a revision, the same for every language.

mod as_written;
mod cache_hints;
mod error_projection;
mod prompt;
mod resource;
mod rpc_error;
mod tool;
mod unknown_members;
mod writer;

pub use cache_hints::{CacheHints, CacheScope};

pub(super) use as_written::as_written;
pub(super) use error_projection::project_errors;
pub(super) use prompt::render_prompt;
pub(super) use resource::{ReadOf, render_read};
pub(super) use rpc_error::error_of;
pub(super) use tool::{CompiledOutputSchema, ToolRenderer, invalid_arguments};
pub(super) use writer::ResultWriter;
