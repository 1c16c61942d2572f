package trunkline

import (
	"context"
	"errors"

	"github.com/ebitengine/purego"
)

// StoreError is a failure of a store. Kind is "unavailable", "full", or "corrupt" if the store
// contains data that cannot be read.
type StoreError struct{ Kind, Message string }

func (e *StoreError) Error() string { return e.Message }

// registerStore makes the functions of stores known to C. They share the data, which is the store.
func registerStore() {
	for i, function := range storeFunctions {
		callbacks.store[i] = purego.NewCallback(func(call, data uintptr) {
			if store := kept[Store](data); store != nil {
				serve(c.CallRetain(call), function(store))
			}
		})
	}
}

// storing calls a function of a store, which puts the members of its result into the map.
func storing[In any](function func(ctx context.Context, given *In, result map[string]any) error) callFunc {
	return answering(func(ctx context.Context, given *In) (*map[string]any, error) {
		result := map[string]any{}
		err := function(ctx, given, result)
		if err != nil {
			failure := &StoreError{Kind: "unavailable", Message: err.Error()}
			errors.As(err, &failure)
			err = NewProtocolError(CodeInternalError, failure.Message, map[string]any{"error": failure.Kind})
		}
		return &result, err
	})
}
