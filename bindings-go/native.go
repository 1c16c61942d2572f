package trunkline

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"unicode"
	"unsafe"

	"github.com/ebitengine/purego"
)

// A str is a string in C. Its bytes are Go's, and C reads them only during the call.
type str struct {
	data *byte
	len  uintptr
}

func text(s string) str { return str{unsafe.StringData(s), uintptr(len(s))} }

func (s *str) bytes() []byte { return copied(s.data, s.len) }

// copied copies memory of C.
func copied(data *byte, length uintptr) []byte {
	if length == 0 {
		return nil
	}
	return append([]byte(nil), unsafe.Slice(data, length)...)
}

// The types of functions that several others share.
type (
	withError     = func(object uintptr, failure *uintptr) uint32
	withTextError = func(object uintptr, text str, failure *uintptr) uint32
	creates       = func(made, failure *uintptr) uint32
	starts        = func(object uintptr, number uint64, options, callback, data, destructor uintptr, ticket *uint64, failure *uintptr) uint32
)

// c has the functions of the library by their names: ServerNewWith is trunkline_server_new_with.
var c struct {
	PlainVersion func() string

	ServerNewWith             func(name, version str, options uintptr, server, failure *uintptr) uint32
	ServerAdd                 func(server uintptr, kind, entry str, callback, data, destructor uintptr, registration *uint64, failure *uintptr) uint32
	ServerRemove              func(server uintptr, registration uint64, failure *uintptr) uint32
	ServerSetEnabled          func(server uintptr, registration uint64, enabled bool, failure *uintptr) uint32
	ServerMount               func(server uintptr, prefix str, other uintptr, registration *uint64, failure *uintptr) uint32
	ServerProxy               func(server uintptr, client uintptr, prefix str, connections uint32, registration *uint64, failure *uintptr) uint32
	ServerListChanged         withTextError
	ServerResourceUpdated     withTextError
	ServerElicitationComplete withTextError
	ServerListenStdio         func(server uintptr, listener, failure *uintptr) uint32
	ServerListenFd            func(server uintptr, input, output int32, listener, failure *uintptr) uint32
	ServerListenHttp          func(server, options uintptr, listener, failure *uintptr) uint32
	ServerMountHttp           func(server, options uintptr, listener, failure *uintptr) uint32
	ServerFree                func(uintptr)
	ServerCheckStore          func(server uintptr, findings, failure *uintptr) uint32
	ServerSetLifespan         func(server, open, close, data, destructor uintptr, failure *uintptr) uint32
	ServerOptionsNew          creates
	ServerOptionsFree         func(uintptr)
	ServerOptionsSetPort      func(options, port uintptr) uint32
	ServerOptionsSetLimit     func(options uintptr, limit uint32, value uint64) uint32
	HttpOptionsNew            creates
	HttpOptionsFree           func(uintptr)

	ListenerStartClose func(listener uintptr, deadline uint64, failure *uintptr) uint32
	ListenerClosed     func(uintptr) bool
	ListenerEnd        withError
	ListenerFree       func(uintptr)
	PlainListenerUrl   func(uintptr) string

	HttpRequest      func(listener uintptr, method, target str, headers *header, count uintptr, remote str, end bool, head, chunk, ended, data, destructor uintptr, exchange, failure *uintptr) uint32
	HttpBody         func(exchange uintptr, data *byte, length uintptr, end bool, wanted *bool, failure *uintptr) uint32
	HttpCredit       func(exchange, length uintptr) uint32
	HttpCancel       func(uintptr) uint32
	HttpExchangeFree func(uintptr)

	PortNew   creates
	PortOnLog func(port, callback, data, destructor uintptr) uint32
	PortWake  func(uintptr) uint32

	PortOnTelemetry  func(port, begin, scope, end, data, destructor uintptr) uint32
	PortMeasurements func(port uintptr, json, failure *uintptr) uint32
	TraceContextSet  func(trace uintptr, key, value str) uint32
	Dispatch         func(port uintptr, timeout uint64, count *uintptr, failure *uintptr) uint32

	ClientConnectChild    func(command *str, count, options uintptr, client, failure *uintptr) uint32
	ClientConnectHttp     func(url str, options uintptr, client, failure *uintptr) uint32
	ClientConnectMemory   func(server, options uintptr, client, failure *uintptr) uint32
	ClientConnectChannel  func(options uintptr, client, failure *uintptr) uint32
	ClientConnectConfig   func(config str, options uintptr, client, failure *uintptr) uint32
	ClientConnectGroup    func(servers str, options uintptr, client, failure *uintptr) uint32
	ClientInfo            func(client uintptr, description, failure *uintptr) uint32
	ClientStart           func(client uintptr, method, params str, options, callback, data, destructor uintptr, ticket *uint64, failure *uintptr) uint32
	ClientCancel          func(client uintptr, ticket uint64, reason str, failure *uintptr) uint32
	ClientNotify          func(client uintptr, method, params str, failure *uintptr) uint32
	ClientSetRoots        withTextError
	ClientAsServer        func(client uintptr, json, failure *uintptr) uint32
	ClientSubscribe       func(client uintptr, filter str, options uintptr, subscription *uint64, failure *uintptr) uint32
	ClientStartNextChange starts
	ClientUnsubscribe     func(client uintptr, subscription uint64, failure *uintptr) uint32
	ClientStartTask       func(client uintptr, params str, options uintptr, task *uint64, state, failure *uintptr) uint32
	ClientStartNextState  starts
	ClientStartTaskResult starts
	ClientTaskRespond     func(client uintptr, task uint64, responses str, options uintptr, result, failure *uintptr) uint32
	ClientCloseTask       func(client uintptr, task uint64, failure *uintptr) uint32
	ClientStartClose      func(client uintptr, deadline uint64, failure *uintptr) uint32
	ClientClosed          func(uintptr) bool
	ClientFree            func(uintptr)

	ClientOptionsNew            creates
	ClientOptionsFree           func(uintptr)
	ClientOptionsSetPort        func(options, port uintptr) uint32
	ClientOptionsSetInfo        func(options uintptr, name, version str) uint32
	ClientOptionsOnNotification func(options, callback, data, destructor uintptr) uint32
	RequestOptionsNew           creates
	RequestOptionsFree          func(uintptr)
	RequestOptionsSetAll        func(options uintptr, all bool) uint32
	RequestOptionsSetUserData   func(options, data, destructor uintptr) uint32
	RequestOptionsOnProgress    func(options, callback, data, destructor uintptr) uint32

	PlainCallArguments func(call uintptr, length *uintptr) *byte
	CallReturnJson     func(call uintptr, shape uint32, json str, failure *uintptr) uint32
	CallRequireInput   withTextError
	CallFailTool       func(call uintptr, message str) uint32
	CallFailInvalid    func(call uintptr, path, message str) uint32
	CallFail           func(call uintptr, message str) uint32
	CallFailProtocol   func(call uintptr, code int64, message, data str, failure *uintptr) uint32
	CallRetain         func(uintptr) uintptr
	CallFree           func(uintptr)
	CallOnCancel       func(call, callback, data, destructor uintptr) uint32
	CallInfo           func(call uintptr, description, failure *uintptr) uint32
	CallExchangeData   func(uintptr) uintptr
	CallSetVar         func(call uintptr, name str, value, destructor uintptr) uint32
	CallVar            func(call uintptr, name str) uintptr
	CallProgress       func(call uintptr, progress, total float64, message str) uint32
	CallStartRequest   func(call uintptr, method, params str, options, callback, data, destructor uintptr, failure *uintptr) uint32
	CallNext           func(call uintptr, params str, callback, data, destructor uintptr, failure *uintptr) uint32
	CallSetOnce        func(call uintptr, name, value str, failure *uintptr) uint32
	CallOnce           func(call uintptr, name str, value *uintptr) uint32
	CallStartTask      func(uintptr) uint32
	CallSetTaskMessage func(call uintptr, message str) uint32
	CallCloseStream    func(uintptr) uint32

	PlainText func(text uintptr, length *uintptr) *byte
	TextFree  func(uintptr)
	ErrorJson func(failure uintptr, json *str) uint32
	ErrorFree func(uintptr)
}

