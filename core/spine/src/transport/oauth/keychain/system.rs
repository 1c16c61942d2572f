//! The keychain of this system: one secret for each account, which is a folder.

#[cfg(target_vendor = "apple")]
mod apple;
#[cfg(target_os = "linux")]
mod secret_service;
#[cfg(windows)]
mod windows;

#[cfg(target_vendor = "apple")]
pub(super) use apple::access;
#[cfg(target_os = "linux")]
pub(super) use secret_service::access;
#[cfg(windows)]
pub(super) use windows::access;

#[cfg(not(any(windows, target_os = "linux", target_vendor = "apple")))]
pub(super) fn access(_: &str, _: &super::access::Access) -> Result<Option<Vec<u8>>, String> {
    Err("there is none that this library knows on this system".to_owned())
}
