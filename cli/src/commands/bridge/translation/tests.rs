//! Each flag of another bridge, with its effect or the message that refuses it.

use super::*;
use clap::Parser;

#[derive(Parser)]
struct Words {
    #[command(flatten)]
    bridge: Bridge,
}

/// The bridge after the words of another one, and the notes.
fn read(words: &str) -> Result<(Bridge, Vec<String>), String> {
    let words = shlex::split(words).unwrap();
    let mut bridge = Words::try_parse_from(words).map_err(|error| error.to_string())?.bridge;
    let text = |failure: Failure| failure.lines().into_iter().map(|(_, line)| line).collect::<Vec<_>>().join("\n");
    let notes = bridge.translate().map_err(text)?;
    Ok((bridge, notes))
}

type Holds = fn(&Bridge) -> bool;

/// Checks that each line has its effect, and no notes.
fn check(rows: &[(&str, Holds)]) {
    for (line, holds) in rows {
        let (bridge, notes) = read(line).unwrap_or_else(|error| panic!("{line}: {error}"));
        assert!(holds(&bridge), "{line}");
        assert_eq!(notes, [""; 0], "{line}");
    }
}

/// Checks that each line is accepted with a note that has this part.
fn check_notes(rows: &[(&str, &str)]) {
    for (line, part) in rows {
        let (_, notes) = read(line).unwrap_or_else(|error| panic!("{line}: {error}"));
        assert!(notes.len() == 1 && notes[0].contains(part), "{line}: {notes:?}");
    }
}

