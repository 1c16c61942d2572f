//! The declaration of the reference: the chapters of the header in the order in which a program
//! needs them, and for each function where it may be called and with what it fails.

/// A chapter: a group of Doxygen in the header, a table on the page.
pub struct Chapter {
    pub name: &'static str,
    pub title: &'static str,
    pub text: &'static str,
    pub rows: &'static [Row],
}

/// Functions that behave alike.
pub struct Row {
    /// A name, or the beginning of names and a star. The first row that fits a function is its own.
    pub pattern: &'static str,
    pub conduct: Conduct,
    /// Its result codes other than `TRUNKLINE_OK`, without their prefix; those of the conventions
    /// are also possible. Empty for a function that returns no result code.
    pub fails: &'static [&'static str],
}

/// Where a function may be called.
#[derive(Clone, Copy)]
pub struct Conduct {
    pub blocks: &'static str,
    pub in_callbacks: &'static str,
    pub threads: &'static str,
    pub in_signal_handlers: &'static str,
}

/// Never waits.
const PROMPT: Conduct = Conduct { blocks: "no", in_callbacks: "yes", threads: "any", in_signal_handlers: "no" };
/// Only writes to a descriptor.
const SIGNAL_SAFE: Conduct = Conduct { in_signal_handlers: "yes, on Unix", ..PROMPT };
/// For an object that has no lock.
const ONE_THREAD: Conduct = Conduct { threads: "one at a time", ..PROMPT };
/// For an object that goes away.
const FREES: Conduct = Conduct { threads: "the last to use it", ..PROMPT };
/// Waits for the core, and runs callbacks of the port meanwhile.
const WAITS: Conduct = Conduct { blocks: "yes, and runs callbacks", in_callbacks: "no", ..PROMPT };
/// Waits for the core.
const STANDS_BY: Conduct = Conduct { blocks: "yes", ..WAITS };
/// Like [`WAITS`], but only up to the time in the option.
const CONNECTS: Conduct = Conduct {
    blocks: "yes, and runs callbacks; no with `trunkline_client_options_set_background`",
    in_callbacks: "only with that option",
    ..PROMPT
};

