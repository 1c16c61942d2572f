package trunkline

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// ConnectCommand starts a program and connects to its standard input and output. It uses the path,
// arguments, directory and environment of the command, and its Stderr if that is a file; without
// one, see ClientOptions.Stderr. The file is opened by its path, for appending, each time the
// program starts. Unlike with exec, Env adds to the environment that the program inherits: see
// ClientOptions.InheritEnv. A command with any other field set is refused.
func ConnectCommand(ctx context.Context, command *exec.Cmd, options ...ClientOptions) (*Client, error) {
	given := merged(options)
	if err := checkCommand(command, false); err != nil {
		return nil, err
	}
	var words []str
	for _, word := range commandWords(command) {
		words = append(words, text(word))
	}
	given.Cwd = cmp.Or(command.Dir, given.Cwd)
	if file, isFile := command.Stderr.(*os.File); isFile && file != os.Stderr {
		given.StderrFile = stderrPath(file)
	}
	environment := environmentOf(command)
	maps.Copy(environment, given.Env)
	given.Env = environment
	return connect(ctx, given, func(set uintptr) (uintptr, error) { return c.ClientConnectChild(&words[0], uintptr(len(words)), set) })
}

func commandWords(command *exec.Cmd) []string {
	return append([]string{command.Path}, command.Args[min(1, len(command.Args)):]...)
}

func environmentOf(command *exec.Cmd) map[string]string {
	found := map[string]string{}
	for _, line := range command.Env {
		if name, value, isPair := strings.Cut(line, "="); isPair {
			found[name] = value
		}
	}
	return found
}

// stderrPath is the path of a file, which the library opens each time it starts the program, when
// the number of its descriptor may be that of another file. It is empty for what has no such path.
func stderrPath(file *os.File) string {
	path, err := filepath.Abs(file.Name())
	opened, unknown := file.Stat()
	named, missing := os.Stat(path)
	isThere := errors.Join(err, unknown, missing) == nil && os.SameFile(opened, named)
	if isThere && (file == os.Stdout || named.Mode().IsRegular() || named.Mode()&os.ModeCharDevice != 0) {
		return path
	}
	return ""
}

// checkCommand refuses what the library, which starts the program, would not do.
func checkCommand(command *exec.Cmd, isMember bool) error {
	if command == nil {
		return &Error{Kind: ErrInvalidArgument, Message: "the exec.Cmd is nil"}
	}
	file, _ := command.Stderr.(*os.File)
	for _, member := range []struct {
		isRefused     bool
		field, advice string
	}{
		{command.Err != nil, "Path", "there is no such program"},
		{command.Process != nil, "Process", "do not start the program, the client does"},
		{command.Stdin != nil || command.Stdout != nil, "Stdin or Stdout", "they carry the messages"},
		{command.Cancel != nil, "the context", "use exec.Command; Client.Close ends the program"},
		{isMember && command.Stderr != nil, "Stderr", "the servers of a group share ClientOptions.Stderr and StderrFile"},
		{command.Stderr != nil && file == nil, "Stderr", "it must be an *os.File; ClientOptions.Stderr and StderrFile have other places"},
		{file != nil && file != os.Stderr && stderrPath(file) == "", "Stderr", "it must be a file that is still at its path, or a terminal"},
		{len(command.ExtraFiles) > 0 || command.SysProcAttr != nil, "ExtraFiles or SysProcAttr", "start the program yourself, and use ConnectTransport"},
	} {
		if member.isRefused {
			refused := &Error{Kind: ErrInvalidArgument, Message: fmt.Sprintf("%s of the exec.Cmd for %s cannot be used: %s", member.field, command.Path, member.advice)}
			return errors.Join(refused, command.Err)
		}
	}
	return nil
}

// ConnectTransport connects to a server over a custom transport.
func ConnectTransport(ctx context.Context, transport Transport, options ...ClientOptions) (*Client, error) {
	if transport == nil {
		return nil, &Error{Kind: ErrInvalidArgument, Message: "the transport is nil"}
	}
	given := merged(options)
	given.transport = transportFunctions(transport)
	return connect(ctx, given, c.ClientConnectChannel)
}

