//! Regular expressions of schemas, matched within a step budget (SCH-10).
//!
//! Patterns without look-around and back-references use an engine that takes linear time. The
//! others are matched here, by backtracking with memoization: each state of a pattern is tried once
//! at each position of a string. With back-references nothing can be memoized, so only the budget
//! limits the time.
//!
//! Established crates do not limit the work of look-around: `fancy-regex` limits backtracks but not
//! the steps between them, which are quadratic in the length of the string if a look-ahead is tried
//! at every position; `regress` has no limit; `pcre2` is C.

use regex::Regex;
use regex_syntax::hir::{Class, HirKind};
use std::{
    cell::Cell,
    collections::HashMap,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

/// Maximum number of instructions of one pattern.
const MAX_INSTRUCTIONS: usize = 20_000;
/// A pattern that only the linear engine can parse counts as this many.
const ASSUMED_INSTRUCTIONS: usize = 1_000;
/// Character ranges that count as one instruction.
const RANGES_PER_INSTRUCTION: usize = 16;
/// Maximum nesting of groups.
const MAX_GROUPS: usize = 100;
/// Maximum number of memoized bits per string.
const MAX_REMEMBERED: usize = 1 << 26;

thread_local! {
    static BUDGET: Cell<Budget> = const { Cell::new(Budget { steps: 0, linear: 0, is_exhausted: false }) };
}

/// The remaining work for the patterns of one value, on the thread that checks it.
#[derive(Clone, Copy)]
pub(super) struct Budget {
    /// For the engine in this module.
    steps: u64,
    /// For the linear engine: states of patterns times bytes of the string.
    linear: u64,
    is_exhausted: bool,
}

impl Budget {
    /// Starts the next value with this number of steps.
    pub(super) fn renew(steps: u64) {
        BUDGET.set(Self { steps, linear: steps, is_exhausted: false });
    }

    /// Returns whether a match was abandoned.
    pub(super) fn is_exhausted() -> bool {
        BUDGET.get().is_exhausted
    }
}

/// A compiled pattern.
pub(super) struct Pattern {
    linear: Option<Regex>,
    /// `None` if only the linear engine can parse the pattern.
    program: Option<Program>,
}

impl Pattern {
    /// Compiles a pattern and subtracts its size from `room`.
    ///
    /// # Errors
    /// If the pattern is malformed, or exceeds `room`; the error says which.
    pub(super) fn compile(pattern: &str, room: &mut usize) -> Result<Self, &'static str> {
        *room = room.checked_sub(pattern.len()).ok_or(NO_ROOM)?;
        let program = Program::compile(pattern);
        let size = match &program {
            Ok(program) => program.size(),
            Err(TOO_LARGE) => MAX_INSTRUCTIONS,
            Err(_) => ASSUMED_INSTRUCTIONS,
        };
        *room = room.checked_sub(size).ok_or(NO_ROOM)?;
        let translated = jsonschema_regex::to_rust_regex(pattern).map_err(|()| "not a regular expression")?;
        let linear = Regex::new(&translated).ok();
        match program {
            Err(problem) if linear.is_none() => Err(problem),
            program => Ok(Self { linear, program: program.ok() }),
        }
    }

    /// Returns whether the linear engine supports it.
    pub(super) fn is_linear(&self) -> bool {
        self.linear.is_some()
    }

    /// Maximum number of steps per byte of a string, or `None` if unknown.
    pub(super) fn weight(&self) -> Option<u64> {
        match &self.program {
            Some(program) if self.is_linear() || program.remembers() => Some(program.code.len() as u64),
            Some(_) => None,
            None => Some(MAX_INSTRUCTIONS as u64),
        }
    }

    /// Returns whether the pattern matches anywhere in the string; `false` if that would exceed the
    /// budget.
    pub(super) fn is_match(&self, text: &str) -> bool {
        let mut budget = BUDGET.get();
        let cost = self.weight().unwrap_or(u64::MAX).saturating_mul(text.len() as u64);
        let matches = match (&self.linear, &self.program) {
            (Some(linear), _) if cost <= budget.linear => {
                budget.linear -= cost;
                // `regex` panics on some patterns: https://github.com/rust-lang/regex/issues/1344
                catch_unwind(AssertUnwindSafe(|| linear.is_match(text))).ok()
            }
            (_, Some(program)) => program.is_match(text, &mut budget.steps),
            _ => None,
        };
        budget.is_exhausted |= matches.is_none();
        BUDGET.set(budget);
        matches.unwrap_or(false)
    }
}

