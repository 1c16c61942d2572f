use super::*;
use crate::auth::{
    AuthorizationOptions, DpopPolicy, Verification,
    jwk::{sha256, thumbprint},
    tests::{Key, TestRuntime},
};
use http::Request;
use serde_json::json;

const NOW: u64 = 1_800_000_000;
const URL: &str = "https://mcp.example/mcp";

fn authorization(policy: DpopPolicy, nonces: bool) -> Authorization {
    let verifier = |token: Verification| {
        token.complete(Err(Refusal::InvalidToken("x".into())));
    };
    let options = options(URL).with_required_scopes(["mcp"]).with_implied("admin", ["mcp", "write"]).with_dpop(policy);
    let options = if nonces { options.with_dpop_nonce([7; 32]) } else { options };
    Authorization::new(options, Arc::new(verifier)).unwrap()
}

fn options(resource: &str) -> AuthorizationOptions {
    AuthorizationOptions::new(resource).with_authorization_servers(["https://auth.example"])
}

fn parts(headers: &[(&str, &str)]) -> Parts {
    let builder = Request::post("http://internal:8000/mcp?x=y");
    let builder = headers.iter().fold(builder, |builder, (name, value)| builder.header(*name, *value));
    builder.body(()).unwrap().into_parts().0
}

fn read(authorization: &Authorization, headers: &[(&str, &str)], now: u64) -> Result<Candidate, AuthorizationRefused> {
    let runtime: Arc<dyn Runtime> = Arc::new(TestRuntime);
    let head = PresentingRequest { parts: Arc::new(parts(headers)), remote_address: None };
    authorization.read(&head, now, &runtime).map(|(_, candidate)| candidate)
}

fn identity(claims: Value) -> Identity {
    let claims = claims.as_object().unwrap().clone();
    Identity { subject: Some("alice".into()), scopes: vec!["mcp".into()], claims, ..Identity::default() }
}

fn proof(key: &Key, token: &str, id: &str, nonce: Option<&str>) -> String {
    let header = json!({"typ": "dpop+jwt", "alg": key.alg(), "jwk": key.public()});
    let mut claims = json!({"jti": id, "htm": "POST", "htu": URL, "iat": NOW, "ath": sha256(token.as_bytes())});
    if let Some(nonce) = nonce {
        claims["nonce"] = nonce.into();
    }
    key.sign(&header, &claims)
}

fn code(refused: &AuthorizationRefused) -> (u16, Option<&'static str>) {
    (refused.refusal.status().as_u16(), refused.refusal.code())
}

#[test]
fn aus_05_and_sec_01_no_token_no_entry() {
    let refused = read(&authorization(DpopPolicy::Off, false), &[], NOW).err().unwrap();
    assert_eq!(code(&refused), (401, None));
}

#[test]
fn xau_02_dpop_is_unknown_until_it_is_switched_on() {
    let refused = read(&authorization(DpopPolicy::Off, false), &[("authorization", "DPoP t")], NOW).err().unwrap();
    assert_eq!(code(&refused), (401, None));
}

#[test]
fn aus_05_the_expiry_from_the_verifier_is_checked() {
    let authorization = authorization(DpopPolicy::Off, false);
    let candidate = read(&authorization, &[("authorization", "Bearer t")], NOW).unwrap();
    for (expires, good) in [(NOW + 1, true), (NOW - LEEWAY + 1, true), (NOW - LEEWAY, false), (0, false)] {
        let identity = Identity { expires_at: Some(expires), ..identity(json!({})) };
        assert_eq!(authorization.judge(&candidate, NOW, Ok(identity)).is_ok(), good, "{expires}");
    }
    let nobody = Identity { subject: None, ..identity(json!({})) };
    assert!(authorization.judge(&candidate, NOW, Ok(nobody)).is_err());
}

#[test]
fn aus_11_and_aus_12_all_scopes_are_named_together_and_broad_ones_imply() {
    let authorization = authorization(DpopPolicy::Off, false);
    let of = |scopes: &[&str]| Identity {
        scopes: scopes.iter().map(|&scope| scope.to_owned()).collect(),
        ..identity(json!({}))
    };
    assert_eq!(authorization.permit(&of(&["mcp"]), &[]), Ok(()));
    assert_eq!(authorization.permit(&of(&["admin"]), &["write".to_owned()]), Ok(()));
    for scopes in [&[][..], &["mcp"], &["write"]] {
        let refusal = authorization.permit(&of(scopes), &["write".to_owned()]).unwrap_err();
        let Refusal::InsufficientScope { scopes, .. } = refusal else { panic!("{refusal:?}") };
        assert_eq!(scopes, ["mcp", "write"]);
    }
}

