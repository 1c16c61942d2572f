package trunkline

import (
	"encoding/json"
	"math/big"
	"reflect"
	"strings"
	"testing"
	"time"
)

type inner struct {
	Name string `json:"name"`
	Next *inner `json:"next,omitempty"`
}

type promoted struct {
	Shared string `json:"shared"`
	Hidden int    `json:"-"`
}

// everything has each kind of a member.
type everything struct {
	promoted
	Text     string           `json:"text"`
	Yes      bool             `json:"yes"`
	Small    int8             `json:"small"`
	Count    int              `json:"count"`
	Byte     uint8            `json:"byte"`
	Big      uint64           `json:"big"`
	Number   float64          `json:"number"`
	Single   float32          `json:"single"`
	Exact    json.Number      `json:"exact"`
	Pointer  *string          `json:"pointer"`
	Twice    **int            `json:"twice"`
	Raw      json.RawMessage  `json:"raw"`
	RawTo    *json.RawMessage `json:"rawTo"`
	Any      any              `json:"any"`
	List     []string         `json:"list"`
	Inners   []inner          `json:"inners"`
	Bytes    []byte           `json:"bytes"`
	Array    [2]int           `json:"array"`
	Map      map[string]inner `json:"map"`
	Time     time.Time        `json:"time"`
	Integer  big.Int          `json:"integer"`
	Inner    inner            `json:"inner"`
	Blocks   ContentBlocks    `json:"blocks"`
	Task     *Task            `json:"task"`
	Kind     Role             `json:"kind"`
	Untagged string
}

// quotedNumber has an option that only encoding/json knows.
type quotedNumber struct {
	Number int `json:"number,string"`
	*inner
}

// texts are members of everything, and other JSON.
var texts = []string{
	`{}`, `null`, `[]`, `"text"`, `5`, ` { } `,
	`{"text":"hi"}`, `{"text":"h\u00e9\n\"\\"}`, "{\"text\":\"\xff\xc3\"}", `{"text":"\ud800"}`, `{"text":"\ud83d\uDE00\u0041\/\b\f\n\r\t\\"}`, `{"text":"\ud83d\ud83d\ude00"}`, `{"text":"\ud83d\u0041"}`, `{"text":"\u0000\uffff"}`, `{"text":null,"yes":null,"count":null,"list":null,"inner":null,"raw":null,"rawTo":null,"blocks":null,"task":null,"any":null}`,
	`{"text":5}`, `{"yes":true}`, `{"yes":false}`, `{"yes":"true"}`,
	`{"small":127}`, `{"small":128}`, `{"count":-0}`, `{"count":5.0}`, `{"count":1e3}`, `{"count":9223372036854775808}`, `{"byte":-1}`, `{"big":18446744073709551615}`,
	`{"number":1e400}`, `{"number":1.5e3}`, `{"single":1e39}`, `{"exact":1e400}`, `{"exact":"5"}`, `{"number":"5"}`,
	`{"pointer":"a"}`, `{"twice":5}`, `{"twice":null}`, `{"raw":{"a":[1, 2]}}`, `{"rawTo":[null]}`, `{"any":{"a":1}}`,
	`{"list":[]}`, `{"list":["a", null , "b"]}`, `{"list":"a"}`, `{"inners":[{"name":"a"},{"next":{"name":"b"}}]}`, `{"bytes":"aGk="}`, `{"bytes":"?"}`, `{"array":[1]}`, `{"array":[1,2,3]}`,
	`{"map":{"a":{"name":"b"}}}`, `{"map":{"a":{"NAME":"b"}}}`, `{"time":"2026-01-01T00:00:00Z"}`, `{"integer":123456789012345678901234567890}`,
	`{"inner":{"name":"a","own":[{"x":"}"}]}}`, `{"inner":[1]}`, `{"shared":"a","Hidden":5,"hidden":6}`,
	`{"blocks":[{"type":"text","text":"hi"},{"type":"image","data":5},{"type":5}]}`, `{"blocks":[5]}`, `{"blocks":{"type":"text","text":"hi"}}`, `{"blocks":[{"type":"text","TEXT":"hi"}]}`,
	`{"task":{"taskId":"a","ttlMs":5,"createdAt":"2026-01-01T00:00:00Z","error":{"code":1,"message":"x"}}}`, `{"task":{"taskId":5}}`,
	`{"kind":"user","Untagged":"a"}`, `{"untagged":"a"}`, `{"TEXT":"a"}`, `{"text":"a","text":"b"}`, `{"te\u0078t":"a"}`, `{"text":"a","te\u0078t":"b"}`, `{"ſmall":5}`, `{"own":{"text":1,"text":2}}`,
	`{"count":5.0,"task":{"error":{"code":1,"code":2}}}`, `{"count":-0.0,"number":-0.0,"raw":{"b":1.0,"a":"1.0","a":2e1}}`, `{"task":{"error":{"":0,"":""}}}`, `{"count":5.0,"blocks":[{"type":"text","type":"image"}]}`,
	`{"number":"5","name":"a"}`, `{"number":5}`,
	strings.Repeat("[", 100) + strings.Repeat("]", 100), `{"own":` + strings.Repeat(`{"a":`, 50) + `"\\"` + strings.Repeat("}", 50) + `}`,
}

