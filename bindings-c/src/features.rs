//! The features and hooks of a server, which can be added and removed while it is running.

use std::sync::Arc;

use trunkline_bridge::message::{Notification, NotifyFeature, NotifyServer};

use crate::calls::{CallCallback, Registered};
use crate::edge::failure::Failure;
use crate::generated::features::NAMED_BY;
use crate::json::parsed;
use crate::options::SetMembers;
use crate::server::trunkline_server;

/// The kinds whose calls the core handles itself.
const WITHOUT_CALLBACK: [&str; 4] = ["skill", "directory", "mount", "proxy"];

impl trunkline_server {
    /// Adds a feature or hook. `registration` is set before its first call can arrive.
    pub(crate) fn add(
        &self,
        kind: &str,
        mut entry: SetMembers,
        callback: Option<CallCallback>,
        registration: impl FnOnce(u64),
    ) -> Result<(), Failure> {
        if callback.is_none() && !WITHOUT_CALLBACK.contains(&kind) {
            return Err(Failure::null("callback"));
        }
        let member = NAMED_BY.iter().find(|(named, _)| *named == kind).map(|(_, member)| *member);
        let name = member.and_then(|member| entry.0.get(kind)?.get(member)?.as_str()).map(str::to_owned);
        let replaced = entry.0.get("replaces").and_then(serde_json::Value::as_u64);
        entry.put("server", self.handle());
        let registered = Arc::new(Registered { server: self.handle(), callback });
        let handle = self.port().make(registered, |core| core.register(kind, entry.0), registration)?;
        let mut names = self.names.lock();
        names.retain(|_, named| Some(*named) != replaced);
        if let Some(name) = name {
            names.insert((kind.to_owned(), name), handle);
        }
        Ok(())
    }

    /// Adds a feature that a descriptor describes completely.
    pub(crate) fn add_described(
        &self,
        kind: &str,
        descriptor: &str,
        callback: Option<CallCallback>,
    ) -> Result<(), Failure> {
        let entry = SetMembers::default().with(kind, parsed("descriptor", descriptor)?);
        self.add(kind, entry, callback, |_| ())
    }

    pub(crate) fn remove(&self, registration: u64) -> Result<(), Failure> {
        self.check_registration(registration)?;
        self.port().core.unregister(registration)?;
        self.port().detach(registration);
        self.names.lock().retain(|_, handle| *handle != registration);
        Ok(())
    }

    pub(crate) fn remove_named(&self, kind: &str, name: &str) -> Result<(), Failure> {
        let found = self.names.lock().get(&(kind.to_owned(), name.to_owned())).copied();
        self.remove(found.ok_or_else(|| Failure::not_found(format!("there is no {kind} {name:?}")))?)
    }

    pub(crate) fn set_enabled(&self, registration: u64, is_enabled: bool) -> Result<(), Failure> {
        self.check_registration(registration)?;
        let note = NotifyFeature { enabled: Some(is_enabled) };
        Ok(self.port().core.notify_message(registration, Notification::Feature(note))?)
    }

    fn check_registration(&self, registration: u64) -> Result<(), Failure> {
        if self.port().has_receiver(registration, self.handle())? {
            return Ok(());
        }
        Err(Failure::not_found(format!("{registration} is not a registration of this server")))
    }

    pub(crate) fn notify(&self, notification: NotifyServer) -> Result<(), Failure> {
        Ok(self.port().core.notify_message(self.handle(), Notification::Server(notification))?)
    }
}
