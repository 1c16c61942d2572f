package trunkline

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"unicode/utf8"
	"unsafe"

	"github.com/ebitengine/purego"
)

// A str is a string in C. Its bytes are Go's, and C reads them only during the call.
type str struct {
	data *byte
	len  uintptr
}

func text(s string) str { return str{unsafe.StringData(s), uintptr(len(s))} }

// word is a bool as an argument of a function of the library.
func word(is bool) uintptr {
	if is {
		return 1
	}
	return 0
}

// valid is a text in which invalid UTF-8 is U+FFFD, as in JSON.
func valid(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return string([]rune(s))
}

func (s *str) bytes() []byte { return copied(s.data, s.len) }

// copied copies memory of C.
func copied(data *byte, length uintptr) []byte {
	return append([]byte(nil), unsafe.Slice(data, length)...)
}

// The library, once it is loaded, and why it is not.
var library = sync.OnceValues(func() (uintptr, error) {
	handle, path, err := load()
	if err != nil {
		return 0, fmt.Errorf("the library of Trunkline cannot be loaded: %w%s", err, loadingAdvice(path))
	}
	// Another version may lack functions.
	if err := containedRegistration(func() { purego.RegisterLibFunc(&c.PlainVersion, handle, "trunkline_plain_version") }); err != nil {
		return 0, fmt.Errorf("%s is not the C library of Trunkline: %w%s", path, err, libraryAdvice())
	}
	if version := c.PlainVersion(); version != Version {
		return 0, fmt.Errorf("the library of Trunkline %s has version %s, the package %s%s", path, version, Version, libraryAdvice())
	}
	if err := containedRegistration(func() { register(handle) }); err != nil {
		return 0, fmt.Errorf("the library of Trunkline %s lacks functions of version %s: %w%s", path, Version, err, libraryAdvice())
	}
	registerCallbacks()
	go writeLog()
	return handle, nil
})

// containedRegistration turns the panic of purego about a missing function into an error.
func containedRegistration(register func()) (err error) {
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("%v", reason)
		}
	}()
	register()
	return nil
}

// loadingAdvice says what a library next to the program may lack, or where else one comes from.
func loadingAdvice(path string) string {
	if embedded == "" && os.Getenv(libraryVariable) == "" && filepath.IsAbs(path) {
		return " (" + path + " is there: on Linux, it needs glibc 2.28 or newer and libgcc_s.so.1)"
	}
	return libraryAdvice()
}

// libraryAdvice says where the library comes from, and how to use another one.
func libraryAdvice() string {
	switch {
	case os.Getenv(libraryVariable) != "":
		return " (" + libraryVariable + " names it: set it to the C library of this version, or unset it)"
	case embedded == "":
		return " (this program embeds no library: use a release of the module without the build tag trunkline_external, or set " + libraryVariable + " to the file of the library)"
	}
	return ""
}

// named is a function of the library by its name, for those that c cannot have.
func named[F any](name string) (function F) {
	purego.RegisterLibFunc(&function, Must(library()), "trunkline_"+name)
	return function
}

// logJSON calls trunkline_call_log_json. On amd64, its last string does not fit into the registers and
// is passed in memory, after which purego would place the argument behind it wrongly: that one is in
// the register that is left.
var logJSON = sync.OnceValue(func() func(call uintptr, level, logger, data str, failure *uintptr) uint32 {
	const name = "call_log_json"
	if runtime.GOARCH != "amd64" {
		return named[func(uintptr, str, str, str, *uintptr) uint32](name)
	}
	function := named[func(uintptr, str, str, *uintptr, str) uint32](name)
	return func(call uintptr, level, logger, data str, failure *uintptr) uint32 {
		return function(call, level, logger, failure, data)
	}
})

// An owner has an object of the library, which is freed once nobody uses it.
type owner struct {
	// The name of the object in messages.
	what   string
	object uintptr
	// Why there is no object.
	failure error
	lock    sync.Mutex
	freed   bool
	// Counted rather than locked: what runs may use the object again.
	users sync.WaitGroup
}

// problem is why the owner never had an object.
func (owner *owner) problem() error {
	if owner.failure == nil && owner.what == "" {
		return &Error{Kind: ErrInvalidArgument, Message: "a zero value is not a server, client, listener or call: create it with a function of the package, such as NewServer or Connect"}
	}
	return owner.failure
}

// invoke runs a function of the library that has a place for its failure, while none of the objects
// can be freed.
func invoke(function func(failure *uintptr) uint32, objects ...*owner) error {
	for _, object := range objects {
		if err := object.problem(); err != nil {
			return err
		}
		if !object.enter() {
			return &Error{Kind: ErrClosed, Message: "the " + object.what + " was closed"}
		}
		defer object.users.Done()
	}
	failure := new(uintptr)
	result := function(failure)
	if *failure == 0 {
		return failed(result)
	}
	defer c.ErrorFree(*failure)
	return errorOf(*failure)
}

func (owner *owner) enter() bool {
	owner.lock.Lock()
	defer owner.lock.Unlock()
	if !owner.freed {
		owner.users.Add(1)
	}
	return !owner.freed
}

// release waits until nobody uses the object, and then frees it. Functions of the program that run
// meanwhile find it closed.
func (owner *owner) release(free func(object uintptr)) {
	owner.lock.Lock()
	freed := owner.freed
	owner.freed = true
	owner.lock.Unlock()
	if !freed {
		owner.users.Wait()
		free(owner.object)
	}
}

// failed is the error of a function without a place for it.
func failed(result uint32) error {
	if result == 0 {
		return nil
	}
	kind := cmp.Or(kinds[result], ErrInvalidArgument)
	if result == resultDone {
		kind = ErrClosed
	}
	return &Error{Kind: kind, Message: string(kind)}
}

// The call is completed or cancelled.
const resultDone = 102

// errorOf reads an error of the library, which keeps it.
func errorOf(failure uintptr) error {
	found, err := decoded[Error](c.ErrorJson(failure))
	return cmp.Or[error](err, found)
}

// taken reads a text of which the caller is the owner, and frees it.
func taken(owned uintptr) []byte {
	length := new(uintptr)
	data := c.PlainText(owned, length)
	defer c.TextFree(owned)
	return copied(data, *length)
}
