//! The commands, one file each.

pub(crate) mod bridge;
mod call;
mod complete;
mod completions;
mod configured;
mod connect;
mod dev;
mod discover;
mod inspect;
mod install;
mod list;
mod listen;
mod login;
mod logout;
mod man;
mod pack;
mod ping;
mod prompt;
mod publish;
mod read;
mod task;
mod token;
mod uninstall;

use crate::{exit::Exit, failure::Failure, output::Output};
use clap::Subcommand;

/// The commands.
#[derive(Subcommand)]
pub(crate) enum Command {
    // The largest ones are boxed.
    Bridge(Box<bridge::Bridge>),
    Dev(Box<dev::Dev>),
    Inspect(Box<inspect::Inspect>),
    List(list::List),
    Call(call::Call),
    Read(read::Read),
    Prompt(prompt::Prompt),
    Complete(complete::Complete),
    Listen(listen::Listen),
    Task(task::Task),
    Ping(ping::Ping),
    Connect(Box<connect::Connect>),
    Close(connect::Close),
    Login(Box<login::Login>),
    Logout(Box<logout::Logout>),
    Token(Box<token::Token>),
    Discover(discover::Discover),
    Install(Box<install::Install>),
    Uninstall(uninstall::Uninstall),
    Pack(pack::Pack),
    Publish(publish::Publish),
    Completions(completions::Completions),
    #[command(hide = true)]
    Man(man::Man),
}

impl Command {
    /// Returns whether it handles signals itself: a server, or a call that can be cancelled.
    pub(crate) fn handles_signals(&self) -> bool {
        match self {
            Self::Bridge(_) | Self::Dev(_) => true,
            Self::Inspect(inspect) => inspect.has_page(),
            Self::Call(call) => call.is_task(),
            _ => false,
        }
    }

    /// Runs the command. `program` is the whole command line, for its manual pages.
    pub(crate) async fn run(self, output: &Output, program: &mut clap::Command) -> Result<Exit, Failure> {
        match self {
            Self::Bridge(bridge) => bridge.run(output).await,
            Self::Dev(dev) => dev.run(output).await,
            Self::Inspect(inspect) => inspect.run(output).await,
            Self::List(list) => list.run(output).await,
            Self::Call(call) => call.run(output).await,
            Self::Read(read) => read.run(output).await,
            Self::Prompt(prompt) => prompt.run(output).await,
            Self::Complete(complete) => complete.run(output).await,
            Self::Listen(listen) => listen.run(output).await,
            Self::Task(task) => task.run(output).await,
            Self::Ping(ping) => ping.run(output).await,
            Self::Connect(connect) => connect.run(output).await,
            Self::Close(close) => close.run().await,
            Self::Login(login) => login.run(output).await,
            Self::Logout(logout) => logout.run(output).await,
            Self::Token(token) => token.run(output).await,
            Self::Discover(discover) => Ok(discover.run(output)),
            Self::Install(install) => install.run(output).await,
            Self::Uninstall(uninstall) => uninstall.run(output).await,
            Self::Pack(pack) => pack.run(output),
            Self::Publish(publish) => publish.run(output),
            Self::Completions(completions) => completions.run(),
            Self::Man(man) => man.run(program),
        }
    }
}
