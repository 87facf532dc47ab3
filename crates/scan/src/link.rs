//! How the value of one use comes to matter for a later one.
//!
//! That a lock is taken twice, or a collection asked and then changed, is only half of a mistake:
//! it does harm when the second use relies on what the first one found out. Here the values are
//! followed through a method, over computations, variables and the results of calls, to the
//! arguments of the second use and to the branches that decide whether it happens at all.

use hashbrown::HashSet;
use serde::Serialize;

use crate::body::{Body, Op};
use crate::calls::Calls;
use crate::expr::{Origin, Root};

/// What connects two uses, the weakest connection first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Link {
    /// It is one use in a loop.
    Loop,
    /// Nothing that can be seen.
    #[default]
    None,
    /// Their results are computed with together.
    Together,
    /// The first one's result is passed to the second.
    Feeds,
    /// The first one's result decides whether the second happens.
    Decides,
}

impl Link {
    /// Whether a value flows from the first use to the second.
    pub fn flows(self) -> bool {
        matches!(self, Link::Feeds | Link::Decides)
    }
}

/// Follows values through one method.
pub struct Links<'b> {
    /// The method.
    pub body: &'b Body,
    /// For the number of arguments of its calls.
    pub calls: &'b Calls,
}

impl Links<'_> {
    /// All values that are computed from `starts`, those included.
    pub fn computed_from(&self, starts: &[Origin]) -> HashSet<Origin> {
        let mut reached: HashSet<Origin> = starts.iter().copied().collect();
        // Each round follows at least one more step; a method has no more steps than sources.
        loop {
            let before = reached.len();
            for &(to, from) in &self.body.sources {
                if reached.contains(&from) {
                    reached.insert(to);
                }
            }
            for event in &self.body.events {
                let Op::Call { site, args } = event.op else { continue };
                let count = usize::from(self.calls.of(site).args);
                if self.body.origins_from(args, count).iter().any(|o| reached.contains(o)) {
                    reached.insert(Origin::new(Root::Value(event.pc.into())));
                }
            }
            for lambda in &self.body.lambdas {
                let captured = self.body.origins_from(lambda.args, lambda.captured.into());
                if captured.iter().any(|o| reached.contains(o)) {
                    reached.insert(Origin::new(Root::Lambda(lambda.pc.into())));
                }
            }
            if reached.len() == before {
                return reached;
            }
        }
    }

    /// Whether a value of the set is an argument of the event, or what it assigns.
    pub fn is_passed(&self, values: &HashSet<Origin>, event: u32) -> bool {
        let one =
            |place: u32| self.body.origins.get(place as usize).is_some_and(|o| values.contains(o));
        match self.body.events[event as usize].op {
            Op::Call { site, args } => {
                let count = usize::from(self.calls.of(site).args);
                self.body.origins_from(args, count).iter().any(|o| values.contains(o))
            }
            Op::SetField { place, .. } | Op::SetElement { place } => one(place),
            Op::Enter { .. }
            | Op::Exit { .. }
            | Op::TryEnter { .. }
            | Op::Wait
            | Op::Define(_)
            | Op::GetField { .. }
            | Op::Escape { .. } => false,
        }
    }

    /// Whether a branch on a value of the set decides if control comes to the event.
    pub fn is_decided(&self, values: &HashSet<Origin>, event: u32) -> bool {
        let target = self.body.block_of(event);
        let on_values = self.body.decisions.iter().filter(|d| values.contains(&d.1));
        let mut seen = u32::MAX;
        on_values.into_iter().any(|&(block, _)| {
            let again = std::mem::replace(&mut seen, block) == block;
            !again && self.controls(block, target)
        })
    }

    /// Whether the event is decided by a branch on this value alone: a test for null or zero.
    pub fn is_tested_alone(&self, value: Origin, event: u32) -> bool {
        let target = self.body.block_of(event);
        let decisions = &self.body.decisions;
        let alone = |block: u32| decisions.iter().filter(|d| d.0 == block).count() == 1;
        let on_value = decisions.iter().filter(|d| d.1 == value && alone(d.0));
        on_value.into_iter().any(|d| self.controls(d.0, target))
    }

    /// Whether any branch depends on a value of the set.
    pub fn any_decision(&self, values: &HashSet<Origin>) -> bool {
        self.body.decisions.iter().any(|d| values.contains(&d.1))
    }

    /// Whether one way out of `branch` leads to `target` and another one need not.
    fn controls(&self, branch: u32, target: u32) -> bool {
        let next: Vec<u32> = self.next(branch).collect();
        let reaches = next.iter().any(|&n| self.can_reach(n, target, branch));
        reaches && next.iter().any(|&n| n != target && self.can_avoid(n, target, branch))
    }

    fn next(&self, block: u32) -> impl Iterator<Item = u32> + '_ {
        self.body.edges[self.body.edges_of(block as usize)].iter().map(|e| e.to)
    }

    /// Whether control can come from one block to another without passing a third.
    pub fn can_reach(&self, from: u32, to: u32, not: u32) -> bool {
        let mut seen = vec![false; self.body.block_count()];
        let mut work = vec![from];
        while let Some(block) = work.pop() {
            if block == to {
                return true;
            }
            if block != not && !std::mem::replace(&mut seen[block as usize], true) {
                work.extend(self.next(block));
            }
        }
        false
    }

    /// Whether control can leave the method, or come back to the branch, without the target.
    fn can_avoid(&self, from: u32, target: u32, branch: u32) -> bool {
        let mut seen = vec![false; self.body.block_count()];
        let mut work = vec![from];
        while let Some(block) = work.pop() {
            if block == target {
                continue;
            }
            if block == branch || self.next(block).next().is_none() {
                return true;
            }
            if !std::mem::replace(&mut seen[block as usize], true) {
                work.extend(self.next(block));
            }
        }
        false
    }

    /// Whether two values are computed with together, or tested by one branch after the other.
    pub fn meet(&self, first: &[Origin], second: &[Origin]) -> bool {
        let (a, b) = (self.computed_from(first), self.computed_from(second));
        let shared = |o: &Origin| b.contains(o) && !first.contains(o) && !second.contains(o);
        a.iter().any(shared)
    }
}
