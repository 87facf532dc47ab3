//! The agent's life: loaded, started, initialised, ended; and the classes in between.

use std::ffi::{CStr, c_char, c_void};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use jvmti_bindings::sys::jni::{JNIEnv, JavaVM, jclass, jint, jlong, jobject, jthread};
use jvmti_bindings::sys::jvmti::{
    JVMTI_ENABLE, JVMTI_EVENT_CLASS_FILE_LOAD_HOOK, JVMTI_EVENT_CLASS_PREPARE,
    JVMTI_EVENT_VM_DEATH, JVMTI_EVENT_VM_INIT, JVMTI_EVENT_VM_START, JVMTI_VERSION_9,
    jvmtiCapabilities, jvmtiEnv, jvmtiError, jvmtiEventCallbacks,
};
use paceline_wire::{Hello, Kind, NoteKind};

use super::buffer::{Buffer, EARLY_LIMIT, LAST_PLACE};
use super::jvm::{Jni, Jvmti};
use super::memory::{STRIPE_BITS, STRIPE_BYTES, Storage, Stripes, Words};
use super::natives::{self, Handles};
use super::shield::{self, shielded};
use super::statics::{STATICS, Statics, WORDS};
use super::threads::Threads;
use super::variables::Variables;
use crate::classfile::{ClassFile, Failure, Outcome};
use crate::hook::{self, BUDGET, Layout, Redundant};
use crate::options::Options;
use crate::program::{View, own_site};
use crate::rewrite::names::{dotted, is_platform};
use crate::rewrite::platform::{CHANGES, Change};
use crate::rewrite::{Extent, Summary, rewrite, rewrite_platform};
use crate::sender::{OBJECT_SITE, Sender, Sink, lock};

/// Owners of arrays that are remembered.
const OWNER_BITS: u32 = 20;
/// How often partly filled buffers are sent.
const FLUSH_EVERY: Duration = Duration::from_millis(50);
/// Words in the buffer of a platform thread, and of a virtual one, of which there may be many.
const BUFFER: usize = 1 << 14;
const SMALL_BUFFER: usize = 1 << 8;
/// After so many times a window of time ends (see `PacelineFilter`).
const WINDOW: u32 = 8;

/// What the report says about redundant accesses. Volatile variables order threads, so that leaving
/// their accesses out is more than a filter.
fn left_out(redundant: Redundant) -> Option<(NoteKind, &'static [u8])> {
    let (kind, text): (_, &[u8]) = match redundant {
        Redundant::Keep => return None,
        Redundant::Block => (
            NoteKind::FilteredOrder,
            b"redundant accesses of a block, also to volatile variables (a check of anything but \
            these blocks may miss something)",
        ),
        Redundant::Epoch => (
            NoteKind::Filter,
            b"redundant accesses of a block (a check of other blocks, of reduction or of \
            cooperability may miss something)",
        ),
    };
    Some((kind, text))
}

/// What the report says about threads that recorded more than their share.
const THROTTLED: &[u8] =
    b"times a thread was throttled for up to 0.4 s after it had recorded 8,192 accesses \
    (--unlimited records them)";
const _: () = assert!(BUDGET == 8192 && WINDOW as u128 * FLUSH_EVERY.as_millis() == 400);
/// Room for the number of the window and the count of throttlings, far from each other: all threads
/// read the one.
const WINDOWS: usize = 32;
const THROTTLINGS: usize = 16;

/// Sites of the agent itself.
pub struct OwnSites {
    /// Start or end of a thread.
    pub order: u32,
    /// Start of another thread.
    pub fork: u32,
    /// Wait for the end of another thread.
    pub join: u32,
}

