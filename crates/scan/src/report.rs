//! From witnesses to warnings (paper, section 4.5): one for each place where a lock is taken for
//! the second time, merged by the lock; hidden where they are not wanted or not sure enough.

use hashbrown::hash_map::Entry;
use hashbrown::{HashMap, HashSet};

use crate::callers::Callers;
use crate::composite::{Composite, Kind};
use crate::facts::Facts;
use crate::finals::Witness;
use crate::finding::{Confidence, Counts, Lock, Outer, Warning};
use crate::held::{At, LocksHeld, times};
use crate::place::{Name, Place, Root, Step};
use crate::program::{MethodId, Program};
use crate::rules::Rule;
use crate::show::Show;
use crate::suppress::Suppressions;

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
    /// The program.
    pub program: &'r Program,
    /// The facts of all methods.
    pub facts: &'r [Option<Box<Facts>>],
    /// For text.
    pub show: Show<'r>,
    /// Who holds locks around calls.
    pub callers: Callers<'r>,
    /// What is not wanted.
    pub suppressions: &'r Suppressions,
    /// What is not sure enough.
    pub min_confidence: Confidence,
    /// How much was hidden.
    pub counts: Counts,
    /// The warnings by the place of the second use.
    located: HashMap<Location, (Warning, MergeKey)>,
    /// Places with warnings that are not sure enough.
    unsure: HashSet<Location>,
}

/// The rule, the method, and the line or position of the second use.
type Location = (Rule, MethodId, u32);

/// Warnings with the same key are one. A lock that starts at `this` or at a static field is the
/// same in all methods of a class; others are told apart by method.
#[derive(PartialEq, Eq, Hash)]
struct MergeKey {
    rule: Rule,
    class: Name,
    method: Option<MethodId>,
    lock: Place,
    second: Place,
}