/// A set of characters.
#[derive(Clone)]
struct CharSet {
    /// One bit for each ASCII character.
    ascii: u128,
    ranges: Arc<[(char, char)]>,
}

impl CharSet {
    fn new(ranges: impl IntoIterator<Item = (char, char)>) -> Self {
        let ranges: Arc<[_]> = ranges.into_iter().collect();
        let has = |code: &u8| ranges.iter().any(|(first, last)| (*first..=*last).contains(&(*code as char)));
        Self { ascii: (0..128).filter(has).fold(0, |bits, code| bits | 1 << code), ranges }
    }

    fn contains(&self, char: char) -> bool {
        if char.is_ascii() {
            return self.ascii & 1 << (char as u32) != 0;
        }
        let after = self.ranges.partition_point(|(first, _)| *first <= char);
        after > 0 && self.ranges[after - 1].1 >= char
    }
}

/// A part of a pattern.
enum Node {
    Class(CharSet),
    Concat(Vec<Node>),
    Either(Vec<Node>),
    Repeat {
        node: Box<Node>,
        least: usize,
        most: Option<usize>,
        greedy: bool,
    },
    Capture(usize, Box<Node>),
    Look {
        behind: bool,
        negative: bool,
        node: Box<Node>,
    },
    Assert(Assertion),
    /// The group of this number, or of this name.
    BackReference(Result<usize, String>),
}

#[derive(Clone, Copy)]
enum Assertion {
    Start,
    End,
    Boundary,
    NoBoundary,
}

/// Parses the syntax of ECMA-262, with the flags `i` and `s`.
struct Parser<'a> {
    rest: &'a str,
    groups: usize,
    depth: usize,
    names: HashMap<String, usize>,
    ignore_case: bool,
    dot_all: bool,
}

type Parsed<T> = Result<T, &'static str>;

const UNCLOSED: &str = "unclosed group";

impl<'a> Parser<'a> {
    fn eat(&mut self, token: &str) -> bool {
        let rest = self.rest.strip_prefix(token);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.rest.chars().next()?;
        self.rest = &self.rest[next.len_utf8()..];
        Some(next)
    }

