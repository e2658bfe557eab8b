//! A connection without I/O: bytes in, events out, bytes out.

use std::ffi::c_void;
use std::io;
use std::task::{Context, Waker};

use wireline::Rules;
use wireline::connection::{Config, Connection, Event};

use crate::boundary::catch_panic;
use crate::event::{CurrentEvent, Value, wl_event};
use crate::frame::wl_frame;
use crate::kinds::wl_event_kind;
use crate::memory::{exclusive, from_handle, into_handle, out_param, shared, store, wl_span};
use crate::message::wl_fault;
use crate::peer::{Clock, wl_peer};
use crate::rules::{rules_at, wl_rules};
use crate::status::wl_status;
use crate::wake::{waker, wl_wake};

/// A connection to a peer, without I/O. It decodes the peer's messages, creates a ticket for each request, answers bad
/// lines, refuses repeated ids, joins the answers to a batch, detects cancellations, matches responses to requests, and
/// queues outgoing lines. You read and write:
///
/// - While `wl_connection_wants_read`, read, with `wl_connection_read` or `_feed`. At the end of the stream, call
///   `_finish`.
/// - Take events with `wl_connection_next` until there are none.
/// - Write `wl_connection_pending`, and pass the number of bytes written to `_advance`. Then take events again before
///   you wait for the peer, because events may have been held back while too many bytes were pending.
/// - Stop when `wl_connection_is_done`, or when you can't write any more.
///
/// One thread at a time may use a connection. Other threads can answer tickets and send through a `wl_peer`, at any
/// time and without a lock. Use `wl_connection_poll_wake` to wake up the connection's thread when they do.
pub struct wl_connection {
    // `current` borrows from `connection`, so it is dropped first, and `connection` must not change its buffer before
    // `current` is cleared. The two are never borrowed together as a whole.
    current: CurrentEvent,
    connection: Connection<Value>,
    rules: Rules,
    clock: Clock,
    waker: Waker,
}

/// The limits of a connection. Initialize it with `wl_limits_init`, and then change any members.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct wl_limits {
    /// The most requests of the peer that may be in flight. The default is 1024. Further ones are refused with an
    /// error. Each request in a batch counts.
    pub in_flight: usize,
    /// The most requests to the peer that may be in flight. The default is 1024. Further ones fail with
    /// `WL_STATUS_FULL`.
    pub calls: usize,
    /// The most bytes that may wait to be written. The default is 1 MiB. Above that, requests and notifications fail
    /// with `WL_STATUS_FULL`, and nothing more is read from the peer. Answers are always queued.
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
    // SAFETY: not null, and the caller promises that it points to memory for limits.
    unsafe { store(limits, wl_limits::DEFAULT) };
    wl_status::Ok
}

/// Creates a connection at the start of a stream. Returns NULL if `rules` is NULL or invalid. If `limits` is NULL, the
/// defaults are used.
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
    catch_panic(std::ptr::null_mut(), || {
        // SAFETY: the caller promises that each is NULL or valid.
        let (Some(rules), limits) = (unsafe { (rules_at(rules), shared(limits)) }) else {
            return std::ptr::null_mut();
        };
        let wl_limits { in_flight, calls, backlog } = *limits.unwrap_or(&wl_limits::DEFAULT);
        let config = Config::new(rules).in_flight(in_flight).calls(calls).backlog(backlog);
        into_handle(wl_connection {
            current: CurrentEvent::default(),
            connection: Connection::new(config),
            rules,
            clock: Clock::new(),
            waker: waker(wake, context),
        })
    })
}

/// Frees a connection: tickets are cancelled, peers are closed, and pending bytes are dropped. NULL is ignored.
///
/// The values of requests in flight aren't returned any more. To get them, call `wl_connection_finish` first and take
/// events until there are none; if bytes are pending, skip them with `wl_connection_advance`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_connection_free(connection: *mut wl_connection) {
    // SAFETY: the caller promises that it is NULL or a connection that is no longer used.
    catch_panic((), || drop(unsafe { from_handle(connection) }));
}

