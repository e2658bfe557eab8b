//! Statistics for machines.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::Reading;
use crate::protocol::Hello;
use crate::session::{MAX_ERROR, Method, Side};
use crate::terminal::printable_json;

/// The quantiles of latencies, and their names.
const LATENCIES: [(&str, f64); 4] = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("max", 1.0)];

impl Reading {
    /// Everything as one object.
    pub(super) fn json(&self) -> Value {
        let mut totals = self.totals();
        totals["methods"] = self.methods().into();
        totals
    }

    /// One object per method and subject, then one with the totals.
    pub(super) fn ndjson(&self) -> String {
        let objects = self.methods().into_iter().chain([self.totals()]);
        objects.map(|object| format!("{}\n", printable_json(&object.to_string()))).collect()
    }

    fn methods(&self) -> Vec<Value> {
        let session = &self.follower.session;
        let with_sender = !session.has_unknown_senders();
        session.methods.iter().map(|method| method_object(method, with_sender)).collect()
    }

    fn totals(&self) -> Value {
        let session = &self.follower.session;
        let sides = Side::BOTH.into_iter().zip(&session.traffic).map(|(side, traffic)| {
            let name = if session.has_unknown_senders() { "all" } else { side.name() };
            let object = json!({
                "messages": traffic.messages,
                "faults": traffic.faults,
                "bytes": traffic.bytes,
                "crlf": traffic.with_return,
                "unterminated": traffic.unterminated.is_some(),
            });
            (name.to_owned(), object)
        });
        // In one stream, all is attributed to the client.
        let sides: Map<String, Value> = sides.take(if session.has_unknown_senders() { 1 } else { 2 }).collect();
        let faults: Map<String, Value> =
            session.faults().into_iter().fold(Map::new(), |mut faults, (_, kind, count)| {
                let before = faults.get(kind.name()).and_then(Value::as_u64).unwrap_or(0);
                faults.insert(kind.name().to_owned(), json!(before + count));
                faults
            });
        let findings: Map<String, Value> = session.findings.iter().fold(Map::new(), |mut all, ((rule, _), count)| {
            let before = all.get(rule.name()).and_then(Value::as_u64).unwrap_or(0);
            all.insert(rule.name().to_owned(), json!(before + count));
            all
        });
        let peer = |side: Side| {
            let hello = session.hello(side)?;
            let Hello { protocol, version, program, capabilities } = hello;
            let peer =
                json!({ "protocol": protocol, "version": version, "program": program, "capabilities": capabilities });
            Some((side.name().to_owned(), peer))
        };
        let peers: Map<String, Value> = Side::BOTH.into_iter().filter_map(peer).collect();
        json!({
            "kind": "totals",
            "seconds": (!self.elapsed.is_zero()).then_some(self.elapsed.as_secs_f64()),
            "senders": sides,
            "faults": faults,
            "failures": self.failures(),
            "findings": findings,
            "peers": peers,
            "unanswered": session.unanswered.count,
            "cancelled": session.cancelled.count,
            "unmatched": session.unmatched.count,
            "reused": session.reused.count,
            "untracked": session.untracked,
        })
    }
}

impl Reading {
    fn failures(&self) -> Vec<Value> {
        let session = &self.follower.session;
        let failures = session.failures.groups().into_iter().map(|group| {
            let method = &session.methods[group.method];
            let mut failure = json!({
                "method": method.method,
                "subject": method.subject,
                "code": group.reason.code,
                "count": group.count,
            });
            if !self.no_reasons {
                failure["text"] = group.reason.text.as_str().into();
            }
            failure
        });
        failures.collect()
    }
}

fn method_object(method: &Method, with_sender: bool) -> Value {
    let mut object = json!({
        "kind": "method",
        "method": method.method,
        "subject": method.subject,
        "requests": method.requests,
        "notifications": method.notifications,
        "failed": method.failures,
        "bytes": method.bytes,
    });
    if with_sender {
        object["from"] = method.from.name().into();
    }
    if method.latency(1.0).is_some() {
        let seconds = |quantile| method.latency(quantile).as_ref().map(Duration::as_secs_f64);
        object["seconds"] =
            LATENCIES.iter().map(|(name, quantile)| ((*name).to_owned(), json!(seconds(*quantile)))).collect();
    }
    if method.is_approximate() {
        object["percentile_error"] = MAX_ERROR.into();
    }
    object
}
