// Package trunkline is a small binding of libtrunkline: servers with tools, and clients that call
// them.
package trunkline

/*
#cgo pkg-config: trunkline
#include <trunkline.h>

void trunklineCall(trunkline_call *call, void *handle);
void trunklineForget(void *handle);

// A cgo.Handle is a number, which Go must not store in a pointer, so C converts it.
static inline trunkline_result add_tool(trunkline_server *server, trunkline_str descriptor, uintptr_t handle,
                                        trunkline_error **error) {
  return trunkline_server_add_tool(server, descriptor, trunklineCall, (void *)handle, trunklineForget, error);
}
*/
import "C"

import (
	"encoding/json"
	"errors"
	"runtime/cgo"
	"unsafe"
)

// A string for the duration of one C call, without a copy.
func str(text string) C.trunkline_str {
	return C.trunkline_str{data: (*C.char)(unsafe.Pointer(unsafe.StringData(text))), len: C.size_t(len(text))}
}

func goString(text C.trunkline_str) string {
	return C.GoStringN(text.data, C.int(text.len))
}

// The error of a function. Each function gets an error parameter, because trunkline_last_error is
// per thread and goroutines change threads.
func failure(result C.trunkline_result, failed *C.trunkline_error) error {
	if result == C.TRUNKLINE_OK {
		return nil
	}
	defer C.trunkline_error_free(failed)
	return errors.New(C.GoString(C.trunkline_error_message(failed)))
}

// Server is a server. Close it after its clients.
type Server struct{ server *C.trunkline_server }

// NewServer creates a server.
func NewServer(name, version string) (*Server, error) {
	var server Server
	var failed *C.trunkline_error
	return &server, failure(C.trunkline_server_new(str(name), str(version), &server.server, &failed), failed)
}

// AddTool adds a tool by its descriptor. Its handler runs in a new goroutine.
func AddTool[Arguments any](server *Server, descriptor string, handler func(Arguments) (string, error)) error {
	serve := func(text string) (string, error) {
		var arguments Arguments
		if err := json.Unmarshal([]byte(text), &arguments); err != nil {
			return "", err
		}
		return handler(arguments)
	}
	var failed *C.trunkline_error
	// trunklineForget deletes the handle, also if this fails.
	handle := C.uintptr_t(cgo.NewHandle(serve))
	return failure(C.add_tool(server.server, str(descriptor), handle, &failed), failed)
}

// Callbacks of a port never run at the same time, so a slow one would delay all others. The call is
// retained and completed from a goroutine.
//
//export trunklineCall
func trunklineCall(call *C.trunkline_call, handle unsafe.Pointer) {
	serve := cgo.Handle(uintptr(handle)).Value().(func(string) (string, error))
	arguments := goString(C.trunkline_call_arguments(call))
	kept := C.trunkline_call_retain(call)
	go func() {
		defer C.trunkline_call_free(kept)
		// The results are ignored, because a disconnected caller needs no response.
		if text, err := serve(arguments); err != nil {
			C.trunkline_call_fail_tool(kept, str(err.Error()))
		} else {
			C.trunkline_call_return_text(kept, str(text))
		}
	}()
}

// Runs once, on any thread, when no call uses the handle any longer.
//
//export trunklineForget
func trunklineForget(handle unsafe.Pointer) {
	cgo.Handle(uintptr(handle)).Delete()
}

// ServeStdio serves stdin and stdout until stdin is closed or a signal arrives.
func (server *Server) ServeStdio() error {
	var failed *C.trunkline_error
	return failure(C.trunkline_server_serve_stdio(server.server, &failed), failed)
}

// Close frees the server.
func (server *Server) Close() { C.trunkline_server_free(server.server) }

// Client is a connection to a server. Any number of goroutines may use it.
type Client struct{ client *C.trunkline_client }

// ConnectMemory connects to a server in this process. Its callbacks run inside the client's calls,
// so they need no other goroutine.
func ConnectMemory(server *Server) (*Client, error) {
	var client Client
	var failed *C.trunkline_error
	return &client, failure(C.trunkline_client_connect_memory(server.server, nil, &client.client, &failed), failed)
}

// CallTool calls a tool and returns the text of its result.
func (client *Client) CallTool(name string, arguments any) (string, error) {
	encoded, err := json.Marshal(arguments)
	if err != nil {
		return "", err
	}
	var text *C.trunkline_text
	var failed *C.trunkline_error
	called := C.trunkline_client_call_tool(client.client, str(name), str(string(encoded)), nil, &text, &failed)
	if err := failure(called, failed); err != nil {
		return "", err
	}
	defer C.trunkline_text_free(text)
	var result struct {
		Content []struct{ Text string }
		IsError bool
	}
	if err := json.Unmarshal([]byte(goString(C.trunkline_text_str(text))), &result); err != nil {
		return "", err
	}
	var said string
	for _, part := range result.Content {
		said += part.Text
	}
	if result.IsError {
		return "", errors.New(said)
	}
	return said, nil
}

// Close closes the connection.
func (client *Client) Close() { C.trunkline_client_free(client.client) }
