//! The person at the terminal, whom servers may ask.

use crate::{exit::Exit, failure::Failure};
use serde_json::{Map, Value};
use std::{
    io::{self, IsTerminal},
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};
use trunkline::{
    ClientOptions,
    client::{ClientHandlers, ElicitRequest, ElicitUrlRequest, HandlerError},
    protocol::model::ElicitResult,
};

/// Answers questions of servers: the person, a file with answers, or nobody.
pub(crate) struct Person {
    answers: Option<Map<String, Value>>,
    /// The question that nobody could answer.
    unanswered: Mutex<Option<String>>,
}

/// Returns whether a person can be asked: in a script, standard error goes elsewhere.
pub(crate) fn is_present() -> bool {
    io::stderr().is_terminal()
}

impl Person {
    /// Reads the file with answers, if there is one.
    pub(crate) fn new(answer: Option<PathBuf>) -> Result<Self, Failure> {
        let read = |path: PathBuf| {
            let text = crate::flags::read(&path, "--answer")?;
            serde_json::from_str(&text)
                .map_err(|error| Failure::usage(format!("--answer: {} is no JSON object: {error}", path.display())))
        };
        Ok(Self { answers: answer.map(read).transpose()?, unanswered: Mutex::default() })
    }

    /// The failure if the server asked something that nobody could answer.
    pub(crate) fn unanswered(&self) -> Option<Failure> {
        let question = self.unanswered.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        let failure = Failure::new(Exit::Person, "person", format!("the server asks: {question}"));
        Some(failure.hint("run it in a terminal, or give the answers with --answer FILE"))
    }

    fn missing(&self, question: &str) -> HandlerError {
        *self.unanswered.lock().unwrap_or_else(PoisonError::into_inner) = Some(question.to_owned());
        HandlerError::rejected("nobody can be asked: there is no terminal")
    }
}

/// Lets servers ask: in the terminal of this process, or else from the answers.
pub(crate) fn in_options(person: &Arc<Person>, options: ClientOptions) -> ClientOptions {
    if person.answers.is_none() && is_present() {
        return options.with_terminal_forms(true);
    }
    let (forms, pages) = (Arc::clone(person), Arc::clone(person));
    let handlers = ClientHandlers::default()
        .on_elicit(move |request: ElicitRequest| {
            let answered = match &forms.answers {
                Some(answers) => Ok(ElicitResult::accept(answers.clone())),
                None => Err(forms.missing(&request.message)),
            };
            async move { answered }
        })
        .on_elicit_url(move |request: ElicitUrlRequest| {
            let missing = pages.missing(&format!("{} ({})", request.message, request.url));
            async move { Err::<ElicitResult, _>(missing) }
        });
    options.with_handlers(handlers)
}
