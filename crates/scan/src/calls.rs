//! The call graph: CALLEES of every site, and the way back from methods to sites to callers.

use rayon::prelude::*;

use crate::body::{Body, CallKind, SiteId};
use crate::bytecode::parameters;
use crate::expr::LockExpr;
use crate::held::Passed;
use crate::hierarchy::{Hierarchy, Marks};
use crate::program::{MethodId, Program};

/// Many lists in two arrays.
#[derive(Default)]
pub struct Lists<T> {
    ends: Vec<u32>,
    items: Vec<T>,
}

impl<T: Copy> Lists<T> {
    /// Lists from pairs of list and item; the items of a list keep their order.
    fn from_pairs(lists: usize, pairs: &[(u32, T)]) -> Lists<T> {
        let mut ends = vec![0u32; lists];
        pairs.iter().for_each(|p| ends[p.0 as usize] += 1);
        let mut total = 0;
        for end in &mut ends {
            total += *end;
            *end = total;
        }
        // Filled from the back, each list from its end, which moves to its start.
        let mut starts = ends.clone();
        let mut items: Vec<T> = pairs.iter().map(|p| p.1).collect();
        for &(list, item) in pairs.iter().rev() {
            starts[list as usize] -= 1;
            items[starts[list as usize] as usize] = item;
        }
        Lists { ends, items }
    }

    /// The list with this number.
    pub fn get(&self, list: u32) -> &[T] {
        let start = if list == 0 { 0 } else { self.ends[list as usize - 1] };
        &self.items[start as usize..self.ends[list as usize] as usize]
    }
}

/// A site with more callees than this keeps only their number: what one of them does has no share
/// left (see [`crate::held`]), and dozens of them would have to take the same lock to matter.
const CALLEES: usize = 4096;

/// What a call site may call.
#[derive(Clone, Default)]
pub struct Callees {
    /// The methods, in order.
    pub targets: Box<[MethodId]>,
    /// The method of the class that the site names, if an object may be of that very class. A
    /// lock taken there is certain to be possible.
    pub own: Option<MethodId>,
    /// How many different things may run: the targets, and the lambdas of the interface.
    pub choices: u32,
    /// How many arguments are passed, the receiver included.
    pub args: u8,
    /// Whether lambdas of the interface exist.
    pub lambdas: bool,
}

impl Callees {
    /// The only method that can run.
    pub fn single(&self) -> Option<MethodId> {
        self.targets.first().copied().filter(|_| self.choices == 1)
    }
}

/// The call graph.
pub struct Calls {
    /// What each site calls.
    pub callees: Vec<Callees>,
    /// The methods that contain each site.
    pub callers: Lists<MethodId>,
    /// The sites that may call each method.
    pub sites_of: Lists<SiteId>,
}

impl Calls {
    /// Of a whole program.
    pub fn new(program: &Program, hierarchy: &Hierarchy) -> Calls {
        let lambdas = count_lambdas(program);
        let callees: Vec<Callees> = (0..program.sites.len())
            .into_par_iter()
            .map_init(
                || Marks::new(program.classes.len()),
                |marks, site| callees(program, hierarchy, site, &lambdas, marks),
            )
            .collect();
        let callers = callers(program);
        let mut pairs = Vec::new();
        for (site, callees) in callees.iter().enumerate() {
            pairs.extend(callees.targets.iter().map(|m| (m.0, SiteId(site as u32))));
        }
        let sites_of = Lists::from_pairs(program.methods.len(), &pairs);
        Calls { callees, callers, sites_of }
    }

    /// The arguments of a call, the receiver first.
    pub fn args<'b>(&self, body: &'b Body, site: SiteId, first: u32) -> &'b [LockExpr] {
        body.places_from(first, usize::from(self.of(site).args))
    }

    /// The arguments of a call with their classes.
    pub fn passed<'b>(&self, body: &'b Body, site: SiteId, first: u32) -> Passed<'b> {
        let range = first as usize..first as usize + usize::from(self.of(site).args);
        Passed { places: &body.places[range.clone()], types: &body.types[range] }
    }

    /// What a site calls.
    pub fn of(&self, site: SiteId) -> &Callees {
        &self.callees[site.0 as usize]
    }
}

/// How many lambdas there are of each interface, by name.
fn count_lambdas(program: &Program) -> Vec<u32> {
    let mut counts = vec![0; program.names.len()];
    for lambda in program.methods.iter().filter_map(|m| m.body.as_ref()).flat_map(|b| &b.lambdas) {
        counts[lambda.interface.0 as usize] += 1;
    }
    counts
}

fn callees(
    program: &Program,
    hierarchy: &Hierarchy,
    site: usize,
    lambdas: &[u32],
    marks: &mut Marks,
) -> Callees {
    let key = &program.sites[site];
    let text = |name: crate::expr::Name| program.names.name(name.0);
    let reflective = is_reflection(text(key.class), text(key.name));
    let targets = if reflective { Vec::new() } else { hierarchy.targets(program, key, marks) };
    let certain = key.exact
        || matches!(key.kind, CallKind::Special | CallKind::Static)
        || hierarchy.is_concrete(program, key.class);
    let own = certain.then(|| hierarchy.resolved(program, key)).flatten();
    let made = if key.kind == CallKind::Interface { lambdas[key.class.0 as usize] } else { 0 };
    let receiver = usize::from(key.kind != CallKind::Static);
    let args = parameters(program.names.name(key.desc.0)).0.len() + receiver;
    let own = own.filter(|m| targets.contains(m));
    let choices = targets.len() as u32 + made;
    let targets = if targets.len() > CALLEES { own.into_iter().collect() } else { targets };
    Callees { own, choices, args: args.min(255) as u8, lambdas: made > 0, targets: targets.into() }
}

/// What runs behind a reflective call is not known; the code of the JDK that makes it happen is not
/// what the caller means.
fn is_reflection(class: &[u8], name: &[u8]) -> bool {
    match class {
        b"java/lang/reflect/Method" => name == b"invoke",
        b"java/lang/reflect/Constructor" | b"java/lang/Class" => name == b"newInstance",
        b"java/lang/invoke/MethodHandle" => name.starts_with(b"invoke"),
        _ => false,
    }
}

fn callers(program: &Program) -> Lists<MethodId> {
    let mut pairs = Vec::new();
    for (i, method) in program.methods.iter().enumerate() {
        let Some(body) = &method.body else { continue };
        let from = pairs.len();
        let calls = body.events.iter().filter_map(|e| e.call()).map(|call| call.0);
        let sites = calls.chain(body.lambdas.iter().map(|l| l.site));
        pairs.extend(sites.map(|s| (s.0, MethodId(i as u32))));
        pairs[from..].sort_unstable();
        let mut kept = from;
        for at in from..pairs.len() {
            if at == from || pairs[at] != pairs[kept - 1] {
                pairs[kept] = pairs[at];
                kept += 1;
            }
        }
        pairs.truncate(kept);
    }
    Lists::from_pairs(program.sites.len(), &pairs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_keep_the_order_of_their_items() {
        let lists = Lists::from_pairs(3, &[(2, 'a'), (0, 'b'), (2, 'c')]);
        assert_eq!(lists.get(0), ['b']);
        assert_eq!(lists.get(1), []);
        assert_eq!(lists.get(2), ['a', 'c']);
    }
}
