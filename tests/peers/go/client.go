package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// waitTimeout is how long a notification may take.
const waitTimeout = 5 * time.Second

type line = map[string]any

// A part of a file is the operations of one connection (../../vectors/README.md, "Vectors for
// clients").
type part struct {
	Revision string
	LogLevel mcp.LoggingLevel
	Token    string
	Target   []string // in place of that of the command line
	Do       []map[string]json.RawMessage
}

// A player does the operations of a part with a target.
type player struct {
	part
	target   []string
	session  *mcp.ClientSession
	progress chan float64
	logged   chan *mcp.LoggingMessageParams
	changes  chan line
}

func playFile(file string, target []string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var given struct{ Plays []part }
	if err := json.Unmarshal(text, &given); err != nil {
		return err
	}
	for _, part := range given.Plays {
		where := target
		if part.Target != nil {
			where = part.Target
		}
		player := &player{part: part, target: where, progress: make(chan float64, 100), logged: make(chan *mcp.LoggingMessageParams, 100), changes: make(chan line, 100)}
		player.play(context.Background())
	}
	return nil
}

func (p *player) play(ctx context.Context) {
	connected := timed(func() (line, error) {
		session, err := p.connect(ctx, p.options())
		if err != nil {
			return nil, err
		}
		p.session = session
		if err := p.setLogLevel(ctx); err != nil {
			return nil, err
		}
		return line{"connected": p.session.InitializeResult().ProtocolVersion}, nil
	})
	if !connected {
		return
	}
	defer p.session.Close()
	for _, operation := range p.Do {
		for name, given := range operation {
			timed(func() (line, error) { return p.perform(ctx, name, given) })
		}
	}
}

// timed prints a line with what was done, and returns whether it succeeded.
func timed(do func() (line, error)) bool {
	start := time.Now()
	said, err := do()
	if err != nil {
		said = failed(err)
	}
	said["ms"] = math.Round(time.Since(start).Seconds()*10_000) / 10
	encoded, encodingError := json.Marshal(said)
	check(encodingError)
	fmt.Println(string(encoded))
	return err == nil
}

func failed(err error) line {
	kind := "other"
	var failure *jsonrpc.Error
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		kind = "timeout"
	case errors.Is(err, context.Canceled):
		kind = "cancelled"
	case errors.As(err, &failure):
		kind = "protocol"
	}
	return line{"error": kind, "message": err.Error()}
}

func (p *player) connect(ctx context.Context, options *mcp.ClientOptions) (*mcp.ClientSession, error) {
	client := mcp.NewClient(&mcp.Implementation{Name: "peer-go", Version: "1.0.0"}, options)
	client.AddRoots(&mcp.Root{URI: "file:///work"})
	if err := mcp.AddSendingCustomMethod[*custom, *answer](client, vendorMethod); err != nil {
		return nil, err
	}
	var wanted mcp.ClientSessionOptions
	if p.Revision != "auto" {
		wanted.ProtocolVersion = p.Revision
	}
	return client.Connect(ctx, p.transport(), &wanted)
}

func (p *player) setLogLevel(ctx context.Context) error {
	if p.isModern() || p.session.InitializeResult().Capabilities.Logging == nil || p.LogLevel == "" {
		return nil
	}
	return p.session.SetLoggingLevel(ctx, &mcp.SetLoggingLevelParams{Level: p.LogLevel})
}

// vendorMethod must be known to a client before it connects.
const vendorMethod = "com.example/search"

type custom struct {
	mcp.ParamsBase
	Text string `json:"text"`
}

type answer struct{ mcp.ResultBase }

func (p *player) isModern() bool { return p.session.InitializeResult().ProtocolVersion >= "2026" }

func (p *player) options() *mcp.ClientOptions {
	change := func(kind string, uri any) { p.changes <- line{"change": kind, "uri": uri} }
	return &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{}}, nil
		},
		CreateMessageHandler: func(context.Context, *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			return &mcp.CreateMessageResult{Role: "assistant", Model: "fixture", Content: &mcp.TextContent{Text: "Fine."}}, nil
		},
		ToolListChangedHandler:     func(context.Context, *mcp.ToolListChangedRequest) { change("tools", nil) },
		PromptListChangedHandler:   func(context.Context, *mcp.PromptListChangedRequest) { change("prompts", nil) },
		ResourceListChangedHandler: func(context.Context, *mcp.ResourceListChangedRequest) { change("resourceList", nil) },
		ResourceUpdatedHandler: func(_ context.Context, request *mcp.ResourceUpdatedNotificationRequest) {
			change("resource", request.Params.URI)
		},
		LoggingMessageHandler: func(_ context.Context, request *mcp.LoggingMessageRequest) { p.logged <- request.Params },
		ProgressNotificationHandler: func(_ context.Context, request *mcp.ProgressNotificationClientRequest) {
			p.progress <- request.Params.Progress
		},
	}
}

