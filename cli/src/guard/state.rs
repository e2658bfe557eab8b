//! What the threads of a session share: the requests in flight, and how far the session is.

use std::process::ExitStatus;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use wireline::{Id, RpcError};

use super::copies::Copies;
use super::handshake::Handshake;
use super::ledger::Ledger;
use crate::session::Side;

pub(super) struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
pub(super) struct State {
    /// For each side, the requests that it has sent.
    ledgers: [Ledger; 2],
    pub(super) copies: Copies,
    pub(super) handshake: Handshake,
    pub(super) client: ClientState,
    pub(super) server: ServerState,
    /// The number of the server that gets the client's next request: the one that runs, or the next one.
    pub(super) receiver: u32,
}

#[derive(Default)]
pub(super) struct ClientState {
    /// Everything that the client has sent has been dealt with, and it sends no more.
    pub(super) has_ended: bool,
    /// The client reads nothing any more.
    pub(super) is_gone: bool,
}

/// The state of the server that runs now.
#[derive(Default)]
pub(super) struct ServerState {
    /// Counts the servers of this session.
    pub(super) number: u32,
    pub(super) status: Option<ExitStatus>,
    pub(super) output_has_ended: bool,
    pub(super) stderr_has_ended: bool,
    /// Why the server answers no requests any more.
    pub(super) refusal: Option<RpcError>,
}

impl ServerState {
    /// Whether there will be no more answers.
    pub(super) fn is_over(&self) -> bool {
        self.status.is_some() || self.output_has_ended
    }
}

impl State {
    pub(super) fn ledger(&mut self, from: Side) -> &mut Ledger {
        &mut self.ledgers[from as usize]
    }

    /// Answers all requests of the client that wait, and returns their ids. Further requests are refused.
    pub(super) fn refuse_requests(&mut self, refusal: RpcError) -> Vec<Id<'static>> {
        self.server.refusal = Some(refusal);
        self.give_up_server()
    }

    /// Answers all requests of the client that wait, and returns their ids. Further requests are for the next server.
    pub(super) fn expect_next_server(&mut self) -> Vec<Id<'static>> {
        self.receiver += 1;
        self.give_up_server()
    }

    fn give_up_server(&mut self) -> Vec<Id<'static>> {
        // A response to a request of the server would come too late as well.
        self.ledger(Side::Server).take_waiting();
        self.ledger(Side::Client).take_waiting()
    }

    /// Starts over with the next server.
    pub(super) fn next_server(&mut self) -> u32 {
        self.ledger(Side::Client).forget_retired();
        self.server = ServerState { number: self.receiver, ..ServerState::default() };
        self.receiver
    }
}

impl Shared {
    pub(super) fn new() -> Self {
        Self { state: Mutex::new(State::default()), changed: Condvar::new() }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the state, and wakes all threads that wait for one.
    pub(super) fn update<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let changed = change(&mut self.lock());
        self.changed.notify_all();
        changed
    }

    /// Wakes all threads that wait for a change.
    pub(super) fn notify(&self) {
        self.changed.notify_all();
    }

    /// Waits until a condition holds, or until the deadline. Returns whether the condition holds.
    pub(super) fn wait(&self, deadline: Option<Instant>, mut condition: impl FnMut(&mut State) -> bool) -> bool {
        let mut state = self.lock();
        while !condition(&mut state) {
            state = match deadline.map(|deadline| deadline.saturating_duration_since(Instant::now())) {
                None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(left) if left.is_zero() => return false,
                Some(left) => self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0,
            };
        }
        true
    }
}
