//! Custom stores: six functions that keep the state of a server.

use trunkline_bridge::{Event, EventKind};

use crate::calls::trunkline_call_callback;
use crate::edge::prelude::*;
use crate::options::trunkline_server_options;
use crate::port::{EventReceiver, Port};
use crate::server_requests::ServerRequestHandlers;

/// A custom store, which keeps texts and logs by key. Each function gets the arguments below as
/// JSON, and responds with an object through `trunkline_call_return_result`, immediately or later,
/// on any thread. Several calls run concurrently, and several processes may use the store; `put_if`
/// and `append` are atomic across all of them. A key never names both a text and a log. Keys are
/// printable ASCII of 1 to 512 bytes; texts must be returned byte for byte.
///
/// A failure (`trunkline_call_fail`) means that the store is unavailable.
/// `trunkline_call_fail_protocol` can be more specific through its data: `{"error": "full"}` if the
/// store is full, `{"error": "corrupt"}` if it contains unreadable data; its code is ignored.
#[repr(C)]
pub struct trunkline_store {
    /// `{"key"}`: returns `{"text"}`, the text of the key, or `{}` if there is none or it has
    /// expired.
    pub get: trunkline_call_callback,
    /// `{"key", "text", "keepForMs"}`: sets the text of the key, and when it expires, replacing any
    /// existing one. Returns `{}`.
    pub put: trunkline_call_callback,
    /// `{"key", "expected", "text", "keepForMs"}`: sets the text of the key, and when it expires,
    /// if the current text equals `expected` or, without `expected`, if there is none. Returns
    /// `{"done": true or false}`.
    pub put_if: trunkline_call_callback,
    /// `{"key"}`: removes the text or the log of the key, if there is one. Returns `{}`.
    pub remove: trunkline_call_callback,
    /// `{"log", "entry", "maxEntries", "keepForMs"}`: appends an entry to a log, which is created
    /// on demand. Returns `{"position"}`. The positions of a log increase, possibly with gaps, are
    /// at least 1 and less than 2^53, and are never reused, even after the log was removed. Beyond
    /// `maxEntries`, the oldest entries are removed. The whole log expires `keepForMs` after its
    /// last entry.
    pub append: trunkline_call_callback,
    /// `{"log", "after", "limit", "waitMs"}`: returns `{"entries": [{"position", "text"}]}`, the
    /// oldest entries of the log after a position, at most `limit`. If there are none, the function
    /// may wait up to `waitMs` for one. If it doesn't wait, it is called again: at once when this
    /// process adds an entry, otherwise every 100 ms.
    pub read: trunkline_call_callback,
}

/// Keeps the server's state in a custom store instead of a URL
/// (`trunkline_server_options_set_store`). All functions are required; they are copied, and run
/// where callbacks run. A program that blocks elsewhere therefore delays calls that need its store,
/// which are refused as busy after `TRUNKLINE_LIMIT_STORE_DEADLINE_MS`. `destructor` is called
/// exactly once, when neither the options nor a server uses `user_data`, even if this function
/// fails.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_server_options_set_own_store(
    options: *mut trunkline_server_options,
    store: *const trunkline_store,
    user_data: *mut c_void,
    destructor: trunkline_destructor,
) -> trunkline_result {
    let user_data = Arc::new(UserData::new(user_data, destructor));
    set!(options, {
        let store = handle!(store);
        let mut functions = ServerRequestHandlers::default();
        for (name, member, function) in [
            ("store_get", "store.get", store.get),
            ("store_put", "store.put", store.put),
            ("store_put_if", "store.put_if", store.put_if),
            ("store_remove", "store.remove", store.remove),
            ("store_append", "store.append", store.append),
            ("store_read", "store.read", store.read),
        ] {
            functions.put(name, Callback { function: required(function, member)?, data: user_data.share() });
        }
        options.store = Some(functions);
    })
}

/// Receives the calls of a server's store.
impl EventReceiver for ServerRequestHandlers {
    fn receive(self: Arc<Self>, port: &Arc<Port>, event: Event) -> bool {
        event.kind == EventKind::Call && self.get(&event.name).is_some_and(|function| function.receive(port, event))
    }
}
