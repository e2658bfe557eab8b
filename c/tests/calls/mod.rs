//! Calls the C functions in any order with any arguments that the header permits, as determined by an input. This is
//! the body of the fuzz target `c_api` and of the test `random_calls`.
//!
//! It tracks the guarantees that C callers must give: handles are freed once, and spans and messages are only used
//! while they are valid. All valid memory is read, so that a sanitizer detects memory that isn't valid. In addition, a
//! decoder must accept all lines of an encoder with the same rules, and a connection must return each value once, and
//! be done once its input has ended, its tickets are settled and its bytes are written.
#![allow(
    unsafe_code,
    unreachable_pub,
    dead_code,
    missing_docs,
    reason = "it calls C functions, and is part of several programs"
)]

use std::collections::HashSet;
use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr::{null, null_mut};

use wireline_c::connection::*;
use wireline_c::decoder::*;
use wireline_c::encoder::*;
use wireline_c::event::*;
use wireline_c::frame::*;
use wireline_c::json::*;
use wireline_c::kinds::{wl_event_kind, wl_kind};
use wireline_c::message::*;
use wireline_c::peer::*;
use wireline_c::rules::*;
use wireline_c::status::*;
use wireline_c::ticket::*;
use wireline_c::{wl_span, wl_text};

/// Parts of streams, payloads and ids, good and bad.
const SNIPPETS: &[&[u8]] = &[
    b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\"}\n",
    b"{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"m\\u0041\",\"params\":{\"x\":[1,2]}}\n",
    b"{\"jsonrpc\":\"2.0\",\"method\":\"n\",\"params\":{}}\r\n",
    b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":\"\\ud800\"}}\n",
    b"{\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{\"code\":-1,\"message\":\"\\ud800x\",\"data\":[1]}}\n",
    b"[{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"m\"},1,{\"jsonrpc\":\"2.0\",\"id\":\"b\",\"method\":\"\\n\"},{}]\n",
    b"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":1}\n",
    b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1}}\n",
    b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":1,\"error\":1}\n",
    b"Content-Length: 10\r\n",
    b"{\"jsonrpc\":\"2.0\",\"id\":1,\"meth",
    b"od\":\"m\"}\n",
    b"[]\n",
    b"\n",
    b"\xef\xbb\xbf",
    b"\xff",
    b"1",
    b"\"a\"",
    b"null",
    b"1.0",
    b"\"\\u0061\"",
    b"{}",
    b"[1,\n2]",
    b"{\"a\":{\"b\":[\"\\ud83d\\ude00\",\"\\udc00\"]}}",
    b"/a/b/0",
    b"/id",
    b"m",
    b"",
];

/// The input that determines all choices.
struct Input<'d> {
    data: &'d [u8],
}

impl<'d> Input<'d> {
    fn byte(&mut self) -> u8 {
        let Some((&first, rest)) = self.data.split_first() else { return 0 };
        self.data = rest;
        first
    }

    fn below(&mut self, limit: usize) -> usize {
        self.byte() as usize % limit
    }

    fn number(&mut self) -> u64 {
        match self.below(4) {
            0 => u64::MAX,
            1 => u64::from(self.byte()) << 32,
            _ => u64::from(self.byte()),
        }
    }

    fn size(&mut self) -> usize {
        self.number() as usize
    }

    /// A snippet, a part of the input, or nothing.
    fn bytes(&mut self) -> Option<&'d [u8]> {
        match self.below(8) {
            0 => None,
            1 => {
                let (part, rest) = self.data.split_at(self.below(40).min(self.data.len()));
                self.data = rest;
                Some(part)
            }
            // Often a whole message.
            2..=4 => Some(SNIPPETS[self.below(6)]),
            _ => Some(SNIPPETS[self.below(SNIPPETS.len())]),
        }
    }

    fn span(&mut self) -> wl_span {
        self.bytes().map_or(wl_span::ABSENT, wl_span::of)
    }
}

/// A decoder, and its last results while they are valid.
struct Decoding {
    decoder: *mut wl_decoder,
    message: Option<wl_message>,
    entry: Option<wl_message>,
    fault: Option<wl_fault>,
    lent: Option<(*mut u8, usize)>,
}

impl Decoding {
    fn forget(&mut self) {
        (self.message, self.entry, self.fault, self.lent) = (None, None, None, None);
    }
}