/// Everything that the agent has.
pub struct Agent {
    options: Options,
    /// Where records go.
    pub sender: Sender,
    /// The stripes.
    pub stripes: Stripes,
    /// A word for each site.
    pub sites: Words,
    owners: Words,
    /// The number of the window of time, which is never 0, and how often a thread was throttled in one.
    windows: Words,
    /// The buffer of threads that could not get one; it is never sent.
    pub fallback: Box<Buffer>,
    /// How often buffers were drained; counted for tests only.
    drains: AtomicU64,
    /// The words of static fields.
    pub static_words: Words,
    /// Which static field has which.
    pub statics: Mutex<Statics>,
    /// Variables that are reached through handles.
    pub variables: Mutex<Variables>,
    /// All threads.
    pub threads: Threads,
    /// The environment.
    pub jvmti: Jvmti,
    /// Sites of its own.
    pub own: OwnSites,
    /// What was looked up at the start.
    pub handles: OnceLock<Handles>,
    /// Classes of the platform may be changed by now.
    live: AtomicBool,
    over: AtomicBool,
    /// It could not start: classes are left as they are.
    broken: AtomicBool,
}

static AGENT: OnceLock<Agent> = OnceLock::new();

/// The agent, if it runs.
pub fn agent() -> Option<&'static Agent> {
    AGENT.get()
}

impl Agent {
    fn new(options: Options, jvmti: Jvmti, sender: Sender) -> Result<Agent, String> {
        let own = own_sites(&sender).ok_or("sites")?;
        let words = |len| Words::new(len).ok_or("memory");
        let windows = words(WINDOWS)?;
        windows.at(0).store(1, Ordering::Relaxed);
        Ok(Agent {
            options,
            sender,
            stripes: Stripes::new().ok_or("memory")?,
            sites: words(OBJECT_SITE as usize + 1)?,
            owners: words(1 << OWNER_BITS)?,
            windows,
            fallback: Buffer::new(0, Storage::new(SMALL_BUFFER, false).ok_or("memory")?, true),
            drains: AtomicU64::new(0),
            static_words: words(WORDS * STATICS)?,
            statics: Mutex::default(),
            variables: Mutex::default(),
            threads: Threads::default(),
            jvmti,
            own,
            handles: OnceLock::new(),
            live: AtomicBool::new(false),
            over: AtomicBool::new(false),
            broken: AtomicBool::new(false),
        })
    }

    /// What the hook works with.
    pub fn layout(&self) -> Layout {
        Layout {
            stripes: self.stripes.0.base(),
            stripe_bits: STRIPE_BITS,
            stripe_bytes: STRIPE_BYTES,
            spare_stripe: self.stripes.spare(),
            sites: self.sites.base(),
            owners: self.owners.base(),
            owner_mask: (1 << OWNER_BITS) - 1,
            order_site: self.own.order,
            object_site: OBJECT_SITE,
            early_limit: EARLY_LIMIT,
            last_place: LAST_PLACE,
            redundant: self.options.redundant,
            throttled: self.options.throttled,
            window: self.windows.base(),
            throttlings: self.windows.base() + 8 * THROTTLINGS as u64,
        }
    }

    /// Room for the records of a thread.
    pub fn storage(&self, is_small: bool) -> Option<Storage> {
        let usual = if is_small { SMALL_BUFFER } else { BUFFER };
        Storage::new(self.options.buffer_words.unwrap_or(usual), self.options.guard_pages)
    }

    /// A buffer is about to be drained. A test may want to see what a failure does.
    pub fn before_drain(&self) {
        if let Some(fatal) = self.options.panic_at_drain {
            let number = self.drains.fetch_add(1, Ordering::Relaxed) + 1;
            assert!(number != fatal, "as the option panic-at-drain asks");
        }
    }

