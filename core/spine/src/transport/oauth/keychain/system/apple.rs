//! The Keychain of macOS and iOS.

use crate::transport::oauth::keychain::access::{Access, SERVICE};
use security_framework::passwords::{PasswordOptions, generic_password, set_generic_password};

/// `errSecItemNotFound`.
const NOT_FOUND: i32 = -25_300;

pub(in crate::transport::oauth::keychain) fn access(account: &str, access: &Access) -> Result<Option<Vec<u8>>, String> {
    match access {
        Access::Read => match generic_password(PasswordOptions::new_generic_password(SERVICE, account)) {
            Ok(secret) => Ok(Some(secret)),
            Err(error) if error.code() == NOT_FOUND => Ok(None),
            Err(error) => Err(error.to_string()),
        },
        Access::Write(key) => match set_generic_password(SERVICE, account, key) {
            Ok(()) => Ok(None),
            Err(error) => Err(error.to_string()),
        },
    }
}
