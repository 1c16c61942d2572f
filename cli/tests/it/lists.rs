//! `list`, `ping` and `completions`.

use crate::{
    program::{Folder, command, ran, trunkline},
    servers::{OverHttp, fixture},
};

#[test]
fn a_list_shows_what_a_server_offers_over_every_transport_and_in_both_eras() {
    let server = OverHttp::start();
    let program = fixture();
    for era in ["legacy", "modern"] {
        let revision = if era == "legacy" { "2025-11-25" } else { "2026-07-28" };
        for (words, transport) in
            [(vec!["--era", era, &server.url], "http"), (vec!["--era", era, "--", &program], "stdio")]
        {
            let ran = trunkline(&[&["list"], &words[..]].concat()).done();
            assert!(ran.stderr.contains("trunkline-fixture-rust"), "{ran:?}");
            assert!(ran.stderr.contains(&format!("· {revision} · {transport} · ")), "{ran:?}");
            let lines: Vec<&str> = ran.stdout.lines().collect();
            for title in ["tools (", "resources (", "templates (", "prompts ("] {
                assert!(lines.iter().any(|line| line.starts_with(title)), "{title} {ran:?}");
            }
            let echo = lines.iter().find(|line| line.starts_with("  echo(message: string) ")).unwrap();
            assert!(echo.ends_with("Gives the message back"), "{echo}");
        }
    }
}

#[test]
fn a_list_can_be_narrowed_and_be_json() {
    let program = fixture();
    let ran = trunkline(&["list", "tools", "add*", "--quiet", "--", &program]).done();
    assert_eq!(ran.stderr, "");
    assert_eq!(ran.stdout, "tools (1)\n  add_numbers(a: number, b: number)    Adds two numbers\n");
    let ran = trunkline(&["list", "tools", "add*", "-q", "--signatures", "--", &program]).done();
    assert_eq!(ran.stdout, "tools (1)\n  add_numbers(a: number, b: number)\n");
    let ran = trunkline(&["list", "prompts", "test_prompt_with_a*", "-q", "--", &program]).done();
    assert!(ran.stdout.starts_with("prompts (1)\n  test_prompt_with_arguments(arg1, arg2)"), "{ran:?}");
    let ran = trunkline(&["list", "tools", "echo", "--schema", "-q", "--", &program]).done();
    assert!(ran.stdout.contains("\"message\":{\"type\":\"string\"}"), "{ran:?}");
    let json = trunkline(&["list", "all", "--json", "--", &program]).done().json();
    assert_eq!(json["server"]["name"], "trunkline-fixture-rust");
    assert!(
        ["tools", "resources", "resourceTemplates", "prompts"]
            .iter()
            .all(|list| !json[*list].as_array().unwrap().is_empty())
    );
    let tool = json["tools"].as_array().unwrap().iter().find(|tool| tool["name"] == "add_numbers").unwrap();
    assert_eq!(tool["inputSchema"]["required"], serde_json::json!(["a", "b"]));
}

#[test]
fn a_ping_says_who_answered() {
    let server = OverHttp::start();
    let text = trunkline(&["ping", &server.url]).done().stdout;
    assert!(
        text.starts_with("trunkline-fixture-rust ") && text.contains("· 2026-07-28 · http · connected in "),
        "{text}"
    );
    let json = trunkline(&["ping", "--json", "--revision", "2025-06-18", "--", &fixture()]).done().json();
    assert_eq!(json["revision"], "2025-06-18");
    assert!(json["pingMs"].is_number() && json["connectMs"].is_number(), "{json}");
}

#[test]
fn only_commands_that_exist_are_in_the_help_and_in_the_completions() {
    let help = trunkline(&["--help"]).done().stdout;
    for name in ["list", "call", "read", "prompt", "complete", "listen", "ping", "completions"] {
        assert!(help.contains(&format!("\n  {name} ")), "{help}");
        assert_eq!(trunkline(&[name, "--help"]).code, Some(0));
    }
    for shell in ["bash", "zsh", "fish", "powershell"] {
        let script = trunkline(&["completions", shell]).done().stdout;
        assert!(script.contains("TRUNKLINE_COMPLETE") && script.contains("trunkline"), "{shell}: {script}");
    }
    let misspelt = trunkline(&["lst"]);
    assert_eq!(misspelt.code, Some(2));
    assert!(misspelt.stderr.contains("'list'"), "{misspelt:?}");
}

