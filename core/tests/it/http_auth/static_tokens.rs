//! Static tokens at an endpoint without an authorization server.

use super::server::Fixture;
use crate::process::File;
use reqwest::StatusCode;
use std::time::{Duration, Instant};
use trunkline::{
    HttpOptions,
    auth::{Authorization, AuthorizationOptions, NewStaticToken, StaticTokenOptions},
};

const RESOURCE: &str = "http://localhost/mcp";

async fn fixture(options: AuthorizationOptions, tokens: StaticTokenOptions) -> Fixture {
    let authorization = Authorization::static_tokens(options, tokens).unwrap();
    Fixture::with(HttpOptions::default().with_auth(authorization)).await
}

async fn status(fixture: &Fixture, tool: &str, token: &str) -> StatusCode {
    fixture.call(tool, &[("authorization", &format!("Bearer {token}"))]).await.status()
}

/// Waits until a token has this status; the file is read again by the next request after a while.
async fn until(fixture: &Fixture, token: &str, expected: StatusCode) {
    let began = Instant::now();
    while status(fixture, "who", token).await != expected {
        assert!(began.elapsed() < Duration::from_secs(60), "{expected} does not come");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn callers_are_known_by_their_token_and_metadata_is_not_published() {
    let [ada, bob, old] = [("ada", None), ("bob", Some("2099-01-31")), ("old", Some("2020-01-31"))]
        .map(|(name, expiry)| NewStaticToken::generate(name, expiry).unwrap());
    let tokens =
        StaticTokenOptions::default().with_tokens([&ada.line, &format!("{} files:write", bob.line), &old.line]);
    let fixture = fixture(AuthorizationOptions::new(RESOURCE), tokens).await;

    let answer = fixture.call("who", &[("authorization", &format!("Bearer {}", ada.token))]).await;
    let said = answer.text().await.unwrap();
    assert!(said.contains(r#"\"subject\":\"ada\""#) && !said.contains(&ada.token), "{said}");
    for (token, tool, expected) in [
        (&ada.token, "write", StatusCode::FORBIDDEN),
        (&bob.token, "write", StatusCode::OK),
        (&old.token, "who", StatusCode::UNAUTHORIZED),
        (&ada.line.split(' ').nth(1).unwrap().to_owned(), "who", StatusCode::UNAUTHORIZED),
    ] {
        assert_eq!(status(&fixture, tool, token).await, expected, "{tool}");
    }
    let answer = fixture.call("who", &[]).await;
    assert_eq!(answer.status(), StatusCode::UNAUTHORIZED);
    assert_eq!(answer.headers()["www-authenticate"], "Bearer");
    for path in ["/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"] {
        assert_eq!(fixture.send(reqwest::Method::GET, path, &[], None).await.status(), StatusCode::NOT_FOUND, "{path}");
    }
}

#[tokio::test]
async fn a_changed_file_takes_effect_and_a_wrong_one_does_not() {
    let file = File::new();
    let [ada, bob] = ["ada", "bob"].map(|name| NewStaticToken::generate(name, None).unwrap());
    std::fs::write(file.path(), format!("# people\n\n{}\n", ada.line)).unwrap();
    let options = StaticTokenOptions::default().with_tokens_file(file.path());
    let fixture = fixture(AuthorizationOptions::new(RESOURCE), options).await;
    assert_eq!(status(&fixture, "who", &ada.token).await, StatusCode::OK);
    assert_eq!(status(&fixture, "who", &bob.token).await, StatusCode::UNAUTHORIZED);

    std::fs::write(file.path(), format!("{}\n{}\n", ada.line, bob.line)).unwrap();
    until(&fixture, &bob.token, StatusCode::OK).await;
    // The last one is wrong: nothing changes.
    std::fs::write(file.path(), format!("{}\nbob secret\n", bob.line)).unwrap();
    tokio::time::sleep(Duration::from_millis(1500)).await;
    assert_eq!(status(&fixture, "who", &ada.token).await, StatusCode::OK);
    std::fs::remove_file(file.path()).unwrap();
    tokio::time::sleep(Duration::from_millis(1500)).await;
    assert_eq!(status(&fixture, "who", &ada.token).await, StatusCode::OK);
    std::fs::write(file.path(), &bob.line).unwrap();
    until(&fixture, &ada.token, StatusCode::UNAUTHORIZED).await;
    assert_eq!(status(&fixture, "who", &bob.token).await, StatusCode::OK);
}
