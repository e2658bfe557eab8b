//! Answers as one text: the body of an HTTP response, or a WebSocket message.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Bytes;
use http_body::{Body, Frame, SizeHint};
use wireline::ledger::Answer;

/// The answers to one message, or to a batch. Those to a batch form an array, even if there is only one.
///
/// Their requests are settled once the text is handed over. If it never is, because the client has gone, they stay
/// owed.
#[derive(Debug)]
pub(crate) struct AnswerBody {
    answers: Vec<Answer>,
    is_batch: bool,
}

impl AnswerBody {
    /// `None` if there is nothing to send.
    pub(crate) fn new(mut answers: Vec<Answer>, is_batch: bool) -> Option<Self> {
        answers.retain(|answer| !answer.as_bytes().is_empty());
        (!answers.is_empty()).then_some(Self { answers, is_batch })
    }

    /// Accepts the answers, which settles their requests. The returned text must be sent.
    ///
    /// `Inbound::batch` isn't used here: it would split an array that exceeds the line limit, which doesn't apply to a
    /// body.
    pub(crate) fn accept(&mut self) -> Bytes {
        let mut text = Vec::with_capacity(self.len());
        for answer in self.answers.drain(..) {
            if self.is_batch {
                text.push(if text.is_empty() { b'[' } else { b',' });
            }
            text.extend_from_slice(answer.accept().trim_ascii_end());
        }
        if self.is_batch {
            text.push(b']');
        }
        text.into()
    }

    fn len(&self) -> usize {
        // A comma in place of each line feed, and the brackets.
        let lines: usize = self.answers.iter().map(|answer| answer.as_bytes().len()).sum();
        if self.is_batch { lines + 1 } else { lines - 1 }
    }
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(if self.is_end_stream() { None } else { Some(Ok(Frame::data(self.accept()))) })
    }

    fn is_end_stream(&self) -> bool {
        self.answers.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(if self.is_end_stream() { 0 } else { self.len() as u64 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wireline::ledger::Inbound;
    use wireline::{Message, Rules};

    fn answers(owed: &Inbound, ids: &[i64]) -> Vec<Answer> {
        let answer = |id: &i64| {
            let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m"}}"#);
            let frame = wireline::Frame::parse(text.as_bytes(), &Rules::json_rpc()).unwrap();
            let wireline::Frame::Message(Message::Request(request)) = frame else { panic!() };
            owed.admit(&request).unwrap().respond(&id)
        };
        ids.iter().map(answer).collect()
    }

    #[test]
    fn a_request_is_answered_when_the_body_is_polled() {
        let owed = Inbound::new(Rules::json_rpc(), 10);
        let mut cx = Context::from_waker(std::task::Waker::noop());
        for (ids, is_batch, expected) in [
            (&[1][..], false, r#"{"jsonrpc":"2.0","id":1,"result":1}"#),
            (&[1], true, r#"[{"jsonrpc":"2.0","id":1,"result":1}]"#),
            (&[1, 2], true, r#"[{"jsonrpc":"2.0","id":1,"result":1},{"jsonrpc":"2.0","id":2,"result":2}]"#),
        ] {
            let mut body = AnswerBody::new(answers(&owed, ids), is_batch).unwrap();
            assert_eq!(owed.in_flight(), ids.len());
            assert_eq!(body.size_hint().exact(), Some(expected.len() as u64));
            let Poll::Ready(Some(Ok(frame))) = Pin::new(&mut body).poll_frame(&mut cx) else { panic!() };
            assert_eq!(frame.into_data().unwrap(), expected);
            assert_eq!(owed.in_flight(), 0);
            assert!(body.is_end_stream() && body.size_hint().exact() == Some(0));
            assert!(matches!(Pin::new(&mut body).poll_frame(&mut cx), Poll::Ready(None)));
        }
        assert!(AnswerBody::new(Vec::new(), true).is_none());
    }

    #[test]
    fn a_body_that_is_dropped_leaves_its_requests_owed() {
        let owed = Inbound::new(Rules::json_rpc(), 10);
        drop(AnswerBody::new(answers(&owed, &[1, 2]), true));
        assert_eq!((owed.in_flight(), owed.dropped().count()), (2, 2));
    }
}
