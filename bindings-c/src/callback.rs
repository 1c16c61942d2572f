//! Functions of the host and the data that goes with them.

use std::ffi::c_void;

use crate::call::trunkline_call;
use crate::error::{Failure, trunkline_error, trunkline_result};
use crate::http::trunkline_http_header;
use crate::text::trunkline_str;

/// Frees `user_data`. Fires exactly once, when nothing can use the data any more; also if the
/// function that received it failed. It may run on any thread.
pub type trunkline_destructor = Option<unsafe extern "C" fn(user_data: *mut c_void)>;

/// Takes the calls of something that was added to a server. `call` and `arguments` (JSON; for a tool the arguments, valid
/// against its input schema, for everything else as `trunkline_server_add` says) are borrowed until the callback returns; keep
/// the call with `trunkline_call_retain` to answer later. Must not throw or `longjmp`.
pub type trunkline_call_callback =
    Option<unsafe extern "C" fn(call: *mut trunkline_call, arguments: trunkline_str, user_data: *mut c_void)>;

/// The outcome of what a call asked for: `TRUNKLINE_OK` and the result as JSON, or the failure with its error. All of it is
/// borrowed until the callback returns: answer the call, ask again, or keep it with `trunkline_call_retain`.
///
/// `TRUNKLINE_SUSPENDED` is no failure: the client is being asked, and the handler runs again from the top with the answer, as
/// a new call. Free what you have and return; what this call is answered with, if at all, is dropped.
pub type trunkline_answer_callback = Option<
    unsafe extern "C" fn(
        call: *mut trunkline_call,
        result: trunkline_result,
        json: trunkline_str,
        error: *const trunkline_error,
        user_data: *mut c_void,
    ),
>;

/// A call is no longer wanted. `reason` may be empty; it is borrowed until the callback returns.
pub type trunkline_cancel_callback = Option<unsafe extern "C" fn(reason: trunkline_str, user_data: *mut c_void)>;

/// How far a request is. `total` is 0 if it is unknown; `message` may be empty and is borrowed
/// until the callback returns.
pub type trunkline_progress_callback =
    Option<unsafe extern "C" fn(progress: f64, total: f64, message: trunkline_str, user_data: *mut c_void)>;

/// A notification of the server: `params` is JSON. Both texts are borrowed until the callback
/// returns.
pub type trunkline_notification_callback =
    Option<unsafe extern "C" fn(method: trunkline_str, params: trunkline_str, user_data: *mut c_void)>;

/// The outcome of a started request: `TRUNKLINE_OK` and the result as JSON, or the failure with its
/// error. Both are borrowed until the callback returns; `error` is NULL on success, `json` empty on
/// failure.
pub type trunkline_reply_callback = Option<
    unsafe extern "C" fn(
        result: trunkline_result,
        json: trunkline_str,
        error: *const trunkline_error,
        user_data: *mut c_void,
    ),
>;

/// One log record; `level` is "error", "warn", "info" or "debug". The texts are borrowed until the
/// callback returns.
pub type trunkline_log_callback = Option<
    unsafe extern "C" fn(level: trunkline_str, target: trunkline_str, message: trunkline_str, user_data: *mut c_void),
>;

/// Status and headers of a response, borrowed until the callback returns.
pub type trunkline_http_head_callback = Option<
    unsafe extern "C" fn(
        status: u16,
        headers: *const trunkline_http_header,
        header_count: usize,
        user_data: *mut c_void,
    ),
>;

/// The next bytes of a response, borrowed until the callback returns. Grant them again with
/// `trunkline_http_credit` when they were passed on.
pub type trunkline_http_chunk_callback =
    Option<unsafe extern "C" fn(data: *const c_void, len: usize, user_data: *mut c_void)>;

/// The response is over: `TRUNKLINE_OK`, or why it is not complete. `error` is borrowed until the
/// callback returns; NULL on success.
pub type trunkline_http_end_callback =
    Option<unsafe extern "C" fn(result: trunkline_result, error: *const trunkline_error, user_data: *mut c_void)>;

/// The host's data, freed once, when the last owner lets go.
pub(crate) struct UserData {
    pointer: *mut c_void,
    destructor: trunkline_destructor,
}

// SAFETY: the library only passes the pointer on; the header's conventions say that callbacks and
// destructors of one object may run on different threads, though never at the same time.
unsafe impl Send for UserData {}
// SAFETY: as above: nothing is read through the pointer here.
unsafe impl Sync for UserData {}

impl UserData {
    /// Takes the data over at once, so that the destructor fires whatever happens afterwards.
    pub(crate) fn new(pointer: *mut c_void, destructor: trunkline_destructor) -> Self {
        Self { pointer, destructor }
    }
}

impl Drop for UserData {
    fn drop(&mut self) {
        if let Some(destructor) = self.destructor {
            // SAFETY: the host gave the function for exactly this pointer, and it is called once,
            // here.
            unsafe { destructor(self.pointer) }
        }
    }
}

/// A function of the host with its data.
pub(crate) struct Callback<F> {
    function: F,
    data: UserData,
}

impl<F> Callback<F> {
    /// `None` if the host gave no function (the data is freed then).
    pub(crate) fn new(function: Option<F>, data: UserData) -> Option<Self> {
        function.map(|function| Self { function, data })
    }

