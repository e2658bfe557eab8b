//! Windows: scripts such as `npx` are found without their extension.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::{Child, Command};

/// Starts the server, also if it is a script such as `npx.cmd` that was named without its extension.
pub(super) fn spawn(command: &mut Command, configure: &dyn Fn(&mut Command)) -> io::Result<Child> {
    configure(command);
    let spawned = command.spawn();
    let program = command.get_program().to_owned();
    match &spawned {
        Err(error) if error.kind() == io::ErrorKind::NotFound && Path::new(&program).extension().is_none() => {}
        _ => return spawned,
    }
    let scripts = [".cmd", ".bat"].map(|extension| {
        let mut name: OsString = program.clone();
        name.push(extension);
        name
    });
    for script in scripts {
        let mut command_of_script = Command::new(script);
        command_of_script.args(command.get_args());
        configure(&mut command_of_script);
        match command_of_script.spawn() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            spawned => return spawned,
        }
    }
    spawned
}