/// Checks that each line is refused with this part of a message.
fn check_refused(rows: &[(&str, &str)]) {
    for (line, part) in rows {
        let failure = read(line).err().unwrap_or_else(|| panic!("{line} is accepted"));
        assert!(failure.contains(part), "{line}: {failure}");
    }
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[test]
fn flags_of_supergateway() {
    check(&[
        ("x --stdio 'npx -y s /tmp'", |it| it.connection.command_line.as_deref() == Some("npx -y s /tmp")),
        ("x --stdio s", |it| it.listening.listen.as_deref() == Some("127.0.0.1:8000")),
        ("x --stdio s --port 9000", |it| it.listening.listen.as_deref() == Some("127.0.0.1:9000")),
        ("x --stdio s --outputTransport streamableHttp --stateful", |it| it.listening.listen.is_some()),
        ("x --stdio s --outputTransport stdio", |it| it.listening.listen.is_none()),
        ("x --sse https://x/sse", |it| it.words == ["https://x/sse"] && it.connection.transport == Transport::Sse),
        ("x --sse https://x/sse", |it| it.listening.listen.is_none()),
        ("x --streamableHttp https://x/mcp", |it| it.words == ["https://x/mcp"] && it.listening.listen.is_none()),
        ("x --streamableHttp https://x --output-transport sse", |it| it.listening.listen.is_some()),
        ("x --stdio s --ssePath /s", |it| it.listening.sse_path == "/s"),
        ("x --stdio s --messagePath /m", |it| it.listening.message_path == "/m"),
        ("x --stdio s --streamableHttpPath /p", |it| it.listening.path == "/p"),
        ("x --stdio s --sessionTimeout 60000", |it| it.listening.idle == seconds(60)),
        ("x --stdio s --healthEndpoint /healthz --healthEndpoint /up", |it| {
            it.listening.health_paths == ["/healthz", "/up"]
        }),
        ("x --stdio s --cors", |it| it.listening.origins == ["*"]),
        ("x --stdio s --cors https://a https://b", |it| it.listening.origins == ["https://a", "https://b"]),
        ("x --stdio s --header 'X: y'", |it| it.connection.headers == ["X: y"]),
        ("x --stdio s --logLevel debug", |it| it.log == Some(Level::Debug)),
        ("x --stdio s --logLevel info", |it| it.log == Some(Level::Info)),
        ("x --stdio s --logLevel none", |it| it.log == Some(Level::None)),
        ("x --stdio s --protocolVersion 2025-06-18", |it| it.connection.revision.as_deref() == Some("2025-06-18")),
        ("x --stdio s --stateless", |it| it.listening.stateless),
    ]);
    check_notes(&[
        ("x --stdio s --baseUrl https://x", "clients get paths"),
        ("x --sse https://x/sse --oauth2Bearer t", "--bearer-env VARIABLE"),
    ]);
    check_refused(&[
        ("x --stdio 'a && b'", "-- sh -c 'a && b'"),
        ("x --stdio \"it's a | b\"", r"-- sh -c 'it'\''s a | b'"),
        ("x --stdio a --outputTransport ws", "no revision"),
        ("x --stdio a --outputTransport tcp", "streamableHttp, sse or stdio"),
        ("x --stdio a --cors '/example\\.com$/'", "name each origin"),
    ]);
    let (bridge, _) = read("x --sse https://x/sse --oauth2Bearer t").unwrap();
    assert_eq!(bridge.connection.headers, ["Authorization: Bearer t"]);
}

#[test]
fn flags_of_mcp_proxy_of_npm() {
    check(&[
        ("x --port 8080 -- node s.js", |it| {
            it.listening.listen.as_deref() == Some("127.0.0.1:8080") && it.command == ["node", "s.js"]
        }),
        ("x --port 1 --host ::1 -- s", |it| it.listening.listen.as_deref() == Some("[::1]:1")),
        ("x --port 1 --streamEndpoint /p --sseEndpoint /s -- s", |it| {
            (&*it.listening.path, &*it.listening.sse_path) == ("/p", "/s")
        }),
        ("x --port 1 --server sse --endpoint /e -- s", |it| it.listening.sse_path == "/e"),
        ("x --port 1 --server stream --endpoint /e -- s", |it| it.listening.path == "/e"),
        ("x --port 1 --stateless -- s", |it| it.listening.stateless),
        ("x --port 1 --upstreamProtocol auto -- s", |it| it.connection.era == Era::Auto),
        ("x --port 1 --upstreamProtocol legacy -- s", |it| it.connection.era == Era::Legacy),
        ("x --port 1 --upstream-protocol modern -- s", |it| it.connection.era == Era::Modern),
        ("x --port 1 --connectionTimeout 9000 -- s", |it| it.connection.connect_timeout == seconds(9)),
        ("x --port 1 --requestTimeout 9000 -- s", |it| it.connection.timeout == seconds(9)),
        ("x --port 1 --sessionIdleTimeout 9000 -- s", |it| it.listening.idle == seconds(9)),
        ("x --port 1 --sessionIdleTimeout 0 -- s", |it| it.listening.idle == FOREVER),
        ("x --port 1 --eventStoreMaxEvents 7 -- s", |it| it.listening.replay_events == Some(7)),
        ("x --port 1 --no-eventStore -- s", |it| it.listening.replay_events == Some(0)),
        ("x --port 1 --eventStore --modern -- s", |it| it.listening.replay_events.is_none()),
        ("x --port 1 --debug -- s", |it| it.log == Some(Level::Debug)),
    ]);
    check_notes(&[
        ("x --port 1 --maxBodySize 1 -- s", "64 MiB"),
        ("x --port 1 --keepAliveTimeout 1 -- s", "--idle"),
        ("x --port 1 --gracefulShutdownTimeout 1 -- s", "--idle"),
        ("x --port 1 --corsAddAllowedHeader X-A -- s", "all headers"),
    ]);
    check_refused(&[
        ("x --port 1 --apiKey k -- s", "trunkline token new"),
        ("x --port 1 --shell -- s", "-- sh -c 'COMMAND'"),
        ("x --port 1 --no-modern -- s", "leave it out"),
        ("x --port 1 --tunnel -- s", "--tokens FILE"),
        ("x --port 1 --tunnelSubdomain x -- s", "--tokens FILE"),
        ("x --port 1 --sslCert c --sslKey k -- s", "a proxy that has the certificate"),
        ("x --port 1 --sslCa c -- s", "a proxy that has the certificate"),
        ("x --port 1 --upstreamProtocol new -- s", "legacy"),
    ]);
}

#[test]
fn flags_of_mcp_proxy_of_pypi() {
    check(&[
        ("x https://x/mcp --transport streamablehttp", |it| it.connection.transport == Transport::Auto),
        ("x https://x/sse --transport sse", |it| it.connection.transport == Transport::Sse),
        ("x -H X-A b --headers X-B 'c d' https://x/", |it| {
            it.connection.headers == ["X-A: b", "X-B: c d"] && it.words == ["https://x/"]
        }),
        ("x --port 1 -e A b -e C 'd e' -- s", |it| it.connection.variables == ["A=b", "C=d e"]),
        ("x --port 1 --pass-environment -- s", |it| it.connection.inherit_env),
        ("x --port 1 --no-pass-environment --no-debug --no-stateless -- s", |it| {
            !it.connection.inherit_env && !it.listening.stateless && it.log.is_none()
        }),
        ("x --port 1 --cwd /tmp -- s", |it| it.connection.cwd.as_deref() == Some("/tmp".as_ref())),
        ("x --port 1 --log-level DEBUG -- s", |it| it.log == Some(Level::Debug)),
        ("x --port 1 --log-level WARNING -- s", |it| it.log == Some(Level::Warn)),
        ("x --port 1 --log-level ERROR -- s", |it| it.log == Some(Level::Error)),
        ("x --port 1 --log-level CRITICAL -- s", |it| it.log == Some(Level::None)),
        ("x --sse-port 1 --sse-host 127.0.0.2 -- s", |it| it.listening.listen.as_deref() == Some("127.0.0.2:1")),
        ("x --port 1 --allow-origin=* -- s", |it| it.listening.origins == ["*"]),
        ("x https://x/ --verify-ssl", |it| it.connection.ca.is_none()),
        ("x https://x/ --verify-ssl=true", |it| it.connection.ca.is_none()),
        ("x https://x/ --verify-ssl /ca.pem", |it| it.connection.ca.as_deref() == Some("/ca.pem".as_ref())),
    ]);
    check_notes(&[
        ("x https://x/ --client-id c --client-secret s --token-url https://l/t", "--client-secret-env VARIABLE"),
        ("x https://x/ --username ada --password p", "--header"),
        ("x --port 1 --expose-header X-A -- s", "read those of the protocol"),
    ]);
    check_refused(&[
        ("x https://x/ --no-verify-ssl", "--ca FILE"),
        ("x https://x/ --verify-ssl=false", "--ca FILE"),
        ("x https://x/ --username ada --password p --digest", "--bearer-env"),
        ("x https://x/ --username ada", "--password"),
        ("x --named-server a 'uvx a' --port 1", "start one for each"),
        ("x --named-server-config f.json --port 1", "start one for each"),
    ]);
    let (bridge, _) = read("x https://x/ --client-id c --client-secret s --token-url https://l/t").unwrap();
    let login = &bridge.connection.login;
    assert_eq!((login.as_client, login.token_endpoint.as_deref()), (true, Some("https://l/t")));
    assert_eq!((login.client_id.as_deref(), login.client_secret.as_deref()), (Some("c"), Some("s")));
    let (bridge, _) = read("x https://x/ --username ada --password p").unwrap();
    assert_eq!(bridge.connection.headers, ["Authorization: Basic YWRhOnA="]);
}

#[test]
fn flags_of_mcp_remote() {
    check(&[
        ("x https://x/sse 9696", |it| it.words == ["https://x/sse", "9696"]),
        ("x https://x/ --header X:y --header-file f", |it| {
            it.connection.headers == ["X:y"] && it.connection.header_file.is_some()
        }),
        ("x http://x/ --allow-http", |it| it.connection.allow_http),
        ("x https://x/ --transport sse-only", |it| it.connection.transport == Transport::Sse),
        ("x https://x/ --transport sse-first", |it| it.connection.transport == Transport::Sse),
        ("x https://x/ --transport http-only", |it| it.connection.transport == Transport::Auto),
        ("x https://x/ --transport http-first", |it| it.connection.transport == Transport::Auto),
        ("x https://x/ --protocol auto", |it| it.connection.era == Era::Auto),
        ("x https://x/ --ignore-tool 'delete*' --ignore-tool b", |it| it.tool_deny == ["delete*", "b"]),
        ("x https://x/ --debug", |it| it.log == Some(Level::Debug)),
        ("x https://x/ --silent", |it| it.log == Some(Level::None)),
        ("x https://x/ --enable-proxy", |it| it.connection.proxy.is_none()),
        ("x https://x/ --keep-alive", |it| it.connection.ping_interval == Some(seconds(30))),
        ("x https://x/ --ping-interval 10", |it| it.connection.ping_interval == Some(seconds(10))),
        ("x https://x/ --connect-timeout 10", |it| it.connection.connect_timeout == seconds(10)),
    ]);
    check_notes(&[
        ("x https://x/ --ipv4", "both kinds of addresses"),
        ("x https://x/ --disable-cookies", "only to the server that set them"),
        ("x https://x/ --headers-timeout 1", "--timeout"),
        ("x https://x/ --body-timeout 0", "--timeout"),
    ]);
    check_refused(&[("x https://x/ --transport tcp", "sse")]);
}

#[test]
fn flags_of_a_login_of_mcp_remote() {
    check(&[
        ("x https://x/ --host 127.0.0.1", |it| it.connection.login.callback_host.as_deref() == Some("127.0.0.1")),
        ("x https://x/ --host localhost --callback-path /c", |it| {
            it.listening.listen.is_none() && it.connection.login.callback_path.as_deref() == Some("/c")
        }),
        ("x https://x/ --resource https://r/", |it| it.connection.login.resource.as_deref() == Some("https://r/")),
        ("x https://x/ --resource ''", |it| it.connection.login.resource.as_deref() == Some("none")),
        ("x https://x/ --disable-resource-parameter", |it| it.connection.login.resource.as_deref() == Some("none")),
        ("x https://x/ --authorize-param a=b", |it| it.connection.login.authorize_params == ["a=b"]),
        ("x https://x/ --auth-timeout 60", |it| it.connection.login.login_timeout == Some(seconds(60))),
        ("x https://x/ --client-metadata-url https://c/d", |it| it.connection.login.client_metadata_url.is_some()),
        ("x https://x/ --client-credentials --token-endpoint https://l/t", |it| {
            it.connection.login.as_client && it.connection.login.token_endpoint.is_some()
        }),
        ("x https://x/ --device-code --use-id-token", |it| {
            it.connection.login.device_code && it.connection.login.id_token
        }),
        ("x https://x/ --auth-success-url https://a/b", |it| {
            it.connection.login.success_url.as_deref() == Some("https://a/b")
        }),
        ("x https://x/ --static-oauth-client-info '{\"client_id\": \"c\", \"client_secret\": \"s\"}'", |it| {
            let login = &it.connection.login;
            (login.client_id.as_deref(), login.client_secret.as_deref()) == (Some("c"), Some("s"))
        }),
        ("x https://x/ --static-oauth-client-info '{\"client_id\": \"c-${PATH}-d\"}'", |it| {
            it.connection.login.client_id == Some(format!("c-{}-d", std::env::var("PATH").unwrap()))
        }),
        ("x https://x/ --static-oauth-client-metadata '{\"scope\": \"a b\", \"client_name\": \"n\"}'", |it| {
            let login = &it.connection.login;
            login.client_name.as_deref() == Some("n") && login.scopes == ["a", "b"]
        }),
    ]);
    check_refused(&[
        ("x https://x/ --static-oauth-client-info nonsense", "this is no JSON"),
        (
            "x https://x/ --static-oauth-client-info '{\"client_id\": \"${NO_SUCH_VARIABLE}\"}'",
            "NO_SUCH_VARIABLE is not set",
        ),
    ]);
}
