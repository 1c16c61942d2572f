//! All snippets of the pages in one program, so that it is linked only once: `snippets tools`

use std::process::{ExitCode, Termination};

/// Each snippet is a file with its own `main`.
macro_rules! snippets {
    ($($name:ident),* $(,)?) => {
        $(mod $name {
            include!(concat!(stringify!($name), ".rs"));

            pub(super) fn run() -> impl super::Termination {
                main()
            }
        })*

        fn run(name: &str) -> ExitCode {
            match name {
                $(stringify!($name) => $name::run().report(),)*
                _ => {
                    eprintln!("there is no snippet {name:?}");
                    ExitCode::FAILURE
                }
            }
        }
    };
}

snippets!(
    access_tokens,
    completion,
    composition,
    connecting,
    debugging,
    elicitation,
    errors,
    features,
    groups,
    in_axum,
    lifespan,
    logs,
    middleware,
    model_tools,
    over_http,
    own_methods,
    own_store,
    progress,
    prompts,
    providers,
    resources,
    roots,
    sampling,
    scripted_answers,
    skills,
    structured_output,
    subscriptions,
    tasks,
    telemetry,
    testing,
    tokens,
    tools,
    transparent,
    tutorial_client,
);

fn main() -> ExitCode {
    run(&std::env::args().nth(1).unwrap_or_default())
}
