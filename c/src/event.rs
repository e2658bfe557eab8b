//! The events of a connection, as structs for C.

use std::ffi::c_void;

use wireline::connection::{Event, Lost};
use wireline::{Fault, Frame, Id, Message};

use crate::current::Current;
use crate::kinds::{wl_event_kind, wl_lost, wl_refusal, wl_stray};
use crate::memory::{into_handle, wl_span};
use crate::message::wl_message;
use crate::ticket::wl_ticket;

/// An event on a connection. Each line, or each entry of a batch, is one event.
///
/// Its spans are valid until the next call of `wl_connection_next`, `_next_expired`, `_feed`, `_read`, `_finish` or
/// `_free` on the same connection. The ticket is yours.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct wl_event {
    /// The kind of event, which determines which of the following members are set.
    pub kind: wl_event_kind,
    /// The request, notification or response. For a fault, or a request lost to a faulty response, only `kind`, `line`
    /// and `offset` are set.
    pub message: wl_message,
    /// The id of the request that the event is about, as JSON. Absent for a notification or a fault, and for a response
    /// without an id.
    pub id: wl_span,
    /// With a request: the duty to answer it. Answer or free it, on any thread. Otherwise NULL.
    pub ticket: *mut wl_ticket,
    /// With a response or a lost request: the value that you passed with the request. Otherwise NULL.
    pub value: *mut c_void,
    /// Why no response will come.
    pub lost: wl_lost,
    /// Why a response answers no request.
    pub stray: wl_stray,
    /// Why a request was refused.
    pub refusal: wl_refusal,
    /// With a cancelled request: whether it is in flight. If not, it was never sent, or has already been answered.
    pub is_in_flight: bool,
}

/// A pointer that a connection keeps for its caller.
pub(crate) struct Value(pub(crate) *mut c_void);

// SAFETY: it is never dereferenced here, and the header documents that it is returned on the thread of the connection.
unsafe impl Send for Value {}

impl wl_event {
    /// No event.
    pub(crate) const NONE: Self = Self {
        kind: wl_event_kind::None,
        message: wl_message::NONE,
        id: wl_span::ABSENT,
        ticket: std::ptr::null_mut(),
        value: std::ptr::null_mut(),
        lost: wl_lost::None,
        stray: wl_stray::None,
        refusal: wl_refusal::None,
        is_in_flight: false,
    };
}

/// The current event of a connection.
///
/// Spans passed to C point into it, so it must not change between two calls that take an event.
#[derive(Default)]
pub(crate) struct CurrentEvent {
    /// The message or the fault.
    pub(crate) item: Current,
    /// The id, unless it is part of the message.
    id: Option<Id<'static>>,
}

impl CurrentEvent {
    /// Drops the event, so that the connection can change the memory from which it borrows.
    #[inline]
    pub(crate) fn clear(&mut self) {
        self.item.clear();
        self.id = None;
    }

    /// Stores an event, and describes it.
    #[inline]
    pub(crate) fn set(&mut self, event: Event<'static, Value>, out: &mut wl_event) -> wl_event_kind {
        out.kind = match event {
            Event::Request(request, ticket) => {
                self.set_message(Message::Request(request), out);
                out.ticket = into_handle(wl_ticket { ticket });
                wl_event_kind::Request
            }
            Event::Notification(notification) => {
                self.set_message(Message::Notification(notification), out);
                wl_event_kind::Notification
            }
            Event::Response(response, Value(value)) => {
                self.set_message(Message::Response(response), out);
                out.value = value;
                wl_event_kind::Response
            }
            Event::Cancelled(notification, id, is_in_flight) => {
                self.set_message(Message::Notification(notification), out);
                self.set_id(id, out);
                out.is_in_flight = is_in_flight;
                wl_event_kind::Cancelled
            }
            Event::Lost(id, Value(value), lost) => {
                self.set_id(id, out);
                (out.lost, out.value) = (wl_lost::from(&lost), value);
                if let Lost::Faulty(fault) = lost {
                    self.set_fault(*fault, out);
                }
                wl_event_kind::Lost
            }
            Event::Stray(response, stray) => {
                self.set_message(Message::Response(response), out);
                out.stray = stray.into();
                wl_event_kind::Stray
            }
            Event::Refused(request, refusal) => {
                self.set_message(Message::Request(request), out);
                out.refusal = refusal.into();
                wl_event_kind::Refused
            }
            Event::Fault(fault) => {
                self.set_fault(fault, out);
                wl_event_kind::Fault
            }
            _ => wl_event_kind::Other,
        };
        out.kind
    }

    #[inline]
    fn set_message(&mut self, message: Message<'static>, out: &mut wl_event) {
        self.item.set(Ok(Frame::Message(message)));
        self.item.describe(&mut out.message);
        out.id = out.message.id;
    }

    fn set_fault(&mut self, fault: Fault, out: &mut wl_event) {
        self.item.set(Err(fault));
        self.item.describe(&mut out.message);
    }

    fn set_id(&mut self, id: Id<'static>, out: &mut wl_event) {
        out.id = wl_span::of(self.id.insert(id).as_json().as_bytes());
    }
}
