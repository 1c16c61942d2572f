//! All that is known of each host: one row, with the page that says so.

use super::host::{ALL, Folder, Host, Place, Reference, Shape, System};
use crate::edit::Format;

const fn everywhere(folder: Folder, path: &'static str) -> Place {
    Place { systems: ALL, folder, path }
}

/// All hosts.
pub(crate) const HOSTS: &[Host] = &[
    // https://modelcontextprotocol.io/docs/develop/connect-local-servers: macOS and Windows. On
    // Linux, builds of the community read the folder that Electron has for settings. Remote servers
    // are added in its settings, not in this file.
    Host {
        name: "claude-desktop",
        title: "Claude Desktop",
        format: Format::Json,
        key: &["mcpServers"],
        shape: Shape::Usual { types: false, url: None, cwd: false },
        reference: Reference::None,
        user: &[everywhere(Folder::Settings, "Claude/claude_desktop_config.json")],
        project: &[],
    },
    // https://code.claude.com/docs/en/mcp: scopes, and "Environment variable expansion in
    // .mcp.json"; https://code.claude.com/docs/en/env-vars: CLAUDE_CONFIG_DIR.
    Host {
        name: "claude-code",
        title: "Claude Code",
        format: Format::Json,
        key: &["mcpServers"],
        shape: Shape::Usual { types: true, url: Some("url"), cwd: false },
        reference: Reference::Dollar,
        user: &[
            everywhere(Folder::Variable("CLAUDE_CONFIG_DIR"), ".claude.json"),
            everywhere(Folder::Home, ".claude.json"),
        ],
        project: &[".mcp.json"],
    },
    // https://cursor.com/docs/mcp: "Configuration locations", "Config interpolation".
    Host {
        name: "cursor",
        title: "Cursor",
        format: Format::Json,
        key: &["mcpServers"],
        shape: Shape::Usual { types: false, url: Some("url"), cwd: false },
        reference: Reference::DollarEnv,
        user: &[everywhere(Folder::Home, ".cursor/mcp.json")],
        project: &[".cursor/mcp.json"],
    },
    // https://code.visualstudio.com/docs/agents/reference/mcp-configuration and
    // https://code.visualstudio.com/docs/reference/variables-reference: `${env:NAME}`.
    Host {
        name: "vscode",
        title: "VS Code",
        format: Format::Json,
        key: &["servers"],
        shape: Shape::Usual { types: true, url: Some("url"), cwd: true },
        reference: Reference::DollarEnv,
        user: &[everywhere(Folder::Settings, "Code/User/mcp.json")],
        project: &[".vscode/mcp.json"],
    },
    // https://developers.openai.com/codex/mcp; members: `codex-rs/config/src/mcp_types.rs`
    // of https://github.com/openai/codex. A project's file counts once the project is trusted.
    Host {
        name: "codex",
        title: "Codex",
        format: Format::Toml,
        key: &["mcp_servers"],
        shape: Shape::Codex,
        reference: Reference::Members,
        user: &[
            everywhere(Folder::Variable("CODEX_HOME"), "config.toml"),
            everywhere(Folder::Home, ".codex/config.toml"),
        ],
        project: &[".codex/config.toml"],
    },
    // https://geminicli.com/docs, "MCP servers with Gemini CLI": `httpUrl`, `$NAME` and `${NAME}`.
    Host {
        name: "gemini",
        title: "Gemini CLI",
        format: Format::Json,
        key: &["mcpServers"],
        shape: Shape::Gemini,
        reference: Reference::Dollar,
        user: &[everywhere(Folder::Home, ".gemini/settings.json")],
        project: &[".gemini/settings.json"],
    },
    // https://docs.windsurf.com/windsurf/cascade/mcp: `serverUrl`, `${env:NAME}`.
    Host {
        name: "windsurf",
        title: "Windsurf",
        format: Format::Json,
        key: &["mcpServers"],
        shape: Shape::Usual { types: false, url: Some("serverUrl"), cwd: false },
        reference: Reference::DollarEnv,
        user: &[everywhere(Folder::Home, ".codeium/windsurf/mcp_config.json")],
        project: &[],
    },
    // https://zed.dev/docs/ai/mcp: `context_servers`; https://zed.dev/docs/configuring-zed: the
    // files.
    Host {
        name: "zed",
        title: "Zed",
        format: Format::Json,
        key: &["context_servers"],
        shape: Shape::Usual { types: false, url: Some("url"), cwd: false },
        reference: Reference::None,
        user: &[
            Place { systems: &[System::Unix, System::Mac], folder: Folder::Config, path: "zed/settings.json" },
            Place { systems: &[System::Windows], folder: Folder::Settings, path: "Zed/settings.json" },
        ],
        project: &[".zed/settings.json"],
    },
    // https://block.github.io/goose/docs/guides/config-files: the file, and `extensions`.
    Host {
        name: "goose",
        title: "goose",
        format: Format::Yaml,
        key: &["extensions"],
        shape: Shape::Goose,
        reference: Reference::None,
        user: &[
            Place { systems: &[System::Unix, System::Mac], folder: Folder::Config, path: "goose/config.yaml" },
            Place { systems: &[System::Windows], folder: Folder::Settings, path: "Block/goose/config/config.yaml" },
        ],
        project: &[],
    },
    // https://opencode.ai/docs/config: the files, and `{env:NAME}`;
    // https://opencode.ai/docs/mcp-servers.
    Host {
        name: "opencode",
        title: "opencode",
        format: Format::Json,
        key: &["mcp"],
        shape: Shape::Opencode,
        reference: Reference::Braces,
        user: &[
            everywhere(Folder::Config, "opencode/opencode.json"),
            everywhere(Folder::Config, "opencode/opencode.jsonc"),
        ],
        project: &["opencode.json", "opencode.jsonc"],
    },
];