// sameAsSlowly decodes in both ways, and says whether the reader did it alone.
func sameAsSlowly[T any](t *testing.T, text []byte) bool {
	t.Helper()
	slow, fast := new(T), new(T)
	refused := unmarshalSlowly(text, slow)
	err := unmarshalValid(text, fast)
	if (err == nil) != (refused == nil) {
		t.Errorf("%T: %s: %v instead of %v", *fast, text, err, refused)
	}
	if err == nil && !reflect.DeepEqual(fast, slow) {
		t.Errorf("%T: %s: %+v instead of %+v", *fast, text, *fast, *slow)
	}
	reader := reader{text: text}
	return reader.read(reflect.ValueOf(new(T)).Elem(), planOf(reflect.TypeFor[T]())) == nil
}

func sameForAll(t *testing.T, text []byte) {
	t.Helper()
	sameAsSlowly[everything](t, text)
	sameAsSlowly[*inner](t, text)
	sameAsSlowly[quotedNumber](t, text)
	sameAsSlowly[map[string]any](t, text)
	sameAsSlowly[[]inner](t, text)
	sameAsSlowly[any](t, text)
	sameAsSlowly[string](t, text)
	sameAsSlowly[struct{}](t, text)
	sameAsSlowly[CallToolResult](t, text)
}

func TestTheReaderDecodesAsEncodingJSON(t *testing.T) {
	for _, text := range texts {
		sameForAll(t, []byte(text))
	}
	for _, text := range []string{`{"text":"hi","count":5,"inners":[{"name":"a"}],"shared":"b","raw":[1],"own":{}}`, `{"blocks":[{"type":"text","text":"hi"}]}`} {
		if !sameAsSlowly[everything](t, []byte(text)) {
			t.Error("encoding/json decoded", text)
		}
	}
}

// Other numbers must not let members that occur twice pass.
func TestMembersThatOccurTwiceAreRefusedNextToWholeNumbers(t *testing.T) {
	for _, text := range []string{`{"count":5.0,"task":{"error":{"code":1,"code":2}}}`, `{"count":5.0,"blocks":[{"type":"text","type":"image"}]}`, `{"count":5.0,"text":"a","text":"b"}`} {
		if err := unmarshalValid([]byte(text), new(everything)); err == nil {
			t.Error(text)
		}
	}
}

func FuzzReader(f *testing.F) {
	for _, text := range texts {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if json.Valid(text) {
			sameForAll(t, text)
		}
	})
}

func BenchmarkDecodingArguments(b *testing.B) {
	for name, size := range map[string]int{"small": 2, "large": 1 << 20} {
		text := []byte(`{"message":"` + strings.Repeat("x", size) + `"}`)
		for how, decode := range map[string]func([]byte, any) error{"reader": unmarshalValid, "json": unmarshalSlowly} {
			b.Run(name+"/"+how, func(b *testing.B) {
				b.SetBytes(int64(size))
				for b.Loop() {
					var given struct {
						Message string `json:"message"`
					}
					if err := decode(text, &given); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
