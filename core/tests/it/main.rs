//! The core from outside: real processes, raw wires and scripted peers. One binary, so that it
//! links once.

#![allow(clippy::disallowed_types)]

mod apps;
mod axum;
mod client;
mod composition;
mod features;
#[cfg(unix)]
mod foreground;
#[cfg(target_os = "linux")]
mod held;
mod hooks;
mod hostile;
mod http;
mod http_auth;
mod http_client;
#[cfg(target_os = "linux")]
mod killed;
mod lifespan;
mod log;
mod memory;
mod mistakes;
mod offer;
mod patterns;
mod process;
mod rounds;
mod script;
mod skills;
mod stdio;
mod tasks;
#[cfg(feature = "opentelemetry")]
mod telemetry;
mod testing;
mod texts;
mod typed;
mod vectors;
mod wire;

/// Not a test by itself: this binary runs itself again with this test alone, in the role of a
/// server (see `process`).
#[test]
fn plays_a_role() {
    process::play(|role, file| match role.strip_prefix("script ") {
        Some(script) => script::play(script, &file),
        None if role == composition::ROLE => composition::serve(),
        None if role == features::ROLE => features::serve(file),
        #[cfg(unix)]
        None if foreground::ROLES.contains(&role) => foreground::serve(role, file),
        #[cfg(target_os = "linux")]
        None if role == killed::ROLE => killed::serve(file),
        #[cfg(target_os = "linux")]
        None if held::ROLES.contains(&role) => held::serve(role),
        None if rounds::ROLES.contains(&role) => rounds::serve(role),
        None if skills::ROLES.contains(&role) => skills::serve(role),
        None if role == apps::ROLE => apps::serve(),
        None if role == lifespan::ROLE => lifespan::serve(file),
        None if role == log::ROLE => log::serve(file),
        None if tasks::ROLES.contains(&role) => tasks::serve(role, file),
        None => offer::serve(role, file),
    });
}
