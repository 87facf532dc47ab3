//! `paceline check`.
use crate::args::ReadArgs;
use crate::status::Status;
use crate::traces;
use anyhow::Context as _;
use paceline_analysis::atomicity::{Engine, Options};
use paceline_trace::Source as _;
use std::path::PathBuf;

/// Check traces
#[derive(clap::Args)]
pub struct Args {
    /// The traces
    #[arg(required = true)]
    traces: Vec<PathBuf>,
    /// Engine
    #[arg(long, default_value = "auto")]
    engine: String,
    #[command(flatten)]
    read: ReadArgs,
}

pub fn run(args: &Args, quiet: bool) -> anyhow::Result<Status> {
    for path in &args.traces {
        let mut trace =
            traces::open(path, &args.read).with_context(|| path.display().to_string())?;
        let mut engine = (args.engine != "none")
            .then(|| Engine::from_name(&args.engine).unwrap().start(Options::default()));
        let (reading, outcome) = trace.read(args.read.lenient, quiet, |batch| match &mut engine {
            Some(e) => e.events(batch),
            None => std::ops::ControlFlow::Continue(()),
        });
        outcome?;
        println!(
            "{} events, {:?} {:?}",
            reading.events,
            engine.map(|e| e.cycles().first().copied()),
            trace.source.symbols().counts()
        );
    }
    Ok(Status::Clean)
}
