//! The Secret Service of freedesktop.org, on the session bus: GNOME Keyring, KWallet, KeePassXC.

use crate::transport::oauth::keychain::access::Access;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use dbus::{
    Error, Message, Path,
    arg::{ArgType, IterAppend},
    channel::Channel,
};
use std::{
    env,
    path::PathBuf,
    time::{Duration, Instant},
};

const NAME: &str = "org.freedesktop.secrets";
const SERVICE: &str = "org.freedesktop.Secret.Service";
const COLLECTION: &str = "org.freedesktop.Secret.Collection";
const ITEM: &str = "org.freedesktop.Secret.Item";
const PROMPT: &str = "org.freedesktop.Secret.Prompt";
const ROOT: &str = "/org/freedesktop/secrets";
const BUS: &str = "org.freedesktop.DBus";
/// In place of an object: there is none, or no dialog is needed.
const NONE: &str = "/";

const CALL_TIMEOUT: Duration = Duration::from_secs(5);
/// How long the user may take to unlock the keychain.
const PROMPT_TIMEOUT: Duration = Duration::from_secs(60);
const POLL_INTERVAL: Duration = Duration::from_millis(200);

pub(in crate::transport::oauth::keychain) fn access(account: &str, access: &Access) -> Result<Option<Vec<u8>>, String> {
    let bus = address(|name| env::var(name).ok().filter(|value| !value.is_empty()))?;
    let done = Service::connect(&bus).and_then(|service| match access {
        Access::Read => service.read(account),
        Access::Write(key) => service.write(account, key).map(|()| None),
    });
    done.map_err(|error| error.message().or(error.name()).unwrap_or("the session bus gave no reason").to_owned())
}

/// The address of the session bus. Hosts start servers without most variables, so it is also sought
/// where systemd puts it. A system without one costs a look at a file.
fn address(variable: impl Fn(&str) -> Option<String>) -> Result<String, String> {
    if let Some(address) = variable("DBUS_SESSION_BUS_ADDRESS") {
        return Ok(address);
    }
    let folder = variable("XDG_RUNTIME_DIR").map(PathBuf::from);
    let folder = folder.unwrap_or_else(|| format!("/run/user/{}", rustix::process::getuid().as_raw()).into());
    let socket = folder.join("bus");
    match socket.exists() {
        true => Ok(format!("unix:path={}", escaped(&socket.to_string_lossy()))),
        false => Err(format!(
            "there is no session bus (DBUS_SESSION_BUS_ADDRESS is not set, and {} does not exist)",
            socket.display()
        )),
    }
}

/// A value in an address (D-Bus Specification, "Server Addresses").
fn escaped(value: &str) -> String {
    let byte = |byte: u8| match byte {
        b'-' | b'_' | b'/' | b'\\' | b'.' | b'*' => char::from(byte).to_string(),
        _ if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
        _ => format!("%{byte:02x}"),
    };
    value.bytes().map(byte).collect()
}

/// Messages are read and written one by one: the typed interface of the crate has 0.1 MB more code.
struct Service {
    channel: Channel,
    session: Path<'static>,
}

impl Service {
    fn connect(bus: &str) -> Result<Self, Error> {
        let mut channel = Channel::open_private(bus)?;
        channel.register()?;
        let mut service = Self { channel, session: NONE.into() };
        // Others of the same user can ask for the secret itself, so its way is not encrypted.
        let begun = service.call(ROOT, (SERVICE, "OpenSession"), |to| {
            to.append("plain");
            to.append_variant(&"s".into(), |to| to.append(""));
        })?;
        service.session = second(&begun)?;
        Ok(service)
    }

    fn read(&self, account: &str) -> Result<Option<Vec<u8>>, Error> {
        let found = self.call(ROOT, (SERVICE, "SearchItems"), |to| append_attributes(to, account))?;
        let (open, locked): (Vec<Path<'_>>, Vec<Path<'_>>) = found.read2()?;
        let item = match (open.first(), locked.first()) {
            (Some(item), _) => item,
            (None, Some(item)) => {
                self.unlock(item)?;
                item
            }
            (None, None) => return Ok(None),
        };
        let found = self.call(item, (ITEM, "GetSecret"), |to| to.append(&self.session))?;
        // Its session, the parameters of its encryption, the value and its type.
        let mut secret = found.iter_init().recurse(ArgType::Struct).ok_or_else(unexpected)?;
        secret.next();
        secret.next();
        let text: Vec<u8> = secret.read()?;
        // Keychains show secrets as text.
        Ok(Some(STANDARD.decode(text).unwrap_or_default()))
    }

