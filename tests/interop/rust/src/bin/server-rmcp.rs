//! The official Rust SDK, over stdio.

use rmcp::{
    ErrorData, Json, ServerHandler, ServiceExt,
    handler::server::wrapper::Parameters,
    model::{ServerCapabilities, ServerConfig},
    tool, tool_handler, tool_router,
    transport::stdio,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Clone)]
struct Server;

#[derive(Deserialize, JsonSchema)]
struct Message {
    message: String,
}

#[derive(Deserialize, JsonSchema)]
struct Numbers {
    a: i64,
    b: i64,
}

#[derive(Serialize, JsonSchema)]
struct Sum {
    sum: i64,
}

#[tool_router]
impl Server {
    #[tool(description = "Says it again.")]
    async fn echo(&self, Parameters(Message { message }): Parameters<Message>) -> String {
        message
    }

    #[tool(description = "Adds two numbers.")]
    async fn add(&self, Parameters(Numbers { a, b }): Parameters<Numbers>) -> Json<Sum> {
        Json(Sum { sum: a + b })
    }

    #[tool(description = "Always fails.")]
    async fn fail(&self) -> Result<String, ErrorData> {
        Err(ErrorData::internal_error("this tool always fails", None))
    }
}

#[tool_handler]
impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    Server.serve(stdio()).await?.waiting().await?;
    Ok(())
}
