//! Bytes in, events out, bytes out: a connection without I/O.

use std::ffi::c_void;
use std::io;
use std::task::{Context, Waker};

use wireline::Rules;
use wireline::connection::{Config, Connection, Event};

use crate::boundary::guarded;
use crate::event::{CurrentEvent, Value, wl_event};
use crate::frame::wl_frame;
use crate::kinds::wl_event_kind;
use crate::memory::{exclusive, given, place, shared, store, taken, wl_span};
use crate::message::wl_fault;
use crate::peer::{Clock, wl_peer};
use crate::rules::{rules_at, wl_rules};
use crate::status::wl_status;
use crate::wake::{waker, wl_wake};

/// A connection to a peer, without I/O. It decodes what the peer sends, hands out a ticket for each request, answers bad
/// lines, refuses repeated ids, joins the answers to a batch, notices cancellations, finds the request that a response
/// belongs to, and queues what is to be sent. You read and write:
///
/// - While `wl_connection_wants_read`, read, with `wl_connection_read` or `_feed`. At the end of the stream, call `_finish`.
/// - Take events with `wl_connection_next` until there are none.
/// - Write `wl_connection_pending`, and say with `_advance` how many bytes were written. Then take events again before you
///   wait for the peer: if much was pending, some had to wait.
/// - Stop when `wl_connection_is_done`, or when you can't write any more.
///
/// One thread at a time may use a connection. Others answer tickets and send by a `wl_peer`, at any time and without a
/// lock; `wl_connection_poll_wake` has the connection's thread woken up when they do.
pub struct wl_connection {
    // `current` borrows from `connection`, so it is dropped first, and nothing is done with `connection` that changes its
    // buffer before `current` is cleared. The two are never borrowed together as a whole.
    current: CurrentEvent,
    connection: Connection<Value>,
    rules: Rules,
    clock: Clock,
    waker: Waker,
}

/// The limits of a connection. Fill it with `wl_limits_init`, then change what you like.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct wl_limits {
    /// The most requests of the peer that may be in flight: 1024. Further ones are refused with an error. The entries of a
    /// batch count one by one.
    pub in_flight: usize,
    /// The most requests to the peer that may be in flight: 1024. Further ones fail with `WL_STATUS_FULL`.
    pub calls: usize,
    /// How many bytes may wait to be written: 1 MiB. Above that, requests and notifications fail with `WL_STATUS_FULL`, and
    /// nothing more is read from the peer. Answers are always queued.
    pub backlog: usize,
}

impl wl_limits {
    const DEFAULT: Self = Self { in_flight: 1024, calls: 1024, backlog: 1 << 20 };
}

/// Fills `limits` with the defaults.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_limits_init(limits: *mut wl_limits) -> wl_status {
    if limits.is_null() {
        return wl_status::InvalidArgument;
    }
    // SAFETY: the caller promises that it points to memory for limits.
    unsafe { store(limits, wl_limits::DEFAULT) };
    wl_status::Ok
}

/// A connection at the start of a stream. NULL if `rules` is NULL or invalid. If `limits` is NULL, the defaults are used.
///
/// `wake` may be NULL. Otherwise it is called with `context`, which must stay valid until the connection and all of its
/// tickets and peers are freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_connection_new(
    rules: *const wl_rules,
    limits: *const wl_limits,
    wake: wl_wake,
    context: *mut c_void,
) -> *mut wl_connection {
    guarded(std::ptr::null_mut(), || {
        // SAFETY: the caller promises that each is NULL or valid.
        let (Some(rules), limits) = (unsafe { (rules_at(rules), shared(limits)) }) else {
            return std::ptr::null_mut();
        };
        let wl_limits { in_flight, calls, backlog } = *limits.unwrap_or(&wl_limits::DEFAULT);
        let config = Config::new(rules).in_flight(in_flight).calls(calls).backlog(backlog);
        given(wl_connection {
            current: CurrentEvent::default(),
            connection: Connection::new(config),
            rules,
            clock: Clock::new(),
            waker: waker(wake, context),
        })
    })
}

