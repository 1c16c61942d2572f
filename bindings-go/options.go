package trunkline

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ebitengine/purego"
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

// An option is a member of a struct of options that is set.
type option struct {
	json, setter string
	value        any
}

// given are the options that are set. Durations are numbers of milliseconds.
func given(options any) []option {
	var found []option
	value := reflect.ValueOf(options)
	for i := range value.NumField() {
		field := value.Type().Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if !field.IsExported() || name == "" || name == "-" {
			continue
		}
		if member := value.Field(i).Interface(); !isZero(member) {
			found = append(found, option{name, field.Tag.Get("c"), plain(member)})
		}
	}
	return found
}

// plain is a value as the library takes it: a negative number means zero.
func plain(value any) any {
	switch value := value.(type) {
	case time.Duration:
		return uint64(max(value.Milliseconds(), 0))
	case int:
		return uint64(max(value, 0))
	case *bool:
		return *value
	}
	if found := reflect.ValueOf(value); found.Kind() == reflect.String {
		return found.String()
	}
	return value
}

// orDefault is an option in milliseconds that the package itself reads.
func orDefault(given, otherwise time.Duration) uint64 {
	return plain(cmp.Or(given, otherwise)).(uint64)
}

// inJSON are the options that are set, as members of a JSON object.
func inJSON(options any) map[string]any {
	members := map[string]any{}
	for _, option := range given(options) {
		members[option.json] = option.value
	}
	return members
}

// apply sets options by their functions. The members that one function sets together are left to
// the caller.
func apply(object uintptr, options any) error {
	for _, option := range given(options) {
		if limit, err := strconv.Atoi(option.setter); err == nil {
			c.ServerOptionsSetLimit(object, uint32(limit), option.value.(uint64))
		} else if option.setter != "" && !together[option.setter] {
			if err := set(object, option.setter, option.value); err != nil {
				return err
			}
		}
	}
	return nil
}

// together are the functions that set several options.
var together = map[string]bool{
	"server_options_set_cache": true, "http_options_set_unix": true, "http_options_set_replay": true,
	"http_options_set_sse": true, "client_options_set_info": true,
	"request_options_set_input_responses": true,
}

func set(object uintptr, setter string, value any) error {
	switch value := value.(type) {
	case string:
		setterOf[func(uintptr, str) uint32](setter)(object, text(value))
	case bool:
		setterOf[func(uintptr, bool) uint32](setter)(object, value)
	case uint64:
		setterOf[func(uintptr, uint64) uint32](setter)(object, value)
	case []string:
		if strings.Contains(setter, "_set_") {
			return setJSON(object, setter, value)
		}
		for _, item := range value {
			setterOf[func(uintptr, str) uint32](setter)(object, text(item))
		}
	case map[string]string:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			setterOf[func(uintptr, str, str) uint32](setter)(object, text(name), text(value[name]))
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			settings, err := encode(value[name])
			if err != nil {
				return err
			}
			setterOf[func(uintptr, str, str) uint32](setter)(object, text(name), text(settings))
		}
	default:
		return setJSON(object, setter, value)
	}
	return nil
}

func setJSON(object uintptr, setter string, value any) error {
	encoded, err := encode(value)
	if err == nil {
		setterOf[func(uintptr, str) uint32](setter)(object, text(encoded))
	}
	return err
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

// setterOf is a function of the library by its name. The function that uses the options reports
// their first invalid value.
func setterOf[F any](name string) F {
	loaded, err := library()
	if err != nil {
		panic(err)
	}
	var function F
	purego.RegisterLibFunc(&function, loaded, "trunkline_"+name)
	return function
}

// prepared are the options of a request in C.
type prepared struct {
	options    uintptr
	kept       []handle
	reports    chan Progress
	onProgress func(Progress)
}

// noOptions is the most frequent case.
var noOptions = &prepared{}

func (p *prepared) pending(run runner, callback uintptr, cancel func(reason string), start func(callback, data uintptr, failure *uintptr) uint32) pending {
	return pending{run, start, callback, cancel, p.reports, p.onProgress}
}

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
	made := &prepared{options: object}
	if err := made.fill(ctx, inMemory, all, options); err != nil {
		made.free()
		return nil, err
	}
	return made, nil
}

func (p *prepared) fill(ctx context.Context, inMemory, all bool, options []RequestOptions) error {
	object := p.options
	c.RequestOptionsSetAll(object, all)
	if inMemory {
		data := keep(ctx)
		p.kept = append(p.kept, data)
		c.RequestOptionsSetUserData(object, data, 0)
	}
	if len(options) == 1 {
		if options[0].OnProgress != nil {
			p.onProgress, p.reports = options[0].OnProgress, make(chan Progress, 64)
			data := keep(p.reports)
			p.kept = append(p.kept, data)
			c.RequestOptionsOnProgress(object, callbacks.progress, data, 0)
		}
		if responses := options[0].InputResponses; len(responses) > 0 {
			if err := setJSON(object, "request_options_set_input_responses", responses); err != nil {
				return err
			}
		}
		return apply(object, options[0])
	}
	return nil
}
