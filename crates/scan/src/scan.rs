//! The scan from inputs to a report.

use rayon::prelude::*;

use crate::archive::{ClassSource, Finder, Input, Limits, ScanError, count};
use crate::arguments::arguments;
use crate::callers::Callers;
use crate::calls::Calls;
use crate::class::{Parsed, parse};
use crate::facts::{Analysis, Facts};
use crate::finals::witnesses;
use crate::finding::{Confidence, Report};
use crate::held::{LocksHeld, World};
use crate::helpers::Helpers;
use crate::hierarchy::Hierarchy;
use crate::program::{MethodId, Program, source_lines};
use crate::report::{Reporter, least_share};
use crate::roles::Roles;
use crate::settle::settle;
use crate::summaries::Summaries;
use crate::suppress::Suppressions;

/// What to do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// Also report two different locks taken in turn: the paper's variant.
    pub pairs: bool,
    /// What is not to be reported.
    pub suppressions: Suppressions,
    /// Warnings that are less sure than this are counted but not reported.
    pub min_confidence: Confidence,
    /// How much inputs may unpack to.
    pub limits: Limits,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            pairs: false,
            suppressions: Suppressions::default(),
            min_confidence: Confidence::Medium,
            limits: Limits::default(),
        }
    }
}

/// How far a scan has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Progress {
    /// So many class files of all have been read.
    Reading {
        /// Done.
        done: usize,
        /// Of so many; archives inside archives are counted when they are opened.
        total: usize,
    },
    /// The call graph is being made.
    Linking,
    /// So many methods of all have been analysed.
    Analysing {
        /// Done.
        done: usize,
        /// Of so many.
        total: usize,
    },
}

/// Classes that are read together before they join the program: enough to keep all processors
/// busy, few enough to keep in memory with their names.
const BATCH: usize = 2048;

/// Methods that are analysed between two reports of progress.
const SLICE: usize = 1 << 15;

/// Scans `inputs`, which may call into `libraries`; nothing is reported in those. `progress` is
/// called with how far it has come. What cannot be read is in the report's errors; the rest is analysed.
pub fn scan(
    inputs: &[Input],
    libraries: &[Input],
    options: &Options,
    progress: &mut dyn FnMut(Progress),
) -> Report {
    let mut errors = Vec::new();
    let mut program = read(inputs, libraries, options, &mut errors, progress);
    progress(Progress::Linking);
    let hierarchy = Hierarchy::new(&program);
    settle(&mut program, &hierarchy);
    let calls = Calls::new(&program, &hierarchy);
    let summaries = Summaries::new(&mut program, &calls);
    let world =
        World { program: &program, calls: &calls, summaries: &summaries, hierarchy: &hierarchy };
    let held = LocksHeld::new(&world);
    let roles = Roles::new(&program);
    let helpers = Helpers::new(&program, &calls, &roles);
    let pairs = options.pairs;
    let analysis = Analysis { world: &world, held: &held, roles: &roles, helpers: &helpers, pairs };
    let facts = analyse(&analysis, program.methods.len(), progress);
    let callers = Callers { program: &program, calls: &calls, facts: &facts };
    let mut reporter = Reporter::new(callers, &held, &options.suppressions, options.min_confidence);
    let mut cut = facts.iter().flatten().map(|f| f.cut).sum();
    // The bounds on what is carried up count for each pass by itself, so that what is unsure never
    // takes the room of what is sure: a lower level always shows all of a higher one.
    for &floor in floors(options.min_confidence) {
        cut += witnesses(&world, &held, &facts, least_share(floor), |w| reporter.witness(w));
    }
    for (method, facts) in facts.iter().enumerate() {
        let method = MethodId(method as u32);
        if let Some(facts) = facts {
            facts.composites.iter().for_each(|c| reporter.composite(method, c));
            facts.stale.iter().for_each(|s| reporter.stale(method, s));
        }
    }
    arguments(&program, &calls).iter().for_each(|a| reporter.argument(a));
    let (warnings, mut counts) = reporter.finish();
    counts.cut = cut;
    counts.classes = program.classes.len();
    counts.methods = program.methods.len();
    counts.lines = source_lines(&program);
    Report { warnings, errors, counts }
}

/// The levels that are looked for one after the other.
fn floors(wanted: Confidence) -> &'static [Confidence] {
    match wanted {
        Confidence::Low => &[Confidence::Medium, Confidence::Low],
        Confidence::Medium | Confidence::High => &[Confidence::Medium],
    }
}

fn analyse(
    analysis: &Analysis<'_>,
    total: usize,
    progress: &mut dyn FnMut(Progress),
) -> Vec<Option<Box<Facts>>> {
    let mut facts = Vec::with_capacity(total);
    while facts.len() < total {
        progress(Progress::Analysing { done: facts.len(), total });
        let slice = facts.len()..(facts.len() + SLICE).min(total);
        facts.par_extend(slice.into_par_iter().map(|m| analysis.run(MethodId(m as u32))));
    }
    facts
}

fn read(
    inputs: &[Input],
    libraries: &[Input],
    options: &Options,
    errors: &mut Vec<ScanError>,
    progress: &mut dyn FnMut(Progress),
) -> Program {
    let mut program = Program::default();
    let mut bad_classes = Vec::new();
    let mut batch: Vec<ClassSource> = Vec::with_capacity(BATCH);
    let listed = count(inputs) + count(libraries);
    let mut done = 0;
    progress(Progress::Reading { done, total: listed });
    for (inputs, library) in [(inputs, false), (libraries, true)] {
        let mut found = |source: ClassSource| {
            batch.push(source);
            if batch.len() == BATCH {
                done += BATCH;
                join(&mut program, std::mem::take(&mut batch), &mut bad_classes);
                progress(Progress::Reading { done, total: listed.max(done) });
            }
        };
        let mut finder = Finder::new(options.limits, library, &mut found, errors);
        inputs.iter().for_each(|input| finder.input(input));
    }
    join(&mut program, batch, &mut bad_classes);
    errors.append(&mut bad_classes);
    program
}

/// Reads a batch of classes in parallel and adds them in order.
fn join(program: &mut Program, batch: Vec<ClassSource>, errors: &mut Vec<ScanError>) {
    let parsed: Vec<Result<Option<(Parsed, bool)>, ScanError>> =
        batch.into_par_iter().map(|source| read_class(&source)).collect();
    let mut classes = Vec::with_capacity(parsed.len());
    for result in parsed {
        match result {
            Ok(class) => classes.extend(class),
            Err(error) => errors.push(error),
        }
    }
    program.join(classes);
}

fn read_class(source: &ClassSource) -> Result<Option<(Parsed, bool)>, ScanError> {
    let bytes = source.read()?;
    let error =
        |e: crate::class::BadClass| ScanError { path: source.path.clone(), message: e.to_string() };
    Ok(parse(&bytes).map_err(error)?.map(|class| (class, source.library)))
}
