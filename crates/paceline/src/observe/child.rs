//! The program as our child: it has our terminal, and gets the signals that are meant for it.

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, ExitStatus};
use std::thread;

use rustix::process::{Pid, Signal, getpgrp, kill_process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::iterator::Signals;

use crate::Error;

/// What is passed on.
const FORWARDED: [i32; 6] = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2];

/// How the program ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ended(ExitStatus);

impl Ended {
    /// The exit status as a shell would have it.
    pub fn code(self) -> u8 {
        let by_signal = self.0.signal().map(|signal| 128 + signal);
        self.0.code().or(by_signal).and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
    }
}

/// The program with its arguments.
pub fn command(words: &[OsString]) -> Result<Command, Error> {
    let (program, arguments) =
        words.split_first().ok_or_else(|| Error::Usage("there is no command to run".to_owned()))?;
    let mut command = Command::new(program);
    command.args(arguments);
    Ok(command)
}

/// Runs the program to its end, passing on signals.
pub fn run(mut command: Command) -> Result<Ended, Error> {
    let cannot_forward = |source| Error::Setup { what: "cannot pass on signals", source };
    let mut signals = Signals::new(FORWARDED).map_err(cannot_forward)?;
    let handle = signals.handle();
    let program = command.get_program().display().to_string();
    let cannot_run = |source| Error::Run { program: program.clone(), source };
    let mut child = command.spawn().map_err(cannot_run)?;
    let status = thread::scope(|scope| {
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        scope.spawn(move || {
            for signal in signals.forever() {
                forward(signal, pid);
            }
        });
        let status = child.wait();
        handle.close();
        status
    });
    Ok(Ended(status.map_err(cannot_run)?))
}

/// Passes a signal on, unless the terminal has sent it: that goes to the program as well.
fn forward(signal: i32, pid: Option<Pid>) {
    let from_keyboard = matches!(signal, SIGINT | SIGQUIT) && is_in_foreground();
    if let (Some(pid), Some(signal), false) = (pid, Signal::from_named_raw(signal), from_keyboard) {
        // It may have ended this very moment.
        let _ = kill_process(pid, signal);
    }
}

/// Whether the keys of a terminal send signals to us, and so to the program in the same group.
fn is_in_foreground() -> bool {
    let group = getpgrp();
    let terminals = [
        rustix::termios::tcgetpgrp(std::io::stdin()),
        rustix::termios::tcgetpgrp(std::io::stderr()),
    ];
    terminals.into_iter().flatten().any(|foreground| foreground == group)
}
