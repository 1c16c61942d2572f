//! Standard input and output as the wire of a server.
//!
//! The descriptors are moved aside. A stray `print`, a library or a child process of a handler can
//! then neither read the client's messages nor write into the replies (STD-02).

use crate::sync::Mutex;
use std::fs::File;
use std::io::{self, IsTerminal};

static STREAMS: Mutex<Streams> = Mutex::new(Streams::Free);

/// The standard streams of this process.
enum Streams {
    Free,
    Held(File, File),
    Served,
}

/// Redirects standard input and output like `take_stdio`, and holds them until that is called. Used
/// before code that runs before a server listens, such as its lifespan, because its output must not
/// reach the client.
///
/// # Errors
/// If standard input or output is closed.
pub fn hold_stdio() -> io::Result<()> {
    let mut streams = STREAMS.lock();
    if matches!(*streams, Streams::Free) {
        let (reader, writer) = take()?;
        *streams = Streams::Held(reader, writer);
    }
    Ok(())
}

/// Takes standard input (first) and standard output (second) of this process for the protocol.
/// Works once per process.
///
/// On Unix the files are new descriptors in blocking mode that child processes do not inherit.
/// Descriptor 0 becomes the null device. Descriptor 1 becomes standard error, where everything that
/// the program prints afterwards appears. Input that [`std::io::stdin`] has already buffered is
/// lost.
///
/// On Windows the files are handles that child processes do not inherit. The process's own standard
/// handles stay as they are, because replacing them is impossible without `unsafe`: a program that
/// prints to standard output there breaks its protocol.
///
/// # Errors
///
/// If they were taken before, or standard input or output is closed.
pub(in crate::transport) fn take_stdio() -> io::Result<(File, File)> {
    hold_stdio()?;
    let Streams::Held(reader, writer) = std::mem::replace(&mut *STREAMS.lock(), Streams::Served) else {
        return Err(io::Error::new(
            io::ErrorKind::AlreadyExists,
            "standard input and output already serve a connection; a process can serve only one over stdio",
        ));
    };
    if reader.is_terminal() {
        // Without this, a user who runs the server by hand would see nothing.
        tracing::warn!(
            target: "trunkline::server::stdio",
            "waiting for a client on standard input, which is a terminal; press Ctrl-C to stop"
        );
    }
    Ok((reader, writer))
}

#[cfg(unix)]
fn take() -> io::Result<(File, File)> {
    use io::Write;
    use std::os::fd::AsFd;

    let aside = |descriptor: std::os::fd::BorrowedFd<'_>, name: &str| {
        let file = descriptor.try_clone_to_owned().map(File::from).map_err(|error| closed(name, &error))?;
        // A host such as Node may have made it non-blocking. Kinds of files without such a mode
        // block anyway.
        let _ = rustix::io::ioctl_fionbio(&file, false);
        Ok::<_, io::Error>(file)
    };
    let reader = aside(io::stdin().as_fd(), "input")?;
    let writer = aside(io::stdout().as_fd(), "output")?;
    let null = File::options().read(true).write(true).open("/dev/null")?;

    rustix::stdio::dup2_stdin(&null)?;
    // Without a standard error, prints go to the null device.
    if rustix::stdio::dup2_stdout(io::stderr()).is_err()
        && let Err(error) = rustix::stdio::dup2_stdout(&null)
    {
        rustix::stdio::dup2_stdin(&reader)?;
        return Err(error.into());
    }
    // Earlier prints that Rust still buffers must not reach the client later.
    let _ = io::stdout().flush();
    Ok((reader, writer))
}

#[cfg(windows)]
fn take() -> io::Result<(File, File)> {
    use std::os::windows::io::AsHandle;

    let aside = |handle: std::os::windows::io::BorrowedHandle<'_>, name: &str| {
        handle.try_clone_to_owned().map(File::from).map_err(|error| closed(name, &error))
    };
    Ok((aside(io::stdin().as_handle(), "input")?, aside(io::stdout().as_handle(), "output")?))
}

/// Opens the null device on those of the standard streams that are closed, as programs in Rust do
/// when they start. Otherwise, the next socket or file becomes a standard stream, and is read,
/// written and redirected as such: a server would read its own bell.
pub fn open_closed_streams() {
    #[cfg(unix)]
    for stream in [rustix::stdio::stdin(), rustix::stdio::stdout(), rustix::stdio::stderr()] {
        use std::os::fd::IntoRawFd;

        // The lowest free descriptor is this one.
        if rustix::io::fcntl_getfd(stream).is_err()
            && let Ok(null) = File::options().read(true).write(true).open("/dev/null")
            && let Ok(inherited) = rustix::io::fcntl_setfd(&null, rustix::io::FdFlags::empty()).map(|()| null)
        {
            let _ = inherited.into_raw_fd();
        }
    }
}

fn closed(name: &str, error: &io::Error) -> io::Error {
    io::Error::new(
        error.kind(),
        format!(
            "standard {name} cannot be used ({error}); a stdio server is started by its client, with pipes for both"
        ),
    )
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader, Write};
    use std::process::{Command, Stdio};

    const CHILD: &str = "TRUNKLINE_TEST_TAKES_STDIO";

    /// Runs itself again as a child, whose standard input and output are taken.
    #[test]
    fn std_02_nothing_but_the_protocol_reaches_standard_output() {
        if std::env::var_os(CHILD).is_some() {
            return in_the_child();
        }
        let name = concat!(module_path!(), "::std_02_nothing_but_the_protocol_reaches_standard_output");
        let (_, name) = name.split_once("::").unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([name, "--exact", "--nocapture", "--test-threads=1"])
            .env(CHILD, "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(b"first\nsecond\n").unwrap();
        let output = child.wait_with_output().unwrap();
        let (stdout, stderr) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
        assert!(output.status.success(), "{stdout}\n{stderr}");
        // The test harness has printed its own lines before.
        let (_, protocol) = stdout.split_once("taken\n").expect(&stdout);
        assert_eq!(protocol, "got first\ngrandchild read 0 bytes\ngot second\n");
        for stray in ["a stray print", "a print of a grandchild", "buffered before", "printed by a lifespan"] {
            assert!(stderr.contains(stray), "{stderr}");
            assert!(!stdout.contains(stray), "{stdout}");
        }
    }

    fn in_the_child() {
        print!("buffered before");
        hold_stdio().unwrap();
        println!("printed by a lifespan");
        let (reader, mut writer) = take_stdio().unwrap();
        writer.write_all(b"taken\n").unwrap();
        let mut lines = BufReader::new(reader).lines();
        println!("a stray print");
        writeln!(writer, "got {}", lines.next().unwrap().unwrap()).unwrap();

        let script = "echo a print of a grandchild; exit $(head -c 99 | wc -c)";
        let status = Command::new("sh").args(["-c", script]).status().unwrap();
        writeln!(writer, "grandchild read {} bytes", status.code().unwrap()).unwrap();
        writeln!(writer, "got {}", lines.next().unwrap().unwrap()).unwrap();
        assert!(lines.next().is_none());

        let again = take_stdio().unwrap_err();
        assert!(again.to_string().contains("already"), "{again}");
    }
}
