//! Where the files of hosts are.

use super::{
    host::{Folder, Host, Place, System},
    table::HOSTS,
};
use clap::ValueEnum;
use std::{
    fs,
    path::{Path, PathBuf},
};

/// The readers of a file.
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// All projects of this user.
    User,
    /// The project in the current folder.
    Project,
}

impl Scope {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Project => "project",
        }
    }
}

/// A file that a host reads, if it exists.
#[derive(Debug, Clone)]
pub(crate) struct File {
    pub(crate) host: &'static Host,
    pub(crate) scope: Scope,
    pub(crate) path: PathBuf,
}

impl File {
    /// How `host:name` on the command line names the host of this file.
    pub(crate) fn label(&self) -> String {
        match (self.scope, self.host.name) {
            (Scope::User, name) => name.to_owned(),
            // Several hosts read this file.
            (Scope::Project, "claude-code") => "project".to_owned(),
            (Scope::Project, name) => format!("project-{name}"),
        }
    }
}

/// The machine, as far as it decides where files are.
pub(crate) struct Machine<'a> {
    pub(crate) system: System,
    /// Environment variables.
    pub(crate) variable: &'a dyn Fn(&str) -> Option<String>,
}

/// An environment variable of this process, if it is not empty.
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

impl Machine<'static> {
    /// This machine.
    pub(crate) fn this() -> Self {
        let system = match () {
            () if cfg!(windows) => System::Windows,
            () if cfg!(target_os = "macos") => System::Mac,
            () => System::Unix,
        };
        Self { system, variable: &variable }
    }
}

