//! The modules of a crate and the imports between them, according to its sources.
//!
//! A name resolves to the module that defines it, through any number of re-exports: `use
//! super::Call` next to `pub use call::Call` is an import of `call`, but the re-export itself
//! imports nothing. Paths in code count as imports, even in the arguments of macros. Test modules
//! are ignored. Calls of inherent methods need no import, so they are not detected.

use std::collections::{HashMap, HashSet};
use std::iter::Peekable;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use proc_macro2::{Delimiter, Group, TokenStream, TokenTree, token_stream::IntoIter};

/// Maximum number of imports that one name is resolved through.
const MAX_STEPS: usize = 64;

/// The modules of a crate; the first is its root.
pub(super) struct Tree {
    modules: Vec<Module>,
}

#[derive(Default)]
struct Module {
    /// The names of the module and its parents, relative to the root.
    path: Vec<String>,
    parent: Option<usize>,
    children: HashMap<String, usize>,
    imports: Vec<Import>,
    /// The paths with two or more names in the code.
    paths: Vec<Vec<String>>,
    /// The names that the module itself defines.
    items: HashSet<String>,
}

/// One name of a `use` declaration.
#[derive(Debug, PartialEq, Eq)]
struct Import {
    path: Vec<String>,
    /// The name in this module; `None` for `*`.
    name: Option<String>,
    is_reexport: bool,
}

#[derive(Clone, Copy)]
enum Entity {
    Module(usize),
    /// An item of the module.
    Item(usize),
}

type Tokens = Peekable<IntoIter>;

impl Tree {
    /// Parses the crate in a directory, from its `lib.rs` or `main.rs`.
    pub(super) fn read(folder: &Path) -> Result<Self> {
        let roots = ["lib.rs", "main.rs"].map(|name| folder.join(name));
        let root = roots
            .into_iter()
            .find(|root| root.exists())
            .ok_or_else(|| anyhow!("{} has neither lib.rs nor main.rs", folder.display()))?;
        let mut tree = Self { modules: vec![Module::default()] };
        tree.read_file(0, &root, folder.to_path_buf())?;
        Ok(tree)
    }

    pub(super) fn len(&self) -> usize {
        self.modules.len()
    }

    /// The path of a module within its crate.
    pub(super) fn name(&self, module: usize) -> String {
        let path = self.modules[module].path.join("::");
        if path.is_empty() { "crate".into() } else { path }
    }

    /// The names of the children of a module.
    pub(super) fn children(&self, path: &str) -> Vec<String> {
        let found = (0..self.len()).find(|module| self.name(*module) == path);
        let mut names: Vec<_> =
            found.iter().flat_map(|module| self.modules[*module].children.keys().cloned()).collect();
        names.sort();
        names
    }

    /// The modules that each module imports from.
    pub(super) fn edges(&self) -> Vec<Vec<usize>> {
        (0..self.modules.len()).map(|module| self.edges_of(module)).collect()
    }

    fn edges_of(&self, module: usize) -> Vec<usize> {
        let of = &self.modules[module];
        let imported =
            of.imports.iter().filter_map(|import| match (self.resolve(module, &import.path, 0)?, &import.name) {
                (Entity::Item(target), _) | (Entity::Module(target), None) => Some(target),
                // Paths that begin with the module's name are counted instead.
                (Entity::Module(_), Some(_)) => None,
            });
        let named = of.paths.iter().filter_map(|path| match self.resolve(module, path, 0)? {
            Entity::Item(target) => Some(target),
            Entity::Module(_) => None,
        });
        let mut edges: Vec<_> = imported.chain(named).filter(|target| *target != module).collect();
        edges.sort_unstable();
        edges.dedup();
        edges
    }

    /// Resolves a path in a module. Returns `None` if it belongs to another crate.
    fn resolve(&self, module: usize, path: &[String], steps: usize) -> Option<Entity> {
        if steps > MAX_STEPS {
            return None;
        }
        let (first, mut rest) = path.split_first()?;
        let mut entity = match first.as_str() {
            "crate" => Entity::Module(0),
            "self" => Entity::Module(module),
            "super" => {
                let mut parent = self.modules[module].parent?;
                while let Some(("super", further)) = rest.split_first().map(|(name, further)| (name.as_str(), further))
                {
                    parent = self.modules[parent].parent?;
                    rest = further;
                }
                Entity::Module(parent)
            }
            name => self.lookup(module, name, path, steps)?,
        };
        while let Some((name, further)) = rest.split_first() {
            rest = further;
            entity = match entity {
                // A function may have the same name as a module next to it; the last name of a path
                // is the function's.
                Entity::Module(of) if rest.is_empty() => {
                    let item = self.lookup_item(of, name, path, steps);
                    item.or_else(|| self.child(of, name)).or_else(|| self.own(of, name))?
                }
                Entity::Module(of) => self.lookup(of, name, path, steps).or_else(|| self.own(of, name))?,
                item @ Entity::Item(_) => item,
            };
        }
        Some(entity)
    }

