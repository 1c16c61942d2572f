package trunkline

import (
	"cmp"
	"reflect"
	"strings"
	"time"
)

// Ptr returns a pointer to a value, for optional fields.
func Ptr[T any](value T) *T { return &value }

func isZero(value any) bool {
	found := reflect.ValueOf(value)
	isList := found.Kind() == reflect.Map || found.Kind() == reflect.Slice
	return !found.IsValid() || found.IsZero() || isList && found.Len() == 0
}

// inJSON are the options that are set, as members of a JSON object.
func inJSON(options any) map[string]any {
	members := map[string]any{}
	value := reflect.ValueOf(options)
	for i := range value.NumField() {
		name, _, _ := strings.Cut(value.Type().Field(i).Tag.Get("json"), ",")
		if name != "" && name != "-" && !isZero(value.Field(i).Interface()) {
			members[name] = plain(value.Field(i).Interface())
		}
	}
	return members
}

// plain is a value as the library takes it: durations are milliseconds, rounded up, and a negative
// number means zero.
func plain(value any) any {
	switch value := value.(type) {
	case time.Duration:
		whole := value.Milliseconds()
		if value > time.Duration(whole)*time.Millisecond {
			// Zero often means that there is no limit.
			whole++
		}
		return uint64(max(whole, 0))
	case int:
		return max(value, 0)
	case *Feature:
		return value.number
	case OAuthOptions, AuthOptions:
		return optional(inJSON(value))
	}
	return value
}

// orDefault is an option in milliseconds that the package itself reads.
func orDefault(given, otherwise time.Duration) uint64 {
	return plain(cmp.Or(given, otherwise)).(uint64)
}
