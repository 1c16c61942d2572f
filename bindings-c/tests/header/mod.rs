//! The order of the header and the rules of each function, from one declaration.
//!
//! cbindgen writes functions in the order of the sources, with their own comments. Here they are
//! put into chapters, and each comment gets the lines on where the function may be called and on
//! its failures.

mod chapters;

use chapters::{CHAPTERS, Chapter, Row};
use std::fmt::Write;

/// A function as the header has it.
pub struct Function {
    pub name: String,
    /// The comment, without its frame.
    pub comment: String,
    /// The declaration, with its semicolon.
    pub declaration: String,
}

impl Function {
    pub fn gives_result(&self) -> bool {
        self.declaration.starts_with("trunkline_result ") && self.name != "trunkline_error_kind"
    }
}

const BEGIN: &str = "extern \"C\" {\n#endif // __cplusplus\n\n";
const END: &str = "\n#ifdef __cplusplus\n}  // extern \"C\"";

/// The header in its order, and with the rules of each function.
pub fn arranged(header: &str) -> String {
    let (before, functions, after) = parts(header);
    let before: Vec<_> = before.lines().map(wrapped).collect();
    let mut text = format!("{}\n{BEGIN}", before.join("\n"));
    for (number, (chapter, functions)) in by_chapter(&functions).into_iter().enumerate() {
        let Chapter { name, title, text: about, .. } = chapter;
        let _ = write!(text, "/**\n * @defgroup {name} {}. {title}\n *\n * {about}\n * @{{\n */\n\n", number + 1);
        for (row, function) in functions {
            let _ = write!(text, "/**\n{}{} */\n{}\n\n", function.comment, rules(row), wrapped(&function.declaration));
        }
        text.push_str("/** @} */\n\n");
    }
    format!("{}{END}{after}", text.trim_end_matches('\n').to_owned() + "\n")
}

/// The page with the table of all functions.
pub fn page(header: &str) -> String {
    let (_, functions, _) = parts(header);
    let mut text = String::from(INTRODUCTION);
    for (chapter, functions) in by_chapter(&functions) {
        let _ = write!(text, "\n## {}\n\n{}\n\n{TABLE}", chapter.title, chapter.text);
        for (Row { conduct, .. }, function) in functions {
            let _ = writeln!(
                text,
                "| `{}` | {} | {} | {} | {} |",
                function.name, conduct.blocks, conduct.in_callbacks, conduct.threads, conduct.in_signal_handlers
            );
        }
    }
    text
}

const INTRODUCTION: &str = "# Functions of C

Where each function of `trunkline.h` may be called. The comments in the header say the same, and
list the result codes of each function. The order is that of the header: the order in which a
program needs the functions.

- **Blocks**: a function that doesn't block is safe in an event loop. One that blocks runs the
  callbacks of its port while it waits.
- **In callbacks**: a function that would wait for callbacks of the same port fails with
  `TRUNKLINE_BLOCKING`. Callbacks may use blocking functions of objects on other ports.
- **Threads**: any number of threads may use an object at once, unless the object has no lock (one
  at a time) or is being freed (the last to use it).
- **In signal handlers**: on Unix, signal handlers may call two functions.
";

const TABLE: &str =
    "| function | blocks | in callbacks | threads | in signal handlers |\n| --- | --- | --- | --- | --- |\n";

/// The faults of the declaration: functions without a row, rows without a function, comments that
/// contradict it, and callbacks that some languages cannot create.
pub fn faults(header: &str) -> Vec<String> {
    let (before, functions, _) = parts(header);
    let mut faults = structs_of_callbacks(before);
    for function in &functions {
        let Some((_, row)) = row_of(&function.name) else {
            faults.push(format!("{} is in no chapter", function.name));
            continue;
        };
        if function.gives_result() == row.fails.is_empty() {
            faults.push(format!("{}: result codes go with functions that return one", function.name));
        }
        let says_it_waits = [" Blocks ", "Blocks until", "inside a callback of the"];
        let says_it_waits = says_it_waits.iter().any(|words| function.comment.replace("\n *", "").contains(words));
        if says_it_waits != row.conduct.blocks.starts_with("yes") {
            faults.push(format!("{}: its comment and its row differ on whether it blocks", function.name));
        }
        for code in function.comment.split("`TRUNKLINE_").skip(1).filter_map(|rest| rest.split('`').next()) {
            let is_of_results = CHAPTERS.iter().flat_map(|chapter| chapter.rows).any(|row| row.fails.contains(&code));
            let explains =
                ["trunkline_error", "trunkline_http_cancel"].iter().any(|name| function.name.starts_with(name));
            if is_of_results && !explains && !row.fails.contains(&code) && !function.comment.contains("callback") {
                faults.push(format!("{}: its comment names {code}, its row does not", function.name));
            }
        }
    }
    for row in CHAPTERS.iter().flat_map(|chapter| chapter.rows) {
        let is_of = |function: &Function| row_of(&function.name).is_some_and(|(_, found)| std::ptr::eq(found, row));
        if !functions.iter().any(is_of) {
            faults.push(format!("{} fits no function", row.pattern));
        }
    }
    faults
}

