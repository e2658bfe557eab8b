//! Notifications of MCP 2026-07-28 that belong to a `subscriptions/listen`.

use std::collections::HashMap;

use wireline::Id;

use super::case::{Call, Case, id};
use super::rules::Rule;
use super::{Answer, Group};
use crate::protocol::Protocols;
use crate::session::{Side, displayed_id};

pub(super) const LISTEN: &str = "subscriptions/listen";

const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";

/// How many subscriptions are known at a time, and the longest id.
const MAX_SUBSCRIPTIONS: usize = 1024;
const MAX_ID_LEN: usize = 256;

/// The notifications, and where a request asks for them.
const KINDS: [(&str, &str); 4] = [
    ("notifications/tools/list_changed", "/notifications/toolsListChanged"),
    ("notifications/prompts/list_changed", "/notifications/promptsListChanged"),
    ("notifications/resources/list_changed", "/notifications/resourcesListChanged"),
    ("notifications/resources/updated", "/notifications/resourceSubscriptions"),
];

/// The open subscriptions.
#[derive(Default)]
pub(super) struct Subscriptions {
    open: HashMap<Id<'static>, Subscription>,
    /// Whether there were more.
    has_forgotten: bool,
}

struct Subscription {
    /// In the order of [`KINDS`].
    requested: [bool; KINDS.len()],
    is_acknowledged: bool,
}

impl Group for Subscriptions {
    fn call(&mut self, call: &Call<'_>, case: &mut Case) {
        if !case.dialect.is_stateless() {
            return;
        }
        match (call.place.from, call.id) {
            (Side::Client, Some(id)) if call.method == LISTEN => self.open(id, call),
            (Side::Server, None) => self.judge(call, case),
            _ => {}
        }
    }

    fn answer(&mut self, answer: &Answer<'_>, _: &mut Case) {
        if let Some(id) = answer.response.id()
            && answer.to(LISTEN).is_some()
        {
            self.open.remove(&id.clone().into_owned());
        }
    }
}

impl Subscriptions {
    fn open(&mut self, id: &Id<'_>, call: &Call<'_>) {
        if self.open.len() >= MAX_SUBSCRIPTIONS || id.as_json().len() > MAX_ID_LEN {
            self.has_forgotten = true;
            return;
        }
        let value = |pointer| call.params.and_then(|params| params.pointer(pointer));
        let requested = KINDS.map(|(_, pointer)| {
            value(pointer).is_some_and(|value| !matches!(value.as_json(), "false" | "null" | "[]"))
        });
        self.open.insert(id.clone().into_owned(), Subscription { requested, is_acknowledged: false });
    }

    fn judge(&mut self, call: &Call<'_>, case: &mut Case) {
        if let Some(id) = Protocols::ANY.cancelled_id(call.method, call.params)
            && !self.open.contains_key(&id)
            && !self.has_forgotten
        {
            let what = format!("{} is no open subscription", displayed_id(Some(&id)));
            case.find(Rule::ServerCancellation, call.place, what);
        }
        let kind = KINDS.iter().position(|(method, _)| *method == call.method);
        if kind.is_none() && call.method != ACKNOWLEDGED || self.has_forgotten {
            return;
        }
        let (place, name) = (call.place, call.method);
        let Some(id) = call.members.subscription.as_ref().and_then(id) else {
            case.find(Rule::UnknownSubscription, place, format!("{name} has no `subscriptionId`"));
            return;
        };
        let displayed = displayed_id(Some(&id));
        let Some(subscription) = self.open.get_mut(&id) else {
            case.find(Rule::UnknownSubscription, place, format!("{name}: {displayed} is no open subscription"));
            return;
        };
        let Some(kind) = kind else {
            subscription.is_acknowledged = true;
            return;
        };
        if !subscription.requested[kind] {
            case.find(Rule::UnrequestedNotification, place, format!("{name}: {displayed} doesn't ask for it"));
        }
        if !subscription.is_acknowledged {
            let what = format!("{name}: {displayed} hasn't been acknowledged");
            case.find(Rule::UnacknowledgedSubscription, place, what);
        }
    }
}
