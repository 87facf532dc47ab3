//! The control-flow graph of a method: basic blocks, their edges, the handlers that cover them.

use crate::body::Reach;
use crate::bytecode::Insn;

/// A range of code whose exceptions are caught.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Handler {
    /// The first position that is covered.
    pub start: u32,
    /// The first position after the range.
    pub end: u32,
    /// Where the exception goes.
    pub target: u32,
    /// Whether it catches everything.
    pub any: bool,
}

/// The blocks of a method.
#[derive(Default, Debug)]
pub struct Cfg {
    /// The instructions with their positions.
    pub insns: Vec<(u32, Insn)>,
    /// The first instruction of each block, and one past the last of all.
    pub starts: Vec<usize>,
    /// Where control goes from each block.
    pub next: Vec<Vec<u32>>,
    /// The handlers that cover each block, innermost first.
    pub handlers: Vec<Vec<u32>>,
}

/// A jump or an exception range that points outside the method, or into an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BadTarget(pub u32);

impl Cfg {
    /// Cuts the code into blocks.
    pub fn new(insns: Vec<(u32, Insn)>, handlers: &[Handler]) -> Result<Cfg, BadTarget> {
        let mut cfg = Cfg { insns, ..Cfg::default() };
        let leaders = cfg.leaders(handlers)?;
        cfg.starts = (0..cfg.insns.len()).filter(|&i| leaders[i]).collect();
        let blocks = cfg.starts.len();
        cfg.starts.push(cfg.insns.len());
        let returns = cfg.subroutine_returns();
        for block in 0..blocks {
            let next = cfg.successors(block, &returns)?;
            cfg.next.push(next);
            let covering = cfg.covering(block, handlers)?;
            cfg.handlers.push(covering);
        }
        Ok(cfg)
    }

    /// How many blocks there are.
    pub fn len(&self) -> usize {
        self.next.len()
    }

    /// The instructions of a block.
    pub fn insns_of(&self, block: usize) -> &[(u32, Insn)] {
        &self.insns[self.starts[block]..self.starts[block + 1]]
    }

    /// The position where a block starts.
    pub fn pc_of(&self, block: usize) -> u32 {
        self.insns[self.starts[block]].0
    }

    /// The position of each block in reverse postorder, exceptions included, and the heads of loops:
    /// the blocks that control comes back to.
    pub fn ranks(&self) -> (Vec<u32>, Vec<u32>) {
        let mut ranks = vec![u32::MAX; self.len()];
        let mut open = vec![false; self.len()];
        let mut seen = vec![false; self.len()];
        let (mut heads, mut order) = (Vec::new(), Vec::new());
        let mut stack = vec![(0u32, 0usize)];
        while let Some((block, child)) = stack.pop() {
            let at = block as usize;
            if child == 0 {
                (seen[at], open[at]) = (true, true);
            }
            let mut next = self.next[at].iter().chain(&self.handlers[at]);
            match next.nth(child) {
                Some(&next) => {
                    stack.push((block, child + 1));
                    if open[next as usize] {
                        heads.push(next);
                    } else if !seen[next as usize] {
                        stack.push((next, 0));
                    }
                }
                None => {
                    open[at] = false;
                    order.push(block);
                }
            }
        }
        order.iter().rev().enumerate().for_each(|(rank, &b)| ranks[b as usize] = rank as u32);
        heads.sort_unstable();
        heads.dedup();
        (ranks, heads)
    }

    fn index_of(&self, pc: u32) -> Result<usize, BadTarget> {
        self.insns.binary_search_by_key(&pc, |i| i.0).map_err(|_| BadTarget(pc))
    }

    fn block_at(&self, pc: u32) -> Result<u32, BadTarget> {
        let index = self.index_of(pc)?;
        self.starts.binary_search(&index).map(|b| b as u32).map_err(|_| BadTarget(pc))
    }

