//! Parse, dispatch, print the error, exit code.
#![deny(clippy::print_stderr)]

use std::io::ErrorKind;
use std::process::ExitCode;

use clap::Parser as _;
use miette::MietteHandlerOpts;
use mongodyno::cli::{Cli, Verb};
use mongodyno::error::Exit;
use mongodyno::{child, commands};

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(help) => {
            let lost = |error: std::io::Error| error.kind() != ErrorKind::BrokenPipe;
            // Help is a result as any other.
            let is_lost = help.print().is_err_and(lost) && !help.use_stderr();
            return ExitCode::from(if is_lost {
                Exit::Environment as u8
            } else {
                help.exit_code() as u8
            });
        }
    };
    // No colours: errors quote files and servers, and what they quote must not steer the terminal.
    let plain = |_: &_| Box::new(MietteHandlerOpts::new().color(false).build()) as Box<_>;
    miette::set_hook(Box::new(plain)).expect("it is set once");
    // One thread: the core waits while it measures, and children must be started from a thread
    // that lives as long as the program (see child::die_with_parent).
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime can be made");
    let result = runtime.block_on(async {
        match cli.verb {
            Verb::Run(args) => commands::run::run(*args).await,
            Verb::Study(args) => commands::study::run(args).await,
            Verb::Resume(args) => commands::resume::run(args).await,
            Verb::Report(args) => commands::report::run(&args),
            Verb::Diagnose(args) => commands::diagnose::run(&args),
            Verb::Check(args) => commands::check::run(args).await,
            Verb::Workloads(args) => commands::workloads::run(&args),
            Verb::Adapters(args) => commands::adapters::run(args),
            Verb::Server(args) => commands::server::run(args).await,
            Verb::Tap(args) => commands::tap::run(&args),
            Verb::Absorber(args) => commands::absorber::run(&args),
            Verb::Schema { name } => commands::schema::run(name),
            Verb::GuardServer { arguments } => commands::server::guard(&arguments),
            Verb::GuardChildren { mark } => {
                child::guard(&mark);
                Ok(())
            }
            Verb::FakeAdapter { behaviour } => commands::fake_adapter::run(&behaviour),
        }
    });
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            mongodyno::say!("error: {error}");
            ExitCode::from(error.exit as u8)
        }
    }
}