/// A frame, and its last results while they are valid.
struct Kept {
    frame: *mut wl_frame,
    message: Option<wl_message>,
    entry: Option<wl_message>,
    fault: Option<wl_fault>,
}

/// A connection, and its last event while it is valid.
struct Connected {
    connection: *mut wl_connection,
    event: Option<wl_event>,
    fault: Option<wl_fault>,
    /// The values that the connection keeps.
    values: HashSet<usize>,
}

impl Connected {
    fn new(connection: *mut wl_connection) -> Self {
        Self { connection, event: None, fault: None, values: HashSet::new() }
    }

    fn forget(&mut self) {
        (self.event, self.fault) = (None, None);
    }
}

#[derive(Default)]
struct World {
    decoders: Vec<Decoding>,
    frames: Vec<Kept>,
    encoders: Vec<(*mut wl_encoder, wl_rules)>,
    connections: Vec<Connected>,
    tickets: Vec<*mut wl_ticket>,
    /// Peers, each with its connection, which may have been freed.
    peers: Vec<(*mut wl_peer, *mut wl_connection)>,
    last_value: usize,
    /// The sum of all bytes read, which prevents the reads from being optimized away.
    sum: u64,
    counts: Counts,
}

/// Counts of what was done.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    pub steps: u64,
    pub decoded: u64,
    pub encoded: u64,
    pub requests: u64,
    pub answered: u64,
    pub calls: u64,
    pub responses: u64,
    pub written: u64,
}

/// Calls functions until the input is used up, one or a few in each step.
pub fn run(data: &[u8]) -> Counts {
    let mut input = Input { data };
    // SAFETY: a new world has no invalid handles.
    let mut world = unsafe { World::new() };
    while !input.data.is_empty() {
        // SAFETY: `World` tracks which handles, messages and spans are valid, and only uses these.
        unsafe { world.step(&mut input) };
        world.counts.steps += 1;
    }
    // SAFETY: as above.
    unsafe { world.free() };
    std::hint::black_box(world.sum);
    world.counts
}

unsafe fn filled<T>(fill: impl FnOnce(*mut T) -> wl_status) -> Option<T> {
    let mut place = MaybeUninit::uninit();
    // SAFETY: `fill` has filled it if it returns OK.
    (fill(place.as_mut_ptr()) == wl_status::Ok).then(|| unsafe { place.assume_init() })
}

impl World {
    /// Starts with a handle of each kind, so that most calls do something.
    unsafe fn new() -> Self {
        let mut world = Self::default();
        // SAFETY: there is room for rules, which are then filled.
        unsafe {
            let rules = filled(|rules| wl_rules_init(rules, 0)).expect("there is such a dialect");
            let decoder = wl_decoder_new(&rules);
            world.decoders.push(Decoding { decoder, message: None, entry: None, fault: None, lent: None });
            world.encoders.push((wl_encoder_new(&rules), rules));
            let connection = wl_connection_new(&rules, null(), None, null_mut());
            world.connections.push(Connected::new(connection));
            world.peers.push((wl_connection_peer(connection), connection));
        }
        world
    }

    unsafe fn read(&mut self, span: wl_span) {
        if !span.ptr.is_null() {
            // SAFETY: `World` only passes valid spans.
            let bytes = unsafe { std::slice::from_raw_parts(span.ptr, span.len) };
            self.sum += bytes.iter().map(|&byte| u64::from(byte)).sum::<u64>();
        }
    }

    unsafe fn read_message(&mut self, message: &wl_message) {
        let wl_message { text, id, method, params, result, error, .. } = *message;
        for span in [text, id, method, params, result, error] {
            // SAFETY: as above.
            unsafe { self.read(span) };
        }
    }

    fn rules(input: &mut Input<'_>) -> wl_rules {
        // SAFETY: there is room for rules, and a dialect below 8 fills it.
        let mut rules =
            unsafe { filled(|rules| wl_rules_init(rules, input.below(8) as u32)) }.expect("there are eight dialects");
        if input.below(4) == 0 {
            rules.max_line_len = input.below(200);
            rules.max_depth = input.below(8);
            rules.batches = input.below(2) == 0;
            rules.answer_without_id = input.below(4) as u32;
            rules.dialect = input.below(9) as u32;
            rules.side = input.below(4) as u32;
            rules.loose_ids = input.below(2) == 0;
            rules.escape_line_separators = input.below(2) == 0;
            rules.max_id_len = input.size();
            rules.max_batch_len = input.below(5);
            rules.skip_blank_lines = input.below(2) == 0;
            rules.salvage = input.below(2) == 0;
            rules.null_params = input.below(2) == 0;
        }
        rules
    }

