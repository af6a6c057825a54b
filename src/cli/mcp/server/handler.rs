//! The requests of the protocol: what the server is, its tools, and its resources.

use super::{PROGRESS, Server};
use crate::cli::mcp::answer::Answer;
use crate::cli::mcp::jobs::Lane;
use crate::cli::mcp::{limits, resources, tools};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CustomRequest, CustomResult, ErrorCode, ErrorData,
    Implementation, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
    PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult,
    ResourceContents, ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};

const INSTRUCTIONS: &str = "lab judges a CUDA or Python kernel against an independent reference and against the incumbent, the kernel in \
    HEAD. Edit the kernel's file, call judge, read `summary` and `next`, then keep or discard with a message, and go on. Decide every \
    run before the next edit. Give a hypothesis and a lesson: the history keeps them. Figures come from lab's records only. A call \
    that takes longer than 45 s answers with a job: call wait. lab://agent-guide is the contract of the loop, `lab auto`.";

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_resources()
            .build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("lab", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools::all()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let answer = self
            .call(&request.name, request.arguments, &context)
            .await?;
        Ok(answer.into_result().into())
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult::with_all_items(resources::list()))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(
            resources::templates(),
        ))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let mut uri = request.uri;
        let Some(named) = resources::parse(&uri) else {
            limits::cut(&mut uri, PROGRESS);
            let why = format!(
                "there is no resource {uri}: lab://run/N/run.log, lab://run/N/diff, lab://results.tsv, lab://agent-guide"
            );
            return Err(ErrorData::resource_not_found(why, None));
        };
        let workplace = self.workplace.clone();
        let (tell, told) = tokio::sync::oneshot::channel();
        let job = self.jobs.add(Lane::Reads, "resource", move |_| {
            let _ = tell.send(resources::read(|| workplace.open(), named));
            Answer::new("read", "", ())
        });
        let failed = |why: String| ErrorData::new(ErrorCode::INTERNAL_ERROR, why, None);
        let job = job.map_err(|error| failed(format!("{error:#}")))?;
        tokio::select! {
            () = job.wait() => {}
            () = context.ct.cancelled() => job.control.end(),
            () = self.jobs.closed() => {}
        }
        match told.await {
            Ok(Ok(text)) => {
                Ok(ReadResourceResult::new(vec![ResourceContents::text(text, uri)]).into())
            }
            Ok(Err(error)) => Err(ErrorData::resource_not_found(format!("{error:#}"), None)),
            Err(_) => Err(failed(format!("{uri} was not read: the server is ending"))),
        }
    }

    /// Also gets requests of the protocol whose parameters are wrong.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let mut method = request.method;
        limits::cut(&mut method, PROGRESS);
        Err(match method.as_str() {
            "tools/call" => {
                let why = "the parameters of tools/call are wrong: `name` is a string, `arguments` an object";
                ErrorData::new(ErrorCode::INVALID_PARAMS, why, None)
            }
            "resources/read" => ErrorData::new(
                ErrorCode::INVALID_PARAMS,
                "the parameters of resources/read are wrong: `uri` is a string",
                None,
            ),
            _ => ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method, None),
        })
    }
}
