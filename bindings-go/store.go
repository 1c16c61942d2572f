package trunkline

import (
	"context"
	"errors"
)

// StoreError is a failure of a store. Kind is "unavailable", "full", or "corrupt" if the store
// contains unreadable data.
type StoreError struct{ Kind, Message string }

func (e *StoreError) Error() string { return e.Message }

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