    /// Any valid message, or none.
    fn message(&self, input: &mut Input<'_>) -> wl_message {
        let none = wl_message {
            kind: wl_kind::None,
            line: 0,
            offset: 0,
            text: wl_span::ABSENT,
            id: wl_span::ABSENT,
            method: wl_span::ABSENT,
            params: wl_span::ABSENT,
            result: wl_span::ABSENT,
            error: wl_span::ABSENT,
            source: null(),
        };
        let all = || {
            let decoders = self.decoders.iter().flat_map(|it| [it.message, it.entry]);
            let frames = self.frames.iter().flat_map(|it| [it.message, it.entry]);
            let events = self.connections.iter().map(|it| it.event.map(|event| event.message));
            decoders.chain(frames).chain(events).flatten().filter(|message| !message.source.is_null())
        };
        let count = all().count();
        if count == 0 || input.below(16) == 0 { none } else { all().nth(input.below(count)).unwrap_or(none) }
    }

    fn fault(&self, input: &mut Input<'_>) -> Option<wl_fault> {
        let all = || {
            let decoders = self.decoders.iter().map(|it| it.fault);
            let others = self.frames.iter().map(|it| it.fault).chain(self.connections.iter().map(|it| it.fault));
            decoders.chain(others).flatten()
        };
        let count = all().count();
        if count == 0 { None } else { all().nth(input.below(count)) }
    }