// ConnectGroup connects to many servers behind one client, which names their tools server__tool.
// Each target is one of those of the other functions: a URL, an *exec.Cmd, a command as a []string,
// an entry of mcpServers, a *Server, a Transport, or a *Client, whose connection the group shares and
// does not close. Client.AddServer takes the same, except a *Server and a Transport.
func ConnectGroup(ctx context.Context, servers map[string]any, options ...ClientOptions) (group *Client, err error) {
	given := merged(options)
	var members []*Client
	defer func() {
		if err != nil {
			_ = together(members, (*Client).Close)
		}
	}()
	targets := map[string]any{}
	for name, target := range servers {
		found, err := groupTarget(ctx, target, given)
		if err != nil {
			return nil, fmt.Errorf("server %s of the group: %w", name, err)
		}
		if member, isClient := found.(*Client); isClient && found != target {
			members = append(members, member)
		}
		targets[name] = found
	}
	group, err = connect(ctx, given, func(set uintptr) (uintptr, error) { return c.ClientConnectGroup(targets, set) })
	if err == nil {
		group.members = members
	}
	return group, err
}

// groupTarget is a target as the library takes it. A new client belongs to the group.
func groupTarget(ctx context.Context, target any, options ClientOptions) (any, error) {
	// Auth applies to HTTP.
	options.Auth = OAuthOptions{}
	options.isMember = true
	switch target := target.(type) {
	case *exec.Cmd:
		if err := checkCommand(target, true); err != nil {
			return nil, err
		}
		words := commandWords(target)
		return present(map[string]any{"command": words[0], "args": words[1:], "env": environmentOf(target), "cwd": optional(target.Dir)}), nil
	case *Server:
		return ConnectMemory(ctx, target, options)
	case Transport:
		return ConnectTransport(ctx, target, options)
	default:
		return target, checkTarget(target)
	}
}

// checkTarget refuses what is no target at all, rather than to list it as a server that is disconnected.
func checkTarget(target any) error {
	refused := func(reason string) error {
		return &Error{Kind: ErrInvalidArgument, Message: reason + ": a target is a URL, an *exec.Cmd, a command as a []string, an entry of mcpServers, a *Server, a Transport, or a *Client"}
	}
	switch target := target.(type) {
	case nil:
		return refused("the target is nil")
	case *Client:
		if target == nil {
			return refused("the *Client is nil")
		}
		return nil
	case string:
		address, err := url.Parse(target)
		if err != nil || address.Host == "" || address.Scheme != "http" && address.Scheme != "https" {
			return refused(fmt.Sprintf("%q is not a URL with http:// or https://", target))
		}
		return nil
	case []string:
		if len(target) == 0 {
			return refused("the command is empty")
		}
		return nil
	}
	encoded, err := encode(target)
	if err != nil {
		return err
	}
	entry, err := Decode[map[string]json.RawMessage]([]byte(encoded))
	if err != nil || entry == nil {
		return refused(fmt.Sprintf("a value of the type %T is not a target", target))
	}
	if entry["command"] == nil && entry["url"] == nil && entry["serverUrl"] == nil && entry["httpUrl"] == nil {
		return refused(fmt.Sprintf("an entry of mcpServers needs the member command or url, and has %q", slices.Sorted(maps.Keys(entry))))
	}
	return nil
}

// addedTarget is a target of AddServer as the library takes it.
func addedTarget(target any) (any, error) {
	switch target.(type) {
	case *Server, Transport:
		return nil, &Error{Kind: ErrInvalidArgument, Message: "connect with ConnectMemory or ConnectTransport first, and add the client"}
	}
	return groupTarget(context.Background(), target, ClientOptions{})
}

// MarshalJSON describes the client as a server of a group, for ConnectGroup and AddServer.
func (client *Client) MarshalJSON() ([]byte, error) { return c.ClientAsServer(&client.owner) }