/// Creates a handle for sending to the peer. Free it with `wl_peer_free`. Returns NULL only if `connection` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_connection_peer(connection: *const wl_connection) -> *mut wl_peer {
    catch_panic(std::ptr::null_mut(), || {
        // SAFETY: the caller promises that it is NULL or a connection that nothing else modifies.
        unsafe { fields(connection) }
            .map_or(std::ptr::null_mut(), |(parts, clock)| into_handle(wl_peer { peer: parts.peer(), clock }))
    })
}

/// Copies the next bytes from the peer into the connection's buffer. They may be split anywhere. After
/// `wl_connection_finish` they are ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_connection_feed(connection: *mut wl_connection, bytes: wl_span) -> wl_status {
    catch_panic(wl_status::Panic, || {
        // SAFETY: the caller promises that it is NULL or a connection that nothing else accesses.
        let Some((connection, _)) = (unsafe { fields_mut(connection) }) else { return wl_status::InvalidArgument };
        // SAFETY: the caller promises that each span is valid.
        match unsafe { bytes.bytes() } {
            Some(bytes) => connection.feed(bytes),
            None if bytes.len == 0 => {}
            None => return wl_status::InvalidArgument,
        }
        wl_status::Ok
    })
}

/// Reads bytes like `read(2)`: stores up to `len` bytes in `buffer`, and returns their number, 0 at the end of the
/// stream, or a negative number on failure. It must not use the connection, and must not throw an exception.
pub type wl_read = Option<unsafe extern "C" fn(context: *mut c_void, buffer: *mut u8, len: usize) -> isize>;

/// Calls `read` once, with `context`, to read the next bytes from the peer directly into the connection's buffer. The
/// buffer has 4 to 64 KiB, depending on how much was read before. If `read` returns 0, the stream has ended, as after
/// `wl_connection_finish`.
///
/// Returns `WL_STATUS_IO` if `read` fails; then nothing has changed, and `errno` is preserved. After the end of the
/// stream, `read` isn't called.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_connection_read(
    connection: *mut wl_connection,
    read: wl_read,
    context: *mut c_void,
) -> wl_status {
    catch_panic(wl_status::Panic, || {
        // SAFETY: the caller promises that it is NULL or a connection that nothing else accesses.
        let Some((connection, _)) = (unsafe { fields_mut(connection) }) else { return wl_status::InvalidArgument };
        let Some(read) = read else { return wl_status::InvalidArgument };
        let found = connection.read_with(|room| {
            // SAFETY: the caller promises that `read` can be called with `context`, and only writes to the buffer.
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

/// Ends the incoming stream. A last line without a line feed still becomes an event. Each request to the peer that is
/// in flight becomes an event too: it is lost.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_connection_finish(connection: *mut wl_connection) -> wl_status {
    catch_panic(wl_status::Panic, || {
        // SAFETY: the caller promises that it is NULL or a connection that nothing else accesses.
        let Some((connection, _)) = (unsafe { fields_mut(connection) }) else { return wl_status::InvalidArgument };
        connection.finish();
        wl_status::Ok
    })
}

/// Whether to read more: the stream hasn't ended, and the peer keeps up with reading. Don't read while this is false,
/// so that the bytes queued for a slow peer don't grow without bound.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_connection_wants_read(connection: *const wl_connection) -> bool {
    // SAFETY: the caller promises that it is NULL or a connection that nothing else modifies.
    catch_panic(false, || unsafe { fields(connection) }.is_some_and(|(connection, _)| connection.wants_read()))
}

/// Takes the next event, fills `event`, and returns its kind. You can ignore events, except that the ticket of a
/// request must be answered or freed.
///
/// Returns `WL_EVENT_KIND_NONE` until more bytes are read, or, if too many bytes are pending, until some are written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_connection_next(connection: *mut wl_connection, event: *mut wl_event) -> wl_event_kind {
    // SAFETY: as the caller promises.
    unsafe { take(connection, event, Connection::next_event) }
}

/// Takes a request to the peer whose deadline isn't after `now`, in milliseconds of your clock, cancels it, and fills
/// `event` with the event that it is lost. Returns `WL_EVENT_KIND_NONE` if there is no such request.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_connection_next_expired(
    connection: *mut wl_connection,
    now: u64,
    event: *mut wl_event,
) -> wl_event_kind {
    // SAFETY: as the caller promises.
    unsafe {
        let Some((_, clock)) = fields(connection) else { return wl_event_kind::InvalidArgument };
        take(connection, event, |connection| connection.next_expired(clock.instant(now)))
    }
}

/// # Safety
///
/// Each pointer is NULL, or points to a connection that nothing else accesses and to memory for an event, respectively.
unsafe fn take(
    connection: *mut wl_connection,
    event: *mut wl_event,
    next: impl for<'c> FnOnce(&'c mut Connection<Value>) -> Option<Event<'c, Value>>,
) -> wl_event_kind {
    catch_panic(wl_event_kind::Panic, || {
        // SAFETY: as the caller promises.
        let parts = unsafe { (fields_mut(connection), out_param(event)) };
        let (Some((connection, current)), Some(out)) = parts else { return wl_event_kind::InvalidArgument };
        let out = out.write(wl_event::NONE);
        let Some(found) = next(connection) else { return wl_event_kind::None };
        // SAFETY: the event borrows from `connection`, which doesn't move, since C only has a pointer to it, and
        // doesn't change its buffer before `current` is cleared; see `wl_connection`.
        current.set(unsafe { std::mem::transmute::<Event<'_, Value>, Event<'static, Value>>(found) }, out)
    })
}

