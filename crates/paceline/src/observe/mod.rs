//! Running a program under observation: recorders inside its processes connect to a socket of ours,
//! each connection is one trace, and each trace has a thread here that makes something of it.
//!
//! What belongs to the program stays its own: standard input, output and error, signals, and its
//! exit status. When it has ended, processes that it left behind have a few seconds to end too.

mod child;
pub(crate) mod jvm;
mod options;

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::Error;

pub use child::Ended;
pub use jvm::agent_beside;
pub use options::{ObserveOptions, RecorderOptions, redundant_for};

/// Tells a recorder that is part of a program where its options are.
const OPTIONS_VARIABLE: &str = "PACELINE_RECORDER";

/// The longest path that a socket can have is 107 bytes; folders for temporary files may be deep.
const LONGEST_SOCKET_PATH: usize = 100;

/// A place where recorders find us.
struct Meeting {
    /// Only its owner can look into it.
    dir: TempDir,
    listener: UnixListener,
}

impl Meeting {
    fn new() -> io::Result<Meeting> {
        let mut dir = tempfile::Builder::new().prefix("paceline-").tempdir()?;
        if dir.path().as_os_str().len() > LONGEST_SOCKET_PATH - "/socket".len() {
            dir = tempfile::Builder::new().prefix("paceline-").tempdir_in("/tmp")?;
        }
        let listener = UnixListener::bind(dir.path().join("socket"))?;
        Ok(Meeting { dir, listener })
    }

    fn socket(&self) -> PathBuf {
        self.dir.path().join("socket")
    }

    fn write_options(&self, options: &RecorderOptions) -> io::Result<PathBuf> {
        let path = self.dir.path().join("options");
        let mut file = std::fs::File::create_new(&path)?;
        file.write_all(&options.encode(&self.socket()))?;
        Ok(path)
    }
}

/// What came of a run.
pub struct Observed<T> {
    /// How the program ended.
    pub ended: Ended,
    /// What was made of each process that was observed, in the order in which they came.
    pub traces: Vec<T>,
    /// What to say if there was none.
    pub hint: Option<String>,
}

/// Runs `command`, and makes something of what each of its processes records.
pub fn observe<T: Send>(
    command: &[OsString],
    args: &ObserveOptions,
    options: &RecorderOptions,
    each: impl Fn(UnixStream) -> T + Sync,
) -> Result<Observed<T>, Error> {
    let meeting =
        Meeting::new().map_err(setup("cannot make a socket for the program to connect to"))?;
    let file =
        meeting.write_options(options).map_err(setup("cannot write options for recorders"))?;
    let injection = jvm::inject(command, args, &file)?;
    let mut program = child::command(&injection.command)?;
    program.env(OPTIONS_VARIABLE, &file);
    program.envs(injection.variables);

    let guests = Guests::default();
    let is_over = AtomicBool::new(false);
    let (results, received) = channel();
    thread::scope(|scope| {
        let (listener, guests, is_over, each) = (&meeting.listener, &guests, &is_over, &each);
        let listening =
            scope.spawn(move || accept_all(scope, listener, guests, is_over, each, &results));
        let ended = child::run(program);
        is_over.store(true, Ordering::Release);
        // Whoever knocked before is let in before this.
        let _ = UnixStream::connect(meeting.socket());
        let count = listening.join().unwrap_or(0);
        let traces = collect(&received, count, guests, args.linger);
        Ok(Observed { ended: ended?, traces, hint: injection.hint })
    })
}

/// Connections that can be closed from here.
#[derive(Default)]
struct Guests(Mutex<Vec<UnixStream>>);

impl Guests {
    fn add(&self, stream: &UnixStream) {
        if let Ok(copy) = stream.try_clone() {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).push(copy);
        }
    }

    /// Ends all connections; one that has ended already does not mind.
    fn dismiss(&self) {
        for stream in self.0.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

/// Gives each connection a thread until it is over. Returns how many there were.
fn accept_all<'scope, 'env, T: Send + 'scope>(
    scope: &'scope thread::Scope<'scope, 'env>,
    listener: &'scope UnixListener,
    guests: &'scope Guests,
    is_over: &'scope AtomicBool,
    each: &'scope (impl Fn(UnixStream) -> T + Sync),
    results: &Sender<(usize, T)>,
) -> usize {
    let mut count = 0;
    for stream in listener.incoming().map_while(Result::ok) {
        if is_over.load(Ordering::Acquire) && is_goodbye(&stream) {
            break;
        }
        guests.add(&stream);
        let (number, results) = (count, results.clone());
        scope.spawn(move || {
            let again = stream.try_clone();
            let result = each(stream);
            // Nobody reads any more: a recorder must not wait for us, and the program not for it.
            if let Ok(stream) = again {
                let _ = stream.shutdown(Shutdown::Both);
            }
            // The other end waits for all results.
            let _ = results.send((number, result));
        });
        count += 1;
    }
    count
}

/// Whether this is our own knock at the end.
fn is_goodbye(stream: &UnixStream) -> bool {
    rustix::net::sockopt::socket_peercred(stream)
        .is_ok_and(|peer| peer.pid == rustix::process::getpid())
}

/// Waits for the results, and for processes that go on after the program no longer than `linger`.
fn collect<T>(
    received: &Receiver<(usize, T)>,
    count: usize,
    guests: &Guests,
    linger: Duration,
) -> Vec<T> {
    let deadline = Instant::now() + linger;
    let mut results = Vec::new();
    while results.len() < count {
        let left = deadline.saturating_duration_since(Instant::now());
        match received.recv_timeout(left) {
            Ok(result) => results.push(result),
            Err(RecvTimeoutError::Timeout) => {
                guests.dismiss();
                // What they have sent is still analysed, however long that takes.
                results.extend(received.iter().take(count - results.len()));
            }
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    results.sort_by_key(|&(number, _)| number);
    results.into_iter().map(|(_, result)| result).collect()
}

/// The path of a file as text for an option.
fn text(path: &Path) -> Result<&str, Error> {
    path.to_str().ok_or_else(|| Error::Usage(format!("{} is not UTF-8", path.display())))
}

fn setup(what: &'static str) -> impl Fn(io::Error) -> Error {
    move |source| Error::Setup { what, source }
}
