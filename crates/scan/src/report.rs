//! From findings to warnings (paper, section 4.5): one for each place where a lock is taken for the
//! second time, merged by the lock; hidden where they are not wanted or not sure enough.
//!
//! How sure a warning is depends on two things: whether the pattern is really there, which is what
//! the shares of [`crate::held`] say, and whether the first use matters for the second
//! ([`crate::link`]). Only where a value flows from the first to the second can it be *high*.

use hashbrown::HashSet;

use crate::arguments::Argument;
use crate::callers::Callers;
use crate::composite::{Composite, Use};
use crate::expr::{LockExpr, Name, Root, Selector};
use crate::finals::Witness;
use crate::finding::{Confidence, Counts, Lock, Outer, Warning};
use crate::held::{At, LocksHeld, times};
use crate::link::Link;
use crate::merge::{Located, Location, MergeKey};
use crate::program::{MethodId, Program};
use crate::rules::Rule;
use crate::show::Show;
use crate::stale::Stale;
use crate::suppress::{Suppressions, is_seed_class};

/// Shares from here on are as good as all.
const NEARLY_ALL: u8 = 200;
/// Shares from here on are most.
const MOST: u8 = 100;

/// The smallest share that a warning of this confidence can have.
pub fn least_share(confidence: Confidence) -> u8 {
    match confidence {
        Confidence::Low => 1,
        Confidence::Medium => MOST,
        Confidence::High => NEARLY_ALL,
    }
}

/// Makes warnings.
pub struct Reporter<'r> {
    program: &'r Program,
    show: Show<'r>,
    callers: Callers<'r>,
    suppressions: &'r Suppressions,
    /// What the user wants to hide, without the locks of the JDK.
    own_suppressions: Suppressions,
    min_confidence: Confidence,
    counts: Counts,
    located: Located,
    /// Places with warnings that are not sure enough.
    unsure: HashSet<Location>,
}

