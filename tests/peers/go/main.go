// The official Go SDK. Usage: see ../README.md.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func main() {
	words := os.Args[1:]
	switch {
	case len(words) == 2 && words[0] == "server" && words[1] == "stdio":
		check(newServer().Run(context.Background(), &mcp.StdioTransport{}))
	case len(words) >= 3 && words[0] == "server" && words[1] == "http":
		check(serve(words[2], "/mcp", protected(streamable(), words[3:])))
	case len(words) == 3 && words[0] == "server" && words[1] == "sse":
		server := newServer()
		check(serve(words[2], "/sse", mcp.NewSSEHandler(func(*http.Request) *mcp.Server { return server }, nil)))
	case len(words) >= 4 && words[0] == "client" && words[1] == "--play":
		check(playFile(words[2], words[3:]))
	default:
		log.Fatal("usage: server stdio | server http PORT [--auth FILE] | server sse PORT | client --play FILE URL | client --play FILE --stdio COMMAND...")
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// streamable has a handler with sessions for the legacy revisions, and one without for 2026-07-28,
// which the SDK refuses in a handler with sessions.
func streamable() http.Handler {
	server := newServer()
	choose := func(*http.Request) *mcp.Server { return server }
	legacy := mcp.NewStreamableHTTPHandler(choose, &mcp.StreamableHTTPOptions{EventStore: mcp.NewMemoryEventStore(nil)})
	modern := mcp.NewStreamableHTTPHandler(choose, &mcp.StreamableHTTPOptions{Stateless: true})
	return http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		if request.Header.Get("Mcp-Protocol-Version") >= "2026" {
			modern.ServeHTTP(writer, request)
		} else {
			legacy.ServeHTTP(writer, request)
		}
	})
}

func serve(port, path string, handler http.Handler) error {
	listener, err := net.Listen("tcp", "127.0.0.1:"+port)
	if err != nil {
		return err
	}
	fmt.Printf("listening http://%s%s\n", listener.Addr(), path)
	web := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	return web.Serve(listener)
}

// protected requires the access token of a file (../../matrix/authorization.json).
func protected(handler http.Handler, words []string) http.Handler {
	if len(words) != 2 || words[0] != "--auth" {
		return handler
	}
	text, err := os.ReadFile(words[1])
	check(err)
	var given struct {
		Token string
		Auth  struct {
			RequiredScopes []string
		}
	}
	check(json.Unmarshal(text, &given))
	verify := func(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
		if token != given.Token {
			return nil, auth.ErrInvalidToken
		}
		return &auth.TokenInfo{UserID: "ada", Scopes: given.Auth.RequiredScopes, Expiration: time.Now().Add(time.Hour)}, nil
	}
	return auth.RequireBearerToken(verify, &auth.RequireBearerTokenOptions{Scopes: given.Auth.RequiredScopes})(handler)
}
