package trunkline

import (
	"context"
	"errors"
	"time"
	"unsafe"

	"github.com/ebitengine/purego"
)

// Store keeps the state of a server in a way of the program's own: see ServerOptions.OwnStore. It
// keeps texts and logs by key, and a key never names both. Several calls run at the same time, and
// several processes may use it; PutIf and Append are atomic across all of them. Keys are printable
// ASCII of 1 to 512 bytes. A *StoreError says what is wrong; any other error means that the store
// cannot be reached.
type Store interface {
	// Get returns the text of a key, and false if there is none or it has expired.
	Get(ctx context.Context, key string) (text string, found bool, err error)
	// Put sets the text of a key, and how long to keep it, replacing any existing one.
	Put(ctx context.Context, key, text string, keepFor time.Duration) error
	// PutIf does the same if the current text equals the expected one or, for nil, if there is none.
	// It returns whether the text was set.
	PutIf(ctx context.Context, key string, expected *string, text string, keepFor time.Duration) (bool, error)
	// Remove removes the text or the log of a key, if there is one.
	Remove(ctx context.Context, key string) error
	// Append appends an entry to a log, which is created on demand, and returns its position. The
	// positions of a log increase, possibly with gaps, are at least 1 and less than 2^53, and are never
	// reused, even after the log was removed. Beyond maxEntries, the oldest entries are removed. The
	// whole log expires if nothing is appended for the given time.
	Append(ctx context.Context, log, entry string, maxEntries int, keepFor time.Duration) (position int, err error)
	// Read returns the oldest entries of a log after a position, at most limit. If there are none, it may
	// wait for one, up to the given time. If it does not wait, it is called again: at once when this
	// process appends an entry, otherwise every 100 ms.
	Read(ctx context.Context, log string, after, limit int, wait time.Duration) ([]StoredEntry, error)
}

// StoreError is a failure of a store. Kind is "unavailable", "full", or "corrupt" if the store
// contains data that cannot be read.
type StoreError struct{ Kind, Message string }

func (e *StoreError) Error() string { return e.Message }

// A storeCall has the members of all calls of a store. A call has some of them.
type storeCall struct {
	Key, Text, Log, Entry    string
	Expected                 *string
	MaxEntries, After, Limit int
	KeepForMs, WaitMs        int64
}

// A storeFunction returns the members of the result of a call.
type storeFunction = func(ctx context.Context, store Store, given *storeCall) (map[string]any, error)

// storeFunctions are in the order of the struct in C.
var storeFunctions = [6]storeFunction{
	func(ctx context.Context, store Store, given *storeCall) (map[string]any, error) {
		text, found, err := store.Get(ctx, given.Key)
		if !found {
			return map[string]any{}, err
		}
		return map[string]any{"text": text}, err
	},
	func(ctx context.Context, store Store, given *storeCall) (map[string]any, error) {
		return map[string]any{}, store.Put(ctx, given.Key, given.Text, milliseconds(given.KeepForMs))
	},
	func(ctx context.Context, store Store, given *storeCall) (map[string]any, error) {
		done, err := store.PutIf(ctx, given.Key, given.Expected, given.Text, milliseconds(given.KeepForMs))
		return map[string]any{"done": done}, err
	},
	func(ctx context.Context, store Store, given *storeCall) (map[string]any, error) {
		return map[string]any{}, store.Remove(ctx, given.Key)
	},
	func(ctx context.Context, store Store, given *storeCall) (map[string]any, error) {
		position, err := store.Append(ctx, given.Log, given.Entry, given.MaxEntries, milliseconds(given.KeepForMs))
		return map[string]any{"position": position}, err
	},
	func(ctx context.Context, store Store, given *storeCall) (map[string]any, error) {
		entries, err := store.Read(ctx, given.Log, given.After, given.Limit, milliseconds(given.WaitMs))
		return map[string]any{"entries": append([]StoredEntry{}, entries...)}, err
	},
}

func milliseconds(count int64) time.Duration { return time.Duration(count) * time.Millisecond }

// registerStore makes the functions of stores known to C. They share the data, which is the store.
func registerStore() {
	for i, function := range storeFunctions {
		callbacks.store[i] = purego.NewCallback(func(call, data uintptr) {
			if store := kept[Store](data); store != nil {
				serve(c.CallRetain(call), storing(store, function))
			}
		})
	}
}

func storing(store Store, function storeFunction) callFunc {
	return func(ctx context.Context, call *Call) (shape, []byte, error) {
		given, err := decode[storeCall](call.arguments)
		if err != nil {
			return 0, nil, err
		}
		result, err := function(ctx, store, given)
		if err != nil {
			failure := &StoreError{Kind: "unavailable", Message: err.Error()}
			errors.As(err, &failure)
			return 0, nil, NewProtocolError(CodeInternalError, failure.Message, map[string]any{"error": failure.Kind})
		}
		encoded, err := encodeAny(result)
		return shapeResult, []byte(encoded), err
	}
}

// setOwnStore returns the handle of the store, or 0 without one.
func setOwnStore(set uintptr, store Store) handle {
	if store == nil {
		return 0
	}
	data, functions := keep(store), callbacks.store
	setterOf[func(options uintptr, functions unsafe.Pointer, data, destructor uintptr) uint32]("server_options_set_own_store")(set, unsafe.Pointer(&functions), data, 0)
	return data
}