/// Stores when the next request to the peer expires, in milliseconds of your clock. Returns false if no request in
/// flight has a deadline.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_connection_next_deadline(connection: *const wl_connection, milliseconds: *mut u64) -> bool {
    catch_panic(false, || {
        // SAFETY: the caller promises that it is NULL or a connection that nothing else modifies.
        let Some((connection, clock)) = (unsafe { fields(connection) }) else { return false };
        let Some(deadline) = connection.next_deadline() else { return false };
        // SAFETY: the caller promises that it is NULL or points to memory for a number.
        unsafe { store(milliseconds, clock.milliseconds(deadline)) };
        true
    })
}

/// Describes the fault of the current event, which is either a fault, or a lost request whose response is faulty.
/// Returns `WL_STATUS_NOT_FOUND` if there is no fault. The fault's `reply` is already queued.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_connection_fault(connection: *mut wl_connection, fault: *mut wl_fault) -> wl_status {
    catch_panic(wl_status::Panic, || {
        if connection.is_null() {
            return wl_status::InvalidArgument;
        }
        // SAFETY: not null, and the caller promises that nothing else accesses it.
        let (rules, current) = unsafe { ((*connection).rules, &mut (*connection).current) };
        let Some(found) = current.item.describe_fault(rules) else { return wl_status::NotFound };
        // SAFETY: the caller promises that it is NULL or points to memory for a fault.
        unsafe { store(fault, found) };
        wl_status::Ok
    })
}

/// Keeps the message or the fault of the current event in a separate frame, for another thread or for later. Returns
/// NULL if the event has neither.
///
/// Nothing is copied. The frame keeps the buffer in which the line arrived alive, which may hold many other lines.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_connection_keep(connection: *const wl_connection) -> *mut wl_frame {
    catch_panic(std::ptr::null_mut(), || {
        if connection.is_null() {
            return std::ptr::null_mut();
        }
        // SAFETY: not null, and the caller promises that nothing else modifies it.
        let (rules, current) = unsafe { ((*connection).rules, &(*connection).current) };
        current.item.owned().map_or(std::ptr::null_mut(), |current| into_handle(wl_frame { current, rules }))
    })
}