impl<'r> Reporter<'r> {
    /// Without any warnings yet.
    pub fn new(
        callers: Callers<'r>,
        held: &'r LocksHeld,
        suppressions: &'r Suppressions,
        min_confidence: Confidence,
    ) -> Reporter<'r> {
        let program = callers.program;
        Reporter {
            program,
            callers,
            show: Show { program, held },
            suppressions,
            own_suppressions: Suppressions { library_locks: false, ..suppressions.clone() },
            min_confidence,
            counts: Counts::default(),
            located: Located::default(),
            unsure: HashSet::new(),
        }
    }

    /// All warnings, the surest first, then by file and line.
    pub fn finish(mut self) -> (Vec<Warning>, Counts) {
        let sure = &self.located;
        self.counts.unsure = self.unsure.iter().filter(|&l| !sure.contains(l)).count();
        (self.located.finish(), self.counts)
    }

    /// Adds an instance of the pattern.
    pub fn witness(&mut self, witness: &Witness) {
        let method = witness.method;
        let (holder, context) = witness.context;
        if self.program.class_of(method).library || self.program.class_of(holder).library {
            return;
        }
        let pair = witness.lock != witness.second;
        let rule = if pair { Rule::LockedInTurn } else { Rule::LockedTwice };
        let maker = witness.lambda.map(|l| l.0);
        let location = (rule, maker.unwrap_or(method), position(witness.twice.second.taking.at));
        let (confidence, doubts) = self.confidence(witness);
        if confidence < self.min_confidence {
            self.unsure.insert(location);
            return;
        }
        let (first, _) = self.show.chain(method, &witness.twice.first.taking);
        let (mut second, mut taker) = self.show.chain(method, &witness.twice.second.taking);
        let mut lock_method = holder;
        if let Some((made_in, taking)) = witness.lambda {
            let (below, last) = self.show.chain(made_in, &taking);
            second.extend(below.into_iter().skip(1));
            (taker, lock_method) = (last, made_in);
        }
        let taken_in = self.show.class(taker);
        let expression = self.show.expression(lock_method, witness.lock);
        if self.is_unwanted(&expression, &taken_in, witness, maker) {
            self.counts.suppressed += 1;
            return;
        }
        let outer_expression = self.show.expression(holder, context.lock);
        let site = self.show.site(holder, context.at);
        let (expression, outer_expression) = match expression == outer_expression {
            true => (
                format!("{expression} of {}", simple(&taken_in)),
                format!("{outer_expression} of {}", simple(&self.show.class(holder))),
            ),
            false => (expression, outer_expression),
        };
        let second_lock = pair.then(|| {
            let expression = self.show.expression(holder, witness.second);
            Lock { expression, taken_in: taken_in.clone(), owner: None }
        });
        let message = witness_message(
            &expression,
            second_lock.as_ref(),
            &outer_expression,
            witness.twice.link,
        );
        let owner = self.owner(lock_method, witness.lock);
        let lock = Lock { expression, taken_in, owner };
        let warning = Warning {
            doubts,
            second_lock,
            outer: Some(Outer { expression: outer_expression, site }),
            path: witness.path.iter().map(|&(m, at)| self.show.site(m, at)).collect(),
            link: witness.twice.link,
            ..Warning::new(rule, message, confidence, lock, first, second)
        };
        let twice = &witness.twice;
        let key = match maker {
            Some(maker) => MergeKey {
                method: Some(maker),
                ..self.key(rule, maker, witness.lock, witness.second)
            },
            None => self.key(rule, method, twice.first.lock, twice.second.lock),
        };
        self.located.add(location, key, warning);
    }

    /// The class that keeps a lock in a private field, if the method's class is another one.
    fn owner(&self, method: MethodId, lock: LockExpr) -> Option<String> {
        let Some(Selector::Field(field)) = lock.steps().last() else { return None };
        let class = self.program.fields[field.0 as usize].class;
        let declared = self.program.text(class);
        let own = self.show.class(method);
        let outermost = |name: &str| name.split('$').next().unwrap_or_default().to_owned();
        let hidden =
            self.program.private.contains(&field) && outermost(&declared) != outermost(&own);
        hidden.then(|| simple(&declared).to_owned())
    }

    fn key(&self, rule: Rule, method: MethodId, lock: LockExpr, second: LockExpr) -> MergeKey {
        let shared = lock.is_global() || (lock.root() == Root::Param(0) && lock.len() > 0);
        let class = self.program.class_of(method).name;
        MergeKey { rule, class, method: (!shared).then_some(method), lock, second }
    }

    /// Adds a broken composite action.
    pub fn composite(&mut self, method: MethodId, found: &Composite) {
        let expression = self.show.expression(method, found.object);
        let taken_in = self.show.class(method);
        let lock = Lock { expression: expression.clone(), taken_in, owner: None };
        if !self.is_wanted(method, &lock, found.object) {
            return;
        }
        let (confidence, doubts) = self.composite_confidence(method, found);
        let names = [found.first.what, found.second.what].map(|u| self.use_name(u));
        let message = composite_message(found, &expression, &names);
        let sites = [found.first.at, found.second.at].map(|at| vec![self.show.site(method, at)]);
        let [first, second] = sites;
        let rule = found.rule;
        let warning = Warning {
            doubts,
            link: found.link,
            ..Warning::new(rule, message, confidence, lock, first, second)
        };
        let key =
            MergeKey { method: Some(method), ..self.key(rule, method, found.object, found.key) };
        self.add_local((rule, method, position(found.second.at)), key, warning);
    }

    fn use_name(&self, used: Use) -> String {
        match used {
            Use::Call(site) => self.program.text(self.program.site_key(site).name).into_owned(),
            Use::Read(_) => "a read".to_owned(),
            Use::Write(_) => "a write".to_owned(),
        }
    }

    fn composite_confidence(
        &self,
        method: MethodId,
        found: &Composite,
    ) -> (Confidence, Vec<String>) {
        let is_static = self.program.method(method).is_static;
        let root = found.object.root();
        let local = matches!(root, Root::Value(_) | Root::Phi(_) | Root::Param(1..))
            || (is_static && root == Root::Param(0));
        let mut confidence = found.confidence;
        let mut doubts = Vec::new();
        if local {
            confidence = confidence.min(Confidence::Medium);
            doubts.push("other threads may not know this object".to_owned());
        }
        if found.rule == Rule::CollectionIteration && found.locked {
            doubts.push("another lock is held".to_owned());
        }
        if self.callers.all_hold_a_lock(method) {
            confidence = Confidence::Low;
            doubts.push("all callers hold a lock".to_owned());
        }
        (confidence, doubts)
    }

    /// Adds a value that is stale when it is used.
    pub fn stale(&mut self, method: MethodId, found: &Stale) {
        let expression = self.show.expression(method, found.first.lock);
        let (first, _) = self.show.chain(method, &found.first.taking);
        let (second, taker) = self.show.chain(method, &found.second.taking);
        let owner = self.owner(method, found.first.lock);
        let lock = Lock { expression: expression.clone(), taken_in: self.show.class(taker), owner };
        if self.suppressions.hides_lock(&lock.taken_in, &lock.expression) {
            self.counts.suppressed += 1;
            return;
        }
        if !self.is_wanted(method, &lock, found.first.lock) {
            return;
        }
        let share = found.first.taking.share.min(found.second.taking.share);
        let (mut confidence, mut doubts) = match share {
            NEARLY_ALL.. => (Confidence::High, Vec::new()),
            MOST.. => (Confidence::Medium, vec![likelihood(share)]),
            _ => (Confidence::Low, vec![likelihood(share)]),
        };
        if self.callers.all_hold_a_lock(method) {
            confidence = Confidence::Low;
            doubts.push("all callers hold a lock".to_owned());
        }
        let field = self.program.text(self.program.fields[found.field.0 as usize].name);
        let how = how(found.link);
        let message = format!(
            "`{field}` may change between the two times that `{expression}` is locked{how}"
        );
        let rule = Rule::StaleRead;
        let link = found.link;
        let warning = Warning {
            doubts,
            link,
            ..Warning::new(rule, message, confidence, lock, first, second)
        };
        let key = MergeKey {
            method: Some(method),
            ..self.key(rule, method, found.first.lock, found.second.lock)
        };
        self.add_local((rule, method, position(found.second.taking.at)), key, warning);
    }

    /// Adds a synchronized method that uses another collection.
    pub fn argument(&mut self, found: &Argument) {
        let Argument { method, object, first, second } = *found;
        let expression = self.show.expression(method, object);
        let taken_in = self.show.class(method);
        let lock = Lock { expression: expression.clone(), taken_in, owner: None };
        if !self.is_wanted(method, &lock, object) {
            return;
        }
        let message =
            format!("`{expression}` is used step by step without its lock while `this` is held");
        let sites = [first, second].map(|at| vec![self.show.site(method, at)]);
        let [first_site, second_site] = sites;
        let rule = Rule::CollectionArgument;
        let warning =
            Warning::new(rule, message, Confidence::Medium, lock, first_site, second_site);
        let key = MergeKey { method: Some(method), ..self.key(rule, method, object, object) };
        self.add_local((rule, method, position(second)), key, warning);
    }

    /// Whether a warning about one method is wanted; counts it if it is not.
    fn is_wanted(&mut self, method: MethodId, lock: &Lock, object: LockExpr) -> bool {
        if self.program.class_of(method).library {
            return false;
        }
        let hidden = self.own_suppressions.hides_lock(&lock.taken_in, &lock.expression)
            || self.own_suppressions.hides_method(&self.program.show_method(method))
            || self.has_benign_annotation(method, object);
        self.counts.suppressed += usize::from(hidden);
        !hidden
    }

    fn add_local(&mut self, location: Location, key: MergeKey, warning: Warning) {
        if warning.confidence < self.min_confidence {
            self.unsure.insert(location);
        } else {
            self.located.add(location, key, warning);
        }
    }

    fn is_unwanted(
        &self,
        lock: &str,
        taken_in: &str,
        witness: &Witness,
        maker: Option<MethodId>,
    ) -> bool {
        let methods = [witness.method, witness.context.0];
        let taken_first = self.show.chain(witness.method, &witness.twice.first.taking).1;
        let holder = self.show.class(witness.context.0);
        // What the JDK's collections do to each other is a mistake of theirs; so is an argument
        // of theirs that is asked and then used.
        let given = matches!(witness.lock.root(), Root::Param(_)) && witness.lock.len() == 0;
        let seed = is_seed_class(&holder)
            || (given && witness.twice.link.flows() && is_seed_class(taken_in));
        let suppressions = if seed { &self.own_suppressions } else { self.suppressions };
        suppressions.hides_lock(taken_in, lock)
            || suppressions.hides_lock(&self.show.class(taken_first), lock)
            || methods.iter().any(|&m| self.suppressions.hides_method(&self.program.show_method(m)))
            || methods.into_iter().chain(maker).any(|m| self.has_benign_annotation(m, witness.lock))
    }

    /// An annotation on the method, its class, or a field that the lock goes through.
    fn has_benign_annotation(&self, method: MethodId, lock: LockExpr) -> bool {
        let field = |step: Selector| match step {
            Selector::Field(field) => self.program.field_annotations.get(&field),
            Selector::Element(_) | Selector::Invoke => None,
        };
        let root =
            if let Root::Static(field) = lock.root() { Some(Selector::Field(field)) } else { None };
        let on_fields = lock.steps().chain(root).filter_map(field).flatten();
        let on_class = self.program.class_of(method).annotations.iter();
        let all = self.program.method(method).annotations.iter().chain(on_class).chain(on_fields);
        all.copied().any(|name: Name| self.suppressions.is_benign(&self.program.text(name)))
    }

    fn confidence(&self, witness: &Witness) -> (Confidence, Vec<String>) {
        let (first, second) = (witness.twice.first.taking, witness.twice.second.taking);
        let lambda = witness.lambda.map_or(u8::MAX, |l| l.1.share);
        let share = times(witness.uses.min(lambda), witness.share);
        let mut doubts = Vec::new();
        if share < NEARLY_ALL {
            doubts.push(likelihood(share));
        }
        if !(first.always && second.always && witness.lambda.is_none_or(|l| l.1.always)) {
            doubts.push("the lock is taken under a condition".to_owned());
        }
        let long = self.is_held_for_long(witness.context.0);
        if long {
            doubts.push("the outer lock seems to be held most of the time".to_owned());
        }
        let confidence = match share {
            _ if long => Confidence::Low,
            NEARLY_ALL.. if doubts.is_empty() => Confidence::High,
            MOST.. => Confidence::Medium,
            _ => Confidence::Low,
        };
        if is_seed_class(&self.show.class(witness.context.0)) && confidence >= Confidence::Medium {
            return (confidence, doubts);
        }
        match witness.twice.link {
            Link::Decides | Link::Feeds => (confidence, doubts),
            Link::Together => (confidence.min(Confidence::Medium), doubts),
            Link::None => {
                doubts.push("no value is seen to flow from the first use to the second".to_owned());
                (confidence.lower(), doubts)
            }
            Link::Loop => {
                doubts.push("both uses are one call in a loop".to_owned());
                (Confidence::Low, doubts)
            }
        }
    }

    /// The paper's idea for filtering: a lock that is held for most of the program's execution
    /// does not mark an atomic block. Held by the main method of a thread, or while it waits.
    fn is_held_for_long(&self, method: MethodId) -> bool {
        let name = self.program.method(method).name;
        let text = self.program.names.name(name.0);
        matches!(text, b"run" | b"main")
            || self.callers.facts[method.0 as usize].as_ref().is_some_and(|f| f.pauses)
    }
}

