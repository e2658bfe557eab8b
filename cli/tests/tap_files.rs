//! The files of `wireline tap`: whatever is wrong with them, the server runs.
#![cfg(unix)]

use crate::common;
use crate::tapping;

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use common::{PING, file, finish, new_file, wireline};
use tapping::{REQUEST, session, tap, text, wait_for_exit};

/// An empty directory.
#[track_caller]
fn directory(name: &str) -> PathBuf {
    let directory = new_file(name);
    let _ = std::fs::remove_dir_all(&directory);
    std::fs::create_dir_all(&directory).unwrap();
    directory
}

#[test]
fn server_runs_whatever_is_wrong_with_the_files() {
    let folder = directory("folder");
    let other = file("other.ndjson", format!("{PING}\n"));
    let line = format!("{REQUEST}\n");
    for (option, path, action, problem) in [
        ("--record", "/no/such/folder/x.tap", "cannot record to", "No such file or directory"),
        ("--record", "no-such-folder/x.tap", "cannot record to", "No such file or directory"),
        ("--record", folder.to_str().unwrap(), "cannot record to", "Is a directory"),
        ("--record", other.to_str().unwrap(), "cannot record to", "the file exists and is not a recording"),
        ("--log", "/no/such/folder/x.log", "cannot open the log", "No such file or directory"),
        ("--log", folder.to_str().unwrap(), "cannot open the log", "Is a directory"),
    ] {
        let output = session(&["-qq", option, path], &["sh", "-c", "cat; exit 3"], line.as_bytes());
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(3), line.as_str()), "{path}");
        let stderr = text(&output.stderr);
        assert!(stderr.starts_with(&format!("wireline: {action} {path}")) && stderr.contains(problem), "{stderr}");
        let outcome = if option == "--log" { "without a log" } else { "unrecorded" };
        assert!(stderr.ends_with(&format!("; the session goes on {outcome}\n")), "{stderr}");
        assert_eq!(stderr.lines().count(), 1, "{stderr}");
    }
    assert_eq!(std::fs::read_to_string(other).unwrap(), format!("{PING}\n"));
}

/// A client may start its servers in a directory that they cannot write to.
#[test]
fn relative_name_in_an_unwritable_folder_is_told_with_the_folder() {
    let folder = directory("unwritable");
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o500)).unwrap();
    // The superuser can write everywhere but here.
    let folder = if std::fs::File::create(folder.join("probe")).is_ok() { "/proc".into() } else { folder };
    let mut command = wireline(&["tap", "-qq", "--record", "x.tap", "--", "cat"]);
    let mut child = command.current_dir(&folder).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"{}\n").unwrap();
    let run = finish(child);
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "{}\n"));
    let start = format!("wireline: cannot record to x.tap in {}: ", folder.display());
    assert!(run.stderr.starts_with(&start), "{}", run.stderr);
}

#[test]
fn two_windows_that_share_a_configuration_get_a_recording_each() {
    let folder = directory("shared");
    let recording = folder.join("shared.tap");
    let name = recording.to_str().unwrap();
    let start = || {
        let mut tap = tap(&["-qq", "--record", name], &["sh", "-c", "echo ready; cat"]);
        let mut stdout = BufReader::new(tap.stdout.take().unwrap());
        stdout.read_line(&mut String::new()).unwrap();
        tap
    };
    let (mut first, mut second) = (start(), start());
    let third = session(&["--record", name], &["cat"], format!("{REQUEST}\n").as_bytes());
    assert_eq!(third.status.code(), Some(0));
    let told = format!(
        "wireline: {name}: another `wireline` is recording to it, so this session is recorded to {}\n",
        folder.join("shared-3.tap").display(),
    );
    assert!(text(&third.stderr).starts_with(&told), "{}", text(&third.stderr));
    for (tap, id) in [(&mut first, 11), (&mut second, 12)] {
        let line = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"ping\"}}\n");
        tap.stdin.take().unwrap().write_all(line.as_bytes()).unwrap();
        assert!(wait_for_exit(tap).success());
    }
    let recorded = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    assert!(recorded("shared.tap").contains("\\\"id\\\":11"));
    assert!(recorded("shared-2.tap").contains("\\\"id\\\":12"));
    assert!(recorded("shared-3.tap").contains("\\\"id\\\":1,"));
    // The first one is free again.
    session(&["-qq", "--record", name], &["cat"], b"");
    assert_eq!(recorded("shared.tap").matches("wireline-recording").count(), 2);
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 3);
}

#[test]
fn names_are_expanded() {
    let home = directory("home");
    let run = |option: &str, name: &str| {
        let mut command = wireline(&["tap", option, name, "--", "cat"]);
        let output = command.env("HOME", &home).stdin(std::process::Stdio::null()).output().unwrap();
        assert!(output.status.success());
        text(&output.stderr).to_owned()
    };
    run("--record", "~/x.tap");
    assert!(home.join("x.tap").exists());
    run("--log", "~/%%.log");
    assert!(std::fs::read_to_string(home.join("%.log")).unwrap().ends_with("server exited with code 0\n"));
    run("--record", "~/%t-%p.tap");
    let names = std::fs::read_dir(&home).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let name = names.into_iter().find(|name| !["x.tap", "%.log"].contains(&name.as_str())).unwrap();
    let (time, process) = name.strip_suffix(".tap").unwrap().split_once('-').unwrap();
    assert!(time.starts_with("20") && time.len() == "20251116T015006Z".len(), "{name}");
    assert!(process.parse::<u32>().is_ok(), "{name}");
}

#[test]
fn one_file_for_log_and_recording_is_a_log() {
    let path = new_file("both.tap");
    let name = path.to_str().unwrap();
    let both = session(&["--log", name, "--record", name], &["cat"], format!("{REQUEST}\n").as_bytes());
    let told =
        format!("wireline: cannot record to {name}: --log names the same file; the session goes on unrecorded\n");
    assert_eq!((both.status.code(), text(&both.stderr)), (Some(0), told.as_str()));
    assert!(std::fs::read_to_string(&path).unwrap().contains(" → request "));
}

/// Nobody opens the named pipe: the server runs meanwhile, and the session goes on without its log.
#[test]
fn log_that_nobody_reads_does_not_stall_the_session() {
    let pipe = new_file("unread.fifo");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let output = session(&["--log", pipe.to_str().unwrap()], &["sh", "-c", "echo started >&2; cat"], b"x\n");
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(0), "x\n"));
    let stderr = text(&output.stderr);
    assert!(stderr.starts_with("started\n"), "{stderr}");
    assert!(stderr.contains("nobody has opened the named pipe for reading for 5 s"), "{stderr}");
}
