//! The kinds of the errors of clients. The bindings add kinds of their own to this table
//! (`core/bridge/src/error.rs`).

/// Gives the table to a macro: documentation, name, code, and for other languages the class of
/// exceptions and the number in C, which is never reused.
#[doc(hidden)]
#[macro_export]
macro_rules! client_error_kinds {
    ($receiver:ident) => {
        $receiver! {
            /// The peer answered with a JSON-RPC error. Raised by a handler, it is the error that
            /// the caller gets.
            Protocol = "protocol", "ProtocolError", 1;
            /// No answer came in time. The peer was sent a cancellation.
            Timeout = "timeout", "TimeoutError", 2;
            /// The caller cancelled the request.
            Cancelled = "cancelled", "CancelledError", 3;
            /// The connection, the listener or the port is closed, or was closed while the caller
            /// waited.
            Closed = "closed", "ClosedError", 4;
            /// The connection could not be made or broke, or the peer's answer is not a result of
            /// the method. The error has the facts of the connection.
            Transport = "transport", "TransportError", 5;
            /// The two sides have no revision of the protocol in common.
            Version = "version", "VersionError", 6;
            /// An argument of this library's own functions is invalid; the message names it and the
            /// reason.
            InvalidArgument = "invalidArgument", "InvalidArgumentError", 7;
            /// A limit was reached: requests in flight, calls waiting, or bytes.
            Busy = "busy", "BusyError", 8;
            /// The server needs input before it has a result, and the options of the call say that
            /// the caller gives it. The error has the requests: the call is made again with the
            /// answers.
            InputRequired = "inputRequired", "InputRequiredError", 13;
        }
    };
}

macro_rules! kinds {
    ($($(#[doc = $doc:literal])* $kind:ident = $code:literal, $class:literal, $number:literal;)*) => {
        /// The kind of an error, the same in every language.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum ErrorKind {
            $($(#[doc = $doc])* $kind,)*
        }

        impl ErrorKind {
            /// The stable code, such as `invalidArgument`.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$kind => $code,)*
                }
            }
        }
    };
}

client_error_kinds!(kinds);
