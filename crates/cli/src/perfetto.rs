//! `--perfetto`: the trace as a picture, drawn in another pass over it.

use std::path::Path;

use anyhow::Context as _;
use paceline::trace_input::TraceInput;
use paceline_report::model::Report;
use paceline_report::perfetto::Writer;
use paceline_trace::Source as _;

use crate::args::show;
use crate::output::Output;

/// Draws a trace, with what was found in it.
pub fn draw(trace: &TraceInput, report: &Report, path: &Path) -> anyhow::Result<()> {
    let cannot = || format!("cannot write {}", show(path));
    let mut writer = Writer::new(Output::create(path)?, report).with_context(cannot)?;
    let mut open = trace.open()?;
    trace.read_named("drawing", &mut open, |batch, symbols| {
        writer.events(batch, symbols).with_context(cannot)
    })?;
    writer.finish(open.symbols()).with_context(cannot)?.commit()
}
