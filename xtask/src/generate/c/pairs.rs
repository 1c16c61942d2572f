//! Requests of clients that are not operations: each as a function that blocks and as one that
//! starts it; and those that open and close streams.

use super::{BLOCKS, comment};

struct Pair {
    name: &'static str,
    doc: &'static str,
    /// The arguments in C, and the text about them.
    arguments: &'static str,
    about: &'static str,
    result: &'static str,
    /// The expressions of what a request has.
    target: &'static str,
    method: &'static str,
    params: &'static str,
}

const PAIRS: [Pair; 5] = [
    Pair {
        name: "request",
        doc: "Makes any request of the protocol.",
        arguments: "method: trunkline_str,\nparams: trunkline_str,\n",
        about: "`params` is JSON, or empty for none; ",
        result: "the peer's result as JSON, as it sent it",
        target: "client.handle",
        method: "text!(method)",
        params: "raw(\"params\", text!(params))?",
    },
    Pair {
        name: "next_change",
        doc: "Waits for the next change of a subscription (`trunkline_client_subscribe`).",
        arguments: "subscription: u64,\n",
        about: "",
        result: "the Change as JSON, `{\"kind\", \"uri\", \"task\"}`, or `null` when the subscription is over",
        target: "subscription",
        method: "NEXT",
        params: "None",
    },
    Pair {
        name: "next_state",
        doc: "Waits for the next state of a task (`trunkline_client_start_task`). States that follow fast on one another \
              may be passed over.",
        arguments: "task: u64,\n",
        about: "",
        result: "the Task as JSON, or `null` when the task is over",
        target: "task",
        method: "NEXT",
        params: "None",
    },
    Pair {
        name: "task_result",
        doc: "Waits for the result of a task (`trunkline_client_start_task`): for the timeout of `options`, or else the \
              longest time of the client's requests. `TRUNKLINE_TIMEOUT` if the task is not over: it goes on, and can be waited \
              for again. `TRUNKLINE_CANCELLED` if it was cancelled. The progress of `options` is that of a task that \
              `trunkline_client_start_task` started, where the revision has it for tasks.",
        arguments: "task: u64,\n",
        about: "",
        result: "the CallToolResult as JSON",
        target: "task",
        method: "RESULT",
        params: "None",
    },
    Pair {
        name: "task_respond",
        doc: "Answers the `inputRequests` of a task's state (2026-07-28), where the caller does so itself: \
              `trunkline_client_start_task` with `trunkline_request_options_set_manual_input`.",
        arguments: "task: u64,\nresponses: trunkline_str,\n",
        about: "`responses` is a JSON object of the answers by the keys of the requests; ",
        result: "`null`",
        target: "task",
        method: "RESPOND",
        params: "Some(required(\"responses\", text!(responses))?)",
    },
];

/// A request that opens a stream.
struct StreamOpening {
    name: &'static str,
    doc: &'static str,
    /// The parameters, and the number of the stream.
    params: &'static str,
    stream: &'static str,
    /// The reply, where the host gets it.
    reply: Option<(&'static str, &'static str)>,
    method: &'static str,
    close: &'static str,
    close_doc: &'static str,
}

const OPENINGS: [StreamOpening; 2] = [
    StreamOpening {
        name: "subscribe",
        doc: "Subscribes to changes at the server, on every revision. Blocks until the server has agreed. `filter` is a JSON \
              object: `{\"resources\": [uri], \"tools\": true, \"prompts\": true, \"resourceList\": true, \"tasks\": [id]}`. \
              `subscription` gets the number for `trunkline_client_next_change` and `trunkline_client_unsubscribe`.",
        params: "filter",
        stream: "subscription",
        reply: None,
        method: "SUBSCRIBE",
        close: "unsubscribe",
        close_doc: "Ends a subscription of this client. One that is over is not an error.",
    },
    StreamOpening {
        name: "start_task",
        doc: "Calls a tool as a task, on every revision that has tasks, or takes a task up again. Blocks until it is there. \
              `params` is a JSON object: `{\"name\": tool, \"arguments\": {}, \"ttlMs\": milliseconds}`, of which only the name is \
              required, or `{\"taskId\": id}`. `task` gets the number for `trunkline_client_next_state`, \
              `trunkline_client_task_result` and `trunkline_client_close_task`; `trunkline_client_cancel_task` takes the id. \
              `state` is the Task as JSON, or `null` where the server made no task of the call, whose result is there then; \
              it is yours: `trunkline_text_free`.",
        params: "params",
        stream: "task",
        reply: Some(("state", "trunkline_text")),
        method: "START_TASK",
        close: "close_task",
        close_doc: "Ends the polling for a task of this client, and leaves the task alone. One that is closed is not an error.",
    },
];