    #[allow(clippy::too_many_lines, reason = "a line or two for each function")]
    unsafe fn step(&mut self, input: &mut Input<'_>) {
        let choice = input.below(64);
        let at = |len: usize, input: &mut Input<'_>| if len == 0 { None } else { Some(input.below(len)) };
        // SAFETY: `self` only contains valid handles, messages and spans.
        unsafe {
            match choice {
                0 => {
                    let rules = Self::rules(input);
                    let decoder = wl_decoder_new(&rules);
                    if !decoder.is_null() && self.decoders.len() < 4 {
                        self.decoders.push(Decoding { decoder, message: None, entry: None, fault: None, lent: None });
                    } else {
                        wl_decoder_free(decoder);
                    }
                }
                1..=6 => {
                    if let Some(at) = at(self.decoders.len(), input) {
                        self.decoders[at].forget();
                        wl_decoder_feed(self.decoders[at].decoder, input.span());
                    }
                }
                7..=14 => {
                    if let Some(at) = at(self.decoders.len(), input) {
                        self.decoders[at].forget();
                        let decoder = self.decoders[at].decoder;
                        let mut message = MaybeUninit::uninit();
                        let kind = wl_decoder_next(decoder, message.as_mut_ptr());
                        assert!((kind as i32) >= 0, "{kind:?}");
                        let message = message.assume_init();
                        self.counts.decoded += u64::from(kind != wl_kind::None);
                        self.decoders[at].message = Some(message);
                        self.read_message(&message);
                    }
                }
                15 | 16 => {
                    if let Some(at) = at(self.decoders.len(), input) {
                        let of = &mut self.decoders[at];
                        (of.entry, of.fault) = (None, None);
                        let mut message = MaybeUninit::uninit();
                        assert!(wl_decoder_next_entry(of.decoder, message.as_mut_ptr()) as i32 >= 0);
                        let message = message.assume_init();
                        of.entry = Some(message);
                        self.read_message(&message);
                    }
                }
                17 | 18 => {
                    if let Some(at) = at(self.decoders.len(), input) {
                        let of = &mut self.decoders[at];
                        of.fault = filled(|fault| wl_decoder_fault(of.decoder, fault));
                        if let Some(fault) = of.fault {
                            for span in [fault.name, fault.message, fault.hint_text, fault.id, fault.reply] {
                                self.read(span);
                            }
                        }
                    }
                }
                19 => {
                    if let Some(at) = at(self.decoders.len(), input) {
                        let frame = wl_decoder_keep(self.decoders[at].decoder);
                        self.keep(frame);
                    }
                }
                20 => {
                    if let Some(at) = at(self.decoders.len(), input) {
                        self.decoders[at].forget();
                        let mut room = 0;
                        let lent = wl_decoder_reserve(self.decoders[at].decoder, input.size(), &mut room);
                        assert!(!lent.is_null() && room > 0);
                        self.decoders[at].lent = Some((lent, room));
                    }
                }
                21 | 22 => {
                    if let Some(at) = at(self.decoders.len(), input) {
                        let of = &mut self.decoders[at];
                        let lent = of.lent.take();
                        let written = match (lent, input.bytes()) {
                            (Some((room, len)), Some(bytes)) if bytes.len() <= len => {
                                room.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
                                bytes.len()
                            }
                            (Some((_, len)), _) if input.below(2) == 0 => len + 1,
                            _ => 0,
                        };
                        let status = wl_decoder_commit(of.decoder, written);
                        let expected = lent.is_some_and(|(_, room)| written <= room);
                        assert_eq!(status == wl_status::Ok, expected, "{status:?}");
                    }
                }
                23 => {
                    if let Some(at) = at(self.decoders.len(), input) {
                        self.sum += wl_decoder_buffered(self.decoders[at].decoder) as u64;
                        if input.below(8) == 0 {
                            self.decoders[at].forget();
                            wl_decoder_finish(self.decoders[at].decoder);
                        } else if input.below(8) == 0 {
                            wl_decoder_free(self.decoders.swap_remove(at).decoder);
                        }
                    }
                }
                24 => {
                    let rules = Self::rules(input);
                    let frame = wl_frame_parse(&rules, input.span());
                    self.keep(frame);
                }
                25 | 26 => {
                    if let Some(at) = at(self.frames.len(), input) {
                        let of = &mut self.frames[at];
                        let mut message = MaybeUninit::uninit();
                        let is_entry = input.below(2) == 0;
                        let message = if is_entry {
                            (of.entry, of.fault) = (None, None);
                            assert!(wl_frame_next_entry(of.frame, message.as_mut_ptr()) as i32 >= 0);
                            *of.entry.insert(message.assume_init())
                        } else {
                            // Decodes a method with escapes again, so earlier spans become invalid.
                            (of.message, of.entry) = (None, None);
                            assert!(wl_frame_message(of.frame, message.as_mut_ptr()) as i32 >= 0);
                            *of.message.insert(message.assume_init())
                        };
                        self.read_message(&message);
                    }
                }
                27 => {
                    if let Some(at) = at(self.frames.len(), input) {
                        let of = &mut self.frames[at];
                        of.fault = filled(|fault| wl_frame_fault(of.frame, fault));
                        if let Some(fault) = of.fault {
                            self.read(fault.message);
                            self.read(fault.reply);
                        }
                        if input.below(4) == 0 {
                            wl_frame_free(self.frames.swap_remove(at).frame);
                        }
                    }
                }
                28 => {
                    let rules = Self::rules(input);
                    let encoder = wl_encoder_new(&rules);
                    if !encoder.is_null() && self.encoders.len() < 4 {
                        self.encoders.push((encoder, rules));
                    } else {
                        wl_encoder_free(encoder);
                    }
                }
                29..=35 => {
                    if let Some(at) = at(self.encoders.len(), input) {
                        self.encode(at, input);
                    }
                }
                36 => {
                    let rules = Self::rules(input);
                    let limits =
                        wl_limits { in_flight: input.below(6), calls: input.below(5), backlog: input.below(256) * 8 };
                    let limits = if input.below(2) == 0 { null() } else { &raw const limits };
                    let counted: Option<unsafe extern "C" fn(*mut c_void)> = Some(count_wake);
                    let wake = if input.below(2) == 0 { None } else { counted };
                    let connection = wl_connection_new(&rules, limits, wake, null_mut());
                    if !connection.is_null() && self.connections.len() < 3 {
                        self.connections.push(Connected::new(connection));
                        self.peers.push((wl_connection_peer(connection), connection));
                    } else {
                        wl_connection_free(connection);
                    }
                }
                37..=49 => {
                    if let Some(at) = at(self.connections.len(), input) {
                        self.drive(at, input);
                    }
                }
                50..=54 => self.settle(input),
                55..=61 => self.send(input),
                62 => {
                    let mut found = wl_span::ABSENT;
                    if wl_json_pointer(input.span(), input.span(), &mut found) == wl_status::Ok {
                        self.read(found);
                    }
                    self.sum += u64::from(wl_id_equal(input.span(), input.span()));
                    let mut buffer = [0; 16];
                    let mut len = 0;
                    let capacity = input.below(17);
                    let status = wl_json_string(input.span(), buffer.as_mut_ptr(), capacity, &mut len);
                    assert!(status != wl_status::Ok || len <= capacity);
                    self.read(wl_text(c"text".as_ptr()));
                }
                _ => {
                    let mut error = MaybeUninit::uninit();
                    let message = self.message(input);
                    if wl_message_error(&message, error.as_mut_ptr()) == wl_status::Ok {
                        let wl_error { message, data, .. } = error.assume_init();
                        self.read(message);
                        self.read(data);
                    }
                    self.sum += u64::from(*wl_status_text(input.number() as u32) as u8);
                    self.sum += u64::from(*wl_version() as u8);
                }
            }
        }
    }

