//! Which variables can be part of a conflict at all: several threads access them, and one of them
//! writes. In a real program few of its millions of variables are like that, so a pass that reads a
//! trace again for its conflicts may skip the others: they cost neither memory nor time.

use paceline_trace::{Access, Batch, Event, VarId};

/// Which threads have accessed each variable so far: a byte for each variable, so that it is cheap
/// enough to record while a program runs, whether or not the trace will be read again.
#[derive(Default)]
pub struct Touches(Vec<u8>);

const UNTOUCHED: u8 = 0;
/// Several threads, or one with a number that is too large for a byte.
const SEVERAL: u8 = 0x7f;
/// One of them has written.
const WRITTEN: u8 = 0x80;

/// The variable that an event accesses, and the bits to record, if it is an access.
#[inline(always)]
fn access(event: &Event) -> Option<(VarId, u8)> {
    let thread = event.thread.0.saturating_add(1).min(SEVERAL.into()) as u8;
    let Access { variable, writes } = event.op.access()?;
    Some((variable, if writes { thread | WRITTEN } else { thread }))
}

impl Touches {
    /// Takes the next events.
    pub fn events(&mut self, batch: &Batch) {
        if self.0.len() < batch.counts.vars {
            self.0.resize(batch.counts.vars, UNTOUCHED);
        }
        for event in &batch.events {
            let Some((x, access)) = access(event) else { continue };
            let touched = &mut self.0[x.index()];
            let (before, thread) = (*touched & SEVERAL, access & SEVERAL);
            let is_same = (before == thread) | (before == UNTOUCHED);
            *touched |= access | if is_same { 0 } else { SEVERAL };
        }
    }

    /// The variables that can be part of conflicts.
    pub fn contested(&self) -> Contested {
        let is_contested = |&touched: &u8| u64::from(touched == SEVERAL | WRITTEN);
        let word = |bytes: &[u8]| {
            let bits = bytes.iter().map(is_contested).enumerate();
            bits.fold(0, |word, (i, bit)| word | bit << i)
        };
        let mut count = 0;
        let ranked = |word: u64| {
            let before = count;
            count += word.count_ones();
            (word, before)
        };
        let words = self.0.chunks(64).map(word).map(ranked).collect();
        Contested { words, count: count as usize }
    }
}

/// A set of variables, numbered.
#[derive(Clone, Debug)]
pub struct Contested {
    /// One bit for each variable; and the number of bits in the words before.
    words: Vec<(u64, u32)>,
    count: usize,
}

impl Contested {
    /// How many there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The number of a variable within the set, if it is a member.
    #[inline(always)]
    pub fn number(&self, x: VarId) -> Option<usize> {
        let &(word, before) = self.words.get(x.index() / 64)?;
        let bit = 1 << (x.index() % 64);
        let rank = (word & (bit - 1)).count_ones();
        (word & bit != 0).then_some((before + rank) as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::random;
    use paceline_trace::Trace;

    fn contested(trace: &Trace) -> Contested {
        let mut touches = Touches::default();
        let whole = trace.batch();
        for events in trace.events.chunks(2) {
            touches.events(&Batch { events: events.to_vec(), ..whole.clone() });
        }
        touches.contested()
    }

    #[test]
    fn it_takes_two_threads_and_a_write() {
        let text = "1:r(a) 1:w(b) 1:r(c) 1:w(d) 1:r(e) 2:r(c) 2:r(d) 2:aw(e) 2:w(f) 2:r(f)";
        let trace = Trace::parse(text).unwrap();
        let set = contested(&trace);
        let numbers = [0, 1, 2, 3, 4, 5, 6, 600].map(|x| set.number(VarId(x)));
        assert_eq!(numbers, [None, None, None, Some(0), Some(1), None, None, None]);
        assert_eq!(set.count(), 2);
    }

    #[test]
    fn many_threads_and_variables() {
        let line = |t: usize| format!("{t}:w(x{t}) {t}:r(y) {t}:r(z{})", t / 2);
        let trace = Trace::parse(&(1..400).map(line).collect::<Vec<_>>().join(" ")).unwrap();
        let set = contested(&trace);
        let found = (0..trace.symbols.vars.len() as u32).filter_map(|x| set.number(VarId(x)));
        assert!(found.eq(0..set.count()));
        // A variable of one thread is not contested.
        let own = trace.symbols.vars.get(b"x1").unwrap();
        assert_eq!(set.number(VarId(own)), None);
    }

    #[test]
    fn contested_are_those_in_conflicts() {
        random::check(300, 60, |trace| {
            let set = contested(trace);
            let accesses: Vec<_> =
                trace.events.iter().filter_map(|e| Some((e.thread, access(e)?))).collect();
            let is_in_conflict = |x: VarId| {
                let of_x = || accesses.iter().filter(|(_, (y, _))| *y == x);
                let written = |touch: u8| touch & WRITTEN != 0;
                of_x().any(|(a, (_, touch))| written(*touch) && of_x().any(|(b, _)| a != b))
            };
            let all = (0..trace.symbols.vars.len() as u32).map(VarId);
            match all.into_iter().find(|&x| is_in_conflict(x) != set.number(x).is_some()) {
                Some(x) => Err(format!("variable {x:?}")),
                None => Ok(()),
            }
        });
    }
}
