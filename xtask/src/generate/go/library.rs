//! Declares the functions of the C library that the Go package uses, from their declarations in
//! Rust.

use std::collections::BTreeSet;

use anyhow::{Context, Result, bail};
use serde::Serialize;

use super::super::c;
use super::super::text::{camel, snake};
use crate::stamp::files_under;
use crate::workspace::Workspace;

/// Generated files use what the others do, and their own `c`.
const GENERATED: &str = "generated_";

/// A function of the library.
#[derive(Serialize)]
pub(super) struct Function {
    /// Without `trunkline_`.
    name: String,
    /// The name of its method of Go's `c`, or of the member if it cannot fail.
    member: String,
    params: Vec<Param>,
    /// Empty if there is none.
    result: &'static str,
    can_fail: bool,
    /// True if it can be called by its address, with machine words.
    is_direct: bool,
}

#[derive(Serialize)]
struct Param {
    name: String,
    /// The type in C, as Go writes it.
    r#type: &'static str,
    /// The conversion by the method; empty if it passes the value on.
    kind: &'static str,
}

/// The type of functions that can fail.
const RESULT: &str = "trunkline_result";

/// Objects that the package frees while others may use them.
const OBJECTS: [&str; 4] = [" trunkline_call", " trunkline_client", " trunkline_listener", " trunkline_server"];

/// Strings that are JSON: the end of the function's name, and the parameter.
const JSON: [&str; 8] = [".data", ".entry", ".json", ".params", ".responses", ".roots", ".servers", "set_once.value"];

/// The functions that the package names as members of `c`, in the order of their names.
pub(super) fn functions(workspace: &Workspace, package: &str, declarations: &str) -> Result<Vec<Function>> {
    let mut members = BTreeSet::new();
    for path in files_under(&workspace.path(package))? {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.ends_with(".go") && !name.starts_with(GENERATED) {
            members.extend(used(&std::fs::read_to_string(&path)?));
        }
    }
    members.into_iter().map(|member| function(&member, declarations).with_context(|| format!("c.{member}"))).collect()
}

/// The members of `c` in a source.
fn used(source: &str) -> Vec<String> {
    let code = source.lines().filter(|line| !line.trim_start().starts_with("//"));
    let named = code.flat_map(|line| {
        line.match_indices("c.").filter_map(|(at, _)| {
            let is_inside =
                line[..at].ends_with(|before: char| before.is_alphanumeric() || ['_', '.', '"'].contains(&before));
            let rest = &line[at + 2..];
            let name = &rest[..rest.find(|letter: char| !letter.is_alphanumeric()).unwrap_or(rest.len())];
            (!is_inside && name.starts_with(char::is_uppercase)).then(|| name.to_owned())
        })
    });
    named.collect()
}

