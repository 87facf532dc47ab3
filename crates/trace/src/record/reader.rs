//! A recorded stream as a source of events: from a file or, while the program runs, from a socket.

use std::io::Read;

use super::merge::{Form, Merge, Record};
use super::targets::{Parts, TargetNo, Targets};
use super::wire::{self, Frame, FrameReader, Hello, Next, NoteFrame, SiteFrame, damaged};
use crate::error::{Error, show_name};
use crate::event::{Event, Kind, Op};
use crate::ids::{Site, ThreadId};
use crate::recording::{NoteKind, Recording};
use crate::source::{BATCH, Batch, Blocks, Lines, Skipped, Source};
use crate::symbols::{SiteInfo, Symbols};

/// Reads a recorded stream.
pub struct StreamReader {
    /// None after the end.
    frames: Option<FrameReader<Box<dyn Read + Send>>>,
    /// What was wrong with the start: said when the first event is asked for.
    refusal: Option<Error>,
    blocks: Blocks,
    merge: Merge,
    model: Model,
}

/// What records mean.
struct Model {
    /// By number; the first is empty.
    names: Vec<Box<[u8]>>,
    /// By number; the first is nobody's.
    sites: Vec<Place>,
    threads: Vec<Thread>,
    targets: Targets,
    symbols: Symbols,
    skipped: Skipped,
    recording: Recording,
}

/// What the records of a site say.
#[derive(Clone, Copy)]
struct Place {
    site: Site,
    what: What,
}

#[derive(Clone, Copy)]
enum What {
    /// Only an order.
    Order,
    /// The same for every record: a block, a yield.
    Same(Op),
    /// A fork or a join: the object is a thread.
    Thread(Kind),
    /// Something about an object, a variable or both. Most sites are about the same thing again
    /// and again, so the last one is kept.
    Target { kind: Kind, number: TargetNo, name: u32, indexed: bool, last: Last },
}

#[derive(Clone, Copy)]
struct Last {
    object: u64,
    index: u64,
    id: u32,
}

/// No record has such an object.
const NOTHING_YET: Last = Last { object: u64::MAX, index: 0, id: 0 };

/// A thread gets an id when it acts or is forked: recorders may name others too.
struct Thread {
    name: Box<[u8]>,
    id: Option<ThreadId>,
}

impl StreamReader {
    /// Reads from `input` up to the frame that says who sends; the rest when events are asked for.
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

    /// Who recorded, and what there is to say about it.
    pub fn recording(&self) -> &Recording {
        &self.model.recording
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
                return Err(damaged("the stream does not say who sends it".to_owned()));
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
                return self.merge.push(thread, records);
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
            let most = BATCH - events.len();
            let taken = merge.take(most, |record| {
                events.extend(model.event(record)?);
                Ok(())
            })?;
            let is_used_up = taken < most;
            if events.len() == BATCH || is_used_up && self.frames.is_none() {
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
            sites: vec![Place { site: Site::UNKNOWN, what: What::Order }],
            threads: Vec::new(),
            targets: Targets::default(),
            symbols: Symbols::default(),
            skipped: Skipped::default(),
            recording: Recording::default(),
        }
    }

