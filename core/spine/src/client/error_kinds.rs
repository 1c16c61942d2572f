//! The kinds of client errors. The bindings add their own kinds to this table
//! (`core/bridge/src/error.rs`).

/// Passes the table to a macro: documentation, name, code, for other languages the exception class
/// and the number in C, which is never reused, and the remedy for the page of errors.
#[doc(hidden)]
#[macro_export]
macro_rules! client_error_kinds {
    ($receiver:ident) => {
        $receiver! {
            /// The peer replied with a JSON-RPC error. Raised in a handler, it is the error that
            /// the caller receives.
            Protocol = "protocol", "ProtocolError", 1,
                "Read the code and the message, which come from the peer.";
            /// No reply arrived in time. The peer was sent a cancellation.
            Timeout = "timeout", "TimeoutError", 2,
                "Increase the timeout, let the server report progress, or run the call as a task.";
            /// The caller cancelled the request.
            Cancelled = "cancelled", "CancelledError", 3,
                "None: the program cancelled the request itself.";
            /// The connection, listener or port is closed, or was closed while waiting.
            Closed = "closed", "ClosedError", 4,
                "Reconnect, or reopen the listener.";
            /// The connection failed, or the peer's reply is not a valid result of the method. The
            /// error carries the facts of the connection.
            Transport = "transport", "TransportError", 5,
                "Check the facts: the reason, the HTTP status, the exit status and stderr of the process.";
            /// The two sides have no protocol revision in common.
            Version = "version", "VersionError", 6,
                "Remove the option `revision`, or update the older side.";
            /// An argument passed to this library is invalid; the message names it and the reason.
            InvalidArgument = "invalidArgument", "InvalidArgumentError", 7,
                "Fix the argument that the message names.";
            /// A limit was reached, locally or at the server: requests in flight, queued calls, or
            /// bytes. Or the server's store is unavailable.
            Busy = "busy", "BusyError", 8,
                "Try again later, or raise the limit that the message names.";
            /// The server needs input before it has a result, and the options of the call say that
            /// the caller supplies it. The error carries the requests: call again with the
            /// responses.
            InputRequired = "inputRequired", "InputRequiredError", 13,
                "Repeat the call with the input responses and the request state.";
            /// The server requires authorization: a request was refused with 401, or with 403
            /// because the token does not suffice, or no credentials were obtained. The error
            /// carries the challenge.
            AuthorizationRequired = "authorizationRequired", "AuthorizationRequiredError", 14,
                "Set the client's option `auth`, or use a token with the scopes that the error names.";
            /// The server has not declared what the call needs.
            Unsupported = "unsupported", "UnsupportedError", 15,
                "Check the server's capabilities before the call.";
        }
    };
}

macro_rules! kinds {
    ($($(#[doc = $doc:literal])* $kind:ident = $code:literal, $class:literal, $number:literal, $remedy:literal;)*) => {
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
