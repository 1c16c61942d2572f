//! The edge to C: panics, pointers, text, failures, user data, and the descriptor that wakes an event loop. It knows nothing of
//! servers and clients.

pub(crate) mod alarm;
pub(crate) mod failure;
pub(crate) mod ffi;
pub(crate) mod last_error;
pub(crate) mod options;
pub(crate) mod sigpipe;
pub(crate) mod sync;
pub(crate) mod text;
pub(crate) mod user_data;