    /// The new bytes of a class that is being loaded, if it gets any.
    fn transform(&self, name: &[u8], bytes: &[u8]) -> Option<Vec<u8>> {
        let new =
            if is_platform(name) { self.platform(name, bytes) } else { self.application(bytes) };
        if let (Some(folder), Some(new)) = (&self.options.dump, &new) {
            let file = folder.join(format!("{}.class", String::from_utf8_lossy(name)));
            let made = file.parent().is_some_and(|p| std::fs::create_dir_all(p).is_ok());
            if made && std::fs::write(&file, new).is_err() {
                self.sender.note(NoteKind::Remark, b"classes could not be dumped", 1);
            }
        }
        new
    }

    fn platform(&self, name: &[u8], bytes: &[u8]) -> Option<Vec<u8>> {
        let change = CHANGES.iter().find(|c| c.class.as_bytes() == name)?;
        let live = self.live.load(Ordering::Relaxed);
        let hooks = if live { change.hooks } else { &[] };
        let change = Change { hooks, monitors: live && change.monitors, ..*change };
        if change.fields.is_empty() && change.hooks.is_empty() && !change.monitors {
            return None;
        }
        let mut facts = lock(&self.sender.facts);
        let mut view = View { facts: &mut facts, options: &self.options };
        match rewrite_platform(bytes, &change, &mut view) {
            Ok(new) => Some(new),
            Err(failure) => {
                self.failed(name, failure);
                None
            }
        }
    }

    fn application(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let parsed = ClassFile::parse(bytes);
        let Ok((class, _)) = parsed else { return None };
        const MODULE: u16 = 0x8000;
        if class.access & MODULE != 0 {
            return None;
        }
        let readable = dotted(class.name);
        let left_out = self.options.leaves_out(&readable);
        if let Some(why) = left_out {
            self.sender.note(NoteKind::Unmodelled, why, 1);
        }
        let observed = left_out.is_none();
        let extent = if observed { Extent::Observed } else { Extent::Bare };
        let mut outcome = self.rewrite(&class, extent);
        if let (Err(failure), Extent::Observed) = (&outcome, extent) {
            self.failed(class.name, *failure);
            outcome = self.rewrite(&class, Extent::Bare);
        } else if observed {
            self.count(&outcome);
        }
        self.sender.relieve();
        outcome.ok().map(|(new, _)| new)
    }