    unsafe fn keep(&mut self, frame: *mut wl_frame) {
        if self.frames.len() < 6 && !frame.is_null() {
            self.frames.push(Kept { frame, message: None, entry: None, fault: None });
        } else {
            // SAFETY: the frame is new.
            unsafe { wl_frame_free(frame) };
        }
    }

    unsafe fn encode(&mut self, at: usize, input: &mut Input<'_>) {
        let (encoder, rules) = self.encoders[at];
        // SAFETY: as for `step`.
        unsafe {
            let before = wl_encoder_bytes(encoder).len;
            let message = self.message(input);
            let status = match input.below(12) {
                0 => wl_encoder_request(encoder, input.span(), input.span(), input.span()),
                1 => wl_encoder_call(encoder, input.number(), input.span(), input.span()),
                2 => wl_encoder_notification(encoder, input.span(), input.span()),
                3 => wl_encoder_response(encoder, input.span(), input.span()),
                4 => wl_encoder_error(encoder, input.span(), input.number() as i64, input.span(), input.span()),
                5 => match self.fault(input) {
                    Some(fault) => wl_encoder_reply(encoder, &fault),
                    None => wl_encoder_reply(encoder, null()),
                },
                6 => wl_encoder_raw(encoder, input.span()),
                7 => wl_encoder_flatten(encoder, input.span()),
                8 => wl_encoder_forward(encoder, &message),
                9 => wl_encoder_with_id(encoder, &message, input.span()),
                10 => {
                    wl_encoder_clear(encoder);
                    return;
                }
                _ => {
                    if input.below(4) == 0 {
                        wl_encoder_free(self.encoders.swap_remove(at).0);
                    }
                    return;
                }
            };
            let lines = wl_encoder_bytes(encoder);
            self.read(lines);
            let mut refused = MaybeUninit::uninit();
            if wl_encoder_refused(encoder, refused.as_mut_ptr()) == wl_status::Ok {
                let refusals = [wl_status::Rule, wl_status::LineBreak, wl_status::InvalidArgument];
                assert!(refusals.contains(&status), "{status:?}");
                self.read(refused.assume_init().message);
            }
            if status != wl_status::Ok {
                assert!(status != wl_status::Panic);
                assert_eq!(lines.len, before, "{status:?}");
                return;
            }
            self.counts.encoded += 1;
            // The output must be one whole line, which a decoder with the same rules on the other side accepts.
            let side = [0, 2, 1].get(rules.side as usize).copied().unwrap_or_default();
            let rules = wl_rules { side, ..rules };
            let added = wl_span { ptr: lines.ptr.add(before), len: lines.len - before };
            let line = std::slice::from_raw_parts(added.ptr, added.len);
            assert_eq!(line.iter().position(|&byte| byte == b'\n'), Some(line.len() - 1));
            let decoder = wl_decoder_new(&rules);
            wl_decoder_feed(decoder, added);
            let mut message = MaybeUninit::uninit();
            let kind = wl_decoder_next(decoder, message.as_mut_ptr());
            assert!(!matches!(kind, wl_kind::Fault | wl_kind::None), "{kind:?}: {}", String::from_utf8_lossy(line));
            wl_decoder_free(decoder);
        }
    }

