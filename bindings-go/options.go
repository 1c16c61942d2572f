package trunkline

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Ptr is a pointer to a value, for members that may be absent.
func Ptr[T any](value T) *T { return &value }

func isZero(value any) bool {
	if value == nil {
		return true
	}
	found := reflect.ValueOf(value)
	switch found.Kind() {
	case reflect.Map, reflect.Slice:
		return found.Len() == 0
	default:
		return found.IsZero()
	}
}

// inJSON are the options that are set, as members of a JSON object. Durations are milliseconds.
func inJSON(options any) map[string]any {
	members := map[string]any{}
	value := reflect.ValueOf(options)
	for i := range value.NumField() {
		field := value.Type().Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if !field.IsExported() || name == "" || name == "-" {
			continue
		}
		if member := value.Field(i).Interface(); !isZero(member) {
			members[name] = plain(member)
		}
	}
	return members
}

// plain is a value as the library takes it: a negative number means zero.
func plain(value any) any {
	switch value := value.(type) {
	case time.Duration:
		return units(int64(value), int64(time.Millisecond))
	case int:
		return units(int64(value), 1)
	case *bool:
		return *value
	}
	if found := reflect.ValueOf(value); found.Kind() == reflect.String {
		return found.String()
	}
	return value
}

// units rounds up, because zero often means that there is no limit.
func units(value, unit int64) uint64 {
	count := value / unit
	if value%unit > 0 {
		count++
	}
	return uint64(max(count, 0))
}

// orDefault is an option in milliseconds that the package itself reads.
func orDefault(given, otherwise time.Duration) uint64 {
	return plain(cmp.Or(given, otherwise)).(uint64)
}

// A setting sets options of the library whose value is not zero. The function that uses the options
// reports their first invalid value.
type setting struct {
	object uintptr
	// A value that cannot be written as JSON.
	err error
}

func (to *setting) text(set func(uintptr, str) uint32, value string) {
	if value != "" {
		set(to.object, text(value))
	}
}

func (to *setting) flag(set func(uintptr, bool) uint32, value bool) {
	if value {
		set(to.object, true)
	}
}

func (to *setting) maybe(set func(uintptr, bool) uint32, value *bool) {
	if value != nil {
		set(to.object, *value)
	}
}

// number sets a number of units. A negative one means zero.
func (to *setting) number(set func(uintptr, uint64) uint32, value, unit int64) {
	if value != 0 {
		set(to.object, units(value, unit))
	}
}

func (to *setting) limit(limit uint32, value, unit int64) {
	to.number(func(object uintptr, value uint64) uint32 { return c.ServerOptionsSetLimit(object, limit, value) }, value, unit)
}

func (to *setting) each(set func(uintptr, str) uint32, values []string) {
	for _, value := range values {
		set(to.object, text(value))
	}
}

func (to *setting) json(set func(uintptr, str) uint32, value any) {
	if !isZero(value) {
		encoded, err := encode(value)
		to.err = cmp.Or(to.err, err)
		set(to.object, text(encoded))
	}
}

func pairs[V any](to *setting, set func(uintptr, str, str) uint32, values map[string]V) {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		value, isText := any(values[name]).(string)
		if !isText {
			encoded, err := encode(values[name])
			value, to.err = encoded, cmp.Or(to.err, err)
		}
		set(to.object, text(name), text(value))
	}
}

// optionName is where messages of the library name an option.
var optionName = regexp.MustCompile("(auth\\.|option |`|^)([a-zA-Z_]+)(:|\\b)")

// spelled is an error in which options have their names in Go.
func spelled(err error, options any) error {
	failure, isOurs := err.(*Error)
	if !isOurs || failure.Kind != ErrInvalidArgument {
		return err
	}
	plain := func(name string) string {
		return strings.TrimSuffix(strings.ToLower(strings.ReplaceAll(name, "_", "")), "ms")
	}
	fields := map[string]string{}
	for _, field := range reflect.VisibleFields(reflect.TypeOf(options)) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		fields[plain(cmp.Or(name, field.Name))] = field.Name
	}
	failure.Message = optionName.ReplaceAllStringFunc(failure.Message, func(found string) string {
		parts := optionName.FindStringSubmatch(found)
		name, isOption := fields[plain(parts[2])]
		if !isOption || parts[1] == "" && parts[3] == "" {
			return found
		}
		return strings.TrimPrefix(parts[1], "auth.") + name + parts[3]
	})
	return failure
}

// prepared are the options of a request in C.
type prepared struct {
	options uintptr
	kept    []handle
	// May be nil, as onProgress.
	reports    chan Progress
	onProgress func(Progress)
}

// noOptions is the most frequent case.
var noOptions = &prepared{}

func (p *prepared) free() {
	if p.options != 0 {
		c.RequestOptionsFree(p.options)
	}
	for _, number := range p.kept {
		forget(number)
	}
}

// prepare makes the options of a request. With inMemory, the handlers of a server in this process
// get the values of the context.
func prepare(ctx context.Context, inMemory, all bool, options []RequestOptions) (*prepared, error) {
	if len(options) > 1 {
		return nil, &Error{Kind: ErrInvalidArgument, Message: fmt.Sprintf("there are %d options, at most one is possible", len(options))}
	}
	if len(options) == 0 && !all && !inMemory {
		return noOptions, nil
	}
	object, err := made(c.RequestOptionsNew)
	if err != nil {
		return nil, err
	}
	made, to := &prepared{options: object}, &setting{object: object}
	c.RequestOptionsSetAll(object, all)
	if inMemory {
		c.RequestOptionsSetUserData(object, made.keep(ctx), 0)
	}
	for _, given := range options {
		if given.OnProgress != nil {
			made.onProgress, made.reports = given.OnProgress, make(chan Progress, 64)
			c.RequestOptionsOnProgress(object, callbacks.progress, made.keep(made.reports), 0)
		}
		to.json(c.RequestOptionsSetInputResponses, given.InputResponses)
		given.applyTo(to)
	}
	if to.err != nil {
		made.free()
		return nil, to.err
	}
	return made, nil
}

func (p *prepared) keep(value any) handle {
	p.kept = append(p.kept, keep(value))
	return p.kept[len(p.kept)-1]
}
