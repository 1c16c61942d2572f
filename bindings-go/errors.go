package trunkline

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Error is an error of the library or of the peer. errors.Is matches it with its Kind, and errors.As
// gives its facts:
//
//	if errors.Is(err, trunkline.ErrTimeout) { … }
type Error struct {
	Kind    Kind   `json:"kind"`
	Message string `json:"message"`
	// Code is the JSON-RPC code of an error of the kind ErrProtocol.
	Code int `json:"code,omitempty"`
	// Data is the data of the JSON-RPC error, or the facts as JSON.
	Data json.RawMessage `json:"data,omitempty"`
}

// NewProtocolError returns a JSON-RPC error for a handler to return. The data may be nil. If it
// cannot be encoded as JSON, the result is an error that says why.
func NewProtocolError(code int, message string, data any) *Error {
	encoded, err := encode(data)
	if failure := (*Error)(nil); errors.As(err, &failure) {
		return failure
	}
	return &Error{Kind: ErrProtocol, Message: message, Code: code, Data: json.RawMessage(encoded)}
}

func (e *Error) Error() string { return e.Message }

// Is reports whether the target is the kind of the error.
func (e *Error) Is(target error) bool { return target == e.Kind }

// Must returns the value, and panics if there is an error, like [text/template.Must]. Use it in
// setup code, where an error is a bug in the program.
func Must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// Facts returns the details of an error of the kind ErrTransport, ErrInputRequired or
// ErrAuthorizationRequired.
func (e *Error) Facts() ErrorFacts {
	facts, _ := Decode[ErrorFacts](e.Data)
	return facts
}

func (k Kind) Error() string { return string(k) }

// ToolError is a failure of a tool with a message for the model. Other handler errors are logged
// and hidden from the caller.
type ToolError struct{ Message string }

func (e *ToolError) Error() string { return e.Message }

// ToolErrorf formats the message of a ToolError.
func ToolErrorf(format string, values ...any) error {
	return &ToolError{fmt.Sprintf(format, values...)}
}

// InvalidError refuses arguments of a call. Path is a JSON pointer, such as "/city", or empty.
type InvalidError struct{ Path, Message string }

func (e *InvalidError) Error() string { return e.Message }
