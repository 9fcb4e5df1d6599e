#![deny(clippy::print_stderr)]

mod ask;
mod cli;
mod commands;

use std::io::{ErrorKind, IsTerminal as _, Write as _, stderr};
use std::panic::{self, resume_unwind};
use std::process::ExitCode;
use std::thread;

use base::child;
use base::error::Exit;
use base::live;
use base::secrets::mask_text;
use cli::{Cli, Verb};
use miette::MietteHandlerOpts;

/// The driver decodes servers' answers by recursion, without a bound. A server that
/// answers thousands of documents in each other is still only a server that cannot be used. The
/// memory is taken as it is needed.
const STACK_BYTES: usize = 256 << 20;

fn main() -> ExitCode {
    // SAFETY: this is the first thing that the only thread does.
    #[allow(unsafe_code)]
    let read = unsafe { Cli::read() };
    let cli = match read {
        Ok(cli) => cli,
        Err(error) if error.use_stderr() => {
            let text = error.render();
            // The error quotes the user's words there.
            let text =
                if stderr().is_terminal() { text.ansi().to_string() } else { text.to_string() };
            let _ = stderr().write_all(mask_text(&text).as_bytes());
            return ExitCode::from(Exit::Usage as u8);
        }
        Err(help) => {
            let lost = |error: std::io::Error| error.kind() != ErrorKind::BrokenPipe;
            // Help is a result as any other.
            let is_lost = help.print().is_err_and(lost);
            return if is_lost {
                ExitCode::from(Exit::Environment as u8)
            } else {
                ExitCode::SUCCESS
            };
        }
    };
    // The report of a bug is not written into the block of the progress.
    let printed = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        live::clear();
        printed(info);
    }));
    let core = thread::Builder::new().name("main".to_owned()).stack_size(STACK_BYTES);
    let core = core.spawn(|| run(cli)).expect("a thread can be started");
    core.join().unwrap_or_else(|panicked| resume_unwind(panicked))
}

fn run(cli: Cli) -> ExitCode {
    // No colours: errors quote files and servers, and quotes must not steer the terminal.
    let plain = |_: &_| Box::new(MietteHandlerOpts::new().color(false).build()) as Box<_>;
    miette::set_hook(Box::new(plain)).expect("it is set once");
    // One thread: the core waits while it measures. Children must be started from a thread that
    // lives as long as the program (see child::die_with_parent).
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime can be made");
    let result = runtime.block_on(async {
        measure::stop::outlive_large_files();
        match cli.verb {
            Verb::Run(args) => Box::pin(commands::several_servers::run(*args)).await,
            Verb::Bisect(args) => commands::bisect::run(*args).await,
            Verb::Study(args) => Box::pin(commands::study::run(*args)).await,
            Verb::Resume(args) => {
                args.progress.apply();
                if commands::bisect::is_one(&args.folder) {
                    Box::pin(commands::bisect::resume(&args)).await
                } else {
                    Box::pin(commands::resume::run(args)).await
                }
            }
            Verb::Report(args) => commands::report::run(&args),
            Verb::Diff(args) => commands::diff::run(&args),
            Verb::History(args) => commands::experiment_history::run(&args),
            Verb::Diagnose(args) => commands::diagnose::run(&args),
            Verb::Clean(args) => commands::clean::run(args).await,
            Verb::Check(args) => commands::check::run(args).await,
            Verb::Workloads(args) => commands::workloads::run(&args),
            Verb::Drivers(args) => commands::drivers::run(&args),
            Verb::Environments(args) => commands::environments::run(&args),
            Verb::Adapters(args) => commands::adapters::run(args).await,
            Verb::Server(args) => commands::server::run(args).await,
            Verb::Tap(args) => commands::tap::run(&args),
            Verb::Absorber(args) => commands::absorber::run(&args),
            Verb::Schema { name } => commands::schema::run(name),
            Verb::GuardServer { arguments } => commands::server::guard(&arguments),
            Verb::GuardChildren { mark } => {
                child::guard(&mark);
                Ok(())
            }
        }
    });
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            base::say!("error: {error}");
            ExitCode::from(error.exit as u8)
        }
    }
}