    /// Resolves a name in a module. Returns `None` if it is neither a child nor imported nor
    /// defined there. `within` is the path being resolved, which cannot resolve to itself.
    fn lookup(&self, module: usize, name: &str, within: &[String], steps: usize) -> Option<Entity> {
        self.child(module, name).or_else(|| self.lookup_item(module, name, within, steps))
    }

    fn child(&self, module: usize, name: &str) -> Option<Entity> {
        self.modules[module].children.get(name).map(|child| Entity::Module(*child))
    }

    /// For an unresolved name: the module defines it with a macro, unless it comes from another
    /// crate.
    fn own(&self, module: usize, name: &str) -> Option<Entity> {
        let is_import = |import: &Import| import.name.as_deref() == Some(name);
        (!self.modules[module].imports.iter().any(is_import)).then_some(Entity::Item(module))
    }

    /// Like [`Self::lookup`], without the children of the module.
    fn lookup_item(&self, module: usize, name: &str, within: &[String], steps: usize) -> Option<Entity> {
        let of = &self.modules[module];
        if of.items.contains(name) {
            return Some(Entity::Item(module));
        }
        let import = of.imports.iter().find(|import| import.name.as_deref() == Some(name) && import.path != within);
        if let Some(import) = import {
            return self.resolve(module, &import.path, steps + 1);
        }
        of.imports.iter().filter(|import| import.name.is_none() && import.path != within).find_map(|import| match self
            .resolve(
            module,
            &import.path,
            steps + 1,
        )? {
            Entity::Module(target) if steps < MAX_STEPS => self.lookup(target, name, &import.path, steps + 1),
            _ => None,
        })
    }

    /// Parses the file of a module; the files of its children are in `folder`.
    fn read_file(&mut self, module: usize, file: &Path, folder: PathBuf) -> Result<()> {
        let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        let tokens: TokenStream =
            text.parse().map_err(|error| anyhow!("cannot read the tokens of {}: {error}", file.display()))?;
        self.scan(module, tokens, &folder)
    }

    fn add(&mut self, parent: usize, name: &str) -> usize {
        let number = self.modules.len();
        let mut path = self.modules[parent].path.clone();
        path.push(name.to_owned());
        self.modules.push(Module { path, parent: Some(parent), ..Module::default() });
        self.modules[parent].children.insert(name.to_owned(), number);
        number
    }

    fn scan(&mut self, module: usize, tokens: TokenStream, folder: &Path) -> Result<()> {
        let mut tokens = tokens.into_iter().peekable();
        // The token before an identifier tells whether a path starts there.
        let mut after_joint = false;
        let mut after_pub = false;
        while let Some(token) = tokens.next() {
            let joint = matches!(&token, TokenTree::Punct(punct) if matches!(punct.as_char(), ':' | '.'));
            let public = match &token {
                TokenTree::Ident(word) => word == "pub",
                TokenTree::Group(group) => after_pub && group.delimiter() == Delimiter::Parenthesis,
                _ => false,
            };
            match token {
                TokenTree::Punct(punct) if punct.as_char() == '#' => skip_attribute(&mut tokens),
                TokenTree::Group(group) => self.scan(module, group.stream(), folder)?,
                TokenTree::Ident(ident) => {
                    let word = ident.to_string();
                    match word.as_str() {
                        "use" if !is_punct(tokens.peek(), '<') => {
                            let declared: TokenStream =
                                tokens.by_ref().take_while(|token| !is_punct(Some(token), ';')).collect();
                            let imports = &mut self.modules[module].imports;
                            read_use(&mut declared.into_iter().peekable(), &[], after_pub, imports);
                        }
                        "mod" => self.read_mod(module, &mut tokens, folder)?,
                        "fn" | "struct" | "enum" | "union" | "trait" | "type" | "const" | "static" => {
                            if let Some(TokenTree::Ident(name)) = tokens.peek() {
                                let name = name.to_string();
                                self.modules[module].items.insert(name);
                            }
                        }
                        _ if !after_joint => {
                            let path = read_path(word, &mut tokens);
                            if path.len() > 1 {
                                self.modules[module].paths.push(path);
                            }
                        }
                        _ => {}
                    }
                }
                _ => {}
            }
            after_joint = joint;
            after_pub = public;
        }
        Ok(())
    }

