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
use crate::symbols::Symbols;

/// The operand of an operation as it stands in a trace; `None` for a bare one.
pub fn operand(op: Op, symbols: &Symbols) -> Option<Cow<'_, [u8]>> {
    symbols.target(op)
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
        SiteKind::Entry(i) => {
            let large = symbols.site_info(site).and_then(|info| info.large_number(&symbols.texts));
            match large {
                Some(digits) => output.write_all(digits),
                None => write!(output, "{i}"),
            }
        }
    }
}