    fn rewrite(&self, class: &ClassFile, extent: Extent) -> Outcome<(Vec<u8>, Summary)> {
        let mut facts = lock(&self.sender.facts);
        facts.learn(class);
        let count = facts.count();
        let mut view = View { facts: &mut facts, options: &self.options };
        let work = || rewrite(class.bytes, extent, &mut view);
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work))
            .unwrap_or(Err(Failure::Malformed("the agent panicked")));
        if outcome.is_err() {
            facts.truncate(count);
        }
        outcome
    }

    fn count(&self, outcome: &Outcome<(Vec<u8>, Summary)>) {
        let Ok((_, summary)) = outcome else { return };
        self.sender.note(NoteKind::Observed, b"classes", 1);
        self.sender.note(NoteKind::Observed, b"methods", summary.methods.into());
        self.sender.note(NoteKind::Observed, b"atomic methods", summary.blocks.into());
        for (method, missing) in &summary.degraded {
            let text = [&method[..], b": ", missing.as_bytes()].concat();
            self.sender.note(NoteKind::Failed, &text, 1);
        }
        for name in &summary.unmodelled {
            self.sender.note(NoteKind::Unmodelled, name, 1);
        }
    }

    fn failed(&self, name: &[u8], failure: Failure) {
        let text = [&dotted(name)[..], b": ", failure.to_string().as_bytes()].concat();
        self.sender.note(NoteKind::Failed, &text, 1);
    }

    /// Defines the classes of the hook.
    fn start(&self, jni: Jni) -> Option<()> {
        let classes = match hook::classes() {
            Ok(classes) => classes,
            Err(why) => {
                self.sender.note(NoteKind::Failed, format!("the agent: {why}").as_bytes(), 1);
                return None;
            }
        };
        for (name, bytes) in classes {
            if let Some(folder) = &self.options.dump {
                let file = folder.join(format!("{}.class", String::from_utf8_lossy(&name)));
                let _ = file.parent().map(std::fs::create_dir_all);
                let _ = std::fs::write(file, &bytes);
            }
            jni.define(&name, &bytes)?;
        }
        Some(())
    }

    /// Hooks the platform's classes, and gives the main thread its buffer.
    fn initialise(&'static self, jni: Jni, thread: jthread) -> Option<()> {
        let handles = Handles::find(jni)?;
        let handles = self.handles.get_or_init(|| handles);
        natives::give_buffer(self, handles, jni, thread);
        self.live.store(true, Ordering::SeqCst);
        self.retransform(jni)?;
        std::thread::spawn(|| shielded(|| self.flush_now_and_then()));
        Some(())
    }

    fn retransform(&self, jni: Jni) -> Option<()> {
        let retransform = self.jvmti.functions().RetransformClasses?;
        for change in CHANGES {
            let name = std::ffi::CString::new(change.class).ok()?;
            // Some classes exist in newer versions only.
            let Some(class) = jni.find_class(&name) else { continue };
            // SAFETY: the class is valid.
            let error = unsafe { retransform(self.jvmti.raw(), 1, &class) };
            if error != jvmtiError::NONE {
                let text = format!("{}: {error:?}", change.class.replace('/', "."));
                self.sender.note(NoteKind::Failed, text.as_bytes(), 1);
            }
        }
        Some(())
    }

    fn flush_now_and_then(&self) {
        for round in 1u32.. {
            std::thread::sleep(FLUSH_EVERY);
            if self.over.load(Ordering::Relaxed) {
                return;
            }
            if round.is_multiple_of(WINDOW) {
                self.windows.at(0).fetch_add(1, Ordering::Relaxed);
            }
            self.threads.flush(&self.sender);
        }
    }

    /// Sends all that is there, and the end.
    fn finish(&self) {
        self.over.store(true, Ordering::Relaxed);
        self.sender.note(NoteKind::Filter, b"final fields", 0);
        self.sender.note(
            NoteKind::Filter,
            b"fields and array elements that one thread only has touched",
            0,
        );
        if let Some((kind, text)) = left_out(self.options.redundant) {
            self.sender.note(kind, text, 0);
        }
        let throttlings = self.windows.at(THROTTLINGS).load(Ordering::Relaxed);
        if throttlings > 0 {
            self.sender.note(NoteKind::Filter, THROTTLED, throttlings);
        }
        self.threads.flush(&self.sender);
        self.sender.finish();
    }
}

fn own_sites(sender: &Sender) -> Option<OwnSites> {
    let mut facts = lock(&sender.facts);
    Some(OwnSites {
        order: facts.add_own(own_site(None, "java.lang.Thread.run"))?,
        fork: facts.add_own(own_site(Some(Kind::Fork), "java.lang.Thread.start"))?,
        join: facts.add_own(own_site(Some(Kind::Join), "java.lang.Thread.join"))?,
    })
}

/// The entry point: the virtual machine has loaded the agent.
///
/// # Safety
/// Called by the virtual machine, with its own pointers.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Agent_OnLoad(
    vm: *mut JavaVM,
    options: *const c_char,
    _reserved: *mut c_void,
) -> jint {
    let argument = if options.is_null() {
        String::new()
    } else {
        // SAFETY: the options end with 0.
        unsafe { CStr::from_ptr(options) }.to_string_lossy().into_owned()
    };
    shield::install();
    // SAFETY: the pointer is that of the virtual machine.
    match unsafe { load(vm, &argument) } {
        Ok(()) => {}
        // The program runs on, unobserved; the reader sees that there is no stream.
        Err(why) => eprintln!("paceline: not observing this Java program: {why}"),
    }
    0
}

