package projections

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
)

// A view is encoded as encoding/json encodes it, whichever of its members are set. A new member that the encoder does
// not know fails here.
func TestTaskViewsAreEncodedAsByTheStandardLibrary(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	compare := func(v *TaskView) {
		t.Helper()
		var want bytes.Buffer
		encoder := json.NewEncoder(&want)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(v); err != nil {
			t.Fatal(err)
		}
		got, err := v.AppendJSON([]byte("x"))
		if err != nil {
			t.Fatal(err)
		}
		if string(got)+"\n" != "x"+want.String() {
			t.Fatalf("got  %s\nwant x%s", got, want.String())
		}
	}
	compare(&TaskView{})
	fields := reflect.TypeFor[TaskView]().NumField()
	for i := range fields {
		v := &TaskView{}
		fillAtRandom(t, random, reflect.ValueOf(v).Elem().Field(i), true)
		compare(v)
	}
	for range 500 {
		v := &TaskView{}
		for i := range fields {
			fillAtRandom(t, random, reflect.ValueOf(v).Elem().Field(i), false)
		}
		compare(v)
	}
	broken := &TaskView{Metadata: json.RawMessage("{")}
	if _, err := broken.AppendJSON(nil); err == nil {
		t.Error("metadata that is no JSON was encoded")
	}
}

// fillAtRandom sets a value: always, or at random also leaves it at zero, empty or nil.
func fillAtRandom(t *testing.T, random *rand.Rand, v reflect.Value, always bool) {
	t.Helper()
	if !always && random.IntN(4) == 0 {
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(fmt.Sprint("<&>\"\\\n\u2028é\xff", random.IntN(100)))
	case reflect.Int, reflect.Int64:
		v.SetInt(1 + random.Int64())
	case reflect.Uint64:
		v.SetUint(1 + random.Uint64())
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fillAtRandom(t, random, v.Elem(), always)
	case reflect.Struct:
		for i := range v.NumField() {
			fillAtRandom(t, random, v.Field(i), always)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range random.IntN(3) {
			value := reflect.New(v.Type().Elem()).Elem()
			fillAtRandom(t, random, value, true)
			v.SetMapIndex(reflect.ValueOf(fmt.Sprint("<k>", random.IntN(9))), value)
		}
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[json.RawMessage]() {
			v.Set(reflect.ValueOf(json.RawMessage(`{ "a" : "<b>\u2028" }`)))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), random.IntN(3), 3))
		for i := range v.Len() {
			fillAtRandom(t, random, v.Index(i), always)
		}
	default:
		t.Fatalf("a %s is not known", v.Type())
	}
}
