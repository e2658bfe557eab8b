//! `wireline stats`.

use crate::common;

use common::{PING, file, run};

#[test]
fn stats_of_plain_traffic() {
    let requests = file("requests.ndjson", format!("{PING}\n{}\nnoise\n", PING.replace(":1,", ":2,")));
    let answers = file("answers.ndjson", "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":1,\"message\":\"no\"}}\n");
    let (requests, answers) = (requests.to_str().unwrap(), answers.to_str().unwrap());
    let stats = |args: &[&str]| run(&[&["stats"], args].concat());
    for files in [[requests, answers], [answers, requests]] {
        let run = stats(&files);
        assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
        for part in [
            "3 messages, 147 B\n",
            "\nping           2      1      –      –      –      –   138B\n",
            "\n1 request has no response in the input\n    ping #2\n",
            "\n1 faulty line or batch entry\n        1 invalid-literal\n",
            "\nmessage sizes\n",
        ] {
            assert!(run.stdout.contains(part), "{part}:\n{}", run.stdout);
        }
        assert!(!run.stdout.contains("latencies") && !run.stdout.contains(['→', '←', '\x1b']), "{}", run.stdout);
    }
    let alone = stats(&[answers]);
    assert!(alone.stdout.contains("\n1 response matches no request\n  #1\n"), "{}", alone.stdout);
    let unread = stats(&[answers, "there/is/no/such/file"]);
    assert_eq!(unread.code, Some(2));
    assert!(unread.stderr.starts_with("wireline: cannot read there/is/no/such/file: "), "{}", unread.stderr);
    assert!(unread.stdout.contains("1 message, "), "{}", unread.stdout);
}
