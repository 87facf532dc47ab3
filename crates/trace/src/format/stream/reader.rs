//! A recorded stream as a source of events: from a file or, while the program runs, from a socket.

use std::hint::select_unpredictable;
use std::io::Read;
use std::sync::Arc;

use paceline_wire::{self as wire, Frame, FrameReader, Hello, Next, NoteFrame, SiteFrame};

use super::damaged;
use super::mend::{Holders, Mended};
use super::merge::{Merge, Stamped};
use super::targets::{TargetKey, TargetNo, Targets};
use crate::error::{Error, show_name};
use crate::event::{Event, Kind, NameSpace, Op};
use crate::ids::{Site, ThreadId};
use crate::ops;
use crate::recording::{NoteKind, Recording};
use crate::sites::SiteInfo;
use crate::source::{BATCH, Batch, Blocks, Lines, Skipped, Source};
use crate::symbols::Symbols;

type Input = Box<dyn Read + Send>;

/// Reads a recorded stream.
pub struct StreamReader {
    /// None after the end.
    frames: Option<FrameReader<Input>>,
    /// What was wrong with the start: said when the first event is asked for.
    refusal: Option<Error>,
    blocks: Blocks,
    merge: Merge<Event>,
    model: Model,
}

/// What records mean.
struct Model {
    /// By number; the first is empty.
    names: Vec<Box<[u8]>>,
    /// By number of the site; the first is [`NO_FORM`].
    sites: Vec<RecordForm>,
    /// Scratch.
    fields: Lookups,
    elements: Lookups,
    rare: Waiting,
    threads: Vec<SentThread>,
    targets: Targets,
    holders: Holders,
    /// Shared when all has been read.
    symbols: Arc<Symbols>,
    skipped: Skipped,
    recording: Recording,
}

/// What the records of a site say. It is made so that a record becomes an event without a branch
/// on what it is: what comes next in a program cannot be guessed.
#[derive(Clone, Copy)]
struct RecordForm {
    site: Site,
    /// [`NO_THREAD`] if the records only order.
    actor: ThreadId,
    kind: Kind,
    /// What all records are about: the label of a block.
    id: u32,
    /// What they are about together with the object, and the index if there is one.
    target: TargetNo,
    /// The words of a record.
    words: u32,
    is_stamped: bool,
    about: About,
}

/// What makes the id that the operation is about.
#[derive(Clone, Copy, PartialEq, Eq)]
enum About {
    /// The site.
    Site,
    /// The object, which is a thread.
    Thread,
    /// A lock or something else that is rare: its name is made once, when its turn has come and
    /// the class of the object is known.
    Rare { is_indexed: bool },
    /// Target and object.
    Field,
    /// Target, object and index.
    Element,
}

/// The site 0, which does not exist: no chunk is long enough for its records.
const NO_FORM: RecordForm = RecordForm {
    site: Site::UNKNOWN,
    actor: NO_THREAD,
    kind: Kind::Yield,
    id: 0,
    target: TargetNo(0),
    words: u32::MAX,
    is_stamped: false,
    about: About::Site,
};

/// A record with a target that is to be looked up.
#[derive(Clone, Copy)]
struct Lookup {
    /// Its index in the chunk.
    at: usize,
    kind: Kind,
    target: TargetKey,
}

/// So many targets are looked up at once, so that their cache misses overlap: more than a core has
/// under way at a time, and few enough for the first-level cache.
const LOOKUPS: usize = 64;

/// Records with targets that are to be looked up. Each is put, and counts if it should.
struct Lookups {
    list: [Lookup; LOOKUPS],
    len: usize,
}

impl Lookups {
    fn new() -> Lookups {
        let nothing = Lookup { at: 0, kind: Kind::Read, target: TargetKey::new(TargetNo(0), 0, 0) };
        Lookups { list: [nothing; LOOKUPS], len: 0 }
    }