    /// The text before a character, which is consumed.
    fn until(&mut self, end: char) -> Parsed<&'a str> {
        let (text, rest) = self.rest.split_once(end).ok_or(UNCLOSED)?;
        self.rest = rest;
        Ok(text)
    }

    fn either(&mut self) -> Parsed<Node> {
        self.depth += 1;
        if self.depth > MAX_GROUPS {
            return Err("its groups nest more than 100 levels deep");
        }
        let flags = (self.ignore_case, self.dot_all);
        let mut branches = vec![self.concat()?];
        while self.eat("|") {
            branches.push(self.concat()?);
        }
        (self.ignore_case, self.dot_all) = flags;
        self.depth -= 1;
        Ok(if branches.len() == 1 { branches.remove(0) } else { Node::Either(branches) })
    }

    fn concat(&mut self) -> Parsed<Node> {
        let mut nodes = Vec::new();
        while !self.rest.is_empty() && !self.rest.starts_with(['|', ')']) {
            let node = self.atom()?;
            let (least, most) = match self.rest.as_bytes().first() {
                Some(b'*') => (0, None),
                Some(b'+') => (1, None),
                Some(b'?') => (0, Some(1)),
                Some(b'{') => self.counts()?.unwrap_or((1, Some(1))),
                _ => {
                    nodes.push(node);
                    continue;
                }
            };
            if self.rest.starts_with(['*', '+', '?']) {
                self.next();
            }
            let greedy = !self.eat("?");
            if self.rest.starts_with('+') {
                return Err("a possessive quantifier");
            }
            nodes.push(Node::Repeat { node: Box::new(node), least, most, greedy });
        }
        Ok(Node::Concat(nodes))
    }

    /// The counts of `{1,2}`, which is consumed, or `None` if the brace is a literal.
    fn counts(&mut self) -> Parsed<Option<(usize, Option<usize>)>> {
        let Some((inside, rest)) = self.rest[1..].split_once('}') else { return Ok(None) };
        let (least, most) = inside
            .split_once(',')
            .map_or((inside, Some(inside)), |(least, most)| (least, (!most.is_empty()).then_some(most)));
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number(least) || !most.is_none_or(is_number) {
            return Ok(None);
        }
        let number = |text: &str| text.parse().map_err(|_| TOO_LARGE);
        let (least, most) = (number(least)?, most.map(number).transpose()?);
        if most.is_some_and(|most| most < least) {
            return Err("repetition range out of order");
        }
        // The rest is in the position of a one-character quantifier.
        self.rest = rest;
        Ok(Some((least, most)))
    }

    fn atom(&mut self) -> Parsed<Node> {
        let before = self.rest;
        match self.next() {
            Some('(') => self.group(),
            Some('[') => {
                // Only in Rust, a bracket that comes first is literal; here, `[]` is empty.
                let mut escaped = false;
                let end = self.rest.find(|char: char| {
                    let ends = char == ']' && !escaped;
                    escaped = char == '\\' && !escaped;
                    ends
                });
                let end = end.ok_or("unclosed character class")?;
                self.rest = &self.rest[end + 1..];
                match &before[..end + 2] {
                    "[]" => Ok(Node::Class(CharSet::new([]))),
                    "[^]" => Ok(Node::Class(CharSet::new([('\0', char::MAX)]))),
                    class => self.class(class),
                }
            }
            Some('.') if self.dot_all => Ok(Node::Class(CharSet::new([('\0', char::MAX)]))),
            Some('.') => Ok(Node::Class(CharSet::new([('\0', '\t'), ('\u{b}', char::MAX)]))),
            Some('^') => Ok(Node::Assert(Assertion::Start)),
            Some('$') => Ok(Node::Assert(Assertion::End)),
            Some('*' | '+' | '?') => Err("nothing to repeat"),
            Some('\\') => self.escape(before),
            Some(char) => self.literal(char),
            None => Err(UNCLOSED),
        }
    }

    fn group(&mut self) -> Parsed<Node> {
        const LOOKS: [(&str, bool, bool); 4] =
            [("?=", false, false), ("?!", false, true), ("?<=", true, false), ("?<!", true, true)];
        if let Some((_, behind, negative)) = LOOKS.into_iter().find(|(token, ..)| self.eat(token)) {
            return Ok(Node::Look { behind, negative, node: Box::new(self.rest_of_group()?) });
        }
        let name = if self.eat("?<") || self.eat("?P<") { Some(self.until('>')?) } else { None };
        if name.is_some() || !self.eat("?") {
            self.groups += 1;
            let number = self.groups;
            self.names.extend(name.map(|name| (name.to_owned(), number)));
            return Ok(Node::Capture(number, Box::new(self.rest_of_group()?)));
        }
        let flags = (self.ignore_case, self.dot_all);
        loop {
            match self.next() {
                Some('i') => self.ignore_case = true,
                Some('s') => self.dot_all = true,
                Some('u') => {}
                // At the end of the enclosing group.
                Some(')') => return Ok(Node::Concat(Vec::new())),
                Some(':') => break,
                _ => return Err("a kind of group that JSON Schema does not support"),
            }
        }
        let node = self.rest_of_group()?;
        (self.ignore_case, self.dot_all) = flags;
        Ok(node)
    }

    fn rest_of_group(&mut self) -> Parsed<Node> {
        let node = self.either()?;
        if self.eat(")") { Ok(node) } else { Err(UNCLOSED) }
    }

    /// Parses an escape; `before` starts with its backslash.
    fn escape(&mut self, before: &'a str) -> Parsed<Node> {
        let class = |this: &Self| this.class(&before[..before.len() - this.rest.len()]);
        match self.next() {
            Some('b') => Ok(Node::Assert(Assertion::Boundary)),
            Some('B') => Ok(Node::Assert(Assertion::NoBoundary)),
            Some('A') => Ok(Node::Assert(Assertion::Start)),
            Some('z') => Ok(Node::Assert(Assertion::End)),
            Some('1'..='9') => {
                let digits = self.rest.find(|char: char| !char.is_ascii_digit()).unwrap_or(self.rest.len());
                let number = before[1..digits + 2].parse().map_err(|_| "a reference to a group that does not exist")?;
                self.rest = &self.rest[digits..];
                Ok(Node::BackReference(Ok(number)))
            }
            Some('k') if self.eat("<") => Ok(Node::BackReference(Err(self.until('>')?.to_owned()))),
            Some('d' | 'D' | 'w' | 'W' | 's' | 'S' | 't' | 'n' | 'r' | 'f' | 'v') => class(self),
            Some('p' | 'P' | 'u' | 'x') if self.eat("{") => {
                self.until('}')?;
                class(self)
            }
            Some('p' | 'P') => {
                self.next();
                class(self)
            }
            Some(kind @ ('x' | 'u')) => {
                let digits = if kind == 'x' { 2 } else { 4 };
                self.rest = self.rest.get(digits..).ok_or("incomplete escape")?;
                class(self)
            }
            Some('c') => match self.next() {
                Some(letter) if letter.is_ascii_alphabetic() => self.literal((letter as u8 % 32) as char),
                _ => Err("a control escape without its letter"),
            },
            Some('0') => self.literal('\0'),
            Some(char) if !char.is_ascii_alphanumeric() => self.literal(char),
            _ => Err("an escape that JSON Schema does not support"),
        }
    }

    fn literal(&self, char: char) -> Parsed<Node> {
        if self.ignore_case {
            self.class(&format!(r"\x{{{:x}}}", char as u32))
        } else {
            Ok(Node::Class(CharSet::new([(char, char)])))
        }
    }

    /// A class of one character, from its source.
    fn class(&self, source: &str) -> Parsed<Node> {
        const WRONG: &str = "invalid character class";
        let source = jsonschema_regex::to_rust_regex(source).map_err(|()| WRONG)?;
        let source = if self.ignore_case { format!("(?i:{source})") } else { source.into_owned() };
        let hir = regex_syntax::parse(&source).map_err(|_| WRONG)?;
        let set = match hir.kind() {
            HirKind::Class(Class::Unicode(class)) => {
                CharSet::new(class.ranges().iter().map(|range| (range.start(), range.end())))
            }
            HirKind::Class(Class::Bytes(class)) => {
                CharSet::new(class.ranges().iter().map(|range| (range.start() as char, range.end() as char)))
            }
            HirKind::Literal(literal) => {
                let text = str::from_utf8(&literal.0).map_err(|_| WRONG)?;
                let char = text.chars().next().filter(|char| char.len_utf8() == text.len()).ok_or(WRONG)?;
                CharSet::new([(char, char)])
            }
            _ => return Err(WRONG),
        };
        Ok(Node::Class(set))
    }
}

