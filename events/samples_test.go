package events

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
)

// samples has one payload for each type of the catalogue, with every field set: the one in its golden file, read by
// encoding/json alone. A type without a golden file, and a field that its file lacks, get values that are made up:
// `make golden` puts them into the file.
var samples = func() []Data {
	var samples []Data
	for _, entry := range Catalogue() {
		data := entry.New()
		if err := readSample(goldenPath(entry.Type), data); err != nil {
			panic(fmt.Sprintf("the golden file of %s: %v", entry.Type, err))
		}
		fill(reflect.ValueOf(data).Elem())
		samples = append(samples, data)
	}
	return samples
}()

// readSample reads the payload of a golden file, if there is one. A field that its type has lost is an error.
func readSample(path string, into Data) error {
	golden, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var stored struct{ Data json.RawMessage }
	if err == nil {
		err = json.Unmarshal(golden, &stored)
	}
	if err != nil {
		return err
	}
	decoder := json.NewDecoder(bytes.NewReader(stored.Data))
	decoder.DisallowUnknownFields()
	return decoder.Decode(into)
}

const digest = "sha256-9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"

// fill sets every field that has no value.
func fill(v reflect.Value) {
	switch {
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			field := v.Field(i)
			name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
			if field.Kind() == reflect.String && field.IsZero() && isDigestName(name) {
				field.SetString(digest)
			}
			fill(field)
		}
		return
	case v.Kind() == reflect.Pointer && !v.IsNil():
		if v.Elem().Kind() == reflect.Struct {
			fill(v.Elem())
		}
		return
	case !v.IsZero():
		return
	}
	switch v.Interface().(type) {
	case json.RawMessage:
		v.SetBytes([]byte(`{"a":1}`))
		return
	case Blobs:
		v.Set(reflect.ValueOf(Blobs{"text": digest}))
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.String:
		v.SetString("text ✓")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0))
		fill(v.Index(1))
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key)
		fill(value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	default:
		panic(fmt.Sprintf("fill knows no %s: teach it", v.Type()))
	}
}

// sampleEvent wraps a payload in an envelope with every attribute set.
func sampleEvent(data Data) *Event {
	return &Event{
		ID:            uuid.MustParse("0f7e1c9a-5b6d-5e8f-a123-456789abcdef"),
		Source:        "/projects/proj_1/sessions/sess_0",
		Time:          time.Date(2026, 3, 1, 12, 30, 45, 123e6, time.UTC),
		OccurredAt:    time.Date(2026, 3, 1, 12, 29, 0, 0, time.UTC),
		Project:       "proj_1",
		CausationID:   "11111111-2222-5333-8444-555555555555",
		CorrelationID: "66666666-7777-5888-9999-aaaaaaaaaaaa",
		TraceParent:   "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
		PrevHash:      BodyHash([]byte("before")),
		RequestHash:   RequestHash{1, 2, 3, 254, 255},
		Rules:         "1",
		Authn:         "token",
		Data:          data,
	}
}

func TestSamplesAreWhole(t *testing.T) {
	for _, data := range samples {
		empty(t, data.EventType(), reflect.ValueOf(data).Elem())
		empty(t, "the envelope of "+data.EventType(), reflect.ValueOf(sampleEvent(data)).Elem())
	}
}

// empty reports every zero field as an error, so that new fields are added to the golden files.
func empty(t *testing.T, where string, v reflect.Value) {
	t.Helper()
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			t.Errorf("%s is not set", where)
			return
		}
		v = v.Elem()
	} else if v.IsZero() {
		t.Errorf("%s is not set", where)
	}
	if v.Kind() == reflect.Struct && v.Type() != reflect.TypeFor[time.Time]() {
		for i := range v.NumField() {
			empty(t, fmt.Sprintf("%s.%s", where, v.Type().Field(i).Name), v.Field(i))
		}
	}
}