impl<'r> Reporter<'r> {
    /// Without any warnings yet.
    pub fn new(
        callers: Callers<'r>,
        held: &'r LocksHeld,
        suppressions: &'r Suppressions,
        min_confidence: Confidence,
    ) -> Reporter<'r> {
        let Callers { program, facts, .. } = callers;
        Reporter {
            program,
            facts,
            callers,
            show: Show { program, held },
            suppressions,
            min_confidence,
            counts: Counts::default(),
            located: HashMap::new(),
            unsure: HashSet::new(),
        }
    }

    /// All warnings, by file and line.
    pub fn finish(mut self) -> (Vec<Warning>, Counts) {
        let sure = &self.located;
        self.counts.unsure = self.unsure.iter().filter(|&l| !sure.contains_key(l)).count();
        let mut located: Vec<(Location, (Warning, MergeKey))> = self.located.into_iter().collect();
        located.sort_unstable_by_key(|l| l.0);
        // In the order of their places, so that those that sort alike stay in it.
        let mut warnings: Vec<Warning> = Vec::new();
        let mut merged: HashMap<MergeKey, usize> = HashMap::new();
        for (_, (warning, key)) in located {
            match merged.entry(key) {
                Entry::Occupied(kept) => merge(&mut warnings[*kept.get()], warning),
                Entry::Vacant(free) => {
                    free.insert(warnings.len());
                    warnings.push(warning);
                }
            }
        }
        warnings.iter_mut().for_each(tidy);
        warnings.sort_by_cached_key(|w| (w.site().clone(), w.rule, w.lock.expression.clone()));
        (warnings, self.counts)
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
        let expression = self.show.expression(lock_method, witness.lock);
        let taken_in = self.show.class(taker);
        if self.is_unwanted(&expression, &taken_in, witness, maker) {
            self.counts.suppressed += 1;
            return;
        }
        let second_lock = pair.then(|| Lock {
            expression: self.show.expression(holder, witness.second),
            taken_in: taken_in.clone(),
        });
        let outer = Outer {
            expression: self.show.expression(holder, context.lock),
            site: self.show.site(holder, context.at),
        };
        let path = witness.path.iter().map(|&(m, at)| self.show.site(m, at)).collect();
        let message = message(rule, &expression, second_lock.as_ref(), &outer.expression);
        let lock = Lock { expression, taken_in };
        let warning = Warning {
            rule,
            message,
            confidence,
            doubts,
            lock,
            second_lock,
            outer: Some(outer),
            path,
            first,
            second,
            also_locks: Vec::new(),
            also: Vec::new(),
            also_held: Vec::new(),
            confirmed: None,
        };
        let twice = &witness.twice;
        let key = match maker {
            Some(maker) => MergeKey {
                method: Some(maker),
                ..self.key(rule, maker, witness.lock, witness.second)
            },
            None => self.key(rule, method, twice.first.lock, twice.second.lock),
        };
        self.add(location, key, warning);
    }

    fn key(&self, rule: Rule, method: MethodId, lock: Place, second: Place) -> MergeKey {
        let shared = lock.is_global() || (lock.root() == Root::Param(0) && lock.len() > 0);
        let class = self.program.class_of(method).name;
        MergeKey { rule, class, method: (!shared).then_some(method), lock, second }
    }

    /// Of several locks at one place, the surest and nearest stands for all.
    fn add(&mut self, location: Location, key: MergeKey, new: Warning) {
        match self.located.entry(location) {
            Entry::Vacant(free) => {
                free.insert((new, key));
            }
            Entry::Occupied(mut kept) => {
                let (old, old_key) = kept.get_mut();
                let (mut other, other_key) = (new, key);
                if is_better(&other, old) {
                    std::mem::swap(old, &mut other);
                    *old_key = other_key;
                }
                old.also_held.append(&mut other.also_held);
                old.also_held.extend(other.outer);
                old.also_locks.append(&mut other.also_locks);
                old.also_locks.push(other.lock);
            }
        }
    }

    /// Adds a broken composite action.
    pub fn composite(&mut self, method: MethodId, found: &Composite) {
        if self.program.class_of(method).library {
            return;
        }
        let rule = match found.kind {
            Kind::MapCheckThenAct => Rule::MapCheckThenAct,
            Kind::CheckThenAct => Rule::CollectionCheckThenAct,
            Kind::Iteration => Rule::CollectionIteration,
        };
        let expression = self.show.expression(method, found.collection);
        let name = self.program.show_method(method);
        let lock = Lock { expression: expression.clone(), taken_in: self.show.class(method) };
        let user = Suppressions { library_locks: false, ..self.suppressions.clone() };
        if user.hides_lock(&lock.taken_in, &expression)
            || user.hides_method(&name)
            || self.has_benign_annotation(method, found.collection)
        {
            self.counts.suppressed += 1;
            return;
        }
        let calls = [found.first.1, found.second.1].map(|s| self.program.site_key(s).name);
        let [first, second] = calls.map(|n| self.program.text(n).into_owned());
        let shared =
            !matches!(found.collection.root(), Root::Value(_) | Root::Phi(_) | Root::Param(1..));
        let by_callers = !found.guarded && self.callers.all_hold_a_lock(method);
        let confidence = match (found.guarded || by_callers, shared) {
            (true, _) => Confidence::Low,
            (false, true) => Confidence::High,
            (false, false) => Confidence::Medium,
        };
        let doubt = match (found.guarded, by_callers) {
            (true, _) => Some("another lock is held"),
            (false, true) => Some("all callers hold a lock"),
            (false, false) => None,
        };
        let doubts = doubt.into_iter().map(str::to_owned).collect();
        let message = match found.kind {
            Kind::Iteration => format!("`{expression}` is iterated over without holding its lock"),
            Kind::MapCheckThenAct | Kind::CheckThenAct => format!(
                "`{expression}` may change between `{first}` and `{second}`, which need to be one step"
            ),
        };
        let warning = Warning {
            rule,
            message,
            confidence,
            doubts,
            lock,
            second_lock: None,
            outer: None,
            path: Vec::new(),
            first: vec![self.show.site(method, found.first.0)],
            second: vec![self.show.site(method, found.second.0)],
            also_locks: Vec::new(),
            also: Vec::new(),
            also_held: Vec::new(),
            confirmed: None,
        };
        let key = MergeKey {
            method: Some(method),
            ..self.key(rule, method, found.collection, found.key)
        };
        let location = (rule, method, position(found.second.0));
        if confidence < self.min_confidence {
            self.unsure.insert(location);
        } else {
            self.add(location, key, warning);
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
        self.suppressions.hides_lock(taken_in, lock)
            || self.suppressions.hides_lock(&self.show.class(taken_first), lock)
            || methods.iter().any(|&m| self.suppressions.hides_method(&self.program.show_method(m)))
            || methods.into_iter().chain(maker).any(|m| self.has_benign_annotation(m, witness.lock))
    }

    /// An annotation on the method, its class, or a field that the lock goes through.
    fn has_benign_annotation(&self, method: MethodId, lock: Place) -> bool {
        let field = |step: Step| match step {
            Step::Field(field) => self.program.field_annotations.get(&field),
            Step::Element(_) | Step::Invoke => None,
        };
        let root =
            if let Root::Static(field) = lock.root() { Some(Step::Field(field)) } else { None };
        let on_fields = lock.steps().chain(root).filter_map(field).flatten();
        let on_class = self.program.class_of(method).annotations.iter();
        let all = self.program.method(method).annotations.iter().chain(on_class).chain(on_fields);
        all.copied().any(|name| self.suppressions.is_benign(&self.program.text(name)))
    }

    fn confidence(&self, witness: &Witness) -> (Confidence, Vec<String>) {
        let (first, second) = (witness.twice.first.taking, witness.twice.second.taking);
        let lambda = witness.lambda.map_or(u8::MAX, |l| l.1.share);
        let share = times(first.share.min(second.share).min(lambda), witness.share);
        let mut doubts = Vec::new();
        if share < NEARLY_ALL {
            let percent = (u32::from(share) * 100 / 255).max(1);
            doubts.push(format!("a call takes the lock with a likelihood of about {percent} %"));
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
        (confidence, doubts)
    }

    /// The paper's idea for filtering: a lock that is held for most of the program's execution
    /// does not mark an atomic block. Held by the main method of a thread, or while it waits.
    fn is_held_for_long(&self, method: MethodId) -> bool {
        let name = self.program.method(method).name;
        let text = self.program.names.name(name.0);
        matches!(text, b"run" | b"main")
            || self.facts[method.0 as usize].as_ref().is_some_and(|f| f.pauses)
    }
}

/// Joins two warnings about one lock.
fn merge(kept: &mut Warning, mut other: Warning) {
    if is_better(&other, kept) {
        std::mem::swap(kept, &mut other);
    }
    kept.also.append(&mut other.also);
    kept.also_held.append(&mut other.also_held);
    kept.also_locks.append(&mut other.also_locks);
    kept.also.push(other.second.swap_remove(0));
    kept.also_held.extend(other.outer);
}

/// Sorts the lists of a warning and drops what stands in it already.
fn tidy(warning: &mut Warning) {
    let Warning { also, also_held, also_locks, second, lock, outer, .. } = warning;
    also.sort();
    also.dedup();
    also.retain(|site| *site != second[0]);
    also_held.sort();
    also_held.dedup();
    also_held.retain(|held| Some(held) != outer.as_ref());
    also_locks.sort();
    also_locks.dedup();
    also_locks.retain(|other| other.expression != lock.expression);
}

fn is_better(new: &Warning, old: &Warning) -> bool {
    let rank = |w: &Warning| {
        let hops = w.path.len() + w.first.len() + w.second.len();
        (std::cmp::Reverse(w.confidence), hops, w.lock.expression.len(), w.second[0].clone())
    };
    rank(new) < rank(old)
}

/// The line, or the position in the code when there are no lines.
fn position(at: At) -> u32 {
    if at.line > 0 { u32::from(at.line) } else { 0x1_0000 + u32::from(at.pc) }
}

fn message(rule: Rule, lock: &str, second: Option<&Lock>, outer: &str) -> String {
    match second {
        Some(second) if rule == Rule::LockedInTurn => format!(
            "`{lock}` is locked and released, then `{}` is, while `{outer}` is held",
            second.expression
        ),
        _ => format!("`{lock}` is locked and released twice while `{outer}` is held"),
    }
}

/// Counts the lines of a program: the sum over methods of their spans is not kept, so the largest
/// line of each source file stands for its length.
pub fn source_lines(program: &Program) -> u64 {
    let mut files: HashMap<(&[u8], Name), u16> = HashMap::new();
    for class in &program.classes {
        let Some(source) = class.source else { continue };
        let name = program.names.name(class.name.0);
        let folder = name.iter().rposition(|&b| b == b'/').map_or(&[][..], |i| &name[..i]);
        let methods = &program.methods[class.methods.start as usize..class.methods.end as usize];
        let events = methods.iter().filter_map(|m| m.body.as_ref()).flat_map(|b| &b.events);
        let last = events.map(|e| e.line).chain(methods.iter().map(|m| m.line)).max().unwrap_or(0);
        let longest = files.entry((folder, source)).or_default();
        *longest = last.max(*longest);
    }
    files.values().map(|&lines| u64::from(lines)).sum()
}