fn likelihood(share: u8) -> String {
    let percent = (u32::from(share) * 100 / 255).max(1);
    format!("a call takes the lock with a likelihood of about {percent} %")
}

/// The line, or the position in the code when there are no lines.
fn position(at: At) -> u32 {
    if at.line > 0 { u32::from(at.line) } else { 0x1_0000 + u32::from(at.pc) }
}

/// The name of a class without its package.
fn simple(class: &str) -> &str {
    class.rsplit('/').next().unwrap_or(class)
}

/// How the first use matters for the second, at the end of a sentence.
fn how(link: Link) -> &'static str {
    match link {
        Link::Loop => ", in a loop",
        Link::None => "",
        Link::Together => ", and both results are used together",
        Link::Feeds => ", and the second use gets what the first one gave",
        Link::Decides => ", and the first use decides the second",
    }
}

fn witness_message(lock: &str, second: Option<&Lock>, outer: &str, link: Link) -> String {
    match second {
        Some(second) => format!(
            "`{lock}` is locked and released, then `{}` is, while `{outer}` is held",
            second.expression
        ),
        None => {
            format!("`{lock}` is locked and released twice while `{outer}` is held{}", how(link))
        }
    }
}

fn composite_message(found: &Composite, object: &str, [first, second]: &[String; 2]) -> String {
    match found.rule {
        Rule::CollectionIteration => {
            format!("`{object}` is iterated over without holding its lock")
        }
        Rule::IgnoredPutIfAbsent => format!(
            "the result of `putIfAbsent` on `{object}` is dropped, but the offered value is used"
        ),
        Rule::VolatileUpdate => {
            format!("`{object}` is volatile, but reading and then writing it is not one step")
        }
        Rule::LazyInit if found.locked => {
            format!("`{object}` is not tested again under the lock that sets it")
        }
        Rule::LazyInit => format!("`{object}` is found unset and then set without a lock"),
        Rule::LockedTwice
        | Rule::LockedInTurn
        | Rule::StaleRead
        | Rule::MapCheckThenAct
        | Rule::CollectionCheckThenAct
        | Rule::CollectionArgument
        | Rule::AtomicCheckThenAct => format!(
            "`{object}` may change between `{first}` and `{second}`, which need to be one step"
        ),
    }
}
