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

// merged are options as one: later ones take precedence, member by member.
func merged[T any](options []T) T {
	if len(options) == 0 {
		return *new(T)
	}
	all := options[0]
	for _, given := range options[1:] {
		overlay(reflect.ValueOf(&all).Elem(), reflect.ValueOf(given))
	}
	return all
}

func overlay(all, given reflect.Value) {
	for i := range given.NumField() {
		switch field := given.Type().Field(i); {
		case field.Anonymous:
			overlay(all.Field(i), given.Field(i))
		case field.IsExported() && !isZero(given.Field(i).Interface()):
			all.Field(i).Set(given.Field(i))
		}
	}
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

// plain is a value as the library takes it: durations are milliseconds, and an empty path is false.
func plain(value any) any {
	switch value := value.(type) {
	case time.Duration:
		// Away from zero, which often means that there is no limit.
		whole, rest := int64(value/time.Millisecond), value%time.Millisecond
		return whole + int64(cmp.Compare(rest, 0))
	case *time.Duration:
		return plain(*value)
	case *string:
		return cmp.Or[any](optional(*value), false)
	case *Feature:
		return value.number
	case OAuthOptions, AuthOptions:
		return optional(inJSON(value))
	}
	return value
}

// orDefault is an option in milliseconds that the package itself reads.
func orDefault(given, otherwise time.Duration) uint64 {
	return uint64(max(plain(cmp.Or(given, otherwise)).(int64), 0))
}
