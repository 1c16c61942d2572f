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
export { Client, type ClientEvents, type ConnectOptions, type Notification } from "./client.js";
export { type ChildProcess, type ConnectTarget, type RemoteServer } from "./connection.js";
export * from "./generated/errors.js";
export { ToolError } from "./errors.js";
export { type CallOptions, type ClientRequestOptions, type RequestOptions } from "./requests.js";
export { assistant, audio, image, link, resource, text, user } from "./content.js";
export {
  InputRequired,
  elicit,
  elicitUrl,
  roots,
  sample,
  type ElicitResult,
  type ElicitUrlResult,
  type FormContent,
} from "./client-requests.js";
export { setLogger, type Logger, type LogLevel, type LogRecord } from "./log.js";
export { type Arguments, type JsonSchema, type OutputInput, type Schema } from "./schema/convert.js";
export { type StandardSchemaV1 } from "./schema/standard-schema.js";
export type * from "./generated/model.js";
export { type Category, type InputRequest, type NotificationParams } from "./generated/operations.js";