    /// The same, where there must be a function.
    pub(crate) fn required(function: Option<F>, data: UserData) -> Result<Self, Failure> {
        Self::new(function, data).ok_or_else(|| Failure::null("callback"))
    }
}

type CallFn = unsafe extern "C" fn(*mut trunkline_call, trunkline_str, *mut c_void);
type AnswerFn =
    unsafe extern "C" fn(*mut trunkline_call, trunkline_result, trunkline_str, *const trunkline_error, *mut c_void);
type CancelFn = unsafe extern "C" fn(trunkline_str, *mut c_void);
type ProgressFn = unsafe extern "C" fn(f64, f64, trunkline_str, *mut c_void);
type NotificationFn = unsafe extern "C" fn(trunkline_str, trunkline_str, *mut c_void);
type ReplyFn = unsafe extern "C" fn(trunkline_result, trunkline_str, *const trunkline_error, *mut c_void);
type LogFn = unsafe extern "C" fn(trunkline_str, trunkline_str, trunkline_str, *mut c_void);

pub(crate) type CallCallback = Callback<CallFn>;
pub(crate) type AnswerCallback = Callback<AnswerFn>;
pub(crate) type CancelCallback = Callback<CancelFn>;
pub(crate) type ProgressCallback = Callback<ProgressFn>;
pub(crate) type NotificationCallback = Callback<NotificationFn>;
pub(crate) type ReplyCallback = Callback<ReplyFn>;
pub(crate) type LogCallback = Callback<LogFn>;

impl CallCallback {
    pub(crate) fn run(&self, call: *mut trunkline_call, arguments: trunkline_str) {
        // SAFETY: the host's function with the host's data; both arguments live until it returns.
        unsafe { (self.function)(call, arguments, self.data.pointer) }
    }
}

impl AnswerCallback {
    pub(crate) fn run(
        &self,
        call: *mut trunkline_call,
        result: trunkline_result,
        json: trunkline_str,
        error: Option<&trunkline_error>,
    ) {
        let error = error.map_or(std::ptr::null(), std::ptr::from_ref);
        // SAFETY: the host's function with the host's data; all arguments live until it returns.
        unsafe { (self.function)(call, result, json, error, self.data.pointer) }
    }
}

impl CancelCallback {
    pub(crate) fn run(&self, reason: trunkline_str) {
        // SAFETY: the host's function with the host's data; the argument lives until it returns.
        unsafe { (self.function)(reason, self.data.pointer) }
    }
}

impl ProgressCallback {
    pub(crate) fn run(&self, progress: f64, total: f64, message: trunkline_str) {
        // SAFETY: the host's function with the host's data; the text lives until it returns.
        unsafe { (self.function)(progress, total, message, self.data.pointer) }
    }
}

impl NotificationCallback {
    pub(crate) fn run(&self, method: trunkline_str, params: trunkline_str) {
        // SAFETY: the host's function with the host's data; both arguments live until it returns.
        unsafe { (self.function)(method, params, self.data.pointer) }
    }
}

impl ReplyCallback {
    pub(crate) fn run(&self, result: trunkline_result, json: trunkline_str, error: Option<&trunkline_error>) {
        let error = error.map_or(std::ptr::null(), std::ptr::from_ref);
        // SAFETY: the host's function with the host's data; all arguments live until it returns.
        unsafe { (self.function)(result, json, error, self.data.pointer) }
    }
}

impl LogCallback {
    pub(crate) fn run(&self, level: trunkline_str, target: trunkline_str, message: trunkline_str) {
        // SAFETY: the host's function with the host's data; all arguments live until it returns.
        unsafe { (self.function)(level, target, message, self.data.pointer) }
    }
}

/// What takes a response, with the data that its functions share.
pub(crate) struct HttpReceiver {
    head: trunkline_http_head_callback,
    chunk: trunkline_http_chunk_callback,
    end: trunkline_http_end_callback,
    data: UserData,
}

impl HttpReceiver {
    pub(crate) fn new(
        head: trunkline_http_head_callback,
        chunk: trunkline_http_chunk_callback,
        end: trunkline_http_end_callback,
        data: UserData,
    ) -> Self {
        Self { head, chunk, end, data }
    }

    pub(crate) fn head(&self, status: u16, headers: &[trunkline_http_header]) {
        if let Some(head) = self.head {
            // SAFETY: the host's function with the host's data; the headers live until it returns.
            unsafe { head(status, headers.as_ptr(), headers.len(), self.data.pointer) }
        }
    }

    pub(crate) fn chunk(&self, bytes: &[u8]) {
        if let Some(chunk) = self.chunk {
            // SAFETY: the host's function with the host's data; the bytes live until it returns.
            unsafe { chunk(bytes.as_ptr().cast(), bytes.len(), self.data.pointer) }
        }
    }

    pub(crate) fn end(&self, result: trunkline_result, error: Option<&trunkline_error>) {
        if let Some(end) = self.end {
            let error = error.map_or(std::ptr::null(), std::ptr::from_ref);
            // SAFETY: the host's function with the host's data; the error lives until it returns.
            unsafe { end(result, error, self.data.pointer) }
        }
    }
}
