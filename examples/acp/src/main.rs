//! Runs both ends of a short conversation over the Agent Client Protocol.
//!
//! ```console
//! cargo run --manifest-path examples/acp/Cargo.toml               # starts itself as the agent
//! cargo run --manifest-path examples/acp/Cargo.toml -- my-agent   # or another one
//! ```

use std::env;
use std::path::Path;
use std::process::ExitCode;

use smol::process::Command;
use wireline_acp_example::process;

fn main() -> ExitCode {
    let mut args = env::args_os().skip(1);
    let done = match args.next() {
        Some(arg) if arg == "--agent" => smol::block_on(process::serve()).map_err(|error| error.to_string()),
        command => {
            let agent = match command {
                Some(command) => {
                    let mut agent = Command::new(command);
                    agent.args(args);
                    Ok(agent)
                }
                None => env::current_exe().map(|this| {
                    let mut agent = Command::new(this);
                    agent.arg("--agent");
                    agent
                }),
            };
            let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
            agent
                .map_err(|error| error.to_string())
                .and_then(|agent| smol::block_on(process::converse(agent, file, |text| println!("{text}"))).map(|_| ()))
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("acp: {error}");
            ExitCode::FAILURE
        }
    }
}