    /// Which instructions start a block: targets, and what follows a jump. The borders of
    /// exception ranges do too, so that a block is covered as a whole or not at all.
    fn leaders(&self, handlers: &[Handler]) -> Result<Vec<bool>, BadTarget> {
        let mut leaders = vec![false; self.insns.len() + 1];
        leaders[0] = true;
        for (i, (_, insn)) in self.insns.iter().enumerate() {
            for &target in targets(insn) {
                leaders[self.index_of(target)?] = true;
            }
            leaders[i + 1] |= !targets(insn).is_empty() || !falls_through(insn);
        }
        for handler in handlers {
            leaders[self.index_of(handler.start)?] = true;
            leaders[self.index_of(handler.target)?] = true;
            if let Ok(end) = self.index_of(handler.end) {
                leaders[end] = true;
            }
        }
        Ok(leaders)
    }

    /// Where subroutines return to: any of them may return after any call of one.
    fn subroutine_returns(&self) -> Vec<u32> {
        let calls = self.insns.iter().zip(self.insns.iter().skip(1));
        calls.filter(|(i, _)| matches!(i.1, Insn::Subroutine(_))).map(|(_, next)| next.0).collect()
    }

    fn successors(&self, block: usize, returns: &[u32]) -> Result<Vec<u32>, BadTarget> {
        let mut next = Vec::new();
        let Some((_, last)) = self.insns_of(block).last() else { return Ok(next) };
        for &target in targets(last) {
            next.push(self.block_at(target)?);
        }
        if matches!(last, Insn::SubroutineReturn) {
            for &target in returns {
                next.push(self.block_at(target)?);
            }
        }
        if falls_through(last) && block + 2 < self.starts.len() {
            next.push(block as u32 + 1);
        }
        next.sort_unstable();
        next.dedup();
        Ok(next)
    }

    /// Handlers after one that catches everything are never reached from there: javac covers the
    /// handler of a synchronized block with itself, and following more would mix up lock depths.
    fn covering(&self, block: usize, handlers: &[Handler]) -> Result<Vec<u32>, BadTarget> {
        let pc = self.pc_of(block);
        let mut covering = Vec::new();
        for handler in handlers.iter().filter(|h| h.start <= pc && pc < h.end) {
            covering.push(self.block_at(handler.target)?);
            if handler.any {
                break;
            }
        }
        Ok(covering)
    }
}

fn targets(insn: &Insn) -> &[u32] {
    if let Insn::Jump(target) | Insn::Branch(_, target) | Insn::Subroutine(target) = insn {
        return std::slice::from_ref(target);
    }
    if let Insn::Switch(targets) = insn { targets } else { &[] }
}

fn falls_through(insn: &Insn) -> bool {
    !matches!(
        insn,
        Insn::Jump(_)
            | Insn::Switch(_)
            | Insn::Subroutine(_)
            | Insn::SubroutineReturn
            | Insn::Return(_)
            | Insn::Throw
    )
}

/// Which runs come to each block.
pub fn reach(cfg: &Cfg) -> Vec<Reach> {
    let (always, returning) = (always_passed(cfg), can_return(cfg));
    let of_block = |b: usize| match (always[b], returning[b]) {
        (true, _) => Reach::Always,
        (false, true) => Reach::Sometimes,
        (false, false) => Reach::Failing,
    };
    (0..cfg.len()).map(of_block).collect()
}

/// The blocks from which a return can be reached, also through a handler.
fn can_return(cfg: &Cfg) -> Vec<bool> {
    let mut before = vec![Vec::new(); cfg.len()];
    for block in 0..cfg.len() {
        for &next in cfg.next[block].iter().chain(&cfg.handlers[block]) {
            before[next as usize].push(block);
        }
    }
    let mut marked = vec![false; cfg.len()];
    let mut work: Vec<usize> = (0..cfg.len()).filter(|&b| is_return(cfg, b)).collect();
    while let Some(block) = work.pop() {
        if !std::mem::replace(&mut marked[block], true) {
            work.extend(&before[block]);
        }
    }
    marked
}

