//! The server methods, one function each, which route requests to handlers.

mod access;
mod completion;
mod conversation;
mod custom_requests;
mod lists;
mod merging;
mod mount_routes;
mod pages;
mod parameters;
mod prompts;
mod provided;
mod resources;
mod skills;
mod tasks;
mod tools;

pub(super) use access::allowed_resources;

use super::{registry::Category, request::Route};
use crate::protocol::method;

/// Returns the function for a method.
pub(super) fn route(method: &str) -> Route {
    match method {
        method::TOOLS_LIST => |context, params| lists::list(context, Category::Tools, params),
        method::TOOLS_CALL => tools::call,
        method::RESOURCES_LIST => |context, params| lists::list(context, Category::Resources, params),
        method::RESOURCES_TEMPLATES_LIST => |context, params| lists::list(context, Category::ResourceTemplates, params),
        method::RESOURCES_READ => resources::read,
        method::RESOURCES_SUBSCRIBE => resources::subscribe,
        method::RESOURCES_UNSUBSCRIBE => resources::unsubscribe,
        method::RESOURCES_DIRECTORY_READ => skills::read_directory,
        method::PROMPTS_LIST => |context, params| lists::list(context, Category::Prompts, params),
        method::PROMPTS_GET => prompts::get,
        method::COMPLETION_COMPLETE => completion::complete,
        method::LOGGING_SET_LEVEL => conversation::set_level,
        method::SKILLS_LIST => skills::list,
        method::SKILLS_GET => skills::get,
        method::TASKS_GET => tasks::get,
        method::TASKS_RESULT => tasks::result,
        method::TASKS_CANCEL => tasks::cancel,
        method::TASKS_LIST => tasks::list,
        method::TASKS_UPDATE => tasks::update,
        method::DISCOVER => conversation::discover,
        _ => custom_requests::serve,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::method::Method;

    #[test]
    fn each_request_of_clients_has_a_function() {
        // The connection serves these itself.
        let of_engine = [method::INITIALIZE, method::PING, method::SUBSCRIPTIONS_LISTEN];
        for method in Method::of_clients().filter(|method| !of_engine.contains(&method.name)) {
            let is_served = !std::ptr::fn_addr_eq(route(method.name), custom_requests::serve as Route);
            assert!(is_served, "{} is missing in the table of server/methods/mod.rs", method.name);
        }
    }
}
