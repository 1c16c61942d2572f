//! The browser of the user.

use std::{
    io,
    process::{Command, Stdio},
    thread,
};

/// Opens a URL that was checked to be http or https. No shell reads it (SEC-16).
pub(crate) fn open(url: &str) -> io::Result<()> {
    let mut child = command(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    // Collects the process when it ends; some stay as long as the browser.
    thread::Builder::new().name("trunkline-browser".to_owned()).spawn(move || child.wait()).map(drop)
}

fn command(url: &str) -> Command {
    let mut command = if cfg!(target_os = "macos") {
        Command::new("open")
    } else if cfg!(windows) {
        let mut command = Command::new("rundll32");
        command.arg("url.dll,FileProtocolHandler");
        command
    } else {
        Command::new("xdg-open")
    };
    command.arg(url);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sec_16_a_url_is_one_argument_of_a_program_that_is_not_a_shell() {
        let url = "https://a.example/?a=$(id)&b='; exit";
        let command = command(url);
        assert_eq!(command.get_args().last().unwrap(), url);
        assert!(["open", "rundll32", "xdg-open"].into_iter().any(|program| command.get_program() == program));
    }
}
