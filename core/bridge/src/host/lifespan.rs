//! The lifespan of a server, which the host opens and closes.

use crate::{
    BridgeError, Lane, PortState,
    host::function::Host,
    message::{CLOSE, OPEN},
    register,
    state::entries::HostTarget,
};
use std::sync::Arc;
use trunkline::{
    bridge_support::LifespanFunctions,
    protocol::{RawJson, RpcError},
    runtime::BoxedTask,
    server::{Server, ToolError},
};

/// Sets the lifespan of a server. Returns its handle.
pub(crate) fn register(state: &Arc<PortState>, server: Server, lane: Lane) -> Result<u64, BridgeError> {
    let target = HostTarget::new(&state.queue, lane);
    // Nobody but the host sees its failures.
    let host = Host::new(state).as_private();
    let handle = register::enter(state, server.clone(), "lifespan", &target, false)?;
    host.set_handle(handle);
    server.set_lifespan(functions(host, target)).map_err(|problem| {
        let unused = state.tables.lock().features.remove(handle);
        drop(unused);
        BridgeError::invalid(problem)
    })?;
    Ok(handle)
}

fn functions(host: Host, target: Arc<HostTarget>) -> LifespanFunctions {
    let call = move |name: &'static str| -> BoxedTask<Result<RawJson, RpcError>> {
        host.call(0, name, target.lane, RawJson::empty_object())
    };
    let closing = call.clone();
    LifespanFunctions::new(
        move || {
            let opened = call(OPEN);
            async move { opened.await.map(drop).map_err(|error| ToolError::new(error.message)) }
        },
        move |_| {
            let closed = closing(CLOSE);
            async move {
                if let Err(error) = closed.await {
                    tracing::error!(
                        target: "trunkline::server::lifespan",
                        error = error.message,
                        "the lifespan of the server could not be closed"
                    );
                }
            }
        },
    )
}
