package trunkline

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io/fs"
	"reflect"
	"strings"
	"unicode/utf8"
)

// AddTool adds a tool whose arguments are In and whose result is Out.
//
// The input schema is that of In: its members have the names of their json tags, and are required
// unless the tag has omitempty or omitzero, and the tag jsonschema describes them. A method
// Enum() []any lists the values of its type. A struct, or a map, as Out is also the output schema,
// and the structured content; a nil pointer to a struct is its zero value. A [Result] has content of
// its own as well. A value of a string type is text; content blocks, lists of them, and a
// *CallToolResult are returned as they are. Schemas in the descriptor take precedence; a default in
// them is not filled in.
//
// A *ToolError reports a failure to the model. Other errors are logged and hidden from the caller.
//
// Unlike those of [NewServer], errors of AddTool and of the methods that add other features are
// returned at once: a feature may be added at any time, when no later error could report it. Before
// the server is served, where an error is a bug in the program, use [Must].
func AddTool[In, Out any](server *Server, tool Tool, handle func(context.Context, *Call, In) (Out, error), options ...ToolOptions) (*Feature, error) {
	var ofInput, ofOutput error
	if tool.InputSchema == nil {
		tool.InputSchema, ofInput = inputSchema(reflect.TypeFor[In]())
	}
	isWrapped := false
	if tool.OutputSchema == nil {
		tool.OutputSchema, isWrapped, ofOutput = outputSchema(valueType(reflect.TypeFor[Out]()))
	}
	if of := valueType(reflect.TypeFor[Out]()); of != reflect.TypeFor[Out]() && (isText(of) || isContent(of)) {
		ofOutput = fmt.Errorf("the value of a Result is structured content, not text or content blocks, which are its Content: %v", of)
	}
	for name, schema := range map[string]json.RawMessage{"InputSchema": tool.InputSchema, "OutputSchema": tool.OutputSchema} {
		if len(schema) > 0 && !json.Valid(schema) {
			ofOutput = cmp.Or(ofOutput, fmt.Errorf("the %s is not JSON", name))
		}
	}
	if err := cmp.Or(ofInput, ofOutput); err != nil {
		return nil, fmt.Errorf("%w (in the tool %s)", err, tool.Name)
	}
	entry := described("tool", tool, options)
	entry["wrapOutput"] = isWrapped
	return server.add("tool", entry, taking(func(ctx context.Context, call *Call, given *In) (any, error) {
		result, err := handle(ctx, call, *given)
		if err != nil {
			return nil, err
		}
		switch both, hasBoth := allocated(result).(contentAndValue); {
		case hasBoth:
			return both.result(isWrapped)
		case isWrapped:
			return shaped{shapeValue, filled(result)}, nil
		}
		return allocated(result), nil
	}), handle)
}

// allocated is the zero value of a struct instead of a nil pointer to it, except of content.
func allocated(result any) any {
	of := reflect.TypeOf(result)
	if of == nil || of.Kind() != reflect.Pointer || of.Elem().Kind() != reflect.Struct || isContent(of) || !reflect.ValueOf(result).IsNil() {
		return result
	}
	return reflect.New(of.Elem()).Interface()
}

// returned is the result of a handler as a shape of the library.
func returned(result any, failure error) (form shape, encoded string, err error) {
	form = shapeValue
	if failure != nil {
		return form, "", failure
	}
	switch value := result.(type) {
	case shaped:
		encoded, err = encodeAny(value.value)
		return value.form, encoded, err
	case string:
		return shapeText, valid(value), nil
	case *CallToolResult, CallToolResult, *GetPromptResult, GetPromptResult, *ReadResourceResult, ReadResourceResult:
		form = shapeResult
	}
	encoded, err = encodeAny(filled(result))
	switch of := reflect.TypeOf(result); {
	case encoded == "null":
		// A nil pointer is nothing, too.
		form = shapeValue
	case isContent(of):
		form = shapeContent
	case form == shapeValue && strings.HasPrefix(strings.TrimLeft(encoded, " \t\r\n"), "{"):
		// A type that writes itself may be an object, or not be one.
		form = shapeObject
	case isText(of) && strings.HasPrefix(encoded, `"`):
		form, err = shapeText, json.Unmarshal([]byte(encoded), &encoded)
	}
	return form, encoded, err
}