    fn hello(&mut self, hello: &Hello) {
        let text = |bytes: &[u8]| show_name(bytes).into_owned();
        self.recording = Recording {
            front_end: text(hello.front_end),
            version: text(hello.version),
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

    fn learn(&mut self, frame: Frame, merge: &mut Merge) -> Result<(), Error> {
        match frame {
            Frame::Name { id, name } => {
                next("name", id, self.names.len())?;
                self.names.push(name.into());
            }
            Frame::Object { object, class } => {
                self.name(class)?;
                self.targets.object(object, class);
            }
            Frame::Site(frame) => self.site(&frame, merge)?,
            Frame::Thread { id, name } => {
                next("thread", id, self.threads.len())?;
                self.threads.push(Thread { name: name.into(), id: None });
                merge.thread();
            }
            Frame::Note(note) => self.note(&note),
            Frame::Hello(_) => return Err(damaged("the stream says twice who sends it".into())),
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
        match NoteKind::from_key(note.key) {
            Some(kind) => self.recording.note(kind, &text, note.number),
            None => {
                let text = format!("{}: {text}", show_name(note.key));
                self.recording.note(NoteKind::Remark, &text, note.number);
            }
        }
    }

    fn site(&mut self, frame: &SiteFrame, merge: &mut Merge) -> Result<(), Error> {
        next("site", frame.id, self.sites.len())?;
        let [file, method, target] = [frame.file, frame.method, frame.target];
        let file = self.name(file)?.to_vec();
        let method = self.name(method)?.to_vec();
        let target = self.name(target)?.to_vec();
        let (file, method) = (self.symbols.text(&file), self.symbols.text(&method));
        let info = SiteInfo { file, method, line: frame.line, column: 0 };
        let site = self.symbols.site(info);
        let what = self.what(frame, &target);
        self.sites.push(Place { site, what });
        let stamped = frame.kind.is_none_or(wire::is_stamped);
        merge.site(Form { stamped, indexed: frame.flags.is_indexed() });
        Ok(())
    }

    fn what(&mut self, frame: &SiteFrame, target: &[u8]) -> What {
        let Some(kind) = frame.kind else { return What::Order };
        match kind {
            Kind::Begin => What::Same(Op::Begin(self.symbols.label(target))),
            Kind::End => What::Same(Op::End(self.symbols.label(target))),
            Kind::Yield => What::Same(Op::Yield),
            Kind::Fork | Kind::Join => What::Thread(kind),
            Kind::Read
            | Kind::Write
            | Kind::Acquire
            | Kind::Release
            | Kind::AcquireShared
            | Kind::ReleaseShared
            | Kind::PreWait
            | Kind::PostWait
            | Kind::Notify
            | Kind::AtomicRead
            | Kind::AtomicWrite
            | Kind::AtomicUpdate
            | Kind::Post
            | Kind::Take
            | Kind::BarrierEnter
            | Kind::BarrierExit => What::Target {
                kind,
                number: self.targets.number(kind, frame.target),
                name: frame.target,
                indexed: frame.flags.is_indexed(),
                last: NOTHING_YET,
            },
        }
    }

    /// The event that a record stands for, if it stands for one.
    #[inline]
    fn event(&mut self, record: Record) -> Result<Option<Event>, Error> {
        let Place { site, what } = self.sites[record.site as usize];
        if matches!(what, What::Order) {
            return Ok(None);
        }
        let unknown = |thread: u64| damaged(format!("thread {thread} is not known"));
        let actor = self.thread(record.thread);
        let thread = actor.ok_or_else(|| unknown(record.thread.into()))?;
        let op = match what {
            What::Order => return Ok(None),
            What::Same(op) => op,
            What::Thread(kind) => {
                let known = u32::try_from(record.object).ok().and_then(|t| self.thread(t));
                Op::new(kind, known.ok_or_else(|| unknown(record.object))?.0)
            }
            What::Target { kind, last, .. } => {
                let known = (last.object, last.index) == (record.object, record.index);
                Op::new(kind, if known { last.id } else { self.target(record) })
            }
        };
        Ok(Some(Event { thread, op, site }))
    }

    /// The id of what a record is about.
    fn target(&mut self, record: Record) -> u32 {
        let Model { names, sites, targets, symbols, .. } = self;
        let Record { object, index, .. } = record;
        let What::Target { kind, number, name, indexed, last } =
            &mut sites[record.site as usize].what
        else {
            return 0;
        };
        let id = targets.id(*number, object, index, |class| {
            let class = class.map(|class| &names[class as usize][..]);
            let parts = Parts {
                target: &names[*name as usize],
                object: (object > 0).then_some((object, class)),
                index: indexed.then_some(index),
            };
            symbols.name_space(*kind).map_or(0, |space| parts.intern(space))
        });
        *last = Last { object, index, id };
        id
    }

    /// The id of a thread. Threads of the same name are told apart by a number.
    #[inline]
    fn thread(&mut self, thread: u32) -> Option<ThreadId> {
        let known = self.threads.get_mut(thread as usize)?;
        if known.id.is_none() {
            let mut name = known.name.to_vec();
            let mut count = 2;
            while self.symbols.threads.get(&name).is_some() {
                name = [&known.name, format!("#{count}").as_bytes()].concat();
                count += 1;
            }
            known.id = Some(self.symbols.thread(&name));
        }
        known.id
    }

    /// The stream is over. Records that wait for something that never came were recorded while the
    /// program ended.
    fn close(&mut self, properly: bool, stuck: u64) {
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
}
