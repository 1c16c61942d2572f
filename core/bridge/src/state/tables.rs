//! The tables of a port.

use super::{
    entries::{Connection, FunctionCall, HandlerCall, HostRequest, HttpExchange, OpenState, Registered},
    table::{HandleTable, kind_of},
};
use crate::{BridgeError, ErrorKind, events::slot::ReplySlot, message::Request};
use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};
use trunkline::{auth::Verification, server::Server, transport::Listener};

/// An entry of one of the tables.
pub(crate) trait TableEntry: Sized {
    fn table(tables: &mut Tables) -> &mut HandleTable<Self>;
}

/// Declares the tables of a port, with the kind of their numbers.
macro_rules! tables {
    ($($table:ident: $kind:ident = $number:literal => $entry:ty,)*) => {
        /// The kind of a number.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum HandleKind {
            $($kind = $number,)*
        }

        impl HandleKind {
            /// The kind encoded in a number. The entry may no longer exist.
            pub(crate) fn of(number: u64) -> Option<Self> {
                match kind_of(number) {
                    $($number => Some(Self::$kind),)*
                    _ => None,
                }
            }
        }

        /// All tables of a port.
        pub(crate) struct Tables {
            $(pub(crate) $table: HandleTable<$entry>,)*
            pub(crate) lost: LostConnections,
            /// Replies to requests and opens with `"wait": true`, until the host has fetched them.
            pub(crate) replies: BTreeMap<u64, Arc<ReplySlot>>,
        }

        $(impl TableEntry for $entry {
            fn table(tables: &mut Tables) -> &mut HandleTable<Self> {
                &mut tables.$table
            }
        })*

        impl Default for Tables {
            fn default() -> Self {
                let (lost, replies) = (LostConnections::default(), BTreeMap::new());
                Self { $($table: HandleTable::new($number),)* lost, replies }
            }
        }

        impl Tables {
            /// Number of entries, including those that have ended but whose reply was not fetched.
            pub(crate) fn len(&self) -> usize {
                let has_ended = |ticket: &&u64| true $(&& self.$table.get(**ticket).is_none())*;
                self.replies.keys().filter(has_ended).count() $(+ self.$table.len())*
            }
        }
    };
}

tables! {
    servers: Server = 1 => Server,
    features: Feature = 2 => Registered,
    listeners: Listener = 3 => OpenState<Arc<Listener>>,
    connections: Connection = 4 => OpenState<Connection>,
    calls: Call = 5 => HandlerCall,
    verifications: Verification = 6 => Verification,
    requests: Request = 7 => HostRequest,
    exchanges: Exchange = 8 => Arc<HttpExchange>,
    function_calls: FunctionCall = 9 => FunctionCall,
}

/// The error of a table that has no numbers left.
pub(crate) fn full() -> BridgeError {
    BridgeError::new(ErrorKind::Busy, "The port has no handles left")
}

/// The error for a number that is in no table of these kinds, `what` in words.
pub(crate) fn ended(kinds: &[HandleKind], what: &str, handle: u64) -> BridgeError {
    let message = match HandleKind::of(handle).filter(|kind| kinds.contains(kind)) {
        Some(HandleKind::Server) => "the server is closed",
        Some(HandleKind::Connection) => "the connection is closed",
        Some(HandleKind::Call) => "the call has ended",
        _ => return BridgeError::stale(what, handle),
    };
    BridgeError::new(ErrorKind::Closed, message)
}

impl Tables {
    /// Inserts a request that has not been sent yet.
    pub(crate) fn insert_request(&mut self, given: &Request, handle: u64) -> Result<u64, BridgeError> {
        let ticket = self.requests.insert(HostRequest::Running { sent: None, handle }).ok_or_else(full)?;
        self.keep_reply(ticket, given.wait);
        Ok(ticket)
    }

    /// Keeps the reply until the host fetches it, if the host waits for it.
    pub(crate) fn keep_reply(&mut self, ticket: u64, wait: bool) {
        if wait {
            self.replies.insert(ticket, Arc::default());
        }
    }

    pub(crate) fn reply_slot(&self, ticket: u64) -> Option<Arc<ReplySlot>> {
        self.replies.get(&ticket).cloned()
    }
}

/// Why connections were lost, for later requests on them.
#[derive(Default)]
pub(crate) struct LostConnections(VecDeque<(u64, String)>);

impl LostConnections {
    /// The oldest is forgotten first.
    const MAX_REMEMBERED: usize = 64;

    pub(crate) fn note(&mut self, handle: u64, reason: String) {
        if self.0.len() == Self::MAX_REMEMBERED {
            self.0.pop_front();
        }
        self.0.push_back((handle, reason));
    }

    pub(crate) fn reason(&self, handle: u64) -> Option<&str> {
        self.0.iter().find(|(lost, _)| *lost == handle).map(|(_, reason)| reason.as_str())
    }
}