/// Whether there are bytes to write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_connection_wants_write(connection: *const wl_connection) -> bool {
    // SAFETY: the caller promises that it is NULL or a connection that nothing else modifies.
    catch_panic(false, || unsafe { fields(connection) }.is_some_and(|(connection, _)| connection.wants_write()))
}

/// The next bytes to write: whole lines, or the rest of lines that were written in part. They stay pending until
/// `wl_connection_advance`, and are valid until the next call of `_pending`, `_advance` or `_free` on the same
/// connection. The span is empty if there are none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_connection_pending(connection: *mut wl_connection) -> wl_span {
    catch_panic(wl_span::ABSENT, || {
        // SAFETY: the caller promises that it is NULL or a connection that nothing else accesses.
        unsafe { connection_mut(connection) }.map_or(wl_span::ABSENT, |connection| wl_span::of(connection.pending()))
    })
}

/// Marks the first `bytes` of the pending bytes as written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_connection_advance(connection: *mut wl_connection, bytes: usize) -> wl_status {
    catch_panic(wl_status::Panic, || {
        // SAFETY: the caller promises that it is NULL or a connection that nothing else accesses.
        let Some(connection) = (unsafe { connection_mut(connection) }) else { return wl_status::InvalidArgument };
        connection.advance(bytes);
        wl_status::Ok
    })
}

/// Returns true if there are bytes to write, or if the stream has ended and no request is in flight, so that nothing
/// will follow. Otherwise, `wake` will be called when this changes.
///
/// Call this each time before you wait for the peer, and don't wait if it returns true.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_connection_poll_wake(connection: *const wl_connection) -> bool {
    catch_panic(false, || {
        // SAFETY: the caller promises that it is NULL or a connection that nothing else modifies.
        let Some((parts, _)) = (unsafe { fields(connection) }) else { return false };
        // SAFETY: `connection` isn't null, and nothing else modifies it.
        let waker = unsafe { &(*connection).waker };
        parts.poll_wake(&mut Context::from_waker(waker)).is_ready()
    })
}

/// The number of requests of the peer that haven't been answered yet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_connection_in_flight(connection: *const wl_connection) -> usize {
    // SAFETY: the caller promises that it is NULL or a connection that nothing else modifies.
    catch_panic(0, || unsafe { fields(connection) }.map_or(0, |(connection, _)| connection.in_flight()))
}

/// Whether the incoming stream has ended, all events are taken, all requests are answered, and all bytes are written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_connection_is_done(connection: *const wl_connection) -> bool {
    // SAFETY: the caller promises that it is NULL or a connection that nothing else modifies.
    catch_panic(false, || unsafe { fields(connection) }.is_some_and(|(connection, _)| connection.is_done()))
}

/// Clears the current event, and returns the parts of a connection. Nothing borrows from its buffer any more, so the
/// caller may change it.
///
/// # Safety
///
/// `connection` is NULL or a connection that nothing else accesses.
unsafe fn fields_mut<'a>(connection: *mut wl_connection) -> Option<(&'a mut Connection<Value>, &'a mut CurrentEvent)> {
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

/// The connection, for a caller that only changes outgoing bytes. The current event stays valid, since it borrows from
/// incoming bytes.
///
/// # Safety
///
/// `connection` is NULL or a connection that nothing else accesses.
unsafe fn connection_mut<'a>(connection: *mut wl_connection) -> Option<&'a mut Connection<Value>> {
    if connection.is_null() {
        return None;
    }
    // SAFETY: not null, and the caller promises the rest.
    unsafe { exclusive(&raw mut (*connection).connection) }
}

/// The connection and its clock, for a caller that doesn't change them.
///
/// # Safety
///
/// `connection` is NULL or a connection that nothing else modifies.
unsafe fn fields<'a>(connection: *const wl_connection) -> Option<(&'a Connection<Value>, Clock)> {
    if connection.is_null() {
        return None;
    }
    // SAFETY: not null, and the caller promises the rest.
    unsafe { Some((&(*connection).connection, (*connection).clock)) }
}