const TOO_LARGE: &str = "it is too large";
/// The error for a pattern that is too large together with the others.
pub(super) const NO_ROOM: &str = "its patterns are too large";

/// One step of a program.
enum Instruction {
    /// Matches one character; the one before the position if it goes back.
    Class {
        set: CharSet,
        back: bool,
    },
    /// Continues at the first target or else at the second; with its row in the memo table.
    Split(usize, usize, usize),
    Jump(usize),
    Assert(Assertion),
    /// Continues at `next` if the following instructions match here, or do not match.
    Look {
        negative: bool,
        next: usize,
    },
    Save(usize),
    /// Fails if the position is the saved one: an iteration that consumed nothing.
    Moved(usize),
    BackReference {
        group: usize,
        back: bool,
    },
    Match,
}

/// A compiled pattern.
struct Program {
    code: Vec<Instruction>,
    /// Number of saved positions; without any, everything can be memoized.
    slots: usize,
    /// Number of splits.
    rows: usize,
    has_looks: bool,
}

impl Program {
    fn compile(pattern: &str) -> Parsed<Self> {
        let mut parser =
            Parser { rest: pattern, groups: 0, depth: 0, names: HashMap::new(), ignore_case: false, dot_all: false };
        let node = parser.either()?;
        if !parser.rest.is_empty() {
            return Err("unmatched closing parenthesis");
        }
        let mut program = Self { code: Vec::new(), slots: 0, rows: 0, has_looks: false };
        if refers_back(&node) {
            program.slots = 2 * (parser.groups + 1);
        }
        program.emit(&node, false, &parser)?;
        program.push(Instruction::Match)?;
        Ok(program)
    }

