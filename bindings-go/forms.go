package trunkline

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strconv"
	"time"
)

// These are the forms in JSON of members that models have as types of Go.

// A timestamp is a time of ISO 8601.
type timestamp time.Time

// timestampLayouts are the forms that peers send. A time without a zone is one of UTC.
var timestampLayouts = []string{time.RFC3339, "2006-01-02T15:04:05", time.DateOnly}

func (t timestamp) MarshalJSON() ([]byte, error) { return time.Time(t).MarshalJSON() }

// UnmarshalJSON reads what is no time as the zero time: the rest of an answer is worth more.
func (t *timestamp) UnmarshalJSON(data []byte) error {
	var written string
	if err := json.Unmarshal(data, &written); err != nil {
		return err
	}
	for _, layout := range timestampLayouts {
		if found, err := time.Parse(layout, written); err == nil {
			*t = timestamp(found)
			break
		}
	}
	return nil
}

// IsZero is for the option omitzero.
func (t timestamp) IsZero() bool { return time.Time(t).IsZero() }

// epochSeconds are a time as the seconds since 1970.
type epochSeconds time.Time

func (t epochSeconds) MarshalJSON() ([]byte, error) {
	return strconv.AppendFloat(nil, float64(time.Time(t).UnixMicro())/1e6, 'f', -1, 64), nil
}

// latestSecond is the end of the year 9999, the last one that RFC 3339 can write.
const latestSecond = 253402300799

func (t *epochSeconds) UnmarshalJSON(data []byte) error {
	seconds, err := number[epochSeconds](data)
	if err == nil && string(data) != "null" {
		whole, fraction := math.Modf(min(max(seconds, 0), latestSecond))
		*t = epochSeconds(time.Unix(int64(whole), int64(fraction*1e9)).UTC())
	}
	return err
}

// IsZero is for the option omitzero.
func (t epochSeconds) IsZero() bool { return time.Time(t).IsZero() }

// milliseconds are a duration.
type milliseconds time.Duration

func (m milliseconds) MarshalJSON() ([]byte, error) {
	return json.Marshal(plain(time.Duration(m)))
}

// maxDuration is near the longest time.Duration, and exact as a floating-point number.
const maxDuration = 1<<63 - 1<<10

func (m *milliseconds) UnmarshalJSON(data []byte) error {
	found, err := number[milliseconds](data)
	*m = milliseconds(min(max(found*float64(time.Millisecond), -maxDuration), maxDuration))
	return err
}

// number reads a number of any size. Null is 0.
func number[T any](data []byte) (float64, error) {
	found, err := strconv.ParseFloat(string(data), 64)
	if err == nil || errors.Is(err, strconv.ErrRange) || string(data) == "null" {
		return found, nil
	}
	return 0, &json.UnmarshalTypeError{Value: string(data), Type: reflect.TypeFor[T]()}
}

// A protocolError is an error of JSON-RPC.
type protocolError Error

type errorObject struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

func (e protocolError) MarshalJSON() ([]byte, error) {
	return json.Marshal(errorObject{e.Code, e.Message, e.Data})
}

func (e *protocolError) UnmarshalJSON(data []byte) error {
	found, err := Decode[errorObject](data)
	*e = protocolError{Kind: ErrProtocol, Message: found.Message, Code: found.Code, Data: found.Data}
	return err
}
