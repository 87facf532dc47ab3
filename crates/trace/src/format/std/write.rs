//! Writing STD.

use std::borrow::Cow;
use std::io::{self, Write};

use super::is_name;
use crate::error::show_name;
use crate::event::{Event, Op};
use crate::format::Writer;
use crate::ids::{Site, SiteKind};
use crate::recording::Recording;
use crate::source::Batch;
use crate::symbols::{SiteInfo, Symbols};

/// The operand of an operation as it stands in a trace; `None` for a bare one.
pub fn operand(op: Op, symbols: &Symbols) -> Option<Cow<'_, [u8]>> {
    let name = match op {
        Op::Read(x)
        | Op::Write(x)
        | Op::AtomicRead(x)
        | Op::AtomicWrite(x)
        | Op::AtomicUpdate(x) => return Some(symbols.vars.name(x.0)),
        Op::Acquire(l)
        | Op::Release(l)
        | Op::AcquireShared(l)
        | Op::ReleaseShared(l)
        | Op::PreWait(l)
        | Op::PostWait(l)
        | Op::Notify(l) => symbols.locks.name(l.0),
        Op::Fork(t) | Op::Join(t) => symbols.threads.name(t.0),
        Op::Begin(m) | Op::End(m) if m.is_named() => symbols.labels.name(m.0),
        Op::Begin(_) | Op::End(_) | Op::Yield => return None,
        Op::Post(s) | Op::Take(s) => symbols.semaphores.name(s.0),
        Op::BarrierEnter(b) | Op::BarrierExit(b) => symbols.barriers.name(b.0),
    };
    Some(Cow::Borrowed(name))
}

/// An operation as it stands in a trace, for messages: `w(x)`.
pub fn show_op(event: &Event, symbols: &Symbols) -> String {
    let name = event.op.kind().name();
    match operand(event.op, symbols) {
        Some(operand) => format!("{name}({})", show_name(&operand)),
        None => name.to_owned(),
    }
}

/// Writes STD. Source locations that are not numbers become numbers: STD has no room for them.
pub struct StdWriter<W> {
    output: W,
}

impl<W: Write> StdWriter<W> {
    /// Writes to `output`, which should be buffered.
    pub fn new(output: W) -> Self {
        StdWriter { output }
    }
}

impl<W: Write> Writer for StdWriter<W> {
    fn write(&mut self, batch: &Batch, symbols: &Symbols) -> io::Result<()> {
        for event in &batch.events {
            write_name(&mut self.output, symbols.threads.name(event.thread.0))?;
            self.output.write_all(b"|")?;
            self.output.write_all(event.op.kind().name().as_bytes())?;
            if let Some(operand) = operand(event.op, symbols) {
                self.output.write_all(b"(")?;
                write_name(&mut self.output, &operand)?;
                self.output.write_all(b")")?;
            }
            self.output.write_all(b"|")?;
            write_site(&mut self.output, event.site, symbols)?;
            self.output.write_all(b"\n")?;
        }
        Ok(())
    }

    /// There is no room for it.
    fn recording(&mut self, _recording: &Recording) {}

    fn finish(&mut self, _symbols: &Symbols) -> io::Result<()> {
        self.output.flush()
    }
}

/// Other formats allow names that would break a line here. Their forbidden bytes are written as
/// `%XX`, and so is a `%` that could be mistaken for one: two names never become the same.
pub(super) fn write_name(output: &mut impl Write, name: &[u8]) -> io::Result<()> {
    if is_name(name) && !memchr::memchr_iter(b'%', name).any(|i| is_escape(name, i)) {
        return output.write_all(name);
    }
    if name.is_empty() {
        return output.write_all(b"%");
    }
    for (i, &byte) in name.iter().enumerate() {
        if !is_name(&[byte]) || is_escape(name, i) {
            write!(output, "%{byte:02X}")?;
        } else {
            output.write_all(&[byte])?;
        }
    }
    Ok(())
}

/// Whether a `%XX` stands at `i`; a lone `%` stands for the empty name.
fn is_escape(name: &[u8], i: usize) -> bool {
    name[i] == b'%'
        && (name.len() == 1
            || name.get(i + 1..i + 3).is_some_and(|x| x.iter().all(u8::is_ascii_hexdigit)))
}

fn write_site(output: &mut impl Write, site: Site, symbols: &Symbols) -> io::Result<()> {
    match site.kind() {
        SiteKind::Number(n) => write!(output, "{n}"),
        SiteKind::Unknown => output.write_all(b"0"),
        SiteKind::Entry(i) => match symbols.site_info(site) {
            Some(info) if is_large_number(info, symbols) => {
                output.write_all(symbols.texts.name(info.file.0))
            }
            _ => write!(output, "{i}"),
        },
    }
}

fn is_large_number(info: &SiteInfo, symbols: &Symbols) -> bool {
    let file = symbols.texts.name(info.file.0);
    info.line == 0 && !file.is_empty() && file.iter().all(u8::is_ascii_digit)
}
