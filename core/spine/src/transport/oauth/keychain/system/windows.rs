//! The Credential Manager of Windows.

use crate::transport::oauth::keychain::access::{Access, SERVICE};
use keyring_core::{Error, api::CredentialStoreApi as _};
use std::collections::HashMap;
use windows_native_keyring_store::Store;

pub(in crate::transport::oauth::keychain) fn access(account: &str, access: &Access) -> Result<Option<Vec<u8>>, String> {
    // The files do not follow their user to other machines either.
    let here = HashMap::from([("persistence", "Local")]);
    let entry = Store::new().and_then(|store| store.build(SERVICE, account, Some(&here)));
    let entry = entry.map_err(|error| error.to_string())?;
    match access {
        Access::Read => match entry.get_secret() {
            Ok(secret) => Ok(Some(secret)),
            Err(Error::NoEntry) => Ok(None),
            Err(error) => Err(error.to_string()),
        },
        Access::Write(key) => match entry.set_secret(key) {
            Ok(()) => Ok(None),
            Err(error) => Err(error.to_string()),
        },
    }
}