// The library, once it is loaded, and why it is not.
var library = sync.OnceValues(func() (uintptr, error) {
	path, err := libraryPath()
	if err != nil {
		return 0, err
	}
	handle, err := openLibrary(path)
	if len(embedded) > 0 && os.Getenv("TRUNKLINE_LIBRARY") == "" {
		// The loaded library needs its file no more, except on Windows, which refuses this.
		_ = os.RemoveAll(filepath.Dir(path))
	}
	if err != nil {
		return 0, fmt.Errorf("trunkline: the library cannot be loaded: %w", err)
	}
	functions := reflect.ValueOf(&c).Elem()
	for i := range functions.NumField() {
		name := functions.Type().Field(i).Name
		purego.RegisterLibFunc(functions.Field(i).Addr().Interface(), handle, "trunkline_"+snake(name))
	}
	if version := c.PlainVersion(); version != Version {
		return 0, fmt.Errorf("trunkline: the library %s has version %s, the package %s", path, version, Version)
	}
	registerCallbacks()
	return handle, nil
})

// logJSON calls trunkline_call_log_json. On amd64, its last string does not fit into the registers and
// is passed in memory, after which purego would place the argument behind it wrongly: that one is in
// the register that is left.
func logJSON(call uintptr, level, logger, data str, failure *uintptr) uint32 {
	const name = "call_log_json"
	if runtime.GOARCH == "amd64" && runtime.GOOS != "windows" {
		return setterOf[func(uintptr, str, str, *uintptr, str) uint32](name)(call, level, logger, failure, data)
	}
	return setterOf[func(uintptr, str, str, str, *uintptr) uint32](name)(call, level, logger, data, failure)
}