    unsafe fn drive(&mut self, at: usize, input: &mut Input<'_>) {
        // SAFETY: as for `step`.
        unsafe {
            let connection = self.connections[at].connection;
            match input.below(20) {
                0..=3 => {
                    self.connections[at].forget();
                    assert_eq!(wl_connection_feed(connection, input.span()), wl_status::Ok);
                }
                4 => {
                    self.connections[at].forget();
                    let mut bytes = input.bytes();
                    let status = wl_connection_read(connection, Some(read_once), (&raw mut bytes).cast());
                    assert!(matches!(status, wl_status::Ok | wl_status::Io | wl_status::InvalidArgument), "{status:?}");
                }
                5..=10 => {
                    let mut event = MaybeUninit::uninit();
                    self.connections[at].forget();
                    let kind = wl_connection_next(connection, event.as_mut_ptr());
                    self.take(at, kind, event.assume_init());
                }
                11..=14 => {
                    // `to` may be the same connection.
                    let pending = wl_connection_pending(connection);
                    self.read(pending);
                    let len = if input.below(2) == 0 { pending.len } else { input.below(200).min(pending.len) };
                    let to = input.below(self.connections.len());
                    self.connections[to].forget();
                    let part = wl_span { ptr: pending.ptr, len };
                    assert_eq!(wl_connection_feed(self.connections[to].connection, part), wl_status::Ok);
                    assert_eq!(wl_connection_advance(connection, len), wl_status::Ok);
                    self.counts.written += len as u64;
                }
                15 => {
                    let (mut event, mut deadline) = (MaybeUninit::uninit(), 0);
                    let now = u64::from(input.byte());
                    let has_deadline = wl_connection_next_deadline(connection, &mut deadline);
                    self.connections[at].forget();
                    let kind = wl_connection_next_expired(connection, now, event.as_mut_ptr());
                    assert_eq!(kind == wl_event_kind::Lost, has_deadline && deadline <= now);
                    self.take(at, kind, event.assume_init());
                }
                16 => {
                    let of = &mut self.connections[at];
                    of.fault = filled(|fault| wl_connection_fault(connection, fault));
                    if let Some(fault) = of.fault {
                        for span in [fault.name, fault.message, fault.hint_text, fault.id, fault.reply] {
                            self.read(span);
                        }
                    }
                }
                17 => {
                    let frame = wl_connection_keep(connection);
                    self.keep(frame);
                }
                18 => {
                    let is_woken = wl_connection_poll_wake(connection);
                    assert!(is_woken || !wl_connection_wants_write(connection));
                    self.sum += u64::from(wl_connection_wants_read(connection));
                    self.sum += wl_connection_in_flight(connection) as u64;
                }
                _ => match input.below(8) {
                    0 => {
                        self.connections[at].forget();
                        wl_connection_finish(connection);
                    }
                    1 => self.end(at),
                    _ => self.sum += u64::from(wl_connection_is_done(connection)),
                },
            }
        }
    }

    /// Checks and stores an event.
    unsafe fn take(&mut self, at: usize, kind: wl_event_kind, event: wl_event) {
        assert!((kind as i32) >= 0 && kind == event.kind, "{kind:?}");
        // SAFETY: the event is new, so its spans are valid.
        unsafe {
            self.read_message(&event.message);
            self.read(event.id);
        }
        assert_eq!(event.ticket.is_null(), kind != wl_event_kind::Request);
        if kind == wl_event_kind::Request {
            self.counts.requests += 1;
            self.tickets.push(event.ticket);
        }
        if matches!(kind, wl_event_kind::Response | wl_event_kind::Lost) {
            self.counts.responses += u64::from(kind == wl_event_kind::Response);
            assert!(self.connections[at].values.remove(&event.value.addr()), "{event:?}");
        }
        self.connections[at].event = Some(event);
    }

    unsafe fn settle(&mut self, input: &mut Input<'_>) {
        if self.tickets.is_empty() {
            return;
        }
        let ticket = self.tickets.swap_remove(input.below(self.tickets.len()));
        // SAFETY: as for `step`.
        unsafe {
            self.read(wl_ticket_id(ticket));
            self.sum += u64::from(wl_ticket_is_cancelled(ticket));
            let status = match input.below(4) {
                0 => wl_ticket_respond(ticket, input.span()),
                1 => wl_ticket_fail(ticket, input.number() as i64, input.span(), input.span()),
                2 => {
                    let message = self.message(input);
                    wl_ticket_relay(ticket, &message)
                }
                _ => {
                    wl_ticket_free(ticket);
                    return;
                }
            };
            assert!(status != wl_status::Panic);
            self.counts.answered += u64::from(status == wl_status::Ok);
        }
    }

