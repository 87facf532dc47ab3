//! Conflicts as messages: an event *sends* on some channels and *receives* on others, and it
//! conflicts with a later event exactly when it sends on a channel on which the later one
//! receives. A channel is a thread, a variable's writes, a lock's releases and so on.
//!
//! The definition in [`crate::definition::conflict`] compares pairs; channels lead from an event
//! straight to its partners. Every event sends and receives on the channel of its own thread; that
//! one is left out of [`Ports`].

use paceline_trace::{Event, LockId, Op, SemaphoreId, ThreadId, VarId};

use super::rounds::{Round, Rounds};

/// Something by which events are ordered.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Channel {
    /// The events of a thread, its fork among the senders and its joins among the receivers.
    Thread(ThreadId),
    /// Sent by writes of a variable.
    Written(VarId),
    /// Sent by reads of a variable.
    Read(VarId),
    /// Sent by exclusive releases of a lock.
    Released(LockId),
    /// Sent by shared releases of a lock.
    ReleasedShared(LockId),
    /// Sent by posts of a semaphore.
    Posted(SemaphoreId),
    /// Sent by the arrivals of one round of a barrier; rounds are numbered over all barriers.
    Arrived(u32),
}

/// The channels of an event, besides its own thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ports {
    /// On which it sends.
    pub sends: Option<Channel>,
    /// On which it receives.
    pub receives: [Option<Channel>; 2],
}

impl Ports {
    const NONE: Ports = Ports { sends: None, receives: [None; 2] };

    fn sends(channel: Channel) -> Ports {
        Ports { sends: Some(channel), ..Ports::NONE }
    }

    fn receives(first: Channel, second: Option<Channel>) -> Ports {
        Ports { sends: None, receives: [Some(first), second] }
    }
}

/// Finds the channels of every event. The events must come in the order of the trace, from its
/// start, because barrier rounds depend on what came before.
#[derive(Default)]
pub struct Channels {
    rounds: Rounds,
    /// The number of the round in each slot.
    numbers: Vec<u32>,
    last_round: u32,
}

impl Channels {
    /// The channels of the next event.
    pub fn ports(&mut self, event: &Event) -> Ports {
        match event.op {
            Op::Read(x) | Op::AtomicRead(x) => {
                Ports { sends: Some(Channel::Read(x)), receives: [Some(Channel::Written(x)), None] }
            }
            Op::Write(x) | Op::AtomicWrite(x) | Op::AtomicUpdate(x) => Ports {
                sends: Some(Channel::Written(x)),
                receives: [Some(Channel::Written(x)), Some(Channel::Read(x))],
            },
            Op::Acquire(l) | Op::PostWait(l) => {
                Ports::receives(Channel::Released(l), Some(Channel::ReleasedShared(l)))
            }
            Op::AcquireShared(l) => Ports::receives(Channel::Released(l), None),
            Op::Release(l) | Op::PreWait(l) => Ports::sends(Channel::Released(l)),
            Op::ReleaseShared(l) => Ports::sends(Channel::ReleasedShared(l)),
            Op::Fork(child) => Ports::sends(Channel::Thread(child)),
            Op::Join(child) => Ports::receives(Channel::Thread(child), None),
            Op::Post(s) => Ports::sends(Channel::Posted(s)),
            Op::Take(s) => Ports::receives(Channel::Posted(s), None),
            Op::BarrierEnter(b) => {
                let round = self.rounds.enter(b, event.thread);
                Ports::sends(self.arrived(round))
            }
            Op::BarrierExit(b) => {
                let round = self.rounds.exit(b, event.thread);
                Ports::receives(self.arrived(round), None)
            }
            Op::Begin(_) | Op::End(_) | Op::Yield | Op::Notify(_) => Ports::NONE,
        }
    }

    fn arrived(&mut self, round: Round) -> Channel {
        if self.numbers.len() <= round.slot {
            self.numbers.resize(round.slot + 1, 0);
        }
        if round.fresh {
            self.last_round += 1;
            self.numbers[round.slot] = self.last_round;
        }
        Channel::Arrived(self.numbers[round.slot])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::conflict::Conflicts;
    use crate::testing::random;

    /// Whether the channels say that the earlier event conflicts with the later one.
    fn meet(earlier: (Event, Ports), later: (Event, Ports)) -> bool {
        let sends = [earlier.1.sends, Some(Channel::Thread(earlier.0.thread))];
        let [first, second] = later.1.receives;
        let receives = [first, second, Some(Channel::Thread(later.0.thread))];
        sends.iter().flatten().any(|c| receives.contains(&Some(*c)))
    }

    #[test]
    fn channels_are_the_definition() {
        random::check(1000, 60, |trace| {
            let mut conflicts = Conflicts::default();
            let mut channels = Channels::default();
            let mut seen = Vec::new();
            for &event in &trace.events {
                let at = conflicts.push(event);
                seen.push((event, channels.ports(&event)));
                for e in 0..at {
                    if meet(seen[e], seen[at]) != conflicts.conflict(e, at) {
                        return Err(format!("{} and {}", e + 1, at + 1));
                    }
                }
            }
            Ok(())
        });
    }
}