    fn remembers(&self) -> bool {
        self.slots == 0
    }

    /// Approximate number of instructions that the pattern takes in any engine.
    fn size(&self) -> usize {
        let size = |instruction: &Instruction| match instruction {
            Instruction::Class { set, .. } => 1 + set.ranges.len() / RANGES_PER_INSTRUCTION,
            _ => 1,
        };
        self.code.iter().map(size).sum()
    }

    fn push(&mut self, instruction: Instruction) -> Parsed<usize> {
        if self.code.len() == MAX_INSTRUCTIONS {
            return Err(TOO_LARGE);
        }
        self.code.push(instruction);
        Ok(self.code.len() - 1)
    }

    /// Adds a split without a second target.
    fn split(&mut self) -> Parsed<usize> {
        self.rows += 1;
        self.push(Instruction::Split(self.code.len() + 1, 0, self.rows - 1))
    }

    /// Sets the second target of a split; a lazy one tries it first.
    fn join(&mut self, split: usize, target: usize, greedy: bool) {
        if let Instruction::Split(first, second, _) = &mut self.code[split] {
            (*first, *second) = if greedy { (*first, target) } else { (target, *first) };
        }
    }

    fn emit(&mut self, node: &Node, back: bool, parser: &Parser<'_>) -> Parsed<()> {
        match node {
            Node::Class(set) => drop(self.push(Instruction::Class { set: set.clone(), back })?),
            Node::Concat(nodes) if back => nodes.iter().rev().try_for_each(|node| self.emit(node, back, parser))?,
            Node::Concat(nodes) => nodes.iter().try_for_each(|node| self.emit(node, back, parser))?,
            Node::Either(nodes) => self.emit_either(nodes, back, parser)?,
            Node::Repeat { node, least, most, greedy } => {
                let before = self.code.len();
                for _ in 0..*least {
                    self.emit(node, back, parser)?;
                    if self.code.len() == before {
                        return Ok(());
                    }
                }
                let Some(most) = most else { return self.emit_loop(node, *greedy, back, parser) };
                let mut splits = Vec::new();
                for _ in *least..*most {
                    splits.push(self.split()?);
                    self.emit(node, back, parser)?;
                }
                let end = self.code.len();
                for split in splits {
                    self.join(split, end, *greedy);
                }
            }
            Node::Capture(_, node) if self.remembers() => self.emit(node, back, parser)?,
            Node::Capture(number, node) => {
                self.push(Instruction::Save(2 * number + usize::from(back)))?;
                self.emit(node, back, parser)?;
                self.push(Instruction::Save(2 * number + usize::from(!back)))?;
            }
            Node::Look { behind, negative, node } => {
                self.has_looks = true;
                let look = self.push(Instruction::Look { negative: *negative, next: 0 })?;
                self.emit(node, *behind, parser)?;
                let next = self.push(Instruction::Match)? + 1;
                self.code[look] = Instruction::Look { negative: *negative, next };
            }
            Node::Assert(assertion) => drop(self.push(Instruction::Assert(*assertion))?),
            Node::BackReference(group) => {
                let group = match group {
                    Ok(number) => Some(*number).filter(|number| *number <= parser.groups),
                    Err(name) => parser.names.get(name).copied(),
                };
                self.push(Instruction::BackReference {
                    group: group.ok_or("a reference to a group that does not exist")?,
                    back,
                })?;
            }
        }
        Ok(())
    }

    /// Emits alternatives; the first that matches wins.
    fn emit_either(&mut self, nodes: &[Node], back: bool, parser: &Parser<'_>) -> Parsed<()> {
        let mut jumps = Vec::new();
        for (position, node) in nodes.iter().enumerate() {
            let is_last = position + 1 == nodes.len();
            let split = if is_last { None } else { Some(self.split()?) };
            self.emit(node, back, parser)?;
            if let Some(split) = split {
                jumps.push(self.push(Instruction::Jump(0))?);
                self.join(split, self.code.len(), true);
            }
        }
        let end = self.code.len();
        for jump in jumps {
            self.code[jump] = Instruction::Jump(end);
        }
        Ok(())
    }