#[test]
fn xau_61_xau_64_and_xau_65_tokens_and_keys_belong_together() {
    let (key, other) = (Key::es256(), Key::es256());
    let bound = || Ok(identity(json!({"cnf": {"jkt": thumbprint(&key.public()).unwrap()}})));
    let authorization = authorization(DpopPolicy::Optional, false);
    let with = |key: &Key, id: &str| {
        let proof = proof(key, "t", id, None);
        read(&authorization, &[("authorization", "DPoP t"), ("dpop", &proof)], NOW).unwrap()
    };
    assert!(authorization.judge(&with(&key, "1"), NOW, bound()).is_ok());
    let judged = |candidate: Candidate, outcome| authorization.judge(&candidate, NOW, outcome).map_err(|it| code(&it));
    assert_eq!(judged(with(&key, "1"), bound()), Err((401, Some("invalid_dpop_proof"))), "used twice");
    assert_eq!(judged(with(&other, "2"), bound()), Err((401, Some("invalid_dpop_proof"))), "another key");
    assert_eq!(judged(with(&key, "3"), Ok(identity(json!({})))), Err((401, Some("invalid_token"))), "not bound");
    let bearer = || read(&authorization, &[("authorization", "Bearer t")], NOW).unwrap();
    assert_eq!(judged(bearer(), bound()), Err((401, Some("invalid_token"))), "bound, as bearer");
    assert!(judged(bearer(), Ok(identity(json!({})))).is_ok());
    for cnf in [json!({"x5t#S256": "a"}), json!("text"), json!({"jkt": "a", "x5t#S256": "b"}), json!({})] {
        let outcome = Ok(identity(json!({"cnf": cnf})));
        assert_eq!(judged(bearer(), outcome), Err((401, Some("invalid_token"))), "{cnf}");
    }
}

#[test]
fn xau_70_a_proof_that_cannot_be_remembered_is_refused_for_now() {
    let key = Key::es256();
    let verifier: Arc<dyn TokenVerifier> = Arc::new(|token: Verification| drop(token));
    let options = options(URL).with_dpop(DpopPolicy::Required).with_dpop_proofs(5);
    let authorization = Authorization::new(options, verifier).unwrap();
    let judged = |id: &str| {
        let proof = proof(&key, "t", id, None);
        let candidate = read(&authorization, &[("authorization", "DPoP t"), ("dpop", &proof)], NOW).unwrap();
        let bound = identity(json!({"cnf": {"jkt": thumbprint(&key.public()).unwrap()}}));
        authorization.judge(&candidate, NOW, Ok(bound)).map(drop).map_err(|it| code(&it))
    };
    assert_eq!(judged("1"), Ok(()));
    assert_eq!(judged("2"), Err((503, None)), "a fifth of the memory is for one key");
    assert_eq!(judged("1"), Err((401, Some("invalid_dpop_proof"))));
}

#[test]
fn bound_tokens_are_refused_where_nobody_checks_their_binding() {
    let authorization = authorization(DpopPolicy::Off, false);
    let bearer = read(&authorization, &[("authorization", "Bearer t")], NOW).unwrap();
    assert!(authorization.judge(&bearer, NOW, Ok(identity(json!({"cnf": {"jkt": "a"}})))).is_err());
}

#[test]
fn xau_57_and_xau_62_a_missing_proof_is_an_invalid_proof() {
    let authorization = authorization(DpopPolicy::Required, false);
    let refused = read(&authorization, &[("authorization", "DPoP t")], NOW).err().unwrap();
    assert_eq!(code(&refused), (401, Some("invalid_dpop_proof")));
    assert!(authorization.challenges(&refused, false)[0].starts_with("DPoP error=\"invalid_dpop_proof\""));
    let refused = read(&authorization, &[("authorization", "Bearer t")], NOW).err().unwrap();
    assert_eq!(code(&refused), (401, Some("invalid_token")));
}

#[test]
fn xau_67_without_the_nonce_there_is_one_more_round() {
    let key = Key::es256();
    let authorization = authorization(DpopPolicy::Required, true);
    let with = |nonce: Option<&str>, now| {
        let proof = proof(&key, "t", "1", nonce);
        read(&authorization, &[("authorization", "DPoP t"), ("dpop", &proof)], now).map(drop).map_err(|it| code(&it))
    };
    let nonce = authorization.nonce(NOW).unwrap();
    assert_eq!(with(None, NOW), Err((401, Some("use_dpop_nonce"))));
    assert_eq!(with(Some("wrong"), NOW), Err((401, Some("use_dpop_nonce"))));
    assert_eq!(with(Some(&nonce), NOW), Ok(()));
}

#[test]
fn xau_59_behind_a_proxy_the_public_url_counts() {
    let key = Key::es256();
    let verifier: Arc<dyn TokenVerifier> = Arc::new(|token: Verification| drop(token));
    let options = options("https://mcp.example").with_dpop(DpopPolicy::Required);
    let proof = proof(&key, "t", "1", None);
    // The origin of the resource and the path of the request.
    let authorization = Authorization::new(options.clone(), verifier).unwrap();
    assert!(read(&authorization, &[("authorization", "DPoP t"), ("dpop", &proof)], NOW).is_ok());
    let verifier: Arc<dyn TokenVerifier> = Arc::new(|token: Verification| drop(token));
    let options = options.with_public_url("https://mcp.example/public/mcp");
    let authorization = Authorization::new(options, verifier).unwrap();
    assert!(read(&authorization, &[("authorization", "DPoP t"), ("dpop", &proof)], NOW).is_err());
}
