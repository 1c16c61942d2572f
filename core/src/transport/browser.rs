//! The browser of the user.

use std::{
    io,
    process::{Command, Stdio},
    thread,
};

/// Opens a URL that was checked to be http or https. No shell reads it (SEC-16).
pub(crate) fn open(url: &str) -> io::Result<()> {
    let mut command = if cfg!(target_os = "macos") {
        Command::new("open")
    } else if cfg!(windows) {
        let mut command = Command::new("rundll32");
        command.arg("url.dll,FileProtocolHandler");
        command
    } else {
        Command::new("xdg-open")
    };
    let mut child = command.arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    // Collects the process when it ends; some stay as long as the browser.
    thread::Builder::new().name("trunkline-browser".to_owned()).spawn(move || child.wait()).map(drop)
}