/// Frees a connection: tickets are cancelled, peers are closed, and what is pending is dropped. NULL is ignored.
///
/// The values of requests that are in flight aren't given back any more. To get them, call `wl_connection_finish` and take
/// events until there are none; if bytes are pending, pass over them with `wl_connection_advance`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_connection_free(connection: *mut wl_connection) {
    // SAFETY: the caller promises that it is NULL or a connection that is no longer used.
    guarded((), || drop(unsafe { taken(connection) }));
}

/// A handle for sending to the peer, to be freed with `wl_peer_free`. NULL only if `connection` is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_connection_peer(connection: *const wl_connection) -> *mut wl_peer {
    guarded(std::ptr::null_mut(), || {
        // SAFETY: the caller promises that it is NULL or a connection that nobody changes.
        unsafe { unchanged(connection) }
            .map_or(std::ptr::null_mut(), |(parts, clock)| given(wl_peer { peer: parts.peer(), clock }))
    })
}

/// Copies in the next bytes from the peer, however they are split. After `wl_connection_finish` they are ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_connection_feed(connection: *mut wl_connection, bytes: wl_span) -> wl_status {
    guarded(wl_status::Panic, || {
        // SAFETY: the caller promises that it is NULL or a connection that nobody else uses.
        let Some((connection, _)) = (unsafe { changed(connection) }) else { return wl_status::InvalidArgument };
        // SAFETY: the caller promises that there are as many bytes.
        match unsafe { bytes.bytes() } {
            Some(bytes) => connection.feed(bytes),
            None if bytes.len == 0 => {}
            None => return wl_status::InvalidArgument,
        }
        wl_status::Ok
    })
}

/// Reads bytes, as `read(2)` does: stores up to `len` in `buffer`, and returns how many, 0 at the end of the stream, or a
/// negative number on failure. It must not use the connection, and must not throw an exception.
pub type wl_read = Option<unsafe extern "C" fn(context: *mut c_void, buffer: *mut u8, len: usize) -> isize>;

/// Calls `read` once, with `context`, to read the next bytes from the peer straight into the connection's buffer. The
/// buffer has 4 to 64 KiB, depending on how much was read before. If `read` returns 0, the stream has ended, as after
/// `wl_connection_finish`.
///
/// `WL_STATUS_IO` if `read` fails; then nothing has changed, and `errno` is as it left it. After the end of the stream,
/// `read` isn't called.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_connection_read(
    connection: *mut wl_connection,
    read: wl_read,
    context: *mut c_void,
) -> wl_status {
    guarded(wl_status::Panic, || {
        // SAFETY: the caller promises that it is NULL or a connection that nobody else uses.
        let Some((connection, _)) = (unsafe { changed(connection) }) else { return wl_status::InvalidArgument };
        let Some(read) = read else { return wl_status::InvalidArgument };
        let found = connection.read_with(|room| {
            // SAFETY: the caller promises that it can be called so, and writes only to the buffer.
            let len = unsafe { read(context, room.as_mut_ptr(), room.len()) };
            match usize::try_from(len) {
                Ok(len) if len <= room.len() => Ok(len),
                Ok(_) => Err(io::ErrorKind::InvalidInput.into()),
                Err(_) => Err(io::ErrorKind::Other.into()),
            }
        });
        match found {
            Ok(_) => wl_status::Ok,
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => wl_status::InvalidArgument,
            Err(_) => wl_status::Io,
        }
    })
}

/// Ends the incoming stream. A last line without a line feed becomes an event too, and so does each request to the peer that
/// is in flight: it is lost.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_connection_finish(connection: *mut wl_connection) -> wl_status {
    guarded(wl_status::Panic, || {
        // SAFETY: the caller promises that it is NULL or a connection that nobody else uses.
        let Some((connection, _)) = (unsafe { changed(connection) }) else { return wl_status::InvalidArgument };
        connection.finish();
        wl_status::Ok
    })
}

/// Whether to read more: the stream hasn't ended, and the peer reads what is sent to it. The peer must wait while this is
/// false, so that what is queued for it doesn't grow without bound.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_connection_wants_read(connection: *const wl_connection) -> bool {
    // SAFETY: the caller promises that it is NULL or a connection that nobody changes.
    guarded(false, || unsafe { unchanged(connection) }.is_some_and(|(connection, _)| connection.wants_read()))
}

