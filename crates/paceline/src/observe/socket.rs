//! Recorders inside the processes of a command connect to a socket of ours; each connection is one
//! trace, and each trace has a thread here that makes something of it.

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::options::RecorderOptions;
use super::{Observed, child, jvm};
use crate::Error;

/// Says to a recorder that is part of a program where its options are.
const OPTIONS_VARIABLE: &str = "PACELINE_RECORDER";

/// The longest path that a socket can have is 107 bytes; folders for temporary files may be deep.
const LONGEST_SOCKET_PATH: usize = 100;

/// A socket that recorders connect to, beside the file of their options.
struct Rendezvous {
    /// Only its owner can look into it.
    dir: TempDir,
    listener: UnixListener,
}

impl Rendezvous {
    fn new() -> io::Result<Rendezvous> {
        let mut dir = tempfile::Builder::new().prefix("paceline-").tempdir()?;
        if dir.path().as_os_str().len() > LONGEST_SOCKET_PATH - "/socket".len() {
            dir = tempfile::Builder::new().prefix("paceline-").tempdir_in("/tmp")?;
        }
        let listener = UnixListener::bind(dir.path().join("socket"))?;
        Ok(Rendezvous { dir, listener })
    }

    fn socket(&self) -> PathBuf {
        self.dir.path().join("socket")
    }

    fn write_options(&self, options: &RecorderOptions<'_>) -> io::Result<PathBuf> {
        let path = self.dir.path().join("options");
        let mut file = std::fs::File::create_new(&path)?;
        file.write_all(&options.encode(&self.socket()))?;
        Ok(path)
    }
}

/// Runs `command`, and makes something of what each of its processes records.
pub(super) fn observe<T: Send>(
    command: &[OsString],
    options: &RecorderOptions<'_>,
    each: impl Fn(UnixStream) -> T + Sync,
) -> Result<Observed<T>, Error> {
    let rendezvous =
        Rendezvous::new().map_err(setup("cannot make a socket for the program to connect to"))?;
    let file =
        rendezvous.write_options(options).map_err(setup("cannot write options for recorders"))?;
    let injection = jvm::inject(command, options.observe, &file)?;
    let mut program = child::command(&injection.command)?;
    program.env(OPTIONS_VARIABLE, &file);
    program.envs(injection.variables);

    let connections = Connections::default();
    let is_over = AtomicBool::new(false);
    let (results, received) = channel();
    thread::scope(|scope| {
        let (listener, connections, is_over, each) =
            (&rendezvous.listener, &connections, &is_over, &each);
        let listening =
            scope.spawn(move || accept_all(scope, listener, connections, is_over, each, &results));
        let ended = child::run(program);
        is_over.store(true, Ordering::Release);
        // Connections are accepted in order: those made before this one come before it.
        let _ = UnixStream::connect(rendezvous.socket());
        let count = listening.join().unwrap_or(0);
        let traces = collect(&received, count, connections, options.observe.linger);
        Ok(Observed { ended: ended?, traces, hint: injection.hint })
    })
}

/// Connections that can be closed from here.
#[derive(Default)]
struct Connections(Mutex<Vec<UnixStream>>);

impl Connections {
    fn add(&self, stream: &UnixStream) {
        if let Ok(copy) = stream.try_clone() {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).push(copy);
        }
    }

    /// Ends all connections; for one that has ended already this does nothing.
    fn close(&self) {
        for stream in self.0.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

/// Gives each connection a thread until it is over. Returns how many there were.
fn accept_all<'scope, 'env, T: Send + 'scope>(
    scope: &'scope thread::Scope<'scope, 'env>,
    listener: &'scope UnixListener,
    connections: &'scope Connections,
    is_over: &'scope AtomicBool,
    each: &'scope (impl Fn(UnixStream) -> T + Sync),
    results: &Sender<(usize, T)>,
) -> usize {
    let mut count = 0;
    for stream in listener.incoming().map_while(Result::ok) {
        if is_over.load(Ordering::Acquire) && is_our_own(&stream) {
            break;
        }
        connections.add(&stream);
        let (number, results) = (count, results.clone());
        scope.spawn(move || {
            let again = stream.try_clone();
            let result = each(stream);
            // Nothing is read any more: a recorder must not wait for us, and the program not for
            // it.
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

/// Whether this is the connection that ends the accepting.
fn is_our_own(stream: &UnixStream) -> bool {
    rustix::net::sockopt::socket_peercred(stream)
        .is_ok_and(|peer| peer.pid == rustix::process::getpid())
}

/// Waits for the results, and for processes that go on after the program no longer than `linger`.
fn collect<T>(
    received: &Receiver<(usize, T)>,
    count: usize,
    connections: &Connections,
    linger: Duration,
) -> Vec<T> {
    let deadline = Instant::now() + linger;
    let mut results = Vec::new();
    while results.len() < count {
        let left = deadline.saturating_duration_since(Instant::now());
        match received.recv_timeout(left) {
            Ok(result) => results.push(result),
            Err(RecvTimeoutError::Timeout) => {
                connections.close();
                // What they have sent is still analysed, however long that takes.
                results.extend(received.iter().take(count - results.len()));
            }
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    results.sort_by_key(|&(number, _)| number);
    results.into_iter().map(|(_, result)| result).collect()
}

fn setup(what: &'static str) -> impl Fn(io::Error) -> Error {
    move |source| Error::Setup { what, source }
}
