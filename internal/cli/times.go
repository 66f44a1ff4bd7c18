package cli

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"time"

	"maestro/events"
)

// withTimes returns the JSON of a value with its times as text: in the shapes shared with the server they are numbers,
// which older clients read. Raw JSON, such as the payload of an event, stays unchanged.
func withTimes(text []byte, value any) []byte {
	w := timesWriter{text: text, read: json.NewDecoder(bytes.NewReader(text))}
	w.read.UseNumber()
	w.value(reflect.ValueOf(value))
	return append(w.out, text[w.done:]...)
}

// timesWriter reads JSON alongside the value that it encodes.
type timesWriter struct {
	text, out []byte
	read      *json.Decoder
	// done is how much of text is in out.
	done int64
}

var (
	millisType    = reflect.TypeFor[events.Millis]()
	timeType      = reflect.TypeFor[time.Time]()
	marshalerType = reflect.TypeFor[json.Marshaler]()
)

// value reads one value. An invalid v is a value of unknown type.
func (w *timesWriter) value(v reflect.Value) {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	if v.IsValid() && v.Type() != timeType && reflect.PointerTo(v.Type()).Implements(marshalerType) {
		v = reflect.Value{}
	}
	token, err := w.read.Token()
	if err != nil {
		return // the encoder wrote it: this cannot happen
	}
	switch token {
	case json.Delim('{'):
		for w.read.More() {
			name, _ := w.read.Token()
			text, _ := name.(string)
			w.value(member(v, text))
		}
		_, _ = w.read.Token()
	case json.Delim('['):
		for i := 0; w.read.More(); i++ {
			w.value(element(v, i))
		}
		_, _ = w.read.Token()
	default:
		w.scalar(token, v)
	}
}

// scalar replaces the last read scalar if it is a time.
func (w *timesWriter) scalar(token json.Token, v reflect.Value) {
	var written string
	var at time.Time
	switch of := token.(type) {
	case json.Number:
		if !v.IsValid() || v.Type() != millisType {
			return
		}
		written, at = of.String(), events.Millis(v.Int()).Time()
	case string:
		var err error
		if !v.IsValid() || v.Type() != timeType {
			return
		}
		if at, err = time.Parse(time.RFC3339Nano, of); err != nil {
			return
		}
		written = `"` + of + `"`
	default:
		return
	}
	end := w.read.InputOffset()
	w.out = append(w.out, w.text[w.done:end-int64(len(written))]...)
	w.out = strconv.AppendQuote(w.out, Instant(events.Millis(at.UnixMilli())))
	w.done = end
}

// member returns the value of a JSON object's member.
func member(v reflect.Value, name string) reflect.Value {
	switch v.Kind() {
	case reflect.Map:
		if v.Type().Key().Kind() != reflect.String {
			return reflect.Value{}
		}
		return v.MapIndex(reflect.ValueOf(name).Convert(v.Type().Key()))
	case reflect.Struct:
		return fieldNamed(v, name)
	default:
		return reflect.Value{}
	}
}

// fieldNamed returns the field with a JSON name: of several, the least deeply embedded one.
func fieldNamed(v reflect.Value, name string) reflect.Value {
	for level := []reflect.Value{v}; len(level) > 0; {
		var below []reflect.Value
		for _, of := range level {
			for i := range of.NumField() {
				field, tag := of.Type().Field(i), ""
				if tag, _, _ = strings.Cut(field.Tag.Get("json"), ","); tag == "" && !field.Anonymous {
					tag = field.Name
				}
				if tag == name && field.IsExported() {
					return of.Field(i)
				}
				if embedded := reflect.Indirect(of.Field(i)); tag == "" && embedded.Kind() == reflect.Struct {
					below = append(below, embedded)
				}
			}
		}
		level = below
	}
	return reflect.Value{}
}

func element(v reflect.Value, i int) reflect.Value {
	if (v.Kind() == reflect.Slice || v.Kind() == reflect.Array) && i < v.Len() {
		return v.Index(i)
	}
	return reflect.Value{}
}