    fn write(&self, account: &str, key: &[u8]) -> Result<(), Error> {
        let found = self.call(ROOT, (SERVICE, "ReadAlias"), |to| to.append("default"))?;
        let collection: Path<'_> = found.read1()?;
        if &*collection == NONE {
            return Err(Error::new_failed("it has no default collection"));
        }
        self.unlock(&collection)?;
        let created = self.call(&collection, (COLLECTION, "CreateItem"), |to| {
            to.append_dict(&"s".into(), &"v".into(), |to| {
                to.append_dict_entry(|to| {
                    to.append(format!("{ITEM}.Label"));
                    to.append_variant(&"s".into(), |to| to.append(format!("Trunkline: key of {account}")));
                });
                to.append_dict_entry(|to| {
                    to.append(format!("{ITEM}.Attributes"));
                    to.append_variant(&"a{ss}".into(), |to| append_attributes(to, account));
                });
            });
            to.append_struct(|to| {
                to.append(&self.session);
                to.append(Vec::<u8>::new());
                to.append(STANDARD.encode(key).into_bytes());
                to.append("text/plain");
            });
            to.append(true);
        })?;
        self.agree(&second(&created)?)
    }

    /// Unlocks an object, if the user has not done so at the login.
    fn unlock(&self, object: &Path<'_>) -> Result<(), Error> {
        let done = self.call(ROOT, (SERVICE, "Unlock"), |to| to.append_array(&"o".into(), |to| to.append(object)))?;
        self.agree(&second(&done)?)
    }

    /// Waits for the dialog of the keychain, if it needs one.
    fn agree(&self, prompt: &Path<'_>) -> Result<(), Error> {
        if &**prompt == NONE {
            return Ok(());
        }
        if ["DISPLAY", "WAYLAND_DISPLAY"].iter().all(|name| env::var_os(name).is_none_or(|value| value.is_empty())) {
            return Err(Error::new_failed("it is locked, and there is no display for its dialog"));
        }
        let rule = format!("type='signal',interface='{PROMPT}',member='Completed',path='{prompt}'");
        self.call_to(BUS, "/org/freedesktop/DBus", (BUS, "AddMatch"), |to| to.append(&rule))?;
        self.call(prompt, (PROMPT, "Prompt"), |to| to.append(""))?;
        let deadline = Instant::now() + PROMPT_TIMEOUT;
        while Instant::now() < deadline {
            let Some(message) = self.channel.blocking_pop_message(POLL_INTERVAL)? else { continue };
            let is_completed = message.member().is_some_and(|member| &*member == "Completed");
            if !is_completed || message.path().as_ref() != Some(prompt) {
                continue;
            }
            return match message.read1()? {
                false => Ok(()),
                true => Err(Error::new_failed("it is locked, and its dialog was dismissed")),
            };
        }
        Err(Error::new_failed("it is locked, and nobody answered its dialog"))
    }

    fn call(
        &self,
        object: &str,
        method: (&str, &str),
        arguments: impl FnOnce(&mut IterAppend<'_>),
    ) -> Result<Message, Error> {
        self.call_to(NAME, object, method, arguments)
    }

    fn call_to(
        &self,
        name: &str,
        object: &str,
        (interface, method): (&str, &str),
        arguments: impl FnOnce(&mut IterAppend<'_>),
    ) -> Result<Message, Error> {
        let message = Message::new_method_call(name, object, interface, method);
        let mut message = message.map_err(|error| Error::new_failed(&error))?;
        arguments(&mut IterAppend::new(&mut message));
        self.channel.send_with_reply_and_block(message, CALL_TIMEOUT)
    }
}

/// The object after the first value.
fn second(message: &Message) -> Result<Path<'static>, Error> {
    let mut values = message.iter_init();
    values.next();
    Ok(values.read::<Path<'_>>()?.into_static())
}

fn unexpected() -> Error {
    Error::new_failed("its answer has another form")
}

/// Appends the attributes that tell the item of an account from all others.
fn append_attributes(to: &mut IterAppend<'_>, account: &str) {
    to.append_dict(&"s".into(), &"s".into(), |to| {
        for (name, value) in [("application", "trunkline"), ("folder", account)] {
            to.append_dict_entry(|to| {
                to.append(name);
                to.append(value);
            });
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bus_is_found_by_its_variable_or_its_socket() {
        let name = std::process::id();
        let folder = env::temp_dir().join(format!("trunkline bus {name}"));
        std::fs::create_dir_all(&folder).unwrap();
        let found = |given: &[(&str, &str)]| {
            let variable = |name: &str| given.iter().find(|(of, _)| *of == name).map(|(_, value)| (*value).to_owned());
            address(variable)
        };
        let given = [("XDG_RUNTIME_DIR", folder.to_str().unwrap())];
        let missing = found(&given).unwrap_err();
        assert!(missing.contains("DBUS_SESSION_BUS_ADDRESS") && missing.contains("bus does not exist"), "{missing}");
        std::fs::write(folder.join("bus"), "").unwrap();
        let place = folder.join("bus").to_str().unwrap().replace(' ', "%20");
        assert_eq!(found(&given).unwrap(), format!("unix:path={place}"));
        assert_eq!(found(&[given[0], ("DBUS_SESSION_BUS_ADDRESS", "unix:path=/a")]).unwrap(), "unix:path=/a");
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_bus_that_has_ended_is_named() {
        let error = Service::connect("unix:path=/nonexistent/bus").err().unwrap();
        assert!(error.message().is_some_and(|message| message.contains("/nonexistent/bus")), "{error}");
    }
}