    /// Emits any number of repetitions.
    fn emit_loop(&mut self, node: &Node, greedy: bool, back: bool, parser: &Parser<'_>) -> Parsed<()> {
        let split = self.split()?;
        let slot = (!self.remembers()).then_some(self.slots);
        if let Some(slot) = slot {
            self.slots += 1;
            self.push(Instruction::Save(slot))?;
        }
        self.emit(node, back, parser)?;
        if let Some(slot) = slot {
            self.push(Instruction::Moved(slot))?;
        }
        // Directly back to the repeated part, without a jump.
        self.rows += 1;
        let (again, end, row) = (split + 1, self.code.len() + 1, self.rows - 1);
        let (first, second) = if greedy { (again, end) } else { (end, again) };
        self.push(Instruction::Split(first, second, row))?;
        self.join(split, end, greedy);
        Ok(())
    }

    /// Returns whether the pattern matches anywhere, or `None` if the steps run out.
    fn is_match(&self, text: &str, steps: &mut u64) -> Option<bool> {
        let width = text.len() + 1;
        let bits = if self.remembers() { self.rows.saturating_mul(width) } else { 0 };
        if bits > MAX_REMEMBERED {
            *steps = 0;
            return None;
        }
        let memory = |wanted: bool| vec![0; if wanted { bits.div_ceil(64) } else { 0 }];
        let mut run = Execution {
            program: self,
            text,
            width,
            steps,
            failed: memory(true),
            matched: memory(self.has_looks),
            path: Vec::new(),
            saved: vec![usize::MAX; self.slots],
            stack: Vec::new(),
        };
        let anchored = matches!(self.code.first(), Some(Instruction::Assert(Assertion::Start)));
        let starts = text.char_indices().map(|(start, _)| start).chain([text.len()]);
        for start in starts.take(if anchored { 1 } else { usize::MAX }) {
            if run.matches(0, start) {
                return Some(true);
            }
            if *run.steps == 0 {
                return None;
            }
        }
        Some(false)
    }
}

fn refers_back(node: &Node) -> bool {
    match node {
        Node::BackReference(_) => true,
        Node::Concat(nodes) | Node::Either(nodes) => nodes.iter().any(refers_back),
        Node::Repeat { node, .. } | Node::Capture(_, node) | Node::Look { node, .. } => refers_back(node),
        Node::Class(_) | Node::Assert(_) => false,
    }
}

/// The execution of a program on one string.
struct Execution<'a> {
    program: &'a Program,
    text: &'a str,
    width: usize,
    steps: &'a mut u64,
    /// The splits that were tried, by row and position, and those for which a match is known.
    failed: Vec<u64>,
    matched: Vec<u64>,
    /// The splits on the current path.
    path: Vec<usize>,
    saved: Vec<usize>,
    stack: Vec<Backtrack>,
}

/// An alternative to try when the current one fails.
enum Backtrack {
    Branch { pc: usize, at: usize, path: usize },
    Restore(usize, usize),
}