func (p *player) transport() mcp.Transport {
	target := p.target
	if target[0] == "--stdio" {
		return &mcp.CommandTransport{Command: exec.Command(target[1], target[2:]...)}
	}
	web := &http.Client{Transport: bearer(p.Token)}
	if strings.HasSuffix(target[0], "/sse") {
		return &mcp.SSEClientTransport{Endpoint: target[0], HTTPClient: web}
	}
	return &mcp.StreamableClientTransport{Endpoint: target[0], HTTPClient: web}
}

// bearer is the access token that each request has, if any.
type bearer string

func (token bearer) RoundTrip(request *http.Request) (*http.Response, error) {
	if token != "" {
		request = request.Clone(request.Context())
		request.Header.Set("Authorization", "Bearer "+string(token))
	}
	return http.DefaultTransport.RoundTrip(request)
}

func (p *player) perform(ctx context.Context, name string, text json.RawMessage) (line, error) {
	given, err := argumentsOf(text)
	if err != nil {
		return nil, err
	}
	s := p.session
	switch name {
	case "ping":
		return line{"ping": true}, s.Ping(ctx, nil)
	case "callTool":
		return p.callTool(ctx, given)
	case "listTools":
		if given.Page {
			page, err := s.ListTools(ctx, nil)
			return line{"more": err == nil && page.NextCursor != ""}, err
		}
		return all("tools", s.Tools(ctx, nil), func(tool *mcp.Tool) string { return tool.Name })
	case "listResources":
		return all("resources", s.Resources(ctx, nil), func(resource *mcp.Resource) string { return resource.URI })
	case "listResourceTemplates":
		return all("resourceTemplates", s.ResourceTemplates(ctx, nil), func(template *mcp.ResourceTemplate) string { return template.URITemplate })
	case "listPrompts":
		return all("prompts", s.Prompts(ctx, nil), func(prompt *mcp.Prompt) string { return prompt.Name })
	case "readResource":
		return p.read(ctx, given.URI)
	case "getPrompt":
		return p.prompt(ctx, given)
	case "complete":
		return p.complete(ctx, given)
	case "subscribe":
		return p.subscribe(ctx, given)
	case "log":
		return p.log(ctx, given.Call)
	case "callInRounds":
		return p.callInRounds(ctx, given)
	case "request":
		if given.Method == vendorMethod {
			_, err := mcp.CallCustomMethod[*custom, *answer](ctx, s, vendorMethod, &custom{Text: given.Params.Text})
			return line{"result": nil}, err
		}
	}
	return nil, fmt.Errorf("this peer has no operation %s", name)
}

// arguments are those of all operations. An operation has some of them.
type arguments struct {
	Name      string
	Arguments map[string]any
	Page      bool
	Progress  bool
	TimeoutMs int
	CancelMs  int
	URI       string
	Ref       *mcp.CompleteReference
	Argument  mcp.CompleteParamsArgument
	Context   *mcp.CompleteContext
	To        struct {
		Tools, Prompts, ResourceList bool
		Resources                    []string
	}
	Call    string
	Method  string
	Params  custom
	Answers []struct {
		Key      string
		Response *mcp.ElicitResult
	}
}

func argumentsOf(text json.RawMessage) (*arguments, error) {
	given := new(arguments)
	return given, json.Unmarshal(text, given)
}

func all[T any](member string, items iter.Seq2[T, error], name func(T) string) (line, error) {
	names := []string{}
	for item, err := range items {
		if err != nil {
			return nil, err
		}
		names = append(names, name(item))
	}
	return line{member: names}, nil
}

func (p *player) callTool(ctx context.Context, given *arguments) (line, error) {
	switch {
	case given.TimeoutMs > 0:
		limited, cancel := context.WithTimeout(ctx, time.Duration(given.TimeoutMs)*time.Millisecond)
		defer cancel()
		ctx = limited
	case given.CancelMs > 0:
		limited, cancel := context.WithCancel(ctx)
		defer cancel()
		time.AfterFunc(time.Duration(given.CancelMs)*time.Millisecond, cancel)
		ctx = limited
	}
	params := &mcp.CallToolParams{Name: given.Name, Arguments: given.Arguments}
	if given.Progress {
		params.Meta = mcp.Meta{}
		params.SetProgressToken("progress of " + given.Name)
	}
	result, err := p.session.CallTool(ctx, params)
	if err != nil {
		return nil, err
	}
	said := line{"text": firstText(result), "isError": result.IsError, "progress": nil, "content": result.Content, "structured": result.StructuredContent}
	if given.Progress {
		said["progress"] = p.lastProgress()
	}
	return said, nil
}

