//! Command lines to copy: what repeats the last call, opens the page again, or reaches it.

use super::{
    inspector::Inspector,
    state::{ConnectionState, Era},
};
use crate::code;
use std::env;

/// Flags with values that may be secrets, and the character that ends the name in such a value.
const SECRETS: [(&str, char); 2] = [("--header", ':'), ("--env", '=')];

/// The command line of this program, without the secrets in it.
pub(super) fn of_this_program() -> String {
    of_words(env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()))
}

fn of_words(words: impl Iterator<Item = String>) -> String {
    let (mut line, mut secret) = ("trunkline".to_owned(), None);
    for word in words {
        let joined =
            SECRETS.iter().find_map(|(flag, end)| Some((flag, end, word.strip_prefix(flag)?.strip_prefix('=')?)));
        let shown = match (secret, joined) {
            (Some(end), _) => masked(&word, end),
            (None, Some((flag, end, value))) => format!("{flag}={}", masked(value, *end)),
            (None, None) => without_password(&word),
        };
        secret = SECRETS.iter().find(|(flag, _)| word == *flag).map(|(_, end)| *end);
        line += " ";
        line += &code::quoted(&shown);
    }
    line
}

fn masked(value: &str, end: char) -> String {
    match value.split_once(end) {
        // Placeholders are no secrets.
        Some((name, secret)) if !secret.trim().starts_with("${") => {
            let blank = if end == ':' { " " } else { "" };
            format!("{name}{end}{blank}…")
        }
        _ => value.to_owned(),
    }
}

/// `http://user:…@proxy:3128`, for the URL of a proxy or a server with a password.
fn without_password(word: &str) -> String {
    let masked = word.split_once("://").and_then(|(scheme, rest)| {
        let authority = rest.split(['/', '?', '#']).next()?;
        let (login, _) = authority.rsplit_once('@')?;
        let (user, _) = login.split_once(':')?;
        Some(format!("{scheme}://{user}:…{}", &rest[login.len()..]))
    });
    masked.unwrap_or_else(|| word.to_owned())
}

/// The command that repeats the last call of a tool.
pub(super) fn of_last_call(inspector: &Inspector) -> Option<String> {
    let (era, tool, arguments) = inspector.hub.state().last_call.clone()?;
    let line = code::line(&inspector.server, &inspector.flags, (&tool, &arguments)).ok()?;
    let has_both = inspector.hub.state().connection(Era::Modern).state == ConnectionState::Open;
    Some(match era {
        Era::Legacy if has_both => line.replacen("trunkline call", "trunkline call --era legacy", 1),
        _ => line,
    })
}

/// The command that brings the ports to the machine of a person who is logged in from there.
pub(super) fn forward(ports: &[u16]) -> Option<String> {
    let connection = env::var("SSH_CONNECTION").ok()?;
    let user = env::var("USER").map(|user| format!("{user}@")).unwrap_or_default();
    ssh(&connection, &user, ports)
}

fn ssh(connection: &str, user: &str, ports: &[u16]) -> Option<String> {
    let mut words = connection.split_whitespace().skip(2);
    let (host, ssh_port) = (words.next()?, words.next()?);
    let ssh_port = if ssh_port == "22" { String::new() } else { format!("-p {ssh_port} ") };
    let forwards: String = ports.iter().map(|port| format!("-L {port}:127.0.0.1:{port} ")).collect();
    Some(format!("ssh {forwards}{ssh_port}{user}{host}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_is_quoted_and_has_no_secrets() {
        let line = |words: &[&str]| of_words(words.iter().map(|word| (*word).to_owned()));
        assert_eq!(line(&["inspect", "--", "sh", "-c", "a 'b'"]), r"trunkline inspect -- sh -c 'a '\''b'\'''");
        let secret = line(&["inspect", "--header", "X-Key: s3cret", "--header=Y: s3cret", "--header", "Z: ${Z}", "u"]);
        assert_eq!(secret, "trunkline inspect --header 'X-Key: …' '--header=Y: …' --header 'Z: ${Z}' u");
        for (word, shown) in [
            ("--env=KEY=s3=cret", "--env=KEY=…"),
            ("--proxy=http://ada:s3:cret@proxy:3128", "--proxy=http://ada:…@proxy:3128"),
            ("https://ada:s3cret@a.example/mcp?x", "https://ada:…@a.example/mcp?x"),
            ("https://ada@a.example/b:c@d", "https://ada@a.example/b:c@d"),
        ] {
            assert_eq!(line(&[word]), format!("trunkline {}", code::quoted(shown)));
        }
        assert_eq!(line(&["--env", "KEY=s3cret", "--env", "A=${B}"]), "trunkline --env 'KEY=…' --env 'A=${B}'");
    }

    #[test]
    fn ports_are_forwarded_from_the_machine_that_was_logged_in_to() {
        let line = |connection| ssh(connection, "ada@", &[4000, 4001]);
        assert_eq!(
            line("1.2.3.4 5 6.7.8.9 22").unwrap(),
            "ssh -L 4000:127.0.0.1:4000 -L 4001:127.0.0.1:4001 ada@6.7.8.9"
        );
        assert!(line("1.2.3.4 5 6.7.8.9 2222").unwrap().ends_with(" -p 2222 ada@6.7.8.9"));
        assert_eq!(line(""), None);
    }
}
