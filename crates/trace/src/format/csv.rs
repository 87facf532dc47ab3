//! RAPID's CSV: one event a line, one column a thread.
//!
//! ```text
//! T0,T1
//! start(T1)
//! ,acq(l)
//! ,w(x)
//! ,rel(l)
//! join(T1)
//! ```
//!
//! The column, counted from 0, is the thread: column 3 is the thread `T3`. Its field is the
//! operation, all other fields are empty; how many follow does not matter. The operations are
//! `r(x)`, `w(x)`, `acq(l)`, `rel(l)`, `start(T1)` and `join(T1)`, `enter(m)` and `exit(m)` for a
//! block labelled `m`, and `sync(x)`, which RAPID takes for four events: a read and a write of `x`
//! under a lock of its own. Operands hold neither commas nor blanks. There are no source locations.
//!
//! The first line may be a header of all thread names. RAPID passes over every line that it does
//! not understand; here such a line is an error. So is its `dummy(x)`, which it cannot run itself.

use std::collections::HashMap;
use std::io::{self, Read, Write};

use crate::error::{Error, Position, show_bytes};
use crate::event::{Event, Op};
use crate::format::Writer;
use crate::ids::{Site, ThreadId};
use crate::lines::{LONGEST_LINE, LineBlocks, line_at};
use crate::ops;
use crate::recording::Recording;
use crate::source::{BATCH, Batch, Lines, Skipped, Source};
use crate::symbols::Symbols;

/// More columns than any trace needs; their commas would outweigh everything else.
const MOST_COLUMNS: usize = 10_000;

/// The longest name: far beyond any real one.
const LONGEST_NAME: usize = 1 << 16;

/// Reads CSV.
pub struct CsvReader {
    blocks: LineBlocks,
    /// How much of the current block has been used.
    at: usize,
    /// The number of the line at `at`.
    line: u64,
    lenient: bool,
    symbols: Symbols,
    skipped: Skipped,
    /// The thread of each column that has been used.
    columns: Vec<Option<ThreadId>>,
}

impl CsvReader {
    /// Reads from `input`. A lenient reader skips and counts malformed lines.
    pub fn new(input: Box<dyn Read + Send>, lenient: bool) -> CsvReader {
        CsvReader {
            blocks: LineBlocks::new(input),
            at: 0,
            line: 1,
            lenient,
            symbols: Symbols::default(),
            skipped: Skipped::default(),
            columns: Vec::new(),
        }
    }

    /// Fills the batch; its end, like that of the input, is no error.
    fn fill(&mut self, batch: &mut Batch) -> Result<(), Error> {
        while batch.events.len() < BATCH {
            if self.at == self.blocks.text().len() {
                let used = std::mem::take(&mut self.at);
                let more = self.blocks.advance(used);
                if !more.map_err(|e| Error { at: Position::line(self.line), ..e })? {
                    return Ok(());
                }
            }
            let (text, next) = line_at(self.blocks.text(), self.at);
            if self.line > 1 || !is_header(text) {
                match take_apart(text) {
                    Ok(parts) => {
                        add(&parts, self.line, &mut self.symbols, &mut self.columns, batch);
                    }
                    Err(message) => {
                        let error = Error::parse(self.line, message);
                        if !self.lenient {
                            return Err(error);
                        }
                        self.skipped.malformed(error);
                    }
                }
            }
            self.at = next;
            self.line += 1;
        }
        Ok(())
    }
}

impl Source for CsvReader {
    fn read(&mut self, batch: &mut Batch) -> Result<(), Error> {
        batch.events.clear();
        batch.lines = Lines::None;
        let outcome = self.fill(batch);
        batch.counts = self.symbols.counts();
        outcome
    }

    fn symbols(&self) -> &Symbols {
        &self.symbols
    }

