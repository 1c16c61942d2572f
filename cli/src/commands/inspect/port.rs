//! The port of the page, and who has it.

use crate::failure::Failure;
use std::io::{self, ErrorKind};
use tokio::net::TcpListener;

/// Listens on this machine only.
pub(super) async fn listen(port: u16) -> Result<(TcpListener, u16), Failure> {
    let bound = async {
        let listener = TcpListener::bind(("127.0.0.1", port)).await?;
        let port = listener.local_addr()?.port();
        io::Result::Ok((listener, port))
    };
    bound.await.map_err(|error| match error.kind() {
        ErrorKind::AddrInUse => {
            let owner = owner(port).map(|owner| format!(" by {owner}")).unwrap_or_default();
            Failure::usage(format!("--port: {port} is taken{owner}")).hint("choose another one, or leave it out")
        }
        _ => Failure::usage(format!("--port: {port} cannot be used: {error}")).hint("leave it out, for a free one"),
    })
}

/// The program that listens on a port of this machine, if the system says it.
#[cfg(target_os = "linux")]
fn owner(port: u16) -> Option<String> {
    use std::{fs, path::Path};
    /// The state of a socket that listens.
    const LISTENING: &str = "0A";

    let inode = ["/proc/net/tcp", "/proc/net/tcp6"].into_iter().find_map(|table| {
        let table = fs::read_to_string(table).ok()?;
        table.lines().skip(1).find_map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let (address, state, inode) = (words.get(1)?, words.get(3)?, words.get(9)?);
            let number = u16::from_str_radix(address.rsplit_once(':')?.1, 16).ok()?;
            (number == port && *state == LISTENING).then(|| format!("socket:[{inode}]"))
        })
    })?;
    let has_it = |process: &Path| {
        let files = fs::read_dir(process.join("fd")).ok()?;
        let mut targets = files.flatten().filter_map(|file| fs::read_link(file.path()).ok());
        targets.any(|target| target.as_os_str() == &*inode).then_some(())
    };
    fs::read_dir("/proc").ok()?.flatten().find_map(|process| {
        let id: u32 = process.file_name().to_str()?.parse().ok()?;
        has_it(&process.path())?;
        let name = fs::read_to_string(process.path().join("comm")).ok()?;
        Some(format!("{} (process {id})", name.trim()))
    })
}

#[cfg(not(target_os = "linux"))]
fn owner(_port: u16) -> Option<String> {
    None
}