const fn row(pattern: &'static str, conduct: Conduct, fails: &'static [&'static str]) -> Row {
    Row { pattern, conduct, fails }
}

const NOTHING: &[&str] = &[];
const OPTION: &[&str] = &["NULL", "INVALID_ARGUMENT"];
const REGISTERS: &[&str] = &["NULL", "INVALID_ARGUMENT", "FORKED"];
const REMOVES: &[&str] = &["NULL", "INVALID_ARGUMENT", "NOT_FOUND", "FORKED"];
const OPENS: &[&str] = &["NULL", "INVALID_ARGUMENT", "TRANSPORT", "CLOSED", "BLOCKING", "FORKED"];
const ANSWERS: &[&str] = &["NULL", "INVALID_ARGUMENT", "DONE", "FORKED"];
const REPORTS: &[&str] = &["NULL", "INVALID_ARGUMENT", "CLOSED", "FORKED"];
const READS: &[&str] = &["NULL", "INVALID_ARGUMENT", "NOT_FOUND"];
/// Of an object on a port.
const LOOKS_UP: &[&str] = &["NULL", "INVALID_ARGUMENT", "NOT_FOUND", "CLOSED", "FORKED"];
const ASKS: &[&str] = &["NULL", "INVALID_ARGUMENT", "PROTOCOL", "SUSPENDED", "CLOSED", "BUSY", "FORKED"];
const CONNECTING: &[&str] = &[
    "NULL",
    "INVALID_ARGUMENT",
    "PROTOCOL",
    "TIMEOUT",
    "CLOSED",
    "TRANSPORT",
    "VERSION_MISMATCH",
    "AUTHORIZATION_REQUIRED",
    "BLOCKING",
    "FORKED",
];
const REQUESTS: &[&str] = &[
    "NULL",
    "INVALID_ARGUMENT",
    "PROTOCOL",
    "TIMEOUT",
    "CANCELLED",
    "CLOSED",
    "TRANSPORT",
    "BUSY",
    "INPUT_REQUIRED",
    "AUTHORIZATION_REQUIRED",
    "BLOCKING",
    "FORKED",
];
const STARTS: &[&str] = &["NULL", "INVALID_ARGUMENT", "CLOSED", "BUSY", "FORKED"];

/// All chapters.
pub static CHAPTERS: &[Chapter] = &[
    Chapter {
        name: "server",
        title: "Servers",
        text: "Create a server, add features, then listen.",
        rows: &[
            row("trunkline_server_new*", PROMPT, OPTION),
            row("trunkline_server_set_lifespan*", PROMPT, REGISTERS),
            row(
                "trunkline_server_check_store",
                WAITS,
                &["NULL", "INVALID_ARGUMENT", "CLOSED", "BUSY", "BLOCKING", "FORKED"],
            ),
            row("trunkline_server_port", PROMPT, NOTHING),
            row("trunkline_server_free", FREES, NOTHING),
        ],
    },
    Chapter {
        name: "server_options",
        title: "Server options",
        text: "For `trunkline_server_new_with`. All have defaults.",
        rows: &[
            row("trunkline_server_options_new", PROMPT, &["NULL"]),
            row("trunkline_server_options_from_json", PROMPT, OPTION),
            row("trunkline_server_options_free", FREES, NOTHING),
            row("trunkline_server_options_*", ONE_THREAD, OPTION),
        ],
    },
    Chapter {
        name: "features",
        title: "Features",
        text: "Tools, resources, prompts and hooks. You can also add them while the server is running.",
        rows: &[
            row("trunkline_server_add_tool*", PROMPT, REGISTERS),
            row("trunkline_tool_options_new", PROMPT, &["NULL"]),
            row("trunkline_tool_options_from_json", PROMPT, OPTION),
            row("trunkline_tool_options_free", FREES, NOTHING),
            row("trunkline_tool_options_*", ONE_THREAD, OPTION),
            row("trunkline_server_add*", PROMPT, REGISTERS),
            row("trunkline_server_remove*", PROMPT, REMOVES),
            row("trunkline_server_set_enabled", PROMPT, REMOVES),
            row("trunkline_server_mount", PROMPT, REGISTERS),
            row("trunkline_server_proxy", PROMPT, REGISTERS),
            row("trunkline_server_list_changed", PROMPT, REGISTERS),
            row("trunkline_server_resource_updated", PROMPT, REGISTERS),
            row("trunkline_server_elicitation_complete", PROMPT, REGISTERS),
        ],
    },
    Chapter {
        name: "call",
        title: "Calls",
        text: "Read the arguments and facts of a call, and complete it, inside its callback or later.",
        rows: &[
            row("trunkline_call_arguments", PROMPT, NOTHING),
            row("trunkline_call_text", PROMPT, NOTHING),
            row("trunkline_call_number", PROMPT, NOTHING),
            row("trunkline_call_int64", PROMPT, NOTHING),
            row("trunkline_call_bool", PROMPT, NOTHING),
            row("trunkline_call_return_*", PROMPT, ANSWERS),
            row("trunkline_call_fail*", PROMPT, ANSWERS),
            row("trunkline_call_retain", PROMPT, NOTHING),
            row("trunkline_call_free", FREES, NOTHING),
            row("trunkline_call_cancelled", PROMPT, NOTHING),
            row("trunkline_call_on_cancel", PROMPT, OPTION),
            row("trunkline_call_info", PROMPT, REPORTS),
            row("trunkline_call_fact", PROMPT, LOOKS_UP),
            row("trunkline_call_exchange_data", PROMPT, NOTHING),
            row("trunkline_call_set_var", PROMPT, OPTION),
            row("trunkline_call_var", PROMPT, NOTHING),
            row("trunkline_call_progress", PROMPT, REPORTS),
            row("trunkline_call_log*", PROMPT, REPORTS),
        ],
    },
    Chapter {
        name: "asking",
        title: "Requests to the client of a call",
        text: "Ask the user or the model, continue as a task, or run the rest of a request in middleware.",
        rows: &[
            row("trunkline_call_elicit", PROMPT, ASKS),
            row("trunkline_call_sample", PROMPT, ASKS),
            row("trunkline_call_list_roots", PROMPT, ASKS),
            row("trunkline_call_start_request", PROMPT, ASKS),
            row("trunkline_call_cancel_request", PROMPT, REGISTERS),
            row("trunkline_request_options_new", PROMPT, &["NULL"]),
            row("trunkline_request_options_from_json", PROMPT, OPTION),
            row("trunkline_request_options_free", FREES, NOTHING),
            row("trunkline_request_options_*", ONE_THREAD, OPTION),
            row("trunkline_call_require_input", PROMPT, ANSWERS),
            row("trunkline_call_set_once", PROMPT, REPORTS),
            row("trunkline_call_once", PROMPT, LOOKS_UP),
            row("trunkline_call_start_task", PROMPT, REPORTS),
            row("trunkline_call_set_task_message", PROMPT, REPORTS),
            row("trunkline_call_close_stream", PROMPT, REPORTS),
            row("trunkline_call_next", PROMPT, REPORTS),
        ],
    },
    Chapter {
        name: "listening",
        title: "Listening",
        text: "Serve over stdin and stdout, on descriptors or a port, or inside a web server.",
        rows: &[
            row("trunkline_server_serve_stdio", WAITS, OPENS),
            row("trunkline_server_run", WAITS, OPENS),
            row("trunkline_server_stop", SIGNAL_SAFE, &["NULL"]),
            row("trunkline_server_listen_*", WAITS, OPENS),
            row("trunkline_http_options_new", PROMPT, &["NULL"]),
            row("trunkline_http_options_from_json", PROMPT, OPTION),
            row("trunkline_http_options_free", FREES, NOTHING),
            row("trunkline_http_options_*", ONE_THREAD, OPTION),
            row("trunkline_listener_close", WAITS, OPENS),
            row("trunkline_listener_start_close", PROMPT, OPENS),
            row("trunkline_listener_closed", PROMPT, NOTHING),
            row("trunkline_listener_end", PROMPT, OPENS),
            row("trunkline_listener_url", PROMPT, NOTHING),
            row("trunkline_listener_free", FREES, NOTHING),
            row("trunkline_server_mount_http", WAITS, OPENS),
            row("trunkline_http_exchange_free", FREES, NOTHING),
            row("trunkline_http_*", PROMPT, REPORTS),
        ],
    },
    Chapter {
        name: "loops",
        title: "Loops",
        text: "A port runs the callbacks of its servers and clients, inside a blocking function or a loop.",
        rows: &[
            row("trunkline_port_new", PROMPT, &["NULL"]),
            row("trunkline_port_new_for_go", PROMPT, &["NULL"]),
            row("trunkline_dispatch", WAITS, &["NULL", "BLOCKING", "FORKED"]),
            row("trunkline_port_descriptor", PROMPT, NOTHING),
            row("trunkline_port_wake", SIGNAL_SAFE, &["NULL"]),
            row("trunkline_port_on_log", PROMPT, REGISTERS),
            row("trunkline_port_on_log_record", PROMPT, REGISTERS),
            row("trunkline_log_error", PROMPT, &["NULL", "INVALID_ARGUMENT"]),
            row("trunkline_port_on_telemetry", PROMPT, REGISTERS),
            row("trunkline_port_measurements", PROMPT, LOOKS_UP),
            row("trunkline_trace_context_set", ONE_THREAD, OPTION),
            row("trunkline_port_free", FREES, NOTHING),
        ],
    },
    Chapter {
        name: "client",
        title: "Clients",
        text: "Connect to a server: a program, a URL, one in this process, or over a custom transport.",
        rows: &[
            row("trunkline_client_connect_*", CONNECTS, CONNECTING),
            row("trunkline_client_info", PROMPT, REPORTS),
            row("trunkline_client_opened", PROMPT, NOTHING),
            row("trunkline_client_pid", PROMPT, NOTHING),
            row("trunkline_client_port", PROMPT, NOTHING),
            row("trunkline_client_closed", PROMPT, NOTHING),
            row("trunkline_client_end", PROMPT, CONNECTING),
            row("trunkline_client_close", WAITS, OPENS),
            row("trunkline_client_start_close", PROMPT, OPENS),
            row("trunkline_client_free", FREES, NOTHING),
        ],
    },
    Chapter {
        name: "client_options",
        title: "Client options",
        text: "For `trunkline_client_connect_*`: what the client is, how it connects, and what it handles.",
        rows: &[
            row("trunkline_client_options_new", PROMPT, &["NULL"]),
            row("trunkline_client_options_from_json", PROMPT, OPTION),
            row("trunkline_client_options_free", FREES, NOTHING),
            row("trunkline_client_options_*", ONE_THREAD, OPTION),
            row("trunkline_client_on_*", PROMPT, REGISTERS),
            row("trunkline_client_set_roots", PROMPT, REGISTERS),
        ],
    },
    Chapter {
        name: "requests",
        title: "Client requests",
        text: "One blocking function per request, and one that starts any request without blocking.",
        rows: &[
            row("trunkline_client_start_task", WAITS, REQUESTS),
            row("trunkline_client_next_*", WAITS, REQUESTS),
            row("trunkline_client_start_next_*", PROMPT, STARTS),
            row("trunkline_client_task_*", WAITS, REQUESTS),
            row("trunkline_client_close_task", PROMPT, REGISTERS),
            row("trunkline_client_start", PROMPT, STARTS),
            row("trunkline_client_start_task_*", PROMPT, STARTS),
            row("trunkline_client_unsubscribe", PROMPT, REGISTERS),
            row("trunkline_client_cancel", PROMPT, REGISTERS),
            row("trunkline_client_notify", PROMPT, STARTS),
            row("trunkline_client_as_server", PROMPT, REGISTERS),
            row("trunkline_client_*", WAITS, REQUESTS),
        ],
    },
    Chapter {
        name: "texts",
        title: "Strings and errors",
        text: "Strings created by the library, and the reasons for failures.",
        rows: &[
            row("trunkline_text_copy", PROMPT, OPTION),
            row("trunkline_text_free", FREES, NOTHING),
            row("trunkline_error_json", PROMPT, &["NULL"]),
            row("trunkline_error_free", FREES, NOTHING),
            row("trunkline_json_writer_new", PROMPT, &["NULL"]),
            row("trunkline_json_writer_free", FREES, NOTHING),
            row("trunkline_json_writer_*", ONE_THREAD, OPTION),
            row("trunkline_json_string", PROMPT, OPTION),
            row("trunkline_json_base64", PROMPT, OPTION),
            row("trunkline_json_get", PROMPT, READS),
            row("trunkline_json_get_text", PROMPT, READS),
            row("trunkline_json_get_number", PROMPT, READS),
            row("trunkline_json_get_int64", PROMPT, READS),
            row("trunkline_json_*", PROMPT, READS),
            row("trunkline_*", PROMPT, NOTHING),
        ],
    },
    Chapter {
        name: "plain",
        title: "Plain strings, and threads of a runtime",
        text: "For languages that cannot pass structs by value, and runtimes that serve calls themselves.",
        rows: &[
            row("trunkline_plain_str", PROMPT, NOTHING),
            row("trunkline_plain_text", PROMPT, NOTHING),
            row("trunkline_plain_version", PROMPT, NOTHING),
            row("trunkline_plain_server_new", PROMPT, OPTION),
            row("trunkline_plain_server_add", PROMPT, REGISTERS),
            row("trunkline_plain_listener_url", PROMPT, NOTHING),
            row("trunkline_plain_call_arguments", PROMPT, NOTHING),
            row("trunkline_plain_call_text", PROMPT, NOTHING),
            row("trunkline_plain_call_progress", PROMPT, REPORTS),
            row("trunkline_plain_call_log", PROMPT, REPORTS),
            row("trunkline_plain_call_return", PROMPT, ANSWERS),
            row("trunkline_plain_call_fail_tool", PROMPT, ANSWERS),
            row("trunkline_plain_client_connect", CONNECTS, CONNECTING),
            row("trunkline_plain_client_request", WAITS, REQUESTS),
            row("trunkline_plain_client_start", PROMPT, STARTS),
            row("trunkline_plain_dispatch_or_take", WAITS, &["NULL", "BLOCKING", "FORKED"]),
            row("trunkline_plain_stand_by", STANDS_BY, &["NULL", "BLOCKING", "FORKED"]),
            row("trunkline_plain_wake", PROMPT, &["NULL"]),
        ],
    },
];