    /// Whether it is full then.
    #[inline(always)]
    fn put(&mut self, lookup: Lookup, counts: bool) -> bool {
        self.list[self.len % LOOKUPS] = lookup;
        self.len += usize::from(counts);
        self.len == LOOKUPS
    }

    fn take(&mut self) -> &[Lookup] {
        &self.list[..std::mem::take(&mut self.len)]
    }
}

/// What is looked up when its turn has come.
#[derive(Clone, Copy)]
struct Rare {
    target: TargetKey,
    is_indexed: bool,
}

/// Those that wait for that, by a number that stands for the id meanwhile.
#[derive(Default)]
struct Waiting {
    all: Vec<Rare>,
    free: Vec<u32>,
}

impl Waiting {
    fn put(&mut self, rare: Rare) -> u32 {
        if let Some(number) = self.free.pop() {
            self.all[number as usize] = rare;
            return number;
        }
        self.all.push(rare);
        self.all.len() as u32 - 1
    }

    fn take(&mut self, number: u32) -> Rare {
        self.free.push(number);
        self.all[number as usize]
    }
}

/// The actor of records that only order: no thread has this number.
const NO_THREAD: ThreadId = ThreadId(u32::MAX);

/// A thread gets an id when it acts or is forked: recorders may name others too.
struct SentThread {
    name: Box<[u8]>,
    id: Option<ThreadId>,
}

impl StreamReader {
    /// Reads from `input` up to the Hello frame; the rest when events are asked for.
    pub fn new(input: Box<dyn Read + Send>) -> StreamReader {
        let mut reader = StreamReader {
            frames: None,
            refusal: None,
            blocks: Blocks::Declared,
            merge: Merge::new(0),
            model: Model::new(),
        };
        if let Err(error) = reader.start(input) {
            reader.frames = None;
            reader.refusal = Some(error);
        }
        reader
    }

    /// What `begin` and `end` stand for in this trace.
    pub fn blocks(&self) -> Blocks {
        self.blocks
    }

    /// How the trace was recorded, and what there is to say about it.
    pub fn recording(&self) -> &Recording {
        &self.model.recording
    }

    /// Refuses what a recorder of this kind sends if it is of another version. What the two would
    /// make of each other's options and records is not known.
    #[must_use]
    pub fn expecting(mut self, front_end: &str, version: &str) -> StreamReader {
        let Recording { front_end: kind, recorder, .. } = &self.model.recording;
        if kind == front_end && recorder != version {
            let has = if recorder.is_empty() { "an unknown version" } else { recorder };
            let why = format!(
                "the {kind} agent is of {has}, and paceline of {version}: leave out --{kind}-agent \
                 to use the agent that paceline carries, or give the one of its version"
            );
            self.frames = None;
            self.refusal = Some(damaged(why));
        }
        self
    }

    fn start(&mut self, input: Box<dyn Read + Send>) -> Result<(), Error> {
        let mut frames = FrameReader::new(input)?;
        match frames.read()? {
            Next::Frame(Frame::Hello(hello)) => {
                self.merge = Merge::new(hello.stripes);
                self.blocks = if hello.all_methods { Blocks::Methods } else { Blocks::Declared };
                self.model.hello(&hello);
            }
            Next::Frame(_) => {
                return Err(damaged("the stream does not start with a Hello frame".to_owned()));
            }
            Next::Over => {}
        }
        self.frames = Some(frames);
        Ok(())
    }

    /// Reads a frame; after the last one, closes the recording.
    fn read_frame(&mut self) -> Result<(), Error> {
        let Some(frames) = &mut self.frames else { return Ok(()) };
        let end = match frames.read()? {
            Next::Frame(Frame::Chunk { thread, records }) => {
                let mut chunk = self.merge.chunk();
                self.model.decode(thread, records, &mut chunk)?;
                return self.merge.push(thread, chunk);
            }
            Next::Frame(Frame::End) => true,
            Next::Over => false,
            Next::Frame(frame) => return self.model.learn(frame, &mut self.merge),
        };
        self.frames = None;
        self.model.close(end, self.merge.stuck());
        Ok(())
    }

