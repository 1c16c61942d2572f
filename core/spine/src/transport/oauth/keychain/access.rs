//! An access to the keychain of the system.

use super::sealed::KEY_LENGTH;

/// The name of this program in the keychain.
#[cfg(any(windows, target_vendor = "apple"))]
pub(super) const SERVICE: &str = "trunkline";

/// Reads the secret of an account, or writes it.
pub(super) enum Access {
    Read,
    Write([u8; KEY_LENGTH]),
}
