//! Lets the user answer forms and page requests of servers in the terminal.

mod dialogue;
mod field;
mod fill_form;
mod page;

use crate::{
    client::{ClientHandlers, HandlerError, ServerRequest},
    on_drop::OnDrop,
    protocol::model::ElicitResult,
    runtime::{BoxedTask, Console, Promise, Terminal},
};
use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

/// The handlers that ask the user in this terminal.
pub(super) fn handlers(terminal: Arc<dyn Terminal>) -> ClientHandlers {
    let (forms, pages) = (Arc::clone(&terminal), terminal);
    ClientHandlers::default()
        .on_elicit(move |request| ask(&*forms, request, fill_form::fill))
        .on_elicit_url(move |request| ask(&*pages, request, page::consent))
}

/// Runs a dialogue about a request. It ends early if its answer is no longer needed.
fn ask<P: Send + 'static>(
    terminal: &dyn Terminal,
    request: ServerRequest<P>,
    dialogue: fn(&mut dyn Console, &ServerRequest<P>) -> io::Result<ElicitResult>,
) -> BoxedTask<Result<ElicitResult, HandlerError>> {
    let (answer, stopped) = (Arc::<Promise<_>>::default(), Arc::new(AtomicBool::new(false)));
    let (reply, unanswered) = (Arc::clone(&answer), Arc::clone(&answer));
    let unanswered = OnDrop::new(move || {
        unanswered.keep(Err(io::Error::other("The dialogue at the terminal ended without an answer")));
    });
    let dialogue = Box::new(move |console: &mut dyn Console| {
        let answer = dialogue(console, &request);
        unanswered.disarm();
        reply.keep(answer);
    });
    let begun = terminal.converse(dialogue, Arc::clone(&stopped));
    let stop = OnDrop::new(move || stopped.store(true, Ordering::Release));
    Box::pin(async move {
        let _stop = stop;
        begun?;
        Ok(answer.kept().await?)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        client::{ElicitRequest, ElicitUrlRequest},
        protocol::model::{ElicitFormParams, ElicitUrlParams, Field, FormSchema, Implementation},
    };
    use serde_json::{Value, json};
    use std::collections::VecDeque;

    /// A user who enters these lines and then ends the input.
    #[derive(Default)]
    struct Typist {
        lines: VecDeque<&'static str>,
        printed: String,
        opened: Vec<String>,
    }

    impl Console for Typist {
        fn show(&mut self, text: &str) -> io::Result<()> {
            self.printed.push_str(text);
            Ok(())
        }

        fn read_line(&mut self) -> io::Result<Option<String>> {
            Ok(self.lines.pop_front().map(str::to_owned))
        }

        fn open_browser(&mut self, url: &str) -> io::Result<()> {
            self.opened.push(url.to_owned());
            Ok(())
        }
    }

    fn typist(lines: &[&'static str]) -> Typist {
        Typist { lines: lines.iter().copied().collect(), ..Typist::default() }
    }

    fn fill(form: FormSchema, lines: &[&'static str]) -> (Value, String) {
        let params = ElicitFormParams {
            message: "Where \u{1b}[31mto?".to_owned(),
            requested_schema: form,
            ..ElicitFormParams::default()
        };
        let server = Some(Implementation::new("travel\u{7}", "1"));
        let mut user = typist(lines);
        let answer =
            fill_form::fill(&mut user, &ElicitRequest { params, server, server_name: None, operation: None }).unwrap();
        assert!(user.lines.is_empty(), "not all was read: {}", user.printed);
        (serde_json::to_value(answer).unwrap(), user.printed)
    }

    fn visit(url: &str, lines: &[&'static str]) -> (Value, Typist) {
        let params = ElicitUrlParams { message: "Pay".to_owned(), url: url.to_owned(), ..ElicitUrlParams::default() };
        let mut user = typist(lines);
        let answer =
            page::consent(&mut user, &ElicitUrlRequest { params, server: None, server_name: None, operation: None })
                .unwrap();
        (serde_json::to_value(answer).unwrap(), user)
    }

    fn trip() -> FormSchema {
        FormSchema::new()
            .required("city", Field::text().with_title("City").with_length(Some(2), None))
            .required("days", Field::integer().with_minimum(1))
            .optional("mail", Field::email())
            .optional("window", Field::boolean().with_default(true))
            .optional("class", Field::titled_choice([("e", "Economy"), ("f", "First")]))
            .optional("meals", Field::choices(["fish", "rice", "none"]))
    }

    #[test]
    fn eli_22_a_form_names_its_server_and_every_field_has_its_input_format() {
        let (answer, printed) = fill(trip(), &["Oslo", "3", "a@b.example", "no", "2", "fish, 2", "yes"]);
        let content = json!({"city": "Oslo", "days": 3, "mail": "a@b.example", "window": false, "class": "f", "meals": ["fish", "rice"]});
        assert_eq!(answer, json!({"action": "accept", "content": content}));
        assert!(printed.starts_with("\nThe server \"travel\" asks:\n  Where to?\n  City: "), "{printed:?}");
        assert!(printed.contains("   2. First\n"), "{printed}");
        let (server, server_name) = (Some(Implementation::new("bank", "1")), Some("shop".to_owned()));
        let of_group = ElicitRequest { params: ElicitFormParams::default(), server, server_name, operation: None };
        assert_eq!(dialogue::server(&of_group), "The server \"shop\"", "not the name that it gives itself");
    }

    #[test]
    fn eli_10_empty_lines_keep_defaults_and_leave_optional_fields_out() {
        let (answer, printed) = fill(trip(), &["Oslo", "3", "", "", "", "", "y"]);
        assert_eq!(answer["content"], json!({"city": "Oslo", "days": 3, "window": true}));
        assert!(printed.contains("window, yes or no, optional [yes]: "), "{printed}");
    }

    #[test]
    fn eli_11_fields_are_asked_again_until_they_are_valid() {
        let (answer, printed) = fill(
            trip(),
            &["", "O", "Oslo", "none", "0", "1.5", "2", "nobody", "", "maybe", "", "3", "", "2, 9", "", "yes"],
        );
        assert_eq!(answer["content"], json!({"city": "Oslo", "days": 2, "window": true}));
        assert!(printed.contains("    \"none\" is not a number.\n"), "{printed}");
        assert!(printed.contains("    Type yes or no.\n"), "{printed}");
        assert!(printed.contains("    \"9\" is not one of the choices.\n"), "{printed}");
    }

    #[test]
    fn eli_22_a_form_can_be_edited_declined_and_cancelled() {
        let form = || FormSchema::new().required("a", Field::text()).optional("b", Field::text());
        let (edited, _) = fill(form(), &["x", "y", "what?", "edit", "", "z", "yes"]);
        assert_eq!(edited["content"], json!({"a": "x", "b": "z"}));
        assert_eq!(fill(form(), &["x", "y", "no"]).0, json!({"action": "decline"}));
        assert_eq!(fill(form(), &["x", "y", "cancel"]).0, json!({"action": "cancel"}));
        assert_eq!(fill(form(), &["x"]).0, json!({"action": "cancel"}), "the input ended");
        assert_eq!(fill(FormSchema::new(), &["edit", "yes"]).0, json!({"action": "accept", "content": {}}));
    }

    #[test]
    fn eli_19_eli_20_a_page_is_opened_after_its_url_was_shown_and_agreed_to() {
        let url = "https://pay.example/x?y=1";
        let (answer, user) = visit(url, &["sure", "yes"]);
        assert_eq!((answer, user.opened), (json!({"action": "accept"}), vec![url.to_owned()]));
        assert!(user.printed.contains(&format!("  {url}\n  Host: pay.example\nOpen it")), "{}", user.printed);
        for (lines, action) in [(&["no"][..], "decline"), (&["c"], "cancel"), (&[], "cancel")] {
            let (answer, user) = visit(url, lines);
            assert_eq!((answer, user.opened), (json!({"action": action}), vec![]));
        }
        let long = format!("{url}{}", "0".repeat(5_000));
        assert!(visit(&long, &["no"]).1.printed.contains(&format!("  {long}\n  Host")));
        let (answer, user) = visit("file:///etc/passwd", &[]);
        assert_eq!((answer, user.opened), (json!({"action": "decline"}), vec![]));
    }

    #[test]
    fn eli_21_suspicious_hosts_are_flagged() {
        for (url, flagged) in [
            ("https://pay.example/", false),
            ("https://xn--pypal-4ve.com/", true),
            ("https://p\u{430}ypal.com/", true),
            ("http://pay.example/", true),
            ("http://localhost:8000/", false),
            ("http://[::1]:8000/", false),
        ] {
            assert_eq!(visit(url, &["no"]).1.printed.contains("Careful"), flagged, "{url}");
        }
    }

    #[test]
    fn a_dialogue_that_is_dropped_is_an_error_and_one_that_is_not_wanted_is_stopped() {
        struct Broken(crate::sync::Mutex<Option<Arc<AtomicBool>>>);
        impl Terminal for Broken {
            fn converse(&self, _: crate::runtime::Dialogue, stopped: Arc<AtomicBool>) -> io::Result<()> {
                *self.0.lock() = Some(stopped);
                Ok(())
            }
        }
        let terminal = Broken(crate::sync::Mutex::new(None));
        let request =
            ElicitRequest { params: ElicitFormParams::default(), server: None, server_name: None, operation: None };
        let answer = ask(&terminal, request, fill_form::fill);
        let mut answer = std::pin::pin!(answer);
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(matches!(answer.as_mut().poll(&mut context), std::task::Poll::Ready(Err(_))));
        let stopped = || terminal.0.lock().as_ref().is_some_and(|stopped| stopped.load(Ordering::Acquire));
        drop(ask(
            &terminal,
            ElicitRequest { params: ElicitFormParams::default(), server: None, server_name: None, operation: None },
            fill_form::fill,
        ));
        assert!(stopped());
    }
}