/// Takes the next event. Returns what it is, and fills `event`. An event that you don't handle needs nothing, except that
/// the ticket of a request must be answered or freed.
///
/// `WL_EVENT_KIND_NONE` until more bytes are read, or, if too many are waiting, until some are written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_connection_next(connection: *mut wl_connection, event: *mut wl_event) -> wl_event_kind {
    // SAFETY: as the caller promises.
    unsafe { take(connection, event, Connection::next_event) }
}

/// Takes a request to the peer whose deadline isn't after `now`, in milliseconds of your clock, and fills `event`: it is
/// lost. The peer is told that it is cancelled. `WL_EVENT_KIND_NONE` if there is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_connection_next_expired(
    connection: *mut wl_connection,
    now: u64,
    event: *mut wl_event,
) -> wl_event_kind {
    // SAFETY: as the caller promises.
    unsafe {
        let Some((_, clock)) = unchanged(connection) else { return wl_event_kind::InvalidArgument };
        take(connection, event, |connection| connection.next_expired(clock.instant(now)))
    }
}

/// # Safety
///
/// Each is NULL, or points to a connection that nobody else uses and to memory for an event.
unsafe fn take(
    connection: *mut wl_connection,
    event: *mut wl_event,
    next: impl for<'c> FnOnce(&'c mut Connection<Value>) -> Option<Event<'c, Value>>,
) -> wl_event_kind {
    guarded(wl_event_kind::Panic, || {
        // SAFETY: as the caller promises.
        let parts = unsafe { (changed(connection), place(event)) };
        let (Some((connection, current)), Some(out)) = parts else { return wl_event_kind::InvalidArgument };
        let out = out.write(wl_event::NONE);
        let Some(found) = next(connection) else { return wl_event_kind::None };
        // SAFETY: it borrows from `connection`, which doesn't move, since C has only a pointer to it, and doesn't change its
        // buffer before `current` is cleared; see `wl_connection`.
        current.set(unsafe { std::mem::transmute::<Event<'_, Value>, Event<'static, Value>>(found) }, out)
    })
}

/// Stores when the next request to the peer expires, in milliseconds of your clock. False if no request in flight has a
/// deadline.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_connection_next_deadline(connection: *const wl_connection, milliseconds: *mut u64) -> bool {
    guarded(false, || {
        // SAFETY: the caller promises that it is NULL or a connection that nobody changes.
        let Some((connection, clock)) = (unsafe { unchanged(connection) }) else { return false };
        let Some(deadline) = connection.next_deadline() else { return false };
        // SAFETY: the caller promises that it is NULL or points to memory for a number.
        unsafe { store(milliseconds, clock.milliseconds(deadline)) };
        true
    })
}

/// Says what is wrong with the line or the entry that the current event is about: a fault, or a lost request whose response
/// is faulty. `WL_STATUS_NOT_FOUND` if nothing is. The `reply` of the fault is already queued.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_connection_fault(connection: *mut wl_connection, fault: *mut wl_fault) -> wl_status {
    guarded(wl_status::Panic, || {
        if connection.is_null() {
            return wl_status::InvalidArgument;
        }
        // SAFETY: not null, and the caller promises that nobody else uses it.
        let (rules, current) = unsafe { ((*connection).rules, &mut (*connection).current) };
        let Some(found) = current.item.describe_fault(rules) else { return wl_status::NotFound };
        // SAFETY: the caller promises that it is NULL or points to memory for a fault.
        unsafe { store(fault, found) };
        wl_status::Ok
    })
}

/// Keeps the message or the fault of the current event as a frame of its own, for another thread or for later. NULL if the
/// event has neither.
///
/// Nothing is copied. The frame keeps the buffer alive that the line arrived in, which may hold many other lines.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_connection_keep(connection: *const wl_connection) -> *mut wl_frame {
    guarded(std::ptr::null_mut(), || {
        if connection.is_null() {
            return std::ptr::null_mut();
        }
        // SAFETY: not null, and the caller promises that nobody changes it.
        let (rules, current) = unsafe { ((*connection).rules, &(*connection).current) };
        current.item.owned().map_or(std::ptr::null_mut(), |current| given(wl_frame { current, rules }))
    })
}

