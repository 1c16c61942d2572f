//! Registering the handlers of a client for requests of its server.

use super::comment;
use crate::generate::surface::{ChannelFunction, Field, HostOperation, Surface};

pub(super) fn render(surface: &Surface) -> String {
    let functions: String = surface
        .host
        .iter()
        .flat_map(|row| [of_options(row), if row.method.is_some() { of_client(row) } else { String::new() }])
        .chain(surface.channel.iter().map(of_channel))
        .collect();
    format!(
        "//! Handlers of clients for requests of their servers.\n\n\
         use std::ffi::c_void;\n\n\
         use crate::calls::{{CallCallback, trunkline_call_callback}};\n\
         use crate::client::trunkline_client;\n\
         use crate::edge::failure::{{trunkline_error, trunkline_result}};\n\
         use crate::edge::ffi::{{guard, handle}};\n\
         use crate::edge::options::set;\n\
         use crate::edge::user_data::{{UserData, trunkline_destructor}};\n\
         use crate::options::trunkline_client_options;\n\
         {functions}"
    )
}

fn of_options(HostOperation { name, doc, method, params, result }: &HostOperation) -> String {
    let (given, declared) = match method {
        Some(_) => (
            "the `params` of the request, of a group with the `serverName`,",
            " The capability is declared to servers.",
        ),
        None => (params.as_str(), ""),
    };
    let result = result.as_deref().unwrap_or("`{}`");
    registration(
        name,
        &format!(
            "{doc} `callback` gets {given} as JSON, and answers with {result} by \
         `trunkline_call_return_result`.{declared}"
        ),
    )
}

/// A function of a transport of the program's own.
fn of_channel(ChannelFunction { name, doc, params, result }: &ChannelFunction) -> String {
    let object = |fields: &[Field]| match fields.first() {
        Some(field) => format!("`{{\"{}\": text}}`", field.json),
        None => "`{}`".to_owned(),
    };
    let (given, answer) = (object(params), object(result));
    let none = if result.is_empty() { "" } else { ", or `{}`," };
    registration(
        name,
        &format!(
            "{doc} For `trunkline_client_connect_channel`. `callback` gets {given} as JSON, and answers with {answer}{none} by \
         `trunkline_call_return_result`, then or later. A failure ends the connection."
        ),
    )
}

fn registration(name: &str, doc: &str) -> String {
    let doc = format!(
        "{doc} `destructor` fires exactly once, when neither the options nor a client uses `user_data` any more."
    );
    format!(
        "\n{}#[unsafe(no_mangle)]\n\
         pub unsafe extern \"C\" fn trunkline_client_options_on_{name}(\n\
         options: *mut trunkline_client_options,\n\
         callback: trunkline_call_callback,\n\
         user_data: *mut c_void,\n\
         destructor: trunkline_destructor,\n\
         ) -> trunkline_result {{\n\
         let user_data = UserData::new(user_data, destructor);\n\
         set!(options, options.handlers.put(\"{name}\", CallCallback::required(callback, user_data)?))\n}}\n",
        comment(&doc, "")
    )
}

fn of_client(HostOperation { name, .. }: &HostOperation) -> String {
    let doc = format!(
        "As `trunkline_client_options_on_{name}`, of a client that is connected. In place of the handler before, if there \
         was one; otherwise `TRUNKLINE_INVALID_ARGUMENT` where the server's revision takes no further capabilities \
         (2025-11-25 and older)."
    );
    format!(
        "\n{}#[unsafe(no_mangle)]\n\
         pub unsafe extern \"C\" fn trunkline_client_on_{name}(\n\
         client: *mut trunkline_client,\n\
         callback: trunkline_call_callback,\n\
         user_data: *mut c_void,\n\
         destructor: trunkline_destructor,\n\
         error: *mut *mut trunkline_error,\n\
         ) -> trunkline_result {{\n\
         let user_data = UserData::new(user_data, destructor);\n\
         guard(error, || {{\n\
         let callback = CallCallback::required(callback, user_data)?;\n\
         handle!(client).connection.answer(\"{name}\", callback)\n}})\n}}\n",
        comment(&doc, "")
    )
}