    fn fill(&mut self, events: &mut Vec<Event>) -> Result<(), Error> {
        self.refusal.take().map_or(Ok(()), Err)?;
        loop {
            let StreamReader { merge, model, .. } = self;
            let most = BATCH.saturating_sub(events.len());
            let mut actor = (u32::MAX, NO_THREAD);
            let taken = merge.take(most, |thread, event| {
                if event.thread == NO_THREAD {
                    return Ok(());
                }
                if actor.0 != thread {
                    actor = (thread, model.thread(thread)?);
                }
                let event = Event { thread: actor.1, op: model.resolved(event.op)?, ..*event };
                model.add(event, events);
                Ok(())
            })?;
            let is_used_up = taken < most;
            if events.len() >= BATCH || is_used_up && self.frames.is_none() {
                return Ok(());
            }
            if is_used_up {
                self.read_frame()?;
            }
        }
    }
}

impl Model {
    fn new() -> Model {
        Model {
            names: vec![Box::default()],
            sites: vec![NO_FORM],
            fields: Lookups::new(),
            elements: Lookups::new(),
            rare: Waiting::default(),
            threads: Vec::new(),
            targets: Targets::default(),
            holders: Holders::default(),
            symbols: Arc::default(),
            skipped: Skipped::default(),
            recording: Recording::default(),
        }
    }

    fn hello(&mut self, hello: &Hello) {
        let text = |bytes: &[u8]| show_name(bytes).into_owned();
        self.recording = Recording {
            front_end: text(hello.front_end),
            version: text(hello.version),
            recorder: text(hello.recorder),
            command: text(hello.command),
            pid: hello.pid,
            notes: Vec::new(),
        };
        self.publish();
    }

    /// A report sees what was said so far.
    fn publish(&mut self) {
        self.skipped.recording = Some(self.recording.clone());
    }

    fn learn(&mut self, frame: Frame, merge: &mut Merge<Event>) -> Result<(), Error> {
        match frame {
            Frame::Name { id, name } => {
                next("name", id, self.names.len())?;
                self.names.push(name.into());
            }
            Frame::Object { object, class } => {
                self.name(class)?;
                let symbols = Arc::make_mut(&mut self.symbols);
                self.targets.object(object, class, &self.names, symbols.vars.composed_mut());
            }
            Frame::Site(frame) => self.site(&frame)?,
            Frame::Thread { id, name } => {
                next("thread", id, self.threads.len())?;
                self.threads.push(SentThread { name: name.into(), id: None });
                merge.thread();
            }
            Frame::Note(note) => self.note(&note),
            Frame::Hello(_) => return Err(damaged("the stream has two Hello frames".into())),
            // These two are not about meaning.
            Frame::Chunk { .. } | Frame::End => {}
        }
        Ok(())
    }

    fn name(&self, id: u32) -> Result<&[u8], Error> {
        let name = self.names.get(id as usize);
        name.map(|name| &name[..]).ok_or_else(|| damaged(format!("the name {id} is not known")))
    }

    fn note(&mut self, note: &NoteFrame) {
        let text = show_name(note.text);
        match NoteKind::of_note(note.key, note.text) {
            Some(kind) => self.recording.note(kind, &text, note.number),
            None => {
                let text = format!("{}: {text}", show_name(note.key));
                self.recording.note(NoteKind::Remark, &text, note.number);
            }
        }
    }

    fn site(&mut self, frame: &SiteFrame) -> Result<(), Error> {
        next("site", frame.id, self.sites.len())?;
        let [file, method, target] = [frame.file, frame.method, frame.target];
        let file = self.name(file)?.to_vec();
        let method = self.name(method)?.to_vec();
        let target = self.name(target)?.to_vec();
        let symbols = Arc::make_mut(&mut self.symbols);
        let (file, method) = (symbols.text(&file), symbols.text(&method));
        let info = SiteInfo { file, method, line: frame.line, column: 0 };
        let site = symbols.site(info);
        let form = self.form(frame, site, &target);
        self.sites.push(form);
        Ok(())
    }