impl Machine<'_> {
    /// The files of all hosts: those of the current folder first, as they take precedence. In the
    /// user's folder, they are those of the user.
    pub(crate) fn all_files(&self) -> Vec<File> {
        let of = |scope| HOSTS.iter().flat_map(move |host| self.files(host, scope)).collect::<Vec<_>>();
        let users = of(Scope::User);
        let is_users = |file: &File| {
            let path = fs::canonicalize(&file.path).ok();
            path.is_some_and(|path| {
                users.iter().any(|users| fs::canonicalize(&users.path).is_ok_and(|user| user == path))
            })
        };
        let mut all = of(Scope::Project);
        all.retain(|file| !is_users(file));
        all.extend(users);
        all
    }

    /// The files of a host, the preferred one first.
    pub(crate) fn files(&self, host: &'static Host, scope: Scope) -> Vec<File> {
        let paths: Vec<PathBuf> = match scope {
            Scope::Project => host.project.iter().map(PathBuf::from).collect(),
            Scope::User => host.user.iter().filter_map(|place| self.path(place)).collect(),
        };
        paths.into_iter().map(|path| File { host, scope, path }).collect()
    }

    /// The user's folder.
    pub(crate) fn home(&self) -> Option<PathBuf> {
        self.folder_in(if self.system == System::Windows { "USERPROFILE" } else { "HOME" })
    }

    fn path(&self, place: &Place) -> Option<PathBuf> {
        if !place.systems.contains(&self.system) {
            return None;
        }
        let folder = match place.folder {
            Folder::Home => self.home(),
            Folder::Variable(name) => self.folder_in(name),
            Folder::Config => self.config(),
            Folder::Settings => match self.system {
                System::Windows => self.folder_in("APPDATA"),
                System::Mac => self.home().map(|home| home.join("Library/Application Support")),
                System::Unix => self.config(),
            },
        };
        Some(folder?.join(place.path))
    }

    fn config(&self) -> Option<PathBuf> {
        self.folder_in("XDG_CONFIG_HOME").or_else(|| Some(self.home()?.join(".config")))
    }

    fn folder_in(&self, name: &str) -> Option<PathBuf> {
        (self.variable)(name).filter(|folder| !folder.is_empty()).map(PathBuf::from)
    }

    /// Returns whether a host seems to be installed: its file exists, or the folder that only it
    /// has.
    pub(crate) fn has(&self, file: &File) -> bool {
        let folder = file.path.parent().filter(|folder| self.home().as_deref() != Some(*folder));
        file.path.is_file() || folder.is_some_and(Path::is_dir)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(system: System, variables: &[(&str, &str)]) -> Vec<String> {
        let variable =
            |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        let machine = Machine { system, variable: &variable };
        let first = |host| machine.files(host, Scope::User).into_iter().next();
        let shown = |file: File| format!("{} {}", file.host.name, file.path.display().to_string().replace('\\', "/"));
        HOSTS.iter().filter_map(first).map(shown).collect()
    }

    #[test]
    fn the_files_of_the_user_are_where_each_system_has_them() {
        assert_eq!(
            paths(System::Unix, &[("HOME", "/home/ada")]),
            [
                "claude-desktop /home/ada/.config/Claude/claude_desktop_config.json",
                "claude-code /home/ada/.claude.json",
                "cursor /home/ada/.cursor/mcp.json",
                "vscode /home/ada/.config/Code/User/mcp.json",
                "codex /home/ada/.codex/config.toml",
                "gemini /home/ada/.gemini/settings.json",
                "windsurf /home/ada/.codeium/windsurf/mcp_config.json",
                "zed /home/ada/.config/zed/settings.json",
                "goose /home/ada/.config/goose/config.yaml",
                "opencode /home/ada/.config/opencode/opencode.json",
            ]
        );
        assert_eq!(
            paths(System::Mac, &[("HOME", "/Users/ada")]),
            [
                "claude-desktop /Users/ada/Library/Application Support/Claude/claude_desktop_config.json",
                "claude-code /Users/ada/.claude.json",
                "cursor /Users/ada/.cursor/mcp.json",
                "vscode /Users/ada/Library/Application Support/Code/User/mcp.json",
                "codex /Users/ada/.codex/config.toml",
                "gemini /Users/ada/.gemini/settings.json",
                "windsurf /Users/ada/.codeium/windsurf/mcp_config.json",
                "zed /Users/ada/.config/zed/settings.json",
                "goose /Users/ada/.config/goose/config.yaml",
                "opencode /Users/ada/.config/opencode/opencode.json",
            ]
        );
        assert_eq!(
            paths(System::Windows, &[("USERPROFILE", "C:/Users/ada"), ("APPDATA", "C:/Users/ada/AppData/Roaming")]),
            [
                "claude-desktop C:/Users/ada/AppData/Roaming/Claude/claude_desktop_config.json",
                "claude-code C:/Users/ada/.claude.json",
                "cursor C:/Users/ada/.cursor/mcp.json",
                "vscode C:/Users/ada/AppData/Roaming/Code/User/mcp.json",
                "codex C:/Users/ada/.codex/config.toml",
                "gemini C:/Users/ada/.gemini/settings.json",
                "windsurf C:/Users/ada/.codeium/windsurf/mcp_config.json",
                "zed C:/Users/ada/AppData/Roaming/Zed/settings.json",
                "goose C:/Users/ada/AppData/Roaming/Block/goose/config/config.yaml",
                "opencode C:/Users/ada/.config/opencode/opencode.json",
            ]
        );
    }

    #[test]
    fn variables_move_the_files() {
        let moved = [
            ("HOME", "/home/ada"),
            ("XDG_CONFIG_HOME", "/settings"),
            ("CODEX_HOME", "/codex"),
            ("CLAUDE_CONFIG_DIR", "/claude"),
        ];
        let paths = paths(System::Unix, &moved);
        for path in [
            "claude-desktop /settings/Claude/claude_desktop_config.json",
            "claude-code /claude/.claude.json",
            "codex /codex/config.toml",
            "zed /settings/zed/settings.json",
        ] {
            assert!(paths.contains(&path.to_owned()), "{path}: {paths:?}");
        }
    }

    #[test]
    fn without_the_folder_of_the_user_there_are_no_files() {
        assert_eq!(paths(System::Unix, &[("HOME", "")]), [""; 0]);
        assert_eq!(paths(System::Windows, &[]), [""; 0]);
    }
}
