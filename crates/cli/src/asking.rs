//! What to decide and how to show it: the options that every command has that decides.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::ValueHint;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use paceline::Check;
use paceline::check::Options;
use paceline::property::{self, Property};
use paceline_analysis::atomicity::Engine;
use paceline_report::outcome::Outcome;

use crate::args::one_of;
use crate::filters::{FilterArgs, Filters};
use crate::output::{Output, cannot_write, print};
use crate::outputs::{OutputArgs, Outputs};
use crate::showing::{Done, Shown};
use crate::status::Status;

/// What to decide.
#[derive(clap::Args, Clone)]
pub struct QuestionArgs {
    /// What to decide; several with commas
    #[arg(long, value_delimiter = ',', value_parser = property_parser(), default_value = "atomicity")]
    property: Vec<Wanted>,
    /// How to decide atomicity
    #[arg(long, value_name = "ENGINE", value_parser = engine_parser(), default_value = "auto")]
    engine: Engine,
    /// Stop at the first violation
    #[arg(long)]
    first: bool,
    /// Also list every transaction that is part of some cycle
    #[arg(long)]
    all: bool,
    /// Count the nodes of Velodrome's graph, with and without merging
    #[arg(long)]
    stats: bool,
    /// For cooperability: a join yields to the joined thread only
    #[arg(long)]
    join_yields_to_child: bool,
    /// Show at most this many findings for a trace
    #[arg(long, value_name = "N", default_value_t = 100)]
    max_findings: usize,
}

impl QuestionArgs {
    /// What to decide, one by one.
    pub fn properties(&self) -> Vec<&'static dyn Property> {
        self.property.iter().flat_map(|wanted| wanted.each()).collect()
    }
}

/// What `--property` takes: one of them, or all.
#[derive(Clone, Copy)]
pub enum Wanted {
    One(&'static dyn Property),
    All,
}

impl Wanted {
    /// The properties, one by one.
    pub fn each(self) -> Vec<&'static dyn Property> {
        match self {
            Wanted::One(property) => vec![property],
            Wanted::All => property::ALL.to_vec(),
        }
    }
}

const ALL: &str = "all";

/// The properties by name, with what each means.
pub fn property_parser() -> impl TypedValueParser<Value = Wanted> {
    let mut each: Vec<_> =
        property::ALL.iter().map(|p| (p.info().name, p.info().summary)).collect();
    each.sort_unstable();
    each.push((ALL, "All of these"));
    let values = each.into_iter().map(|(name, help)| PossibleValue::new(name).help(help));
    PossibleValuesParser::new(values).try_map(|name| match property::named(&name) {
        Some(property) => Ok(Wanted::One(property)),
        None if name == ALL => Ok(Wanted::All),
        None => Err("not known"),
    })
}

fn engine_parser() -> impl TypedValueParser<Value = Engine> {
    one_of(Engine::ALL.iter().map(|e| e.name()), Engine::from_name)
}

/// How to show it, and what not to show.
#[derive(clap::Args, Clone)]
pub struct ShowArgs {
    /// How to show the result
    #[arg(long, value_enum, default_value_t = Shown::Text)]
    format: Shown,
    /// Write the result to a file
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,
    #[command(flatten)]
    more: OutputArgs,
    #[command(flatten)]
    filter: FilterArgs,
}

/// Where results go that have no file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Voice {
    Stdout,
    /// Standard output belongs to the program under observation.
    Stderr,
}

/// What else is to be done about a result when it is known which findings are left.
type Then<'a> = Box<dyn FnOnce(&Outcome) -> anyhow::Result<()> + 'a>;

/// Shows results as they come, or all at once where that is how they are shown.
pub struct Results<'a> {
    args: &'a ShowArgs,
    filters: Filters,
    output: Option<Output>,
    outputs: Outputs<'a>,
    voice: Voice,
    quiet: bool,
    waiting: Vec<Done>,
    then: Vec<Then<'a>>,
    ending: Ending,
    has_something: bool,
}

/// How it all ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Ending {
    /// The worst of all.
    pub status: Status,
    /// Whether anything was found, even if something worse happened.
    pub has_findings: bool,
}

impl<'a> Results<'a> {
    /// Reads what is needed, and makes sure that there is somewhere to write to.
    pub fn new(
        args: &'a ShowArgs,
        question: &QuestionArgs,
        voice: Voice,
        quiet: bool,
    ) -> anyhow::Result<Results<'a>> {
        Ok(Results {
            args,
            filters: Filters::load(&args.filter, question.max_findings)?,
            output: args.output.as_deref().map(Output::create).transpose()?,
            outputs: Outputs::new(&args.more),
            voice,
            quiet,
            waiting: Vec::new(),
            then: Vec::new(),
            ending: Ending { status: Status::Clean, has_findings: false },
            has_something: false,
        })
    }

    /// The check to make, so that there is enough left to show.
    pub fn check(&self, args: &QuestionArgs) -> Check {
        let mut options = Options::default();
        options.engine = args.engine;
        options.first_only = args.first;
        options.all_transactions = args.all;
        options.node_counts = args.stats;
        options.join_yields_to_child = args.join_yields_to_child;
        options.max_findings = self.filters.findings_wanted();
        let check = Check::new().options(options);
        args.properties().into_iter().fold(check, Check::property)
    }

    /// What came of a trace.
    pub fn add(&mut self, done: Done) -> anyhow::Result<()> {
        self.add_and(done, |_| Ok(()))
    }

    /// What came of a trace, and what else to do about it.
    pub fn add_and(
        &mut self,
        done: Done,
        then: impl FnOnce(&Outcome) -> anyhow::Result<()> + 'a,
    ) -> anyhow::Result<()> {
        self.waiting.push(done);
        self.then.push(Box::new(then));
        let all_at_once = self.args.format.is_one_document() || self.filters.need_all();
        if all_at_once { Ok(()) } else { self.show() }
    }

    fn show(&mut self) -> anyhow::Result<()> {
        let mut done = std::mem::take(&mut self.waiting);
        self.filters.apply(&mut done)?;
        for (then, done) in self.then.drain(..).zip(&done) {
            then(&done.outcome)?;
        }
        done.iter().for_each(|d| self.outputs.add(&d.outcome));
        for Done { outcome, status, .. } in &done {
            self.ending.status = self.ending.status.and(*status);
            self.ending.has_findings |= !outcome.findings().is_empty();
        }
        let text = self.args.format.show(&mut done, self.quiet)?;
        self.has_something |= !text.is_empty();
        self.put(&text)
    }

    /// Shows the rest.
    pub fn finish(mut self) -> anyhow::Result<Ending> {
        if !self.waiting.is_empty() {
            self.show()?;
        }
        // An empty result must not take the place of an earlier one.
        if let Some(output) = self.output.filter(|_| self.has_something) {
            output.commit()?;
        }
        self.outputs.write()?;
        Ok(self.ending)
    }

    fn put(&mut self, text: &str) -> anyhow::Result<()> {
        match (&mut self.output, self.voice) {
            (Some(file), _) => {
                let plain = anstream::adapter::strip_str(text).to_string();
                Ok(file.write_all(plain.as_bytes())?)
            }
            (None, Voice::Stdout) => print(text),
            (None, Voice::Stderr) => {
                let mut err = anstream::stderr();
                let shown = err.write_all(text.as_bytes()).and_then(|()| err.flush());
                shown.map_err(|e| anyhow::Error::new(e).context(cannot_write(Path::new("stderr"))))
            }
        }
    }
}
