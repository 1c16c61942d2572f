//! The tables of a port.

use super::entries::{FunctionCall, HandlerCall, HostRequest, HttpExchange, OpenState, Registered};
use super::table::{HandleKind, HandleTable};
use crate::open::connection::Connection;
use std::{collections::VecDeque, sync::Arc};
use trunkline::{auth::Verification, server::Server, transport::Listener};

/// Declares the tables of a port, with the kind of their numbers.
macro_rules! tables {
    ($($table:ident: $kind:ident => $entry:ty,)*) => {
        /// All tables of a port.
        pub(crate) struct Tables {
            $(pub(crate) $table: HandleTable<$entry>,)*
            pub(crate) lost: LostConnections,
        }

        impl Default for Tables {
            fn default() -> Self {
                Self { $($table: HandleTable::new(HandleKind::$kind),)* lost: LostConnections::default() }
            }
        }

        impl Tables {
            /// Total number of entries.
            pub(crate) fn len(&self) -> usize {
                0 $(+ self.$table.len())*
            }
        }
    };
}

tables! {
    servers: Server => Server,
    features: Feature => Registered,
    listeners: Listener => OpenState<Arc<Listener>>,
    connections: Connection => OpenState<Connection>,
    calls: Call => HandlerCall,
    verifications: Verification => Verification,
    function_calls: FunctionCall => FunctionCall,
    requests: Request => HostRequest,
    exchanges: Exchange => Arc<HttpExchange>,
}

/// Why connections were lost, for later requests on them.
#[derive(Default)]
pub(crate) struct LostConnections(VecDeque<(u64, String)>);

impl LostConnections {
    /// How many are remembered.
    const MOST: usize = 64;

    pub(crate) fn note(&mut self, handle: u64, reason: String) {
        if self.0.len() == Self::MOST {
            self.0.pop_front();
        }
        self.0.push_back((handle, reason));
    }

    pub(crate) fn reason(&self, handle: u64) -> Option<&str> {
        self.0.iter().find(|(lost, _)| *lost == handle).map(|(_, reason)| reason.as_str())
    }
}