/// # Safety
/// `vm` must be the virtual machine.
unsafe fn load(vm: *mut JavaVM, argument: &str) -> Result<(), String> {
    let options =
        Options::parse(argument, std::process::id(), |file| std::fs::read_to_string(file))?;
    let mut env: *mut c_void = std::ptr::null_mut();
    // SAFETY: the virtual machine is valid.
    if unsafe { ((**vm).GetEnv)(vm, &mut env, JVMTI_VERSION_9) } != 0 {
        return Err("it is too old for JVMTI 9".to_owned());
    }
    // SAFETY: `GetEnv` gave it, and it is never disposed of.
    let jvmti = unsafe { Jvmti::new(env.cast::<jvmtiEnv>()) };
    let sender = connect(&options, &vm_version(jvmti))?;
    if let Some(tool) = options.leaves_alone(&property(jvmti, "sun.java.command")) {
        let text = format!("{tool} itself is observed only if --instrument names classes in it");
        sender.note(NoteKind::Remark, text.as_bytes(), 0);
        sender.finish();
        return Ok(());
    }
    add_capabilities(jvmti)?;
    let agent = Agent::new(options, jvmti, sender)?;
    AGENT.set(agent).map_err(|_| "it is loaded twice")?;
    listen(jvmti)
}

/// Starts the stream.
fn connect(options: &Options, version: &str) -> Result<Sender, String> {
    let destination = options.destination.as_ref().ok_or("no destination")?;
    let sink = Sink::open(destination).map_err(|e| format!("{destination:?}: {e}"))?;
    let command = std::fs::read("/proc/self/cmdline").unwrap_or_default();
    let command: Vec<u8> = command.iter().map(|&b| if b == 0 { b' ' } else { b }).collect();
    let hello = Hello {
        pid: std::process::id(),
        stripes: 1 << STRIPE_BITS,
        all_methods: options.all_methods,
        front_end: b"jvm",
        version: version.as_bytes(),
        recorder: env!("CARGO_PKG_VERSION").as_bytes(),
        command: command.trim_ascii(),
    };
    Ok(Sender::new(sink, &hello))
}

/// The name and version of the virtual machine.
fn vm_version(jvmti: Jvmti) -> String {
    ["java.vm.name", "java.vm.version"].map(|key| property(jvmti, key)).join(" ")
}

fn property(jvmti: Jvmti, key: &str) -> String {
    let (Some(get), Ok(key)) = (jvmti.functions().GetSystemProperty, std::ffi::CString::new(key))
    else {
        return String::new();
    };
    let mut value: *mut c_char = std::ptr::null_mut();
    // SAFETY: the key ends with 0; the value is to be given back.
    unsafe {
        if get(jvmti.raw(), key.as_ptr(), &mut value) != jvmtiError::NONE || value.is_null() {
            return String::new();
        }
        let text = CStr::from_ptr(value).to_string_lossy().into_owned();
        if let Some(deallocate) = jvmti.functions().Deallocate {
            deallocate(jvmti.raw(), value.cast());
        }
        text
    }
}

fn add_capabilities(jvmti: Jvmti) -> Result<(), String> {
    // SAFETY: all zero is a valid set: no capabilities.
    let mut wanted: jvmtiCapabilities = unsafe { std::mem::zeroed() };
    wanted.set_can_generate_all_class_hook_events(true);
    wanted.set_can_generate_early_class_hook_events(true);
    wanted.set_can_retransform_classes(true);
    let add = jvmti.functions().AddCapabilities.ok_or("JVMTI is incomplete")?;
    // SAFETY: the environment is valid.
    match unsafe { add(jvmti.raw(), &wanted) } {
        jvmtiError::NONE => Ok(()),
        error => Err(format!("JVMTI refuses: {error:?}")),
    }
}

