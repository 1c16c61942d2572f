//! Requests of clients that are no operation: each as a function that blocks and as one that starts
//! it.

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

const PAIRS: [Pair; 2] = [
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
];

pub(super) fn render() -> String {
    let functions: String = PAIRS.iter().flat_map(|pair| [blocking(pair), started(pair)]).collect();
    format!(
        "//! Requests of clients that are no operation, each as a function that blocks and as one that starts\n//! it.\n\n\
         use std::ffi::c_void;\n\n\
         use trunkline_bridge::message::NEXT;\n\n\
         use crate::client::trunkline_client;\n\
         use crate::edge::failure::{{trunkline_error, trunkline_result}};\n\
         use crate::edge::ffi::{{guard, handle, out, out_or_null, text}};\n\
         use crate::edge::options::settled;\n\
         use crate::edge::text::{{Text, trunkline_str, trunkline_text}};\n\
         use crate::edge::user_data::{{UserData, trunkline_destructor}};\n\
         use crate::json::raw;\n\
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
    let doc = format!(
        "Starts `trunkline_client_{name}` without waiting: `callback` gets {result} inside `trunkline_dispatch` or another \
         blocking function of the port. `callback` and `ticket` may be NULL; otherwise `ticket` gets the number \
         for `trunkline_client_cancel`. `destructor` fires exactly once, also if this function fails."
    );
    format!(
        "\n{}#[unsafe(no_mangle)]\n\
         pub unsafe extern \"C\" fn trunkline_client_start_{name}(\n\
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