    fn read_mod(&mut self, module: usize, tokens: &mut Tokens, folder: &Path) -> Result<()> {
        let Some(TokenTree::Ident(name)) = tokens.next() else { return Ok(()) };
        let name = name.to_string();
        let inner = folder.join(name.trim_start_matches("r#"));
        match tokens.next() {
            Some(TokenTree::Group(body)) => {
                let child = self.add(module, &name);
                self.scan(child, body.stream(), &inner)
            }
            _ => {
                let child = self.add(module, &name);
                let files = [inner.with_extension("rs"), inner.join("mod.rs")];
                let file = files.iter().find(|file| file.exists()).with_context(|| {
                    format!("the module {} has no file below {}", self.name(child), folder.display())
                })?;
                self.read_file(child, file, inner)
            }
        }
    }
}

/// Skips the attribute after a `#`, and the item after it if that only exists in tests.
fn skip_attribute(tokens: &mut Tokens) {
    if is_punct(tokens.peek(), '!') {
        tokens.next();
    }
    let Some(TokenTree::Group(group)) = tokens.peek() else { return };
    let is_for_tests = is_for_tests(group);
    tokens.next();
    if !is_for_tests {
        return;
    }
    while is_punct(tokens.peek(), '#') {
        tokens.next();
        tokens.next();
    }
    let mut is_use = false;
    for token in tokens.by_ref() {
        match token {
            TokenTree::Ident(word) if word == "use" => is_use = true,
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace && !is_use => return,
            TokenTree::Punct(punct) if punct.as_char() == ';' => return,
            _ => {}
        }
    }
}

/// Returns whether an attribute is `cfg(test)`, or a `cfg` that requires it.
fn is_for_tests(attribute: &Group) -> bool {
    fn needs_test(condition: &[TokenTree]) -> bool {
        match condition {
            [TokenTree::Ident(word)] => word == "test",
            [TokenTree::Ident(word), TokenTree::Group(all)] if word == "all" => {
                let all: Vec<_> = all.stream().into_iter().collect();
                all.split(|token| is_punct(Some(token), ',')).any(needs_test)
            }
            _ => false,
        }
    }
    let tokens: Vec<_> = attribute.stream().into_iter().collect();
    match tokens.as_slice() {
        [TokenTree::Ident(word), TokenTree::Group(condition)] if word == "cfg" => {
            needs_test(&condition.stream().into_iter().collect::<Vec<_>>())
        }
        _ => false,
    }
}

fn is_punct(token: Option<&TokenTree>, wanted: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == wanted)
}

/// Consumes `::` if it comes next.
fn take_separator(tokens: &mut Tokens) -> bool {
    if !is_punct(tokens.peek(), ':') {
        return false;
    }
    let mut ahead = tokens.clone();
    ahead.next();
    let is_separator = is_punct(ahead.peek(), ':');
    if is_separator {
        tokens.next();
        tokens.next();
    }
    is_separator
}

/// Reads the rest of a path that starts with a name.
fn read_path(first: String, tokens: &mut Tokens) -> Vec<String> {
    let mut path = vec![first];
    while take_separator(tokens) {
        match tokens.peek() {
            Some(TokenTree::Ident(name)) => {
                path.push(name.to_string());
                tokens.next();
            }
            _ => break,
        }
    }
    path
}