/// Which blocks every normal run passes: those that dominate all returns. Blocks are marked by
/// walking up the dominator tree from the common dominator of the returns.
fn always_passed(cfg: &Cfg) -> Vec<bool> {
    let order = reverse_postorder(cfg);
    let mut rank = vec![usize::MAX; cfg.len()];
    order.iter().enumerate().for_each(|(i, &b)| rank[b as usize] = i);
    let parents = dominators(cfg, &order, &rank);
    let returns = order.iter().copied().filter(|&b| is_return(cfg, b as usize));
    let common = returns.reduce(|a, b| meet(&parents, &rank, a, b));
    let mut marked = vec![false; cfg.len()];
    let mut at = common;
    while let Some(block) = at {
        marked[block as usize] = true;
        at = (block != 0).then(|| parents[block as usize]);
    }
    marked
}

fn is_return(cfg: &Cfg, block: usize) -> bool {
    cfg.insns_of(block).last().is_some_and(|i| matches!(i.1, Insn::Return(_)))
}

fn reverse_postorder(cfg: &Cfg) -> Vec<u32> {
    let mut seen = vec![false; cfg.len()];
    let mut order = Vec::new();
    let mut stack = vec![(0u32, 0usize)];
    seen[0] = true;
    while let Some((block, child)) = stack.pop() {
        match cfg.next[block as usize].get(child) {
            Some(&next) => {
                stack.push((block, child + 1));
                if !std::mem::replace(&mut seen[next as usize], true) {
                    stack.push((next, 0));
                }
            }
            None => order.push(block),
        }
    }
    order.reverse();
    order
}

/// Immediate dominators by iteration in reverse postorder (Cooper, Harvey and Kennedy).
fn dominators(cfg: &Cfg, order: &[u32], rank: &[usize]) -> Vec<u32> {
    let mut parents = vec![u32::MAX; cfg.len()];
    parents[0] = 0;
    let mut changed = true;
    while changed {
        changed = false;
        for &block in order {
            for &next in cfg.next[block as usize].iter().filter(|&&n| n != 0) {
                let old = parents[next as usize];
                let new = if old == u32::MAX { block } else { meet(&parents, rank, old, block) };
                changed |= old != new;
                parents[next as usize] = new;
            }
        }
    }
    parents
}

fn meet(parents: &[u32], rank: &[usize], mut a: u32, mut b: u32) -> u32 {
    while a != b {
        if rank[a as usize] > rank[b as usize] {
            a = parents[a as usize];
        } else {
            b = parents[b as usize];
        }
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(insns: &[Insn]) -> Vec<(u32, Insn)> {
        insns.iter().cloned().enumerate().map(|(i, insn)| (i as u32, insn)).collect()
    }

    #[test]
    fn an_if_makes_four_blocks_and_the_branches_are_not_always_passed() {
        let insns =
            code(&[Insn::Branch(1, 3), Insn::Int(1), Insn::Jump(4), Insn::Int(2), Insn::Return(1)]);
        let cfg = Cfg::new(insns, &[]).unwrap();
        assert_eq!(cfg.next, [vec![1, 2], vec![3], vec![3], vec![]]);
        assert_eq!(always_passed(&cfg), [true, false, false, true]);
    }

    #[test]
    fn a_loop_body_may_be_skipped() {
        let insns = code(&[Insn::Branch(1, 3), Insn::Int(1), Insn::Jump(0), Insn::Return(0)]);
        let cfg = Cfg::new(insns, &[]).unwrap();
        assert_eq!(always_passed(&cfg), [true, false, true]);
    }

    #[test]
    fn a_block_that_only_leads_to_a_throw_fails() {
        let insns = code(&[Insn::Branch(1, 3), Insn::Null, Insn::Throw, Insn::Return(0)]);
        let cfg = Cfg::new(insns, &[]).unwrap();
        assert_eq!(reach(&cfg), [Reach::Always, Reach::Failing, Reach::Always]);
    }

    #[test]
    fn exception_ranges_cut_blocks() {
        let insns = code(&[Insn::Null, Insn::Null, Insn::Return(0), Insn::Throw]);
        let handler = Handler { start: 1, end: 2, target: 3, any: true };
        let cfg = Cfg::new(insns, &[handler, handler]).unwrap();
        assert_eq!(cfg.handlers, [vec![], vec![3], vec![], vec![]]);
    }

    #[test]
    fn a_jump_out_of_the_method_is_refused() {
        assert_eq!(Cfg::new(code(&[Insn::Jump(9)]), &[]).unwrap_err(), BadTarget(9));
    }
}