impl Execution<'_> {
    /// Returns whether the program matches, starting at an instruction.
    fn matches(&mut self, pc: usize, at: usize) -> bool {
        let (bottom, path) = (self.stack.len(), self.path.len());
        self.stack.push(Backtrack::Branch { pc, at, path });
        let mut found = false;
        while !found && self.stack.len() > bottom {
            match self.stack.pop() {
                Some(Backtrack::Restore(slot, target)) => self.saved[slot] = target,
                Some(Backtrack::Branch { pc, at, path }) => {
                    self.path.truncate(path);
                    found = self.follow(pc, at);
                }
                None => {}
            }
        }
        if found {
            if self.program.has_looks && self.program.remembers() {
                for &split in &self.path[path..] {
                    self.matched[split / 64] |= 1 << (split % 64);
                }
            }
            // Saved positions are restored if the enclosing alternative fails.
            let mut kept = bottom;
            for frame in bottom..self.stack.len() {
                if matches!(self.stack[frame], Backtrack::Restore(..)) {
                    self.stack.swap(kept, frame);
                    kept += 1;
                }
            }
            self.stack.truncate(kept);
        }
        self.path.truncate(path);
        found
    }

    /// Follows one path to its end.
    fn follow(&mut self, mut pc: usize, mut at: usize) -> bool {
        loop {
            if *self.steps == 0 {
                return false;
            }
            *self.steps -= 1;
            match &self.program.code[pc] {
                Instruction::Class { set, back } => {
                    let char = if *back { self.before(at) } else { self.after(at) };
                    let Some(char) = char.filter(|char| set.contains(*char)) else { return false };
                    at = if *back { at - char.len_utf8() } else { at + char.len_utf8() };
                    pc += 1;
                }
                Instruction::Split(first, second, row) => {
                    if let Some(known) = self.remember(row * self.width + at) {
                        return known;
                    }
                    self.stack.push(Backtrack::Branch { pc: *second, at, path: self.path.len() });
                    pc = *first;
                }
                Instruction::Jump(target) => pc = *target,
                Instruction::Assert(assertion) => {
                    if !self.holds(*assertion, at) {
                        return false;
                    }
                    pc += 1;
                }
                Instruction::Look { negative, next } => {
                    if self.matches(pc + 1, at) == *negative {
                        return false;
                    }
                    pc = *next;
                }
                Instruction::Save(slot) => {
                    self.stack.push(Backtrack::Restore(*slot, self.saved[*slot]));
                    self.saved[*slot] = at;
                    pc += 1;
                }
                Instruction::Moved(slot) => {
                    if self.saved[*slot] == at {
                        return false;
                    }
                    pc += 1;
                }
                Instruction::BackReference { group, back } => {
                    let Some(end) = self.repeated(*group, *back, at) else { return false };
                    at = end;
                    pc += 1;
                }
                Instruction::Match => return true,
            }
        }
    }

    /// Marks a split as tried on the current path. Returns whether it matches, if that is known.
    fn remember(&mut self, split: usize) -> Option<bool> {
        if !self.program.remembers() {
            return None;
        }
        let (word, bit) = (split / 64, 1 << (split % 64));
        if self.matched.get(word).is_some_and(|word| word & bit != 0) {
            return Some(true);
        }
        if self.failed[word] & bit != 0 {
            return Some(false);
        }
        self.failed[word] |= bit;
        self.path.push(split);
        None
    }

    /// The position after the text of a group, if that repeats here.
    fn repeated(&mut self, group: usize, back: bool, at: usize) -> Option<usize> {
        // A group that did not participate matches the empty string.
        let group = self.text.get(self.saved[2 * group]..self.saved[2 * group + 1]).unwrap_or_default();
        *self.steps = self.steps.saturating_sub(group.len() as u64);
        if back {
            self.text[..at].ends_with(group).then(|| at - group.len())
        } else {
            self.text[at..].starts_with(group).then(|| at + group.len())
        }
    }

    fn after(&self, at: usize) -> Option<char> {
        match self.text.as_bytes().get(at) {
            Some(byte) if byte.is_ascii() => Some(*byte as char),
            _ => self.text[at..].chars().next(),
        }
    }

    fn before(&self, at: usize) -> Option<char> {
        self.text[..at].chars().next_back()
    }

    fn holds(&self, assertion: Assertion, at: usize) -> bool {
        let is_word = |char: Option<char>| char.is_some_and(|char| char.is_ascii_alphanumeric() || char == '_');
        let boundary = || is_word(self.before(at)) != is_word(self.after(at));
        match assertion {
            Assertion::Start => at == 0,
            Assertion::End => at == self.text.len(),
            Assertion::Boundary => boundary(),
            Assertion::NoBoundary => !boundary(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::processor_time::ProcessorTime;
    use std::time::Duration;

    const STEPS: u64 = 50_000_000;

    /// Matches with this module only, even if the linear engine supports the pattern.
    fn matches(pattern: &str, text: &str) -> bool {
        Program::compile(pattern).unwrap().is_match(text, &mut 1_000_000).unwrap()
    }

    #[test]
    fn patterns_match_as_the_specification_of_the_language_says() {
        for (pattern, text, expected) in [
            ("^(?=.*[0-9])(?=.*[a-z])[a-z0-9]{8,40}$", "abcdefgh1", true),
            ("^(?=.*[0-9])(?=.*[a-z])[a-z0-9]{8,40}$", "abcdefghi", false),
            ("^(?:(?!foo).)*$", "a fo o", true),
            ("^(?:(?!foo).)*$", "a foo", false),
            ("(?<=a+)b", "caab", true),
            ("(?<!a)b", "ab", false),
            (r"(?<=(\d{2})-)x", "12-x", true),
            (r"^(a|b)\1$", "bb", true),
            (r"^(a|b)\1$", "ab", false),
            (r"^(?<c>.)\k<c>$", "zz", true),
            (r"(?=(a+))\1b", "aab", true),
            // A group that did not participate matches the empty string.
            (r"^(?:(a)|b)\1$", "b", true),
            (r"^(a*)*\1$", "aab", false),
            (r"\bword\b", "a word.", true),
            (r"\Bord", "word", true),
            (r"^[^]$", "\n", true),
            ("^[]$", "", false),
            ("^.$", "\n", false),
            ("(?s)^.$", "\n", true),
            ("^(?i:straSSe)!$", "STRASSE!", true),
            (r"^\p{Lu}\u00e9\x41\cJ\/$", "\u{c9}\u{e9}A\n/", true),
            ("^a{,2}$", "a{,2}", true),
            ("^a{2,}?b{1}$", "aaab", true),
            ("", "", true),
            ("^\u{1f600}$", "\u{1f600}", true),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn what_is_no_pattern_is_refused_with_the_reason() {
        for (pattern, problem) in [
            ("(?=a", "unclosed group"),
            ("(?=a))", "unmatched closing parenthesis"),
            (r"(?=a)\2", "a reference to a group that does not exist"),
            ("(?>a)", "a kind of group that JSON Schema does not support"),
            ("(?=a)b++", "a possessive quantifier"),
            ("(?=a)(?:b{100}){1000}", TOO_LARGE),
        ] {
            assert_eq!(Program::compile(pattern).err(), Some(problem), "{pattern}");
        }
        assert!(Program::compile(&format!("{}a{}", "(?=".repeat(101), ")".repeat(101))).is_err());
        assert_eq!(Program::compile("(?:){1000000000}").unwrap().code.len(), 1);
    }

    #[test]
    fn sch_10_a_state_is_tried_once_at_each_position() {
        let text = "a".repeat(2_000);
        for pattern in
            [r"(?=.*\d)[a-z]+\d", "^(?:(?=.*b)a)*$", "^(?:(a+)+)+(?<!a)b$", "(?=(?=.*b)a*c)a", "(?<!b.*)(?<=c.*)a"]
        {
            let mut steps = 1_000_000;
            assert_eq!(Program::compile(pattern).unwrap().is_match(&text, &mut steps), Some(false), "{pattern}");
            // Quadratic time would take four million.
            assert!(steps > 800_000, "{pattern}: {steps} left");
        }
    }

    #[test]
    fn sch_10_what_nothing_can_be_remembered_of_is_given_up() {
        let started = ProcessorTime::start();
        for pattern in [r"(?=(a+))\1b", r"^(a*)*\1b", r"^(?:(a)|\1)+$"] {
            Budget::renew(STEPS);
            let pattern = Pattern::compile(pattern, &mut 100_000).unwrap();
            assert_eq!(pattern.weight(), None);
            let mut steps = 100_000;
            let program = pattern.program.as_ref().unwrap();
            assert_eq!(program.is_match(&("a".repeat(60_000) + "c"), &mut steps), None);
        }
        assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    }

    #[test]
    fn sch_10_large_patterns_of_long_texts_leave_the_linear_engine() {
        let pattern = Pattern::compile("^[ab]{1,5000}$", &mut 100_000).unwrap();
        Budget::renew(STEPS);
        assert!(pattern.is_linear() && pattern.is_match(&"a".repeat(5_000)));
        assert!(!pattern.is_match(&"a".repeat(5_001)));
        assert!(!Budget::is_exhausted());
        assert!(!pattern.is_match(&"a".repeat(1 << 20)));
        assert!(Budget::is_exhausted());
    }
}
