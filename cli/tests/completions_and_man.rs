//! `wireline completions` and `wireline man`.

use crate::common;

use std::process::Command;

use common::{file, new_file, run};

/// The names of all commands and their long options, taken from the help.
fn commands() -> Vec<(String, Vec<String>)> {
    let help = run(&["--help"]).stdout;
    let rows = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| line.starts_with("  "));
    let names = rows.filter_map(|row| row.strip_prefix("  ")?.split(' ').next()).filter(|name| !name.is_empty());
    let options = |name: &str| {
        let help = run(&[name, "--help"]).stdout;
        let words = help.split([' ', '\n']).filter(|word| word.starts_with("--") && word.len() > 2);
        words.map(|word| word.trim_end_matches(|c: char| !c.is_ascii_alphabetic()).to_owned()).collect()
    };
    names.filter(|name| *name != "help").map(|name| (name.to_owned(), options(name))).collect()
}

#[test]
fn completions_cover_every_command() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let generated = run(&["completions", shell]);
        assert_eq!((generated.code, generated.stderr.as_str()), (Some(0), ""));
        for (name, options) in commands() {
            assert!(generated.stdout.contains(&name), "{shell} {name}");
            for option in options {
                assert!(generated.stdout.contains(option.trim_start_matches('-')), "{shell} {name} {option}");
            }
        }
    }
    assert_eq!(run(&["completions", "csh"]).code, Some(2));
}

#[test]
#[cfg(target_os = "linux")]
fn bash_completes() {
    let script = file("completions.bash", run(&["completions", "bash"]).stdout);
    for (words, expected) in [
        (&["wireline", "che"][..], "check\n"),
        (&["wireline", "check", "--jo"], "--jobs\n"),
        (&["wireline", "check", "--rules", "m"], "mcp\nmcp-2026-07-28\n"),
    ] {
        let (last, count) = (words[words.len() - 1], words.len() - 1);
        let line = format!(
            "source '{}'; COMP_WORDS=({}); COMP_CWORD={count}; _wireline wireline '{last}' '{}'; \
             printf '%s\\n' \"${{COMPREPLY[@]}}\"",
            script.display(),
            words.join(" "),
            words[count - 1],
        );
        let Ok(bash) = Command::new("bash").args(["--norc", "-c", &line]).output() else { return };
        assert_eq!(String::from_utf8_lossy(&bash.stdout), expected, "{}", String::from_utf8_lossy(&bash.stderr));
    }
}

#[test]
fn manual_covers_every_command() {
    let directory = new_file("man");
    // From an earlier run.
    let _ = std::fs::remove_dir_all(&directory);
    let written = run(&["man", "--dir", directory.to_str().unwrap()]);
    assert_eq!((written.code, written.stdout.as_str(), written.stderr.as_str()), (Some(0), "", ""));

    let commands = commands();
    assert!(commands.len() >= 3);
    let pages =
        commands.iter().map(|(name, options)| (vec!["man", name.as_str()], format!("wireline-{name}.1"), options));
    let names = commands.iter().map(|(name, _)| format!("wireline-{name}")).collect();
    for (args, name, contents) in pages.chain([(vec!["man"], "wireline.1".to_owned(), &names)]) {
        let page = std::fs::read_to_string(directory.join(&name)).unwrap();
        assert_eq!(run(&args).stdout, page);
        assert!(page.contains(concat!("wireline ", env!("CARGO_PKG_VERSION"))), "{name}");
        for content in contents {
            assert!(page.contains(&content.replace('-', "\\-")), "{name} {content}\n{page}");
        }
        // Where groff is installed, it has no complaints.
        let groff =
            Command::new("groff").args(["-Kutf8", "-man", "-Tutf8", "-ww", "-b"]).arg(directory.join(&name)).output();
        if let Ok(groff) = groff {
            let complaints = String::from_utf8_lossy(&groff.stderr);
            assert!(groff.status.success() && complaints.is_empty(), "{name}: {complaints}");
        }
    }
    assert_eq!(std::fs::read_dir(&directory).unwrap().count(), commands.len() + 1);

    let unknown = run(&["man", "chek"]);
    assert_eq!((unknown.code, unknown.stdout.as_str()), (Some(2), ""));
    let message = "wireline: no manual page for `chek`: expected one of check, ";
    assert!(unknown.stderr.starts_with(message), "{}", unknown.stderr);
}

/// The pages of all commands that work on traffic have the sections that people look for.
#[test]
fn manual_has_exit_status_and_examples() {
    for command in ["check", "tap", "show", "stats", "replay", "report"] {
        let page = run(&["man", command]).stdout;
        let (_, status) = page.split_once("\n.SH EXIT STATUS\n").unwrap();
        assert!(status.starts_with(".TP") || status.starts_with(".PP"), "{status}");
        let (_, examples) = page.split_once("\n.SH EXAMPLES\n").unwrap();
        let help = run(&[command, "--help"]).stdout;
        let (_, shown) = help.split_once("\nExamples:\n").unwrap();
        let commands: Vec<&str> = shown.lines().map(str::trim).filter(|line| line.starts_with("wireline ")).collect();
        assert!(commands.len() >= 2, "{shown}");

        // Prose is filled, and examples stay in one line, whatever the width.
        let Some(rendered) = rendered(&page, 78) else { continue };
        let (_, rendered_examples) = rendered.split_once("\nEXAMPLES\n").unwrap();
        for command in commands {
            assert!(rendered_examples.lines().any(|line| line.trim() == command), "{command}:\n{rendered_examples}");
        }
        for line in rendered.lines().filter(|line| line.chars().count() > 80) {
            let example = line.trim();
            assert!(examples.contains(&example.replace('-', "\\-").replace('\'', "\\(aq")), "{command}: {line}");
        }
    }
}

/// A page as a terminal of this width shows it, if groff is installed.
fn rendered(page: &str, width: usize) -> Option<String> {
    let path = file(&format!("rendered-{}.1", page.len()), page);
    let mut groff = Command::new("groff");
    let groff = groff.args(["-Kutf8", "-man", "-Tutf8", "-P-c", "-P-b", "-P-u", &format!("-rLL={width}n")]).arg(path);
    let output = groff.output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).unwrap())
}
