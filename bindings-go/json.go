package trunkline

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"iter"
	"maps"
	"reflect"
	"slices"
	"unsafe"
)

// readyJSON is JSON already.
type readyJSON string

// encode writes JSON as the protocol needs it: without escapes for HTML. The text may be that of the
// value, which must not change meanwhile.
func encode(value any) (string, error) {
	switch value := value.(type) {
	case readyJSON:
		return string(value), nil
	case json.RawMessage:
		return unsafe.String(unsafe.SliceData(value), len(value)), nil
	}
	if members, isMap := value.(map[string]any); value == nil || isMap && members == nil {
		return "", nil
	}
	var written bytes.Buffer
	encoder := json.NewEncoder(&written)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return "", &Error{Kind: ErrInvalidArgument, Message: err.Error()}
	}
	// Nobody else has the bytes.
	text := bytes.TrimSuffix(written.Bytes(), []byte("\n"))
	return unsafe.String(unsafe.SliceData(text), len(text)), nil
}

// present leaves out parameters that are absent: the members of a map that are nil.
func present(params any) any {
	members, isMap := params.(map[string]any)
	if !isMap {
		return params
	}
	found := maps.Clone(members)
	maps.DeleteFunc(found, func(_ string, value any) bool { return value == nil })
	return found
}

// optional is nil for a zero value, except of a struct: arguments may have nothing but zeros. Nil
// lists in it are empty, as the schema of a struct that the server shares has them.
func optional(value any) any {
	if reflect.ValueOf(value).Kind() != reflect.Struct && isZero(value) {
		return nil
	}
	return filled(value)
}

// decode decodes what the library has validated.
func decode[T any](text []byte) (*T, error) {
	value := new(T)
	if err := unmarshalValid(text, value); err != nil && len(text) > 0 {
		return nil, &Error{Kind: ErrTransport, Message: invalid(err).Error()}
	}
	return value, nil
}

// decoded decodes the JSON that a function returns.
func decoded[T any](text []byte, err error) (*T, error) {
	if err != nil {
		return nil, err
	}
	return decode[T](text)
}

// RawContent is a content block of an unknown type, or one that does not fit its type.
type RawContent json.RawMessage

// MarshalJSON returns the JSON as it arrived.
func (raw RawContent) MarshalJSON() ([]byte, error) { return raw, nil }

// readBlocks reads blocks of content by their types. One block may stand for a list of it.
func readBlocks[T any](data []byte, blocks *[]T, known func(kind string) T, unknown func(RawContent) T) error {
	reader := reader{text: data}
	raws := reader.parts()
	if raws == nil {
		return nil
	}
	*blocks = make([]T, 0, len(raws))
	for _, raw := range raws {
		var tag struct {
			Type json.RawMessage `json:"type"`
		}
		if err := unmarshalValid(raw, &tag); err != nil {
			return err
		}
		var block T
		if len(tag.Type) > 0 && tag.Type[0] == '"' {
			block = known(unquoted(tag.Type))
		}
		isKnown := any(block) != nil
		if isKnown {
			err := unmarshalValid(raw, block)
			if refused := (*InvalidError)(nil); errors.As(err, &refused) {
				return err
			}
			// The other blocks are worth more than its form.
			isKnown = err == nil
		}
		if !isKnown {
			block = unknown(RawContent(bytes.Clone(raw)))
		}
		*blocks = append(*blocks, block)
	}
	return nil
}

// Text joins the text blocks.
func (v ContentBlocks) Text() string { return joined(v) }

// Text is the text of the blocks that are text, one after the other.
func (v SamplingBlocks) Text() string { return joined(v) }

// MarshalJSON writes a single block as it is, which older clients expect.
func (v SamplingBlocks) MarshalJSON() ([]byte, error) {
	if len(v) == 1 {
		return json.Marshal(v[0])
	}
	return json.Marshal([]SamplingBlock(v))
}

func joined[T any](blocks []T) string {
	var said string
	for _, block := range blocks {
		if text, isText := any(block).(*TextContent); isText {
			said += text.Text
		}
	}
	return said
}

// ResourceContents are the contents of a resource: text, or bytes if Blob is not nil.
type ResourceContents struct {
	URI      string `json:"uri,omitempty"`
	MIMEType string `json:"mimeType,omitempty"`
	Text     string `json:"text"`
	Blob     []byte `json:"blob,omitzero"`
	Meta     any    `json:"_meta,omitempty"`
}

// MarshalJSON writes either the text or the bytes.
func (v ResourceContents) MarshalJSON() ([]byte, error) {
	type plain ResourceContents
	if v.Blob == nil {
		return json.Marshal(plain(v))
	}
	return json.Marshal(struct {
		plain
		Text *string `json:"text,omitempty"`
	}{plain: plain(v)})
}

// UnmarshalJSON reads the content by its type.
func (v *PromptMessage) UnmarshalJSON(data []byte) error { return unmarshalItself(data, v) }

func (v *PromptMessage) readValid(data []byte) error {
	var read struct {
		Role    Role          `json:"role"`
		Content ContentBlocks `json:"content"`
	}
	err := unmarshalValid(data, &read)
	if v.Role = read.Role; len(read.Content) > 0 {
		v.Content = read.Content[0]
	}
	return err
}

// page are the parameters for a page. The first has none.
func page(cursor *string) any {
	if cursor == nil {
		return nil
	}
	return map[string]any{"cursor": *cursor}
}

// pages iterates over the items of all pages. An empty cursor is one; but servers of revisions that
// say nothing about it send it with the last page.
func pages[T any](client *Client, fetch func(cursor *string) ([]T, *string, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		known := map[string]bool{}
		for cursor := (*string)(nil); ; {
			items, next, err := fetch(cursor)
			if next != nil && *next == "" && client.endsWithEmptyCursor() {
				next = nil
			}
			if next != nil && known[*next] {
				err = cmp.Or[error](err, &Error{Kind: ErrTransport, Message: "the list does not end: the server sent a cursor twice"})
			}
			if err != nil {
				yield(*new(T), err)
				return
			}
			for _, item := range items {
				if !yield(item, nil) {
					return
				}
			}
			if next == nil {
				return
			}
			known[*next] = true
			cursor = next
		}
	}
}

// lenientRevisions do not say what an empty cursor means.
var lenientRevisions = []RevisionChoice{RevisionChoice20241105, RevisionChoice20250326, RevisionChoice20250618, RevisionChoice20251125}

func (client *Client) endsWithEmptyCursor() bool {
	info, err := client.Info()
	return err == nil && slices.Contains(lenientRevisions, RevisionChoice(info.Revision))
}