fn function(member: &str, declarations: &str) -> Result<Function> {
    let name = snake(member);
    let (params, result) = c::declaration(declarations, &name).context("the C library has no such function")?;
    // A string without a length ends with a zero byte.
    let has_length = params.iter().any(|(name, _)| *name == "len");
    let (can_fail, result) = match result {
        None => (false, ""),
        Some("*const c_char") if !has_length => (false, "string"),
        Some(result) => (result == RESULT, type_of(result)?),
    };
    let param = |(param, ty): &(&str, &str)| {
        Ok(Param { name: camel(param), r#type: type_of(ty)?, kind: kind_of(ty, &format!("{name}.{param}")) })
    };
    let params: Vec<_> = params.iter().map(param).collect::<Result<_>>()?;
    let is_direct = result != "string" && are_words(&params);
    Ok(Function { name, member: member.to_owned(), params, result, can_fail, is_direct })
}

/// The registers for arguments on amd64 and arm64.
const REGISTERS: [usize; 2] = [6, 8];

/// Returns whether a calling convention passes the arguments as it would their words: numbers with
/// a fraction have separate registers, a string that needs the last register and another one is in
/// memory as a whole, and macOS packs small numbers in memory.
fn are_words(params: &[Param]) -> bool {
    REGISTERS.into_iter().all(|registers| {
        let mut words = 0;
        params.iter().all(|Param { r#type, .. }| {
            let start = words;
            words += if *r#type == "str" { 2 } else { 1 };
            let is_whole = words <= registers || start >= registers;
            let is_packed = start >= REGISTERS[1] && ["bool", "int32", "uint32"].contains(r#type);
            *r#type != "float64" && is_whole && !is_packed
        })
    })
}

fn kind_of(ty: &str, path: &str) -> &'static str {
    match ty {
        "*mut *mut trunkline_error" => "failure",
        "*mut *mut trunkline_text" => "text",
        "*mut trunkline_str" => "lent",
        "*mut bool" | "*mut u64" | "*mut usize" => "output",
        _ if ty.starts_with("*mut *mut ") => "output",
        "trunkline_str" if JSON.iter().any(|json| path.ends_with(json)) => "json",
        "trunkline_str" => "string",
        _ if OBJECTS.iter().any(|object| ty.ends_with(object)) => "object",
        _ => "",
    }
}

/// The type in Go of a type in Rust. Objects, callbacks and data of the caller are numbers, so that
/// Go's collector does not follow them.
fn type_of(ty: &str) -> Result<&'static str> {
    Ok(match ty {
        "bool" => "bool",
        "f64" => "float64",
        "i32" => "int32",
        "i64" => "int64",
        "u32" | RESULT => "uint32",
        "u64" => "uint64",
        "usize" => "uintptr",
        "trunkline_str" => "str",
        "*const trunkline_str" | "*mut trunkline_str" => "*str",
        "*const trunkline_store" => "unsafe.Pointer",
        "*const trunkline_http_header" => "*header",
        "*const u8" | "*const c_char" | "*const c_void" => "*byte",
        "*mut bool" => "*bool",
        "*mut u64" => "*uint64",
        "*mut usize" => "*uintptr",
        ty if ty.starts_with("*mut *mut trunkline_") => "*uintptr",
        ty if ty.ends_with("_number") => "uint32",
        ty if ty.ends_with("_callback") || ty == "trunkline_destructor" => "uintptr",
        ty if ty.starts_with('*') => "uintptr",
        ty => bail!("no type in Go is known for {ty}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const DECLARATIONS: &str = "fn trunkline_plain_version() -> *const c_char {\n\
        fn trunkline_call_text(\n    call: *const trunkline_call,\n    name: trunkline_str,\n    len: *mut usize,\n) -> *const c_char {\n\
        fn trunkline_text_free(text: *mut trunkline_text) {\n\
        fn trunkline_server_add(server: *mut trunkline_server, kind: trunkline_str, entry: trunkline_str, \
        data: *mut c_void, registration: *mut u64, error: *mut *mut trunkline_error) -> trunkline_result {";

    fn declared(member: &str) -> String {
        let Function { name, params, result, .. } = function(member, DECLARATIONS).unwrap();
        let params: Vec<_> = params.iter().map(|param| format!("{} {}", param.name, param.r#type)).collect();
        format!("{name}({}) {result}", params.join(", "))
    }

    #[test]
    fn a_declaration_in_rust_becomes_one_in_go() {
        assert_eq!(declared("PlainVersion"), "plain_version() string");
        assert_eq!(declared("CallText"), "call_text(call uintptr, name str, len *uintptr) *byte");
        assert_eq!(declared("TextFree"), "text_free(text uintptr) ");
        assert!(function("TextFold", DECLARATIONS).is_err());
        assert!(type_of("trunkline_thing").is_err());
    }

    #[test]
    fn functions_that_can_fail_have_kinds_of_parameters() {
        let function = function("ServerAdd", DECLARATIONS).unwrap();
        let kinds: Vec<_> = function.params.iter().map(|param| param.kind).collect();
        assert_eq!((function.can_fail, kinds), (true, vec!["object", "string", "json", "", "output", "failure"]));
    }

    #[test]
    fn functions_with_words_are_called_by_their_address() {
        let param = |r#type| Param { name: String::new(), r#type, kind: "" };
        let are_direct = |types: &[&'static str]| are_words(&types.iter().copied().map(param).collect::<Vec<_>>());
        assert!(function("TextFree", DECLARATIONS).unwrap().is_direct);
        assert!(!function("PlainVersion", DECLARATIONS).unwrap().is_direct);
        assert!(are_direct(&["uintptr", "str", "str", "uintptr", "str", "uint64"]));
        assert!(!are_direct(&["uintptr", "str", "str", "str"]));
        assert!(!are_direct(&["str", "str", "str", "uintptr", "str"]));
        assert!(!are_direct(&["uintptr", "float64"]));
        assert!(!are_direct(&["str", "str", "str", "str", "bool"]));
    }

    #[test]
    fn only_members_of_the_struct_are_used() {
        let source = "c.TextFree(x)\nreturn c.CallText\n// c.Comment\nsync.Map abc.Name \"c.Quoted\" c.small";
        assert_eq!(used(source), ["TextFree", "CallText"]);
    }
}
