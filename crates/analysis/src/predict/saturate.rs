//! What follows from an order: the rules that every correct reordering obeys, applied until nothing
//! is new. A cycle proves that the cut has no order with these constraints.
//!
//! - Let r have seen the write w, and v be another write of the variable. v < r gives v < w, and
//!   w < v gives r < v.
//! - Let (a, b) and (a', b') be closed sections of a lock, not both shared. a < b' gives b < a'.
//!
//! Of each lane only the latest event matters: those before it obey the rules themselves, and
//! precede it. So an event is looked at only when its clock has grown, for each lane once.

use super::order::{Cycle, Order};
use super::table::{Act, Index};

/// Applies the rules until nothing is new.
pub(super) fn saturate(order: &mut Order<'_>) -> Result<(), Cycle> {
    while let Some(index) = order.take_dirty() {
        let table = order.table;
        match table.item(index).act {
            Act::Read(x) => read(order, index, x)?,
            Act::Write(x) => write(order, index, x)?,
            Act::Update(x) => {
                read(order, index, x)?;
                write(order, index, x)?;
            }
            Act::Release(section) => release(order, index, section)?,
            Act::Acquire(_)
            | Act::Fork(_)
            | Act::Join(_)
            | Act::Post(_)
            | Act::Take(_)
            | Act::Enter(_)
            | Act::Exit(_)
            | Act::Notify => {}
        }
    }
    Ok(())
}

/// Other writes that precede a strict read precede the write that it saw.
fn read(order: &mut Order<'_>, read: Index, x: u32) -> Result<(), Cycle> {
    if !order.cut.strict[read as usize] {
        return Ok(());
    }
    let table = order.table;
    let source = table.source[read as usize];
    let item = table.item(read);
    for writes in &table.variables[x as usize].writes {
        // An update is not before itself.
        let own = u32::from(writes.lane == item.lane);
        let bound = order.before(read, writes.lane) - own;
        let Some(last) = writes.last_below(bound) else { continue };
        let write = table.event(writes.lane, last);
        match source {
            Some(source) if source == write => {}
            Some(source) => order.add(write, source)?,
            None => return Err(Cycle),
        }
    }
    Ok(())
}

/// A write that comes after another comes after the strict reads that saw the other.
fn write(order: &mut Order<'_>, write: Index, x: u32) -> Result<(), Cycle> {
    let table = order.table;
    let item = table.item(write);
    for writes in &table.variables[x as usize].writes {
        let own = u32::from(writes.lane == item.lane);
        let bound = order.before(write, writes.lane) - own;
        let Some(last) = writes.last_below(bound) else { continue };
        let other = table.event(writes.lane, last);
        for reads in &table.readers[other as usize] {
            // The last one of a lane passes for all, but an update is not before itself.
            let last = order.last_strict(reads);
            if let Some(read) = last.filter(|&read| read != write)
                && (table.item(read).lane != item.lane || table.item(read).position < item.position)
            {
                order.add(read, write)?;
            } else if last.is_some() {
                earlier_readers(order, reads, write)?;
            }
        }
    }
    Ok(())
}

/// Reads of the writer's own lane that saw an earlier write are before it by the order of the
/// thread, unless they come later, which contradicts what they saw.
fn earlier_readers(
    order: &mut Order<'_>,
    reads: &super::table::Positions,
    write: Index,
) -> Result<(), Cycle> {
    let table = order.table;
    let item = table.item(write);
    debug_assert_eq!(reads.lane, item.lane);
    let later = reads.first_from(item.position + 1);
    let later = later.map(|position| table.event(reads.lane, position));
    match later.filter(|&read| order.cut.has(table, read) && order.cut.strict[read as usize]) {
        Some(_) => Err(Cycle),
        None => Ok(()),
    }
}

/// Sections that have begun before this one ends are over before it begins.
fn release(order: &mut Order<'_>, release: Index, section: u32) -> Result<(), Cycle> {
    let table = order.table;
    let section = table.sections[section as usize];
    let lists = table.locks[section.lock as usize].excluded_by(section.shared);
    for list in lists.iter().filter(|list| list.lane != section.lane) {
        let Some(last) = list.last_below(order.before(release, list.lane)) else { continue };
        let acquire = table.event(list.lane, last);
        let end = order.release_of(acquire).ok_or(Cycle)?;
        order.add(end, section.acquire)?;
    }
    Ok(())
}
