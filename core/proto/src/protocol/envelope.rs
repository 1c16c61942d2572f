//! The JSON-RPC envelope. Only the outermost object is parsed; params and results stay slices of
//! the receive buffer.

mod message_members;
mod reading;
mod writing;

#[doc(hidden)]
pub use reading::{Beginning, count_values, excess, without_mark};
pub use writing::{cancellation, encode_error, encode_notification, encode_request, encode_result};

use super::{RawJson, RequestId, RpcError};
use std::{
    borrow::Cow,
    hint::black_box,
    sync::atomic::{AtomicBool, Ordering},
};

/// A JSON-RPC message.
#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    /// Expects a response.
    Request(Request),
    /// Is never answered.
    Notification(Notification),
    /// Answers a request.
    Response(Response),
}

/// A message with an id and a method.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// Repeated by the response.
    pub id: RequestId,
    /// The method.
    pub method: Cow<'static, str>,
    /// An object, if present (arrays are refused: every MCP method names its parameters).
    pub params: Option<RawJson>,
}

/// A message with a method and no id.
#[derive(Debug, Clone, PartialEq)]
pub struct Notification {
    /// The method.
    pub method: Cow<'static, str>,
    /// An object, if present.
    pub params: Option<RawJson>,
}

/// A message with a result or an error, valid or not.
#[derive(Debug, Clone, PartialEq)]
pub struct Response {
    /// The id of the request; `None` if it could not be read.
    pub id: Option<RequestId>,
    /// The result or the error.
    pub outcome: Result<RawJson, NoResult>,
}

/// Why a response has no result.
#[derive(Debug, Clone, PartialEq)]
pub enum NoResult {
    /// The peer returned an error.
    Error(RpcError),
    /// Neither a result nor an error, with the reason.
    InvalidResponse(String),
}

/// The content of one frame (a line, a body, an event).
#[derive(Debug, Clone, PartialEq)]
pub enum Frame {
    /// One message, or why it is invalid.
    Single(Result<Message, Malformed>),
    /// A non-empty batch array. The engine decides whether it is allowed.
    Batch(Vec<Result<Message, Malformed>>),
}

/// An invalid message, with the error to respond with. Never an invalid response, because responses
/// are not answered.
#[derive(Debug, Clone, PartialEq)]
pub struct Malformed {
    /// The id, if it could be read.
    pub id: Option<RequestId>,
    /// -32700 or -32600.
    pub error: RpcError,
}

/// Limits of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameBounds {
    /// Maximum nesting of arrays and objects.
    pub nesting: usize,
    /// Maximum number of JSON values, which take far more space in memory than on the wire.
    pub values: usize,
    /// Maximum length of a number, in characters.
    pub number: usize,
    /// Maximum number of messages in a batch.
    pub elements: usize,
}

impl FrameBounds {
    /// For messages that this side wrote itself.
    #[doc(hidden)]
    pub const NONE: Self = Self { nesting: usize::MAX, values: usize::MAX, number: usize::MAX, elements: usize::MAX };
}

/// Length from which a message needs preparation, in bytes.
const LARGE_THRESHOLD: usize = 32 * 1024;

/// The size of the block that is freed.
const BLOCK_BYTES: usize = 4 * 1024 * 1024;

/// Prepares the allocator for a message of this length.
///
/// glibc returns free memory to the system above a threshold of 128 KiB, and the system clears each
/// page of it again for the next large message: more than half of the CPU time of such a call. The
/// threshold adapts to twice the size of a mapped block that is freed, up to 32 MiB (mallopt(3),
/// `M_MMAP_THRESHOLD`), so this frees one, once. The block is never touched, so it takes no memory.
/// Other allocators ignore it.
fn prepare_for(length: usize) {
    // Not a `Once`, which a child of `fork` could find locked for ever.
    static IS_PREPARED: AtomicBool = AtomicBool::new(false);
    if length >= LARGE_THRESHOLD && !IS_PREPARED.load(Ordering::Relaxed) && !IS_PREPARED.swap(true, Ordering::Relaxed) {
        drop(black_box(Vec::<u8>::with_capacity(BLOCK_BYTES)));
    }
}
