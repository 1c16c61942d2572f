//! The store over a keychain in memory, which may be out of reach.

use super::*;
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use std::{collections::HashMap, fs, sync::atomic::AtomicUsize};

/// A keychain, and a folder that is removed on drop.
struct Desk {
    folder: PathBuf,
    secrets: Arc<std::sync::Mutex<HashMap<String, Vec<u8>>>>,
    is_there: Arc<AtomicBool>,
    asked: Arc<AtomicUsize>,
    notices: Arc<std::sync::Mutex<Vec<String>>>,
}

impl Desk {
    fn new() -> Self {
        let name = URL_SAFE_NO_PAD.encode(random::bytes::<8>().unwrap());
        Self {
            folder: std::env::temp_dir().join(format!("trunkline-keychain-{name}")),
            secrets: Arc::default(),
            is_there: Arc::new(AtomicBool::new(true)),
            asked: Arc::default(),
            notices: Arc::default(),
        }
    }

    /// The store of a process.
    fn store(&self) -> KeychainStore {
        let (secrets, is_there, asked) =
            (Arc::clone(&self.secrets), Arc::clone(&self.is_there), Arc::clone(&self.asked));
        let system = move |account: &str, access: &Access| {
            asked.fetch_add(1, Ordering::Relaxed);
            if !is_there.load(Ordering::Relaxed) {
                return Err("there is no session bus".to_owned());
            }
            // Others may be as fast.
            std::thread::sleep(Duration::from_millis(20));
            let mut secrets = secrets.lock().unwrap();
            match access {
                Access::Read => Ok(secrets.get(account).cloned()),
                Access::Write(key) => Ok(secrets.insert(account.to_owned(), key.to_vec())),
            }
        };
        let notices = Arc::clone(&self.notices);
        KeychainStore::over(self.files(), Arc::new(system))
            .on_notice(move |notice| notices.lock().unwrap().push(notice.to_owned()))
    }

    fn files(&self) -> FileStore {
        FileStore::new(&self.folder)
    }

    fn notices(&self) -> Vec<String> {
        self.notices.lock().unwrap().clone()
    }

