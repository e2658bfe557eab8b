//! The requests that we sent and that have not been answered.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::model::{CancelledNotification, JsonRpcMessage, RequestId};
use rmcp::service::{RxJsonRpcMessage, ServiceRole, TxJsonRpcMessage};

/// Which requests are open. Clones share it.
///
/// rmcp matches responses to requests itself. What it cannot do is match a line that is no response, because it never
/// gets to see it. For those the transport makes up an error, and only for calls that are really open: a response to
/// nothing may end a session that is being initialized.
#[derive(Clone, Default)]
pub(crate) struct Calls {
    open: Arc<Mutex<HashSet<RequestId>>>,
}

impl Calls {
    /// A message is about to be sent: a request opens a call, and a cancellation closes one.
    pub(crate) fn sending<Role: ServiceRole>(&self, message: &TxJsonRpcMessage<Role>) {
        match message {
            JsonRpcMessage::Request(request) => {
                self.open().insert(request.id.clone());
            }
            JsonRpcMessage::Notification(notification) => {
                let cancelled: Result<CancelledNotification, _> = notification.notification.clone().try_into();
                if let Some(id) = cancelled.ok().and_then(|cancelled| cancelled.params.request_id) {
                    self.close(&id);
                }
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
        }
    }

    /// A message was received: a response closes its call.
    pub(crate) fn received<Role: ServiceRole>(&self, message: &RxJsonRpcMessage<Role>) {
        let answered = match message {
            JsonRpcMessage::Response(response) => Some(&response.id),
            JsonRpcMessage::Error(error) => error.id.as_ref(),
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
        };
        if let Some(id) = answered {
            self.close(id);
        }
    }

    /// Closes a call. False if it was not open.
    pub(crate) fn close(&self, id: &RequestId) -> bool {
        self.open().remove(id)
    }

    fn open(&self) -> MutexGuard<'_, HashSet<RequestId>> {
        // No call that holds the lock leaves the set half changed.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