// encodeAny is encode, except that nil is null.
func encodeAny(value any) (string, error) {
	encoded, err := encode(value)
	return cmp.Or(encoded, "null"), err
}

// A ResourceHandler reads a resource. The variables are those of a template. It returns a string,
// []byte, ResourceContents or a slice of them, or any other value, which becomes JSON. Nil means
// that there is no such resource.
type ResourceHandler = func(ctx context.Context, call *Call, uri string, variables map[string]string) (any, error)

// AddResource adds a resource.
func (server *Server) AddResource(resource Resource, handle ResourceHandler, options ...ResourceOptions) (*Feature, error) {
	return server.add("resource", described("resource", resource, options), reading(handle, resource.MIMEType), handle)
}

// AddResourceTemplate adds all resources whose URI matches a template.
func (server *Server) AddResourceTemplate(template ResourceTemplate, handle ResourceHandler, options ...ResourceOptions) (*Feature, error) {
	return server.add("resourceTemplate", described("resourceTemplate", template, options), reading(handle, template.MIMEType), handle)
}

func reading(handle ResourceHandler, kind string) callFunc {
	return taking(func(ctx context.Context, call *Call, given *struct {
		URI       string            `json:"uri"`
		Variables map[string]string `json:"variables"`
	}) (any, error) {
		result, err := handle(ctx, call, given.URI, given.Variables)
		if bytes, isBytes := result.([]byte); isBytes {
			result = ResourceContents{URI: given.URI, MIMEType: kind, Blob: append([]byte{}, bytes...)}
		}
		return result, err
	})
}

// A PromptHandler fills in a prompt. It returns a string as a message of the user, content blocks,
// PromptMessages, or a *GetPromptResult.
type PromptHandler = func(ctx context.Context, call *Call, arguments map[string]string) (any, error)

// AddPrompt adds a prompt.
func (server *Server) AddPrompt(prompt Prompt, handle PromptHandler, options ...PromptOptions) (*Feature, error) {
	return server.add("prompt", described("prompt", prompt, options), taking(func(ctx context.Context, call *Call, given *map[string]string) (any, error) {
		return handle(ctx, call, *given)
	}), handle)
}

// AddCompletion adds a function that suggests values for an argument of a prompt or a variable of a
// resource template. It also gets the arguments that are already filled in.
func (server *Server) AddCompletion(reference CompletionReference, argument string, suggest func(ctx context.Context, value string, arguments map[string]string) (*Completion, error)) (*Feature, error) {
	return server.add("completion", map[string]any{"ref": reference, "argument": argument}, typed(shapeValue, func(ctx context.Context, given *struct {
		Argument CompleteArgument `json:"argument"`
		Context  CompleteContext  `json:"context"`
	}) (*Completion, error) {
		found, err := suggest(ctx, given.Argument.Value, given.Context.Arguments)
		return cmp.Or(found, &Completion{}), err
	}), suggest)
}

// AddRequestHandler handles a request that is not part of the protocol, such as "com.acme/sum".
func AddRequestHandler[In, Out any](server *Server, method string, handle func(context.Context, *Call, In) (*Out, error), options ...RequestHandlerOptions) (*Feature, error) {
	return server.add("requestHandler", described("method", method, options), taking(func(ctx context.Context, call *Call, given *In) (any, error) {
		result, err := handle(ctx, call, *given)
		return shaped{shapeValue, filled(result)}, err
	}), handle)
}

