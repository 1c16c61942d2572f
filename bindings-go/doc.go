// Package trunkline has servers and clients for the Model Context Protocol.
//
// A server offers tools, resources and prompts, and a client uses those of a server:
//
//	server := trunkline.NewServer("weather", "1.0.0")
//	trunkline.Must(trunkline.AddTool(server, trunkline.Tool{Name: "forecast"}, forecast))
//	err := server.ServeStdio(ctx)
//
// The package loads libtrunkline, the library that all languages share, without cgo. It uses the
// first of these: the file in the environment variable TRUNKLINE_LIBRARY, the library that `go get`
// embeds in the program (unless it is built with the tag trunkline_external), one next to the
// program, or one that the system finds.
//
// # Goroutines and contexts
//
// Every call of a handler runs in its own goroutine. Its context ends when the caller cancels the
// call, and it has the values of the request that caused the call in this process: of the HTTP
// request to [Server.Handler], or of a request through [ConnectMemory]. When the context of a
// client's request ends, the request is cancelled at the server. If the context of a handler's
// request to its client ends, the handler only stops waiting: the user may still see a form.
//
// # Errors
//
// Errors of the library are of the type [*Error]. Use errors.Is with a [Kind], such as
// [ErrTimeout], and errors.As for the facts. The error of a request whose context ended is
// [ErrCancelled], and wraps the cause of the context. Other errors, such as those of schemas, have
// no kind.
//
// # Absent values
//
// Optional fields whose zero value has a meaning of its own are pointers, in options as elsewhere,
// and nil means absent: HTTPOptions{Port: Ptr(0)} picks a free port, and HTTPOptions{} has the
// default port. See [Ptr]. A time that is absent, or that the peer wrote in another form than ISO
// 8601, is zero.
package trunkline
