//! Opening the user's browser.

#[cfg(unix)]
use std::os::unix::process::CommandExt as _;
use std::{
    io,
    process::{Command, Stdio},
    thread,
};
use tokio::sync::oneshot;

/// Environment variables that indicate a screen, or a program that opens pages elsewhere.
#[cfg(not(any(windows, target_os = "macos")))]
const SCREEN_VARIABLES: [&str; 4] = ["DISPLAY", "WAYLAND_DISPLAY", "BROWSER", "WSL_DISTRO_NAME"];
/// Indicates a session from another machine, whose user doesn't see this screen.
#[cfg(any(windows, target_os = "macos"))]
const REMOTE_VARIABLE: &str = "SSH_CONNECTION";

/// Opens a URL that has been checked to be http or https, without a shell (SEC-16). The receiver
/// gets the outcome when the launched program exits: an error if it found no browser. Some programs
/// run as long as the browser.
pub(crate) fn open(url: &str) -> io::Result<oneshot::Receiver<io::Result<()>>> {
    if !has_screen(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty())) {
        return Err(io::Error::other("there is no display"));
    }
    let browsers = std::env::var("BROWSER").unwrap_or_default();
    let mut started = start(command(url));
    for command in fallbacks(url, &browsers) {
        if !started.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
            break;
        }
        started = start(command);
    }
    started
}

fn start(mut command: Command) -> io::Result<oneshot::Receiver<io::Result<()>>> {
    let program = command.get_program().to_string_lossy().into_owned();
    // Signals of the terminal (Ctrl+C, a hangup) must not end a browser that this starts.
    #[cfg(unix)]
    command.process_group(0);
    let started = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let mut child = started.map_err(|error| io::Error::new(error.kind(), format!("{program}: {error}")))?;
    let (outcome, receiver) = oneshot::channel();
    let collect = move || {
        let ended = child.wait().and_then(|status| match status.success() {
            true => Ok(()),
            false => Err(io::Error::other(format!("{program} failed: {status}"))),
        });
        let _ = outcome.send(ended);
    };
    thread::Builder::new().name("trunkline-browser".to_owned()).spawn(collect)?;
    Ok(receiver)
}

/// Returns whether the user would see a browser opened by this process. Without a screen,
/// `xdg-open` falls back to terminal browsers, which hang or exit silently.
fn has_screen(has_variable: impl Fn(&str) -> bool) -> bool {
    #[cfg(any(windows, target_os = "macos"))]
    return !has_variable(REMOTE_VARIABLE);
    #[cfg(not(any(windows, target_os = "macos")))]
    SCREEN_VARIABLES.into_iter().any(has_variable)
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

/// The programs in `BROWSER`, for systems without `xdg-open`, which runs them itself: a list with
/// colons, each with its arguments, of which `%s` stands for the URL. Development containers set it
/// to a program that opens the page on the user's machine.
fn fallbacks(url: &str, browsers: &str) -> Vec<Command> {
    if cfg!(any(windows, target_os = "macos")) {
        return Vec::new();
    }
    let program = |browser: &str| {
        let mut words = browser.split_ascii_whitespace();
        let mut command = Command::new(words.next()?);
        command.args(words.map(|word| word.replace("%s", url)));
        if !browser.contains("%s") {
            command.arg(url);
        }
        Some(command)
    };
    browsers.split(':').filter_map(program).collect()
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

    #[cfg(all(unix, not(target_os = "macos")))]
    #[test]
    fn a_session_without_a_screen_has_no_browser() {
        assert!(!has_screen(|name| name == "SSH_CONNECTION"));
        for name in ["DISPLAY", "WAYLAND_DISPLAY", "BROWSER"] {
            assert!(has_screen(|given| given == name || given == "SSH_CONNECTION"), "{name}");
        }
    }

    #[cfg(all(unix, not(target_os = "macos")))]
    #[test]
    fn sec_16_the_programs_in_the_variable_get_the_url_as_one_argument() {
        let url = "https://a.example/?a=$(id)&b='; exit";
        let programs = fallbacks(url, "/helpers/browser.sh::elinks -remote openURL(%s) %s");
        let said = |command: &Command| {
            let arguments = command.get_args().map(|argument| argument.to_str().unwrap().to_owned());
            [command.get_program().to_str().unwrap().to_owned()].into_iter().chain(arguments).collect::<Vec<_>>()
        };
        let programs: Vec<_> = programs.iter().map(said).collect();
        let remote = format!("openURL({url})");
        assert_eq!(programs, [vec!["/helpers/browser.sh", url], vec!["elinks", "-remote", &remote, url]]);
        assert!(fallbacks(url, "").is_empty());
    }

    #[cfg(unix)]
    #[test]
    fn signals_of_the_terminal_do_not_reach_the_browser() {
        let mut command = Command::new("sh");
        // Fails unless the shell leads a process group.
        command.args(["-c", "kill -0 -$$"]);
        assert!(start(command).unwrap().blocking_recv().unwrap().is_ok());
    }

    #[cfg(unix)]
    #[test]
    fn a_program_that_finds_no_browser_is_an_error() {
        let program = |status: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", &format!("exit {status}")]);
            start(command).unwrap().blocking_recv().unwrap()
        };
        assert!(program("0").is_ok());
        let error = program("3").unwrap_err().to_string();
        assert!(error.starts_with("sh failed") && error.contains('3'), "{error}");
        assert!(start(Command::new("no-such-program")).unwrap_err().to_string().starts_with("no-such-program: "));
    }
}
