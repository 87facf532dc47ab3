//! What to decide: the options that every command has that decides.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use paceline::check::{Options, PredictOptions};
use paceline::property::{self, Property};
use paceline::{Check, Engine};

use crate::args::one_of;

/// What to decide.
#[derive(clap::Args, Clone)]
pub struct CheckArgs {
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
    #[command(flatten)]
    predict: PredictArgs,
    /// Show at most this many findings for a trace
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub max_findings: usize,
}

impl CheckArgs {
    /// The check to make. So many findings are looked for, of which some may not be shown.
    pub fn check(&self, findings_wanted: usize) -> Check {
        let mut options = Options::default();
        options.engine = self.engine;
        options.first_only = self.first;
        options.all_transactions = self.all;
        options.node_counts = self.stats;
        options.join_yields_to_child = self.join_yields_to_child;
        options.max_findings = findings_wanted;
        options.predict = self.predict.options();
        let check = Check::new().options(options);
        self.properties().into_iter().fold(check, Check::property)
    }

    /// What to decide, one by one.
    pub fn properties(&self) -> Vec<&'static dyn Property> {
        self.property.iter().flat_map(|wanted| wanted.each()).collect()
    }
}

/// Whether other orders of the run are searched, and how.
#[derive(clap::Args, Clone)]
pub struct PredictArgs {
    /// Also find what did not happen but could have: certified reorderings of the run
    #[arg(long)]
    predict: bool,
    /// Reorder so many events at a time, of those that several threads have to do with
    #[arg(long, value_name = "EVENTS", requires = "predict", default_value_t = 4096,
        value_parser = clap::value_parser!(u32).range(2..=65536))]
    predict_window: u32,
    /// Search for at most so many seconds for a million events; 0 for no limit
    #[arg(long, value_name = "SECONDS", requires = "predict", default_value_t = 4.0,
        value_parser = seconds)]
    predict_budget: f64,
}

impl PredictArgs {
    /// How to search, if that is asked for.
    pub fn options(&self) -> Option<PredictOptions> {
        let budget = Some(self.predict_budget).filter(|seconds| *seconds > 0.0);
        let window = self.predict_window as usize;
        self.predict.then_some(PredictOptions { window, budget })
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    let seconds = text.parse().ok().filter(|it: &f64| it.is_finite() && *it >= 0.0);
    seconds.ok_or_else(|| "a number of seconds, 0 or more".to_owned())
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
