//! Custom stores: six functions that keep the state of a server.

use std::sync::Arc;

use trunkline_bridge::{Event, EventKind};

use crate::calls::{CallCallback, trunkline_call_callback};
use crate::edge::failure::Failure;
use crate::edge::user_data::UserData;
use crate::port::{EventReceiver, Port};
use crate::server_requests::ServerRequestHandlers;

/// A custom store, which keeps texts by key, and logs. Each function gets the arguments
/// below as JSON and answers with an object by `trunkline_call_return_result`, then or later, on
/// any thread. Several calls are under way at a time, and several processes may use the store;
/// `put_if` and `append` are atomic among all of them. No key names both a text and a log. Keys are
/// printable ASCII of 1 to 512 bytes; texts come back byte for byte.
///
/// A failure (`trunkline_call_fail`) says that the store is away. `trunkline_call_fail_protocol`
/// says more by its data: `{"error": "full"}` that there is no room in it, `{"error": "corrupt"}`
/// that it holds something that cannot be read; its code has no meaning here.
#[repr(C)]
pub struct trunkline_store {
    /// `{"key"}`: answers `{"text"}`, the text of the key, or `{}` where there is none, or its time
    /// is over.
    pub get: trunkline_call_callback,
    /// `{"key", "text", "keepForMs"}`: sets the text of the key for so long, whatever was there;
    /// answers `{}`.
    pub put: trunkline_call_callback,
    /// `{"key", "expected", "text", "keepForMs"}`: sets the text of the key for so long if the key
    /// still has the text `expected`, or where that is missing, if there is none. Answers
    /// `{"done": true or false}`.
    pub put_if: trunkline_call_callback,
    /// `{"key"}`: removes the text or the log of the key, if there is one; answers `{}`.
    pub remove: trunkline_call_callback,
    /// `{"log", "entry", "maxEntries", "keepForMs"}`: adds an entry to the end of a log, which is
    /// made when it is needed. Answers `{"position"}`: positions of a log rise, with gaps, are at
    /// least 1 and less than 2^53, and none is given twice, also not after the log was removed.
    /// Beyond `maxEntries` the oldest entries go. The log goes as a whole when nothing was added to
    /// it for so long.
    pub append: trunkline_call_callback,
    /// `{"log", "after", "limit", "waitMs"}`: answers `{"entries": [{"position", "text"}]}`, the
    /// oldest entries of the log after a position, at most `limit`. Where there are none, it may
    /// wait for one for so long. If it does not, it is called again: at once when this process adds
    /// an entry, and otherwise every 100 ms.
    pub read: trunkline_call_callback,
}

/// The functions of a store by the names of their calls.
pub(crate) fn functions(store: &trunkline_store, user_data: UserData) -> Result<ServerRequestHandlers, Failure> {
    let user_data = Arc::new(user_data);
    let mut functions = ServerRequestHandlers::default();
    for (name, member, function) in [
        ("store_get", "store.get", store.get),
        ("store_put", "store.put", store.put),
        ("store_put_if", "store.put_if", store.put_if),
        ("store_remove", "store.remove", store.remove),
        ("store_append", "store.append", store.append),
        ("store_read", "store.read", store.read),
    ] {
        let callback = CallCallback::new(function, user_data.share()).ok_or_else(|| Failure::null(member))?;
        functions.put(name, callback);
    }
    Ok(functions)
}

/// Takes the calls of the store of a server.
pub(crate) struct StoreReceiver(pub(crate) ServerRequestHandlers);

impl EventReceiver for StoreReceiver {
    fn receive(self: Arc<Self>, port: &Arc<Port>, event: Event) -> bool {
        let function = if event.kind == EventKind::Call { self.0.get(&event.name) } else { None };
        function.is_some_and(|function| function.receive(port, event))
    }
}
