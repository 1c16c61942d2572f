//! The real binary, against servers over every transport.

#[cfg(unix)]
mod bridge;
#[cfg(unix)]
mod bridge_callers;
#[cfg(unix)]
mod bridge_ends;
mod calls;
#[cfg(unix)]
mod dev;
mod errors;
mod hostile;
#[cfg(unix)]
mod inspect;
#[cfg(unix)]
mod inspect_apps;
#[cfg(unix)]
mod inspect_bounds;
#[cfg(unix)]
mod inspect_calls;
#[cfg(unix)]
mod inspect_ends;
#[cfg(unix)]
mod inspect_lint;
#[cfg(unix)]
mod inspect_page;
#[cfg(unix)]
mod inspected;
mod install;
#[cfg(target_os = "linux")]
mod keychain;
mod listening;
mod lists;
#[cfg(unix)]
mod login_server;
#[cfg(unix)]
mod logins;
mod packages;
mod page;
mod program;
mod publishing;
#[cfg(unix)]
mod roles;
mod servers;
#[cfg(unix)]
mod sessions;
mod targets;
mod tasks;
mod thin;