    fn form(&mut self, frame: &SiteFrame, site: Site, target: &[u8]) -> RecordForm {
        let (is_stamped, is_indexed) =
            (frame.kind.is_none_or(wire::is_stamped), frame.flags.is_indexed());
        let words = 1 + u32::from(is_stamped) + u32::from(is_indexed);
        let form = RecordForm { site, words, is_stamped, ..NO_FORM };
        let Some(kind) = frame.kind else { return form };
        let form = RecordForm { actor: ThreadId(0), kind, ..form };
        match kind.name_space() {
            NameSpace::Label => {
                let label = Arc::make_mut(&mut self.symbols).label(target);
                RecordForm { id: label.0, ..form }
            }
            NameSpace::Nothing => form,
            NameSpace::Thread => RecordForm { about: About::Thread, ..form },
            NameSpace::Variable => {
                let about = if is_indexed { About::Element } else { About::Field };
                RecordForm { target: self.targets.number(kind, frame.target), about, ..form }
            }
            NameSpace::Lock | NameSpace::Semaphore | NameSpace::Barrier => {
                let about = About::Rare { is_indexed };
                RecordForm { target: self.targets.number(kind, frame.target), about, ..form }
            }
        }
    }

    /// The events that some records stand for; threads have no ids yet.
    fn decode(
        &mut self,
        thread: u32,
        records: &[u8],
        chunk: &mut Vec<Stamped<Event>>,
    ) -> Result<(), Error> {
        let (words, _) = records.as_chunks::<8>();
        chunk.reserve(words.len());
        let (mut at, mut touched) = (0, 0);
        while let Some(first) = words.get(at) {
            let (site, object) = wire::unpack(u64::from_le_bytes(*first));
            let form = match self.sites.get(site as usize) {
                Some(form) if at + form.words as usize <= words.len() => *form,
                _ => return Err(self.no_record(thread, site)),
            };
            let word = |ahead| words.get(at + ahead).map_or(0, |word| u64::from_le_bytes(*word));
            let (second, third) = (word(1), word(2));
            // Higher ones are no thread either.
            let other = u32::try_from(object).unwrap_or(u32::MAX);
            let id = select_unpredictable(form.about == About::Thread, other, form.id);
            let mut op = Op::new(form.kind, id);
            let index = select_unpredictable(form.is_stamped, third, second);
            let target = TargetKey::new(form.target, object, index);
            let lookup = Lookup { at: chunk.len(), kind: form.kind, target };
            if let About::Rare { is_indexed } = form.about {
                touched ^= self.targets.prefetch_other(target);
                op = Op::new(form.kind, self.rare.put(Rare { target, is_indexed }));
            }
            let event = Event { thread: form.actor, op, site: form.site };
            chunk.push(Stamped::maybe(form.is_stamped, second, event));
            let is_full = self.fields.put(lookup, form.about == About::Field)
                | self.elements.put(lookup, form.about == About::Element);
            if is_full {
                self.look_up(chunk);
            }
            at += form.words as usize;
        }
        std::hint::black_box(touched);
        self.look_up(chunk);
        Ok(())
    }

    fn look_up(&mut self, chunk: &mut [Stamped<Event>]) {
        let Model { fields, elements, targets, names, symbols, .. } = self;
        let (fields, elements) = (fields.take(), elements.take());
        let vars = Arc::make_mut(symbols).vars.composed_mut();
        // First loops that only touch memory, so that the cache misses overlap.
        let touched =
            fields.iter().fold(0, |sum, lookup| sum ^ targets.prefetch_field(lookup.target, vars));
        let touched = elements
            .iter()
            .fold(touched, |sum, lookup| sum ^ targets.prefetch_element(lookup.target));
        std::hint::black_box(touched);
        for &Lookup { at, kind, target } in fields {
            chunk[at].record.op = Op::new(kind, targets.field(target, names, vars));
        }
        for &Lookup { at, kind, target } in elements {
            chunk[at].record.op = Op::new(kind, targets.element(target, names, vars));
        }
    }