/// Whether there are bytes to write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_connection_wants_write(connection: *const wl_connection) -> bool {
    // SAFETY: the caller promises that it is NULL or a connection that nobody changes.
    guarded(false, || unsafe { unchanged(connection) }.is_some_and(|(connection, _)| connection.wants_write()))
}

/// The next bytes to write: whole lines, or the rest of lines that were written in part. They stay pending until
/// `wl_connection_advance` says that they are written, and are valid until the next call of `_pending`, `_advance` or
/// `_free` on the same connection. Empty if there are none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_connection_pending(connection: *mut wl_connection) -> wl_span {
    guarded(wl_span::ABSENT, || {
        // SAFETY: the caller promises that it is NULL or a connection that nobody else uses.
        unsafe { outgoing(connection) }.map_or(wl_span::ABSENT, |connection| wl_span::of(connection.pending()))
    })
}

/// Says that so many of the pending bytes are written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_connection_advance(connection: *mut wl_connection, bytes: usize) -> wl_status {
    guarded(wl_status::Panic, || {
        // SAFETY: the caller promises that it is NULL or a connection that nobody else uses.
        let Some(connection) = (unsafe { outgoing(connection) }) else { return wl_status::InvalidArgument };
        connection.advance(bytes);
        wl_status::Ok
    })
}

/// True if there are bytes to write, or if the stream has ended and no request is in flight, so that nothing will follow.
/// Otherwise `wake` will be called when that has changed.
///
/// Call it before you wait for the peer, and don't wait if it is true. It counts for one change: call it again before you
/// wait again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_connection_poll_wake(connection: *const wl_connection) -> bool {
    guarded(false, || {
        // SAFETY: the caller promises that it is NULL or a connection that nobody changes.
        let Some((parts, _)) = (unsafe { unchanged(connection) }) else { return false };
        // SAFETY: there is a connection, and nobody changes it.
        let waker = unsafe { &(*connection).waker };
        parts.poll_wake(&mut Context::from_waker(waker)).is_ready()
    })
}

/// How many requests of the peer are in flight: those that aren't answered.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_connection_in_flight(connection: *const wl_connection) -> usize {
    // SAFETY: the caller promises that it is NULL or a connection that nobody changes.
    guarded(0, || unsafe { unchanged(connection) }.map_or(0, |(connection, _)| connection.in_flight()))
}

/// Whether the incoming stream has ended, all its events are taken, every request is answered, and every byte is written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_connection_is_done(connection: *const wl_connection) -> bool {
    // SAFETY: the caller promises that it is NULL or a connection that nobody changes.
    guarded(false, || unsafe { unchanged(connection) }.is_some_and(|(connection, _)| connection.is_done()))
}

/// The parts of a connection whose buffer is about to change, with nothing left that borrows from it.
///
/// # Safety
///
/// `connection` is NULL or a connection that nobody else uses.
unsafe fn changed<'a>(connection: *mut wl_connection) -> Option<(&'a mut Connection<Value>, &'a mut CurrentEvent)> {
    if connection.is_null() {
        return None;
    }
    // SAFETY: not null, and the caller promises the rest. The fields don't overlap.
    unsafe {
        let current = &mut (*connection).current;
        current.clear();
        Some((&mut (*connection).connection, current))
    }
}

/// A connection whose outgoing bytes are about to change. The current event, which borrows from incoming bytes, stays.
///
/// # Safety
///
/// `connection` is NULL or a connection that nobody else uses.
unsafe fn outgoing<'a>(connection: *mut wl_connection) -> Option<&'a mut Connection<Value>> {
    if connection.is_null() {
        return None;
    }
    // SAFETY: not null, and the caller promises the rest.
    unsafe { exclusive(&raw mut (*connection).connection) }
}

/// A connection that doesn't change.
///
/// # Safety
///
/// `connection` is NULL or a connection that nobody changes.
unsafe fn unchanged<'a>(connection: *const wl_connection) -> Option<(&'a Connection<Value>, Clock)> {
    if connection.is_null() {
        return None;
    }
    // SAFETY: not null, and the caller promises the rest.
    unsafe { Some((&(*connection).connection, (*connection).clock)) }
}
