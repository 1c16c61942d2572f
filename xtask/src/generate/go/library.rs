//! Declares the functions of the C library that the Go package uses, from their declarations in
//! Rust.

use std::collections::BTreeSet;

use anyhow::{Context, Result, bail};
use serde::Serialize;

use super::super::text::{camel, snake};
use crate::stamp::files_under;
use crate::workspace::Workspace;

/// In generated files, `c` is a client.
const GENERATED: &str = "generated_";

/// A function of the library.
#[derive(Serialize)]
pub(super) struct Function {
    /// Without `trunkline_`.
    name: String,
    /// The member of Go's struct `c`.
    member: String,
    params: Vec<String>,
    /// Empty if there is none.
    result: &'static str,
}

/// The functions that the package names as members of `c`, in the order of their names. Some of the
/// generated files name more.
pub(super) fn functions<'a>(
    workspace: &Workspace,
    package: &str,
    generated: impl IntoIterator<Item = &'a str>,
    declarations: &str,
) -> Result<Vec<Function>> {
    let mut members: BTreeSet<String> = generated.into_iter().flat_map(used).collect();
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
    let start = format!("fn trunkline_{name}(");
    let (_, declared) = declarations.split_once(&start).context("the C library has no such function")?;
    let (params, rest) = declared.split_once(')').context("its parameters end")?;
    let (result, _) = rest.split_once('{').context("it has a body")?;
    let params: Vec<_> = params.split(',').filter_map(|param| param.trim().split_once(": ")).collect();
    // A string without a length ends with a zero byte.
    let has_length = params.iter().any(|(name, _)| *name == "len");
    let result = match result.trim().strip_prefix("-> ") {
        None => "",
        Some("*const c_char") if !has_length => "string",
        Some(result) => type_of(result)?,
    };
    let param = |(name, ty): &(&str, &str)| Ok(format!("{} {}", camel(name), type_of(ty)?));
    let params = params.iter().map(param).collect::<Result<_>>()?;
    Ok(Function { name, member: member.to_owned(), params, result })
}

/// The type in Go of a type in Rust. Objects, callbacks and data of the caller are numbers, so that
/// Go's collector does not follow them.
fn type_of(ty: &str) -> Result<&'static str> {
    Ok(match ty {
        "bool" => "bool",
        "f64" => "float64",
        "i32" => "int32",
        "i64" => "int64",
        "u32" | "trunkline_result" => "uint32",
        "u64" => "uint64",
        "usize" => "uintptr",
        "trunkline_str" => "str",
        "*const trunkline_str" | "*mut trunkline_str" => "*str",
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
        fn trunkline_text_free(text: *mut trunkline_text) {";

    fn declared(member: &str) -> String {
        let function = function(member, DECLARATIONS).unwrap();
        format!("{}({}) {}", function.name, function.params.join(", "), function.result)
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
    fn only_members_of_the_struct_are_used() {
        let source = "c.TextFree(x)\nreturn c.CallText\n// c.Comment\nsync.Map abc.Name \"c.Quoted\" c.small";
        assert_eq!(used(source), ["TextFree", "CallText"]);
    }
}