/// Callbacks that take or return a struct by value, which LuaJIT and others do not support.
fn structs_of_callbacks(types: &str) -> Vec<String> {
    let structs: Vec<&str> = types
        .split("typedef struct {")
        .skip(1)
        .filter_map(|rest| rest.split_once("\n} ")?.1.split(';').next())
        .collect();
    let callbacks = types.split("typedef ").filter(|text| text.contains("(*trunkline_"));
    let callbacks = callbacks.filter_map(|text| text.split(';').next());
    let is_by_value = |part: &str| !part.contains('*') && structs.iter().any(|name| part.contains(name));
    let faulty = callbacks.filter(|callback| {
        let (returned, arguments) = callback.split_once("(*").unwrap_or_default();
        is_by_value(returned) || arguments.split_once(")(").unwrap_or_default().1.split(',').any(is_by_value)
    });
    faulty.map(|callback| format!("a callback has a struct by value: {callback}")).collect()
}

/// All functions of the header.
pub fn functions(header: &str) -> Vec<Function> {
    parts(header).1
}

/// Returns whether a function is declared to fail with a code.
pub fn fails_with(name: &str, code: &str) -> bool {
    row_of(name).is_some_and(|(_, row)| row.fails.contains(&code))
}

/// The part before the functions, the functions, and the part after them.
fn parts(header: &str) -> (&str, Vec<Function>, &str) {
    let (before, rest) = header.split_once(BEGIN).expect("the functions begin");
    let (functions, after) = rest.split_once(END).expect("the functions end");
    let functions = functions.split("/**\n").filter_map(|text| {
        let (comment, declaration) = text.split_once(" */\n")?;
        // Groups of an arranged header.
        let declaration = declaration.split("\n\n").next()?.trim();
        let name = declaration.split('(').next()?.rsplit([' ', '*']).next()?;
        let comment = comment.split(" *\n * Blocks: ").next()?.to_owned();
        let is_function = declaration.ends_with(';');
        is_function.then(|| Function { name: name.to_owned(), comment, declaration: declaration.to_owned() })
    });
    (before, functions.collect(), after)
}

/// A declaration with its arguments on separate lines if it is too wide.
fn wrapped(declaration: &str) -> String {
    if declaration.lines().all(|line| line.len() <= 100) {
        return declaration.to_owned();
    }
    let Some((begin, arguments)) = declaration.rsplit_once('(') else { return declaration.to_owned() };
    let arguments: Vec<_> = arguments.split(',').map(str::trim).collect();
    format!("{begin}(\n    {}", arguments.join(",\n    "))
}

fn by_chapter(functions: &[Function]) -> Vec<(&'static Chapter, Vec<(&'static Row, &Function)>)> {
    let of = |chapter: &'static Chapter| {
        let rows = chapter.rows.iter().flat_map(|row| {
            functions
                .iter()
                .filter(move |function| row_of(&function.name).is_some_and(|(_, of)| std::ptr::eq(of, row)))
                .map(move |function| (row, function))
        });
        (chapter, rows.collect())
    };
    CHAPTERS.iter().map(of).collect()
}

/// The most exact row of a function: the first that names it, or else the first whose beginning it
/// has.
fn row_of(name: &str) -> Option<(&'static Chapter, &'static Row)> {
    let rows = || CHAPTERS.iter().flat_map(|chapter| chapter.rows.iter().map(move |row| (chapter, row)));
    let begins = |pattern: &str| pattern.strip_suffix('*').is_some_and(|begin| name.starts_with(begin));
    rows()
        .find(|(_, row)| row.pattern == name)
        .or_else(|| rows().filter(|(_, row)| begins(row.pattern)).max_by_key(|(_, row)| row.pattern.len()))
}

/// The lines of a comment on where a function may be called and how it fails.
fn rules(Row { conduct, fails, .. }: &Row) -> String {
    let mut text = format!(
        "Blocks: {}. In callbacks: {}. Threads: {}. In signal handlers: {}.",
        conduct.blocks, conduct.in_callbacks, conduct.threads, conduct.in_signal_handlers
    );
    if !fails.is_empty() {
        let _ = write!(text, " Fails with: TRUNKLINE_{}.", fails.join(", TRUNKLINE_"));
    }
    let mut lines = vec![String::from(" *"), String::from(" *")];
    for word in text.split(' ') {
        if lines.last().is_some_and(|line| line.len() + 1 + word.len() > 98) {
            lines.push(String::from(" *"));
        }
        let last = lines.len() - 1;
        let _ = write!(lines[last], " {word}");
    }
    lines.join("\n") + "\n"
}
