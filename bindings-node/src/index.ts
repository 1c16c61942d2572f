export { Server, type Handler, type ListenOptions, type RegisteredTool, type ServerInfo, type ServerOptions, type ToolConfig } from "./server.js";
export { type MountOptions } from "./mount.js";
export { type FetchHandler } from "./web.js";
export { type NodeHandler } from "./middleware.js";
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
  InvalidError,
  ProtocolError,
  TimeoutError,
  ToolError,
  TransportError,
  TrunklineError,
  VersionError,
  type ErrorKind,
} from "./errors.js";
export { type RequestOptions } from "./requests.js";
export { audio, image, link, resource, text } from "./content.js";
export { setLogger, type Logger, type LogLevel, type LogRecord } from "./log.js";
export { type Arguments, type JsonSchema, type OutputInput, type Schema } from "./schema.js";
export { type StandardSchemaV1 } from "./standard.js";
export {
  type Annotations,
  type AudioContent,
  type CallToolResult,
  type ContentBlock,
  type EmbeddedResource,
  type Icon,
  type ImageContent,
  type Implementation,
  type JsonObject,
  type Notification,
  type Progress,
  type ResourceContents,
  type ResourceLink,
  type TextContent,
  type Tool,
  type ToolAnnotations,
  type ToolPage,
} from "./model.js";
