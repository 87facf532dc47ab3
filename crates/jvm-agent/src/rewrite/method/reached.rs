//! Calls whose object or variable is only known when they run: accesses through a VarHandle or by
//! reflection, and synchronizers of the application.

use super::{Context, Rewriter};
use crate::classfile::code::Code;
use crate::classfile::insn::op;
use crate::classfile::{Outcome, Pool, access};
use crate::rewrite::hooks::Snippet;
use crate::rewrite::model;
use crate::rewrite::site::{Site, Target};
use crate::rewrite::synchronizers::{self, Moment};
use crate::rewrite::variables::Access;

/// The version of class files from which on an interface may have methods of its own.
const METHODS_IN_INTERFACES: u16 = 52;

impl<'a> Rewriter<'_, 'a> {
    /// An access through a VarHandle or by reflection.
    pub(super) fn access(
        &mut self,
        code: &mut Code<'a>,
        i: usize,
        access: &Access,
        context: &mut Context,
        pool: &mut Pool<'a>,
    ) -> Outcome<()> {
        let is_interface = self.class.access & access::INTERFACE != 0;
        if is_interface && self.class.major < METHODS_IN_INTERFACES {
            let called = pool.reference(code.operand(code.instructions[i].at)?)?;
            self.summary.unmodelled.push(model::method_name(&called));
            return Ok(());
        }
        let line = code.line(code.instructions[i].at);
        let mut first = 0;
        for &kind in access.kinds() {
            let target = if access.is_indexed() { Target::Element } else { Target::Object };
            let site = self.program.site(Site {
                kind: Some(kind),
                target,
                file: self.file.clone(),
                method: context.method.clone(),
                line,
                model: access.model() as u8,
            })?;
            first = if first == 0 { site } else { first };
        }
        let method = self.bridges.call(access, self.class.name, is_interface, pool)?;
        let snippet = Snippet::new(pool).number(first)?.with_constant(op::INVOKESTATIC, method);
        code.instructions[i].instead = Some(snippet.code);
        Ok(())
    }

    /// A call that means something if the object is a synchronizer.
    pub(super) fn synchronizer(
        &mut self,
        code: &mut Code<'a>,
        i: usize,
        moment: Moment,
        context: &mut Context,
        pool: &mut Pool<'a>,
    ) -> Outcome<()> {
        let at = code.instructions[i].at;
        let called = pool.reference(code.operand(at)?)?;
        let mut first = 0;
        for &kind in moment.kinds() {
            let site = self.site(kind, Target::Object, code.line(at), context)?;
            first = if first == 0 { site } else { first };
        }
        let (before, behind) = synchronizers::around(moment, &called, first, pool)?;
        code.instructions[i].before = before;
        code.instructions[i].behind = behind;
        Ok(())
    }
}