// lastProgress waits for the end, because handlers run beside the call.
func (p *player) lastProgress() float64 {
	latest, limit := 0.0, time.After(waitTimeout)
	for latest < 100 {
		select {
		case latest = <-p.progress:
		case <-limit:
			return latest
		}
	}
	return latest
}

// callInRounds answers the requests for input itself, on a connection that leaves them to it.
func (p *player) callInRounds(ctx context.Context, given *arguments) (line, error) {
	options := p.options()
	options.MultiRoundTrip = &mcp.MultiRoundTripOptions{Disabled: true}
	session, err := p.connect(ctx, options)
	if err != nil {
		return nil, err
	}
	defer session.Close()
	asked := []string{}
	params := &mcp.CallToolParams{Name: given.Name, Arguments: given.Arguments, InputResponses: mcp.InputResponseMap{}}
	for {
		result, err := session.CallTool(ctx, params)
		if err != nil {
			return nil, err
		}
		if !result.NeedsInput() {
			return line{"asked": asked, "text": firstText(result)}, nil
		}
		for key := range result.InputRequests {
			asked = append(asked, key)
		}
		for _, answer := range given.Answers {
			params.InputResponses[answer.Key] = answer.Response
		}
		params.RequestState = result.RequestState
	}
}

// firstText is the text of the first block, or nil.
func firstText(result *mcp.CallToolResult) any {
	if len(result.Content) > 0 {
		if block, isText := result.Content[0].(*mcp.TextContent); isText {
			return block.Text
		}
	}
	return nil
}

func (p *player) read(ctx context.Context, uri string) (line, error) {
	result, err := p.session.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri})
	if err != nil {
		return nil, err
	}
	contents := []any{}
	for _, part := range result.Contents {
		if part.Blob != nil {
			contents = append(contents, part.Blob)
		} else {
			contents = append(contents, part.Text)
		}
	}
	return line{"contents": contents}, nil
}

func (p *player) prompt(ctx context.Context, given *arguments) (line, error) {
	arguments := map[string]string{}
	for name, value := range given.Arguments {
		arguments[name] = fmt.Sprint(value)
	}
	result, err := p.session.GetPrompt(ctx, &mcp.GetPromptParams{Name: given.Name, Arguments: arguments})
	if err != nil {
		return nil, err
	}
	said := []any{}
	for _, message := range result.Messages {
		if block, isText := message.Content.(*mcp.TextContent); isText {
			said = append(said, block.Text)
		}
	}
	return line{"messages": said}, nil
}

func (p *player) complete(ctx context.Context, given *arguments) (line, error) {
	result, err := p.session.Complete(ctx, &mcp.CompleteParams{Ref: given.Ref, Argument: given.Argument, Context: given.Context})
	if err != nil {
		return nil, err
	}
	return line{"values": result.Completion.Values}, nil
}

// subscribe waits for a change that a tool causes.
func (p *player) subscribe(ctx context.Context, given *arguments) (line, error) {
	for _, uri := range given.To.Resources {
		subscribed := make(chan error, 1)
		go func() { subscribed <- p.session.Subscribe(ctx, &mcp.SubscribeParams{URI: uri}) }()
		select {
		case err := <-subscribed:
			if err != nil {
				return nil, err
			}
		case <-time.After(200 * time.Millisecond):
			// On a stream of 2026-07-28, it lasts as long as the subscription.
		}
	}
	if _, err := p.session.CallTool(ctx, &mcp.CallToolParams{Name: given.Call, Arguments: map[string]any{}}); err != nil {
		return nil, err
	}
	wanted := map[string]bool{"tools": given.To.Tools, "prompts": given.To.Prompts, "resourceList": given.To.ResourceList, "resource": len(given.To.Resources) > 0}
	limit := time.After(waitTimeout)
	for {
		select {
		case change := <-p.changes:
			if wanted[change["change"].(string)] {
				return change, nil
			}
		case <-limit:
			return nil, errors.New("no change was reported")
		}
	}
}

// log calls a tool, and waits for its messages up to an error.
func (p *player) log(ctx context.Context, tool string) (line, error) {
	params := &mcp.CallToolParams{Name: tool, Arguments: map[string]any{}}
	if p.isModern() {
		params.Meta = mcp.Meta{mcp.MetaKeyLogLevel: p.LogLevel}
	}
	if _, err := p.session.CallTool(ctx, params); err != nil {
		return nil, err
	}
	logged, limit := []any{}, time.After(waitTimeout)
	for {
		select {
		case message := <-p.logged:
			logged = append(logged, message.Data)
			if message.Level == "error" {
				return line{"logged": logged}, nil
			}
		case <-limit:
			return nil, fmt.Errorf("no error was logged, but %v", logged)
		}
	}
}