#[test]
fn short_help_has_the_flags_of_the_command_and_names_the_long_one() {
    let program = trunkline(&["-h"]).done().stdout;
    let names = program.split("Commands:\n").nth(1).unwrap().lines().map_while(|line| line.split_whitespace().next());
    let names: Vec<_> = names.filter(|name| *name != "help").collect();
    assert!(names.contains(&"bridge") && names.contains(&"token"), "{program}");
    let mut shortened = 0;
    for name in names {
        let (short, long) = (trunkline(&[name, "-h"]).done().stdout, trunkline(&[name, "--help"]).done().stdout);
        for heading in ["Connection (", "Login at the server"] {
            assert!(!short.contains(heading), "{name}: {short}");
        }
        if long.contains("--connect-timeout") {
            shortened += 1;
            assert!(short.contains("(see more with '--help')"), "{name}: {short}");
            assert!(long.contains("Login at the server") && long.contains("--client-id"), "{name}: {long}");
        }
    }
    assert!(shortened > 10, "{shortened}");
    let call = trunkline(&["call", "-h"]).done().stdout;
    assert!(call.contains("--dry-run") && call.contains("city=Oslo"), "{call}");
}

/// The words that a shell would offer for the last one of a line; after a blank, without the flags.
fn offered(home: &Folder, words: &[&str]) -> Vec<String> {
    let mut program = command(&home.path);
    program.env("TRUNKLINE_COMPLETE", "fish").args(["--", "trunkline"]).args(words);
    let lines = ran(&mut program).done().stdout;
    let is_shown = |word: &&str| !words.ends_with(&[""]) || !word.starts_with('-');
    let offered = lines.lines().map(|line| line.split('\t').next().unwrap_or_default());
    offered.filter(is_shown).map(str::to_owned).collect()
}

#[test]
fn a_shell_completes_servers_and_the_tools_that_were_listed() {
    let (home, server) = (Folder::new(), OverHttp::start());
    home.write(".cursor/mcp.json", r#"{"mcpServers": {"notes": {"url": "https://notes.example/mcp"}}}"#);
    assert_eq!(offered(&home, &["call", "no"]), ["notes"]);
    assert_eq!(offered(&home, &["li"]), ["list", "listen"]);
    let flags = offered(&home, &["call", "--bea"]);
    assert_eq!(flags, ["--bearer-env"]);
    let url = &*server.url;
    assert_eq!(offered(&home, &["call", url, "add"]), [""; 0], "nothing was listed");
    ran(command(&home.path).args(["list", url, "tools", "nothing*"])).done();
    assert_eq!(offered(&home, &["call", url, "add"]), ["add_numbers"]);
    assert_eq!(offered(&home, &["call", "--timeout", "5s", url, "add_numbers", ""]), ["a=", "b="]);
    assert_eq!(offered(&home, &["call", url, "add_numbers", "a=1", ""]), ["b="]);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let folder = home.path.join(".cache/trunkline/lists");
        let file = std::fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path();
        let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&folder), mode(&file)), (0o700, 0o600));
        let old = std::time::SystemTime::now() - std::time::Duration::from_secs(2 * 3600);
        std::fs::File::options().write(true).open(&file).unwrap().set_modified(old).unwrap();
    }
    #[cfg(unix)]
    assert_eq!(offered(&home, &["call", url, "add"]), [""; 0], "the list is old");
}

#[test]
fn flags_may_be_variables() {
    let home = Folder::new();
    let mut program = command(&home.path);
    program.args(["ping", "--json", "--", &fixture()]).env("TRUNKLINE_REVISION", "2025-03-26");
    assert_eq!(ran(&mut program).done().json()["revision"], "2025-03-26");
}
