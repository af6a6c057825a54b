//! `lab mcp`: an MCP server over stdin and stdout. A client can do through it what a person can do
//! with the keys, and no more.
//!
//! The protocol and its waiting run on the main thread. The lab's own work blocks, so it runs on
//! the threads of [`jobs`].

mod answer;
mod history;
mod jobs;
mod limits;
mod profile;
mod prompts;
mod resources;
mod schema;
mod server;
mod sweep;
mod tools;
mod transport;
mod work;

use super::{KernelArg, here};
use anyhow::{Context, Result};
use clap::Args;
use jobs::Jobs;
use lab_system::lifetime;
use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;
use server::{Server, Workplace};
use std::process::ExitCode;
use std::sync::Arc;
use transport::Stdio;

#[derive(Args, Debug)]
pub struct McpArgs {
    #[command(flatten)]
    kernel: KernelArg,
}

/// Serves one client until it closes stdin or a signal comes. The runs that the client started end
/// then, each with its record.
pub fn main(options: &McpArgs) -> Result<ExitCode> {
    let workplace = Workplace {
        from: here()?,
        kernel: options.kernel.kernel.clone(),
    };
    let jobs = Arc::new(Jobs::start().context("the server cannot start")?);
    let of_signals = Arc::clone(&jobs);
    lifetime::end_on_signals(move |_| of_signals.close())?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .context("cannot start the server's runtime")?;
    let (stdio, output) = Stdio::open(Arc::clone(&jobs)).context("cannot read stdin")?;
    let server = Server::new(workplace, Arc::clone(&jobs));
    let served = runtime.block_on(async {
        match server.serve(stdio).await {
            Ok(running) => running
                .waiting()
                .await
                .map(drop)
                .map_err(anyhow::Error::from),
            // A client that goes away before it has asked for anything.
            Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            Err(error) => Err(error.into()),
        }
    });
    jobs.close();
    runtime.block_on(jobs.ended());
    drop(runtime);
    output.finish();
    served
        .context("the MCP client broke the protocol")
        .map(|()| ExitCode::SUCCESS)
}