    /// Everything that is in the files.
    fn text(&self) -> String {
        let files = fs::read_dir(&self.folder).unwrap().map(|file| file.unwrap().path());
        files.map(|file| fs::read_to_string(file).unwrap()).collect()
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

#[tokio::test]
async fn auc_46_credentials_are_sealed_for_every_process_that_reaches_the_keychain() {
    let desk = Desk::new();
    let (one, other) = (desk.store(), desk.store());
    assert_eq!(one.get("a").await.unwrap(), None);
    one.remove("a").await.unwrap();
    assert_eq!(desk.asked.load(Ordering::Relaxed), 0, "the keychain was asked without need");
    one.set("a", "secret-1").await.unwrap();
    assert_eq!(other.get("a").await.unwrap().as_deref(), Some("secret-1"));
    assert!(!desk.text().contains("secret-1"), "{}", desk.text());
    other.set("a", "secret-2").await.unwrap();
    assert_eq!(one.get("a").await.unwrap().as_deref(), Some("secret-2"));
    one.remove("a").await.unwrap();
    assert_eq!(other.get("a").await.unwrap(), None);
    assert_eq!((desk.secrets.lock().unwrap().len(), desk.notices()), (1, Vec::new()));
}

#[tokio::test]
async fn processes_that_start_at_once_create_one_key() {
    let desk = Desk::new();
    let stores: Vec<_> = (0..5).map(|_| desk.store()).collect();
    let names: Vec<_> = (0..5).map(|number| number.to_string()).collect();
    let writes: Vec<_> = stores.iter().zip(&names).map(|(store, name)| tokio::spawn(store.set(name, name))).collect();
    for write in writes {
        write.await.unwrap().unwrap();
    }
    for name in &names {
        assert_eq!(desk.store().get(name).await.unwrap().as_ref(), Some(name));
    }
}

#[tokio::test]
async fn credentials_in_files_are_used_and_sealed_when_they_are_read() {
    let desk = Desk::new();
    desk.files().set("a", r#"{"access_token":"old"}"#).await.unwrap();
    assert_eq!(desk.store().get("a").await.unwrap().as_deref(), Some(r#"{"access_token":"old"}"#));
    assert!(!desk.text().contains("old"), "{}", desk.text());
    assert_eq!(desk.store().get("a").await.unwrap().as_deref(), Some(r#"{"access_token":"old"}"#));
    // A process that renews a token has its lock meanwhile.
    desk.files().set("b", "plain").await.unwrap();
    let store = desk.store();
    let _renewing = store.lock("b").await.unwrap();
    assert_eq!(store.get("b").await.unwrap().as_deref(), Some("plain"));
    store.set("b", "renewed").await.unwrap();
    assert_eq!(desk.store().get("b").await.unwrap().as_deref(), Some("renewed"));
}

#[tokio::test]
async fn a_renewal_is_not_lost_to_a_process_that_seals_the_old_token() {
    let desk = Desk::new();
    for round in 0..20 {
        let (name, new) = (format!("token {round}"), format!("new {round}"));
        desk.files().set(&name, "old").await.unwrap();
        let (reader, writer) = (desk.store(), desk.store());
        let reading = tokio::spawn(async move { reader.get(&name).await });
        writer.set(&format!("token {round}"), &new).await.unwrap();
        reading.await.unwrap().unwrap();
        assert_eq!(desk.store().get(&format!("token {round}")).await.unwrap(), Some(new));
    }
}

#[tokio::test]
async fn without_a_keychain_files_serve_with_one_notice() {
    let desk = Desk::new();
    desk.is_there.store(false, Ordering::Relaxed);
    let store = desk.store();
    for name in ["a", "b"] {
        store.set(name, name).await.unwrap();
        assert_eq!(store.get(name).await.unwrap().as_deref(), Some(name));
    }
    let notices = desk.notices();
    let [notice] = &notices[..] else { panic!("{notices:?}") };
    assert!(notice.contains("there is no session bus") && notice.contains(desk.folder.to_str().unwrap()), "{notice}");
    assert_eq!(desk.asked.load(Ordering::Relaxed), 1, "a keychain out of reach was asked again");
    // Neither a renewal nor a logout is worth a notice.
    let later = desk.store();
    later.set("a", "renewed").await.unwrap();
    later.remove("b").await.unwrap();
    assert_eq!(desk.files().get("a").await.unwrap().as_deref(), Some("renewed"));
    assert_eq!(desk.notices().len(), 1);
}

#[tokio::test]
async fn sealed_credentials_wait_for_the_keychain_or_a_login() {
    let desk = Desk::new();
    desk.store().set("a", "sealed").await.unwrap();
    desk.store().set("b", "sealed").await.unwrap();
    desk.is_there.store(false, Ordering::Relaxed);
    let away = desk.store();
    assert_eq!(away.get("a").await.unwrap(), None);
    assert!(desk.notices()[0].contains("replaced or removed, but neither used nor revoked"), "{:?}", desk.notices());
    away.set("b", "of a login here").await.unwrap();
    desk.is_there.store(true, Ordering::Relaxed);
    let back = desk.store();
    assert_eq!(back.get("a").await.unwrap().as_deref(), Some("sealed"));
    assert_eq!(back.get("b").await.unwrap().as_deref(), Some("of a login here"));
    // A user may have deleted the item: the next login is sealed with a new key.
    desk.secrets.lock().unwrap().clear();
    assert_eq!(desk.store().get("a").await.unwrap(), None);
    desk.store().set("a", "new").await.unwrap();
    assert_eq!(desk.store().get("a").await.unwrap().as_deref(), Some("new"));
}

#[tokio::test]
async fn a_process_without_the_keychain_finds_out_which_credentials_to_remove() {
    let desk = Desk::new();
    let (server, last) = ("server https://mcp.example", r#"{"issuer":"https://as.example"}"#);
    desk.store().set("tokens https://as.example", "sealed").await.unwrap();
    desk.store().set(server, last).await.unwrap();
    desk.is_there.store(false, Ordering::Relaxed);
    let away = desk.store();
    assert_eq!(away.get(server).await.unwrap().as_deref(), Some(last));
    assert_eq!(desk.notices(), [""; 0]);
    away.remove("tokens https://as.example").await.unwrap();
    away.remove(server).await.unwrap();
    assert_eq!(desk.files().get("tokens https://as.example").await.unwrap(), None);
    // A look at it is no reason to encrypt it.
    desk.is_there.store(true, Ordering::Relaxed);
    desk.files().set(server, last).await.unwrap();
    desk.store().get(server).await.unwrap();
    assert_eq!(desk.files().get(server).await.unwrap().as_deref(), Some(last));
}

#[tokio::test]
async fn each_folder_has_its_own_key() {
    let desk = Desk::new();
    desk.store().set("a", "x").await.unwrap();
    let accounts: Vec<_> = desk.secrets.lock().unwrap().keys().cloned().collect();
    assert_eq!(accounts, [desk.folder.display().to_string()]);
    desk.secrets.lock().unwrap().insert(accounts[0].clone(), b"of another form".to_vec());
    assert_eq!(desk.store().get("a").await.unwrap(), None);
    assert!(desk.notices()[0].contains("another form"), "{:?}", desk.notices());
}
