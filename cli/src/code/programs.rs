//! Programs that make a call, one for each language.

use super::{
    call::{Form, Written},
    literals::{object, string},
    place::Given,
};
use serde_json::Value;

/// The program. What differs between servers and calls is in the template between `@`.
pub(super) fn program(form: Form, call: &Written<'_>) -> String {
    let (template, of_url, of_entry) = match form {
        Form::Python => (PYTHON, "Client(@server@)", "Client(@server@)"),
        Form::Node => (NODE, "Client.connect(@server@)", "Client.connect(@server@)"),
        Form::Rust => (RUST, "Client::connect(@server@)", "Client::connect(@server@)"),
        Form::C => (C, "connect_http(TRUNKLINE_STR(@server@)", "connect_config(TRUNKLINE_STR(@server@)"),
        Form::Go => (GO, "Connect(ctx, @server@)", "ConnectConfig(ctx, @server@)"),
        Form::Kotlin => (KOTLIN, "Client.connect(@server@)", "Client.connect(@server@)"),
        Form::Java => (
            JAVA,
            "Client.connect(Target.url(@server@))",
            "Client.connect(Target.configuration(Json.parseObject(@server@)))",
        ),
        Form::Ruby => (RUBY, "Trunkline::Client.connect(@server@)", "Trunkline::Client.connect(@server@)"),
        _ => (SWIFT, "Client.connect(url: @server@)", "Client.connect(configuration: @server@)"),
    };
    let (connect, server) = match call.place.given() {
        // Go reads a configuration as text.
        Given::Entry(entry) if form == Form::Go => (of_entry, string(form, &entry.to_string())),
        Given::Entry(entry) => (of_entry, object(form, &entry)),
        Given::Url(url) => (of_url, string(form, url)),
    };
    let arguments = object(form, &Value::Object(call.arguments.clone()));
    let mut lines = Vec::new();
    for line in template.lines() {
        // Values may have such marks, so that each is replaced once.
        let line = line.replace("@connect@", connect);
        lines.push(filled(
            &line,
            &[("@server@", &server), ("@tool@", &string(form, call.tool)), ("@arguments@", &arguments)],
        ));
    }
    lines.join("\n")
}

fn filled(line: &str, values: &[(&str, &str)]) -> String {
    let Some((mark, value)) = values.iter().find(|(mark, _)| line.contains(mark)) else { return line.to_owned() };
    let (before, after) = line.split_once(mark).unwrap_or((line, ""));
    format!("{}{value}{}", filled(before, values), filled(after, values))
}

const PYTHON: &str = r#"import asyncio

from trunkline import Client


async def main() -> None:
    async with @connect@ as client:
        result = await client.call_tool(@tool@, @arguments@)
        print(result.text)


asyncio.run(main())"#;

const NODE: &str = r#"import { Client } from "trunkline";

const client = await @connect@;
try {
  const result = await client.callTool(@tool@, @arguments@);
  console.log(result.text);
} finally {
  await client.close();
}"#;

const RUST: &str = r#"use serde_json::json;
use std::error::Error;
use trunkline::Client;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let client = @connect@.await?;
    let result = client.call_tool(@tool@, @arguments@).await?;
    println!("{}", result.joined_text());
    client.close().await;
    Ok(())
}"#;

const C: &str = r#"#include <stdio.h>

#include <trunkline.h>

int main(void) {
  trunkline_client *client = NULL;
  trunkline_text *answer = NULL, *text = NULL;
  trunkline_error *error = NULL;
  trunkline_result result = trunkline_client_@connect@, NULL, &client, &error);
  if (!result) {
    result = trunkline_client_call_tool(client, TRUNKLINE_STR(@tool@),
                                        TRUNKLINE_STR(@arguments@), NULL, &answer, &error);
  }
  if (!result) {
    trunkline_json_get_text(trunkline_text_str(answer), TRUNKLINE_STR("/content/0/text"), &text);
    printf("%s\n", trunkline_text_str(text).data);
    result = trunkline_client_close(client, 5000, &error);
  }
  if (result) fprintf(stderr, "%s\n", trunkline_error_message(error));
  trunkline_error_free(error);
  trunkline_text_free(text);
  trunkline_text_free(answer);
  trunkline_client_free(client);
  return result != TRUNKLINE_OK;
}"#;

const GO: &str = r#"package main

import (
	"context"
	"fmt"

	trunkline "github.com/trunkline-mcp/trunkline/bindings-go"
)

func main() {
	ctx := context.Background()
	client := trunkline.Must(trunkline.@connect@)
	defer client.Close()
	result := trunkline.Must(client.CallTool(ctx, @tool@, @arguments@))
	fmt.Println(result.Content.Text())
}"#;

const KOTLIN: &str = r#"import dev.trunkline.Client
import dev.trunkline.jsonObjectOf
import dev.trunkline.text

suspend fun main() {
    @connect@.use { client ->
        println(client.callTool(@tool@, @arguments@).text)
    }
}"#;

const JAVA: &str = r#"import dev.trunkline.java.Client;
import dev.trunkline.java.Json;
import dev.trunkline.java.Target;

class Main {
  public static void main(String[] words) {
    try (var client = @connect@) {
      var result = client.callTool(@tool@, Json.parseObject(@arguments@));
      System.out.println(result.text());
    }
  }
}"#;

const RUBY: &str = r#"require "trunkline"

@connect@ do |client|
  puts client.call_tool(@tool@, @arguments@).text
end"#;

const SWIFT: &str = r#"import Trunkline

@main
struct Main {
    static func main() async throws {
        try await @connect@.use { client in
            print(try await client.callTool(@tool@, @arguments@).text)
        }
    }
}"#;