pub(super) fn render() -> String {
    let pairs = PAIRS.iter().flat_map(|pair| [blocking(pair), started(pair)]);
    let functions: String = pairs.chain(OPENINGS.iter().flat_map(|row| [opening(row), closing(row)])).collect();
    format!(
        "//! Requests of clients that are not operations, each as a function that blocks and as one that\n//! starts it; and \
         the streams of clients.\n\n\
         use std::ffi::c_void;\n\n\
         use trunkline_bridge::message::{{NEXT, RESPOND, RESULT, START_TASK, SUBSCRIBE}};\n\n\
         use crate::client::trunkline_client;\n\
         use crate::edge::failure::{{trunkline_error, trunkline_result}};\n\
         use crate::edge::ffi::{{guard, handle, out, out_or_null, text}};\n\
         use crate::edge::options::settled;\n\
         use crate::edge::text::{{Text, trunkline_str, trunkline_text}};\n\
         use crate::edge::user_data::{{UserData, trunkline_destructor}};\n\
         use crate::json::{{raw, required}};\n\
         use crate::requests::{{PreparedRequest, ReplyCallback, completion, trunkline_reply_callback, \
         trunkline_request_options}};\n\
         {functions}"
    )
}

fn blocking(Pair { name, doc, arguments, about, result, target, method, params }: &Pair) -> String {
    let doc = format!(
        "{doc} Blocks until the result is there {BLOCKS}\n\n{about}`options` may be NULL. `result` is {result}; it is \
         yours: `trunkline_text_free`."
    );
    format!(
        "\n{}#[unsafe(no_mangle)]\n\
         pub unsafe extern \"C\" fn trunkline_client_{name}(\n\
         client: *mut trunkline_client,\n{arguments}\
         options: *const trunkline_request_options,\n\
         result: *mut *mut trunkline_text,\n\
         error: *mut *mut trunkline_error,\n\
         ) -> trunkline_result {{\n\
         guard(error, || {{\n\
         let (client, result) = (handle!(client).connection.clone(), out!(result));\n\
         let request = PreparedRequest {{ method: {method}, params: {params}, all: false, options: settled!(options) }};\n\
         let (_, json) = request.run(&client.port, {target})?;\n\
         result.finish(Text::copy(&json).give())\n\
         }})\n}}\n",
        comment(&doc, ""),
    )
}

fn started(Pair { name, arguments, result, target, method, params, .. }: &Pair) -> String {
    // Any request is started by `trunkline_client_start`, those of streams by functions of their names.
    let function = if *name == "request" { "start".to_owned() } else { format!("start_{name}") };
    let doc = format!(
        "Starts `trunkline_client_{name}` without waiting: `callback` gets {result} inside `trunkline_dispatch` or another \
         blocking function of the port. `callback` and `ticket` may be NULL; otherwise `ticket` gets the number \
         for `trunkline_client_cancel`. `destructor` fires exactly once, also if this function fails."
    );
    format!(
        "\n{}#[unsafe(no_mangle)]\n\
         pub unsafe extern \"C\" fn trunkline_client_{function}(\n\
         client: *mut trunkline_client,\n{arguments}\
         options: *const trunkline_request_options,\n\
         callback: trunkline_reply_callback,\n\
         user_data: *mut c_void,\n\
         destructor: trunkline_destructor,\n\
         ticket: *mut u64,\n\
         error: *mut *mut trunkline_error,\n\
         ) -> trunkline_result {{\n\
         let user_data = UserData::new(user_data, destructor);\n\
         guard(error, || {{\n\
         let completion = completion(ReplyCallback::new(callback, user_data));\n\
         let client = handle!(client).connection.clone();\n\
         let request = PreparedRequest {{ method: {method}, params: {params}, all: false, options: settled!(options) }};\n\
         request.start(&client.port, {target}, client.handle, completion, out_or_null!(ticket))\n\
         }})\n}}\n",
        comment(&doc, ""),
    )
}

fn opening(StreamOpening { name, doc, params, stream, reply, method, .. }: &StreamOpening) -> String {
    let (mut argument, mut place, mut give) = (String::new(), String::new(), "Ok(())".to_owned());
    if let Some((reply, ty)) = reply {
        argument = format!("{reply}: *mut *mut {ty},\n");
        place = format!("let {reply} = out!({reply});\n");
        give = format!("{reply}.finish(Text::copy(&json).give())");
    }
    let json = if reply.is_some() { "json" } else { "_" };
    format!(
        "\n{}#[unsafe(no_mangle)]\n\
         pub unsafe extern \"C\" fn trunkline_client_{name}(\n\
         client: *mut trunkline_client,\n\
         {params}: trunkline_str,\n\
         options: *const trunkline_request_options,\n\
         {stream}: *mut u64,\n{argument}\
         error: *mut *mut trunkline_error,\n\
         ) -> trunkline_result {{\n\
         guard(error, || {{\n\
         let (client, {stream}) = (handle!(client).connection.clone(), out!({stream}));\n{place}\
         let params = Some(required(\"{params}\", text!({params}))?);\n\
         let request = PreparedRequest {{ method: {method}, params, all: false, options: settled!(options) }};\n\
         let (ticket, {json}) = request.run(&client.port, client.handle)?;\n\
         {stream}.put(ticket);\n{give}\n\
         }})\n}}\n",
        comment(doc, ""),
    )
}

fn closing(StreamOpening { close, close_doc, stream, .. }: &StreamOpening) -> String {
    format!(
        "\n{}#[unsafe(no_mangle)]\n\
         pub unsafe extern \"C\" fn trunkline_client_{close}(\n\
         client: *mut trunkline_client,\n\
         {stream}: u64,\n\
         error: *mut *mut trunkline_error,\n\
         ) -> trunkline_result {{\n\
         guard(error, || Ok(handle!(client).connection.port.core.cancel({stream}, \"\")?))\n}}\n",
        comment(close_doc, ""),
    )
}
