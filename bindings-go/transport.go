package trunkline

import (
	"context"
	"errors"
	"io"
)

// Transport carries messages to and from a server in a way of the program's own. A message is JSON.
// A failure ends the connection.
type Transport interface {
	// Connect connects to the server. It is called again after the connection was lost, or if a server
	// closed it because the client asked for its revision.
	Connect(ctx context.Context) error
	// Send sends a message to the server. The next message waits until this one is sent.
	Send(ctx context.Context, message string) error
	// Receive waits for the next message from the server. It returns io.EOF if the server has closed
	// the connection.
	Receive(ctx context.Context) (string, error)
	// Close closes the connection. The context of a pending Receive ends first.
	Close(ctx context.Context) error
}

// ConnectTransport connects to a server over a transport of the program's own.
func ConnectTransport(ctx context.Context, transport Transport, options ClientOptions) (*Client, error) {
	type message struct {
		Message *string `json:"message,omitempty"`
	}
	options.transport = map[string]callFunc{
		"transport_connect": answeringNothing(func(ctx context.Context, _ *struct{}) error { return transport.Connect(ctx) }),
		"transport_send": answeringNothing(func(ctx context.Context, given *struct{ Message string }) error {
			return transport.Send(ctx, given.Message)
		}),
		"transport_receive": answering(func(ctx context.Context, _ *struct{}) (*message, error) {
			received, err := transport.Receive(ctx)
			if errors.Is(err, io.EOF) {
				return &message{}, nil
			}
			return &message{&received}, err
		}),
		"transport_close": answeringNothing(func(ctx context.Context, _ *struct{}) error { return transport.Close(ctx) }),
	}
	return connect(ctx, options, func(set uintptr, client, failure *uintptr) uint32 {
		return c.ClientConnectChannel(set, client, failure)
	})
}