    fn skipped(&self) -> &Skipped {
        &self.skipped
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Operation {
    Read,
    Write,
    Acquire,
    Release,
    Start,
    Join,
    Enter,
    Exit,
    Sync,
}

const OPERATIONS: &[(&str, Operation)] = &[
    ("r", Operation::Read),
    ("w", Operation::Write),
    ("acq", Operation::Acquire),
    ("rel", Operation::Release),
    ("start", Operation::Start),
    ("join", Operation::Join),
    ("enter", Operation::Enter),
    ("exit", Operation::Exit),
    ("sync", Operation::Sync),
];

impl Operation {
    fn from_name(name: &[u8]) -> Option<Operation> {
        OPERATIONS.iter().find(|(known, _)| known.as_bytes() == name).map(|&(_, op)| op)
    }
}

/// A line taken apart.
struct Parts<'a> {
    column: usize,
    operation: Operation,
    operand: &'a [u8],
}

/// Takes a line apart, or says why it is no event.
fn take_apart(line: &[u8]) -> Result<Parts<'_>, String> {
    const FORM: &str = "an event is an operation in its thread's column, e.g. `,,w(x)`";
    if line.len() > LONGEST_LINE {
        return Err(format!("the line is longer than {LONGEST_LINE} bytes; {FORM}"));
    }
    let column = line.iter().position(|&b| b != b',').unwrap_or(line.len());
    let field_end =
        line[column..].iter().position(|&b| b == b',').map_or(line.len(), |i| column + i);
    let (field, rest) = (&line[column..field_end], &line[field_end..]);
    if field.is_empty() {
        return Err(format!("no operation in this line; {FORM}"));
    }
    if let Some(second) = rest.iter().position(|&b| b != b',') {
        let (first, second) = (show_bytes(field), show_bytes(&rest[second..]));
        return Err(format!("two operations in one line, {first} and {second}; {FORM}"));
    }
    if column >= MOST_COLUMNS {
        return Err(format!("column {column}: there can be {MOST_COLUMNS} threads at most"));
    }
    let (operation, operand) = operation(field)?;
    Ok(Parts { column, operation, operand })
}

fn operation(field: &[u8]) -> Result<(Operation, &[u8]), String> {
    let open = memchr::memchr(b'(', field).unwrap_or(field.len());
    let operation = Operation::from_name(&field[..open]).ok_or_else(|| {
        let known: Vec<&str> = OPERATIONS.iter().map(|&(name, _)| name).collect();
        format!("unknown operation {}; known: {}", show_bytes(field), known.join(" "))
    })?;
    let operand = field.get(open + 1..).and_then(|rest| rest.strip_suffix(b")"));
    let operand = operand.ok_or_else(|| format!("no operand in {}", show_bytes(field)))?;
    let thread = matches!(operation, Operation::Start | Operation::Join);
    if thread && column_of(operand).is_none() {
        return Err(format!("the other thread must be a column, e.g. T3: {}", show_bytes(field)));
    }
    if !is_name(operand) {
        let shown = show_bytes(operand);
        return Err(format!("not a name (no blanks, {LONGEST_NAME} bytes at most): {shown}"));
    }
    Ok((operation, operand))
}

/// Any characters but commas, blanks and line ends.
fn is_name(name: &[u8]) -> bool {
    (1..=LONGEST_NAME).contains(&name.len())
        && !name.iter().any(|&b| b.is_ascii_whitespace() || matches!(b, b',' | 0x0b))
}

/// The column of a thread's name.
fn column_of(name: &[u8]) -> Option<usize> {
    plain_number(name.strip_prefix(b"T")?)
}

/// A number of a column, written in the one way there is.
fn plain_number(digits: &[u8]) -> Option<usize> {
    let plain = digits == b"0" || digits.first().is_some_and(|&b| b != b'0');
    if !plain || digits.len() > 5 || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let number = str::from_utf8(digits).ok()?.parse().ok()?;
    (number < MOST_COLUMNS).then_some(number)
}

/// `T0,T1,T2`.
fn is_header(line: &[u8]) -> bool {
    line.split(|&b| b == b',').enumerate().all(|(i, name)| column_of(name) == Some(i))
}

/// Whether a line is an event or the header of a CSV trace.
pub(super) fn looks_like(line: &[u8]) -> bool {
    is_header(line) || take_apart(line).is_ok()
}

/// Appends the events of a line.
fn add(
    parts: &Parts<'_>,
    line: u64,
    symbols: &mut Symbols,
    columns: &mut Vec<Option<ThreadId>>,
    batch: &mut Batch,
) {
    let thread = thread(parts.column, symbols, columns);
    let name = parts.operand;
    let mut push = |op| {
        batch.lines.note(batch.events.len(), line);
        batch.events.push(Event { thread, op, site: Site::UNKNOWN });
    };
    match parts.operation {
        Operation::Read => push(Op::Read(symbols.var(name))),
        Operation::Write => push(Op::Write(symbols.var(name))),
        Operation::Acquire => push(Op::Acquire(symbols.lock(name))),
        Operation::Release => push(Op::Release(symbols.lock(name))),
        Operation::Start => push(Op::Fork(symbols.thread(name))),
        Operation::Join => push(Op::Join(symbols.thread(name))),
        Operation::Enter => push(Op::Begin(symbols.label(name))),
        Operation::Exit => push(Op::End(symbols.label(name))),
        Operation::Sync => {
            // RAPID's name for the lock, so that its traces and ours agree.
            let lock = symbols.lock(&[b"VARLOCK-", name, b"-KCOLRAV"].concat());
            let var = symbols.var(name);
            push(Op::Acquire(lock));
            push(Op::Read(var));
            push(Op::Write(var));
            push(Op::Release(lock));
        }
    }
}

