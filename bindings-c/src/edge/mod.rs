//! The C layer: panics, pointers, strings, failures, user data, and the descriptor that wakes an
//! event loop. It doesn't depend on servers and clients.

pub(crate) mod alarm;
pub(crate) mod failure;
pub(crate) mod ffi;
pub(crate) mod last_error;
pub(crate) mod options_handle;
pub(crate) mod signal_actions;
pub(crate) mod text;
pub(crate) mod user_data;

/// The names that almost every module needs.
pub(crate) mod prelude {
    pub(crate) use std::ffi::c_void;
    pub(crate) use std::sync::Arc;

    pub(crate) use trunkline::bridge_support::Mutex;

    pub(crate) use super::failure::{Failure, trunkline_error, trunkline_result};
    pub(crate) use super::ffi::{
        Out, bytes, free, give, guard, guard_result, handle, handle_mut, kept, lossy, out, out_or_null, required,
        slice, text, value_or,
    };
    pub(crate) use super::options_handle::{set, settled};
    pub(crate) use super::text::{Text, trunkline_str, trunkline_text};
    pub(crate) use super::user_data::{Callback, UserData, trunkline_destructor};
}
