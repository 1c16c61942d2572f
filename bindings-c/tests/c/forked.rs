//! Calls in a child process after `fork`: each function that refuses them declares it.

use super::{Language, Library, PREFIX, TMP, command, compile, finish, header, told};
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// The objects that the program makes before it forks.
const OBJECTS: [&str; 5] = ["server", "client", "call", "listener", "port"];

const BEGIN: &str = r#"#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <trunkline.h>

static trunkline_call *call;

static void keep(trunkline_call *kept, void *user_data) {
  (void)user_data;
  call = trunkline_call_retain(kept);
}

static void nothing(void) {}

int main(void) {
  trunkline_server *server = NULL;
  trunkline_client *client = NULL;
  trunkline_listener *listener = NULL;
  trunkline_http_options *free_port = NULL;
  trunkline_port *port;
  const trunkline_str texts[] = {TRUNKLINE_STR_INIT("{}"), TRUNKLINE_STR_INIT("/x"), TRUNKLINE_STR_INIT("")};
  size_t scratch[64];
  FILE *refused;
  size_t index;
  int status = -1;
  if (trunkline_server_new(TRUNKLINE_STR("a"), TRUNKLINE_STR("1"), &server, NULL) ||
      trunkline_server_add_tool(server, TRUNKLINE_JSON_STR({"name": "keep"}), keep, NULL, NULL, NULL) ||
      trunkline_http_options_new(&free_port, NULL) || trunkline_http_options_set_port(free_port, 0) ||
      trunkline_server_listen_http(server, free_port, &listener, NULL) ||
      trunkline_client_connect_memory(server, NULL, &client, NULL) ||
      trunkline_client_start(client, TRUNKLINE_STR(TRUNKLINE_METHOD_CALL_TOOL), TRUNKLINE_STR("{\"name\":\"keep\",\"arguments\":{}}"), NULL, NULL, NULL, NULL, NULL,
                                       NULL))
    return 2;
  trunkline_http_options_free(free_port);
  port = trunkline_server_port(server);
  while (!call) trunkline_dispatch(port, 1000, NULL, NULL);
  if (fork()) return wait(&status) < 0 || status != 0;
  alarm(30); /* a lock that nobody gives back must not look like patience */
  /* Functions that serve stdin and stdout would move the descriptor. */
  refused = fdopen(dup(1), "w");
  for (index = 0; index < sizeof texts / sizeof *texts; ++index) {
"#;

const END: &str = "  }\n  fflush(refused);\n  _exit(0);\n}\n";

/// An argument of a type for a function that is to refuse.
fn argument(declared: &str) -> String {
    let declared = declared.trim();
    let (ty, name) = declared.rsplit_once([' ', '*']).unwrap_or((declared, ""));
    let object = OBJECTS.iter().find(|object| declared.contains(&format!("trunkline_{object} *{name}")));
    let stars = declared.matches('*').count();
    match object {
        Some(object) => (*object).to_owned(),
        None if ty == "trunkline_str" => "texts[index]".to_owned(),
        None if ty == "trunkline_destructor" || name == "error" || name == "options" => "NULL".to_owned(),
        None if ty.ends_with("_callback") => format!("({ty})nothing"),
        None if declared.starts_with("void *") => "NULL".to_owned(),
        None if stars > 0 => "(void *)scratch".to_owned(),
        None => "0".to_owned(),
    }
}

#[test]
fn functions_return_an_error_in_a_forked_process() {
    let header = fs::read_to_string(PREFIX.join("include/trunkline.h")).expect("the header is installed");
    let mut program = BEGIN.to_owned();
    for function in header::functions(&header).iter().filter(|function| function.gives_result()) {
        let (_, rest) = function.declaration.split_once('(').expect("a function has arguments");
        let arguments: Vec<String> = rest.trim_end_matches(");").split(',').map(argument).collect();
        if OBJECTS.contains(&&*arguments[0]) {
            let (name, arguments) = (&function.name, arguments.join(", "));
            let _ = write!(
                program,
                "    memset(scratch, 0, sizeof scratch);\n    if ({name}({arguments}) == TRUNKLINE_FORKED)\n      fprintf(refused, \"{name}\\n\");\n"
            );
        }
    }
    let source = Path::new(TMP).join("forked.c");
    fs::write(&source, program + END).expect("the program can be written");
    let output = finish(&mut command(compile(Language::C99, &source, "forked", Library::Shared)));
    assert!(output.status.success(), "{}", told(&output));
    let refused = String::from_utf8_lossy(&output.stdout);
    for name in ["trunkline_server_add", "trunkline_call_fact", "trunkline_port_on_log"] {
        assert!(refused.lines().any(|line| line == name), "{name} was not tried: {refused}");
    }
    let silent: Vec<_> = refused.lines().filter(|name| !header::fails_with(name, "FORKED")).collect();
    assert_eq!(silent, [] as [&str; 0], "tests/header/chapters.rs");
}