fn thread(column: usize, symbols: &mut Symbols, columns: &mut Vec<Option<ThreadId>>) -> ThreadId {
    if columns.len() <= column {
        columns.resize(column + 1, None);
    }
    *columns[column].get_or_insert_with(|| symbols.thread(format!("T{column}").as_bytes()))
}

/// Writes CSV. What it cannot hold is an error: volatile accesses, waits and all that RAPID does
/// not know, blocks without labels, names with commas or blanks. Threads named `T3` or `3` have
/// column 3, others have none. Source locations are left out.
pub struct CsvWriter<W> {
    output: W,
    columns: Vec<Option<usize>>,
    owners: HashMap<usize, ThreadId>,
}

impl<W: Write> CsvWriter<W> {
    /// Writes to `output`, which should be buffered.
    pub fn new(output: W) -> Self {
        CsvWriter { output, columns: Vec::new(), owners: HashMap::new() }
    }

    fn column(&mut self, thread: ThreadId, symbols: &Symbols) -> io::Result<usize> {
        if self.columns.len() <= thread.index() {
            self.columns.resize(thread.index() + 1, None);
        }
        if let Some(column) = self.columns[thread.index()] {
            return Ok(column);
        }
        let name = symbols.threads.name(thread.0);
        let column = column_of(name).or_else(|| plain_number(name)).ok_or_else(|| {
            refuse(&format!("the thread {} has no column: they are T0, T1, …", show_bytes(name)))
        })?;
        if self.owners.insert(column, thread).is_some_and(|owner| owner != thread) {
            return Err(refuse(&format!("two threads would share the column T{column}")));
        }
        self.columns[thread.index()] = Some(column);
        Ok(column)
    }

    fn about_thread(&mut self, op: &str, other: ThreadId, symbols: &Symbols) -> io::Result<()> {
        let column = self.column(other, symbols)?;
        writeln!(self.output, "{op}(T{column})")
    }

    fn event(&mut self, event: &Event, symbols: &Symbols) -> io::Result<()> {
        for _ in 0..self.column(event.thread, symbols)? {
            self.output.write_all(b",")?;
        }
        let (name, operand) = match event.op {
            Op::Read(x) => ("r", symbols.vars.name(x.0)),
            Op::Write(x) => ("w", symbols.vars.name(x.0)),
            Op::Acquire(l) => ("acq", symbols.locks.name(l.0).into()),
            Op::Release(l) => ("rel", symbols.locks.name(l.0).into()),
            Op::Begin(m) if m.is_named() => ("enter", symbols.labels.name(m.0).into()),
            Op::End(m) if m.is_named() => ("exit", symbols.labels.name(m.0).into()),
            Op::Fork(u) => return self.about_thread("start", u, symbols),
            Op::Join(u) => return self.about_thread("join", u, symbols),
            ops!(Block | Atomic | Semaphore | Barrier)
            | Op::AcquireShared(_)
            | Op::ReleaseShared(_)
            | Op::PreWait(_)
            | Op::PostWait(_)
            | Op::Notify(_)
            | Op::Yield => {
                let op = super::std::show_op(event, symbols);
                return Err(refuse(&format!("it has no {}", show_bytes(op.as_bytes()))));
            }
        };
        if !is_name(&operand) {
            return Err(refuse(&format!(
                "a name must not hold commas or blanks: {}",
                show_bytes(&operand)
            )));
        }
        self.output.write_all(name.as_bytes())?;
        self.output.write_all(b"(")?;
        self.output.write_all(&operand)?;
        self.output.write_all(b")\n")
    }
}

fn refuse(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, format!("CSV cannot hold this trace: {why}"))
}

impl<W: Write> Writer for CsvWriter<W> {
    fn write(&mut self, batch: &Batch, symbols: &Symbols) -> io::Result<()> {
        batch.events.iter().try_for_each(|event| self.event(event, symbols))
    }

    /// There is no room for it.
    fn recording(&mut self, _recording: &Recording) {}