    unsafe fn send(&mut self, input: &mut Input<'_>) {
        if self.peers.is_empty() {
            return;
        }
        let at = input.below(self.peers.len());
        let (peer, connection) = self.peers[at];
        let mut none = HashSet::new();
        let index = self.connections.iter().position(|it| it.connection == connection);
        let mut id = 0;
        // SAFETY: as for `step`.
        unsafe {
            match input.below(10) {
                choice @ 0..=4 => {
                    self.last_value += 1;
                    let value = std::ptr::without_provenance_mut(self.last_value);
                    let status = match choice {
                        0..=3 => wl_peer_call(peer, input.span(), input.span(), value, &mut id),
                        _ => {
                            let message = self.message(input);
                            wl_peer_forward_request(peer, &message, value, &mut id)
                        }
                    };
                    if status == wl_status::Ok {
                        self.counts.calls += 1;
                        self.connections[index.expect("no connection has it")].values.insert(self.last_value);
                    }
                }
                5 => {
                    wl_peer_notify(peer, input.span(), input.span());
                }
                6 => {
                    wl_peer_set_deadline(peer, u64::from(input.byte() % 16), input.number());
                }
                7 => {
                    let mut value = null_mut();
                    if wl_peer_cancel(peer, u64::from(input.byte() % 16), &mut value) == wl_status::Ok {
                        let values = index.map_or(&mut none, |index| &mut self.connections[index].values);
                        assert!(values.remove(&value.addr()));
                    }
                }
                8 => match input.below(16) {
                    0 => wl_peer_close(peer),
                    1 => {
                        wl_peer_abort(peer, input.number() as i64, input.span(), input.span());
                    }
                    2 if self.peers.len() > 1 => {
                        wl_peer_free(self.peers.swap_remove(at).0);
                    }
                    _ => {}
                },
                _ => {
                    if let Some(index) = index
                        && self.peers.len() < 6
                    {
                        self.peers.push((wl_connection_peer(self.connections[index].connection), connection));
                    }
                }
            }
        }
    }

    /// Ends a connection, which must return every value.
    unsafe fn end(&mut self, at: usize) {
        // SAFETY: as for `step`.
        unsafe {
            let connection = self.connections[at].connection;
            self.connections[at].forget();
            wl_connection_finish(connection);
            loop {
                let pending = wl_connection_pending(connection).len;
                wl_connection_advance(connection, pending);
                let mut event = MaybeUninit::uninit();
                let kind = wl_connection_next(connection, event.as_mut_ptr());
                self.take(at, kind, event.assume_init());
                if kind == wl_event_kind::None && !wl_connection_wants_write(connection) {
                    break;
                }
            }
            assert!(self.connections[at].values.is_empty());
            assert_eq!(wl_connection_is_done(connection), wl_connection_in_flight(connection) == 0);
            wl_connection_free(connection);
            self.connections.swap_remove(at);
        }
    }

    unsafe fn free(&mut self) {
        // SAFETY: none of these handles has been freed, and none is used any more.
        unsafe {
            self.decoders.drain(..).for_each(|it| wl_decoder_free(it.decoder));
            self.frames.drain(..).for_each(|it| wl_frame_free(it.frame));
            self.encoders.drain(..).for_each(|(encoder, _)| wl_encoder_free(encoder));
            while !self.connections.is_empty() {
                self.end(0);
            }
            self.tickets.drain(..).for_each(|it| wl_ticket_free(it));
            self.peers.drain(..).for_each(|(peer, _)| wl_peer_free(peer));
        }
    }
}

unsafe extern "C" fn count_wake(context: *mut c_void) {
    assert!(context.is_null());
}

/// Reads the bytes that `context` points to. Fails if there are none, or not enough room.
unsafe extern "C" fn read_once(context: *mut c_void, buffer: *mut u8, len: usize) -> isize {
    // SAFETY: `context` was passed to `wl_connection_read` as a pointer to an optional slice, and the buffer has room
    // for `len` bytes.
    unsafe {
        let Some(bytes) = *context.cast::<Option<&[u8]>>() else { return -1 };
        match bytes {
            // Claims to have read more than there is room for.
            b"1" => isize::MAX,
            _ if bytes.len() <= len => {
                buffer.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
                bytes.len() as isize
            }
            _ => -1,
        }
    }
}
