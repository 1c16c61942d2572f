package trunkline_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	trunkline "github.com/trunkline-mcp/trunkline/bindings-go"
)

func TestModelsHaveTimesDurationsAndErrors(t *testing.T) {
	written := `{"taskId":"1","status":"failed","createdAt":"2026-01-12T15:00:58.5Z","lastUpdatedAt":"2026-01-12T16:00:58+01:00","ttlMs":1.5e3,"pollIntervalMs":0,"error":{"code":-32603,"message":"gone","data":[1]}}`
	task := trunkline.Must(trunkline.Decode[trunkline.Task]([]byte(written)))
	created := time.Date(2026, 1, 12, 15, 0, 58, 5e8, time.UTC)
	if !task.CreatedAt.Equal(created) || created.Sub(task.LastUpdatedAt) != time.Second/2 || *task.TTL != 1500*time.Millisecond || *task.PollInterval != 0 {
		t.Error(task)
	}
	var failure error = task.Error
	if !errors.Is(failure, trunkline.ErrProtocol) || failure.Error() != "gone" || task.Error.Code != trunkline.CodeInternalError || string(task.Error.Data) != "[1]" {
		t.Error(failure)
	}
	again := trunkline.Must(trunkline.Decode[trunkline.Task]([]byte(inPlainJSON(t, task))))
	if inPlainJSON(t, again) != inPlainJSON(t, task) || !strings.Contains(inPlainJSON(t, task), `"ttlMs":1500`) {
		t.Error(inPlainJSON(t, task))
	}
	if said := inPlainJSON(t, trunkline.Annotations{}); said != "{}" {
		t.Error(said)
	}
	identity := trunkline.Identity{Subject: "a", ExpiresAt: created}
	if said := inPlainJSON(t, identity); !strings.Contains(said, `"expiresAt":1768230058.5`) {
		t.Error(said)
	}
	if read := trunkline.Must(trunkline.Decode[trunkline.Identity]([]byte(inPlainJSON(t, identity)))); !read.ExpiresAt.Equal(created) {
		t.Error(read.ExpiresAt)
	}
}

func TestTimesThatCannotBeReadSpoilNothing(t *testing.T) {
	for written, expected := range map[string]time.Time{
		`"2026-01-12T15:00:58"`: time.Date(2026, 1, 12, 15, 0, 58, 0, time.UTC),
		`"2026-01-12"`:          time.Date(2026, 1, 12, 0, 0, 0, 0, time.UTC),
		`"yesterday"`:           {},
		`null`:                  {},
	} {
		read, err := trunkline.Decode[trunkline.Annotations]([]byte(`{"priority":1,"lastModified":` + written + `}`))
		if err != nil || !read.LastModified.Equal(expected) || *read.Priority != 1 {
			t.Error(written, read, err)
		}
	}
	huge := strings.Repeat("9", 400)
	task := trunkline.Must(trunkline.Decode[trunkline.Task]([]byte(`{"ttlMs":` + huge + `}`)))
	identity := trunkline.Must(trunkline.Decode[trunkline.Identity]([]byte(`{"expiresAt":` + huge + `}`)))
	if task.TTL.Hours() < 1e6 || identity.ExpiresAt.Year() != 9999 {
		t.Error(task.TTL, identity.ExpiresAt)
	}
	for _, model := range []json.Unmarshaler{&trunkline.Task{}, &trunkline.Identity{}} {
		if err := model.UnmarshalJSON([]byte(`{"ttlMs":true,"expiresAt":"soon"}`)); err == nil {
			t.Error(model)
		}
		if err := model.UnmarshalJSON([]byte(`{"ttlMs":`)); err == nil {
			t.Error(model)
		}
	}
}

func TestNumbersBeyondTheTypesOfGoAreTheLargest(t *testing.T) {
	huge := strings.Repeat("9", 400)
	read := trunkline.Must(trunkline.Decode[trunkline.Resource]([]byte(`{"uri":"a:b","name":"r","size":` + huge + `,"annotations":{"priority":-` + huge + `},"_meta":{"n":` + huge + `}}`)))
	if *read.Size != math.MaxInt || *read.Annotations.Priority != -math.MaxFloat64 {
		t.Error(*read.Size, read.Annotations)
	}
	// A type of the program gets what was judged, or nothing.
	if read, err := trunkline.Decode[struct{ Size int }]([]byte(`{"Size":` + huge + `}`)); err == nil {
		t.Error(read)
	}
	if read, err := trunkline.Decode[trunkline.Resource]([]byte(`{"size":5.5}`)); err == nil {
		t.Error(read)
	}
}

func TestAHandlerSetsHowLongItsResultIsKept(t *testing.T) {
	server := newServer(t)
	trunkline.Must(server.AddResource(trunkline.Resource{Name: "none", URI: "test://none"}, func(context.Context, *trunkline.Call, string, map[string]string) (any, error) {
		return &trunkline.ReadResourceResult{Contents: []trunkline.ResourceContents{{URI: "test://none"}}, TTL: trunkline.Ptr(90 * time.Second)}, nil
	}))
	client, err := trunkline.ConnectMemory(t.Context(), server)
	client = connected(t, client, err)
	result, err := client.ReadResource(t.Context(), "test://none")
	if err != nil || len(result.Contents) != 1 || result.TTL == nil || *result.TTL != 90*time.Second {
		t.Error(result, err)
	}
}
