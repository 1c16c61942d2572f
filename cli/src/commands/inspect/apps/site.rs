//! The origin of apps: serves each to its frame, and a document around it that passes on messages.

use super::{App, Apps, policy::SANDBOX};
use crate::{
    commands::inspect::http::{Body, Refusal, Serve, check_method, check_origin, guarded, whole},
    failure::Failure,
};
use http::{HeaderName, HeaderValue, Method, Request, Response, StatusCode, request::Parts};
use hyper::body::Incoming;

const HTML: &str = "text/html; charset=utf-8";
/// Stands between the page and an app.
const SCRIPT: &str = include_str!("sandbox.js");
/// Before the scripts of an app, so that it cannot keep the keyboard: Escape twice leaves it.
const WAY_OUT: &str = "<script>{let last=-1e9;addEventListener(\"keydown\",({key,timeStamp})=>{\
    if(key!==\"Escape\")return;\
    if(timeStamp-last<1000)parent.postMessage(\"leave\",\"*\");\
    last=timeStamp},true)}</script>";
const BYTE_ORDER_MARK: [u8; 3] = [0xef, 0xbb, 0xbf];
/// Asks the browser for a process of its own, which an app in a loop cannot hold up.
const CLUSTER: (HeaderName, HeaderValue) =
    (HeaderName::from_static("origin-agent-cluster"), HeaderValue::from_static("?1"));

impl Serve for Apps {
    async fn respond(&self, request: Request<Incoming>) -> Response<Body> {
        let (head, _) = request.into_parts();
        let mut policy = "default-src 'none'; frame-ancestors 'none'".to_owned();
        let answer = self.answer(&head).map(|(response, of_app)| {
            policy = of_app;
            response
        });
        let mut response = guarded(answer, &policy);
        let (name, value) = CLUSTER;
        response.headers_mut().insert(name, value);
        response
    }
}

impl Apps {
    /// The response, and its policy.
    fn answer(&self, head: &Parts) -> Result<(Response<Body>, String), Refusal> {
        check_origin(&head.headers)?;
        check_method(head, &Method::GET)?;
        let missing = || Refusal::new(StatusCode::NOT_FOUND, &Failure::usage("There is no such app"));
        let (token, file) = head.uri.path().trim_start_matches('/').split_once('/').ok_or_else(missing)?;
        let app = self.find(token).ok_or_else(missing)?;
        match file {
            "" => Ok((whole(HTML, around(&app).into()), around_policy(&app))),
            "sandbox.js" => Ok((whole("text/javascript; charset=utf-8", SCRIPT.into()), around_policy(&app))),
            "app" => Ok((whole(HTML, with_way_out(&app.html).into()), app.policy.header)),
            _ => Err(missing()),
        }
    }
}

/// The document between the page and the app. Its values were made by the program.
fn around(App { page, policy, .. }: &App) -> String {
    let allow = &policy.allow;
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>App</title>\n<body>\n\
         <script src=\"sandbox.js\" data-page=\"{page}\" data-sandbox=\"{SANDBOX}\" data-allow=\"{allow}\"></script>\n\
         </html>\n"
    )
}

/// The document of an app with `WAY_OUT` behind its doctype, if it begins with one.
fn with_way_out(html: &[u8]) -> Vec<u8> {
    let is_blank = |byte: &&u8| byte.is_ascii_whitespace() || BYTE_ORDER_MARK.contains(*byte);
    let blank = html.iter().take_while(is_blank).count();
    let is_doctype = html[blank..].get(..9).is_some_and(|start| start.eq_ignore_ascii_case(b"<!doctype"));
    let end = html.iter().position(|byte| *byte == b'>').filter(|_| is_doctype).map_or(0, |end| end + 1);
    [&html[..end], WAY_OUT.as_bytes(), &html[end..]].concat()
}

/// The app cannot leave for another site with what it knows: its frame shows this origin only.
fn around_policy(App { page, .. }: &App) -> String {
    format!(
        "default-src 'none'; script-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; \
         frame-ancestors {page}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_out_is_behind_the_doctype() {
        for (before, after) in [
            ("<!doctype html>", "<p>"),
            ("\u{feff}\n<!DOCTYPE html PUBLIC \"-//W3C//DTD HTML 4.01//EN\">", "<script>a > b</script>"),
            ("", "<p><!doctype html>"),
            ("", "<"),
            ("", ""),
        ] {
            let html = String::from_utf8(with_way_out(format!("{before}{after}").as_bytes())).unwrap();
            assert_eq!(html, format!("{before}{WAY_OUT}{after}"));
        }
    }
}
