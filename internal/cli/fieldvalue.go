package cli

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"maestro/internal/syntax"
)

// aJSONObject is the placeholder for the value of a flag for a JSON object.
const aJSONObject = "<json>"

// settable is the value of a flag or an argument that sets a field.
type settable interface {
	pflag.Value
	// more returns the end of the flag's description.
	more() string
}

// settable returns the value that sets a field. A pointer stays nil until it is set.
func (x *field) settable() settable {
	t := x.value.Type()
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t == reflect.TypeFor[json.RawMessage]():
		return &jsonValue{x}
	case t.Kind() == reflect.Slice:
		return &listValue{field: x}
	}
	return &textValue{x}
}

// now returns the field's present value; an invalid one for a nil pointer.
func (x *field) now() reflect.Value {
	if x.value.Kind() == reflect.Pointer {
		return x.value.Elem()
	}
	return x.value
}

// put sets the field.
func (x *field) put(value any) {
	at := x.value
	if at.Kind() == reflect.Pointer {
		at.Set(reflect.New(at.Type().Elem()))
		at = at.Elem()
	}
	at.Set(reflect.ValueOf(value).Convert(at.Type()))
}

// textValue sets a text.
type textValue struct{ *field }

func (v *textValue) String() string {
	if v.field == nil || !v.now().IsValid() {
		return ""
	}
	return v.now().String()
}

func (v *textValue) Set(text string) error { v.put(text); return nil }
func (v *textValue) Type() string          { return v.valueName() }
func (v *textValue) more() string          { return "" }

// listValue sets a list: separated by commas, or one item per use of the flag if the placeholder ends in an ellipsis.
type listValue struct {
	*field
	used bool
}

var errEmptyElement = errors.New("an element of the list is empty")

func (v *listValue) items() []string {
	if v.field == nil || !v.now().IsValid() {
		return nil
	}
	items, _ := v.now().Interface().([]string)
	return items
}

func (v *listValue) each() bool     { return strings.HasSuffix(v.takes, "…") }
func (v *listValue) String() string { return strings.Join(v.items(), ",") }
func (v *listValue) Type() string   { return v.valueName() }

func (v *listValue) more() string {
	if v.each() {
		return "; may be repeated"
	}
	return " (comma-separated)"
}

func (v *listValue) Set(text string) error {
	items := []string{}
	if v.used {
		items = v.items()
	}
	v.used = true
	if v.each() {
		if strings.TrimSpace(text) != "" { // alone it means none
			items = append(items, text)
		}
		v.put(items)
		return nil
	}
	var read []string
	if text != "" {
		var err error
		if read, err = csv.NewReader(strings.NewReader(text)).Read(); err != nil {
			return err
		}
	}
	if len(read) != len(ids(read)) { // perhaps a variable of a script that is not set
		return errEmptyElement
	}
	v.put(append(items, ids(read)...))
	return nil
}

// jsonValue sets a JSON value, which must be an object.
type jsonValue struct{ *field }

func (v *jsonValue) String() string {
	if v.field == nil {
		return ""
	}
	return string(v.value.Bytes())
}

func (v *jsonValue) Set(text string) error {
	if text == "" {
		return nil
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &object); err != nil {
		return syntax.Plain(err)
	}
	if object == nil {
		return errors.New("it is null")
	}
	v.put(json.RawMessage(text))
	return nil
}

func (v *jsonValue) Type() string { return aJSONObject }
func (v *jsonValue) more() string { return ": a JSON object" }

// milliseconds is the value of a flag for a duration.
type milliseconds int64

func (m *milliseconds) String() string {
	if *m == 0 {
		return "0"
	}
	return (time.Duration(*m) * time.Millisecond).String()
}

func (m *milliseconds) Set(text string) error {
	d, err := time.ParseDuration(text)
	*m = milliseconds(d.Milliseconds())
	return err
}

func (m *milliseconds) Type() string { return "duration" }
