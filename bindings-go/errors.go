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

// NewProtocolError is a JSON-RPC error with which a handler answers. The data may be nil. If it
// cannot be written as JSON, the result is the error that says why.
func NewProtocolError(code int, message string, data any) *Error {
	encoded, err := encode(data)
	if failure := (*Error)(nil); errors.As(err, &failure) {
		return failure
	}
	return &Error{Kind: ErrProtocol, Message: message, Code: code, Data: json.RawMessage(encoded)}
}

func (e *Error) Error() string { return e.Message }

// Is says whether the target is the kind of the error.
func (e *Error) Is(target error) bool { return target == e.Kind }

// Must returns the value, and panics if there is an error. It is for the setup of a program, where
// an error is a mistake of the program.
func Must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// Facts are what an error of the kinds ErrTransport, ErrInputRequired and
// ErrAuthorizationRequired carries in addition.
func (e *Error) Facts() ErrorFacts {
	var facts ErrorFacts
	_ = json.Unmarshal(e.Data, &facts)
	return facts
}

func (k Kind) Error() string { return string(k) }

// ToolError is a failure of a tool with a message for the model. Other errors of a handler are
// hidden from the caller, and logged.
type ToolError struct{ Message string }

func (e *ToolError) Error() string { return e.Message }

// ToolErrorf formats the message of a ToolError.
func ToolErrorf(format string, values ...any) error {
	return &ToolError{fmt.Sprintf(format, values...)}
}

// InvalidError refuses arguments of a call. Path is a JSON pointer, such as "/city", or empty.
type InvalidError struct{ Path, Message string }

func (e *InvalidError) Error() string { return e.Message }