// snake turns ServerListenHttp into server_listen_http.
func snake(name string) string {
	var written strings.Builder
	for i, letter := range name {
		if i > 0 && unicode.IsUpper(letter) {
			written.WriteByte('_')
		}
		written.WriteRune(unicode.ToLower(letter))
	}
	return written.String()
}

// libraryPath finds the library: the file in TRUNKLINE_LIBRARY, the embedded one (build tag
// trunkline_embed), one next to the program, or else the one that the system finds by its name.
func libraryPath() (string, error) {
	if path := os.Getenv("TRUNKLINE_LIBRARY"); path != "" {
		return path, nil
	}
	name := libraryName()
	if len(embedded) > 0 {
		return unpacked(name)
	}
	if program, err := os.Executable(); err == nil {
		if beside := filepath.Join(filepath.Dir(program), name); exists(beside) {
			return beside, nil
		}
	}
	return name, nil
}

func libraryName() string {
	switch runtime.GOOS {
	case "windows":
		return "trunkline.dll"
	case "darwin":
		return "libtrunkline." + Version + ".dylib"
	default:
		return "libtrunkline.so." + Version
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// unpacked writes the embedded library where only this user can change it.
func unpacked(name string) (string, error) {
	folder, err := os.MkdirTemp("", "trunkline-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(folder, name)
	return path, os.WriteFile(path, embedded, 0o700)
}

// invoke runs a function of the library that has a place for its failure.
func invoke(function func(failure *uintptr) uint32) error {
	failure := new(uintptr)
	result := function(failure)
	if result == 0 {
		return nil
	}
	if *failure == 0 {
		return failed(result)
	}
	defer c.ErrorFree(*failure)
	return errorOf(*failure)
}

// An owner is an object of the library that is freed once nobody uses it.
type owner struct {
	lock  sync.RWMutex
	freed bool
}

// run is invoke, while the object cannot be freed.
func (owner *owner) run(function func(failure *uintptr) uint32) error {
	owner.lock.RLock()
	defer owner.lock.RUnlock()
	if owner.freed {
		return &Error{Kind: ErrClosed, Message: "it is closed"}
	}
	return invoke(function)
}

// release waits until nobody uses the object, and then frees it.
func (owner *owner) release(free func()) {
	owner.lock.Lock()
	defer owner.lock.Unlock()
	if !owner.freed {
		owner.freed = true
		free()
	}
}

// failed is the error of a function without a place for it.
func failed(result uint32) error {
	if result == 0 {
		return nil
	}
	kind, known := kinds[result]
	if !known {
		kind = ErrInvalidArgument
	}
	if result == resultDone {
		kind = ErrClosed
	}
	return &Error{Kind: kind, Message: string(kind)}
}

// The call is completed or cancelled.
const resultDone = 102

// errorOf reads an error of the library, which keeps it.
func errorOf(failure uintptr) error {
	var described str
	c.ErrorJson(failure, &described)
	return errorFrom(described.bytes())
}

func errorFrom(described []byte) error {
	failure := new(Error)
	if err := json.Unmarshal(described, failure); err != nil {
		return errors.New(string(described))
	}
	return failure
}

// taken reads a text of which the caller is the owner, and frees it.
func taken(owned uintptr) []byte {
	length := new(uintptr)
	data := c.PlainText(owned, length)
	defer c.TextFree(owned)
	return copied(data, *length)
}

// A runner is invoke, or the run of an owner.
type runner = func(function func(failure *uintptr) uint32) error

// described is the result of a function that returns a text.
func described(run runner, function func(made, failure *uintptr) uint32) ([]byte, error) {
	made := new(uintptr)
	if err := run(func(failure *uintptr) uint32 { return function(made, failure) }); err != nil {
		return nil, err
	}
	return taken(*made), nil
}

// made is the object that a function creates.
func made(function creates) (uintptr, error) { return madeBy(invoke, function) }

func madeBy(run runner, function creates) (uintptr, error) {
	object := new(uintptr)
	err := run(func(failure *uintptr) uint32 { return function(object, failure) })
	return *object, err
}
