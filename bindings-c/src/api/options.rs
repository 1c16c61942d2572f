//! Options of servers, HTTP listeners and clients that are set together or exist only in C;
//! `generated/options.rs` has the others.

use std::ffi::c_void;
use std::sync::Arc;

use crate::edge::prelude::*;
use crate::generated::options::LIMITS;
use crate::json::parsed;
use crate::options::{trunkline_client_options, trunkline_http_options, trunkline_server_options};
use crate::requests::trunkline_request_options;
use crate::store::{self, trunkline_store};

/// A `trunkline_limit` as C may pass it: any number.
pub type trunkline_limit_number = u32;

/// Sets a limit.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_server_options_set_limit(
    options: *mut trunkline_server_options,
    limit: trunkline_limit_number,
    value: u64,
) -> trunkline_result {
    set!(options, {
        let name = (limit as usize).checked_sub(1).and_then(|index| LIMITS.get(index)).filter(|name| !name.is_empty());
        let name = name.ok_or_else(|| Failure::invalid("the argument `limit` is not a trunkline_limit"))?;
        options.given.put(name, value);
    })
}

/// Keeps the server's state in a custom store instead of a URL
/// (`trunkline_server_options_set_store`). All functions are required; they are copied, and run
/// where callbacks run. A program that blocks elsewhere therefore delays calls that need its store,
/// which are refused as busy after `TRUNKLINE_LIMIT_STORE_DEADLINE_MS`. `destructor` is called
/// exactly once, when neither the options nor a server uses `user_data`; also if this function
/// fails.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_server_options_set_own_store(
    options: *mut trunkline_server_options,
    store: *const trunkline_store,
    user_data: *mut c_void,
    destructor: trunkline_destructor,
) -> trunkline_result {
    let user_data = UserData::new(user_data, destructor);
    set!(options, options.store = Some(store::functions(handle!(store), user_data)?))
}

/// Sets where clients of HTTP+SSE (2024-11-05) open their stream and where they post. Default
/// "/sse" and "/messages"; an empty `stream` disables HTTP+SSE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_http_options_set_sse(
    options: *mut trunkline_http_options,
    stream: trunkline_str,
    messages: trunkline_str,
) -> trunkline_result {
    set!(options, {
        let (stream, messages) = (text!(stream), text!(messages));
        if stream.is_empty() {
            options.given.put("sse", false);
        } else {
            options.given.put("sse", stream);
            options.given.put("messages", messages);
        }
    })
}

/// Requires an access token: a JSON object such as `{"resource": "https://mcp.example/mcp",
/// "issuer": "https://auth.example", "requiredScopes": ["mcp"]}`. `resource` is the public URL of
/// the endpoint, for which tokens must be issued. The other members: `authorizationServers`,
/// `audience`, `jwks`, `jwksUri`, `algorithms`, `strictType`, `scopes`, `implies`, `dpop` ("off",
/// "optional", "required"), `dpopAlgorithms`, `dpopNonce`, `dpopProofs`, `publicUrl`, `metadata`,
/// and `verifier`: the registration of a verifier that replaces the built-in check of JWTs
/// (`trunkline_server_add`). Calls have the identity at "/auth" (`trunkline_call_fact`).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_http_options_set_auth(
    options: *mut trunkline_http_options,
    auth: trunkline_str,
) -> trunkline_result {
    set!(options, options.given.put("auth", parsed("auth", text!(auth))?))
}

/// Authorizes the client over HTTP with OAuth 2.1: `auth` is a JSON object of OAuthOptions, `{}` to
/// ask the server and open the browser, or `{"token": …}` for a token that you already have. Its
/// functions are set with `trunkline_client_options_on_authorize` and its siblings.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_client_options_set_auth(
    options: *mut trunkline_client_options,
    auth: trunkline_str,
) -> trunkline_result {
    set!(options, options.auth = Some(parsed("auth", text!(auth))?))
}

/// Sets the name and version of the client.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_client_options_set_info(
    options: *mut trunkline_client_options,
    name: trunkline_str,
    version: trunkline_str,
) -> trunkline_result {
    set!(options, {
        let (name, version) = (text!(name), text!(version));
        options.given.put("info", serde_json::json!({"name": name, "version": version}));
    })
}

/// Makes `trunkline_client_connect_*` return immediately, for programs with their own loop.
/// Requests wait for the connection; if connecting fails, they fail, and `trunkline_client_closed`
/// reports it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_client_options_set_background(
    options: *mut trunkline_client_options,
    background: bool,
) -> trunkline_result {
    set!(options, options.background = background)
}

/// Sets data that follows the request to the handlers of an in-memory server, which read it with
/// `trunkline_call_exchange_data`: for example, the user for whom a program calls its own server.
/// Servers in other processes do not receive it. `destructor` is called when neither the options
/// nor a request nor a call uses the data; also if the function fails.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_request_options_set_user_data(
    options: *mut trunkline_request_options,
    user_data: *mut c_void,
    destructor: trunkline_destructor,
) -> trunkline_result {
    let user_data = UserData::new(user_data, destructor);
    set!(options, options.user_data = Some(Arc::new(user_data)))
}
