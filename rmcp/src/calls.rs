//! Requests that were sent and not answered yet.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::model::{JsonRpcMessage, JsonRpcNotification, RequestId};
use rmcp::service::{RxJsonRpcMessage, ServiceRole, TxJsonRpcMessage};

/// The ids of the calls in flight. Clones share the set.
///
/// rmcp matches responses to calls itself, but it never sees a malformed response. The transport turns those into
/// errors, and must do so only for calls that are really open: during initialization rmcp takes an unexpected response
/// for the end of the session.
#[derive(Clone, Debug, Default)]
pub(crate) struct Calls {
    open: Arc<Mutex<HashSet<RequestId>>>,
}

impl Calls {
    /// Records a message that is about to be sent: a request opens a call, a cancellation closes one.
    pub(crate) fn sending<Role: ServiceRole>(&self, message: TxJsonRpcMessage<Role>) -> TxJsonRpcMessage<Role> {
        match message {
            JsonRpcMessage::Request(request) => {
                self.open().insert(request.id.clone());
                JsonRpcMessage::Request(request)
            }
            // `TryInto` hands a notification of another kind back, so nothing is cloned.
            JsonRpcMessage::Notification(JsonRpcNotification { notification, .. }) => match notification.try_into() {
                Ok(cancelled) => {
                    if let Some(id) = &cancelled.params.request_id {
                        self.close(id);
                    }
                    JsonRpcMessage::notification(cancelled.into())
                }
                Err(notification) => JsonRpcMessage::notification(notification),
            },
            answer => answer,
        }
    }

    /// Records a message that was received: a response closes its call.
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

    /// Closes a call. Returns false if it was not open.
    pub(crate) fn close(&self, id: &RequestId) -> bool {
        self.open().remove(id)
    }

    fn open(&self) -> MutexGuard<'_, HashSet<RequestId>> {
        // Nothing panics while the set is half changed.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