// AddVerifier adds a function that verifies access tokens: see AuthOptions. It returns nil for an
// unknown token. [AccessToken.Info] has the headers of the request. An *InvalidError gives the
// client a reason; if the token lacks scopes, return a NewProtocolError with the data {"error":
// "insufficient_scope", "scopes": [...]}.
func (server *Server) AddVerifier(verify func(context.Context, *AccessToken) (*Identity, error)) (*Feature, error) {
	return server.add("verifier", map[string]any{}, taking(func(ctx context.Context, call *Call, token *AccessToken) (any, error) {
		token.call = call
		identity, err := verify(ctx, token)
		return shaped{shapeValue, identity}, err
	}), verify)
}

// Info describes the HTTP request with the token, until the verifier returns.
func (token *AccessToken) Info() (*AccessTokenInfo, error) {
	if token.call == nil {
		return nil, &Error{Kind: ErrInvalidArgument, Message: "only the token that a verifier gets has a request"}
	}
	return decoded[AccessTokenInfo](c.CallInfo(&token.call.owner))
}

// AddVisibility adds a function that decides who can see and call a feature, given its name. Set it
// as the option Visible of features. Call ListChanged when visibility changes for connected
// clients.
func (server *Server) AddVisibility(decide func(ctx context.Context, call *Call, name string) (bool, error)) (*Feature, error) {
	return server.add("visibility", map[string]any{}, taking(func(ctx context.Context, call *Call, given *struct {
		Name string `json:"name"`
	}) (any, error) {
		visible, err := decide(ctx, call, given.Name)
		return shaped{shapeValue, visible}, err
	}), decide)
}

// A Category of features has a list.
type Category string

// The values of Category.
const (
	CategoryTools             Category = "tools"
	CategoryResources         Category = "resources"
	CategoryResourceTemplates Category = "resourceTemplates"
	CategoryPrompts           Category = "prompts"
)

// AddProvider adds a provider of features of a category that are not registered. List returns a
// page of descriptors and the next cursor. Get returns what a handler would for the params of the
// request, or nil if there is no such feature.
func (server *Server) AddProvider(of Category, list func(ctx context.Context, cursor string) (items any, next string, err error), get func(ctx context.Context, call *Call, params json.RawMessage) (any, error)) (*Feature, error) {
	return server.add("provider", map[string]any{"of": of}, taking(func(ctx context.Context, call *Call, given *struct {
		List *struct {
			Cursor string `json:"cursor"`
		} `json:"list"`
		Get json.RawMessage `json:"get"`
	}) (any, error) {
		if given.List == nil {
			return get(ctx, call, given.Get)
		}
		items, next, err := list(ctx, given.List.Cursor)
		return shaped{shapeValue, present(map[string]any{"items": filled(cmp.Or[any](items, []any{})), "nextCursor": optional(next)})}, err
	}), list, get)
}

// AddDirectory serves the files of a folder as resources, read on request.
func (server *Server) AddDirectory(uri, path string, options ...DirectoryOptions) (*Feature, error) {
	entry := described("uri", uri, options)
	entry["path"] = path
	return server.add("directory", entry, nil)
}

// AddSkill adds an agent skill from its files, one of which is SKILL.md, for example from os.DirFS or
// an embed.FS.
func (server *Server) AddSkill(files fs.FS, options ...SkillOptions) (*Feature, error) {
	if files == nil {
		return nil, &Error{Kind: ErrInvalidArgument, Message: "the files of the skill are nil"}
	}
	var found []SkillFile
	err := fs.WalkDir(files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(files, path)
		file := SkillFile{Path: path, Text: string(content)}
		if !utf8.Valid(content) {
			file = SkillFile{Path: path, Blob: base64.StdEncoding.EncodeToString(content)}
		}
		found = append(found, file)
		return err
	})
	if err != nil {
		return nil, err
	}
	return server.add("skill", described("files", found, options), nil)
}