    fn finish(&mut self, _symbols: &Symbols) -> io::Result<()> {
        self.output.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notation::Trace;

    fn reader(text: &[u8], lenient: bool) -> CsvReader {
        CsvReader::new(Box::new(io::Cursor::new(text.to_vec())), lenient)
    }

    fn read(text: &[u8]) -> Result<Trace, Error> {
        Trace::collect(&mut reader(text, false))
    }

    fn written(trace: &Trace) -> io::Result<String> {
        let mut out = Vec::new();
        let mut writer = CsvWriter::new(&mut out);
        writer.write(&trace.batch(), &trace.symbols)?;
        writer.finish(&trace.symbols)?;
        Ok(String::from_utf8(out).unwrap())
    }

    #[test]
    fn columns_are_threads() {
        let text = b"T0,T1,T2\nstart(T2),,\n,,acq(l)\n,,r(a(b)c)\n,enter(m)\r\n,exit(m)\n,,rel(l)\njoin(T2)";
        let line = "T0:fork(T2) T2:acq(l) T2:r(a(b)c) T1:begin(m) T1:end(m) T2:rel(l) T0:join(T2)";
        assert_eq!(read(text).unwrap().to_line(), line);
    }

    #[test]
    fn sync_is_a_read_and_a_write_under_a_lock() {
        let mut source = reader(b",w(x)\n,,,,sync(z),,\nr(x)\n", false);
        let mut batch = Batch::default();
        source.read(&mut batch).unwrap();
        let lines: Vec<_> = (0..batch.events.len()).map(|i| batch.line(i).unwrap()).collect();
        assert_eq!(lines, [1, 2, 2, 2, 2, 3]);
        let trace = Trace { events: batch.events, symbols: source.symbols().clone() };
        let lock = "VARLOCK-z-KCOLRAV";
        let expected = format!("T1:w(x) T4:acq({lock}) T4:r(z) T4:w(z) T4:rel({lock}) T0:r(x)");
        assert_eq!(trace.to_line(), expected);
    }

    #[test]
    fn what_is_no_event_is_an_error_with_its_line() {
        let many = [b"r(x)\n".to_vec(), vec![b','; MOST_COLUMNS], b"r(x)".to_vec()].concat();
        for (bad, why) in [
            (&b"r(x)\n\nr(x)\n"[..], "no operation"),
            (b"r(x)\n,,,\n", "no operation"),
            (b"r(x)\nT0,T1\n", "two operations"),
            (b"r(x)\nr(x),w(x)\n", "two operations"),
            (b"r(x)\nread(x)\n", "unknown operation"),
            (b"r(x)\ndummy(x)\n", "unknown operation"),
            (b"r(x)\n# note\n", "unknown operation"),
            (b"r(x)\nr\n", "no operand"),
            (b"r(x)\nr(x\n", "no operand"),
            (b"r(x)\nr()\n", "not a name"),
            (b"r(x)\nr(a b)\n", "not a name"),
            (b"r(x)\n r(x)\n", "unknown operation"),
            (b"r(x)\nr(x) \n", "no operand"),
            (b"r(x)\nstart(1)\n", "must be a column"),
            (b"r(x)\nstart(T01)\n", "must be a column"),
            (&many, "10000 threads at most"),
        ] {
            let error = read(bad).expect_err("malformed");
            assert_eq!(error.at.line, Some(2));
            assert_eq!(error.rule(), Some(crate::Rule::ParseError));
            assert!(error.to_string().contains(why), "{error}");
        }
    }

    #[test]
    fn a_lenient_reader_skips_and_counts() {
        let mut source = reader(b"T0,T2\nw(x)\n\n,r(x)\n", true);
        assert_eq!(Trace::collect(&mut source).unwrap().to_line(), "T0:w(x) T1:r(x)");
        assert_eq!(source.skipped().malformed, 2);
    }

    #[test]
    fn what_is_written_is_read_again() {
        let text = "start(T2)\n,,acq(l)\n,,w(x)\n,enter(m)\n,exit(m)\n,,rel(l)\njoin(T2)\n";
        assert_eq!(written(&read(text.as_bytes()).unwrap()).unwrap(), text);
        let numbered = Trace::parse("0:fork(1) 1:w(x) 0:join(1)").unwrap();
        assert_eq!(written(&numbered).unwrap(), "start(T1)\n,w(x)\njoin(T1)\n");
    }

    #[test]
    fn what_cannot_be_written_is_refused() {
        for (line, why) in [
            ("0:ar(x)", "it has no `ar(x)`"),
            ("0:yield", "it has no `yield`"),
            ("0:begin", "it has no `begin`"),
            ("main:r(x)", "`main` has no column"),
            ("0:fork(child)", "`child` has no column"),
            ("0:r(x) T0:r(x)", "share the column T0"),
            ("0:r(a,b)", "commas or blanks"),
        ] {
            let error = written(&Trace::parse(line).unwrap()).expect_err(line);
            assert!(error.to_string().contains(why), "{error}");
        }
    }
}