    #[cold]
    fn no_record(&self, thread: u32, site: u32) -> Error {
        let is_known = site > 0 && (site as usize) < self.sites.len();
        damaged(if is_known {
            format!("a record of thread {thread} is cut at the end of a chunk")
        } else {
            format!("a record of thread {thread} has the site {site}, which is not known")
        })
    }

    /// The operation with its id, if that was left until now.
    #[inline(always)]
    fn resolved(&mut self, op: Op) -> Result<Op, Error> {
        match op {
            ops!(Access | Block) | Op::Yield => Ok(op),
            ops!(Thread(other)) => Ok(Op::new(op.kind(), self.thread(other.0)?.0)),
            ops!(Lock | Semaphore | Barrier) => Ok(self.rare_id(op.kind(), op.id())),
        }
    }

    /// Adds an event, and what was lost before it.
    #[inline(always)]
    fn add(&mut self, event: Event, events: &mut Vec<Event>) {
        match self.holders.mend(&event) {
            Mended::Whole => events.push(event),
            Mended::After(lost) => {
                self.was_mended();
                events.extend([lost, event]);
            }
            Mended::Void => self.was_mended(),
        }
    }

    #[cold]
    fn was_mended(&mut self) {
        let text = "a lock was taken or given up and the recorder could not record it";
        self.recording.note(NoteKind::Inexact, text, 1);
        self.publish();
    }

    fn rare_id(&mut self, kind: Kind, rare: u32) -> Op {
        let Rare { target, is_indexed } = self.rare.take(rare);
        let Model { targets, names, symbols, .. } = self;
        Op::new(kind, targets.other(kind, target, is_indexed, names, symbols))
    }

    /// The id of a thread. Threads of the same name get a number as well.
    fn thread(&mut self, thread: u32) -> Result<ThreadId, Error> {
        let Some(known) = self.threads.get_mut(thread as usize) else {
            return Err(damaged(format!("thread {thread} is not known")));
        };
        if let Some(id) = known.id {
            return Ok(id);
        }
        let mut name = known.name.to_vec();
        let mut count = 2;
        while self.symbols.threads.get(&name).is_some() {
            name = [&known.name, format!("#{count}").as_bytes()].concat();
            count += 1;
        }
        let id = Arc::make_mut(&mut self.symbols).thread(&name);
        known.id = Some(id);
        Ok(id)
    }

    /// The stream is over. Records that wait for something that never came were recorded while the
    /// program ended.
    fn close(&mut self, properly: bool, stuck: u64) {
        self.targets.close();
        if !properly {
            self.skipped.cut_off = Some(format!(
                "the recording was cut: the program was killed, or what observed it failed; \
                 {stuck} of its last events cannot be put in order"
            ));
        } else if stuck > 0 {
            let text = "events of threads that were still running at the end were left out";
            self.recording.note(NoteKind::Remark, text, stuck);
        }
        self.publish();
    }
}

/// Numbers have no gaps: anything else is damage.
fn next(what: &str, id: u32, expected: usize) -> Result<(), Error> {
    if id as usize == expected {
        return Ok(());
    }
    Err(damaged(format!("{what} {id} is declared where {expected} is the next")))
}

impl Source for StreamReader {
    fn read(&mut self, batch: &mut Batch) -> Result<(), Error> {
        batch.lines = Lines::None;
        batch.events.clear();
        let outcome = self.fill(&mut batch.events);
        batch.counts = self.model.symbols.counts();
        outcome
    }

    fn symbols(&self) -> &Symbols {
        &self.model.symbols
    }

    fn skipped(&self) -> &Skipped {
        &self.model.skipped
    }

    fn share_symbols(&self) -> Option<Arc<Symbols>> {
        Some(Arc::clone(&self.model.symbols))
    }
}