/// Reads the tree of a `use` declaration.
fn read_use(tokens: &mut Tokens, prefix: &[String], is_reexport: bool, imports: &mut Vec<Import>) {
    let mut path = prefix.to_vec();
    // A leading `::` names another crate.
    if take_separator(tokens) {
        return;
    }
    loop {
        match tokens.next() {
            Some(TokenTree::Ident(name)) => {
                let name = name.to_string();
                if name == "as" {
                    if let Some(TokenTree::Ident(renamed)) = tokens.next() {
                        imports.push(Import { path, name: Some(renamed.to_string()), is_reexport });
                    }
                    return;
                }
                // `self` in a group is the module of that group.
                if name != "self" || path.is_empty() {
                    path.push(name);
                }
                if !take_separator(tokens) && !matches!(tokens.peek(), Some(TokenTree::Ident(word)) if word == "as") {
                    let name = path.last().cloned();
                    imports.push(Import { path, name, is_reexport });
                    return;
                }
            }
            Some(TokenTree::Group(group)) => {
                let members: Vec<_> = group.stream().into_iter().collect();
                for member in members.split(|token| is_punct(Some(token), ',')) {
                    let member: TokenStream = member.iter().cloned().collect();
                    read_use(&mut member.into_iter().peekable(), &path, is_reexport, imports);
                }
                return;
            }
            Some(TokenTree::Punct(star)) if star.as_char() == '*' => {
                imports.push(Import { path, name: None, is_reexport });
                return;
            }
            _ => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn imports(text: &str) -> Vec<String> {
        let mut found = Vec::new();
        read_use(&mut text.parse::<TokenStream>().unwrap().into_iter().peekable(), &[], false, &mut found);
        found
            .iter()
            .map(|import| format!("{} = {}", import.name.as_deref().unwrap_or("*"), import.path.join("::")))
            .collect()
    }

    #[test]
    fn a_declaration_is_read_with_its_groups_names_and_stars() {
        let read = imports("crate::{a::{self, B as C}, super::d::*, e}");
        assert_eq!(read, ["a = crate::a", "C = crate::a::B", "* = crate::super::d", "e = crate::e"]);
        assert_eq!(imports("a::B as _"), ["_ = a::B"]);
        assert_eq!(imports("::std::fmt"), [] as [&str; 0]);
    }

    /// Writes the files of a crate to a separate directory and returns its edges.
    fn edges(test: &str, files: &[(&str, &str)]) -> Vec<String> {
        let folder = std::env::temp_dir().join(format!("trunkline-circles-{}-{test}", std::process::id()));
        for (name, text) in files {
            let file = folder.join(name);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text).unwrap();
        }
        let tree = Tree::read(&folder);
        std::fs::remove_dir_all(&folder).unwrap();
        let tree = tree.unwrap();
        let mut edges: Vec<_> = tree
            .edges()
            .iter()
            .enumerate()
            .flat_map(|(from, to)| to.iter().map(move |to| (from, *to)))
            .map(|(from, to)| format!("{} -> {}", tree.name(from), tree.name(to)))
            .collect();
        edges.sort();
        edges
    }

    #[test]
    fn names_lead_through_reexports_to_the_module_that_defines_them() {
        let files = [
            ("lib.rs", "mod a; mod b; pub use a::Deep; use std::fmt::Debug;"),
            ("a/mod.rs", "mod deep; mod other; pub use deep::Deep; pub(crate) use other::*;"),
            ("a/deep.rs", "pub struct Deep;"),
            ("a/other.rs", "pub fn other() {} use super::Deep;"),
            ("b.rs", "use crate::{Deep, a}; fn b() { a::other(); Deep::new() }"),
        ];
        let expected = [
            "a -> a::deep",
            "a -> a::other",
            "a::other -> a::deep",
            "b -> a::deep",
            "b -> a::other",
            "crate -> a::deep",
        ];
        assert_eq!(edges("reexports", &files), expected);
    }

    #[test]
    fn paths_in_code_and_in_macros_count_and_tests_do_not() {
        let files = [
            ("lib.rs", "mod a; mod b; mod c { pub mod inner { pub fn f() {} } }"),
            ("a.rs", "fn a() { println!(\"{}\", crate::b::x::<u8>()); let y = z.b::<u8>(); super::c::inner::f(); }"),
            (
                "b.rs",
                "#[cfg(test)] #[allow(x)] mod tests { use crate::a::A; } #[cfg(test)] use crate::c::{inner::f}; \
                 #[cfg(all(unix, test))] fn g() { crate::a::a() } #[cfg(not(test))] fn h() { self::x(); crate::c::k() }",
            ),
        ];
        assert_eq!(edges("paths", &files), ["a -> b", "a -> c::inner", "b -> c"]);
    }

    #[test]
    fn names_of_other_crates_are_no_imports() {
        let files = [
            ("lib.rs", "mod a; pub use other::protocol; use other::http; macro_rules! m { () => {} }"),
            (
                "a.rs",
                "use crate::protocol::{self, B}; use other::a; use crate::made_by_a_macro; fn f() { crate::http::g() }",
            ),
        ];
        assert_eq!(edges("crates", &files), ["a -> crate"]);
    }

    #[test]
    fn children_of_files_lie_in_a_folder_of_the_same_name() {
        let files = [
            ("lib.rs", "mod a;"),
            ("a.rs", "mod b; pub struct A(b::B);"),
            ("a/b.rs", "use super::super::a::A; pub struct B(Box<A>);"),
        ];
        assert_eq!(edges("children", &files), ["a -> a::b", "a::b -> a"]);
    }
}