fn listen(jvmti: Jvmti) -> Result<(), String> {
    // SAFETY: all zero is valid: no callbacks.
    let mut callbacks: jvmtiEventCallbacks = unsafe { std::mem::zeroed() };
    callbacks.ClassFileLoadHook = Some(on_class);
    callbacks.VMStart = Some(on_start);
    callbacks.VMInit = Some(on_init);
    callbacks.VMDeath = Some(on_death);
    callbacks.ClassPrepare = Some(super::hidden::on_prepare);
    let functions = jvmti.functions();
    let set = functions.SetEventCallbacks.ok_or("JVMTI is incomplete")?;
    let enable = functions.SetEventNotificationMode.ok_or("JVMTI is incomplete")?;
    // SAFETY: the environment is valid; the callbacks are copied.
    unsafe {
        set(jvmti.raw(), &callbacks, size_of::<jvmtiEventCallbacks>() as jint);
        for event in [
            JVMTI_EVENT_CLASS_FILE_LOAD_HOOK,
            JVMTI_EVENT_CLASS_PREPARE,
            JVMTI_EVENT_VM_START,
            JVMTI_EVENT_VM_INIT,
            JVMTI_EVENT_VM_DEATH,
        ] {
            enable(jvmti.raw(), JVMTI_ENABLE, event, std::ptr::null_mut());
        }
    }
    Ok(())
}

unsafe extern "system" fn on_start(_env: *mut jvmtiEnv, jni: *mut JNIEnv) {
    // SAFETY: the virtual machine passes the environment of this thread.
    let jni = unsafe { Jni::new(jni) };
    if let Some(agent) = agent()
        && shielded(|| agent.start(jni)).flatten().is_none()
    {
        agent.broken.store(true, Ordering::Relaxed);
        agent.sender.note(NoteKind::Failed, b"the classes of the agent could not be defined", 1);
    }
}

unsafe extern "system" fn on_init(_env: *mut jvmtiEnv, jni: *mut JNIEnv, thread: jthread) {
    // SAFETY: the virtual machine passes the environment of this thread.
    let jni = unsafe { Jni::new(jni) };
    if let Some(agent) = agent()
        && shielded(|| agent.initialise(jni, thread)).flatten().is_none()
    {
        agent.broken.store(true, Ordering::Relaxed);
        agent.sender.note(NoteKind::Failed, b"the agent could not be initialised", 1);
    }
}

unsafe extern "system" fn on_death(_env: *mut jvmtiEnv, _jni: *mut JNIEnv) {
    if let Some(agent) = agent() {
        shielded(|| agent.finish());
    }
}

#[allow(clippy::too_many_arguments)]
unsafe extern "system" fn on_class(
    _env: *mut jvmtiEnv,
    _jni: *mut JNIEnv,
    _redefined: jclass,
    _loader: jobject,
    name: *const c_char,
    _domain: jobject,
    len: jint,
    data: *const u8,
    new_len: *mut jint,
    new_data: *mut *mut u8,
) {
    let Some(agent) = agent() else { return };
    // SAFETY: the virtual machine passes the bytes of the class.
    let bytes = unsafe { std::slice::from_raw_parts(data, len as usize) };
    let name = if name.is_null() {
        Vec::new()
    } else {
        // SAFETY: the name ends with 0.
        unsafe { CStr::from_ptr(name) }.to_bytes().to_vec()
    };
    if agent.broken.load(Ordering::Relaxed) {
        return;
    }
    let Some(new) = shielded(|| agent.transform(&name, bytes)).flatten() else { return };
    // SAFETY: JVMTI allocates room for the new bytes, which it takes over.
    unsafe {
        let Some(allocate) = agent.jvmti.functions().Allocate else { return };
        let mut room = std::ptr::null_mut();
        let error = allocate(agent.jvmti.raw(), new.len() as jlong, &mut room);
        if error != jvmtiError::NONE || room.is_null() {
            return;
        }
        std::ptr::copy_nonoverlapping(new.as_ptr(), room, new.len());
        *new_len = new.len() as jint;
        *new_data = room;
    }
}
