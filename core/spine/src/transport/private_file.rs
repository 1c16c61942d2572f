//! Files that only their user can access, because they hold secrets.

use std::fs::OpenOptions;

/// Options for opening such a file.
pub(super) fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}
