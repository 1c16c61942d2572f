export { Server } from "./server.js";
export { type AuthOptions, type HttpOptions, type ListenOptions, type MountOptions, type ServerInfo, type ServerOptions } from "./options.js";
export { TokenError, type AccessToken, type Identity, type TokenVerifier } from "./auth.js";
export { type Registration } from "./features/feature.js";
export { type Handler, type ToolConfig } from "./features/tool.js";
export { type GivenContents, type ResourceConfig, type ResourceHandler, type Variables } from "./features/resource.js";
export { type PromptArguments, type PromptConfig, type PromptHandler } from "./features/prompt.js";
export { type SkillFiles, type SkillOptions } from "./features/skill.js";
export { type CompletionHandler } from "./features/completion.js";
export { type Page, type Provider } from "./features/provider.js";
export { type Middleware, type MiddlewareRequest, type Next } from "./features/middleware.js";
export { type FetchHandler } from "./http-mount/fetch-handler.js";
export { type NodeHandler } from "./http-mount/node-handler.js";
export { type Context } from "./context.js";
export { type Listener } from "./listener.js";
export {
  Client,
  type CallOptions,
  type ChildProcess,
  type ClientEvents,
  type ConnectOptions,
  type ConnectTarget,
  type Revision,
} from "./client.js";
export {
  BlockingError,
  BusyError,
  CancelledError,
  ClosedError,
  ForkedError,
  InternalError,
  InvalidArgumentError,
  ProtocolError,
  TimeoutError,
  ToolError,
  TransportError,
  TrunklineError,
  VersionError,
  type ErrorKind,
} from "./errors.js";
export { type ClientRequestOptions, type RequestOptions } from "./requests.js";
export { assistant, audio, image, link, resource, text, user } from "./content.js";
export {
  InputRequired,
  elicit,
  elicitUrl,
  roots,
  sample,
  type CreateMessageResult,
  type ElicitResult,
  type ElicitUrlResult,
  type FormContent,
  type InputRequest,
  type Root,
  type SamplingContent,
  type SamplingMessage,
  type SamplingParams,
  type ToolResultContent,
  type ToolUseContent,
} from "./client-requests.js";
export { setLogger, type Logger, type LogLevel, type LogRecord } from "./log.js";
export { type Arguments, type JsonSchema, type OutputInput, type Schema } from "./schema/convert.js";
export { type StandardSchemaV1 } from "./schema/standard-schema.js";
export {
  type Annotations,
  type AudioContent,
  type CacheScope,
  type CallToolResult,
  type Category,
  type Completion,
  type CompletionReference,
  type ContentBlock,
  type EmbeddedResource,
  type Icon,
  type ImageContent,
  type Implementation,
  type JsonObject,
  type LoggingLevel,
  type Notification,
  type Progress,
  type Prompt,
  type PromptArgument,
  type PromptMessage,
  type Resource,
  type ResourceContents,
  type ResourceLink,
  type ResourceTemplate,
  type Role,
  type TaskSupport,
  type TextContent,
  type Tool,
  type ToolAnnotations,
  type ToolPage,
} from "./model.js";
