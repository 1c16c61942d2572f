package trunkline

import (
	"reflect"
	"testing"
	"time"
)

func TestOptionsInJSON(t *testing.T) {
	options := merged([]HTTPOptions{
		{Host: "a", Path: "/first", Port: Ptr(1), AllowedHosts: []string{"x"}, Auth: AuthOptions{Resource: "http://a/mcp"}},
		{Host: "b", Port: Ptr(0), SSE: Ptr(""), WriteTimeout: 1, IdleTimeout: -1, Retry: 1500 * time.Microsecond},
	})
	for expected, options := range map[string]any{
		`{"allowedHosts":["x"],"auth":{"resource":"http://a/mcp"},"host":"b","idleTimeoutMs":-1,"path":"/first","port":0,"retryMs":2,"sse":false,"writeTimeoutMs":1}`: options,
		`{"keepAliveMs":0}`:  ServerOptions{KeepAlive: Ptr(time.Duration(0))},
		`{"sse":"/events"}`:  HTTPOptions{SSE: Ptr("/events")},
		`{"maxHostTasks":0}`: ClientOptions{MaxHostTasks: Ptr(0)},
		`{}`:                 HTTPOptions{},
	} {
		if found, err := encode(inJSON(options)); found != expected || err != nil {
			t.Error(found, err)
		}
	}
}

func TestHandlersOfSeveralOptionsAreOne(t *testing.T) {
	first, second := ClientOptions{Timeout: 1, transport: map[string]callFunc{}}, ClientOptions{}
	first.OnToolsChanged = func() {}
	second.OnPromptsChanged = func() {}
	all := merged([]ClientOptions{first, second})
	if all.OnToolsChanged == nil || all.OnPromptsChanged == nil || all.Timeout != 1 || all.transport == nil {
		t.Errorf("%+v", all)
	}
	if none := merged([]ClientOptions(nil)); !reflect.ValueOf(none).IsZero() {
		t.Errorf("%+v", none)
	}
}
