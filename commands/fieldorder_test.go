package commands

import (
	"encoding"
	"flag"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
)

var updateOrder = flag.Bool("update", false, "write the golden files anew")

const fieldOrder = "testdata/fieldorder.txt"

// The hash of a request covers the command's fields in the order of their declaration, and the log keeps it: a command
// that is sent again with its key, to a newer server, must have the same hash. So fields with omitempty may be added
// between others, but no field may be moved, removed or renamed.
func TestFieldsKeepTheirOrder(t *testing.T) {
	content, err := os.ReadFile(fieldOrder)
	if err != nil && !*updateOrder {
		t.Fatal(err)
	}
	before := map[string]string{}
	for line := range strings.Lines(string(content)) {
		id, fields, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		before[id] = fields
	}
	var now strings.Builder
	for _, id := range slices.Sorted(maps.Keys(makers())) {
		fields := strings.Join(orderOf(reflect.TypeOf(makers()[id].empty()).Elem()), " ")
		now.WriteString(id + ": " + fields + "\n")
		if kept, ok := before[id]; ok && !inOrder(kept, fields) {
			t.Errorf("%s had the fields\n%s\nin this order, and now has\n%s", id, kept, fields)
		}
	}
	switch {
	case t.Failed() || now.String() == string(content):
	case *updateOrder:
		if err := os.WriteFile(fieldOrder, []byte(now.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("a command or a field is new: run `make golden`. The fields are\n%s", now.String())
	}
	for _, wrong := range []string{"a c b", "a c", "b a c", "a x c"} {
		if inOrder("a b c", wrong) {
			t.Errorf("%q counts as the order of a b c", wrong)
		}
	}
	if !inOrder("a c", "a b c d") {
		t.Error("a new field counts as a change of the order of the others")
	}
}

// orderOf returns the JSON names of the fields of a type, and those of the types within it: "changes.title".
func orderOf(of reflect.Type) (names []string) {
	for _, field := range reflect.VisibleFields(of) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if field.Anonymous || name == "" || name == "-" {
			continue
		}
		names = append(names, name)
		within := field.Type
		for slices.Contains([]reflect.Kind{reflect.Pointer, reflect.Slice}, within.Kind()) {
			within = within.Elem()
		}
		text := reflect.TypeFor[encoding.TextMarshaler]()
		if within.Kind() == reflect.Struct && !within.Implements(text) {
			for _, inner := range orderOf(within) {
				names = append(names, name+"."+inner)
			}
		}
	}
	return names
}

// inOrder reports whether fields has all of kept, in that order.
func inOrder(kept, fields string) bool {
	all := strings.Fields(fields)
	for _, name := range strings.Fields(kept) {
		at := slices.Index(all, name)
		if at < 0 {
			return false
		}
		all = all[at+1:]
	}
	return true
}
