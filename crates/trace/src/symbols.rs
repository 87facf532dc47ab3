//! All names of a trace, one table for each name space.

use std::borrow::Cow;

use crate::error::show_name;
use crate::event::{Kind, NameSpace, Op};
use crate::ids::{
    BarrierId, IdCounts, LabelId, LockId, SemaphoreId, Site, TextId, ThreadId, VarId,
};
use crate::interner::Interner;
use crate::sites::{SiteInfo, SiteView, Sites};
use crate::variables::Variables;

/// All names of one trace.
#[derive(Clone, Default, Debug)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Symbols {
    pub threads: Interner,
    pub vars: Variables,
    pub locks: Interner,
    pub semaphores: Interner,
    pub barriers: Interner,
    pub labels: Interner,
    pub texts: Interner,
    sites: Sites,
}

impl Symbols {
    /// How many ids of each name space are in use.
    pub fn counts(&self) -> IdCounts {
        IdCounts {
            threads: self.threads.len(),
            vars: self.vars.len(),
            locks: self.locks.len(),
            semaphores: self.semaphores.len(),
            barriers: self.barriers.len(),
            labels: self.labels.len(),
        }
    }

    /// Where the targets of this kind of operation are numbered; `None` if it has no target.
    #[inline(always)]
    pub fn name_space(&mut self, kind: Kind) -> Option<&mut Interner> {
        match kind.name_space() {
            NameSpace::Variable => Some(self.vars.named_mut()),
            NameSpace::Lock => Some(&mut self.locks),
            NameSpace::Thread => Some(&mut self.threads),
            NameSpace::Label => Some(&mut self.labels),
            NameSpace::Semaphore => Some(&mut self.semaphores),
            NameSpace::Barrier => Some(&mut self.barriers),
            NameSpace::Nothing => None,
        }
    }

    /// How many targets of this name space there are.
    pub fn count(&self, space: NameSpace) -> usize {
        match space {
            NameSpace::Variable => self.vars.len(),
            NameSpace::Lock => self.locks.len(),
            NameSpace::Thread => self.threads.len(),
            NameSpace::Label => self.labels.len(),
            NameSpace::Semaphore => self.semaphores.len(),
            NameSpace::Barrier => self.barriers.len(),
            NameSpace::Nothing => 0,
        }
    }

    /// The name of what an operation is about; none for a bare block and for what has no target.
    pub fn target(&self, op: Op) -> Option<Cow<'_, [u8]>> {
        let names = match op.kind().name_space() {
            NameSpace::Variable => return Some(self.vars.name(op.id())),
            NameSpace::Lock => &self.locks,
            NameSpace::Thread => &self.threads,
            NameSpace::Label if op.id() == LabelId::UNNAMED.0 => return None,
            NameSpace::Label => &self.labels,
            NameSpace::Semaphore => &self.semaphores,
            NameSpace::Barrier => &self.barriers,
            NameSpace::Nothing => return None,
        };
        Some(Cow::Borrowed(names.name(op.id())))
    }

    /// The thread with this name, new or not.
    pub fn thread(&mut self, name: &[u8]) -> ThreadId {
        ThreadId(self.threads.intern(name))
    }

    /// The variable with this name, new or not.
    pub fn var(&mut self, name: &[u8]) -> VarId {
        VarId(self.vars.intern(name))
    }

    /// The lock with this name, new or not.
    pub fn lock(&mut self, name: &[u8]) -> LockId {
        LockId(self.locks.intern(name))
    }

    /// The semaphore with this name, new or not.
    pub fn semaphore(&mut self, name: &[u8]) -> SemaphoreId {
        SemaphoreId(self.semaphores.intern(name))
    }

    /// The barrier with this name, new or not.
    pub fn barrier(&mut self, name: &[u8]) -> BarrierId {
        BarrierId(self.barriers.intern(name))
    }

    /// The label with this name, new or not.
    pub fn label(&mut self, name: &[u8]) -> LabelId {
        LabelId(self.labels.intern(name))
    }

    /// A file or method name for a [`SiteInfo`].
    pub fn text(&mut self, text: &[u8]) -> TextId {
        TextId(self.texts.intern(text))
    }

    /// The site with this content, new or not.
    pub fn site(&mut self, info: SiteInfo) -> Site {
        self.sites.intern(info)
    }

    /// The site table.
    pub fn sites(&self) -> &[SiteInfo] {
        self.sites.all()
    }

    /// The table entry of a site, if it has one.
    pub fn site_info(&self, site: Site) -> Option<&SiteInfo> {
        self.sites.info(site)
    }

    /// All that the trace says about a site, with its names: file, line and method.
    pub fn site_view(&self, site: Site) -> SiteView<'_> {
        self.sites.view(site, &self.texts)
    }

    /// A site as a person reads it: see [`SiteView`].
    pub fn show_site(&self, site: Site) -> String {
        self.site_view(site).to_string()
    }

    /// A block's label as a person reads it; a bare block is named by its site.
    pub fn show_label(&self, label: LabelId, site: Site) -> String {
        if label.is_named() {
            show_name(self.labels.name(label.0)).into_owned()
        } else {
            self.show_site(site)
        }
    }
}
