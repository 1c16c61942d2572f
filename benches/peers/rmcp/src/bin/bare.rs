//! The upper bounds. `bare stdio|http PORT [fixed] [--tools N]`.
//! `fixed`: the same bytes for every request, nothing parsed (load it with mcpload --fixed).
//! otherwise: the minimum that is still correct: parse, then answer with the right id and text.
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{body::Incoming, service::service_fn, Request, Response};
use serde::Deserialize;
use std::{
    borrow::Cow,
    convert::Infallible,
    io::{BufRead, Write},
};

const FIXED: &str = r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"bare","version":"0"},"content":[{"type":"text","text":"message 0000000000000000"}]}}"#;
/// Characters of base64 in the resource.
const BLOB_LENGTH: usize = 16 << 20;
const ADD: &str = r#""description":"Add two integers","inputSchema":{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"required":["a","b"]}}"#;

#[derive(Deserialize)]
struct S<'a>(#[serde(borrow)] Cow<'a, str>);
#[derive(Deserialize)]
struct Args<'a> {
    #[serde(borrow)]
    message: Option<S<'a>>,
    a: Option<i64>,
    b: Option<i64>,
}
#[derive(Deserialize)]
struct Params<'a> {
    #[serde(borrow)]
    arguments: Option<Args<'a>>,
    #[serde(rename = "protocolVersion")]
    version: Option<&'a str>,
}
#[derive(Deserialize)]
struct Req<'a> {
    id: Option<serde_json::Value>,
    method: &'a str,
    #[serde(borrow)]
    params: Option<Params<'a>>,
}

fn answer(b: &[u8], tools: &str, out: &mut Vec<u8>) -> bool {
    let Ok(r) = serde_json::from_slice::<Req>(b) else {
        out.extend_from_slice(br#"{"jsonrpc":"2.0","id":null,"error":{"code":-32602,"message":"bad request"}}"#);
        return true;
    };
    let Some(id) = r.id else { return false };
    write!(out, r#"{{"jsonrpc":"2.0","id":{id},"#).unwrap();
    match r.method {
        "initialize" => {
            let v = r.params.and_then(|p| p.version).filter(|v| *v < "2026").unwrap_or("2025-11-25");
            write!(out, r#""result":{{"protocolVersion":"{v}","capabilities":{{"tools":{{}},"resources":{{}}}},"serverInfo":{{"name":"bare","version":"0"}}}}}}"#).unwrap()
        }
        "tools/list" => write!(out, r#""result":{{"tools":[{tools}]}}}}"#).unwrap(),
        "resources/read" => {
            out.extend_from_slice(br#""result":{"contents":[{"uri":"bench:blob","blob":""#);
            out.resize(out.len() + BLOB_LENGTH, b'A');
            out.extend_from_slice(br#""}]}}"#);
        }
        "ping" => out.extend_from_slice(br#""result":{}}"#),
        "tools/call" => {
            out.extend_from_slice(br#""result":{"content":[{"type":"text","text":"#);
            match r.params.and_then(|p| p.arguments) {
                Some(Args { message: Some(m), .. }) => serde_json::to_writer(&mut *out, &m.0).unwrap(),
                Some(Args { a: Some(a), b: Some(b), .. }) => write!(out, "\"{}\"", a + b).unwrap(),
                _ => out.extend_from_slice(br#""missing arguments""#),
            }
            out.extend_from_slice(b"}]}}");
        }
        _ => out.extend_from_slice(br#""error":{"code":-32601,"message":"Method not found"}}"#),
    }
    true
}

fn tools(n: usize) -> String {
    let mut t = format!(
        r#"{{"name":"echo","description":"Echo the message back","inputSchema":{{"type":"object","properties":{{"message":{{"type":"string"}}}},"required":["message"]}}}},{{"name":"add",{ADD}"#
    );
    for i in 0..n {
        t += &format!(r#",{{"name":"tool_{i:03}",{ADD}"#)
    }
    t
}

async fn serve(req: Request<Incoming>, fixed: bool, t: &str) -> Result<Response<Full<Bytes>>, Infallible> {
    if req.method() != hyper::Method::POST {
        return Ok(Response::builder().status(405).body(Full::default()).unwrap());
        // no stream, no session to end
    }
    let body = req.into_body().collect().await.map(|b| b.to_bytes()).unwrap_or_default();
    let mut out = Vec::with_capacity(body.len() + 128);
    let some = if fixed {
        out.extend_from_slice(FIXED.as_bytes());
        true
    } else {
        answer(&body, t, &mut out)
    };
    let b = Response::builder().header("content-type", "application/json").status(if some { 200 } else { 202 });
    Ok(b.body(Full::new(Bytes::from(out))).unwrap())
}

fn main() {
    let a: Vec<String> = std::env::args().skip(1).collect();
    let fixed = a.iter().any(|x| x == "fixed");
    let t = tools(a.iter().position(|x| x == "--tools").map_or(0, |i| a[i + 1].parse().unwrap()));
    if a[0] == "stdio" {
        let (mut i, mut o) = (std::io::stdin().lock(), std::io::stdout().lock());
        let (mut line, mut out) = (Vec::new(), Vec::new());
        while i.read_until(b'\n', &mut line).unwrap() > 0 {
            out.clear();
            if fixed {
                out.extend_from_slice(FIXED.as_bytes())
            } else if !answer(&line, &t, &mut out) {
                line.clear();
                continue;
            }
            out.push(b'\n');
            o.write_all(&out).unwrap(); // ends in a newline, so LineWriter writes it out: one write per answer
            o.flush().unwrap();
            line.clear();
        }
        return;
    }
    let t: &'static str = Box::leak(t.into_boxed_str());
    let rt = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    rt.block_on(async move {
        let l = tokio::net::TcpListener::bind(("127.0.0.1", a[1].parse::<u16>().unwrap())).await.unwrap();
        loop {
            let (s, _) = l.accept().await.unwrap();
            s.set_nodelay(true).unwrap();
            tokio::spawn(
                hyper::server::conn::http1::Builder::new()
                    .serve_connection(hyper_util::rt::TokioIo::new(s), service_fn(move |r| serve(r, fixed, t))),
            );
        }
    });
}
